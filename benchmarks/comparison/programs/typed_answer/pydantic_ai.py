from dataclasses import dataclass

from pydantic_ai import Agent

from benchmarks.comparison.pydantic_ai_peer import play


@dataclass
class Trip:
    city: str
    days: int


agent = Agent(play(("final_result", {"city": "Oslo", "days": 3})), output_type=Trip)
print(agent.run_sync("Three days in Oslo, please.").output)
