"""
The law `concurrent`: planted faults that show only when calls run together, and harmless neighbours of each.
"""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import random
import threading
import time
from typing import Annotated

import pytest
from hypothesis import settings

from toolkit import Catalog, Context, Inject, ToolError, Transient, tool
from toolkit.spec import Tool
from toolkit.testing import broken_laws

User = Annotated[str, "Who asks."]


class Shelf:
    """What calls share."""

    user = ""
    total = 0


def plant_module_variable():
    shelf = Shelf()

    async def list_orders(user: User) -> str:
        """List the orders of a user."""
        shelf.user = user
        await asyncio.sleep(0)
        return f"orders of {shelf.user}"

    return list_orders


def plant_beside_a_time_stamp():
    shelf = Shelf()

    async def list_orders(user: User) -> dict[str, str | float]:
        """List the orders of a user."""
        shelf.user = user
        await asyncio.sleep(0)
        return {"at": time.perf_counter(), "user": shelf.user}

    return list_orders


def plant_principal():
    """Return a tool without arguments: the user is the one for whom the call is made."""
    shelf = Shelf()

    async def list_my_orders(context: Context) -> str:
        """List the orders of the current user."""
        shelf.user = str(context.call.principal)
        await asyncio.sleep(0)
        return shelf.user

    return list_my_orders


def plant_session():
    shelf = Shelf()

    async def remember(context: Context) -> str:
        """Tell which conversation this is."""
        shelf.user = context.session.id
        await asyncio.sleep(0)
        return shelf.user

    return remember


def plant_sum():
    shelf = Shelf()

    async def add_up(numbers: Annotated[list[int], "What to add."]) -> int:
        """Add numbers."""
        shelf.total = 0
        for number in numbers:
            shelf.total += number
            await asyncio.sleep(0)
        return shelf.total

    return add_up


def plant_shared_request():
    """Return a tool whose second call gets the answer of the request that is under way, with any arguments."""
    under_way: list[asyncio.Future] = []

    async def look_up(user: User) -> str:
        """Look a user up."""
        if under_way:
            return await asyncio.shield(under_way[0])
        under_way.append(asyncio.get_running_loop().create_future())
        await asyncio.sleep(0)
        request = under_way.pop()
        request.set_result(user)
        return user

    return look_up


def plant_refusal():
    shelf = Shelf()

    async def take_turn(user: User) -> str:
        """Take a turn."""
        if shelf.total:
            raise ToolError("another call is running")
        shelf.total = 1
        await asyncio.sleep(0)
        shelf.total = 0
        return user

    return take_turn


def plant_threads():
    shelf = Shelf()

    def list_orders(user: User) -> str:
        """List the orders of a user."""
        shelf.user = user
        time.sleep(0.001)
        return shelf.user

    return list_orders


def plant_stream():
    shelf = Shelf()

    async def read_lines(user: User):
        """Read the lines of a user."""
        shelf.user = user
        yield "first"
        await asyncio.sleep(0)
        yield shelf.user

    return read_lines


# `make test` tries every third one; making the lists of `plant_sum` smaller takes longest.
PLANTS = [
    plant_principal,
    plant_module_variable,
    plant_sum,
    plant_shared_request,
    plant_session,
    plant_refusal,
    plant_threads,
    plant_beside_a_time_stamp,
    plant_stream,
]


def find_faults(function, count=60, **options):
    """Return the faults that *count* examples show. A fault ends the search, so only a harmless tool is tried with all."""
    spec = Tool.described(function, read_only=True, **options)
    return broken_laws(Catalog(spec), laws=["concurrent"], examples=count, timeout_seconds=1)


@pytest.mark.one_case_in(3)
@pytest.mark.parametrize("plant", PLANTS)
def test_an_answer_that_changes_beside_other_calls_is_found(plant):
    (violation,) = find_faults(plant())
    assert violation.rule == "concurrent"
    assert "alone it answers" in violation.message


def test_the_message_names_the_call_that_the_answer_belongs_to():
    (violation,) = find_faults(plant_module_variable())
    assert violation.arguments == {"user": ""}
    assert violation.message == (
        'beside `list_orders({"user": "0"})` of user-2 it answered "orders of 0", which is the answer of '
        '`list_orders({"user": "0"})` of user-2; alone it answers "orders of "'
    )


def keep_in_context_variable():
    current = contextvars.ContextVar("current")

    async def list_orders(user: User) -> str:
        """List the orders of a user."""
        current.set(user)
        await asyncio.sleep(0)
        return current.get()

    return list_orders


def keep_in_local_variable():
    async def list_orders(user: User) -> str:
        """List the orders of a user."""
        name = user
        await asyncio.sleep(0)
        return name

    return list_orders


def keep_under_lock():
    shelf, lock = Shelf(), threading.Lock()

    def list_orders(user: User) -> str:
        """List the orders of a user."""
        with lock:
            shelf.user = user
            time.sleep(0.0005)
            return shelf.user

    return list_orders


def keep_under_async_lock():
    shelf, lock = Shelf(), asyncio.Lock()

    async def list_orders(user: User) -> str:
        """List the orders of a user."""
        async with lock:
            shelf.user = user
            await asyncio.sleep(0)
            return shelf.user

    return list_orders


def keep_by_user():
    shelf: dict[str, str] = {}

    async def list_orders(user: User) -> str:
        """List the orders of a user."""
        shelf[user] = user
        await asyncio.sleep(0)
        return shelf[user]

    return list_orders


