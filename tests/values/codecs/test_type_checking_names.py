"""Names that a module imports only under TYPE_CHECKING are read, and nothing else of it is run."""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable
from typing import Annotated, ForwardRef, Literal, Optional, Union

import pytest

from toolkit import Catalog, Context, DefinitionError, Dispatcher, Tool, ToolkitWarning
from toolkit.values.codecs.type_checking_names import MissingName, TypeCheckingNames, bind_references

KINDS = """
    from __future__ import annotations
    from dataclasses import dataclass
    from typing import TYPE_CHECKING, Union

    if TYPE_CHECKING:
        from decimal import Decimal

    @dataclass
    class Point:
        x: int
        weight: Decimal

    Place = Union["Point", str]
    Amount = list["Decimal"]
"""


@pytest.fixture
def load(write_module):
    """Write a module under `from __future__ import annotations`, and import it."""

    def load(name, source):
        write_module(name, source)
        return importlib.import_module(name)

    return load


def read(module, function="take"):
    """Return the properties of a function's schema."""
    return Tool.of(getattr(module, function)).schema["properties"]


IMPORTS = {
    "from": "from decimal import Decimal",
    "renamed": "from decimal import Decimal as Decimal",
    "module": "import decimal\n    Decimal = decimal.Decimal",
    "dotted": "import decimal as d\n    Decimal = d.Decimal",
    "several": "from decimal import (\n        Context,\n        Decimal,\n    )",
    "tried": "try:\n        from nowhere import Decimal\n    except ImportError:\n        from decimal import Decimal",
    "version": "import sys\n    if sys.version_info >= (3, 99):\n        from typing import Decimal\n    else:\n        from decimal import Decimal",
    "alias": "from decimal import Decimal as D\n    Decimal = D",
    "variable": "import typing\n    from decimal import Decimal as D\n    Decimal = typing.TypeVar('Decimal', bound=D)",
    "typed alias": "from typing import TypeAlias\n    from decimal import Decimal as D\n    Decimal: TypeAlias = 'D'",
}


if sys.version_info >= (3, 12):
    IMPORTS["statement"] = "from decimal import Decimal as D\n    type Decimal = D"


@pytest.mark.parametrize("block", IMPORTS.values(), ids=IMPORTS)
@pytest.mark.parametrize(
    "condition",
    [
        "if TYPE_CHECKING:",
        "if t.TYPE_CHECKING:",
        "if TYPE_CHECKING or t.TYPE_CHECKING:",
        "if not TYPE_CHECKING:\n    pass\nelse:",
    ],
    ids=["name", "attribute", "or", "not"],
)
def test_a_name_under_type_checking_is_read(load, block, condition):
    """The block may be written in any form."""
    source = f"from __future__ import annotations\nimport typing as t\nfrom typing import TYPE_CHECKING\n{condition}\n    {block}\n"
    module = load("hinted", source + "def take(a: Decimal, b: list[Decimal] | None = None): 'Take.'\n")
    assert read(module)["a"]["format"] == "decimal"
    assert "Decimal" not in vars(module), "the module stays as it is"


def test_relative_imports_and_aliases_of_another_module_are_read(load, write_module):
    """A forward reference in an alias means what it means where the alias was written, also behind a second module."""
    write_module("pack.__init__", "")
    write_module("pack.kinds", KINDS)
    write_module("pack.again", "try:\n    from .kinds import Amount, Place\nexcept ImportError:\n    pass")
    module = load(
        "pack.use",
        """
        from __future__ import annotations
        from typing import TYPE_CHECKING, Optional
        from .again import Amount as Sum, Place as Spot

        if TYPE_CHECKING:
            from .kinds import Amount, Place

        def take(place: Place, amount: Amount, spot: Spot, sum: Sum, more: Optional[Place] = None):
            "Take."
        """,
    )
    properties = read(module)
    assert properties["amount"]["items"]["format"] == properties["sum"]["items"]["format"] == "decimal"
    for name in ("place", "spot", "more"):
        assert {"$ref": "#/$defs/Point"} in properties[name]["anyOf"]


def test_a_stand_in_for_the_running_program_is_not_mistaken_for_the_type(load):
    """`else: np = None` leaves annotations that cannot be evaluated; type checkers read the other branch."""
    module = load(
        "standing",
        """
        from __future__ import annotations
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            import datetime as dt
        else:
            dt = None

        def take(day: dt.date): "Take."
        """,
    )
    assert read(module)["day"]["format"] == "date"


MISSING = """
    from __future__ import annotations
    from typing import TYPE_CHECKING
    if TYPE_CHECKING:
        from nowhere import URL
        import nowhere.deep as deep
        class Shape: ...
        T = print("run")

    def one(url: URL): "One."
    def two(url: str | URL): "Two."
    def three(a: int, url: deep.Thing[int] = None): "Three."
    def four(shape: list[Shape]): "Four."
    def five(thing: T): "Five."
"""


