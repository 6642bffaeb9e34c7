"""Which texts are credentials: by their names, and by their form."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.policies.credentials import (
    is_credential_header,
    list_command_secrets,
    list_header_secrets,
    list_variable_secrets,
    redact_credentials,
)

KEY = "k3y-of-the-server"
OTHER = "an0ther-of-them"


def encode(text):
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "name",
    [
        *("Authorization", "Proxy-Authorization", "X-Api-Key", "apiKey", "apikey", "X-ApiKey", "XApiKey", "APIKey"),
        *("X-Auth-Token", "access_token", "accesstoken", "X-Session-Id", "JSESSIONID", "PHPSESSID", "sid", "Cookie"),
        *("accesskey", "SecretKey", "encryptionkey", "primary_key", "group_token"),
        *("X-Amz-Signature", "sig", "X-JWT", "PRIVATE-TOKEN", "client_secret", "X-Key2", "Ocp-Apim-Subscription-Key"),
    ],
)
def test_headers_and_parameters_that_carry_credentials(name):
    assert is_credential_header(name)


@pytest.mark.parametrize(
    "name",
    [
        *("Author", "X-Author-Name", "Accept", "Authority", "X-Monkey", "X-Keyboard", "X-Tokenizer", "Hotkey", ""),
        *("sort_key", "public_key", "Idempotency-Key", "X-Cache-Keys", "auth_modes", "token_budget"),
        *("X-Auth-User", "X-Auth-Email", "X-Token-Type", "X-Key-Version", "token_url", "keyword", "Passenger", "x"),
    ],
)
def test_headers_and_parameters_that_carry_none(name):
    assert not is_credential_header(name)


@pytest.mark.parametrize(
    "name",
    [
        *("API_KEY", "OPENAI_API_KEY_PROD", "GITHUB_TOKEN", "GITHUB_PAT", "MYSQL_PWD", "PGPASSWORD", "SMTP_PASS"),
        *("AUTH_HEADER", "BASIC_AUTH", "CLIENT_SECRET", "SESSION_SECRET", "apiToken", "TOKEN_2", "SLACK_COOKIE"),
        *("SECRETKEY", "DBPASS", "ENCRYPTIONKEY", "GROUP_TOKEN"),
        *("AWS_SECRET_ACCESS_KEY", "DB_CREDENTIALS", "NPM_AUTHTOKEN", "--api-key", "-token", "KEY"),
    ],
)
@pytest.mark.parametrize("scheme", ["", "Bearer ", "token ", "Bot "])
def test_variables_that_hold_credentials(name, scheme):
    assert list_variable_secrets([(name, scheme + KEY)]) == [KEY]


@pytest.mark.parametrize(
    "name",
    [
        *("KEYCLOAK_URL", "KEY_VAULT_NAME", "SECRETS_PROJECT", "TOKENIZER", "TOKENIZER_MODEL", "KEYBOARD_LAYOUT"),
        *("AUTH_MODE", "AUTH_PROVIDER", "TOKEN_FILE", "SECRET_PATH", "KEY_DIR", "AWS_ACCESS_KEY_ID", "TOKEN_HOST"),
        *("TOKEN_PORT", "KEY_REGION", "KEY_TYPE", "SSH_AUTH_SOCK", "XDG_SESSION_ID", "COMPASS", "PASSENGER", "PATH"),
        *("AUTHOR", "MONKEY", "PATTERN", "LEVEL", "KEY_2_NAME", ""),
        *("VAPID_PUBLIC_KEY", "HOT_KEYS", "AUTH_PROVIDERS", "KEY_BINDINGS", "TOKENS_PER_MINUTE", "KEY_COLUMN"),
    ],
)
def test_variables_that_hold_none(name):
    assert list_variable_secrets([(name, KEY)]) == []


@pytest.mark.parametrize("value", ["disabled", "Required", "oauth2", "postgres", "password", "changeme"])
def test_the_name_of_a_login_method_is_not_a_credential(value):
    assert list_variable_secrets([("AUTH", value), ("PGPASSWORD", value)]) == []
    assert list_command_secrets(["--auth", value]) == []
    assert list_header_secrets([("X-Auth", value)]) == []


@pytest.mark.parametrize("user", ["github", "x-access-token", "ada.lovelace.1815@example.com", "administrator"])
def test_a_user_name_beside_a_password_is_not_a_credential(user):
    """To mask it would damage each result that names the user."""
    assert list_header_secrets([("Authorization", f"Basic {encode(f'{user}:{KEY}')}")])[1:] == [KEY]
    assert list_header_secrets([("", f"https://{user.replace('@', '%40')}:{KEY}@host/x")]) == [KEY]


@pytest.mark.parametrize("text", ["key:a=", "key:", "a=", "=", '{"a":', "x://a:b@c?d=", "key:a=;"])
def test_a_text_of_many_names_is_read_at_once(text):
    """A server may send such a text in a redirect, and a variable may hold a line of signs."""
    assert all(text in secret for secret in list_header_secrets([("x", text * 2_000)]))
    assert all(text in secret for secret in list_variable_secrets([("LINE", text * 2_000)]))


SHOWN = {
    "a database": (f"postgres://reader_of_it:{KEY}@db/app", [KEY]),
    "a database without a user": (f"redis://:{KEY}@db/0", [KEY]),
    "an example": ("postgres://postgres:postgres@localhost/app", []),
    "an encoded password": ("postgres://u:k3y%2Fof%40it@db", ["k3y%2Fof%40it", "k3y/of@it"]),
    "a token before the host": (f"https://{KEY}@host/x", [KEY]),
    "a token as the user": (f"https://{KEY}:x-oauth-basic@host/x", ["x-oauth-basic", KEY]),
    "a token of a repository": (f"git+https://{KEY}@github.com/me/it", [KEY]),
    "a query": (f"https://host/sse?verbose=certainly&api_key={KEY}", [KEY]),
    "a query with two": (f"https://host/?key={KEY}&key={OTHER}", [KEY, OTHER]),
    "a query of a driver": (f"jdbc:postgresql://host/db?user=somebody&password={KEY}", [KEY]),
    "a header": (f"Authorization: Bearer {KEY}", [KEY]),
    "a header without a blank": (f"X-Api-Key:{KEY}", [KEY]),
    "settings": (f"Server=db;User ID=somebody;Password={KEY}", [KEY]),
    "settings with blanks": (f"host=database user=somebody password={KEY}", [KEY]),
    "a storage account": (f"AccountName=somebody;AccountKey={KEY}==;EndpointSuffix=core.net", [f"{KEY}=="]),
    "headers": (json.dumps({"Authorization": f"Bearer {KEY}", "X-Team": "lighthouse", "n": 1}), [KEY]),
    "headers inside an object": (json.dumps({"files": {"headers": {"X-Api-Key": KEY}}}), [KEY]),
    "settings of MCP servers": (
        '{"mcpServers":{"a":{"env":{"API_TOKEN":"%s"}},"b":{"args":["-v","--token=%s"]}}}' % (KEY, OTHER),
        [KEY, OTHER],
    ),
    "another address": ("https://host:8080/path?verbose=certainly#token=none", []),
    "no address": ("http://[broken", []),
    "no object": ("{not json", []),
    "prose": ("see: the key is at the reception", []),
}


@pytest.mark.parametrize("case", SHOWN)
def test_a_text_is_recognised_as_a_credential_under_any_name(case):
    text, expected = SHOWN[case]
    assert list_variable_secrets([("DATABASE_URL", text)]) == expected
    assert list_command_secrets(["--from", text]) == expected
    assert list_command_secrets([f"--from={text}"]) == expected
    assert list_header_secrets([("X-From", text)]) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--header", f"Authorization: Bearer {KEY}"], [KEY]),
        ([f"--header=Authorization: Bearer {KEY}"], [KEY]),
        (["-H", f"X-Api-Key: {KEY}", "-H", f"X-Auth-Token: Bearer {OTHER}"], [KEY, OTHER]),
        (["--api-key", KEY, "--api-key", OTHER], [KEY, OTHER]),
        ([f"--api-key={KEY}", f"--api-key={OTHER}"], [KEY, OTHER]),
        (["-e", f"API_KEY={KEY}"], [KEY]),
        (["--token", f"Bearer {KEY}"], [KEY]),
        (["--no-auth", "--verbose-output"], []),
        (["--no-auth", "my-project"], []),
        (["--max-tokens", "4096", "--sort-key", "created_at"], []),
        (["-c", f"exec server --api-key '{KEY}' --verbose"], [KEY]),
        (["--key-file", "somewhere-else"], []),
        (["make", "token", "somewhere-else"], []),
        ([], []),
    ],
)
def test_the_words_of_a_command(words, expected):
    assert list_command_secrets(words) == expected


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([("Authorization", f"Bearer {KEY}")], [KEY]),
        ([("Authorization", f"Own-Scheme {KEY}")], [KEY]),
        ([("Authorization", f'Token token="{KEY}"')], [KEY, f'token="{KEY}"']),
        ([("Authorization", KEY)], [KEY]),
        ([("Authorization", "Bearer ")], []),
        ([("X-Auth-Token", f"Bearer {KEY}")], [KEY]),
        ([("X-Api-Key", "two words of it")], ["two words of it"]),
        ([("Authorization", f"Basic {encode(f'{KEY}:')}")], [encode(f"{KEY}:"), KEY]),
        ([("X-Auth", f"basic {encode(f'{KEY}:{OTHER}')}")], [encode(f"{KEY}:{OTHER}"), KEY, OTHER]),
        ([("Authorization", f"Basic {encode(f'ada:{KEY}').rstrip('=')}")], [encode(f"ada:{KEY}").rstrip("="), KEY]),
        ([("Cookie", f"theme=dark; sid={KEY}; login={OTHER}")], [KEY, OTHER]),
        ([("key", KEY), ("key", OTHER), ("key", KEY)], [KEY, OTHER]),
        ([("X-Api-Key", "short")], []),
    ],
)
def test_the_values_of_headers(headers, expected):
    assert sorted(list_header_secrets(headers)) == sorted(expected)


def test_headers_in_a_variable_are_distinguished():
    assert list_variable_secrets([("OTEL_HEADERS", f"api-key={KEY},x-team=lighthouse")]) == [KEY]


def test_a_path_is_not_a_credential(tmp_path):
    assert list_variable_secrets([("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path))]) == []


@pytest.mark.parametrize("text", ["1002003", "9100200", "id 1002003, 9100200", "100200.5", "3.100200"])
def test_a_credential_of_digits_is_not_masked_inside_a_longer_number(text):
    redaction = redact_credentials(["100200", "a key"])
    masked = "the pin [redacted] of [redacted], (pin-[redacted]), [redacted]."
    assert redaction.mask_text(f"{text}, the pin 100200 of a key, (pin-100200), 100200.") == f"{text}, {masked}"
    assert redaction.mask_value([1002003, 100200.5, 100200]) == [1002003, 100200.5, "[redacted]"]


@given(st.integers(0, 12))
def test_a_credential_in_a_text_is_masked_at_any_depth(depth):
    """What is nested too deeply to be read is masked in all its parts."""
    text = "".join(f"option{number}=" for number in range(depth)) + f"password={KEY}"
    assert KEY in list_variable_secrets([("SETTINGS", text)])
