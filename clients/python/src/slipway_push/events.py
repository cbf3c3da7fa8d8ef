"""What the client reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Optional, Union


@dataclass(frozen=True)
class Message:
    id: str
    target_type: str
    """``all``, ``user``, ``temp_user`` or ``channel``."""
    target: str
    data: str
    ts: int
    """When it was published, in milliseconds since the epoch."""


@dataclass(frozen=True)
class Opened:
    connection_id: str
    user_id: str
    reconnected: bool
    """False on the first connection, true on each later one."""
    recovered: bool
    """True only if no message since the last connection can be missing. If false, load your data again."""
    transport: str = "websocket"


@dataclass(frozen=True)
class Status:
    state: Literal["connecting", "open", "waiting", "closed"]
    reason: str
    close_code: Optional[int] = None
    """Of the last connection; None before the first close."""
    delay: Optional[float] = None
    """Seconds until the next attempt; only while waiting."""


@dataclass(frozen=True)
class Joined:
    channel: str


@dataclass(frozen=True)
class Left:
    channel: str


@dataclass(frozen=True)
class Member:
    """A user came to, or left, a channel whose name starts with ``presence-``."""

    type: Literal["joined", "left"]
    channel: str
    user_id: str


@dataclass(frozen=True)
class Problem:
    """For example a channel that the connection may not join; it is not requested again."""

    code: str
    message: str
    channel: Optional[str]


Event = Union[Message, Opened, Status, Joined, Left, Member, Problem]
