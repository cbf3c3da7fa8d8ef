"""When and how the client connects again."""

from __future__ import annotations

import random
import time
from typing import Literal, Optional

# After a connection of this many seconds the pauses start with the shortest again.
_STABLE = 10.0
_MAX_REFUSED_CODES = 3
# For this many seconds after close code 1012 the pauses are short, so that the client returns soon after a gateway that
# has no others.
_RESTART = 30.0
_RESTART_DELAY = 1.5

CloseRule = Literal["new_code", "stop", "soon", "back_off"]


def close_rule(code: int) -> CloseRule:
    """4001, 4005: with a new code; other 40xx: not at all; 42xx and 1012: within a second; all others: back off."""
    if code in (4001, 4005):
        return "new_code"
    if 4000 <= code < 4100:
        return "stop"
    if code == 1012 or 4200 <= code < 4300:
        return "soon"
    return "back_off"


def close_code_of_status(status: int) -> int:
    """The close code that stands for a refused handshake."""
    return {400: 4000, 401: 4001, 403: 4002, 429: 4100, 503: 4100}.get(status, 1006)


class Pauses:
    """How long the client waits before its next attempt."""

    def __init__(self, shortest: float, longest: float) -> None:
        self._shortest = shortest
        self._longest = longest
        self.start()

    def start(self) -> None:
        self._failures = 0
        self.opened()

    def opened(self) -> None:
        self._refused_codes = 0
        self._restarts_until = 0.0

    def after(self, close_code: int, opened_at: Optional[float]) -> Optional[float]:
        """Seconds; None: no further attempt."""
        rule = close_rule(close_code)
        if rule == "new_code":
            self._refused_codes += 1
        if rule == "stop" or self._refused_codes >= _MAX_REFUSED_CODES:
            return None
        if close_code == 1012:
            self._restarts_until = time.monotonic() + _RESTART
        if rule == "soon":
            # A random moment, so that the clients of a drained server do not all reconnect at once.
            return random.random()
        if opened_at is not None and time.monotonic() - opened_at >= _STABLE:
            self._failures = 0
        is_restarting = time.monotonic() < self._restarts_until
        wanted = _RESTART_DELAY if is_restarting else self._shortest * 2.0 ** min(self._failures, 30)
        pause = min(self._longest, wanted)
        if not is_restarting:
            self._failures += 1
        return pause * (0.5 + random.random() / 2)
