"""
A proxy on loopback, in front of a server, that cuts connections in the middle of an exchange.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Literal

__all__ = ["CuttingProxy", "run_proxy"]


class CuttingProxy:
    """
    Passes bytes on, in both directions, and cuts a connection when a client sends certain bytes.

    Attributes:
        port: The port on 127.0.0.1 on which it listens.
        word: The bytes that a connection is cut at, once; None cuts none.
        moment: Whether it is cut before the server gets them, or after the server has answered.
    """

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.word: bytes | None = None
        self.moment: Literal["before", "after"] = "before"

    def serve(self) -> None:
        """Take connections until `close`."""
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _pass_on(self, client: socket.socket) -> None:
        server = socket.create_connection(("127.0.0.1", self._server_port))
        answers = threading.Thread(target=self._copy, args=(server, client), daemon=True)
        answers.start()
        with client, server, contextlib.suppress(OSError):
            while data := client.recv(65_536):
                if self.word is not None and self.word in data:
                    self.word = None
                    if self.moment == "after":
                        client.shutdown(socket.SHUT_WR)  # The answer reaches the proxy, and goes no further.
                        server.sendall(data)
                        server.shutdown(socket.SHUT_WR)
                        answers.join()
                    break
                server.sendall(data)
            for end in (client, server):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                with contextlib.suppress(OSError):
                    target.sendall(data)


@contextlib.contextmanager
def run_proxy(server_port: int) -> Iterator[CuttingProxy]:
    """Run a proxy during the block."""
    proxy = CuttingProxy(server_port)
    thread = threading.Thread(target=proxy.serve, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.close()
        thread.join()
