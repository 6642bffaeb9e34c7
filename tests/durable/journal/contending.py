"""
A process that contends with others for the same runs. Its arguments are the address of the database and its name.

Each line of its input is a task in JSON, `[method, arguments, options]`. The answer is a line with the result.
"""

from __future__ import annotations

import json
import sys

from toolkit.durable.errors import DurableError
from toolkit.durable.journal.run_journal import open_journal


def main() -> None:
    """Do what the lines say."""
    journal = open_journal(sys.argv[1])
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        method, arguments, options = json.loads(line)
        try:
            result = getattr(journal, method)(*arguments, **options)
        except DurableError as error:
            answer = error.why
        else:
            answer = [result[0].secret, result[1]] if isinstance(result, tuple) else getattr(result, "epoch", "ok")
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()
    journal.close()


if __name__ == "__main__":
    main()
