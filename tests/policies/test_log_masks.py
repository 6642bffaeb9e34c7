"""The log of an HTTP library shows no credentials."""

from __future__ import annotations

import logging

import pytest

from toolkit.policies.log_masks import mask_log

KEY = "k3y/of+the server"


@pytest.fixture
def logged(request, caplog):
    """Return a function that logs a message by a logger of its own, and returns what a handler writes."""
    logger = logging.getLogger(f"toolkit.tests.{request.node.name}")

    def log(*message, **options):
        caplog.clear()
        with caplog.at_level(logging.INFO, logger.name):
            logger.info(*message, **options)
        return caplog.text

    log.mask = mask_log(logger.name)
    return log


@pytest.mark.parametrize(
    ("address", "masked"),
    [
        ("http://h/x?api_key=S3CRET&page=2", "http://h/x?api_key=[redacted]&page=2"),
        ("http://h/x?page=2&access_token=S3CRET#top", "http://h/x?page=2&access_token=[redacted]#top"),
        ("http://h/x?key=a&key=b", "http://h/x?key=[redacted]&key=[redacted]"),
        ("http://S3CRET@h/x", "http://[redacted]@h/x"),
        ("http://ada:S3CRET@h/x", "http://[redacted]@h/x"),
        ("http://h/x?keyword=lamp&mail=a@b", "http://h/x?keyword=lamp&mail=a@b"),
    ],
)
def test_credentials_and_secret_parameters_of_an_address_are_masked(logged, address, masked):
    assert f"GET {masked} 200" in logged("GET %s %d", address, 200)


def test_a_long_address_without_names_is_read_at_once(logged):
    assert "?" * 500_000 in logged("?" * 500_000)


@pytest.mark.parametrize("form", [KEY, "k3y%2Fof%2Bthe%20server", "k3y/of%2Bthe%20server"])
def test_a_hidden_key_is_masked_in_each_form(logged, form):
    logged.mask.hide([KEY])
    assert "?code=[redacted] 200" in logged("GET ?code=%s 200", form)


@pytest.mark.parametrize("key", ["", "a", "e", "reque"])
def test_a_key_that_may_be_a_part_of_any_word_is_not_hidden(logged, key):
    logged.mask.hide([key])
    assert "HTTP Request: GET a" in logged("HTTP Request: GET a")


def test_a_traceback_is_masked(logged):
    error = ValueError("cannot read http://h/x?api_key=S3CRET")
    text = logged("it failed", exc_info=error)
    assert "ValueError: cannot read http://h/x?api_key=[redacted]" in text
    assert "S3CRET" not in text


def test_only_the_newest_keys_are_hidden(logged):
    for number in range(3_000):
        logged.mask.hide([f"key-{number:06}", "a key that is in use"])
    text = logged("key-000000 key-002999 a key that is in use")
    assert "key-000000 [redacted] [redacted]" in text


def test_a_logger_has_one_mask(logged):
    name = "toolkit.tests.one"
    assert mask_log(name) is mask_log(name)
    assert len(logging.getLogger(name).filters) == 1


def test_a_record_that_cannot_be_written_is_left_to_its_handler(logged):
    mask = logging.LogRecord("x", logging.INFO, "", 1, "%d", ("a",), None)
    assert logged.mask.filter(mask)
