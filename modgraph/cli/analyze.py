"""`modgraph analyze TARGET`: the options, and where the results go."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, get_args

from modgraph.cli.analyze_saved import run as run_saved
from modgraph.cli.analyze_tree import add_tree_arguments, check_alone
from modgraph.cli.analyze_tree import run as run_tree
from modgraph.cli.arguments import names, seconds, size
from modgraph.cli.console import Console
from modgraph.cli.input_help import help_with_inputs
from modgraph.cli.onnx_arguments import add_onnx_arguments, exporting_to, onnx_options
from modgraph.cli.output import (
    Destination,
    add_picture_arguments,
    check_color,
    destination,
    write_graph,
    write_interrupted,
)
from modgraph.cli.places import error_seen_from_here, seen_from_here
from modgraph.cli.suggest import check_suggestions, with_suggestions
from modgraph.cli.warned import told_by
from modgraph.doors.printing import place, printable
from modgraph.errors import (
    ArgumentsError,
    CheckWarning,
    ConfigError,
    ExitStatus,
    Interrupted,
    MissingArgumentsError,
    ModgraphError,
    TargetError,
    UnknownNameError,
)
from modgraph.graph.model import CheckpointComparison, Graph, Problem
from modgraph.names import last_name
from modgraph.options import IMPORT_SECONDS, Device, Mode, OnnxOptions, TraceOptions
from modgraph.source.kinds import SHORT

if TYPE_CHECKING:
    from modgraph.prediction.together import Together
    from modgraph.source.checkpoints import Checkpoint
    from modgraph.source.inputs import InputSpec
    from modgraph.source.targets import Target

_EPILOG = f"""\
examples:
  modgraph analyze model.py    # its root models; or {SHORT}
  modgraph analyze model.py:Net --input 1x3x224x224 --format svg,onnx -o build/
  modgraph analyze --all src/ --static --jobs 4 -o build/models/

exit status:
  0 the graph is complete   1 written, but partial, or the checkpoint differs   2 nothing could be written
"""


MAX_MODELS = 100
"""Models of one file that are analyzed when none of them is named; each is a graph, a picture and a summary."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.usage, parser.epilog = "%(prog)s [TARGET] [options]", _EPILOG
    parser.add_argument(
        "target",
        metavar="TARGET",
        nargs="?",
        help="model.py, pkg.net:Net; default: [tool.modgraph]",
    )
    run = parser.add_argument_group("the run; inputs are those given, example_inputs beside the model, or inferred")
    run.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="SPEC",
        help="1x3x224x224, ids=1x8:int64, flag=True (repeatable)",
    )
    run.add_argument("--static", action="store_true", help="predict only: nothing runs, torch is not imported")
    run.add_argument(
        "--no-assume",
        dest="assume",
        action="store_false",
        help="do not assume values of unknown arguments",
    )
    run.add_argument(
        "--no-forward",
        dest="forward",
        action="store_false",
        help="do not predict what forward does",
    )
    run.add_argument("--against", metavar="FILE", help="compare with a checkpoint: .safetensors, .pt")
    run.add_argument(
        "--suggest", type=names, default=(), metavar="LIST", help="names: lora, fsdp, compile, quantize, groups, all"
    )
    run.add_argument(
        "--device",
        choices=get_args(Device),
        default="cpu",
        metavar="NAME",
        help="cpu, cuda, fake (no weights); default: cpu",
    )
    run.add_argument(
        "--mode", choices=get_args(Mode), default="eval", metavar="NAME", help="eval, train; default: eval"
    )
    run.add_argument("--backward", action="store_true", help="also run and record the backward pass")
    run.add_argument("--stats", action="store_true", help="mean, std, min, max of every recorded tensor")
    run.add_argument("--verify", action="store_true", help="run the recorded graph again, compare each step")
    run.add_argument("--profile", action="store_true", help="operations and time of calls, in separate runs")
    run.add_argument(
        "--timeout",
        type=seconds,
        metavar="SECONDS",
        help=f"for the model's code; default: {IMPORT_SECONDS:g} to build it",
    )
    run.add_argument("--memory-limit", type=size, metavar="SIZE", help="what it may allocate: 4G, 512M")
    add_tree_arguments(parser)
    add_picture_arguments(parser, default="svg,json")
    add_onnx_arguments(parser)


