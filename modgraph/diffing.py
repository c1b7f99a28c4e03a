"""`modgraph.diff`: finds the two graphs, whatever names them, and compares them. The command line calls the same."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from modgraph.api import analyze_target, find_targets, load
from modgraph.errors import ConfigError, GraphError, InputError, TargetError
from modgraph.graph.model import Graph
from modgraph.options import TraceOptions
from modgraph.watching import Watch, unwatched

if TYPE_CHECKING:
    from modgraph.changes.model import Changes
    from modgraph.source.inputs import InputSpec
    from modgraph.source.methods import Methods
    from modgraph.source.revisions import Checkout, Revision
    from modgraph.source.targets import Target


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
        old: a graph; the file of one, as `modgraph analyze` writes it (JSON, or ONNX with ONNX); a target such as
            "model.py:Net"; or "REV:model.py:Net", the same at a revision of the git repository around the working
            directory.
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
    from modgraph.source.inputs import parse_input

    if inputs and not run:
        raise ConfigError("inputs are of use to a run alone", hint="run=True builds and runs the models")
    finder = GraphFinder(run=run, specs=tuple(parse_input(given) for given in inputs), path=path)
    return compared(*finder.pair(old, new))


@dataclass(frozen=True, slots=True)
class Found:
    """A graph, and what there is of its source."""

    graph: Graph
    methods: Methods | None = None
    """None where it comes from a file, which holds no source."""


def compared(old: Found, new: Found) -> Changes:
    """What changed.

    Raises:
        GraphError: nothing is known of one of the models.
    """
    from modgraph.changes import compare

    at_hand = old.methods is not None and new.methods is not None
    return compare(old.graph, new.graph, methods=(old.methods, new.methods) if at_hand else None)  # type: ignore[arg-type]


def is_saved(text: str) -> bool:
    """Whether `text` names the file of a graph, not a target."""
    return Path(text).suffix.lower() in (".json", ".onnx")


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

    def pair(self, old: Graph | str | os.PathLike[str], new: Graph | str | os.PathLike[str]) -> tuple[Found, Found]:
        """Both graphs.

        Raises:
            TargetError, GraphError: one of them names none, or they are of two kinds that hold different facts.
            InputError: one of them is a live model.
        """
        onnx = [isinstance(one, str | os.PathLike) and os.fspath(one).lower().endswith(".onnx") for one in (old, new)]
        if any(onnx) and not all(onnx):
            raise GraphError(
                f"{(old, new)[onnx.index(True)]} is an ONNX file: it has other operations than the model, and none of"
                " its constructor arguments, so it can be compared with another ONNX file alone",
                hint="compare two ONNX files, or two graphs as --format json writes them",
            )
        return self.found(old), self.found(new)

    def found(self, named: Graph | str | os.PathLike[str], *, cwd: Path | None = None) -> Found:
        """The graph that `named` is or names.

        Args:
            cwd: directory against which a file at a revision is read; by default the working directory.

        Raises:
            TargetError, GraphError: it names none.
            InputError: it is a live model.
        """
        if isinstance(named, Graph):
            return Found(named)
        if not isinstance(named, str | os.PathLike):
            raise InputError(
                f"a diff is of graphs, files and targets, not of a {type(named).__name__}",
                hint="make a graph of a live model first: modgraph.analyze(model)",
            )
        from modgraph.source.revisions import files_of, parse_revision

        text = os.fspath(named)
        revision = parse_revision(text, cwd=cwd)
        if revision is None:
            return self._here(text)
        with files_of(revision, everything=self.run, cwd=cwd) as files:
            found = self._there(revision, files)
        return named_as(found, text)

    def _here(self, text: str) -> Found:
        if is_saved(text):
            return Found(load(text))
        return self._analyzed(text, self.path, None)

    def _there(self, revision: Revision, files: Checkout) -> Found:
        """The graph of a target at a revision: relative to the working directory, else to the repository's."""
        file = revision.target.partition(".py:")[0].removesuffix(".py")
        suffix = "" if is_saved(revision.target) else ".py"
        cwd = files.cwd
        if not (cwd / f"{file}{suffix}").is_file() and (files.root / f"{file}{suffix}").is_file():
            cwd = files.root
        try:
            if not suffix:
                return Found(load(cwd / revision.target))
            return self._analyzed(revision.target, files.search_path(self.path), cwd)
        except (TargetError, GraphError) as error:
            message = f"{error.message} (at the revision {revision.name})"
            raise type(error)(message, file=f"{revision.name}:{revision.target}", hint=error.hint) from error

    def _analyzed(self, text: str, path: Sequence[str] | None, cwd: Path | None) -> Found:
        targets = find_targets(text, path=path, cwd=cwd)
        if len(targets) > 1:
            names = ", ".join(target.text for target in targets)
            raise TargetError(f"{text} has {len(targets)} models", hint=f"name one of them: {names}")
        return self.analyzed(targets[0], cwd)

    def analyzed(self, target: Target, cwd: Path | None = None) -> Found:
        """The graph of a target.

        Args:
            cwd: where it runs, if it is run; by default the working directory.
        """
        from modgraph.source.methods import methods_of

        graph = analyze_target(
            target, specs=self.specs, options=self.options, static=not self.run, watch=self.watch, cwd=cwd
        )
        return Found(graph, methods_of(target, [node.class_name for node in graph.modules]))


def named_as(found: Found, text: str) -> Found:
    """The same, said to be of this target."""
    return replace(found, graph=replace(found.graph, model=replace(found.graph.model, target=text)))
