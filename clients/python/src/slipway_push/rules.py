"""When and how the client connects again."""

from __future__ import annotations

from typing import Literal

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
