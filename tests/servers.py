"""Small HTTP servers on loopback that speak as model servers do, well or badly."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def openai_piece(text, finish=None):
    chunk = {
        "id": "1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}],
    }
    return f"data: {json.dumps(chunk)}\n\n".encode()


def ollama_piece(text, finish=None):
    chunk = {
        "model": "m",
        "created_at": "2026-01-01T00:00:00Z",
        "message": {"role": "assistant", "content": text},
        "done": finish is not None,
    }
    if finish:
        chunk["done_reason"] = finish
    return (json.dumps(chunk) + "\n").encode()


def openai_reply(*texts, finish="stop"):
    return [*map(openai_piece, texts), openai_piece("", finish), b"data: [DONE]\n\n"]


def ollama_reply(*texts, finish="stop"):
    return [*map(ollama_piece, texts), ollama_piece("", finish)]


@dataclass
class ModelServer:
    """What the server answers with, and what it was asked.

    ``pieces`` is the body of a streamed reply; a callable in it is called with what writes. With
    ``dies`` the connection is cut after them, without the end that the protocol has.
    """

    url: str = ""
    status: int = 200
    body: str = ""
    pieces: list[bytes | Callable] = field(default_factory=list)
    dies: bool = False
    requests: list[dict] = field(default_factory=list)
    headers: list[dict] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    client_left: threading.Event = field(default_factory=threading.Event)

    def trickle(self, piece=b": ping\n\n", every_s=0.05, limit_s=10.0):
        """Send something without text, again and again, until the client has left."""

        def run(write):
            for _ in range(int(limit_s / every_s)):
                write(piece)
                if self.client_left.wait(every_s):
                    return

        return run


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        self.server.model.requests.append(json.loads(self.rfile.read(length)))
        self._answer()

    def do_GET(self):
        self._answer()

    def _answer(self):
        self.server.model.headers.append(dict(self.headers))
        self.server.model.paths.append(self.path)
        self.close_connection = True
        if self.server.model.body or self.server.model.status != 200:
            self._plain()
        else:
            self._stream()

    def _plain(self):
        body = self.server.model.body.encode()
        self.send_response(self.server.model.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if 300 <= self.server.model.status < 400:
            self.send_header("Location", "http://127.0.0.1:9/elsewhere")
        self.end_headers()
        self.wfile.write(body)

    def _stream(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for piece in self.server.model.pieces:
                if callable(piece):
                    piece(self._chunk)
                else:
                    self._chunk(piece)
            if self.server.model.dies:
                self.connection.shutdown(socket.SHUT_RDWR)
            else:
                self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.server.model.client_left.set()

    def _chunk(self, data):
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def log_message(self, *_):
        """Keep the test's output clean."""


@contextmanager
def model_server(**behaviour) -> Iterator[ModelServer]:
    server = ModelServer(**behaviour)
    http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    http.model = server
    http.daemon_threads = True
    server.url = f"http://127.0.0.1:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.client_left.set()
        http.shutdown()
        thread.join()
        http.server_close()


def closed_port() -> str:
    """Return an address at which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"
