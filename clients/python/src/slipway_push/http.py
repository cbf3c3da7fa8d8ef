"""HTTP/1.1 on asyncio streams, as far as the gateway needs it."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass
from typing import AsyncIterator, Mapping, Optional
from urllib.parse import urlsplit

_MAX_CHUNK = 64 * 1024 * 1024


class Closed(Exception):
    """The connection has ended: with the code of the server, or with 1006."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason or f"the connection ended ({code})")
        self.code = code
        self.reason = reason


@dataclass(frozen=True)
class Response:
    status: int
    headers: Mapping[str, str]
    """The names in lower case."""
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def body(self) -> AsyncIterator[bytes]:
        """What arrives, until the response is over. An end before that raises `Closed`."""
        if "chunked" not in self.headers.get("transfer-encoding", "").lower():
            while piece := await self.reader.read(65536):
                yield piece
            return
        while size := int((await self.reader.readuntil(b"\r\n")).split(b";")[0], 16):
            if size > _MAX_CHUNK:
                raise Closed(1009, "a message is too large")
            yield await self.reader.readexactly(size)
            await self.reader.readexactly(2)


async def request(
    url: str,
    method: str,
    headers: Mapping[str, str],
    body: bytes = b"",
    context: Optional[ssl.SSLContext] = None,
) -> Response:
    """Sends a request over a connection of its own, and reads the head of the response. The caller closes `writer`."""
    parts = urlsplit(url)
    secure = parts.scheme in ("wss", "https")
    tls = (context or ssl.create_default_context()) if secure else None
    port = parts.port or (443 if secure else 80)
    reader, writer = await asyncio.open_connection(parts.hostname or "", port, ssl=tls)
    try:
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        fields = {"Host": parts.netloc.rpartition("@")[2], **headers}
        if method == "POST":
            fields["Content-Length"] = str(len(body))
        lines = [f"{method} {target} HTTP/1.1"] + [f"{name}: {value}" for name, value in fields.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode("ascii") + body)
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = (line.split(":", 1) for line in head[1:] if ":" in line)
        received = {name.strip().lower(): value.strip() for name, value in pairs}
        return Response(int(head[0].split(" ")[1]), received, reader, writer)
    except BaseException:
        writer.close()
        raise
