"""`modgraph.diff`: finds the two graphs, whatever names them, and compares them. The command line calls the same."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from modgraph.api import Watch, analyze_target, find_targets, load, unwatched
from modgraph.errors import ConfigError, GraphError, InputError, TargetError
from modgraph.graph.model import Graph
from modgraph.options import TraceOptions

if TYPE_CHECKING:
    from modgraph.changes.model import Changes
    from modgraph.source.inputs import InputSpec
    from modgraph.source.revisions import Checkout, Revision


def diff(
    old: Graph | str | os.PathLike[str],
    new: Graph | str | os.PathLike[str],
    *,
    run: bool = False,
    inputs: Sequence[str] = (),
    path: Sequence[str] | None = None,
) -> Changes:
    """What changed between two models.

    Args:
        old: a graph; the file of one, as `modgraph analyze` writes it; a target such as "model.py:Net"; or
            "REV:model.py:Net", the same at a revision of the git repository around the working directory.
        new: the same.
        run: also build and run what is named by a target, in a process of its own; otherwise it is predicted, and
            nothing is executed.
        inputs: for a run, as on the command line: `["1x3x224x224", "mask=1x128:bool"]`.
        path: where imports are looked up; by default the working directory and `sys.path`.

    Returns:
        The changes; false where there are none. What one side leaves open is in `undecided`.

    Raises:
        TargetError: a target, a file or a revision does not exist, or names more than one model.
        GraphError: a file holds no graph, or nothing is known of one of the models.
        ConfigError: inputs are given, and nothing is run.
    """
    from modgraph.changes import compare
    from modgraph.source.inputs import parse_input

    if inputs and not run:
        raise ConfigError("inputs are of use to a run alone", hint="run=True builds and runs the models")
    finder = GraphFinder(run=run, specs=tuple(parse_input(given) for given in inputs), path=path)
    return compare(finder.graph(old), finder.graph(new))


class GraphFinder:
    """Makes a graph of whatever names one.

    Args:
        run: build and run targets; otherwise they are predicted.
        specs: inputs of the runs.
        options: how they run.
        path: where imports are looked up.
        watch: is told of each stage, as in `analyze_target`.
    """

    def __init__(
        self,
        *,
        run: bool = False,
        specs: Sequence[InputSpec] = (),
        options: TraceOptions | None = None,
        path: Sequence[str] | None = None,
        watch: Watch = unwatched,
    ) -> None:
        self.run = run
        self.specs = specs
        self.options = options or TraceOptions()
        self.path = path
        self.watch = watch

    def graph(self, named: Graph | str | os.PathLike[str]) -> Graph:
        """The graph that `named` is or names.

        Raises:
            TargetError, GraphError: it names none.
            InputError: it is a live model.
        """
        if isinstance(named, Graph):
            return named
        if not isinstance(named, str | os.PathLike):
            raise InputError(
                f"a diff is of graphs, files and targets, not of a {type(named).__name__}",
                hint="make a graph of a live model first: modgraph.analyze(model)",
            )
        from modgraph.source.revisions import files_of, parse_revision

        text = os.fspath(named)
        revision = parse_revision(text)
        if revision is None:
            return self._here(text)
        with files_of(revision, everything=self.run) as files:
            graph = self._there(revision, files)
        return replace(graph, model=replace(graph.model, target=text))

    def _here(self, text: str) -> Graph:
        suffix = Path(text).suffix.lower()
        if suffix == ".json":
            return load(text)
        if suffix == ".onnx":
            _refuse_onnx(Path(text))
        return self._analyzed(text, self.path, None)

    def _there(self, revision: Revision, files: Checkout) -> Graph:
        """The graph of a target at a revision: relative to the working directory, else to the repository's."""
        file = revision.target.partition(".py:")[0].removesuffix(".py")
        suffix = "" if revision.target.endswith(".json") else ".py"
        cwd = files.cwd
        if not (cwd / f"{file}{suffix}").is_file() and (files.root / f"{file}{suffix}").is_file():
            cwd = files.root
        try:
            if not suffix:
                return load(cwd / revision.target)
            return self._analyzed(revision.target, files.search_path(self.path), cwd)
        except (TargetError, GraphError) as error:
            message = f"{error.message} (at the revision {revision.name})"
            raise type(error)(message, file=f"{revision.name}:{revision.target}", hint=error.hint) from error

    def _analyzed(self, text: str, path: Sequence[str] | None, cwd: Path | None) -> Graph:
        targets = find_targets(text, path=path, cwd=cwd)
        if len(targets) > 1:
            names = ", ".join(target.text for target in targets)
            raise TargetError(f"{text} has {len(targets)} models", hint=f"name one of them: {names}")
        return analyze_target(targets[0], specs=self.specs, options=self.options, static=not self.run, watch=self.watch)


def _refuse_onnx(file: Path) -> None:
    beside = file.with_suffix(".json")
    hint = f"the graph beside it has all of it: {beside}" if beside.is_file() else "compare graphs: --format json"
    raise GraphError(f"{file} is an ONNX file, which does not hold the whole graph that a diff compares", hint=hint)