def test_a_name_that_cannot_be_imported_is_refused_with_the_reason(load, capsys):
    """The other parts of the annotation are still read, and no call in the block is run."""
    module = load("missing", MISSING)
    with pytest.raises(
        DefinitionError,
        match=r"parameter `url`: URL is not known \(missing has it only .* No module named 'nowhere'\).*`hidden=",
    ):
        read(module, "one")
    with pytest.warns(ToolkitWarning, match=r"only some of the types of `url` \(not URL\)"):
        assert read(module, "two") == {"url": {"type": "string"}}
    with pytest.warns(ToolkitWarning, match=r"cannot send `url` \(deep.Thing is not known"):
        assert list(read(module, "three")) == ["a"]
    with pytest.raises(DefinitionError, match=r"Shape is not known \(missing defines it only under TYPE_CHECKING\)"):
        read(module, "four")
    with pytest.raises(DefinitionError, match="T is not known"):
        read(module, "five")
    assert capsys.readouterr().out == ""


def test_an_import_that_fails_in_any_way_is_a_refusal(load, write_module):
    """It may even end the program."""
    write_module("stopping", "raise SystemExit(3)")
    module = load("used", MISSING.replace("nowhere", "stopping"))
    with pytest.raises(DefinitionError, match="SystemExit: 3"):
        read(module, "one")


def test_an_annotation_that_only_a_type_checker_can_evaluate_counts_as_a_type_without_a_json_form(load):
    """A class that takes no brackets at run time; a text that is not Python is still a mistake."""
    module = load(
        "checked",
        """
        class Plain: ...

        def take(a: int, b: "Plain[int] | None" = None): "Take."
        def spell(a: int, b: "Plain[" = None): "Spell."
        """,
    )
    with pytest.warns(ToolkitWarning, match="cannot send `b` .*cannot be evaluated: .*not subscriptable"):
        assert list(read(module)) == ["a"]
    with pytest.raises(DefinitionError, match="parameter `b`: the annotation 'Plain\\[' cannot be evaluated"):
        read(module, "spell")


def test_a_circle_of_imports_is_not_closed_too_early(load, write_module):
    """A tool decorated while its module is imported waits for its first use."""
    write_module("circle.__init__", "")
    write_module("circle.other", "from .one import VALUE\nclass Other: ...\nKind = int\n")
    module = load(
        "circle.one",
        """
        from __future__ import annotations
        from typing import TYPE_CHECKING
        from toolkit import tool
        if TYPE_CHECKING:
            from .other import Kind

        @tool(catalog=None)
        def take(a: Kind): "Take."

        VALUE = 1
        """,
    )
    assert "circle.other" not in sys.modules
    assert read(module) == {"a": {"type": "integer"}}


def test_a_module_that_is_still_imported_has_its_names_later(load, write_module):
    """The name is not taken for one that does not exist."""
    write_module(
        "half",
        """
        from __future__ import annotations
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from whole import Kind

        def take(a: Kind): "Take."
        """,
    )
    module = load("whole", "from half import take\nfrom toolkit import Tool\nwaiting = Tool.of(take)\nKind = int\n")
    assert module.waiting.schema["properties"] == {"a": {"type": "integer"}}


def test_only_names_of_annotations_are_imported(load, write_module):
    """A hidden parameter does not import its type."""
    write_module("heavy", "class Session: ...")
    module = load(
        "light",
        """
        from __future__ import annotations
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from decimal import Decimal
            from heavy import Session

        def take(a: Decimal, session: Session | None = None): "Take."
        """,
    )
    assert list(Tool.described(module.take, hidden=["session"]).schema["properties"]) == ["a"]
    assert "heavy" not in sys.modules
    with pytest.warns(ToolkitWarning, match="`session`"):
        Tool.described(module.take)
    assert sys.modules.pop("heavy")


def test_a_context_under_type_checking_is_injected(load):
    module = load(
        "asking",
        """
        from __future__ import annotations
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from nowhere import Database
            from toolkit import Context, Inject

        def take(a: int, context: Context) -> str:
            "Take."
            return context.call.name

        def ask(database: Inject[Database]): "Ask."
        """,
    )
    assert Tool.of(module.take).signature.injected == {"context": Context}
    assert Dispatcher(Catalog(module.take)).call_sync("take", {"a": 1}).value == "take"
    with pytest.raises(
        DefinitionError, match="parameter `database`: Database is not known .*; import it for the program"
    ):
        read(module, "ask")


