"""Frames as server-sent events, and those of the client by POST, for networks that refuse WebSockets."""

from __future__ import annotations

import asyncio
import json
import re
import ssl
from typing import AsyncIterator, Optional
from urllib.parse import quote

from .http import Closed, Response, request

_MAX_EVENT = 64 * 1024 * 1024


def stream_url(url: str) -> str:
    """`/sse` in place of `/ws` at the end of the path."""
    return re.sub(r"/ws(?=\?|$)", "/sse", url, count=1)


class EventStream:
    """Use `EventStream.connect`. One task receives; any task sends."""

    transport = "sse"

    def __init__(self, url: str, response: Response, context: Optional[ssl.SSLContext]) -> None:
        self._url = url.split("?")[0]
        self._response = response
        self._context = context
        self._events = self._read()
        self._name = ""
        """Names the stream in requests."""
        self._unsent: asyncio.Queue[str] = asyncio.Queue()
        self._sending: Optional[asyncio.Task[None]] = None
        self._failure: Optional[Closed] = None

    @classmethod
    async def connect(cls, url: str, context: Optional[ssl.SSLContext] = None) -> EventStream:
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        response = await request(url, "GET", headers, context=context)
        if response.status != 200:
            response.writer.close()
            raise Closed(1006, f"the gateway answered {response.status}")
        return cls(url, response, context)

    async def receive(self) -> str:
        """The next frame. Raises `Closed`."""
        try:
            async for event in self._events:
                lines = event.decode("utf-8").split("\n")
                data = "\n".join(line[6:] for line in lines if line.startswith("data: "))
                if any(line.startswith("event: ") for line in lines):
                    end = json.loads(data)
                    raise Closed(end.get("closeCode", end.get("code", 1006)), end.get("reason", ""))
                if data:
                    self._name = self._name or json.loads(data)["stream"]
                    return data
        except (OSError, EOFError, ValueError, KeyError, asyncio.LimitOverrunError) as error:
            raise self._failure or Closed(1006, str(error)) from error
        raise self._failure or Closed(1006, "the stream ended")

    def send(self, text: str) -> None:
        """One request at a time keeps the order of frames."""
        self._unsent.put_nowait(text)
        if self._sending is None:
            self._sending = asyncio.ensure_future(self._send_all())

    def close(self) -> None:
        if self._sending is not None:
            self._sending.cancel()
        self._response.writer.close()

    async def _read(self) -> AsyncIterator[bytes]:
        rest = b""
        async for piece in self._response.body():
            *events, rest = (rest + piece).split(b"\n\n")
            if len(rest) > _MAX_EVENT:
                raise Closed(1009, "a message is too large")
            for event in events:
                yield event

    async def _send_all(self) -> None:
        """A frame that is not accepted ends the connection, as on a WebSocket: the client joins its channels again."""
        url = f"{self._url}?stream={quote(self._name, safe='')}"
        while True:
            body = (await self._unsent.get()).encode("utf-8")
            headers = {"Content-Type": "application/json", "Connection": "close"}
            try:
                response = await request(url, "POST", headers, body, self._context)
                response.writer.close()
                if 200 <= response.status < 300:
                    continue
                code, reason = 1009 if response.status == 413 else 1006, f"a frame was answered with {response.status}"
            except (OSError, EOFError, ValueError) as error:
                code, reason = 1006, str(error)
            self._failure = Closed(code, reason)
            self._response.writer.close()
            return
