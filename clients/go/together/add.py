"""Adds memories one after the other and prints the id of each that was acknowledged."""

import sys

import memsidecar

with memsidecar.Client(patience=60) as client:
    for i in range(int(sys.argv[1])):
        print(client.remember(f"python fact {i} of the shared store").id, flush=True)
