"""What must not leave does not, by any exit; and what runs is what was sent."""

import dataclasses
import json
import re

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.values import json_values
from toolkit.content import AudioPart, FilePart, ImagePart, JsonPart, ResourcePart, TextPart
from toolkit.context import Progress
from toolkit.decisions import ApprovalRequest
from toolkit.errors import ErrorInfo
from toolkit.policies.redaction import MASK, Redaction
from toolkit.results import ToolResult

pytestmark = pytest.mark.filterwarnings("ignore::toolkit.ToolkitWarning")


@pytest.mark.parametrize(
    ("rules", "text", "masked"),
    [
        (["key"], "the key is key", f"the {MASK} is {MASK}"),
        ([re.compile(r"\d{4}")], "pin 1234 of 12", f"pin {MASK} of 12"),
        ([str.upper], "quiet", "QUIET"),
        (["a.c"], "abc a.c", f"abc {MASK}"),
        # Overlaps: everything that any rule covers.
        (["abc", "bcd"], "xabcdx", f"x{MASK}x"),
        (["bcd", "abc"], "xabcdx", f"x{MASK}x"),
        (["ab", "abcd"], "abcdab", f"{MASK}{MASK}"),
        (["aa"], "aaa", MASK),
        (["abc", re.compile("c+")], "abccc", MASK),
        # A rule does not see another's mask.
        (["red", "xyz"], "xyz red", f"{MASK} {MASK}"),
        (["red"], f"{MASK}", f"[{MASK}acted]"),
        ([re.compile("x*")], "axb", f"a{MASK}b"),
        ([re.compile("")], "ab", "ab"),
        ([], "ab", "ab"),
    ],
)
def test_texts_and_patterns_and_functions_mask_a_text(rules, text, masked):
    assert Redaction(rules).mask_text(text) == masked


@pytest.mark.parametrize(
    "show",
    [
        json.dumps,
        lambda secret: json.dumps(secret, ensure_ascii=False),
        repr,
        str,
        lambda secret: __import__("urllib.parse").parse.quote(secret, safe=""),
        lambda secret: __import__("urllib.parse").parse.quote(secret),
        lambda secret: __import__("urllib.parse").parse.quote_plus(secret),
    ],
    ids=["json", "json text", "repr", "str", "address", "path", "query"],
)
@pytest.mark.parametrize("secret", ['say "hi"\n', "pässwörd/1 +2", "back\\slash", "plain", "\ud800x"])
def test_an_escaped_secret_is_masked(secret, show):
    """The forms are those of JSON, Python and addresses."""
    try:
        dressed = show(secret)
    except UnicodeEncodeError:
        return
    assert Redaction([secret]).mask_text(f"<{dressed}>").strip("<>'\"") == MASK


@pytest.mark.parametrize(
    ("rules", "match"),
    [([""], "empty"), ([5], "got int"), ("key", "a list of rules"), ([re.compile(b"x")], "got Pattern")],
)
def test_an_invalid_rule_is_refused(rules, match):
    """A mask that does not work is worse than none."""
    with pytest.raises((TypeError, ValueError), match=match):
        Redaction(rules)


def _broken(text):
    raise ValueError(text)


@pytest.mark.parametrize("rule", [_broken, lambda text: None, lambda text: text.encode()])
def test_a_function_that_fails_masks_everything(rule, caplog):
    """The text must not leave unmasked, not even in the log."""
    assert Redaction([rule]).mask_text("secret") == MASK
    assert "the whole text is masked" in caplog.text
    assert "secret" not in caplog.text


# Secrets: the values of marked parameters.


@dataclasses.dataclass
class Login:
    user: str
    password: str


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        ("hunter2", "hunter2"),
        (1234, "1234"),
        (1.25, "1.25"),
        (10**900, str(10**900)),
        (["hunter2", {"a": "other"}], "hunter2"),
        (["hunter2", {"a": "other"}], "other"),
        ({"a": ("hunter2",)}, "hunter2"),
        ({"hunter2"}, "hunter2"),
        (Login("me", "hunter2"), "hunter2"),
        (b"hunter2", "hunter2"),
        (b"hunter2", "aHVudGVyMg=="),
        (pydantic.SecretStr("hunter2"), "hunter2"),
    ],
    ids=lambda value: repr(value)[:30] if not isinstance(value, int) else "number",
)
def test_a_secret_of_any_kind_is_masked(secret, text):
    """The whole value and its parts are masked, as the model sent them and as the tool sees them."""
    assert Redaction().with_secrets([secret]).mask_text(f"<{text}>") == f"<{MASK}>"


