"""Where the daemon listens, and how it is started.

Flags, environment and configuration may all have a say in where the daemon listens, and two clients must not start it at once: so
the memsidecar program is asked for both.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
from dataclasses import dataclass, field

from ._errors import MemsidecarError, ProgramNotFoundError


@dataclass(frozen=True)
class Finder:
    """Finds the daemon. A given socket is used as it is, and no daemon is started for it."""

    socket: str = field(default_factory=lambda: os.environ.get("MEMSIDECAR_SOCKET", ""))
    program: str = field(default_factory=lambda: os.environ.get("MEMSIDECAR_PROGRAM") or "memsidecar")
    start: bool = True

    def find(self) -> str:
        """Return the socket of a daemon; start one when that is wanted and needed."""
        path = self.socket or self._ask()
        check_owner(path)
        return path

    def restart(self) -> None:
        """Start the daemon again when nobody answers any more. What goes wrong shows in the next try."""
        if self.socket or not self.start:
            return
        try:
            self._ask()
        except (MemsidecarError, ProgramNotFoundError):
            pass

    def _ask(self) -> str:
        command = [self.program, "socket", "--json"]
        if not self.start:
            command.append("--no-start")
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        except OSError as err:
            raise ProgramNotFoundError(
                f"the memsidecar program could not be run: {err}; install it, or set MEMSIDECAR_PROGRAM or the socket"
            ) from err
        if done.returncode != 0:
            raise MemsidecarError("UNAVAILABLE", done.stderr.strip() or f"{self.program} ended with {done.returncode}")
        try:
            return json.loads(done.stdout)["socket"]
        except (ValueError, KeyError, TypeError) as err:
            raise ProgramNotFoundError(
                f"{self.program} does not say where the daemon listens; is it of another version?"
            ) from err


def check_owner(path: str) -> None:
    """Refuse a socket of somebody else: memory must not be told to a stranger's server."""
    try:
        info = os.stat(path)
    except OSError:
        return  # the call says what is wrong
    if stat.S_ISSOCK(info.st_mode) and info.st_uid not in (os.getuid(), 0):
        raise MemsidecarError("PERMISSION_DENIED", f"the socket {path} belongs to uid {info.st_uid}, not to you")