def test_a_wrapper_that_shows_the_signature_of_another_module_is_read_there(load, write_module):
    """A decorator that sets `__signature__` shows annotations that its own module does not know."""
    write_module(
        "deco",
        """
        import functools, inspect

        def loud(function):
            @functools.wraps(function)
            def run(*args, **kwargs):
                return function(*args, **kwargs)
            run.__signature__ = inspect.signature(function)
            return run
        """,
    )
    module = load(
        "wrapped",
        """
        from __future__ import annotations
        from decimal import Decimal as Money
        from deco import loud

        @loud
        def take(a: Money): "Take."
        """,
    )
    assert read(module)["a"]["format"] == "decimal"


def test_a_class_with_another_module_name_is_read_in_its_own_module(load, write_module):
    """A package may show its classes under its own name, as httpx does."""
    write_module("shown.__init__", "from .written import Wait\nWait.__module__ = 'shown'")
    write_module(
        "shown.written",
        """
        from __future__ import annotations
        from dataclasses import dataclass
        Seconds = float

        @dataclass
        class Wait:
            seconds: float

            def __init__(self, seconds: Seconds):
                self.seconds = seconds
        """,
    )
    module = load("waits", "from shown import Wait\ndef take(wait: Wait): 'Take.'\n")
    assert read(module)["wait"]["properties"] == {"seconds": {"type": "number"}}


SECRETS = """
    from __future__ import annotations
    from dataclasses import dataclass
    from typing import TYPE_CHECKING, Annotated
    from toolkit import Secret, Writes
    if TYPE_CHECKING:
        from decimal import Decimal
        from pathlib import Path

    @dataclass
    class Login:
        limit: Decimal
        key: Annotated[str, Secret]

    @dataclass
    class Marked(Login):
        path: Annotated[Path, Writes]

    def make():
        class Local(str): ...

        @dataclass
        class Inner:
            local: Local
            key: Annotated[str, Secret]

        return Inner
"""


def test_markers_in_a_record_are_found_beside_names_for_type_checkers(load, write_module):
    """A secret stays secret, also in a base of another module, and beside a name that only a function knows."""
    module = load("kept", SECRETS)
    (
        load(
            "heir",
            "from dataclasses import dataclass\nfrom kept import Login\n@dataclass\nclass Heir(Login):\n    more: int\n",
        )
    )
    from toolkit.functions.parameters import find_field_markers

    for record in (module.Login, sys.modules["heir"].Heir, module.make()):
        assert len(find_field_markers(record)) == 1, record
    assert len(find_field_markers(module.Marked)) == 2


@pytest.mark.parametrize("file", [None, "gone.py", "compiled.so", 5, "broken.py"])
def test_a_module_without_readable_source_has_no_such_names(tmp_path, monkeypatch, file):
    """The file is missing or is not Python, or the namespace is not that of a module."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.py").write_text("if TYPE_CHECKING:\n  import (")
    names = TypeCheckingNames({"__name__": "x", "__file__": file})
    assert not names
    assert (list(names), len(names), "a" in names) == ([], 0, False)
    with pytest.raises(KeyError):
        names["a"]


def test_an_invalid_escape_in_the_source_causes_no_warning(tmp_path):
    """Python warned of it when the module was compiled."""
    path = tmp_path / "escaped.py"
    path.write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from datetime import date\nword = '\\d'\n"
    )
    assert list(TypeCheckingNames({"__name__": "escaped", "__file__": str(path)})) == ["date"]


def test_a_changed_source_is_read_again(tmp_path):
    """A module that is edited and reloaded is known as it is now."""
    path = tmp_path / "edited.py"
    namespace = {"__name__": "edited", "__file__": str(path), "__package__": ""}
    for name in ("date", "datetime"):
        path.write_text(f"from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from datetime import {name}\n")
        assert list(TypeCheckingNames(namespace)) == [name]


LOOSE, BOUND = ForwardRef("X"), ForwardRef("X", module="m")


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (Union[LOOSE, int], Union[BOUND, int]),
        (Optional[LOOSE], Optional[BOUND]),
        (list[LOOSE], list[BOUND]),
        (dict[str, LOOSE], dict[str, BOUND]),
        (Annotated[LOOSE, "a text"], Annotated[BOUND, "a text"]),
    ],
    ids=str,
)
def test_references_are_bound_to_their_own_module(hint, expected):
    assert bind_references(hint, "m") == expected


@pytest.mark.parametrize(
    "hint",
    [Literal["X"], Annotated[int, "X"], Callable[[LOOSE], int], int, list, BOUND, types.SimpleNamespace()],
    ids=str,
)
def test_a_hint_without_loose_references_stays_the_same(hint):
    """A text inside a `Literal` is not a reference."""
    assert bind_references(hint, "m") is hint


def test_a_missing_name_can_stand_in_an_annotation():
    """It allows brackets, dots and `|`, and has no hidden attributes of a record."""
    missing = MissingName.create("np", "gone")
    assert missing[int] is missing
    assert missing.array.reason == "gone"
    assert missing | None == Optional[missing]
    assert not hasattr(missing, "__attrs_attrs__")
