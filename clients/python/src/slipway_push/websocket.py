"""The client side of RFC 6455 on asyncio streams, as far as the gateway needs it."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import ssl
import struct
from typing import Optional
from urllib.parse import urlsplit

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_TEXT, _CLOSE, _PING, _PONG = 0x1, 0x8, 0x9, 0xA
_MAX_MESSAGE = 64 * 1024 * 1024


class HandshakeRefused(Exception):
    def __init__(self, status: int) -> None:
        super().__init__(f"the handshake was answered with status {status}")
        self.status = status


class Closed(Exception):
    """The connection has ended: with the code of the server, or with 1006."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason or f"the connection ended ({code})")
        self.code = code
        self.reason = reason


class WebSocket:
    """Use `WebSocket.connect`. One task receives; any task sends."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def connect(cls, url: str, protocol: str, context: Optional[ssl.SSLContext] = None) -> WebSocket:
        parts = urlsplit(url)
        secure = parts.scheme in ("wss", "https")
        host = parts.hostname or ""
        port = parts.port or (443 if secure else 80)
        tls = (context or ssl.create_default_context()) if secure else None
        reader, writer = await asyncio.open_connection(host, port, ssl=tls)
        try:
            key = base64.b64encode(os.urandom(16))
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            writer.write(
                f"GET {target} HTTP/1.1\r\nHost: {parts.netloc.rpartition('@')[2]}\r\nUpgrade: websocket\r\n"
                f"Connection: Upgrade\r\nSec-WebSocket-Key: {key.decode()}\r\nSec-WebSocket-Version: 13\r\n"
                f"Sec-WebSocket-Protocol: {protocol}\r\n\r\n".encode("ascii")
            )
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            status = int(head[0].split(" ")[1])
            if status != 101:
                raise HandshakeRefused(status)
            headers = dict(line.lower().split(":", 1) for line in head[1:] if ":" in line)
            expected = base64.b64encode(hashlib.sha1(key + _GUID).digest()).decode()
            if headers.get("sec-websocket-accept", "").strip() != expected.lower():
                raise Closed(1006, "the answer to the handshake is not that of a WebSocket server")
        except BaseException:
            writer.close()
            raise
        return cls(reader, writer)

    async def receive(self) -> str:
        """The next text. Raises `Closed`."""
        message = bytearray()
        try:
            while True:
                final, opcode, payload = await self._frame()
                if opcode == _PING:
                    self._write(_PONG, payload)
                elif opcode == _CLOSE:
                    self._write(_CLOSE, payload[:2])
                    code = struct.unpack("!H", payload[:2])[0] if len(payload) >= 2 else 1005
                    raise Closed(code, payload[2:].decode("utf-8", "replace"))
                elif opcode != _PONG:
                    message += payload
                    if len(message) > _MAX_MESSAGE:
                        raise Closed(1009, "a message is too large")
                    if final:
                        return message.decode("utf-8")
        except (OSError, EOFError, UnicodeDecodeError, ssl.SSLError) as error:
            raise Closed(1006, str(error)) from error

    def send(self, text: str) -> None:
        self._write(_TEXT, text.encode("utf-8"))

    def close(self) -> None:
        """Says goodbye and closes, without waiting for the answer."""
        if not self._writer.is_closing():
            self._write(_CLOSE, struct.pack("!H", 1000))
            self._writer.close()

    async def _frame(self) -> tuple[bool, int, bytes]:
        first, second = await self._reader.readexactly(2)
        length = second & 0x7F
        if length == 126:
            (length,) = struct.unpack("!H", await self._reader.readexactly(2))
        elif length == 127:
            (length,) = struct.unpack("!Q", await self._reader.readexactly(8))
        if length > _MAX_MESSAGE:
            raise Closed(1009, "a message is too large")
        return bool(first & 0x80), first & 0x0F, await self._reader.readexactly(length)

    def _write(self, opcode: int, payload: bytes) -> None:
        if self._writer.is_closing():
            return
        size = len(payload)
        if size < 126:
            head = struct.pack("!BB", 0x80 | opcode, 0x80 | size)
        elif size < 65536:
            head = struct.pack("!BBH", 0x80 | opcode, 0xFE, size)
        else:
            head = struct.pack("!BBQ", 0x80 | opcode, 0xFF, size)
        mask = os.urandom(4)
        repeated = (mask * (size // 4 + 1))[:size]
        masked = (int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")).to_bytes(size, "big")
        self._writer.write(head + mask + masked)
