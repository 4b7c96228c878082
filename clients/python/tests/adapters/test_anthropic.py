"""The memory tool beside the one that Anthropic ships, which keeps files."""

import multiprocessing
import re

import pytest
from anthropic.lib.tools import ToolError
from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool
from examples import run_example

import memsidecar
from memsidecar.anthropic import MemsidecarMemoryTool


def answer(tool, **command):
    try:
        text = tool.call(command)
    except ToolError as err:
        return "error: " + str(err)
    # Directories have other sizes on every file system.
    return re.sub(r"(?m)^\S+\t(?=/memories$|.*/$|/memories/[a-z]+$)", "dir\t", text)


def test_example(home):
    run_example("Anthropic memory tool")


def test_calls(home, tmp_path):
    tools = MemsidecarMemoryTool(), BetaLocalFilesystemMemoryTool(str(tmp_path))

    def same(command, path=None, **rest):
        if path:
            rest["path"] = path
        ours, theirs = (answer(tool, command=command, **rest) for tool in tools)
        assert ours == theirs, (command, rest)

    same("view", "/memories")
    text = "# Ada\n\nlikes tulips\nlikes tea\n  indented\tand tabbed\n"
    for path in ("/memories/ada.md", "/memories/team/bob.md", "/memories/team/deep/er/x.md", "/memories/.hidden"):
        same("create", path, file_text=text)
    same("create", "/memories/empty.md", file_text="")
    same("create", "/memories/ada.md", file_text="again")
    same("create", "/elsewhere", file_text="x")
    same("create", "/memories/../../etc/passwd", file_text="x")
    for path in ("/memories", "/memories/team", "/memories/team/", "/memories/ada.md", "/memories/empty.md", "/memories/none"):
        same("view", path)
    for view_range in ([2, 3], [2, -1], [0, 2], [4, 99]):
        same("view", "/memories/ada.md", view_range=view_range)
    same("str_replace", "/memories/ada.md", old_str="tulips", new_str="roses\nand lilies")
    same("str_replace", "/memories/ada.md", old_str="likes", new_str="x")
    same("str_replace", "/memories/ada.md", old_str="nothing", new_str="x")
    same("str_replace", "/memories/none.md", old_str="x", new_str="y")
    same("str_replace", "/memories/team", old_str="x", new_str="y")
    for line in (0, 2, 99, -1):
        same("insert", "/memories/ada.md", insert_line=line, insert_text=f"line at {line}\n")
    same("view", "/memories/ada.md")
    same("rename", old_path="/memories/ada.md", new_path="/memories/team/ada.md")
    same("rename", old_path="/memories/ada.md", new_path="/memories/x.md")
    same("rename", old_path="/memories/empty.md", new_path="/memories/team/bob.md")
    same("rename", old_path="/memories/team", new_path="/memories/crew")
    same("view", "/memories/crew/ada.md")
    same("view", "/memories/team")
    same("delete", "/memories/crew/bob.md")
    same("delete", "/memories/crew/bob.md")
    same("delete", "/memories/crew")
    same("delete", "/memories")
    same("create", "/memories/ada.md", file_text="back again")  # a file that was renamed
    same("create", "/memories/crew/bob.md", file_text="back again")  # one that was deleted
    same("view", "/memories/crew/bob.md")
    same("view", "/memories")


def test_undo(home):
    """What an agent deletes can be brought back."""
    client = memsidecar.Client(space="claude-memory")
    tool = MemsidecarMemoryTool(client)
    tool.call({"command": "create", "path": "/memories/a", "file_text": "precious"})
    tool.call({"command": "delete", "path": "/memories/a"})
    (memory,) = client.list(memsidecar.Filter(statuses=["retired"]))
    client.undo(next(client.history(memory.id)).id)
    assert "precious" in tool.call({"command": "view", "path": "/memories/a"})


def test_too_long(home):
    with pytest.raises(ToolError, match="64 KiB|65536|limit"):
        MemsidecarMemoryTool().call({"command": "create", "path": "/memories/a", "file_text": "long " * 20000})


def insert_many(worker):
    tool = MemsidecarMemoryTool()
    for n in range(8):
        tool.call({"command": "insert", "path": "/memories/log", "insert_line": 0, "insert_text": f"{worker}-{n}"})


def test_processes(home):
    """Edits of one file by several agents at once are all in it."""
    tool = MemsidecarMemoryTool()
    tool.call({"command": "create", "path": "/memories/log", "file_text": "start\n"})
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        pool.map(insert_many, range(2))
    text = tool.call({"command": "view", "path": "/memories/log"})
    assert set(re.findall(r"\d-\d+", text)) == {f"{worker}-{n}" for worker in range(2) for n in range(8)}
