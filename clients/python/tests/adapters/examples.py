"""Runs the examples of docs/integrations.md as they are written there."""

import os
import pathlib
import re
import subprocess
import sys

DOCS = pathlib.Path(__file__).parents[4] / "docs" / "integrations.md"


def run_example(heading, prints_more=False):
    """Run the first example below a heading; it must print what the documentation says, and nothing else unless allowed."""
    _, found, section = DOCS.read_text(encoding="utf-8").partition(f"\n## {heading}\n")
    assert found, f"docs/integrations.md has no heading {heading!r}"
    code, printed = re.search(r"```python\n(.*?)```\n+```text\n(.*?)```", section, re.DOTALL).groups()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, timeout=180)
    stdout = printed if prints_more and printed in done.stdout else done.stdout
    assert (stdout, done.returncode) == (printed, 0), done.stderr
