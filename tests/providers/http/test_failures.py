"""What a provider's refusal means, in words and as data."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit import ProviderError, Transient
from toolkit.providers import ProviderFailure
from toolkit.providers.http.failures import SentRequest, classify_failure, read_error_facts

SENT = SentRequest(
    provider="Test",
    host="api.test",
    model="m-1",
    key_source="TEST_KEY",
    tools={"a--one": "a.one", "two": "two", "three": "three", "four": "four"},
)


def anthropic(kind, message="", **details):
    return {"type": "error", "error": {"type": kind, "message": message, "details": details or None}, "request_id": "r"}


def openai(code, message="", kind="invalid_request_error", param=None):
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def google(code, status, message="", *reasons):
    details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason} for reason in reasons]
    return {"error": {"code": code, "status": status, "message": message, "details": details}}


@pytest.mark.parametrize(
    ("status", "body", "why"),
    [
        (401, anthropic("authentication_error", "invalid bearer token"), "key"),
        (401, openai("invalid_api_key", "Incorrect API key provided"), "key"),
        (
            400,
            google(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", "API_KEY_INVALID"),
            "key",
        ),
        (403, anthropic("permission_error", "not allowed"), "permission"),
        (403, google(403, "PERMISSION_DENIED", "region"), "permission"),
        (402, anthropic("billing_error", "pay"), "credit"),
        (400, anthropic("invalid_request_error", "Your credit balance is too low to access the API."), "credit"),
        (400, anthropic("invalid_request_error", "You have reached your specified API usage limits."), "credit"),
        (429, anthropic("rate_limit_error", "limit", error_code="enforced_spend_limit_reached"), "credit"),
        (429, openai("insufficient_quota", "You exceeded your current quota", "insufficient_quota"), "credit"),
        (404, anthropic("not_found_error", "model: m-1"), "model"),
        (404, openai("model_not_found", "The model `m-1` does not exist"), "model"),
        (400, openai("model_not_found", "The model `m-1` does not exist"), "model"),
        (404, google(404, "NOT_FOUND", "models/m-1 is not found for API version v1beta"), "model"),
        (404, {"error": 'model "m-1" not found, try pulling it first'}, "model"),
        (400, anthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), "context"),
        (413, anthropic("request_too_large", "too large"), "context"),
        (400, openai("context_length_exceeded", "This model's maximum context length is 8192 tokens"), "context"),
        (400, google(400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum"), "context"),
        (500, {"error": {"message": "the request exceeds the available context size"}}, "context"),
        (400, anthropic("invalid_request_error", "tools.1.custom.input_schema: JSON schema is invalid"), "schema"),
        (400, openai("invalid_function_parameters", "Invalid schema", param="tools[1].function.parameters"), "schema"),
        (
            400,
            google(400, "INVALID_ARGUMENT", "GenerateContentRequest.tools[0].function_declarations[1].x: bad"),
            "schema",
        ),
        (400, anthropic("invalid_request_error", "messages.0: bad"), "request"),
        (422, {"detail": "no such field"}, "request"),
        (400, "just text", "request"),
        (418, None, "request"),
    ],
)
def test_a_refusal_says_why(status, body, why):
    """The same reason in every provider's words, and nothing that would help is tried again."""
    failure = classify_failure(status, read_error_facts(body), SENT)
    assert isinstance(failure, ProviderFailure)
    assert (failure.why, failure.status) == (why, status)
    assert str(failure).startswith("Test")


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (429, anthropic("rate_limit_error", "This request would exceed your rate limit: too many tokens")),
        (429, google(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan")),
        (529, anthropic("overloaded_error", "Overloaded")),
        (500, openai(None, "The server had an error", "server_error")),
        (503, google(503, "UNAVAILABLE", "The model is overloaded")),
        (502, "<html>Bad gateway</html>"),
        (408, None),
        (409, anthropic("conflict_error", "busy")),
    ],
)
def test_a_failure_that_may_pass_is_transient(status, body):
    """It has the wait that the provider asked for."""
    failure = classify_failure(status, read_error_facts(body), SENT, wait=7.0)
    assert isinstance(failure, Transient)
    assert failure.retry_after_seconds == 7.0
    assert failure.happened == ("no" if status == 429 else "maybe")
    assert str(status) in str(failure)


