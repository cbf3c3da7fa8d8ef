"""Position and channels of the last connection, so that a process that starts again resumes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Iterable, Optional, Protocol
from urllib.parse import quote


class SessionStore(Protocol):
    """Keeps one text for each key."""

    def read(self, key: str) -> Optional[str]: ...

    def write(self, key: str, value: str) -> None: ...


class FileSessionStore:
    """One file for each key. Without a folder: `slipway-push` in `$XDG_STATE_HOME`, or in `~/.local/state`."""

    def __init__(self, folder: Optional[os.PathLike[str]] = None) -> None:
        state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
        self._folder = Path(folder) if folder is not None else Path(state) / "slipway-push"

    def read(self, key: str) -> Optional[str]:
        try:
            return self._path(key).read_text("utf-8")
        except FileNotFoundError:
            return None

    def write(self, key: str, value: str) -> None:
        """The file is replaced as a whole: a process that is killed leaves the old one or the new one."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._path(key)
        written = path.with_suffix(".new")
        written.write_text(value, "utf-8")
        written.replace(path)

    def _path(self, key: str) -> Path:
        return self._folder / f"{quote(key, safe='')}.json"


class KeptSession:
    """Without a key nothing is kept."""

    def __init__(self, key: Optional[str], store: Optional[SessionStore]) -> None:
        self._key = key
        self._store = None if key is None else store or FileSessionStore()

    def read(self) -> Optional[tuple[str, list[str]]]:
        """Position and channels; None: nothing is kept."""
        if self._store is None or self._key is None:
            return None
        try:
            position, *channels = json.loads(self._store.read(self._key) or "[]")
        except (OSError, ValueError, TypeError):
            return None  # Written by something else, or not readable: the client starts anew.
        return str(position), [str(channel) for channel in channels]

    def write(self, position: str, channels: Iterable[str]) -> None:
        if self._store is None or self._key is None:
            return
        try:
            self._store.write(self._key, json.dumps([position, *channels]))
        except OSError:
            pass  # The disk is full or denied: the next process starts anew.
