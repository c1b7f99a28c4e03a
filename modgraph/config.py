"""`[tool.modgraph]` of the nearest `pyproject.toml`, as a `Config`."""

from __future__ import annotations
