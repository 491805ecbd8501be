"""A server on loopback that answers as real ones do: well, slowly, with the wrong bytes, or not to the end."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Site:
    """What is served: bytes by path, and how."""

    files: dict[str, bytes] = field(default_factory=dict)
    manners: dict[str, list[str]] = field(
        default_factory=dict
    )  # one for each request of the file, the last for the rest
    asked: list[str] = field(default_factory=list)
    address: str = ""
    gone: threading.Event = field(default_factory=threading.Event)

    def put(self, name: str, content: bytes, *manners: str) -> str:
        """Serve a file; its address."""
        self.files[f"/{name}"] = content
        self.manners[f"/{name}"] = list(manners) or ["well"]
        return f"{self.address}/{name}"


@contextlib.contextmanager
def serving() -> Iterator[Site]:
    """A site on 127.0.0.1, until the end of the block."""
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append(self.path)
            content, manners = site.files.get(self.path), site.manners.get(self.path, ["missing"])
            manner = manners.pop(0) if len(manners) > 1 else manners[0]
            if content is None or manner == "missing":
                self.send_error(404)
            elif manner == "silent":
                site.gone.wait(20)
            else:
                self._send(content, manner)

        def _send(self, content: bytes, manner: str) -> None:
            self.send_response(200)
            if manner != "no length":
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if manner == "breaks off":
                self.wfile.write(content[: len(content) // 2])
                self.wfile.flush()
                self.connection.close()
            elif manner == "slow":
                for part in range(0, len(content), len(content) // 8 + 1):
                    self.wfile.write(content[part : part + len(content) // 8 + 1])
                    self.wfile.flush()
                    time.sleep(0.05)
            elif manner == "no length":
                self.wfile.write(content[: len(content) // 2])
            else:
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Silence."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    site.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield site
    finally:
        site.gone.set()
        server.shutdown()
        server.server_close()
        thread.join()
