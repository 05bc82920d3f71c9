"""The page of a watch, served to browsers on this machine. Nothing can be changed through it."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from refute.display.markup import Follows
from refute.errors import OptionError, RefuteError, ended

if TYPE_CHECKING:
    import refute

_LOOPBACK = "127.0.0.1"
_HERE = ("localhost", "127.0.0.1", "[::1]")
_REFRESH = 5  # seconds after which a page asks whether there is a newer one
_NOTHING = (
    f"<!doctype html><meta charset=utf-8><meta http-equiv=refresh content={_REFRESH}><title>refute watch</title>"
    "<p>No batch has arrived yet.</p>"
)


class PageServer:
    """Serves the page of a watch at `/`, made anew when a batch has come. Close it to end.

    It does not show the values of hidden columns, or with `values=False` any.
    """

    def __init__(
        self, watch: refute.Watch, host: str, port: int, hidden: Sequence[str] = (), *, values: bool = True
    ) -> None:
        self._watch = watch
        self._hidden, self._values = hidden, values
        self._lock = threading.Lock()
        self._made: tuple[str, bytes] | None = None
        is_here = host in _HERE
        try:
            self._server = _Server((host, port), _handler(self.version, self._page, is_here=is_here))
        except OSError as error:
            raise OptionError(
                f"--serve {host}:{port}: {ended(error.strerror or str(error))}",
                option="--serve",
                value=f"{host}:{port}",
            ) from error
        self.address = f"http://{host}:{self._server.server_port}/"
        self._thread = threading.Thread(target=self._server.serve_forever, name="refute page", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends it."""
        self._server.shutdown()
        self._server.server_close()

    def version(self) -> str:
        """What stands for the page: the same as long as nothing has changed, whoever serves it."""
        seen = repr((self._watch.batches[-1:], tuple(self._watch.counts.items()), self._hidden, self._values))
        return hashlib.sha256(seen.encode("utf-8", "replace")).hexdigest()[:16]

    def _page(self) -> bytes:
        from refute.api.watch import page_of  # which help does not need
        from refute.report.discretion import Discretion

        with self._lock, Discretion(frozenset(self._hidden), not self._values).errors():
            version = self.version()
            if self._made is None or self._made[0] != version:
                follows = Follows(version, _REFRESH)
                is_there = bool(self._watch.batches)
                text = (
                    page_of(self._watch, self._hidden, values=self._values, follows=follows) if is_there else _NOTHING
                )
                self._made = version, text.encode("utf-8", "replace")
            return self._made[1]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: a browser that leaves before it has its answer is no news."""


def address_of(text: str) -> tuple[str, int]:
    """The host and port of `PORT` or `HOST:PORT`; without a host, only this machine sees it."""
    host, _, port = text.rpartition(":")
    if not port.isdigit() or int(port) > 65535:
        raise OptionError(
            f"--serve {text}: Give a port such as 8080, or HOST:PORT for other machines.", option="--serve", value=text
        )
    return host or _LOOPBACK, int(port)


def _handler(version: Callable[[], str], page: Callable[[], bytes], *, is_here: bool) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        server_version, sys_version = "refute", ""

        def do_GET(self) -> None:
            self._answer(with_body=True)

        def do_HEAD(self) -> None:
            self._answer(with_body=False)

        def _answer(self, *, with_body: bool) -> None:
            host = self.headers.get("Host", "").rpartition(":")
            if is_here and (host[0] or host[2]) not in _HERE:  # a page elsewhere that leads its name to this machine
                self.send_error(403)
                return
            if self.path.partition("?")[0] != "/":
                self.send_error(404)
                return
            try:
                now = version()
                body = page() if with_body else None
            except RefuteError as error:  # so whoever looks at the page sees why it stays as it is
                self.send_error(503, explain=str(error))
                return
            self.send_response(200)
            for name, value in (
                ("Content-Type", "text/html; charset=utf-8"),
                ("Refute-Version", now),
                ("Cache-Control", "no-store"),
                ("X-Frame-Options", "DENY"),
                ("X-Content-Type-Options", "nosniff"),
            ):
                self.send_header(name, value)
            if body is not None:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if body is not None:
                self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: only the command speaks."""

    return Handler