def count_calls():
    numbers = itertools.count()

    async def list_orders(user: User) -> dict[str, str | int]:
        """List the orders of a user."""
        await asyncio.sleep(0)
        return {"user": user, "number": next(numbers)}

    return list_orders


def count_calls_in_text():
    numbers = itertools.count()

    async def list_orders(user: User) -> str:
        """List the orders of a user."""
        await asyncio.sleep(0)
        return f"call {next(numbers)}"

    return list_orders


def take_first_time_longer():
    """Return a tool with a cache: the first answer says that it is new, each later one that it is stored."""
    stored: set[str] = set()

    async def list_orders(user: User) -> str:
        """List the orders of a user."""
        is_new = user not in stored
        stored.add(user)
        await asyncio.sleep(0)
        return "new" if is_new else "stored"

    return list_orders


def draw_at_random():
    source = random.Random(3)

    async def toss_coin() -> bool:
        """Toss a coin."""
        await asyncio.sleep(0)
        return source.random() < 0.5

    return toss_coin


def say_busy():
    shelf = Shelf()

    async def list_orders(user: User) -> str:
        """List the orders of a user."""
        if shelf.total:
            raise Transient("busy")
        shelf.total = 1
        await asyncio.sleep(0)
        shelf.total = 0
        return user

    return list_orders


def fail_as_alone():
    async def list_orders(user: User) -> str:
        """List the orders of a user."""
        await asyncio.sleep(0)
        raise ToolError(f"no user {user}")

    return list_orders


def end_program():
    def leave() -> str:
        """Leave."""
        raise SystemExit(3)

    return leave


HARMLESS = [
    keep_in_context_variable,
    keep_in_local_variable,
    keep_under_lock,
    keep_under_async_lock,
    keep_by_user,
    count_calls,
    count_calls_in_text,
    take_first_time_longer,
    draw_at_random,
    say_busy,
    fail_as_alone,
    end_program,
]


@pytest.mark.parametrize("plant", HARMLESS)
def test_a_tool_that_is_safe_beside_others_passes(plant):
    assert find_faults(plant(), count=2 * settings().max_examples) == []


def test_a_tool_that_does_not_run_beside_others_passes():
    assert find_faults(plant_module_variable(), count=20, concurrency_safe=False) == []


def test_arguments_decide_which_calls_run_beside_others():
    """The tool is safe for one user alone, and calls for that user never mix."""
    safe_for_nobody = find_faults(
        plant_module_variable(), count=20, concurrency_safe=lambda arguments: arguments["user"] == "x"
    )
    safe_for_all = find_faults(plant_module_variable(), concurrency_safe=lambda arguments: True)
    assert (len(safe_for_nobody), len(safe_for_all)) == (0, 1)


def test_two_tools_that_share_a_variable_are_found():
    """Each of them alone is safe."""
    shelf, catalog = Shelf(), Catalog()

    @catalog.tool(read_only=True)
    async def look() -> str:
        """Look at the shelf."""
        shelf.user = "look"
        await asyncio.sleep(0)
        return shelf.user

    @catalog.tool(read_only=True)
    async def listen() -> str:
        """Listen to music."""
        shelf.user = "listen"
        await asyncio.sleep(0)
        return shelf.user

    (violation,) = broken_laws(catalog, laws=["concurrent"], examples=60)
    assert violation.rule == "concurrent"
    assert "which is the answer of" in violation.message


def test_a_shared_resource_is_found():
    @tool(read_only=True, catalog=None)
    async def list_orders(user: User, shelf: Inject[Shelf]) -> str:
        """List the orders of a user."""
        shelf.user = user
        await asyncio.sleep(0)
        return shelf.user

    (violation,) = broken_laws(Catalog(list_orders), laws=["concurrent"], resources={Shelf: Shelf()}, examples=60)
    assert violation.rule == "concurrent"


def test_calls_that_wait_for_each_other_are_found():
    """Alone the tool answers at once; two calls together never end."""
    running = Shelf()

    async def meet(user: User) -> str:
        """Meet."""
        running.total += 1
        await asyncio.sleep(0)
        if running.total > 1:
            await asyncio.Event().wait()
        running.total -= 1
        return user

    spec = Tool.described(meet, read_only=True)
    (violation,) = broken_laws(Catalog(spec), laws=["concurrent"], examples=5, timeout_seconds=0.1)
    assert "it did not end within 0." in violation.message


def test_a_known_fault_does_not_count():
    reason = {"known_violations": {"concurrent": "One user at a time."}}
    assert find_faults(plant_module_variable(), metadata=reason) == []


def plant_lookup():
    """Return a tool that answers with an empty list for every user that is drawn at random."""
    shelf, orders = Shelf(), {"ada": ["teapot"], "bob": ["cup"]}

    async def list_orders(user: User) -> list[str]:
        """List the orders of a user."""
        shelf.user = user
        await asyncio.sleep(0)
        return orders.get(shelf.user, [])

    return list_orders


def test_the_examples_of_a_tool_are_tried():
    (violation,) = find_faults(plant_lookup(), examples=[{"user": "ada"}, {"user": "bob"}])
    assert "which is the answer of" in violation.message


@pytest.mark.parametrize("law", ["concurrent", "declared-failures"])
def test_a_note_says_that_all_calls_gave_the_same_answer(law):
    notes = []
    spec = Tool.described(plant_lookup(), read_only=True)
    assert broken_laws(Catalog(spec), laws=[law], examples=20, on_note=notes.append) == []
    (note,) = notes
    assert note.startswith("`list_orders`: all ")
    assert "calls answered alike" in note
    assert "give `examples=`" in note
