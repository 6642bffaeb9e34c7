from dataclasses import dataclass

from benchmarks.comparison.ours import play
from toolkit import Agent


@dataclass
class Trip:
    city: str
    days: int


agent = Agent(play(("final_answer", {"answer": {"city": "Oslo", "days": 3}})), [], output=Trip)
print(agent.run_sync("Three days in Oslo, please.").output)
