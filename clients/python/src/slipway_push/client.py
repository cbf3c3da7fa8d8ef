"""The client: attempts, resume, heartbeats and codes."""

from __future__ import annotations

import asyncio
import inspect
import json
import ssl
import time
from typing import Any, AsyncIterator, Awaitable, Callable, Iterable, Optional, Union
from urllib.parse import urlencode

from .event_stream import EventStream, stream_url
from .events import Event, Joined, Left, Member, Message, Opened, Problem, Status
from .fallback import Fallback
from .http import Closed
from .rules import Pauses
from .session import KeptSession, SessionStore
from .websocket import HandshakeRefused, WebSocket

CodeProvider = Callable[[], Union[Optional[str], Awaitable[Optional[str]]]]

_PROTOCOL = "slipway.v1"
# Channels that do not fit into the query of a handshake are joined after the welcome.
_MAX_CHANNEL_QUERY = 8000
# Events that the application has not read yet. When it is full, the client stops reading from the connection.
_MAX_WAITING_EVENTS = 1000
_FAILURES = (OSError, EOFError, ValueError, asyncio.TimeoutError, asyncio.LimitOverrunError, HandshakeRefused, Closed)

Link = Union[WebSocket, EventStream]


class SlipwayPush:
    """A connection to the gateway that is opened again until it is closed.

    >>> async with SlipwayPush("wss://push.example.com/ws", code=fetch_code, channels=["news"]) as push:
    ...     async for event in push:
    ...         if isinstance(event, Message):
    ...             print(event.data)

    Iteration ends after the status ``closed``. All methods belong to the event loop that opened the client.
    """

    def __init__(
        self,
        url: str,
        code: CodeProvider,
        *,
        channels: Iterable[str] = (),
        temporary: bool = False,
        min_delay: float = 1.0,
        max_delay: float = 30.0,
        connect_timeout: float = 15.0,
        heartbeat_interval: float = 25.0,
        heartbeat_timeout: float = 10.0,
        heartbeat_content: str = "ping",
        upgrade_retry: float = 30.0,
        resume_key: Optional[str] = None,
        session_store: Optional[SessionStore] = None,
        ssl_context: Optional[ssl.SSLContext] = None,
    ) -> None:
        self._url = url
        self._code = code
        self._channels = dict.fromkeys(channels)
        self._temporary = temporary
        self._pauses = Pauses(min_delay, max_delay)
        self._connect_timeout = connect_timeout
        self._heartbeat = (heartbeat_interval, heartbeat_timeout, heartbeat_content)
        self._ssl_context = ssl_context
        self._status = Status("closed", "not opened yet")
        # With each event the position after it, which is kept when the application has read the event.
        self._events: asyncio.Queue[tuple[Optional[Event], Optional[str]]] = asyncio.Queue(_MAX_WAITING_EVENTS)
        self._task: Optional[asyncio.Task[None]] = None
        self._refreshes: set[asyncio.Task[None]] = set()
        self._socket: Optional[Link] = None
        self._fallback = Fallback(url, upgrade_retry, ssl_context)
        self._session = KeptSession(resume_key, session_store)
        kept = self._session.read()
        self._position: Optional[str] = kept[0] if kept else None
        self._kept_position = self._position
        self._was_open = kept is not None
        self._channels.update(dict.fromkeys(kept[1] if kept else []))
        self._is_handshaking = False
        self._accepts_messages = True

    @property
    def status(self) -> Status:
        return self._status

    @property
    def channels(self) -> list[str]:
        return list(self._channels)

    def open(self) -> None:
        """Connects, and reconnects until `close` or a close code that forbids it."""
        if self._task is None or self._task.done():
            self._pauses.start()
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Ends the connection and every further attempt. `open` may be called again."""
        if self._task is None or self._task.done():
            return
        self._task.cancel()
        await asyncio.wait([self._task])
        self._end("closed by the application", None)

    def send(self, data: str) -> bool:
        """False: the connection is not open, or the gateway accepts no client messages. Messages are not queued."""
        return self._accepts_messages and self._write({"type": "message", "data": data})

    def join(self, channel: str) -> None:
        """The channel is joined again after each reconnect. A refusal is reported as `Problem`."""
        if channel not in self._channels:
            self._channels[channel] = None
            self._write({"type": "join", "channel": channel})
            self._keep(self._kept_position)

    def leave(self, channel: str) -> None:
        if channel in self._channels:
            del self._channels[channel]
            self._write({"type": "leave", "channel": channel})
            self._keep(self._kept_position)

    async def __aenter__(self) -> SlipwayPush:
        self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def __aiter__(self) -> AsyncIterator[Event]:
        while True:
            event, position = await self._events.get()
            if event is not None:
                yield event
            self._keep(position)
            if isinstance(event, Status) and event.state == "closed":
                return

    async def _run(self) -> None:
        while True:
            await self._set_status(Status("connecting", "connecting", self._status.close_code))
            opened_at: Optional[float] = None
            uses_stream = self._fallback.uses_stream
            self._is_handshaking = False
            try:
                requested = self._channels_that_fit()
                welcomed = await asyncio.wait_for(self._attempt(requested), self._connect_timeout)
                if welcomed is None:
                    return self._end("no code to connect with", None)
                opened_at = time.monotonic()
                await self._welcome(welcomed[1], requested)
                ended = await self._receive_all(*welcomed)
            except _FAILURES as error:
                ended = await self._ended_by(error)
            finally:
                self._drop()
            if opened_at is not None and not uses_stream:
                self._fallback.websocket_worked()
            delay = self._pauses.after(ended.code, opened_at)
            if delay is None:
                return self._end(str(ended), ended.code)
            await self._set_status(Status("waiting", str(ended), ended.code, delay))
            await asyncio.sleep(delay)

    async def _ended_by(self, error: Exception) -> Closed:
        if isinstance(error, asyncio.TimeoutError):
            error = Closed(1006, f"no answer within {self._connect_timeout:g} s")
        if self._is_handshaking and not self._fallback.uses_stream:
            return await self._fallback.upgrade_failed(error)
        ended = error if isinstance(error, Closed) else Closed(1006, str(error) or type(error).__name__)
        if self._is_handshaking:
            self._fallback.stream_failed(ended)
        return ended

    async def _attempt(self, requested: list[str]) -> Optional[tuple[Link, dict[str, Any]]]:
        """A connection and its welcome; None: there is no code."""
        try:
            code = await self._next_code()
        except Exception as error:
            raise Closed(1006, f"no code: {error}") from error
        if code is None:
            return None
        resume = [("resume", self._position)] if self._position is not None else []
        address = self._address(code, [("channel", channel) for channel in requested] + resume)
        self._is_handshaking = True
        self._socket = socket = await self._open_link(address, self._fallback.uses_stream)
        while True:
            frame = _parse(await socket.receive())
            if frame.get("type") == "welcome":
                self._is_handshaking = False
                return socket, frame

    def _address(self, code: str, more: list[tuple[str, str]]) -> str:
        query = urlencode([("code", code)] + ([("temp", "1")] if self._temporary else []) + more)
        return f"{self._url}{'&' if '?' in self._url else '?'}{query}"

    async def _open_link(self, address: str, as_stream: bool) -> Link:
        if as_stream:
            return await EventStream.connect(stream_url(address), self._ssl_context)
        return await WebSocket.connect(address, _PROTOCOL, self._ssl_context)

    async def _websocket_works(self) -> None:
        """Tries a WebSocket beside the event stream, after longer and longer pauses; returns when it works."""
        while True:
            await asyncio.sleep(self._fallback.next_pause())
            try:
                code = await self._next_code()
                if code is not None:
                    return await asyncio.wait_for(self._try_websocket(self._address(code, [])), self._connect_timeout)
            except Exception:
                continue  # The stream goes on.

    async def _try_websocket(self, address: str) -> None:
        socket = await WebSocket.connect(address, _PROTOCOL, self._ssl_context)
        try:
            await socket.receive()
        finally:
            socket.close()

    async def _next_code(self) -> Optional[str]:
        code = self._code()
        return await code if inspect.isawaitable(code) else code

    def _channels_that_fit(self) -> list[str]:
        room = _MAX_CHANNEL_QUERY
        fitting = []
        for channel in self._channels:
            room -= len(urlencode({"channel": channel})) + 1
            if room >= 0:
                fitting.append(channel)
        return fitting

    async def _welcome(self, frame: dict[str, Any], requested: list[str]) -> None:
        reconnected = self._was_open
        recovered = frame.get("recovered") is True
        unrequested = [channel for channel in self._channels if channel not in requested]
        self._was_open = True
        self._pauses.opened()
        self._accepts_messages = frame.get("acceptsMessages") is not False
        if not recovered and isinstance(frame.get("lastId"), str):
            self._position = frame["lastId"]
            await self._put(None, self._position)
        await self._set_status(Status("open", "connected", self._status.close_code))
        # Channels that were joined or left during the handshake, or did not fit into its query.
        for channel in unrequested:
            if channel in self._channels:  # The application may have left it while the status waited to be read.
                self._write({"type": "join", "channel": channel})
        for channel in requested:
            if channel not in self._channels:
                self._write({"type": "leave", "channel": channel})
        is_complete = not reconnected or (recovered and not unrequested)
        ids = (_text(frame.get("connectionId")), _text(frame.get("userId")))
        transport = self._socket.transport if self._socket else ""
        await self._put(Opened(*ids, reconnected, is_complete, transport))

    async def _receive_all(self, socket: Link, welcome: dict[str, Any]) -> Closed:
        interval, timeout, content = self._heartbeat
        # A task of its own: a receive that is canceled could lose a part of a frame.
        receiving = asyncio.ensure_future(socket.receive())
        waited: list[asyncio.Future[Any]] = [receiving]
        if isinstance(socket, EventStream):
            # The heartbeats of an event stream are seen here; those of a WebSocket are not.
            interval = max(interval, 1.5 * float(welcome.get("pingIntervalMs") or 0) / 1000)
            waited.append(asyncio.ensure_future(self._websocket_works()))
        try:
            while True:
                if not await _first_of(waited, interval):
                    socket.send(content)
                    if not await _first_of(waited, timeout):
                        return Closed(4201, f"nothing received for {interval + timeout:g} s")
                if not receiving.done():
                    # It ends as that of a server which restarts: the client connects again and resumes.
                    self._fallback.websocket_worked()
                    return Closed(1012, "WebSocket works again")
                text = receiving.result()
                if text != content:
                    await self._handle(_parse(text))
                waited[0] = receiving = asyncio.ensure_future(socket.receive())
        finally:
            for task in waited:
                task.cancel()

    async def _handle(self, frame: dict[str, Any]) -> None:
        kind = frame.get("type")
        if kind == "message":
            self._position = position = _text(frame.get("position"))
            id, target_type, target, data = (_text(frame.get(f)) for f in ("id", "targetType", "target", "data"))
            await self._put(Message(id, target_type, target, data, int(frame.get("ts") or 0)), position)
            if frame.get("ack") is True:
                self._write({"type": "ack", "id": id})
        elif kind == "position":
            self._position = _text(frame.get("lastId"))
            await self._put(None, self._position)
        elif kind == "joined":
            await self._put(Joined(_text(frame.get("channel"))))
        elif kind == "left":
            await self._put(Left(_text(frame.get("channel"))))
        elif kind in ("memberJoined", "memberLeft"):
            names = (_text(frame.get("channel")), _text(frame.get("userId")))
            await self._put(Member("joined" if kind == "memberJoined" else "left", *names))
        elif kind == "refresh":
            task = asyncio.ensure_future(self._refresh(self._socket))
            self._refreshes.add(task)
            task.add_done_callback(self._refreshes.discard)
        elif kind == "error":
            channel = frame.get("channel") if isinstance(frame.get("channel"), str) else None
            # Otherwise each reconnect would request it again.
            self._channels.pop(channel or "", None)
            self._keep(self._kept_position)
            await self._put(Problem(_text(frame.get("code")), _text(frame.get("message")), channel))

    async def _refresh(self, socket: Optional[Link]) -> None:
        """The gateway needs a new code for this connection. Without one it ends, and the client connects again."""
        try:
            code = await self._next_code()
        except Exception:
            return  # The next attempt reports it.
        if code is not None and socket is self._socket:
            self._write({"type": "refresh", "code": code})

    def _write(self, frame: dict[str, str]) -> bool:
        if self._socket is None or self._status.state != "open":
            return False
        self._socket.send(json.dumps(frame, ensure_ascii=False))
        return True

    def _drop(self) -> None:
        for task in self._refreshes:
            task.cancel()
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    async def _put(self, event: Optional[Event], position: Optional[str] = None) -> None:
        await self._events.put((event, position))

    def _keep(self, position: Optional[str]) -> None:
        """Only what the application has read: after a crash it gets the rest again."""
        if position is not None:
            self._kept_position = position
            self._session.write(position, self._channels)

    async def _set_status(self, status: Status) -> None:
        self._status = status
        await self._put(status)

    def _end(self, reason: str, code: Optional[int]) -> None:
        self._status = Status("closed", reason, self._status.close_code if code is None else code)
        if self._events.full():
            self._events.get_nowait()  # The application has stopped reading; the end is what it must see.
        self._events.put_nowait((self._status, None))


async def _first_of(tasks: list[asyncio.Future[Any]], timeout: float) -> bool:
    return bool((await asyncio.wait(tasks, timeout=timeout, return_when=asyncio.FIRST_COMPLETED))[0])


def _parse(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return "" if value is None else str(value)
