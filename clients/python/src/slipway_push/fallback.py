"""Which transport is used: an event stream while the network passes on plain requests and refuses upgrades."""

from __future__ import annotations

import asyncio
import ssl
import time
from typing import Optional

from .http import Closed, request
from .rules import close_code_of_status
from .websocket import HandshakeRefused

# After so many upgrades in a row that were refused while plain requests reach the gateway, an event stream is used.
_MAX_REFUSED = 2
_MAX_PAUSE = 600.0
# So long after a connection the network surely passes upgrades, and the clients of a gateway that restarts ask nothing.
_SURELY_PASSES = 30.0
# The next attempt waits for the explanation.
_EXPLAIN_WITHIN = 2.0


class Fallback:
    def __init__(self, url: str, first_pause: float, context: Optional[ssl.SSLContext]) -> None:
        self._url = url
        self._context = context
        self._first_pause = first_pause
        self._pause = first_pause
        self._refused = 0
        self._worked_at = -_SURELY_PASSES

    @property
    def uses_stream(self) -> bool:
        return self._refused >= _MAX_REFUSED

    def next_pause(self) -> float:
        """Seconds until a WebSocket is tried again beside the stream."""
        pause = self._pause
        self._pause = min(2 * pause, _MAX_PAUSE)
        return pause

    def websocket_worked(self) -> None:
        self._refused = 0
        self._pause = self._first_pause
        self._worked_at = time.monotonic()

    def stream_failed(self, ended: Closed) -> None:
        """With 4100 the gateway refuses attempts of either kind; otherwise both are tried in turns."""
        self._refused = 0 if ended.code == 4100 else _MAX_REFUSED - 1

    async def upgrade_failed(self, error: Exception) -> Closed:
        """Why the handshake failed. A gateway that is away, or that refuses it itself, is no reason for a stream."""
        if isinstance(error, Closed) and error.code >= 4000:
            return error
        if isinstance(error, HandshakeRefused) and (error.is_from_gateway or error.status in (401, 429, 503)):
            return Closed(close_code_of_status(error.status), str(error))
        if time.monotonic() - self._worked_at >= _SURELY_PASSES and await self._serves():
            self._refused += 1
        return Closed(1006, str(error) or type(error).__name__)

    async def _serves(self) -> bool:
        """Whether a plain request reaches the gateway, and it would accept an upgrade now."""
        try:
            asking = request(self._url, "POST", {"Connection": "close"}, context=self._context)
            response = await asyncio.wait_for(asking, _EXPLAIN_WITHIN)
        except (OSError, EOFError, ValueError, asyncio.TimeoutError, asyncio.LimitOverrunError):
            return False
        response.writer.close()
        return response.status == 426 and "x-push-refusal" not in response.headers
