"""Functions as prompts: what a client lists, gets, completes and answers."""

from __future__ import annotations

from typing import Literal

import anyio
import mcp_types as types
import pytest
from mcp import MCPError

from toolkit import Catalog, Context, Dispatcher, ImagePart, JsonPart, ResourcePart, TextPart, ToolError
from toolkit.mcp import build_server

from .kit import MODES, NEW, OLD, Person, connected

pytestmark = pytest.mark.anyio

PNG = b"\x89PNG"


def build_prompts():
    """Make the prompts that most tests use."""
    prompts = Catalog()

    @prompts.tool(read_only=True)
    def review(style: Literal["short", "long", "shouted"], lines: int = 3, *, note: str = "") -> str:
        """
        Review the last change.

        Args:
            style: How to write.
            lines: How many lines.
        """
        return f"review in {style} style, {lines + 1} lines {note}"

    @prompts.tool(read_only=True)
    def show() -> list[ImagePart | TextPart | ResourcePart | JsonPart]:
        """Show parts of all kinds."""
        return [ImagePart(PNG), TextPart("look"), ResourcePart("memo://a", "text"), JsonPart({"a": 1})]

    @prompts.tool(read_only=True)
    async def greet(context: Context) -> str:
        """Greet the user by name."""
        return f"Hello {await context.ask('name', 'Who are you?')}"

    @prompts.tool(read_only=True)
    def fail() -> str:
        """Fail."""
        raise ToolError("no paper left")

    @prompts.tool
    def change() -> str:
        """Change something."""
        return "changed"

    return prompts


@pytest.mark.parametrize("mode", MODES)
async def test_functions_are_listed_with_their_arguments(mode):
    """A client sees the name, the description and the arguments of a function."""
    async with connected(Dispatcher(Catalog()), mode, prompts=build_prompts()) as client:
        [review, *others] = (await client.list_prompts()).prompts

    assert [prompt.name for prompt in others] == ["show", "greet", "fail", "change"]
    assert review.description == "Review the last change."
    assert [(item.name, item.required, item.description) for item in review.arguments] == [
        ("style", True, "How to write."),
        ("lines", False, "How many lines."),
        ("note", False, ""),
    ]


@pytest.mark.parametrize("mode", MODES)
async def test_arguments_arrive_as_their_types(mode):
    """The protocol sends texts; a number arrives as a number, and a text of digits as a text."""
    async with connected(Dispatcher(Catalog()), mode, prompts=build_prompts()) as client:
        prompt = await client.get_prompt("review", {"style": "short", "lines": "7", "note": "12"})

    [message] = prompt.messages
    assert (message.role, message.content.text) == ("user", "review in short style, 8 lines 12")
    assert prompt.description == "Review the last change."


async def test_a_text_for_a_parameter_that_takes_none_is_read_as_json():
    """Lists, numbers and choices arrive as such, and a text that is no JSON stays for a parameter that takes texts."""
    prompts = Catalog()

    @prompts.tool(read_only=True)
    def sort(tags: list[str], level: Literal[1, 2], note: str | None = None) -> str:
        """Sort tags."""
        return f"{sorted(tags)} {level + 1} {note}"

    async with connected(Dispatcher(Catalog()), NEW, prompts=prompts) as client:
        prompt = await client.get_prompt("sort", {"tags": '["b", "a"]', "level": "2", "note": "7"})

    assert prompt.messages[0].content.text == "['a', 'b'] 3 7"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("name", "arguments", "words", "code"),
    [
        ("review", {"style": "bold"}, "style", types.INVALID_PARAMS),
        ("review", {"style": "short", "lines": "many"}, "lines", types.INVALID_PARAMS),
        ("review", {}, "style", types.INVALID_PARAMS),
        ("fail", {}, "no paper left", types.INTERNAL_ERROR),
        ("nothing", {}, "nothing", types.INVALID_PARAMS),
    ],
)
async def test_a_prompt_that_fails_says_why(mode, name, arguments, words, code):
    """A wrong argument, a failure and an unknown name are errors that name the cause. A failure blames no argument."""
    async with connected(Dispatcher(Catalog()), mode, prompts=build_prompts()) as client:
        with pytest.raises(MCPError, match=words) as caught:
            await client.get_prompt(name, arguments)
    assert caught.value.code == code


