"""
Test tools with arguments drawn from their schemas, and with laws that every tool should keep.

It needs the extra `testing`. In a project the same is `pytest --toolkit-check package.module`, or a test with `@given`.
"""

from typing import Annotated

from hypothesis import find, given, settings

from toolkit import Catalog, Dispatcher, ToolError
from toolkit.testing import (
    Recorder,
    arguments,
    assert_called,
    bad_arguments,
    broken_laws,
    check_catalog,
    lint,
)

catalog = Catalog()


@catalog.tool(read_only=True)
def split_bill(cents: Annotated[int, "The whole sum."], people: Annotated[int, "How many pay."]) -> tuple[int, int]:
    """Split a bill: what each one pays, and the cents that are left."""
    return divmod(cents, people)


def main() -> None:
    print("The smallest call, and the smallest mistake")
    print(f"    {find(arguments(split_bill), lambda given: True)}")
    print(f"    {find(bad_arguments(split_bill), lambda given: True)}")

    print("What the laws find")
    for finding in broken_laws(catalog):
        print("    " + str(finding).replace("\n", "\n    "))

    mended = Catalog()

    @mended.tool(read_only=True)
    def split_fairly(
        cents: Annotated[int, "The whole sum."], people: Annotated[int, "How many pay."]
    ) -> tuple[int, int]:
        """Split a bill: what each one pays, and the cents that are left."""
        if people < 1:
            raise ToolError("somebody has to pay")
        return split_bill(cents, people)

    check_catalog(mended)  # raises `LawsBroken` if there are findings
    print(f"Mended: no law is broken, and the linter has {len(lint(mended))} remarks")

    recorder = Recorder()
    dispatcher = Dispatcher(mended, hooks=[recorder])

    @settings(max_examples=50, database=None)
    @given(arguments(split_fairly))
    def nothing_is_lost(drawn: dict[str, int]) -> None:
        result = dispatcher.call_sync("split_fairly", drawn)
        if result.kind == "ok":
            share, left = result.value
            # JSON may say 3.0 for 3, and a large product of floats is not exact.
            cents, people = int(drawn["cents"]), int(drawn["people"])
            assert share * people + left == cents  # noqa: S101 -- it is a test

    nothing_is_lost()
    dispatcher.call_sync("split_fairly", {"cents": 100, "people": 3})
    print(f"{len(recorder)} calls: not a cent was lost")
    print(f"    {assert_called(recorder, 'split_fairly', {'cents': 100, 'people': 3})}")
    dispatcher.close()


if __name__ == "__main__":
    main()
