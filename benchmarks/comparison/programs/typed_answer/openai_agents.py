from dataclasses import dataclass

from agents import Agent, Runner

from benchmarks.comparison.openai_agents_peer import play


@dataclass
class Trip:
    city: str
    days: int


agent = Agent(name="guide", model=play('{"response": {"city": "Oslo", "days": 3}}'), output_type=Trip)
print(Runner.run_sync(agent, "Three days in Oslo, please.").final_output)
