"""`modgraph.diff`: finds the two graphs, whatever names them, and compares them. The command line calls the same."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from modgraph.api import analyze_target, find_targets, load
from modgraph.errors import GraphError, InputError, TargetError
from modgraph.graph.model import BufferInfo, Graph, ModuleNode, ParameterInfo, Problem
from modgraph.names import last_name
from modgraph.options import Mode, TraceOptions
from modgraph.watching import Watch, unwatched

if TYPE_CHECKING:
    from modgraph.changes.model import Changes
    from modgraph.prediction.together import Together
    from modgraph.source.checkouts import Checkout
    from modgraph.source.inputs import InputSpec
    from modgraph.source.methods import Methods
    from modgraph.source.revisions import Revision
    from modgraph.source.targets import Target


_Tensor = TypeVar("_Tensor", ParameterInfo, BufferInfo)


def diff(
    old: Graph | str | os.PathLike[str],
    new: Graph | str | os.PathLike[str],
    *,
    run: bool = False,
    inputs: Sequence[str] = (),
    path: Sequence[str] | None = None,
    mode: Mode = "eval",
) -> Changes:
    """What changed between two models.

    Args:
        old: a graph; the file of one, as `modgraph analyze` writes it (JSON, or ONNX with ONNX); a target such as
            "model.py:Net"; or "REV:model.py:Net", the same at a revision of the git repository around the working
            directory.
        new: the same.
        run: also build and run what is named by a target, in a process of its own; otherwise it is predicted, and
            nothing is executed.
        inputs: as on the command line: `["1x3x224x224", "mask=1x128:bool"]`; without a run also with sizes that are
            left open, `["batch x 3 x h x w"]`.
        path: where imports are looked up; by default the working directory and `sys.path`.
        mode: "eval" or "train": in which both are run, or predicted to be.

    Returns:
        The changes; false where there are none. What one side leaves open is in `undecided`, what becomes of a
        checkpoint of the old model in `checkpoint` and `state`.

    Raises:
        TargetError: a target, a file or a revision does not exist, or names more than one model.
        GraphError: a file holds no graph, nothing is known of one of the models, or a graph that was made before is of
            another mode than `mode`: beside a target, or where that is "train".
        InputError: an input cannot be read.
    """
    from modgraph.source.input_groups import parse_inputs

    options = TraceOptions(mode=mode)
    finder = GraphFinder(run=run, specs=parse_inputs(inputs or ()), path=path, options=options)
    return compared(*finder.pair(old, new), mode=mode)


@dataclass(frozen=True, slots=True)
class Found:
    """A graph, and what there is of its source."""

    graph: Graph
    methods: Methods | None = None
    """None where it comes from a file, which holds no source."""


def compared(old: Found, new: Found, *, weights_alone: bool = False, mode: Mode | None = None) -> Changes:
    """What changed.

    Args:
        mode: in which both are to be compared, if it was said.
        weights_alone: it is asked for the keys of checkpoints: one side may be a file of weights, the other a model.

    Raises:
        GraphError: nothing is known of one of the models, or one is not of that mode.
    """
    from modgraph.changes import compare

    if not weights_alone:
        _require_like(old.graph, new.graph)
        _require_mode(old, new, mode)
    at_hand = old.methods is not None and new.methods is not None
    return compare(old.graph, new.graph, methods=(old.methods, new.methods) if at_hand else None)  # type: ignore[arg-type]


def entered(old: Found, new: Found) -> tuple[tuple[Found, Found], str]:
    """A file with several state dicts beside a model: the one that is the model's, as `--against` finds it, and the
    entry that holds it. Both as they are, and "", where there is nothing to choose."""
    from modgraph.checkpoint import best_table
    from modgraph.graph.state_dict import state_dict_of

    bare = [_is_bare(side.graph) for side in (old, new)]
    weights, model = (old, new) if bare[0] else (new, old)
    entries = () if weights.graph.stored is None else weights.graph.stored.entries
    if bare[0] == bare[1] or not entries:
        return (old, new), ""
    wanted = {entry.key: entry for entry in state_dict_of(model.graph).entries if entry.expected}
    held = [entry.key for entry in state_dict_of(weights.graph).entries]
    tables = {
        entry: {key.removeprefix(f"{entry}."): None for key in held if key.startswith(f"{entry}.")} for entry in entries
    }
    _, entry, _ = best_table(tables, wanted)
    # Several that are joined stay below their names, as the model has them: what is around all of them is taken off.
    around = entry if entry in tables else entry.rpartition("(")[0].removesuffix(".")
    if not around or all(each.path != around for each in weights.graph.modules):
        return (old, new), ""
    inner = replace(weights, graph=_below(weights.graph, around))
    return (inner, new) if bare[0] else (old, inner), entry


def _below(graph: Graph, entry: str) -> Graph:
    """The graph of what a file holds below one entry alone."""
    from modgraph.graph.build import GraphBuilder

    builder = GraphBuilder.of(graph)
    above = f"{entry}."
    root, top = graph.modules[0], next(each for each in graph.modules if each.path == entry)
    # A name that no path can be made of stands whole at the root.
    own = [replace(held, name=held.name.removeprefix(above)) for held in root.parameters if held.name.startswith(above)]
    inner = [replace(top, parameters=(*top.parameters, *own))]
    inner += [each for each in graph.modules if each.path.startswith(above)]
    builder.modules = _moved((each, each.path[len(above) :]) for each in inner)
    return builder.build()


def unwrapped(old: Found, new: Found) -> tuple[tuple[Found, Found], str]:
    """A file of weights beside a model, without the prefix that a wrapper has put before its keys; and that prefix, as
    `--against` finds it. Both as they are, and "", where there is none."""
    from modgraph.checkpoint import wrapper_prefix
    from modgraph.graph.state_dict import state_dict_of

    bare = [_is_bare(side.graph) for side in (old, new)]
    if bare[0] == bare[1]:
        return (old, new), ""
    weights, model = (old, new) if bare[0] else (new, old)
    wanted = {entry.key: entry for entry in state_dict_of(model.graph).entries if entry.expected}
    held = {entry.key: None for entry in state_dict_of(weights.graph).entries}
    prefix = wrapper_prefix(held, wanted)
    if not prefix or any(key.removeprefix(prefix) in held for key in held if key.startswith(prefix)):
        return (old, new), ""
    inner = replace(weights, graph=_without_prefix(weights.graph, prefix.removesuffix(".")))
    return (inner, new) if bare[0] else (old, inner), prefix


def _without_prefix(graph: Graph, wrapper: str) -> Graph:
    """The graph of a file of weights in which what lies below one module lies at the top."""
    from modgraph.graph.build import GraphBuilder

    builder = GraphBuilder.of(graph)
    outer = {wrapper.rsplit(".", n)[0] for n in range(wrapper.count(".") + 1)}
    top = next(each for each in graph.modules if each.path == wrapper)
    others = [each for each in graph.modules[1:] if each.path not in outer]
    root, inner, *rest = _moved(
        [
            (graph.modules[0], ""),
            (top, ""),
            *((each, each.path.removeprefix(f"{wrapper}.")) for each in others),
        ]
    )
    tensors = {"parameters": root.parameters + inner.parameters, "buffers": root.buffers + inner.buffers}
    builder.modules = [replace(root, **tensors), *rest]  # type: ignore[arg-type]
    return builder.build()


def _moved(places: Iterable[tuple[ModuleNode, str]]) -> list[ModuleNode]:
    """Modules of a file of weights at other paths, each tensor the same as the first of its names that is left."""
    from modgraph.graph.paths import parameter_path

    firsts: dict[str, str] = {}

    def held(node: ModuleNode, path: str, tensor: _Tensor) -> _Tensor:
        same = tensor.alias_of or parameter_path(node.path, tensor.name)
        key = parameter_path(path, tensor.name)
        first = firsts.setdefault(same, key)
        return replace(tensor, alias_of=None if first == key else first)

    return [
        replace(
            node,
            path=path,
            repeat=None,
            parameters=tuple(held(node, path, each) for each in node.parameters),
            buffers=tuple(held(node, path, each) for each in node.buffers),
        )
        for node, path in places
    ]


def _is_bare(graph: Graph) -> bool:
    """It has names and shapes of tensors alone."""
    return graph.stored is not None and all(node.class_name is None for node in graph.modules)


def _require_like(old: Graph, new: Graph) -> None:
    """Raises GraphError where one side has names and shapes of tensors alone, and the other is a model with classes."""
    bare = [_is_bare(graph) for graph in (old, new)]
    if bare[0] == bare[1]:
        return
    weights, model = (old, new) if bare[0] else (new, old)
    file = weights.model.target
    typed = f"{shlex.quote(model.model.target or 'model.py:Net')} --static --against {shlex.quote(str(file))}"
    raise GraphError(
        f"{file} holds names and shapes of tensors and no classes, so it can be compared with another file of weights"
        " alone",
        hint=f"whether it fits the model: modgraph analyze {typed}",
    )


def _require_mode(old: Found, new: Found, asked: Mode | None) -> None:
    """Raises GraphError where a graph that was made before is of another mode than was asked for. Two such graphs are
    compared as they are where nothing but the default was: what differs may be their modes."""
    made_before = [side.methods is None for side in (old, new)]
    if asked is None or (asked == TraceOptions().mode and all(made_before)):
        return
    for side, is_given, word in zip((old, new), made_before, ("old", "new"), strict=True):
        held = side.graph.model.mode
        if not is_given or held is None or held == asked:
            continue
        target = side.graph.model.target
        named = f" of {target}" if target else ""
        typed = f"modgraph analyze {shlex.quote(target or 'model.py:Net')} --mode {asked} --format json"
        raise GraphError(
            f"the {word} graph{named} was made in {held} mode, and both are to be compared in {asked} mode",
            hint=f"make it in that mode: {typed}; or compare with --mode {held}",
        )


class GraphFinder:
    """Makes a graph of whatever names one.

    Args:
        run: build and run targets; otherwise they are predicted.
        specs: inputs of the runs.
        options: how they run.
        path: where imports are looked up.
        watch: is told of each stage, as in `analyze_target`.
        forward: what `forward` does is predicted too.
    """

    def __init__(
        self,
        *,
        run: bool = False,
        specs: Sequence[InputSpec] = (),
        options: TraceOptions | None = None,
        path: Sequence[str] | None = None,
        watch: Watch = unwatched,
        forward: bool = True,
    ) -> None:
        self.run = run
        self.specs = specs
        self.options = options or TraceOptions()
        self.path = path
        self.watch = watch
        self.forward = forward
        self.n_named = 1
        """Targets that are compared: each brings work of its own."""
        self._together: Together | None = None
        """What the predictions of both sides share; working trees of revisions come and go."""
        self._revisions: dict[str, Revision | None] = {}

    @property
    def files_read(self) -> frozenset[str]:
        """Source files that its predictions have read."""
        return frozenset(() if self._together is None else self._together.files)

    def pair(self, old: Graph | str | os.PathLike[str], new: Graph | str | os.PathLike[str]) -> tuple[Found, Found]:
        """Both graphs. Beside a revision, the other one's modules of the repository are read in the repository too.

        Raises:
            TargetError, GraphError: one of them names none, or they are of two kinds that hold different facts.
            InputError: one of them is a live model.
        """
        from modgraph.source.checkouts import working_tree

        names = [os.fspath(one) if isinstance(one, str | os.PathLike) else "" for one in (old, new)]
        onnx = [name.lower().endswith(".onnx") for name in names]
        if any(onnx) and not all(onnx):
            raise GraphError(
                f"{(old, new)[onnx.index(True)]} is an ONNX file: it has other operations than the model, and none of"
                " its constructor arguments, so it can be compared with another ONNX file alone",
                hint="compare two ONNX files, or two graphs as --format json writes them",
            )
        revision = next(filter(None, map(self._revision, names)), None)
        tree = None if revision is None else working_tree(revision)
        return self.found(old, tree), self.found(new, tree)

    def found(self, named: Graph | str | os.PathLike[str], tree: Checkout | None = None) -> Found:
        """The graph that `named` is or names.

        Args:
            tree: the working tree, if modules of its repository are to be read there though a copy is installed.

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
        from modgraph.source.checkouts import files_of
        from modgraph.source.revisions import is_saved

        text = os.fspath(named)
        revision = self._revision(text)
        if revision is not None:
            with files_of(revision, everything=self.run) as files:
                return self.found_at(revision, files)
        if is_saved(text):
            return Found(load(text))
        return self._analyzed(text, self.path if tree is None else tree.search_path(self.path))

    def _revision(self, text: str) -> Revision | None:
        """As `parse_revision`: git is asked once, so that both sides are of one state of its branches."""
        from modgraph.source.revisions import parse_revision

        if text not in self._revisions:
            self._revisions[text] = parse_revision(text)
        return self._revisions[text]

    def found_at(self, revision: Revision, files: Checkout) -> Found:
        """The graph of a target at a revision, whose file is looked for from the working directory, else from the top.

        Raises:
            MissingFileError, UnknownNameError: the revision has no such file, or nothing of that name in it.
            TargetError, GraphError: it cannot be read, or is not the repository's.
        """
        try:
            with _warnings_of(revision, files):
                found = _with_left_out(self._there(revision, files), files)
                return named_as(found, f"{revision.name}:{revision.target}")
        except (TargetError, GraphError) as error:
            message = f"{error.message} (at the revision {revision.name})"
            file = f"{revision.name}:{error.file if error.line else revision.target}"
            raise type(error)(
                message, file=file, line=error.line, column=error.column, text=error.text, hint=error.hint
            ) from error

    def _there(self, revision: Revision, files: Checkout) -> Found:
        from modgraph.graph.lfs import is_pointer
        from modgraph.source.revisions import is_saved

        if revision.file is None:
            return self._analyzed(revision.target, files.search_path(self.path), files, files.cwd)
        place = files.place_of(revision.file, revision.behind_file)
        if not is_saved(place):
            written_from_top = os.path.normpath(revision.file) == os.path.normpath(place)
            cwd = files.root if written_from_top else files.cwd
            return self._analyzed(place + revision.behind_file, files.search_path(self.path), files, cwd)
        if is_pointer(files.root / place):
            raise GraphError(
                f"{place} is kept by Git LFS, and the repository holds a pointer to it alone",
                hint=f"git show {revision.name}:{place} | git lfs smudge > old{Path(place).suffix}; then name that",
            )
        return Found(load(files.root / place))

    def _analyzed(
        self, text: str, path: Sequence[str] | None, files: Checkout | None = None, cwd: Path | None = None
    ) -> Found:
        targets = find_targets(text, path=path, cwd=None if files is None else files.root)
        if len(targets) > 1:
            names = ", ".join(target.text for target in targets)
            raise TargetError(f"{text} has {len(targets)} models", hint=f"name one of them: {names}")
        if files is not None:
            require_own(targets[0], files)
        return self.analyzed(targets[0], cwd)

    def analyzed(self, target: Target, cwd: Path | None = None) -> Found:
        """The graph of a target.

        Args:
            cwd: where it runs, if it is run; by default the working directory.
        """
        from modgraph.prediction.together import Together
        from modgraph.source.methods import methods_of

        if self._together is None:
            self._together = Together(reads=False, named=self.n_named)
        graph = analyze_target(
            target,
            specs=self.specs,
            options=self.options,
            static=not self.run,
            watch=self.watch,
            cwd=cwd,
            together=self._together,
            seek="found",  # of each side: another default is a change of the model
            forward=self.forward,
        )
        return Found(graph, methods_of(target, held_by_class(graph)))


