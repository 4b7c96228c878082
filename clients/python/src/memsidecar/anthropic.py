"""The files of Claude's memory tool in memsidecar: ``pip install 'memsidecar[anthropic]'``.

client.beta.messages.tool_runner(tools=[MemsidecarMemoryTool()], betas=["context-management-2025-06-27"], ...)
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable

from anthropic.lib.tools import BetaAbstractMemoryTool, ToolError
from anthropic.types.beta import (
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)

from ._errors import MemsidecarError
from ._keyed import Entry, Keyed, data_of
from .client import Client

ROOT = "/memories"
ATTEMPTS = 20


class MemsidecarMemoryTool(BetaAbstractMemoryTool):
    """Keeps the tool's files as memories, for any number of agents: two edits of one file at once lose nothing.

    A file is a memory in one space, ``claude-memory`` unless the client given has another: its title is the path. A directory
    is there while it has a file. A file has at most 60,000 bytes.
    """

    def __init__(self, client: Client | None = None) -> None:
        super().__init__()
        self._files = Keyed(client or Client(space="claude-memory"), "claude-memory", "general")

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        path = _path(command.path)
        text = self._text(path)
        if text is None:
            return self._directory(path, command.path)
        lines, first = text.split("\n"), 1
        if command.view_range and len(command.view_range) == 2:
            first, last = max(1, command.view_range[0]), command.view_range[1]
            lines = lines[first - 1 : len(lines) if last == -1 else last]
        return f"Here's the content of {command.path} with line numbers:\n" + _numbered(lines, first)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        path = _path(command.path)
        if path == ROOT or self._below(path) or not self._write(lambda: self._files.create(_file(path, command.file_text))):
            raise ToolError(f"File {command.path} already exists")
        return f"File created successfully at: {command.path}"

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        old, new = command.old_str, command.new_str

        def change(text: str) -> str:
            count = text.count(old)
            if count == 0:
                raise ToolError(
                    f"No replacement was performed, old_str `{old}` did not appear verbatim in {command.path}."
                )
            if count > 1:
                lines = [str(line) for line in _lines_with(text, old)]
                raise ToolError(
                    f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
                    f"{', '.join(lines)}. Please ensure it is unique"
                )
            return text.replace(old, new)

        before, after = self._change(command.path, change)
        changed = before[: before.find(old)].count("\n")
        start = max(0, changed - 2)
        return (
            "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
            + _numbered(after.split("\n")[start : changed + 3], start + 1)
        )

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        def change(text: str) -> str:
            lines = text.split("\n")
            if lines[-1] == "":
                lines.pop()
            if not 0 <= command.insert_line <= len(lines):
                raise ToolError(
                    f"Invalid `insert_line` parameter: {command.insert_line}. "
                    f"It should be within the range [0, {len(lines)}]."
                )
            lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
            joined = "\n".join(lines)
            return joined if joined.endswith("\n") else joined + "\n"

        self._change(command.path, change)
        return f"The file {command.path} has been edited."

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        path = _path(command.path)
        if path == ROOT:
            raise ToolError("Cannot delete the /memories directory itself")
        gone = [path] if self._text(path) is not None else self._below(path)
        if not gone:
            raise ToolError(f"The path {command.path} does not exist")
        self._files.delete(gone)
        return f"Successfully deleted {command.path}"

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        old, new = _path(command.old_path), _path(command.new_path)
        if old == ROOT:
            raise ToolError("Cannot rename the /memories directory itself")
        if new == ROOT or self._text(new) is not None or self._below(new):
            raise ToolError(f"The destination {command.new_path} already exists")
        text = self._text(old)
        files = {old: text} if text is not None else {p: self._text(p) or "" for p in self._below(old)}
        if not files:
            raise ToolError(f"The path {command.old_path} does not exist")
        # First the new files: a crash in between leaves both.
        self._write(lambda: self._files.put([_file(new + p[len(old) :], t or "") for p, t in files.items()]))
        self._files.delete(files)
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    def clear_all_memory(self) -> str:
        self._files.delete(self._below(ROOT))
        return "All memory cleared"

    def _text(self, path: str) -> str | None:
        memory = self._files.get([path]).get(path)
        return None if memory is None else str(data_of(memory)["text"])

    def _below(self, path: str) -> list[str]:
        paths = (str(data_of(memory)["path"]) for memory in self._files.list())
        return [p for p in paths if p.startswith(path + "/")]

    def _change(self, given: str, change: Callable[[str], str]) -> tuple[str, str]:
        """Change a file as it is at that moment; return its text before and after."""
        path = _path(given)
        for _ in range(ATTEMPTS):
            memory = self._files.get([path]).get(path)
            if memory is None:
                if path == ROOT or self._below(path):
                    raise ToolError(f"The path {given} is not a file.")
                raise ToolError(f"The path {given} does not exist. Please provide a valid path.")
            before = str(data_of(memory)["text"])
            after = change(before)
            if self._write(lambda: self._files.replace(memory, _file(path, after))):
                return before, after
        raise ToolError(f"The file {given} is being changed by others; try again.")

    def _write(self, write: Callable[[], bool | None]) -> bool:
        try:
            return write() is not False
        except MemsidecarError as err:
            if err.code != "INVALID_ARGUMENT":
                raise
            reasons = "; ".join(f"{v.field} {v.description}" for v in err.violations) or err.message
            raise ToolError(f"The file could not be stored: {reasons}") from err

    def _directory(self, path: str, given: str) -> str:
        sizes: dict[str, int] = {}
        for memory in self._files.list():
            data = data_of(memory)
            inner = str(data["path"])[len(path) + 1 :] if str(data["path"]).startswith(path + "/") else ""
            parts = inner.split("/")
            if not inner or any(part.startswith(".") for part in parts):
                continue
            size = len(str(data["text"]).encode())
            for depth in range(1, min(len(parts), 3)):
                name = "/".join(parts[:depth]) + "/"
                sizes[name] = sizes.get(name, 0) + size
            if len(parts) <= 2:
                sizes[inner] = size
        if not sizes and path != ROOT:
            raise ToolError(f"The path {given} does not exist. Please provide a valid path.")
        whole = sum(size for name, size in sizes.items() if "/" not in name.rstrip("/"))
        rows = [f"{_size(whole)}\t{given}"]
        rows += [f"{_size(sizes[name])}\t{given}/{name}" for name in sorted(sizes, key=lambda n: n.rstrip("/").split("/"))]
        header = f"Here're the files and directories up to 2 levels deep in {given}, excluding hidden items:"
        return "\n".join([header, *rows])


def _path(given: str) -> str:
    path = posixpath.normpath(given)
    if path != ROOT and not path.startswith(ROOT + "/"):
        if given.startswith(ROOT):
            raise ToolError(f"Path {given} would escape /memories directory")
        raise ToolError(f"Path must start with /memories, got: {given}")
    return path


def _file(path: str, text: str) -> Entry:
    return Entry(path, text.strip() and text or "(empty)", {"path": path, "text": text}, title=path)


def _numbered(lines: list[str], first: int) -> str:
    return "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(lines, first))


def _lines_with(text: str, part: str) -> list[int]:
    """Return the line of each occurrence, also of those that overlap."""
    found, at = list[int](), text.find(part)
    while at >= 0:
        found.append(text.count("\n", 0, at) + 1)
        at = text.find(part, at + 1)
    return found


def _size(count: int) -> str:
    size, unit = float(count), 0
    while size >= 1024 and unit < 3:
        size, unit = size / 1024, unit + 1
    return f"{int(size)}{'BKMG'[unit]}" if size == int(size) else f"{size:.1f}{'BKMG'[unit]}"