@pytest.mark.parametrize("secret", [None, "", True, False, [], {}, [None, ""]])
def test_an_empty_or_trivial_value_is_not_a_secret(secret):
    """Masking every "True" or every gap in a text would help no user."""
    redaction = Redaction().with_secrets([secret])
    assert not redaction
    assert redaction.mask_text("None True False null") == "None True False null"


def test_secrets_are_masked_beside_the_rules():
    """The rules stay, and stay as they were without."""
    rules = Redaction(["key", str.strip])
    assert rules.with_secrets(["pin"]).mask_text(" key pin ") == f"{MASK} {MASK}"
    assert rules.mask_text(" key pin ") == f"{MASK} pin"


def test_a_number_inside_a_longer_one_is_not_masked():
    """A text of digits is masked in any place."""
    assert Redaction().with_secrets([12]).mask_text("12 123 3.12") == f"{MASK} 123 3.{MASK}"
    assert Redaction().with_secrets(["12"]).mask_text("123") == f"{MASK}3"


# Every exit.


def test_values_are_masked_all_the_way_down():
    """Texts, keys, numbers; the shape stays."""
    redaction = Redaction(["key", "1234"])
    assert redaction.mask_value({"a key": ["key", 1234, 12.5, True, None], "n": 1.1234}) == {
        f"a {MASK}": [MASK, MASK, 12.5, True, None],
        "n": 1.1234,
    }


@pytest.mark.parametrize(
    "redaction",
    [Redaction(["100200"]), Redaction().with_secrets(["100200"]), Redaction().with_secrets([100200])],
    ids=["a rule", "a secret text", "a secret number"],
)
@pytest.mark.parametrize("number", [1002003, 1100200, 0.1002, 100200.5, 3.1002009, -1002001, 100201])
def test_a_number_is_masked_only_if_it_is_the_whole_secret(redaction, number):
    """A part of it would be another value."""
    assert redaction.mask_value({"id": [number, 100200, 100200.0]}) == {"id": [number, MASK, MASK]}


def test_a_pattern_decides_which_part_of_a_number_it_masks():
    assert Redaction([re.compile("^41")]).mask_value(4111) == f"{MASK}11"


def escape_as_php(text):
    return json.dumps(text).replace("/", r"\/")


def escape_as_php_unicode(text):
    return json.dumps(text, ensure_ascii=False).replace("/", r"\/")


def escape_as_dotnet(text):
    """Escape as System.Text.Json does: in capitals, and also what has a meaning in HTML."""
    escapes = {letter: f"\\u{ord(letter):04X}" for letter in "\"&'+<>`é"}
    return '"' + "".join(escapes.get(letter, letter) for letter in text) + '"'


@pytest.mark.parametrize("escape", [escape_as_php, escape_as_php_unicode, escape_as_dotnet])
@pytest.mark.parametrize("secret", ["a/b+c/d", "/usr", 'sl/ash "and" é', "<a> & 'b' `c`", "plain"])
def test_json_of_other_languages_is_masked(secret, escape):
    assert json.loads(escape(secret)) == secret
    assert Redaction([secret]).mask_text(f"the key {escape(secret)}") == f'the key "{MASK}"'


def test_keys_with_the_same_mask_are_numbered():
    assert Redaction([re.compile("k.")]).mask_value({"k1": 1, "k2": 2}) == {MASK: 1, f"{MASK} (2)": 2}


def test_a_value_that_is_not_json_is_masked_in_its_json_form():
    """A hook may put anything into a result."""
    assert Redaction(["key"]).mask_value(("key", {"a": Login("me", "key")})) == [
        MASK,
        {"a": {"user": "me", "password": MASK}},
    ]


@given(json_values())
def test_a_value_without_a_secret_stays_unchanged(value):
    assert Redaction(["\0never\0"]).mask_value(value) == value


def test_everything_in_a_result_is_masked():
    """A result that is written down holds no secret."""
    result = ToolResult(
        "text key",
        {"value": "key"},
        "waiting",
        parts=[TextPart("key"), JsonPart(["key"]), FilePart("file://key", None, "key"), FilePart("a"), ImagePart(b"i")],
        error=ErrorInfo("message key", {"detail": "key"}),
        request=ApprovalRequest(
            tool="t", call_id="c", reason="key", arguments={"a": "key"}, preview="key", repairs=("key",)
        ),
        repairs=["key"],
        retries=["key"],
        metadata={"key": "key"},
    )
    masked = Redaction(["key"]).mask_result(result)
    assert masked is result
    assert "key" not in json.dumps(masked.to_json())
    assert json.dumps(masked.to_json()).count(MASK) == 16
    assert masked.parts[4] == ImagePart(b"i")


