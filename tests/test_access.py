"""What a call is about to touch: markers, and the values they make."""

import collections
import enum
import uuid
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, Optional

import pytest
from typing_extensions import TypeAliasType

from toolkit.access import Access, Command, Reads, Url, Writes, accesses_in, find_access_marker
from toolkit.catalog import Catalog
from toolkit.dispatcher import Dispatcher
from toolkit.errors import DefinitionError
from toolkit.safety import SafetyChecks
from toolkit.spec import Tool

pytestmark = pytest.mark.anyio


class Table(Access):
    kind = "table"


class Place(enum.Enum):
    ETC = "/etc/passwd"


class NamedPlace(str, enum.Enum):
    ETC = "/etc/passwd"


class OwnPath:
    def __fspath__(self):
        return b"/etc/passwd"


class Record:
    path = "/etc/passwd"


# Targets.


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("a.txt", "a.txt"),
        (Path("a.txt"), "a.txt"),
        (PurePosixPath("/a"), "/a"),
        (b"/etc/passwd", "/etc/passwd"),
        (bytearray(b"/etc/passwd"), "/etc/passwd"),
        (OwnPath(), "/etc/passwd"),
        (Place.ETC, "/etc/passwd"),
        (NamedPlace.ETC, "/etc/passwd"),
        (5, "5"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    ],
    ids=repr,
)
def test_a_target_is_the_text_that_its_reader_opens(target, text):
    """It is neither a label nor a repr."""
    assert Reads(target).target == text


@pytest.mark.parametrize("target", [Record(), object(), len, None], ids=lambda target: type(target).__name__)
def test_a_target_that_is_not_a_text_or_path_is_refused(target):
    """Otherwise its repr would be judged as a path that no tool opens."""
    with pytest.raises(TypeError, match="Reads wants a text or a path"):
        Reads(target)


def test_accesses_are_values():
    """The same kind and the same target are the same access."""
    assert Reads("a") == Reads(Path("a"))
    assert Reads("a") != Writes("a")
    assert Reads("a") != "a"
    assert len({Reads("a"), Reads("a"), Writes("a"), Table("a")}) == 3
    assert repr(Writes("a")) == "Writes('a')"


@pytest.mark.parametrize(
    ("kind", "name"), [(Reads, "read"), (Writes, "write"), (Command, "command"), (Url, "url"), (Table, "table")]
)
def test_kinds_have_names(kind, name):
    """Rules and checks go by them."""
    assert kind("x").kind == name


@pytest.mark.parametrize("base", [Reads, Writes, Command, Url, Table])
def test_a_kind_of_access_cannot_avoid_its_checks(base):
    """A class derived from a write is a write. No check would look at it under another name."""
    with pytest.raises(TypeError, match=f"derive it from Access .*own|so its kind is {base.kind!r}"):
        type("Upload", (base,), {"kind": "upload"})
    assert type("Upload", (base,), {})("x").kind == base.kind


# Markers.

Nested = TypeAliasType("Nested", list["Nested"])
Target = TypeAliasType("Target", Annotated[Path, Writes])


@pytest.mark.parametrize(
    ("hint", "kind"),
    [
        (Annotated[Path, Reads], Reads),
        (Annotated[Path, "a path", Writes], Writes),
        (Annotated[str, Command] | None, Command),
        (Optional[Annotated[str, Url]], Url),  # noqa: UP045 -- people write it
        (list[Annotated[Path, Reads]], Reads),
        (Annotated[list[Path], Reads], Reads),
        (dict[str, Annotated[Path, Writes]], Writes),
        (tuple[int, Annotated[Path, Reads]], Reads),
        (list[dict[str, Annotated[Path, Reads] | None]], Reads),
        (Annotated[str, Table], Table),
        (Annotated[str, Access], Access),
        (Target, Writes),
        (list[Target], Writes),
        (Path, None),
        (Nested, None),
        (Literal["a", "b"], None),
        (Annotated[Path, "Reads"], None),
        ("Reads", None),
        (None, None),
    ],
    ids=str,
)
def test_a_marker_is_found_in_any_place(hint, kind):
    """It may stand at the top, in a union, in a list, or behind a name."""
    assert find_access_marker(hint) is kind


