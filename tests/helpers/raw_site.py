"""A server on 127.0.0.1 that says exactly what it is told to, byte by byte, and then hangs, closes or resets."""

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from enum import Enum, auto


class End(Enum):
    """What comes after the last byte."""

    CLOSE = auto()
    RESET = auto()
    SILENCE = auto()


class RawSite:
    """Answers every connection with the same bytes; `sent` is set when they are out."""

    def __init__(self, said: bytes, end: End = End.CLOSE) -> None:
        self.said = said
        self.end = end
        self.sent = threading.Event()
        self.over = threading.Event()
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"

    def serve(self) -> None:
        """Until the socket is closed."""
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.socket.accept()
                with connection:
                    self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall(self.said)
        self.sent.set()
        if self.end is End.SILENCE:
            self.over.wait(30)
        if self.end is End.RESET:
            threading.Event().wait(0.05)  # a reset throws away what the other side has not read
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@contextlib.contextmanager
def saying(said: bytes, end: End = End.CLOSE) -> Iterator[RawSite]:
    """Serve until the block ends."""
    site = RawSite(said, end)
    thread = threading.Thread(target=site.serve, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        site.over.set()
        site.socket.shutdown(socket.SHUT_RDWR)
        site.socket.close()
        thread.join(10)