@pytest.mark.parametrize("mode", MODES)
async def test_each_part_is_a_message(mode):
    """Parts keep their order and their kind."""
    async with connected(Dispatcher(Catalog()), mode, prompts=build_prompts()) as client:
        prompt = await client.get_prompt("show")

    image, text, resource, value = [message.content for message in prompt.messages]
    assert (image.type, image.mime_type) == ("image", "image/png")
    assert text.text == "look"
    assert (resource.resource.uri, resource.resource.text) == ("memo://a", "text")
    assert value.text == '{"a":1}'


@pytest.mark.parametrize("mode", MODES)
async def test_a_prompt_may_ask(mode):
    """A question of a prompt reaches the user of the client, and the answer reaches the prompt."""
    person = Person(types.ElicitResult(action="accept", content={"answer": "Ada"}))
    async with connected(Dispatcher(Catalog()), mode, person, prompts=build_prompts()) as client:
        prompt = await client.get_prompt("greet")

    assert prompt.messages[0].content.text == "Hello Ada"
    assert [question.message for question in person.questions] == ["Who are you?"]


@pytest.mark.parametrize("mode", MODES)
async def test_the_rules_hold_for_prompts(mode):
    """A prompt that changes something needs approval; a client that cannot ask is refused."""
    async with connected(Dispatcher(Catalog()), mode, prompts=build_prompts()) as client:
        with pytest.raises(MCPError, match="approval"):
            await client.get_prompt("change")


async def test_a_state_of_a_tool_is_not_a_state_of_a_prompt():
    """A question of a tool cannot be answered by a prompt of the same name, also if both have the same key."""
    tools = Catalog()

    @tools.tool(name="greet", read_only=True)
    async def wipe(context: Context) -> str:
        """Ask and act."""
        return f"wiped {await context.ask('name', 'Really?')}"

    options = {"prompts": build_prompts(), "key": "k" * 32}
    async with connected(Dispatcher(tools), NEW, Person(), **options) as client:
        question = await client.session.call_tool("greet", {}, allow_input_required=True)
        answer = {"name": types.ElicitResult(action="accept", content={"answer": "x"})}
        with pytest.raises(MCPError, match="this question was about another call"):
            await client.session.get_prompt(
                "greet", input_responses=answer, request_state=question.request_state, allow_input_required=True
            )


@pytest.mark.parametrize("mode", MODES)
async def test_choices_are_completed(mode):
    """A client that completes an argument gets the choices that begin with the text."""
    reference = types.PromptReference(name="review")
    async with connected(Dispatcher(Catalog()), mode, prompts=build_prompts()) as client:
        some = await client.complete(reference, {"name": "style", "value": "S"})
        none = await client.complete(reference, {"name": "note", "value": ""})
        unknown = await client.complete(types.PromptReference(name="nothing"), {"name": "style", "value": ""})

    assert (some.completion.values, some.completion.total) == (["short", "shouted"], 2)
    assert none.completion.values == unknown.completion.values == []


async def test_clients_receive_changes_of_the_prompts():
    prompts, announced = build_prompts(), anyio.Event()

    async def note(message):
        if getattr(message, "method", "") == "notifications/prompts/list_changed":
            announced.set()

    async with connected(Dispatcher(Catalog()), OLD, prompts=prompts, client={"message_handler": note}) as client:
        await client.list_prompts()  # so the server knows that the client is there
        prompts.tool(lambda: "new", name="new", description="New.", read_only=True)
        with anyio.fail_after(60):
            await announced.wait()


async def test_an_unknown_prompt_names_the_functions():
    """A client that mistypes a name learns which there are."""
    async with connected(Dispatcher(Catalog()), NEW, prompts=build_prompts()) as client:
        with pytest.raises(MCPError, match="unknown prompt 'gret'; there are review, show, greet, fail, change"):
            await client.get_prompt("gret")


def test_prompts_have_to_be_a_catalog():
    """A wrong option is refused when the server is made."""
    with pytest.raises(TypeError, match="prompts.*catalog of functions"):
        build_server(Dispatcher(Catalog()), prompts=["review"])
