"""Finds and starts the daemon.

The client asks the memsidecar program for the socket: it reads flags, environment and configuration, and it lets only one
of several clients start the daemon.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sysconfig
from dataclasses import dataclass, field

from ._errors import MemsidecarError, ProgramNotFoundError


@dataclass(frozen=True)
class Finder:
    """Finds the daemon. A given socket is used as it is; no daemon is started for it."""

    socket: str = field(default_factory=lambda: os.environ.get("MEMSIDECAR_SOCKET", ""))
    program: str = field(default_factory=lambda: os.environ.get("MEMSIDECAR_PROGRAM") or find_program())
    start: bool = True

    def find(self) -> str:
        """Return the socket of a daemon; start one if necessary and allowed."""
        path = socket_path(self.socket) or self._ask()
        check_owner(path)
        return path

    def restart(self) -> None:
        """Start the daemon if allowed. The next attempt of the call reports an error."""
        if self.socket or not self.start:
            return
        try:
            self._ask()
        except (MemsidecarError, ProgramNotFoundError):
            pass

    def _ask(self) -> str:
        command = [self.program, "daemon", "socket"]
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
        path = done.stdout.removesuffix("\n")
        if not os.path.isabs(path):
            raise ProgramNotFoundError(f"{self.program} did not print a socket; check that it has the same version")
        return path


def find_program() -> str:
    """Return the memsidecar program: the one in ``PATH``, else the one that was installed with this package."""
    installed = shutil.which("memsidecar", path=sysconfig.get_path("scripts"))
    return shutil.which("memsidecar") or installed or "memsidecar"


def socket_path(address: str) -> str:
    """Return the path of a socket that is given as a path, or with ``unix:`` or ``unix://`` before it.

    An abstract socket has no owner that could be checked, so the daemon never listens on one.
    """
    if address.startswith(("@", "\0", "unix-abstract:", "unix:@")):
        raise ValueError(
            f"socket {address!r}: abstract sockets are not supported; use the path of the daemon's socket"
        )
    return address.removeprefix("unix://") if address.startswith("unix://") else address.removeprefix("unix:")


def check_owner(path: str) -> None:
    """Reject the socket of another user, who could read the memories."""
    try:
        info = os.stat(path)
    except OSError:
        return  # the call reports it
    if stat.S_ISSOCK(info.st_mode) and info.st_uid not in (os.getuid(), 0):
        raise MemsidecarError("PERMISSION_DENIED", f"the socket {path} belongs to uid {info.st_uid}, not to you")
