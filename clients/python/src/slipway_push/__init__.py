"""Client of the Slipway push gateway, for asyncio, with the standard library alone."""

from .client import CodeProvider, SlipwayPush
from .events import Event, Joined, Left, Member, Message, Opened, Problem, Status

__all__ = [
    "CodeProvider",
    "Event",
    "Joined",
    "Left",
    "Member",
    "Message",
    "Opened",
    "Problem",
    "SlipwayPush",
    "Status",
]
