"""A user of its own for every test, with the program that is under test."""

import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

ROOT = pathlib.Path(__file__).parents[3]


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    given = os.environ.get("MEMSIDECAR_PROGRAM")
    if given:
        return given
    path = str(tmp_path_factory.mktemp("bin") / "memsidecar")
    subprocess.run(["go", "build", "-o", path, "./cmd/memsidecar"], cwd=ROOT, check=True)
    return path


@pytest.fixture
def home(program, monkeypatch):
    directory = tempfile.mkdtemp(prefix="msp", dir="/tmp")  # short: a socket's path is limited
    for name in ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "MEMSIDECAR_SOCKET", "MEMSIDECAR_DATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in (("HOME", directory), ("XDG_RUNTIME_DIR", directory), ("MEMSIDECAR_PROGRAM", program)):
        monkeypatch.setenv(name, value)
    yield directory
    monkeypatch.setenv("MEMSIDECAR_PROGRAM", program)
    subprocess.run([program, "daemon", "stop"], check=True, capture_output=True)
    shutil.rmtree(directory)