def run(arguments: argparse.Namespace, console: Console) -> ExitStatus:
    """Analyze every model that is asked for; the status of the worst."""
    from modgraph.api import read_checkpoint
    from modgraph.export import file_stems
    from modgraph.export.text.summary import check_columns
    from modgraph.prediction.together import Together
    from modgraph.source.kinds import saved_file

    options = _options(arguments)
    if arguments.all:
        return run_tree(arguments, options, console)
    if arguments.target is not None and (saved := saved_file(arguments.target)) is not None:
        return run_saved(arguments, options, saved, console)
    check_alone(arguments)
    specs = _specs(arguments)
    where = destination(arguments.output, arguments.format, default=("svg", "json")).of_this_rank()
    groups, status = _groups(arguments, console)
    targets = [target for group in groups for target in group]
    where.check(n_models=len(targets))
    onnx = onnx_options(arguments, where)
    check_color(arguments)
    check_columns(arguments.columns)
    check_suggestions(arguments)
    _check_against(arguments, targets)
    checkpoint = None if arguments.against is None else read_checkpoint(arguments.against, options)
    together = Together(reads=arguments.static, named=len(groups))
    alone = len(targets) == 1
    work = _Work(arguments, console, options, specs, where, onnx, checkpoint, alone, together)
    stems = iter([where.stem(stem) for stem in file_stems(last_name(target.name) for target in targets)])
    for group in groups:
        status = max(status, work.group([(target, next(stems)) for target in group]))
        if status == ExitStatus.INTERRUPTED:
            break
    return status


def _groups(arguments: argparse.Namespace, console: Console) -> tuple[list[tuple[Target, ...]], ExitStatus]:
    """The models of each target; those of the project where none was named."""
    if arguments.target is not None:
        from modgraph.api import find_targets

        try:
            of_it = find_targets(arguments.target)
        except ModgraphError as error:
            raise error_seen_from_here(error, arguments.target) from error.__cause__
        if len(of_it) > MAX_MODELS:
            example = f"name others, as in {of_it[MAX_MODELS].typed(of_it[MAX_MODELS].name)}"
            console.warning(f"{arguments.target} has {len(of_it):,} models: taking the first {MAX_MODELS}; {example}")
            return [of_it[:MAX_MODELS]], ExitStatus.PARTIAL
        return [of_it], ExitStatus.OK
    from modgraph.cli.configured import as_many_as_are_taken, configured_targets, found_targets

    folder, texts = configured_targets("modgraph analyze model.py")
    texts, status = as_many_as_are_taken(texts, console)
    found = [found_targets(folder, text, console) for text in texts]
    every = [(number, target) for number, group in enumerate(found) for target in group]
    taken, too_many = as_many_as_are_taken(every, console)
    groups = [tuple(target for _, target in group) for _, group in groupby(taken, key=itemgetter(0))]
    return groups, max(status, too_many, ExitStatus.OK if all(found) else ExitStatus.FAILED)


@dataclass
class _Work:
    """What is done with each model."""

    arguments: argparse.Namespace
    console: Console
    options: TraceOptions
    specs: tuple[InputSpec, ...]
    where: Destination
    onnx: OnnxOptions | None
    checkpoint: Checkpoint | None
    alone: bool
    """There is one model: what is wrong with it is wrong with the command."""
    together: Together | None = None
    n_written: int = 0
    said_beside: set[tuple[str, ...]] = field(default_factory=set)
    """Models beside those that are taken, which were named already."""

    def group(self, models: Sequence[tuple[Target, str]]) -> ExitStatus:
        """The models of one target, each with the stem of its files."""
        status, before = ExitStatus.OK, self.n_written
        left_out: list[tuple[Target, TargetError]] = []
        lacking: list[tuple[Target, str]] = []
        for target, stem in models:
            # What was found by looking through the file may not be there at run time, or be no model after all.
            doubted = left_out if target.discovered and len(models) > 1 else None
            n_doubted = len(left_out)
            status = max(status, self._tried(target, stem, doubted))
            if status == ExitStatus.INTERRUPTED:
                return status
            if isinstance(left_out[-1][1] if len(left_out) > n_doubted else None, MissingArgumentsError):
                lacking.append((target, stem))
        if lacking and self.n_written == before:  # the predictions are better than nothing
            left_out = [one for one in left_out if not isinstance(one[1], MissingArgumentsError)]
            status = max(status, *(self._tried(target, stem, None) for target, stem in lacking))
        return max(status, _tell_left_out(left_out, self.console, beside=self.n_written - before))

    def _tried(self, target: Target, stem: str, doubted: list[tuple[Target, TargetError]] | None) -> ExitStatus:
        try:
            return self.one(target, stem, alone=doubted is None)
        except Interrupted as stop:
            return write_interrupted(stop.graph, self.where, self.arguments, self.console, stem=stem)
        except ModgraphError as error:
            error_seen_from_here(error, target.written or self.arguments.target)
            if isinstance(error, TargetError) and doubted is not None:
                doubted.append((target, error))
                return ExitStatus.OK
            if self.alone:
                raise
            self.console.error(error)
            return ExitStatus.FAILED

    def one(self, target: Target, stem: str, *, alone: bool = True) -> ExitStatus:
        """One model: its graph, its files, its summary.

        Args:
            alone: nothing else stands for it. Else it is not built with arguments that nothing says.

        Raises:
            MissingArgumentsError: it needs arguments that nothing says, and others are there.
        """
        from modgraph.api import analyze_target, with_checkpoint

        arguments, console = self.arguments, self.console
        if target.beside not in self.said_beside:
            self.said_beside.add(target.beside)
            _say_what_is_beside(target, console)
        if target.doubtful and not arguments.static and not target.note:
            what = "nothing in the file says whether it is an nn.Module; it is looked at when the file runs"
            console.note(f"note: {target.name}: {what}")
        with told_by(console.warning, CheckWarning), exporting_to(self.where, stem, self.onnx) as exporting:
            graph = analyze_target(
                target,
                specs=self.specs,
                options=self.options,
                static=arguments.static,
                watch=console.stage,
                exporting=exporting,
                together=self.together,
                runs=not alone,
                seek=("assumed" if alone else "called") if arguments.assume else "found",
                forward=arguments.forward,
            )
            graph = with_suggestions(with_checkpoint(graph, self.checkpoint), arguments)
            files = () if exporting is None else exporting.files
            written = write_graph(graph, self.where, arguments, console, stem=stem, onnx=files)
        _say_what_was_taken(target, graph, console, static=arguments.static)
        if _say_how_to_give_arguments(target, graph, console, static=arguments.static):
            pass
        elif not arguments.static and graph.predicted and not graph.traced:
            console.note(f"help: {_what_is_lacking(graph)}; --static predicts alone, without a try")
        for line in help_with_inputs(graph, self.specs):
            console.note(f"help: {line}")
        self.n_written += 1
        if self.n_written > 1 and not self.where.stdout and not console.quiet:
            console.result("\n")
        report(seen_from_here(graph, target), self.where, arguments, console)
        return max(written, status_of(graph))


