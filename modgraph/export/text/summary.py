"""The summary for a terminal: the tree of modules as a table, and below it totals, inputs, findings and problems."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence

from modgraph.doors.printing import block
from modgraph.export.look.idioms import idioms_line
from modgraph.export.look.labels import shape_text
from modgraph.export.look.totals import calls_text
from modgraph.export.text.arguments import arguments_rows, assumed_line, no_calls_line, open_shapes_line, open_ways_line
from modgraph.export.text.checkpoint import checkpoint_text
from modgraph.export.text.columns import cells, columns_of, name_column
from modgraph.export.text.columns import check_columns as check_columns
from modgraph.export.text.left_out import left_out_line
from modgraph.export.text.ranks import ranks_text
from modgraph.export.text.run import cost_text, verification_text
from modgraph.export.text.stored import counts_parameters, stored_facts, stored_title
from modgraph.export.text.suggestions import suggestions_text
from modgraph.export.text.table import Pen, table
from modgraph.export.text.tree import ModuleTree, Row
from modgraph.export.text.values import gradient_text, nonfinite_text
from modgraph.export.text.weights import weights_line
from modgraph.graph.assumed import as_assumed
from modgraph.graph.counts import Count
from modgraph.graph.index import parents_of
from modgraph.graph.model import Finding, Graph, ModelInput, Problem, TensorInfo
from modgraph.graph.paths import is_open_place, parameter_path
from modgraph.graph.untaken import as_run
from modgraph.names import plural

MOST_UNTAKEN = 6
"""Calls that are named which a run did not take."""
MAX_LINES = 40
"""Rows of the tree, so that it can be seen at a glance."""
MAX_SHARED = 5
"""How many shared modules and tied parameters are named."""
MOST_PLACES = 4
"""How many modules are named beside the first, of a finding that holds in several."""
LABEL_WIDTH = 12


def summary(
    graph: Graph,
    *,
    width: int = 100,
    color: bool = False,
    unicode: bool = True,
    encoding: str = "ascii",
    depth: int | None = None,
    fold: bool = True,
    idioms: bool = True,
    lines: int = MAX_LINES,
    columns: Sequence[str] = (),
    focus: str = "",
) -> str:
    """The graph for people, a text that ends in a line end.

    Args:
        width: columns there are; numbers are never cut, names are.
        color: with the colours of a terminal.
        unicode: False for a terminal that does not show every sign.
        encoding: what it shows then.
        depth: how deep the tree goes; by default as deep as fits into `lines`.
        fold: show neighbouring blocks that read the same once.
        idioms: name what readers know by a name.
        lines: how many rows the tree has at most; of no meaning with `depth`.
        columns: keys of `COLUMNS`, shown beside the names in that order; by default those that fit and say something.
        focus: path of the one module that the tree begins with; what is below the tree is of the whole model.

    Raises:
        ConfigError: there is no such column.
        ExportError: there is no such module.
    """
    whole = as_assumed(graph)
    graph = as_run(whole)
    shown = columns_of(graph, columns)
    pen = Pen(color, unicode, encoding)
    tree = ModuleTree(graph, fold=fold, focus=focus)
    rows, cut = tree.fitting(lines) if depth is None else tree.cut_at(depth)
    seen = f"the tree from {focus}; below it the whole model" if focus else ""
    blocks = [
        _header(graph, " · ".join(filter(None, (seen, cut))), width, pen),
        table([name_column(graph), *(each.column for each in shown)], [cells(row, shown) for row in rows], width, pen),
        _totals(graph, tree.hidden_parameters, rows, width, pen),
        _entry("idioms", idioms_line(graph), width, pen) if idioms else [],
        _arguments(graph, width, pen),
        _entry("weights", weights_line(graph.model.missing_weights), width, pen),
        _entry("left out", left_out_line(graph.model.left_out), width, pen),
        _entry("forward", no_calls_line(graph), width, pen),
        _entry("shapes", open_shapes_line(graph), width, pen),
        _entry("other ways", open_ways_line(graph), width, pen),
        _inputs(graph, width, pen),
        _entry("assumed", assumed_line(graph), width, pen) if graph.model.assumed is not None else [],
        _untaken(whole, width, pen),
        ranks_text(graph, width, pen),
        checkpoint_text(graph, width, pen),
        verification_text(graph, width, pen),
        cost_text(graph, width, pen),
        nonfinite_text(graph, width, pen),
        gradient_text(graph, width, pen),
        suggestions_text(graph, width, pen),
        _findings(graph, width, pen),
        _problems(graph, width, pen),
    ]
    text = "\n\n".join("\n".join(lines) for lines in blocks if lines) + "\n"
    return block(text, styled=color)  # where a line is wrapped, a name may begin one: as a command to CI does


def _header(graph: Graph, cut: str, width: int, pen: Pen) -> list[str]:
    model = graph.model
    halves = [word for word, ran in (("predicted", graph.predicted), ("traced", graph.traced)) if ran]
    ran = ", ".join(word for word in (model.mode, model.device) if word)
    facts = [
        *([model.target] if model.target and model.target != model.name else []),
        " and ".join(halves) + (f" ({ran})" if ran and halves else "") or stored_title(graph),
        *([cut] if cut else []),
    ]
    text = pen.plain(" · ".join([model.name, *(fact for fact in facts if fact)]))
    lines = textwrap.wrap(text, max(width, 40), subsequent_indent="  ", break_on_hyphens=False)
    name = pen.plain(model.name)
    if lines and lines[0].startswith(name):
        lines[0] = pen.paint(name, "bold") + lines[0][len(name) :]
    if graph.complete:
        return lines
    partial = f"partial: {plural(len(graph.problems), 'problem')}, see below"
    return [*lines, pen.paint(pen.plain(partial), "bold yellow")]


def _untaken(graph: Graph, width: int, pen: Pen) -> list[str]:
    """Calls that `forward` may make, and did not in this run, each with what it depends on; of a module that was called
    in this run, that it is a call of it: beside the others, or instead of one."""
    found: dict[str, None] = {}
    first = {node.path: node.alias_of or node.path for node in graph.modules}
    ran = {first.get(call.module, call.module) for call in graph.calls if call.observed is not False}
    for call in graph.calls:
        if call.observed is False and (call.parent is None or graph.calls[call.parent].observed is not False):
            text = "" if call.condition is None else call.condition.text
            has_run = first.get(call.module, call.module) in ran
            name = f"a call of {call.module}" if has_run else call.module
            found.setdefault(f"{name} ({text})" if text else name)
    if not found:
        return []
    shown = [*list(found)[:MOST_UNTAKEN], *(["..."] if len(found) > MOST_UNTAKEN else [])]
    return _entry("not taken", "in this run: " + ", ".join(map(pen.plain, shown)), width, pen)


def _kind_of_calls(graph: Graph) -> str:
    if not graph.calls:
        return "tree"
    return "run" if graph.traced or graph.calls[0].predicted is None else "forward"


def _totals(graph: Graph, hidden: Count, rows: Iterable[Row], width: int, pen: Pen) -> list[str]:
    lines = _entry("parameters", _parameter_totals(graph), width, pen) if counts_parameters(graph) else []
    if hidden.text:
        lines += _entry(
            "", f"and {hidden.text} in unregistered modules, which no optimizer or state dict reaches", width, pen
        )
    modules = sum(1 for node in graph.modules if node.class_name != "NoneType" and not is_open_place(node.path))
    parts = [plural(modules, "module")]
    if graph.calls:
        parts += [calls_text(graph.calls, "call"), calls_text(graph.operations, "operation")]
    lines += _entry(_kind_of_calls(graph), " · ".join(parts), width, pen)
    for label, text in stored_facts(graph):
        lines += _entry(label, text, width, pen)
    lines += _entry("shared", _shared(graph), width, pen)
    if any("×" in row.name for row in rows):
        lines += _entry("folded", "×N: N identical rows; the figures are of each", width, pen)
    gaps = Counter(gap.kind for gap in graph.gaps)
    if gaps:
        kinds = ", ".join(f"{kind} {count}×" for kind, count in sorted(gaps.items()))
        lines += _entry("gaps", f"values leave torch here, dataflow beyond is not known: {kinds}", width, pen)
    return lines


def _parameter_totals(graph: Graph) -> str:
    model = graph.model
    if model.parameters is None:
        parts = ["number not known"]
    elif model.trainable_parameters in (None, model.parameters):
        parts = [f"{model.parameters:,}"]
    else:
        parts = [f"{model.parameters:,}", f"trainable {model.trainable_parameters:,}"]
    if model.parameters and model.trainable_parameters == model.parameters:
        parts.append("all trainable")
    if model.buffers:
        parts.append(f"buffers {model.buffers:,}")
    return " · ".join(parts)


def _shared(graph: Graph) -> str:
    """What stands under several names, each instance once; "" where there is none."""
    pairs = [(node.path, node.alias_of or "the root") for node in graph.modules if node.alias_of is not None]
    around = parents_of(path for path, _ in pairs)
    pairs = [pair for pair in pairs if not around[pair[0]]]
    pairs += [
        (parameter_path(node.path, held.name), held.alias_of)
        for node in graph.modules
        for held in node.parameters
        if held.alias_of is not None and node.alias_of is None
    ]
    named = [f"{path} is {first}" for path, first in pairs[:MAX_SHARED]]
    more = [f"{len(pairs) - MAX_SHARED} more"] if len(pairs) > MAX_SHARED else []
    return f"{', '.join([*named, *more])}; counted once" if pairs else ""


def _arguments(graph: Graph, width: int, pen: Pen) -> list[str]:
    lines: list[str] = []
    for row in arguments_rows(graph):
        lines += _entry("" if lines else "arguments", row, width, pen)
    return lines


def _inputs(graph: Graph, width: int, pen: Pen) -> list[str]:
    lines: list[str] = []
    was_run = any(node.observed is not None for node in graph.modules[:1])
    for given in graph.model.inputs:
        is_open = not (was_run or given.tensors) and given.literal is None
        said = f"{given.name} is not known; --input gives it" if is_open else _input(given)
        lines += _entry("" if lines else "inputs", said, width, pen)
    return lines


def _input(given: ModelInput) -> str:
    tensors = [_tensor(tensor, given.name) for tensor in given.tensors]
    what = given.literal if given.literal is not None else ", ".join(tensors) or "no tensor"
    if given.origin in ("given", "symbols"):
        where = f", where {' and '.join(given.constraints)}" if given.constraints else ""
        followed = f"; followed where {' and '.join(given.followed)}" if given.followed else ""
        asked = "; --input gives its sizes" if any(tensor.shape is None for tensor in given.tensors) else ""
        return f"{given.name} = {what}{where}{followed}{asked}"
    origin = "from example_inputs" if given.origin == "example_inputs" else "inferred"
    rules = f" ({'; '.join(given.rules)})" if given.rules else ""
    return f"{given.name} = {what}, {origin}{rules}"


def _tensor(tensor: TensorInfo, name: str) -> str:
    place = f"{tensor.name} " if tensor.name not in ("", name) else ""
    return f"{place}{shape_text(tensor.shape)} {tensor.dtype or ''}".rstrip()


def _findings(graph: Graph, width: int, pen: Pen) -> list[str]:
    lines = [pen.paint(plural(len(graph.findings), "finding"), "bold")] if graph.findings else []
    places: dict[tuple[object, ...], list[Finding]] = {}
    for each in graph.findings:
        key = (each.code, each.file, each.line, each.column, each.attribute, None if each.file else each.module)
        places.setdefault(key, []).append(each)
    for finding, *others in places.values():
        where = ", ".join(dict.fromkeys(other.module for other in others[:MOST_PLACES] if other.module))
        more = ", ..." if len(others) > MOST_PLACES else ""
        also = f"; so in {len(others):,} more" + (f": {where}{more}" if where else "") if others else ""
        message = f"{finding.message}{also}"
        lines += _remark([finding.code], finding.file, finding.line, finding.module, message, width, pen)
    return lines


def _problems(graph: Graph, width: int, pen: Pen) -> list[str]:
    lines = [pen.paint(plural(len(graph.problems), "problem"), "bold yellow")] if graph.problems else []
    for problem in graph.problems:
        # The cause is where its line is, and not of the module that holds all that depends on it.
        module = None if problem.places else problem.module
        message = _said_by_a_finding(problem, graph) or problem.headline
        lines += _remark([problem.stage], problem.file, problem.line, module, message, width, pen)
        lines += _places(problem, width, pen)
    return lines


_RUN_SAYS = {
    "MG301": r"RuntimeError(?=: .*shapes? )",
    "MG302": r"RuntimeError(?=: .*shapes? )",
    "MG108": r".*AttributeError(?=: cannot assign \w+ before Module.__init__\(\) call)",
}
"""By finding: what a run says that fails so; the beginning that is shown."""


def _said_by_a_finding(problem: Problem, graph: Graph) -> str | None:
    """In place of a problem that says again what a finding of the same place does, which names layers and lines: what
    was raised, and which finding it is."""
    for each in graph.findings if problem.stage == "trace" else ():
        if (each.file, each.line) == (problem.file, problem.line) and each.code in _RUN_SAYS:
            found = re.match(_RUN_SAYS[each.code], problem.message)
            parts = [each.module or "", each.attribute or ""] if each.code != "MG108" else []
            if found and ".".join(filter(None, parts)) == (problem.module or ""):
                return f"{found[0]}, as {each.code} says"
    return None


def _places(problem: Problem, width: int, pen: Pen) -> list[str]:
    """The first places that depend on the cause of a problem, one for each line of source."""
    first = {(each.file, each.line): each for each in reversed(problem.places)}
    shown = [each for each in problem.places if first[each.file, each.line] is each][:MOST_PLACES]
    lines = []
    for each in shown:
        where = f"line {each.line}" if each.file == problem.file else f"{each.file}:{each.line}"
        place = f"{where if each.line is not None else each.file}: " if each.file else ""
        lines += _wrapped(f"{place}{each.message}", "    ", width, pen)
    if len(problem.places) > len(shown):
        lines += _wrapped(f"and {len(problem.places) - len(shown):,} more", "    ", width, pen)
    return lines


def _remark(
    words: list[str], file: str | None, line: int | None, module: str | None, message: str, width: int, pen: Pen
) -> list[str]:
    if file is not None:
        words = [*words, file if line is None else f"{file}:{line}"]
    if module:
        words = [*words, module]
    return _wrapped(f"{' '.join(words)}: {message}", "  ", width, pen)


def _wrapped(text: str, indent: str, width: int, pen: Pen) -> list[str]:
    text = pen.plain(" ".join(text.split()))
    return textwrap.wrap(
        text, max(width, 40), initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False
    )


def _entry(label: str, text: str, width: int, pen: Pen) -> list[str]:
    """A labelled line below the table, wrapped beside its label; nothing for an empty text."""
    if not text:
        return []
    wrapped = textwrap.wrap(pen.plain(text), max(width - LABEL_WIDTH, 30), break_on_hyphens=False)
    first = pen.paint(label, "dim") + " " * (LABEL_WIDTH - len(label)) + wrapped[0]
    return [first, *(" " * LABEL_WIDTH + line for line in wrapped[1:])]
