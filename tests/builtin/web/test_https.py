"""The certificate of a server has to fit its host."""

from __future__ import annotations

import shutil
import ssl
import subprocess

import pytest

from toolkit.errors import Safety, ToolError, Transient

from .fetching import anywhere, fetch_page, fetcher
from .hostile_server import (
    answer,
    redirect,
    serving,
)

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for public.example that only the test trusts."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed, so certificates are not tested")
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
        + ["-keyout", key, "-out", cert, "-subj", "/CN=public.example", "-addext", "subjectAltName=DNS:public.example"],
        check=True,
        capture_output=True,
    )
    serves = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serves.load_cert_chain(cert, key)
    trusts = ssl.create_default_context(cafile=str(cert))
    return serves, trusts


async def test_the_certificate_is_held_against_the_name(certificate):
    """The connection goes to a number, the certificate is for the name, and that is right."""
    serves, trusts = certificate
    asked_for = []
    serves.sni_callback = lambda sock, name, context: asked_for.append(name)
    async with serving(tls=serves) as server:
        server.pages["/"] = answer("secret")
        page = await fetch_page(server, ssl_context=trusts)
    serves.sni_callback = None
    assert page.body.data == b"secret"
    assert asked_for == ["public.example"]


async def test_a_certificate_for_another_name_is_refused(certificate):
    """A server with the certificate of another host is not talked to, and not tried again."""
    serves, trusts = certificate
    async with serving(tls=serves) as server:
        with pytest.raises(ToolError, match=r"certificate of 'other\.example'") as caught:
            await fetcher(ssl_context=trusts).fetch(server.url(host="other.example"), check=anywhere)
    assert not isinstance(caught.value, Transient)
    assert server.asked == []


async def test_an_untrusted_certificate_is_refused(certificate):
    """The application did not trust it."""
    async with serving(tls=certificate[0]) as server:
        with pytest.raises(ToolError, match="certificate"):
            await fetch_page(server)


async def test_a_redirect_from_https_to_http_is_refused(certificate):
    """A request that began encrypted must not go on in the open."""
    serves, trusts = certificate
    async with serving() as plain, serving(tls=serves) as server:
        server.pages["/"] = redirect(plain.url("/open"))
        with pytest.raises(Safety, match="from https to http"):
            await fetch_page(server, ssl_context=trusts)
    assert plain.asked == []
