from typing import Any, Literal

from hypothesis import given

from toolkit import Dispatcher
from toolkit.testing import arguments


def split(cents: int, people: Literal[2, 3, 4]) -> list[int]:
    """Split a bill."""
    share, rest = divmod(cents, people)
    return [share + (number < rest) for number in range(people)]


dispatcher = Dispatcher(split)


@given(arguments(split))
def test_no_cent_is_lost(drawn: dict[str, Any]) -> None:
    assert sum(dispatcher.call_sync("split", drawn).unwrap()) == drawn["cents"]


test_no_cent_is_lost()
