"""Names of spaces, for adapters that keep users apart."""

from __future__ import annotations

import hashlib
import re

MAX_SLUG = 64  # bytes


def slug(*parts: str) -> str:
    """Return a name of a space or category for parts of any form; other parts have another name."""
    name = re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-")
    if len(name) <= MAX_SLUG and parts == (name,):
        return name
    mark = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]
    return f"{name[: MAX_SLUG - 13].strip('-')}-{mark}".lstrip("-")
