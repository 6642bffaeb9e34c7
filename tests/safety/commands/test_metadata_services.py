"""A command that asks a metadata service asks a person first, in every spelling of the address."""

from __future__ import annotations

from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.safety.commands.check import check_command
from toolkit.safety.hosts import names_metadata_service

SERVICES = ["169.254.169.254", "169.254.170.2", "100.100.100.200"]


@st.composite
def spellings(draw):
    """Draw an address of a metadata service with any number of parts, each decimal, octal or hexadecimal."""
    number = int(IPv4Address(draw(st.sampled_from(SERVICES))))
    parts = [number >> 24, number >> 16 & 255, number >> 8 & 255, number & 255]
    count = draw(st.integers(1, 4))
    last = number & (1 << 8 * (5 - count)) - 1
    forms = [draw(st.sampled_from(["{}", "0{:o}", "0x{:x}", "0X{:X}"])) for _ in range(count)]
    return ".".join(form.format(part) for form, part in zip(forms, [*parts[: count - 1], last], strict=True))


@given(spellings(), st.sampled_from(["curl {}", "wget -qO- http://{}/x", "nc {} 80", "xh http://{}:80/latest"]))
def test_every_spelling_of_an_address_asks(host, line):
    assert check_command(line.format(host)) is not None


@pytest.mark.parametrize(
    "line",
    [
        "curl http://metadata.google.internal/computeMetadata/v1/",
        "curl 'http://[fd00:ec2::254]/'",
        "curl 'http://[::ffff:169.254.169.254]/'",
        "h=169.254.169.254; curl $h/latest",
        "curl http://169.254.170.2$AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "python3 -c 'get(\"http://169.254.169.254/\")'",
        "python3 <<< 'get(\"http://metadata.google.internal/\")'",
    ],
)
def test_other_names_of_a_metadata_service_ask(line):
    assert check_command(line).word == "ask"


@pytest.mark.parametrize(
    "line",
    ["grep 169.254.169.254 src", "echo 169.254.169.254", "make metadata", "curl localhost:8080", "tool 2.5 1.2.3"],
)
def test_other_words_run(line):
    assert check_command(line) is None


def test_a_long_text_is_read_quickly():
    assert not names_metadata_service("a.b-c 1.2.3 [::1] " * 20_000)