@pytest.mark.parametrize(("status", "should_retry", "kind"), [(500, False, ProviderFailure), (400, True, Transient)])
def test_the_header_of_a_provider_decides_whether_to_try_again(status, should_retry, kind):
    failure = classify_failure(status, read_error_facts(None), SENT, should_retry=should_retry)
    assert isinstance(failure, kind)
    assert getattr(failure, "why", "unavailable") == "unavailable"


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        (anthropic("overloaded_error"), 529, Transient),
        (anthropic("api_error"), 500, Transient),
        (anthropic("not_found_error"), 404, ProviderFailure),
        (anthropic("invalid_request_error"), None, ProviderFailure),
        (google(503, "UNAVAILABLE"), 503, Transient),
        ({"type": "error", "code": "rate_limit_exceeded", "message": "slow"}, 429, Transient),
        ({"error": {"code": "server_error", "message": "broken"}}, 500, Transient),
        ({"error": {"code": 502, "message": "upstream"}}, 502, Transient),
        ({"error": {"type": "server_error", "code": "rate_limit_exceeded"}}, 500, Transient),
        ({"error": {"code": 42, "message": "strange"}}, None, ProviderFailure),
        ([google(400, "INVALID_ARGUMENT")], 400, ProviderFailure),
        ([], None, ProviderFailure),
    ],
)
def test_an_error_without_a_status_is_classified_by_its_kind(body, status, kind):
    """A stream that has begun has no status any more."""
    facts = read_error_facts(body)
    assert facts.status == status
    assert isinstance(classify_failure(facts.status, facts, SENT), kind)


@pytest.mark.parametrize(
    ("message", "param", "tool"),
    [
        ("tools.0.custom.input_schema: bad", None, "a.one"),
        ("bad", "tools[3].function.parameters", "four"),
        ("tools[0].function_declarations[2].parameters: bad", None, "three"),
        ("Invalid schema for function 'a--one': bad", None, "a.one"),
        ("tools: Tool `two` is bad", None, "two"),
        ("tools.9.custom: bad", None, None),
        ("Invalid schema for function 'other': bad", None, None),
    ],
)
def test_a_refused_schema_names_the_tool(message, param, tool):
    """An index tells the author of the tool nothing."""
    failure = classify_failure(400, read_error_facts(openai(None, message, param=param)), SENT)
    assert failure.why == "schema"
    assert (f"the tool `{tool}`" if tool else "the definition of a tool was refused") in str(failure)
    assert "leave it out" in str(failure)


def test_the_text_of_a_provider_about_a_key_is_not_repeated():
    """It may hold a part of the key."""
    failure = classify_failure(401, read_error_facts(openai("invalid_api_key", "Incorrect key: sk-abc")), SENT)
    assert "sk-abc" not in str(failure)
    assert "TEST_KEY" in str(failure)


def test_foreign_words_cannot_act_or_fill_the_screen():
    """The text of an error comes from the server, so it is not trusted."""
    failure = classify_failure(400, read_error_facts({"error": {"message": "\x1b[2J" + "x" * 5000}}), SENT)
    assert "\x1b" not in str(failure)
    assert len(str(failure)) < 700


def test_a_failure_can_be_pickled():
    """It still has its reason."""
    failure = pickle.loads(pickle.dumps(ProviderFailure("no", why="model", status=404)))
    assert isinstance(failure, ProviderError)
    assert (str(failure), failure.why, failure.status) == ("no", "model", 404)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["error", "type", "code", "message", "details", "param", "x"]), inner)
    ),
)


@given(body=json_values, status=st.none() | st.integers(400, 599))
def test_any_body_is_an_answer(body, status):
    """A hostile server gets a failure like any other."""
    assert isinstance(classify_failure(status, read_error_facts(body), SENT), (ProviderFailure, Transient))
