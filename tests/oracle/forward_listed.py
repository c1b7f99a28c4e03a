"""The models of `forward_calls.py` that lists name: of libraries beside, and of files of research groups.

The models' code is executed: run this only where that is acceptable.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from modgraph.errors import InputError, ModgraphError
from modgraph.graph.model import ModelInput
from modgraph.inputs.making import make_inputs
from modgraph.options import TraceOptions
from modgraph.source.inputs import parse_input
from modgraph.source.targets import parse_target
from modgraph.tracing.loading.models import LoadedModel, load_model

HERE = Path(__file__).parent
FILES = "files"
"""The name under which the files of research groups are asked for."""
SOURCES = "MODGRAPH_FORWARD_SOURCES"
"""The environment variable that says where they are unpacked: a folder `owner+name` for each repository."""


@cache
def listed() -> dict[str, dict[str, tuple[str, ...]]]:
    """By library and target, the inputs."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for line in _lines("forward_beside.txt"):
        library, target, *inputs = line.split(" | ")
        found.setdefault(library, {})[target] = tuple(inputs)
    return found


def files() -> list[str]:
    """ "owner+name/net.py:Net"."""
    rows = (line.split() for line in _lines("forward_files.txt"))
    return [f"{repository.replace('/', '+')}/{path}:{name}" for repository, _, path, name in rows]


def _lines(name: str) -> list[str]:
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def loaded(target: str) -> LoadedModel:
    """The model of a target, on the CPU."""
    return load_model(parse_target(target), TraceOptions())


def written(target: str, folder: Path) -> str:
    """A file with a function that builds a model of a list, as a user would write it; the target that names it."""
    module, _, call = target.partition(":")
    file = folder / "listed_model.py"
    file.write_text(f"import {module}\n\n\ndef build():\n    return {module}.{call}\n", encoding="utf-8")
    return f"{file}:build"


def file_target(name: str) -> str:
    """Where a file of a list stands here."""
    return str(Path(os.environ[SOURCES]) / name)


def inputs_found(model: LoadedModel) -> tuple[str, ...] | None:
    """As a user would type them, those with which the model runs; None where there are no such."""
    if model.example is not None:
        return None
    try:
        made = make_inputs(model.model, (), None, TraceOptions())
    except ModgraphError:
        return None
    texts = tuple(_text(each) for each in made.infos)
    return None if made.warning is not None or None in texts else tuple(each for each in texts if each is not None)


def _text(given: ModelInput) -> str | None:
    if given.literal is not None:
        text = f"{given.name}={given.literal}"
    elif len(given.tensors) == 1 and given.tensors[0].name == given.name and given.tensors[0].shape is not None:
        tensor = given.tensors[0]
        text = f"{given.name}={'x'.join(map(str, tensor.shape or ())) or 'scalar'}:{tensor.dtype}"
    else:
        return None
    try:
        parse_input(text)
    except InputError:
        return None
    return text