_MAX_BESIDE = 8
"""Models beside those that are taken that are named."""


def _say_what_is_beside(target: Target, console: Console) -> None:
    """Other models of the file, which it was found not to be about."""
    if target.beside:
        others = ", ".join(target.beside[:_MAX_BESIDE]) + (", ..." if len(target.beside) > _MAX_BESIDE else "")
        console.note(f"note: also in {target.place}: {others}; to see one, name it: {target.typed(target.beside[0])}")


def _say_what_was_taken(target: Target, graph: Graph, console: Console, *, static: bool) -> None:
    """In the place of a class that needs arguments, or for these; not where others were found than its file calls."""
    from modgraph.source.targets import SCRIPT

    found = graph.model.arguments_from
    of_file = found is None or (found.kind == "call" and found.file == target.relative_file)
    if target.note and (of_file or target.line is None):
        console.note(f"note: {target.note}")
    if target.caller is not None and static and of_file:
        caller = "the script itself" if target.caller == SCRIPT else f"{target.caller}()"
        console.note(f"note: {target.name} needs arguments: taking those with which {caller} calls it")


def _what_is_lacking(graph: Graph) -> str:
    """Of a model of which there is no run, as far as is known."""
    told = [each.message for each in graph.problems if each.stage == "trace"]
    built = not any(re.search(r"\w\(.*?\) raised |\bimporting ", each) for each in told)
    return f"the model was not {'run' if built else 'built'}, so this is what is predicted"


def _say_how_to_give_arguments(target: Target, graph: Graph, console: Console, *, static: bool) -> bool:
    """The help, once, where the constructor's arguments are what is lacking or assumed; whether they are."""
    from modgraph.arguments.assumed import example_call, open_call
    from modgraph.arguments.read_names import wants_object
    from modgraph.source.targets import NONE_KNOWN, NOT_GIVEN

    name = target.name
    found = graph.model.arguments_from
    is_assumed = found is not None and bool(found.assumed)
    is_lacking = any(f" {NOT_GIVEN} {name}(" in each.message or NONE_KNOWN in each.message for each in graph.problems)
    if not is_assumed and (graph.traced or not is_lacking):
        return False
    alone = " --static" if static else ""
    built = (graph.model.target or "").partition(":")[2]
    example = built if is_assumed and built.endswith(")") else example_call(target)
    giving = "give the arguments"
    if example == built and found is not None and found.left_at_default:
        example = f"{built[:-1]}, {', '.join(f'{each}=...' for each in found.left_at_default)})"
        giving = "give the arguments, with a value for each ..."
    if example is None and not wants_object(target):
        example, giving = open_call(target), "give the arguments, with a value for each ..."
    first = "" if example is None else f"{giving}, modgraph analyze {target.typed(example)}{alone}, or "
    console.note(
        f"help: {first}write a function without arguments that returns it, def build(): return {name}(...), and name"
        f" that: modgraph analyze {target.typed('build')}{alone}"
    )
    return True


