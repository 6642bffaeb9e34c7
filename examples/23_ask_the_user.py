"""
Ask the user: a tool needs to know something, and the call waits for the answer.

The same tool runs in two ways: in a program that brings the answers later, as a web application does, and
with an asker that answers at once, as a terminal does.
"""

import asyncio

from toolkit import DECLINED, ApprovalError, ApprovalRequest, Approvals, Catalog, Context, Decision, Dispatcher

catalog = Catalog()


@catalog.tool
async def book_trip(city: str, context: Context) -> str:
    """
    Book a trip.

    Args:
        city: Where to go.
    """
    people, seat = await asyncio.gather(
        context.ask("people", f"How many people go to {city}?", {"type": "integer", "minimum": 1}),
        context.ask("seat", "Where do you want to sit?", {"enum": ["window", "aisle"]}),
    )
    # Everything above runs again after each answer, so nothing is booked before the last question.
    note = await context.ask("note", f"Anything to know about the {people} people?")
    return f"{people} to {city}, {'any seat' if seat is DECLINED else seat}, note: {note}"


async def answer_later() -> None:
    """The call ends with its questions, and goes on with the answers."""
    dispatcher = Dispatcher(catalog)
    result = await dispatcher.call("book_trip", {"city": "Rome"})
    all_answers = [{"people": 0, "seat": "roof"}, {"people": 2, "seat": DECLINED}, {"note": "one is a child"}]
    while result.request is not None:
        for question in result.request.questions:
            print(f"{question.key}: {question.message}")
        try:
            result = await dispatcher.resume(result, Decision.approve(answers=all_answers.pop(0)))
        except ApprovalError as error:
            print("refused:", str(error).split(": ", 1)[1])
    print(result.text)


async def answer_at_once() -> None:
    """An asker gets each request while the call waits; `TerminalPrompt()` is one for a person."""

    def ask(request: ApprovalRequest) -> Decision:
        known = {"people": 3, "seat": "aisle", "note": "none"}
        return Decision.approve(answers={question.key: known[question.key] for question in request.questions})

    dispatcher = Dispatcher(catalog, approvals=Approvals(ask=ask))
    print((await dispatcher.call("book_trip", {"city": "Oslo"})).text)


if __name__ == "__main__":
    asyncio.run(answer_later())
    asyncio.run(answer_at_once())