def held_by_class(graph: Graph) -> dict[str, set[str]]:
    """By class, the names under which its instances hold modules, parameters and buffers."""
    classes = {node.path: node.class_name for node in graph.modules}
    found: dict[str, set[str]] = {name: set() for name in classes.values() if name is not None}
    for node in graph.modules:
        above, _, name = node.path.rpartition(".")
        holder = classes.get(above) if node.path else None
        if holder is not None:
            found[holder].add(re.split(r"[^\w]", name, maxsplit=1)[0])
        if node.class_name is not None:
            found[node.class_name] |= {held.name for held in node.parameters} | {held.name for held in node.buffers}
    return found


@contextlib.contextmanager
def _warnings_of(revision: Revision, files: Checkout) -> Iterator[None]:
    """Warnings name files of the revision as the user would, not where their copy was."""
    with warnings.catch_warnings(record=True) as said:
        yield
    for each in said:
        text = str(each.message).replace(f"{files.root}{os.sep}", f"{revision.name}:")
        warnings.warn(text, each.category, stacklevel=2)


_NOT_FOUND = re.compile(r"No module named '([\w.]+)'")


def _with_left_out(found: Found, files: Checkout) -> Found:
    """Its problems say what of the revision was left out, where a module that is not found would be just that."""

    def said(problem: Problem) -> Problem:
        match = _NOT_FOUND.search(problem.message)
        parts = match[1].split(".") if match else []
        ends = [f"/{'/'.join(parts[:n])}{ending}" for n in range(1, len(parts) + 1) for ending in ("", ".py")]
        left_out = next((path for path in files.left_out if f"/{path}".endswith(tuple(ends))), None) if ends else None
        if left_out is None:
            return problem
        return replace(problem, message=f"{problem.message}: {left_out} {files.left_out[left_out]}")

    if not files.left_out:
        return found
    return replace(found, graph=replace(found.graph, problems=tuple(map(said, found.graph.problems))))


def file_of(target: Target) -> Path | None:
    """The file of a target, also of one that names a module; None where there is none."""
    from modgraph.source.modules import finder_for
    from modgraph.source.roots import find_source

    if target.file is not None:
        return target.file
    source = find_source(target, finder_for(target.search_path, target.home))
    return None if source is None else source.path


def require_own(target: Target, files: Checkout) -> None:
    """Raises TargetError where the file of a target is none of these: an installed copy says nothing of a revision."""
    file = file_of(target)
    if file is not None and not file.is_relative_to(files.root):
        raise TargetError(
            f"{target.text} is found outside of the repository alone, as an installed package",
            hint=f"name its file: path/to/{last_name(target.module)}.py:{target.name}",
        )


def named_as(found: Found, text: str) -> Found:
    """The same, said to be of this target."""
    return replace(found, graph=replace(found.graph, model=replace(found.graph.model, target=text)))
