"""
The server that the conformance suite tests: the tools, prompts and resources that its scenarios call by name.

It uses nothing but what the package offers to every program. Started as a program, it serves HTTP on a free port of
loopback and prints the address.
"""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import uvicorn

from toolkit import (
    DECLINED,
    AudioPart,
    Catalog,
    Context,
    Dispatcher,
    ImagePart,
    ResourcePart,
    TextPart,
    ToolError,
    tool,
)
from toolkit.mcp import ResourceChanges, http_app

from .task_tools import task_tools

__all__ = ["build_app", "prompts", "tools"]

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
WAV = b"RIFF&\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00@\x1f\x00\x00\x80>\x00\x00\x02\x00\x10\x00data\x02\x00\x00\x00\x00\x00"
STEP_SECONDS = 0.05

tools = Catalog()
prompts = Catalog()


def object_of(**members: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object in which all *members* are required."""
    return {"type": "object", "properties": members, "required": list(members)}


def describe_answer(answer: Any) -> str:
    """Return what the user answered, in the words that the scenarios look for."""
    if answer is DECLINED:
        return "action=decline, content={}"
    return f"action=accept, content={json.dumps(answer)}"


# What results contain.


@tools.tool(read_only=True)
def test_simple_text() -> str:
    """Return a text."""
    return "This is a simple text response for testing."


@tools.tool(read_only=True)
def test_image_content() -> ImagePart:
    """Return an image."""
    return ImagePart(PNG)


@tools.tool(read_only=True)
def test_audio_content() -> AudioPart:
    """Return a sound."""
    return AudioPart(WAV, "audio/wav")


@tools.tool(read_only=True)
def test_embedded_resource() -> ResourcePart:
    """Return a resource with its content."""
    return ResourcePart("test://embedded-resource", "This is an embedded resource content.", "text/plain")


@tools.tool(read_only=True)
def test_multiple_content_types() -> list[TextPart | ImagePart | ResourcePart]:
    """Return a text, an image and a resource."""
    resource = ResourcePart("test://mixed-content-resource", '{"test":"data","value":123}', "application/json")
    return [TextPart("Multiple content types test:"), ImagePart(PNG), resource]


@tools.tool(read_only=True)
def test_error_handling() -> str:
    """Fail."""
    raise ToolError("This tool intentionally returns an error for testing")


# What happens while a call runs.


@tools.tool(read_only=True)
async def test_tool_with_progress(context: Context) -> str:
    """Report progress three times."""
    for progress in (0, 50, 100):
        context.report(progress, 100)
        await asyncio.sleep(STEP_SECONDS)
    return "done"


async def write_log(context: Context) -> str:
    """Write three lines to the log of the call."""
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        context.logger.info(line)
        await asyncio.sleep(STEP_SECONDS)
    return "done"


for name in ("test_tool_with_logging", "test_logging_tool"):
    tools.tool(write_log, name=name, read_only=True)


# Questions to the user.


@tools.tool(read_only=True)
async def test_elicitation(message: str, context: Context) -> str:
    """
    Ask for a name and an address.

    Args:
        message: What the user reads.
    """
    text = {"type": "string"}
    schema = object_of(
        username={**text, "description": "User's response"}, email={**text, "description": "User's email address"}
    )
    return f"User response: {describe_answer(await context.ask('user', message, schema))}"


@tools.tool(read_only=True)
async def test_elicitation_sep1034_defaults(context: Context) -> str:
    """Ask with a default for every kind of member."""
    schema = object_of(
        name={"type": "string", "default": "John Doe"},
        age={"type": "integer", "default": 30},
        score={"type": "number", "default": 95.5},
        status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        verified={"type": "boolean", "default": True},
    )
    answer = await context.ask("profile", "Please check your profile", {**schema, "required": []})
    return f"Elicitation completed: {describe_answer(answer)}"


def list_titles(*names: str) -> list[dict[str, str]]:
    """Return choices that have titles."""
    return [{"const": f"value{number}", "title": name} for number, name in enumerate(names, 1)]


@tools.tool(read_only=True)
async def test_elicitation_sep1330_enums(context: Context) -> str:
    """Ask with every form of a choice."""
    plain = {"type": "string", "enum": ["option1", "option2", "option3"]}
    schema = object_of(
        untitledSingle=plain,
        titledSingle={"type": "string", "oneOf": list_titles("First Option", "Second Option", "Third Option")},
        legacyEnum={
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        untitledMulti={"type": "array", "items": plain},
        titledMulti={"type": "array", "items": {"anyOf": list_titles("First Choice", "Second Choice", "Third Choice")}},
    )
    answer = await context.ask("choices", "Please choose", {**schema, "required": []})
    return f"Elicitation completed: {describe_answer(answer)}"


async def ask_name(context: Context, key: str, message: str) -> Any:
    """Return the object that the user fills in, or DECLINED."""
    return await context.ask(key, message, object_of(name={"type": "string"}))


@tools.tool(read_only=True)
async def test_input_required_result_elicitation(context: Context) -> str:
    """Ask for a name and greet."""
    answer = await ask_name(context, "user_name", "What is your name?")
    return "Hello!" if answer is DECLINED else f"Hello, {answer['name']}!"


async def confirm(context: Context) -> str:
    """Ask for a confirmation."""
    answer = await context.ask("confirm", "Please confirm", object_of(ok={"type": "boolean"}))
    return f"state-ok {describe_answer(answer)}"


for name in (
    "test_input_required_result_request_state",
    "test_input_required_result_tampered_state",
    "test_streaming_elicitation",
):
    tools.tool(confirm, name=name, read_only=True)


@tools.tool(read_only=True)
async def test_sampling(context: Context, prompt: str) -> str:
    """Ask the model of the client."""
    return f"LLM response: {await context.sample(prompt)}"


async def ask_model(context: Context) -> str:
    """Ask the model of the client for a capital."""
    return await context.sample("What is the capital of France?")


for name in (
    "test_input_required_result_sampling",
    "test_input_required_result_capabilities",
    "test_missing_capability",
):
    tools.tool(ask_model, name=name, read_only=True)


@tools.tool(read_only=True)
async def test_input_required_result_list_roots(context: Context) -> list[str]:
    """List the folders of the client."""
    return await context.roots()


@tools.tool(read_only=True)
async def test_input_required_result_multiple_inputs(context: Context) -> str:
    """Ask the user, the model and the client at once."""
    answer, greeting, folders = await asyncio.gather(
        ask_name(context, "user_name", "What is your name?"),
        context.sample("Generate a greeting"),
        context.roots(),
    )
    return f"{describe_answer(answer)} {greeting} {len(folders)}"


@tools.tool(read_only=True)
async def test_input_required_result_multi_round(context: Context) -> str:
    """Ask a second question after the first one."""
    first = await ask_name(context, "step1", "Step 1: What is your name?")
    second = await context.ask("step2", "Step 2: What is your favorite color?", object_of(color={"type": "string"}))
    return f"{describe_answer(first)} {describe_answer(second)}"


# Changes of the lists.


def toggle(catalog: Catalog, name: str) -> str:
    """Add a tool to *catalog*, or remove it if it is there."""
    if name in catalog:
        catalog.remove(name)
        return "removed"
    catalog.tool(test_simple_text, name=name, read_only=True)
    return "added"


@tools.tool(read_only=True)
def test_trigger_tool_change() -> str:
    """Change the list of tools."""
    return toggle(tools, "test_changing_tool")


@tools.tool(read_only=True)
def test_trigger_prompt_change() -> str:
    """Change the list of prompts."""
    return toggle(prompts, "test_changing_prompt")


# Prompts.


@prompts.tool(read_only=True)
def test_simple_prompt() -> str:
    """Show a plain prompt."""
    return "This is a simple prompt for testing."


@prompts.tool(read_only=True)
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """
    Show a prompt with arguments.

    Args:
        arg1: First test argument.
        arg2: Second test argument.
    """
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@prompts.tool(read_only=True)
def test_prompt_with_embedded_resource(resourceUri: str) -> list[ResourcePart | TextPart]:  # noqa: N803 -- the suite's name
    """
    Show a prompt with a resource.

    Args:
        resourceUri: URI of the resource to embed.
    """
    resource = ResourcePart(resourceUri, "Embedded resource content for testing.", "text/plain")
    return [resource, TextPart("Please process the embedded resource above.")]


@prompts.tool(read_only=True)
def test_prompt_with_image() -> list[ImagePart | TextPart]:
    """Show a prompt with an image."""
    return [ImagePart(PNG), TextPart("Please analyze the image above.")]


@prompts.tool(read_only=True)
async def test_input_required_result_prompt(context: Context) -> str:
    """Show a prompt that asks first."""
    schema = object_of(context={"type": "string"})
    answer = await context.ask("user_context", "What context should the prompt use?", schema)
    return f"Use this context: {describe_answer(answer)}"


# Resources.


@tool(catalog=None, read_only=True)
def read_template(id: str) -> ResourcePart:
    """
    Read one of many records.

    Args:
        id: The name of the record.
    """
    content = json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})
    return ResourcePart(f"test://template/{id}/data", content, "application/json")


resources = {
    "test://static-text": "This is the content of the static text resource.",
    "test://static-binary": ResourcePart("test://static-binary", PNG, "image/png"),
    "test://template/{id}/data": read_template,
    "test://watched-resource": "This is the content of a resource that may change.",
}


def build_app() -> Any:
    """Return the ASGI application."""
    return http_app(
        Dispatcher(tools.merged(task_tools)),
        name="conformance",
        version="1.0.0",
        prompts=prompts,
        resources=resources,
        sends_logs=True,
        resource_changes=ResourceChanges(),
    )


class AnnouncingServer(uvicorn.Server):
    """Prints the address as soon as requests are answered there."""

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        host, port = self.servers[0].sockets[0].getsockname()[:2]
        print(f"http://{host}:{port}/mcp", flush=True)


if __name__ == "__main__":
    AnnouncingServer(uvicorn.Config(build_app(), host="127.0.0.1", port=0, log_level="warning")).run()
