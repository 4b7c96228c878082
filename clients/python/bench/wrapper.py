"""Times ``Client.remember`` beside the generated stub with the same request, in turn, on a new data directory.

    pip install ./clients/python
    MEMSIDECAR_PROGRAM=./memsidecar python clients/python/bench/wrapper.py --calls 2000

The stub's request has an idempotency key and is made outside the time measured, so the difference is all that the client does:
the request, its key, the retry, the result. The stub has a channel with the client's options. The time that remember spends
outside its own stub is printed too: it is the same work, and steadier on a busy machine.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import time

import grpc

from memsidecar import Client, _requests
from memsidecar._find import Finder
from memsidecar._retry import CHANNEL_OPTIONS
from memsidecar.v1 import memory_service_pb2_grpc

TITLE, TAGS = "a note", ("bench", "wrapper")


class Timed:
    """A method that remembers how long its last call took, in microseconds."""

    def __init__(self, method):
        self.method, self.took = method, 0.0

    def __call__(self, *args, **options):
        start = time.perf_counter()
        result = self.method(*args, **options)
        self.took = (time.perf_counter() - start) * 1e6
        return result


def measure(client, calls):
    channel = grpc.insecure_channel("unix:" + Finder().find(), options=CHANNEL_OPTIONS)
    stub = Timed(memory_service_pb2_grpc.MemoryServiceStub(channel).Add)
    inner = client.memory.Add._method = Timed(client.memory.Add._method)
    remember = Timed(client.remember)
    raw, wrapped, own = [], [], []
    for n in range(2 * calls):
        text = f"number {n} says that the lantern of harbour {n * 7} is lit"
        if n % 4 in (0, 3):  # each of them is as often the first after the other as it is the second
            stub(_requests.add("", [_requests.new(text, title=TITLE, tags=TAGS)]))
            raw.append(stub.took)
        else:
            remember(text, title=TITLE, tags=TAGS)
            wrapped.append(remember.took)
            own.append(remember.took - inner.took)
    channel.close()
    floor, p50 = statistics.median(raw), statistics.median(wrapped)
    print(f"{calls} adds of each, p50: stub {floor:.0f} us, remember {p50:.0f} us, {p50 / floor:.2f} x, difference "
          f"{p50 - floor:.0f} us; outside its stub remember takes {statistics.median(own):.0f} us")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=2000)
    options = parser.parse_args()
    program = os.environ.get("MEMSIDECAR_PROGRAM", "memsidecar")
    with tempfile.TemporaryDirectory(prefix="msb", dir="/tmp") as directory:  # short: a socket's path is limited
        for name in ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "MEMSIDECAR_SOCKET", "MEMSIDECAR_DATA"):
            os.environ.pop(name, None)
        os.environ.update(HOME=directory, XDG_RUNTIME_DIR=directory)
        try:
            with Client() as client:
                measure(client, options.calls)
        finally:
            subprocess.run([program, "daemon", "stop"], check=True, capture_output=True)


if __name__ == "__main__":
    main()
