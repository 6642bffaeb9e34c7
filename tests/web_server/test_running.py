"""
The sockets of the servers that the command line starts.
"""

from __future__ import annotations

import socket

import pytest

from toolkit.web_server.running import open_listener


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_the_body_of_a_response_does_not_wait_for_its_head(host):
    with (
        open_listener(host, 0) as listener,
        socket.create_connection(listener.getsockname()[:2]),
        listener.accept()[0] as connection,
    ):
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
