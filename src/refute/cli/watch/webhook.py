"""Posts to an address when the state of a rule changes. It never keeps the stream waiting."""

from __future__ import annotations

import contextlib
import http.client
import json
import queue
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from refute.display.plurals import plural
from refute.errors import OptionError, ended
from refute.writing import write_text

TRIES = 4
_PATIENCE = 5.0  # seconds for an answer
_PAUSE = 0.5  # seconds before the second try; twice as many before each further one
_WAITING = 256  # changes that may wait; the oldest are dropped for newer ones

States = dict[str, dict[str, Any]]
OK, BROKEN, DROPPED = "ok", "broken", "dropped"
_HOLDS = {"state": OK, "severity": None, "open": 0}


class Webhook:
    """A thread that posts changes, one after the other.

    What was posted last is kept in a file, so a change that a killed process could not post is posted by the next one.
    """

    def __init__(
        self, url: str, kept: Path, warn: Callable[[str], None], *, pause: float = _PAUSE, patience: float = _PATIENCE
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise OptionError(
                f"--webhook {url}: Give an address such as https://host/path.", option="--webhook", value=url
            )
        self._url = url
        self._kept = kept
        self._warn = warn
        self._pause = pause
        self._patience = patience
        self._known = _read(kept)
        self._waiting: queue.Queue[tuple[str, dict[str, Any]] | None] = queue.Queue()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="refute webhook", daemon=True)
        self._thread.start()

    def tell(self, batch: int, time_of: str, states: States) -> None:
        """Posts the rules whose state is another than the one that was posted last; returns at once.

        Of one that was broken and is not among the states any more, that it is dropped.
        """
        broken = {name: one for name, one in self._known.items() if one["state"] == BROKEN}
        dropped = {name: one | {"state": DROPPED, "open": 0} for name, one in broken.items() if name not in states}
        for name, state in {**states, **dropped}.items():
            known = self._known.get(name, _HOLDS)["state"]
            if (OK if known == DROPPED else known) != state["state"] and state["severity"] is not None:
                self._known[name] = state
                if self._waiting.qsize() >= _WAITING:
                    with contextlib.suppress(queue.Empty):
                        self._waiting.get_nowait()
                    self._warn(f"--webhook {self._url}: More than {_WAITING} changes wait. The oldest is dropped.")
                self._waiting.put((name, {"rule": name, "batch": batch, "time": time_of, **state}))

    def close(self, patience: float = 10.0) -> None:
        """Waits some seconds until all is posted, and ends."""
        self._waiting.put(None)
        self._thread.join(patience)
        self._stopping.set()
        self._thread.join(self._patience)
        if self._thread.is_alive():
            self._warn(f"--webhook {self._url}: The server did not answer until the command ended.")

    def _run(self) -> None:
        told = _read(self._kept)
        while (change := self._waiting.get()) is not None:
            name, body = change
            problem = self._posted(json.dumps(body).encode())
            if problem is not None:
                self._warn(f"--webhook {self._url}: {problem} Gave up on {name!r}.")
                continue
            told[name] = {key: body[key] for key in _HOLDS}
            try:
                write_text(self._kept, json.dumps(told) + "\n")
            except OSError as error:
                self._warn(
                    f"--webhook {self._url}: {name!r} was posted, but this cannot be recorded in "
                    f"{self._kept}: {ended(str(error))}"
                )

    def _posted(self, body: bytes) -> str | None:
        """None once it is posted; else what kept it from being, and how often it was tried."""
        cause = "The command ended"
        for number in range(TRIES):
            if number and self._stopping.wait(self._pause * 2 ** (number - 1)):
                return f"{cause} ({plural(number, 'try', 'tries')})."
            request = urllib.request.Request(self._url, body, {"Content-Type": "application/json"}, method="POST")
            try:
                with _OPENER.open(request, timeout=self._patience):
                    return None
            except urllib.error.HTTPError as error:
                cause = f"The server answered {error.code}"
                if 300 <= error.code < 400:
                    return f"{cause}, which leads to {error.headers.get('Location')}. Give that address if it is right."
                if error.code < 500 and error.code != 429:
                    return f"{cause}."
            except (OSError, ValueError, http.client.HTTPException) as error:
                cause = str(getattr(error, "reason", None) or error) or type(error).__name__
        return f"{cause} ({TRIES} tries)."


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows none: what is posted would be left out on the way."""

    def redirect_request(self, *_: Any) -> None:
        """None, so the answer is an error."""


_OPENER = urllib.request.build_opener(_NoRedirects)


def _read(path: Path) -> States:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return {name: {key: one[key] for key in _HOLDS} for name, one in found.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
