"""Client of the Slipway push gateway, for asyncio, with the standard library alone."""

from .client import CodeProvider, SlipwayPush
from .events import Event, Joined, Left, Member, Message, Opened, Problem, Status
from .session import FileSessionStore, SessionStore

__all__ = [
    "CodeProvider",
    "Event",
    "FileSessionStore",
    "Joined",
    "Left",
    "Member",
    "Message",
    "Opened",
    "Problem",
    "SessionStore",
    "SlipwayPush",
    "Status",
]