def test_resources_are_masked():
    """Secrets in the URI, in the text and in the bytes; sound stays as it is."""
    sound = AudioPart(b"key", "audio/wav")
    parts = [
        ResourcePart("memo://key/1", "the key", "text/plain"),
        ResourcePart("memo:1", b"the key"),
        ResourcePart("memo:2", b"\xff key"),
        ResourcePart("memo:3"),
        sound,
    ]
    assert Redaction(["key"]).mask_result(ToolResult("", parts=parts)).parts == [
        ResourcePart(f"memo://{MASK}/1", f"the {MASK}", "text/plain"),
        ResourcePart("memo:1", f"the {MASK}".encode()),
        ResourcePart("memo:2", b"\xff " + MASK.encode()),
        *parts[3:],
    ]


@pytest.mark.parametrize(
    "rule", ["memo:1", re.compile(".*"), lambda text: "", lambda text: "\ud800 x"], ids=["text", "all", "none", "odd"]
)
def test_a_masked_uri_is_still_a_uri(rule):
    """A rule may mask the scheme too, or leave nothing."""
    (part,) = Redaction([rule]).mask_result(ToolResult("", parts=[ResourcePart("memo:1")])).parts
    assert part.uri.startswith("redacted:")


@pytest.mark.parametrize(
    ("part", "media_type"),
    [
        (AudioPart(b"x", "audio/wav; key=sk-1"), f"audio/wav; key={MASK}"),
        (AudioPart(b"x", "audio/sk-1"), "audio/redacted"),
        (ImagePart(b"x", "image/png; key=sk-1"), f"image/png; key={MASK}"),
        (ResourcePart("memo:1", "x", "text/plain; key=sk-1"), f"text/plain; key={MASK}"),
        (ResourcePart("memo:1", "x", "text/sk-1"), None),
        (FilePart("file:///x", "text/sk-1"), f"text/{MASK}"),
        (FilePart("file:///x"), None),
        (AudioPart(b"x", "audio/wav"), "audio/wav"),
    ],
)
def test_media_types_are_masked(part, media_type):
    """A media type that masking makes invalid is replaced or left out."""
    result = Redaction([re.compile(r"sk-\d")]).mask_result(ToolResult("t", parts=[part]))
    assert result.parts[0].media_type == media_type


@pytest.mark.parametrize("rule", ["sk-\u00fc", lambda text: text.replace("sk-\u00fc", MASK)])
def test_bytes_that_are_not_text_are_masked(rule):
    """The secret in a resource is masked, and the bytes around it stay."""
    part = ResourcePart("memo:1", b"\xff\xfe " + "sk-\u00fc".encode() + b" \x80")
    result = Redaction([rule]).mask_result(ToolResult("t", parts=[part]))
    assert result.parts[0].content == b"\xff\xfe " + MASK.encode() + b" \x80"


def test_bytes_are_masked_by_a_function_that_writes_any_text():
    """Characters that UTF-8 does not have are replaced."""
    result = Redaction([lambda text: "\ud800" + text[3:]]).mask_result(
        ToolResult("t", parts=[ResourcePart("memo:1", b"key")])
    )
    assert result.parts[0].content == b"?"


@given(st.binary(max_size=40))
def test_bytes_without_a_secret_stay(content):
    """Reading bytes as a text loses nothing."""
    result = Redaction(["a secret of many words"]).mask_result(
        ToolResult("t", parts=[ResourcePart("memo:1", content + b"a secret of many words")])
    )
    assert result.parts[0].content == content + MASK.encode()


def test_the_returned_object_is_dropped_if_only_a_part_was_masked():
    """The bytes of a resource are not in the text, and the object that the tool returned has them."""
    parts = [ResourcePart("memo:1", b"the key")]
    result = ToolResult("see", parts=parts)
    result.returned = parts
    assert Redaction(["key"]).mask_result(result).returned is None
    result = ToolResult("see", parts=parts)
    result.returned = parts
    assert Redaction(["other"]).mask_result(result).returned is parts


def test_progress_is_masked():
    """Message and value; a message may be missing."""
    progress = Progress(call_id="c", tool="t", message="key", value=["key"])
    assert Redaction(["key"]).mask_progress(progress) == Progress(call_id="c", tool="t", message=MASK, value=[MASK])
    assert Redaction(["key"]).mask_progress(Progress(call_id="c", tool="t")).message is None


@given(st.text("ab", min_size=1, max_size=6), st.text("ab", max_size=24))
def test_a_secret_that_overlaps_itself_is_masked_at_each_place(secret, text):
    """Every character of every occurrence is covered, and no other."""
    places = [at for at in range(len(text)) if text.startswith(secret, at)]
    covered = {position for at in places for position in range(at, at + len(secret))}
    kept = "".join(letter for position, letter in enumerate(text) if position not in covered)
    assert Redaction([secret]).mask_text(text).replace(MASK, "") == kept