def _check_against(arguments: argparse.Namespace, targets: Sequence[Target]) -> None:
    """Raises ConfigError where a checkpoint is to be compared with several models."""
    if arguments.against is not None and len(targets) > 1:
        names = ", ".join(target.typed(target.model) for target in targets)
        raise ConfigError(
            f"--against compares one model, and {arguments.target or '[tool.modgraph]'} has {len(targets)}",
            hint=f"name one of them: {names}",
        )


def status_of(graph: Graph) -> ExitStatus:
    """What the command ends with for one graph."""
    fits = graph.checkpoint is None or graph.checkpoint.fits
    return ExitStatus.OK if graph.complete and fits else ExitStatus.PARTIAL


def _tell_left_out(left_out: Sequence[tuple[Target, TargetError]], console: Console, *, beside: int) -> ExitStatus:
    """What became of the candidates of a file that are no models as they stand: notes, where others were written."""
    if not beside:
        # What is not there at all is worth telling only where nothing else is to be said.
        left_out = [one for one in left_out if not isinstance(one[1], UnknownNameError)] or left_out[-1:]
    for target, error in left_out:
        if beside:
            when = " at run time" if isinstance(error, UnknownNameError) else f"; {error.hint}" if error.hint else ""
            console.note(f"note: {target.text} is left out: {error.message}{when}")
        else:
            console.error(error)
    if left_out and not beside:
        return ExitStatus.FAILED
    lacking = any(isinstance(error, ArgumentsError) for _, error in left_out)
    return ExitStatus.PARTIAL if lacking else ExitStatus.OK


def _specs(arguments: argparse.Namespace) -> tuple[InputSpec, ...]:
    from modgraph.source.input_groups import parse_inputs

    return parse_inputs(arguments.input)


def _options(arguments: argparse.Namespace) -> TraceOptions:
    """How the model is run.

    Raises:
        ConfigError: something is asked of a run, and none is to be.
    """
    options = TraceOptions.among(vars(arguments))
    reading = arguments.static and arguments.against is not None
    changed = options.changed(reading=reading, but=("mode",) if arguments.forward else ())
    asked = [f"--{name.replace('_', '-')}" for name in changed]
    if arguments.static and asked:
        are = "is" if len(asked) == 1 else "are"
        raise ConfigError(
            f"{', '.join(asked)} {are} of no use with --static, which runs nothing", hint="leave one of them out"
        )
    return options


def report(graph: Graph, where: Destination, arguments: argparse.Namespace, console: Console) -> None:
    """The summary on standard output, or on standard error where that holds the result; problems on standard error.

    The summary lists the problems too: where both streams end in the same terminal, once is enough.
    """
    from modgraph.export.text.summary import summary

    told = partial(
        summary,
        graph,
        width=console.width,
        unicode=console.unicode,
        encoding=console.encoding,
        columns=arguments.columns,
        focus=arguments.focus,
    )
    if console.quiet:
        _report_quietly(graph, where, console)
        return
    if where.stdout:
        if where.formats == ("text",):
            return  # it is the summary
        console.notes(told(color=False).rstrip("\n"))
        return
    console.result(told(color=console.color))
    if console.one_terminal:
        return
    for problem in graph.problems:
        console.warning(f"{problem.stage}: {_said(problem)}", problem.file, problem.line)
    if graph.checkpoint is not None and not graph.checkpoint.fits:
        console.warning(_difference(graph.checkpoint))


def _report_quietly(graph: Graph, where: Destination, console: Console) -> None:
    """Findings and problems alone: findings on standard output, unless that holds the result; why the status is not 0
    on standard error."""
    for finding in graph.findings:
        held = f" {printable(finding.module)}" if finding.module else ""
        text = f"{finding.code}{held}: {printable(finding.message)}"
        if where.stdout:
            console.reason(text, finding.file, finding.line)
        else:
            console.result(f"{place(finding.file, finding.line)}: {text}")
    for problem in graph.problems:
        console.reason(f"{graph.model.name}: {problem.stage}: {_said(problem)}", problem.file, problem.line)
    if graph.checkpoint is not None and not graph.checkpoint.fits:
        console.reason(_difference(graph.checkpoint))


def _said(problem: Problem) -> str:
    """In one line: a cause of which several places depend is of no one module."""
    return f"{problem.module}: {problem.message}" if problem.module and not problem.places else problem.headline


def _difference(found: CheckpointComparison) -> str:
    counts = (
        (found.missing, "missing"),
        (found.unexpected, "unexpected"),
        (found.mismatched, "of another shape"),
        (found.not_tensors, "not a tensor" if len(found.not_tensors) == 1 else "not tensors"),
    )
    parts = ", ".join(f"{len(keys):,} {words}" for keys, words in counts if keys)
    return f"checkpoint: {found.file} does not fit the model: keys {parts}"
