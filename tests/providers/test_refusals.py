"""What is refused, and what is no answer: over a real connection, in every protocol."""

from __future__ import annotations

import pytest

from toolkit import ProviderError
from toolkit.providers import ProviderFailure

from .making import NAMES, ask, build_provider, catalog, hello
from .stub import Answer, serving

pytestmark = pytest.mark.anyio

each_provider = pytest.mark.parametrize("name", NAMES)
STREAM = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@each_provider
@STREAM
async def test_a_refusal_is_not_tried_again(name, stream):
    body = {"error": {"type": "not_found_error", "code": "model_not_found", "message": "no such model"}}
    async with serving(Answer(404, body)) as stub, build_provider(name, stub) as provider:
        with pytest.raises(ProviderFailure, match=f"knows no model '{provider.model}'.*no such model") as failed:
            await ask(provider, hello(), stream=stream)
    assert (failed.value.why, failed.value.status) == ("model", 404)
    assert len(stub.heard) == 1


@each_provider
async def test_the_error_for_a_refused_schema_names_the_tool_as_the_catalog_does(name):
    """The name on the wire may be another one."""
    place = "tools[0].function_declarations[0].x" if name == "gemini" else "tools.0.custom.input_schema"
    body = {"error": {"message": f"{place}: bad"}}
    async with serving(Answer(400, body)) as stub, build_provider(name, stub) as provider:
        with pytest.raises(ProviderFailure, match=r"the tool `files\.read` was refused") as failed:
            await provider.reply(hello(catalog=catalog()))
    assert failed.value.why == "schema"


@each_provider
async def test_a_redirect_is_not_followed(name):
    """The key would go along."""
    answer = Answer(307, {}, {"Location": "https://evil.test/v1"})
    async with serving(answer) as stub, build_provider(name, stub) as provider:
        with pytest.raises(ProviderFailure, match=r"redirects to 'https://evil\.test/v1', which is not followed"):
            await provider.reply(hello())


@each_provider
@pytest.mark.parametrize("body", [b"<html>", b"[1]", b"{}", b'{"choices": 5}', b"nul"], ids=repr)
async def test_an_answer_that_is_not_one_of_a_model_is_refused(name, body):
    """A page, a list, an object of no known shape: the server that answers is not a model."""
    async with serving(Answer(200, body)) as stub, build_provider(name, stub) as provider:
        with pytest.raises(ProviderError, match="no JSON object|no known shape|no `|is no |a page for people"):
            await provider.reply(hello())
    assert len(stub.heard) == 1


@each_provider
async def test_a_page_for_people_is_not_quoted(name):
    """The first words of a gateway's page say nothing."""
    async with serving(Answer(400, b"<!doctype html><p>x</p>")) as stub, build_provider(name, stub) as provider:
        with pytest.raises(ProviderFailure, match=r"refused the request \(400\)$"):
            await provider.reply(hello())


async def test_an_answer_without_end_is_refused():
    """Sizes are bounded; an error's body is cut."""
    script = Answer(200, b" " * 9_000_000), Answer(400, b"y" * 9_000_000)
    async with serving(*script) as stub, build_provider("openai", stub) as provider:
        with pytest.raises(ProviderFailure, match="more than 8,388,608 bytes"):
            await provider.reply(hello())
        with pytest.raises(ProviderFailure, match="refused the request"):
            await provider.reply(hello())