@pytest.mark.parametrize(
    ("hint", "remedy"),
    [
        (Annotated[Path, Reads, Writes], "`Reads` and `Writes`; mark it as one"),
        (dict[Annotated[Path, Reads], Annotated[Path, Writes]], "`Reads` and `Writes`"),
        (Annotated[Path, Reads] | Annotated[str, Url], "`Reads` and `Url`"),
        (Annotated[Path, Writes("notes.txt")], r"write the class: `Annotated\[Path, Writes\]`"),
    ],
    ids=str,
)
def test_a_marker_that_would_not_count_is_refused(hint, remedy):
    """When the tool is made, with the name of the parameter."""

    def copy(path):
        """Copy."""

    copy.__annotations__ = {"path": hint}
    with pytest.raises(DefinitionError, match=f"parameter `path`: .*{remedy}"):
        Tool.described(copy)


# From arguments to accesses.


@pytest.mark.parametrize(
    ("value", "targets"),
    [
        ("a", ["a"]),
        (Path("a"), ["a"]),
        (None, []),
        ([], []),
        (["a", None, "b"], ["a", "b"]),
        (("a", ["b", {"c"}]), ["a", "b", "c"]),
        ({"a": "b"}, ["a", "b"]),
        (frozenset({"a"}), ["a"]),
        (collections.deque(["a", "b"]), ["a", "b"]),
        ({"a": 1}.keys(), ["a"]),
        (b"a", ["a"]),
        ("", [""]),
    ],
    ids=repr,
)
def test_every_target_in_a_value_counts(value, targets):
    """Targets in any collection count; None is no target."""
    assert [access.target for access in accesses_in(value, Reads)] == targets


SHAPES = {
    "plain": (Annotated[Path, Reads], "{}"),
    "optional": (Annotated[Path, Reads] | None, "{}"),
    "list": (list[Annotated[Path, Reads]], ["ok.txt", "{}"]),
    "tuple": (tuple[Annotated[Path, Reads], ...], ["{}"]),
    "set": (set[Annotated[str, Reads]], ["{}"]),
    "deque": (collections.deque[Annotated[str, Reads]], ["ok.txt", "{}"]),
    "sequence": (collections.abc.Sequence[Annotated[str, Reads]], ["{}"]),
    "keys": (dict[Annotated[str, Reads], int], {"{}": 1}),
    "values": (dict[str, Annotated[Path, Reads]], {"k": "{}"}),
    "deep": (list[dict[str, list[Annotated[Path, Reads]] | None]], [{"k": ["{}"]}]),
    "enum": (Annotated[NamedPlace, Reads], None),
    "alias": (TypeAliasType("Source", Annotated[Path, Reads]), "{}"),
}


def fill_value(value, path):
    """Return *value* with *path* in its place."""
    match value:
        case str():
            return value.format(path)
        case list():
            return [fill_value(item, path) for item in value]
        case dict():
            return {fill_value(key, path): fill_value(item, path) for key, item in value.items()}
    return value


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
@pytest.mark.parametrize(("hint", "value"), SHAPES.values(), ids=SHAPES)
async def test_no_shape_of_a_parameter_hides_its_target(tmp_path, hint, value, is_async):
    """A path outside the folders is refused, however it is wrapped; one inside is not."""
    ran = []

    async def look(paths):
        ran.append(paths)

    def look_sync(paths):
        ran.append(paths)

    function = look if is_async else look_sync
    function.__annotations__ = {"paths": hint}
    catalog = Catalog(Tool.described(function, name="look", description="Look.", read_only=True))
    dispatcher = Dispatcher(catalog, safety=SafetyChecks([tmp_path]))
    argument = "/etc/passwd" if value is None else fill_value(value, "/etc/passwd")
    assert (await dispatcher.call("look", {"paths": argument})).kind == "safety"
    assert ran == []
    if value is not None:
        assert (await dispatcher.call("look", {"paths": fill_value(value, "fine.txt")})).kind == "ok"


@pytest.mark.parametrize("arguments", [{}, {"path": None}], ids=["left out", "null"])
async def test_an_optional_parameter_with_none_causes_no_access(arguments):
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def look(path: Annotated[Path, Reads] | None = None) -> str:
        """Look."""
        return "seen"

    assert (await Dispatcher(catalog).call("look", arguments)).kind == "ok"


async def test_a_default_is_judged_like_a_sent_value():
    """The tool would open it."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def look(path: Annotated[Path, Reads] = Path("/etc/passwd")) -> str:
        """Look."""
        return "seen"

    assert (await Dispatcher(catalog).call("look", {})).kind == "safety"


async def test_all_paths_of_a_star_parameter_are_judged():
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def look(*paths: Annotated[Path, Reads]) -> str:
        """Look."""
        return "seen"

    dispatcher = Dispatcher(catalog)
    assert (await dispatcher.call("look", {"paths": ["a.txt", "/etc/passwd"]})).kind == "safety"
    assert (await dispatcher.call("look", {"paths": ["a.txt"]})).kind == "ok"
