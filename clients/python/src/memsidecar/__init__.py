"""Client of memsidecar, the local daemon that owns an agent's long-term memory.

    import memsidecar

    with memsidecar.Client() as client:
        client.remember("We deploy with make release", category="facts")
        client.search("how do we deploy")

The client finds the daemon and starts it if none runs. The messages of the API are in :mod:`memsidecar.v1`.
"""

from importlib.metadata import version as _version

from ._errors import MemsidecarError, ProgramNotFoundError, Violation
from ._requests import Filter, Redaction, Saved
from .aio import AsyncClient, AsyncSession
from .client import Client, Session

__all__ = [
    "AsyncClient",
    "AsyncSession",
    "Client",
    "Filter",
    "MemsidecarError",
    "ProgramNotFoundError",
    "Redaction",
    "Saved",
    "Session",
    "Violation",
    "__version__",
]

__version__ = _version("memsidecar")
