"""A name is known from one file: a second one is refused, and named with the first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from modgraph.prediction.domain import registry

Execute = Callable[[str, str], None]


@pytest.fixture
def execute(monkeypatch: pytest.MonkeyPatch) -> Execute:
    """execute(module, text): a file of knowledge that is imported, while nothing else is known."""
    for table in ("_models", "_homes"):
        monkeypatch.setattr(registry, table, {})
    monkeypatch.setattr(registry, "_packages", set())

    def run(module: str, text: str) -> None:
        namespace: dict[str, Any] = {"__name__": module, "models": registry.models, "helped": helped}
        exec(compile(text, f"{module}.py", "exec"), namespace)

    return run


def helped(*names: str) -> None:
    """Another file that registers for others, as those of shapes and of views do."""
    registry.models(*names)(len)  # type: ignore[arg-type]


@pytest.mark.parametrize("way", ["models('a.one', 'a.two')(len)", "helped('a.one', 'a.two')"])
def test_both_files_are_named(execute: Execute, way: str) -> None:
    execute("first", way)
    with pytest.raises(AssertionError, match=r"^registered twice: a\.two, by first and second$"):
        execute("second", "models('a.three', 'a.two')(len)")


def test_it_is_refused_in_one_file_too(execute: Execute) -> None:
    with pytest.raises(AssertionError, match=r"^registered twice: a\.one, by first and first$"):
        execute("first", "models('a.one')(len)\nmodels('a.one')(len)")


def test_who_tries_again_is_told_the_same(execute: Execute) -> None:
    """Not that the file registers anew what stands before the name at fault."""
    execute("first", "models('a.one')(len)")
    for _ in range(2):
        with pytest.raises(AssertionError, match=r"^registered twice: a\.one, by first and second$"):
            execute("second", "models('a.two')(len)\nmodels('a.one')(len)")
