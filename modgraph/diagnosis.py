"""What the check finds in the file of a target, as findings of its graph: where, and what the run showed of it.

A finding about a class is one of each of its modules. It stands at the module that is hidden, where that is one, else
at the module whose class it is about.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from modgraph.errors import CheckWarning, ModgraphError
from modgraph.findings import Finding
from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import INFERRED_IN_VAIN, Graph, ModuleNode
from modgraph.graph.sizes import elements
from modgraph.rules.options import CheckOptions
from modgraph.rules.outcomes import Report
from modgraph.rules.paths import check_paths
from modgraph.source.files import NOTEBOOK
from modgraph.source.targets import Target

_OF_FORWARD = "MG30"
"""The rules about a forward that fails with every input."""
_MAX_FINDINGS = 200
"""Of one graph: a mistake in a block that is repeated is one each time."""


def with_findings(graph: Graph, target: Target) -> Graph:
    """The graph with the findings about classes that it has modules of; as it is for a target that names no file.

    A check that fails costs the graph its findings and nothing else: that is said in a `CheckWarning`.
    """
    if (
        target.file is None or target.code is not None or target.file.suffix.lower() == NOTEBOOK
    ):  # the check reads files of Python alone
        return graph
    try:
        return _with_findings(graph, target, str(target.file))
    except ModgraphError as error:
        place = f" ({error.file})" if error.file else ""
        _tell(f"{error.message}{place}", target)
    except Exception as error:
        _tell(f"modgraph itself failed: {type(error).__name__}: {error}", target)
    return graph


def _tell(what: str, target: Target) -> None:
    message = f"{target.relative_file} was not checked, and the graph has no findings of it: {what}"
    warnings.warn(message, CheckWarning, stacklevel=2)


def _with_findings(graph: Graph, target: Target, file: str) -> Graph:
    report = _report_of(file)
    for failure in report.failures:
        _tell(failure.message, target)
    classes = {node.class_name for node in graph.modules}
    found = (
        one
        for finding in report.findings
        if finding.class_name is not None and f"{target.module}.{finding.class_name}" in classes
        for one in _placed(replace(finding, file=target.relative_file, related=(), fix=None), graph, target)
    )
    placed = list(islice(found, _MAX_FINDINGS))
    if not placed:
        return graph
    builder = GraphBuilder.of(graph)
    builder.findings.extend(placed)
    if any(finding.code.startswith(_OF_FORWARD) for finding in placed):  # no input helps, so that none is asked for
        builder.problems[:] = [each for each in builder.problems if not each.message.startswith(INFERRED_IN_VAIN)]
    return builder.build()


def _report_of(file: str) -> Report:
    """What the check says of a file; of the latest one it is kept, as each of its models asks for the same."""
    try:
        there = os.stat(file)
    except OSError:
        return check_paths([file], CheckOptions())
    key = (file, there.st_mtime_ns, there.st_ctime_ns, there.st_size, there.st_ino)
    if key not in _latest:
        report = check_paths([file], CheckOptions())
        _latest.clear()
        _latest[key] = report
    return _latest[key]


_latest: dict[tuple[str, int, int, int, int], Report] = {}


def _placed(finding: Finding, graph: Graph, target: Target) -> Iterator[Finding]:
    name = f"{target.module}.{finding.class_name}"
    for node in graph.modules:
        if node.class_name == name and node.alias_of is None:
            hidden = _hidden(finding, node, graph)
            place = hidden[0].path if len(hidden) == 1 else node.path
            yield replace(finding, module=place, message=finding.message + _seen(hidden, graph))


def _hidden(finding: Finding, holder: ModuleNode, graph: Graph) -> list[ModuleNode]:
    """The modules that the attribute of a finding hides, of this one module."""
    start = f"{holder.path}.{finding.attribute}" if holder.path else str(finding.attribute)
    return [
        node
        for node in graph.modules
        if not node.registered
        and node.alias_of is None
        and node.path.startswith(start)
        and node.path[len(start) :][:1] in ("", "[")
        and "." not in node.path[len(start) :]
    ]


def _seen(hidden: list[ModuleNode], graph: Graph) -> str:
    """ "; called 3 times in this run; its 60 parameters reach no optimizer": what only the live modules tell."""
    live = [node for node in hidden if node.observed]
    if not live:
        return ""
    calls = sum(graph.calls[number].observed is not False for node in live for number in node.calls)
    how_often = "never called" if not calls else "called once" if calls == 1 else f"called {calls:,} times"
    sizes = [elements(parameter.shape) for node in _below(live, graph) for parameter in node.parameters]
    number = sum(size for size in sizes if size is not None)
    whose = "its" if len(live) == 1 else "their"
    parameters = f"; {whose} {number:,} parameters reach no optimizer" if number and None not in sizes else ""
    return f"; {how_often} in this run{parameters}"


def _below(nodes: list[ModuleNode], graph: Graph) -> list[ModuleNode]:
    roots = [node.path for node in nodes]
    return [
        node
        for node in graph.modules
        if node.alias_of is None
        and any(node.path == root or node.path.startswith((f"{root}.", f"{root}[")) for root in roots)
    ]
