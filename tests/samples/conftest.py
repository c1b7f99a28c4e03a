"""Fixtures that load a sample the way a run would: from its own folder, under its own name."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

SAMPLES_FOLDER = Path(__file__).parents[2] / "samples"


@pytest.fixture
def samples_folder() -> Path:
    return SAMPLES_FOLDER


@pytest.fixture
def import_sample(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Imports a file of `samples/` with its folder first on the path; afterwards no module of it is left behind."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    local = {path.stem for path in SAMPLES_FOLDER.rglob("*.py")}
    before = {name: module for name, module in sys.modules.items() if name in local}

    def load(file: str) -> ModuleType:
        path = SAMPLES_FOLDER / file
        monkeypatch.syspath_prepend(str(path.parent))
        for name in local:
            sys.modules.pop(name, None)
        return importlib.import_module(path.stem)

    yield load
    for name in local:
        sys.modules.pop(name, None)
    sys.modules.update(before)
