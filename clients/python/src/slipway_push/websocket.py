"""The client side of RFC 6455 on asyncio streams, as far as the gateway needs it."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import ssl
import struct
from typing import Optional

from .http import Closed, request

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_TEXT, _CLOSE, _PING, _PONG = 0x1, 0x8, 0x9, 0xA
_MAX_MESSAGE = 64 * 1024 * 1024


class HandshakeRefused(Exception):
    def __init__(self, status: int, is_from_gateway: bool) -> None:
        super().__init__(f"the handshake was answered with status {status}")
        self.status = status
        self.is_from_gateway = is_from_gateway


class WebSocket:
    """Use `WebSocket.connect`. One task receives; any task sends."""

    transport = "websocket"

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def connect(cls, url: str, protocol: str, context: Optional[ssl.SSLContext] = None) -> WebSocket:
        key = base64.b64encode(os.urandom(16))
        headers = {
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Key": key.decode(),
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Protocol": protocol,
        }
        response = await request(url, "GET", headers, context=context)
        try:
            if response.status != 101:
                raise HandshakeRefused(response.status, "x-push-refusal" in response.headers)
            expected = base64.b64encode(hashlib.sha1(key + _GUID).digest()).decode()
            if response.headers.get("sec-websocket-accept") != expected:
                raise Closed(1006, "the answer to the handshake is not that of a WebSocket server")
        except BaseException:
            response.writer.close()
            raise
        return cls(response.reader, response.writer)

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
