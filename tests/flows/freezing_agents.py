"""
A durable flow with agents inside its steps, whose processes are frozen, for `test_kill.py` and `make endurance`.

    python -m tests.flows.freezing_agents FOLDER SEED FREEZES [POSTGRES_URL]
"""

import sys

from tests.durable.freezing import freeze_processes
from tests.flows.killing_agents import AgentsPlace

if __name__ == "__main__":
    freeze_processes(AgentsPlace, *sys.argv[1:])
