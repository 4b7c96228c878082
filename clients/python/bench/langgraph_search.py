"""Times ``search`` of LangGraph's stores beside this client's, in turn, in one run.

    pip install 'memsidecar[langgraph]' -r clients/python/tests/adapters/requirements/langgraph.txt numpy
    python clients/python/bench/langgraph_search.py --items 1000 --rounds 200
    python clients/python/bench/langgraph_search.py --items 4000 --processes 8

With ``--processes`` that many processes write the items into one namespace of memsidecar's store at once, and the run fails
if one item is lost. LangGraph's stores are filled by one process: the one in memory is a process's own.

LangGraph's stores rank by vectors, for which a program calls an embedding service. Here a function makes them up from the
words of a text, in microseconds, so what is timed is the store; memsidecar's time holds its ranking by words and meaning. It
runs on a data directory of its own.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import multiprocessing
import os
import random
import statistics
import subprocess
import tempfile
import time

DIMENSIONS = 384
WORDS = (
    "harbour lantern orchard violin glacier copper saddle meadow printer ledger canyon teapot anchor falcon velvet "
    "engine quartz ribbon tunnel walnut beacon cactus drawer ember feather gravel hammer island jacket kettle"
).split()


def embed(texts):
    """Make up a vector for each text: one dimension for each of its words."""
    vectors = []
    for text in texts:
        vector = [0.0] * DIMENSIONS
        for word in text.lower().split():
            vector[int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big") % DIMENSIONS] += 1.0
        vectors.append(vector)
    return vectors


def texts(count):
    chance = random.Random(1)
    return [f"note {n}: the {' '.join(chance.sample(WORDS, 6))} of customer {n % 50}" for n in range(count)]


def stores(directory):
    from langgraph.store.memory import InMemoryStore
    from langgraph.store.sqlite import SqliteStore

    from memsidecar.langgraph import MemsidecarStore

    index = {"dims": DIMENSIONS, "embed": embed}
    yield "memsidecar", MemsidecarStore()
    yield "InMemoryStore", InMemoryStore(index=index)
    with SqliteStore.from_conn_string(os.path.join(directory, "store.db"), index=index) as sqlite:
        sqlite.setup()
        yield "SqliteStore", sqlite


def put_part(processes, items, part):
    """Write every item of which the number is that of the part, in a process of its own."""
    from memsidecar.langgraph import MemsidecarStore

    store, all_texts = MemsidecarStore(), texts(items)
    for n in range(part, items, processes):
        store.put(("notes",), f"k{n}", {"text": all_texts[n]})


def put_by_processes(store, processes, items):
    """Write all items from several processes at once, and count what is there."""
    start = time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        pool.map(functools.partial(put_part, processes, items), range(processes))
    took = time.perf_counter() - start
    found = {item.key: item.value["text"] for item in store.search(("notes",), limit=items + 1)}
    if found != {f"k{n}": text for n, text in enumerate(texts(items))}:
        raise SystemExit(f"{items} items were written by {processes} processes, and {len(found)} are there")
    print(f"{processes} processes put {items} items into one namespace in {took:.1f} s; all are there")


def measure(items, rounds, processes, directory):
    chance = random.Random(2)
    namespace = (lambda n: ("notes",)) if processes else (lambda n: ("notes", f"c{n % 50}"))
    open_stores = stores(directory)
    ready = {}
    for _ in range(3):
        name, store = next(open_stores)
        if processes and name == "memsidecar":
            put_by_processes(store, processes, items)
        else:
            for n, text in enumerate(texts(items)):
                store.put(namespace(n), f"k{n}", {"text": text})
        ready[name] = store
    time.sleep(5)  # memsidecar embeds what is new in the background
    calls = {
        "query": lambda store: store.search(("notes",), query=" ".join(chance.sample(WORDS, 2)), limit=10),
        "query below a prefix": lambda store: store.search(namespace(7), query=chance.choice(WORDS), limit=10),
        "list": lambda store: store.search(namespace(7), limit=10),
    }
    if processes:
        del calls["query below a prefix"]  # there is one namespace
    print(f"{items} items, {rounds} searches of each kind; milliseconds, p50 / p95")
    for kind, call in calls.items():
        times = {name: [] for name in ready}
        for _ in range(rounds):
            for name, store in ready.items():
                start = time.perf_counter()
                call(store)
                times[name].append((time.perf_counter() - start) * 1000)
        figures = (f"{name} {statistics.median(t):.2f} / {sorted(t)[len(t) * 95 // 100]:.2f}" for name, t in times.items())
        print(f"{kind}: {', '.join(figures)}")
    open_stores.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--processes", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="msb", dir="/tmp") as directory:  # short: a socket's path is limited
        for name in ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "MEMSIDECAR_SOCKET", "MEMSIDECAR_DATA"):
            os.environ.pop(name, None)
        os.environ.update(HOME=directory, XDG_RUNTIME_DIR=directory)
        try:
            measure(options.items, options.rounds, options.processes, directory)
        finally:
            subprocess.run([os.environ.get("MEMSIDECAR_PROGRAM", "memsidecar"), "daemon", "stop"], check=True, capture_output=True)


if __name__ == "__main__":
    main()
