"""What the summary and pictures say of where the constructor's arguments come from, and of what is assumed."""

from __future__ import annotations

from collections.abc import Iterator

from modgraph.graph.model import REFUSED, ArgumentsFrom, Graph


def arguments_line(graph: Graph) -> str:
    """ "arguments found in train.py:147"; "" where the target gives them, or the model needs none."""
    found = graph.model.arguments_from
    if found is None:
        return ""
    if found.kind == "assumed" and found.file is None:
        return f"arguments assumed: {found.text}"
    if found.kind == "assumed":
        parts = [
            f"but for {names}, {how}"
            for names, how in ((found.assumed_names, "assumed"), (found.default_names, "left at the default"))
            if names
        ]
        return f"arguments found in {_place(found)}, {' and '.join(parts)}"
    if found.kind == "config" and found.line is None:
        return f"arguments read from {found.file}"
    if found.kind == "config" and not _is_data(found.file):
        return f"arguments are the defaults of {_place(found)}"
    return f"arguments found in {_place(found)}"


def arguments_rows(graph: Graph) -> Iterator[str]:
    """The lines of the summary: where they were found and which, then other calls."""
    found = graph.model.arguments_from
    if found is None:
        return
    if found.kind == "assumed":
        call = "" if found.file is None else f"found in {_place(found)}: "
        assumed = f"; assumed from the names: {found.assumed_names}" if found.assumed_names else ""
        yield f"{call}{found.text}{assumed}"
        if found.default_names:
            yield f"left at the default, as what is given for it is not known: {found.default_names}"
    elif found.kind == "config" and found.line is None:
        yield f"{found.text} read from {found.file}, which has all that the constructor wants"
    elif found.kind == "config" and not _is_data(found.file):
        yield f"{found.text}, the defaults of the class in {_place(found)}"
    else:
        yield f"found in {_place(found)}: {found.text}"
    for other in found.others:
        called = "named" if _is_data(other.file) else "called"
        yield f"also {called} with {other.text} at {other.file}:{other.line}"


def _is_data(file: str | None) -> bool:
    """A file that names the class, where others define or call one."""
    return file is not None and file.endswith((".yaml", ".yml", ".json", ".toml"))


def assumed_line(graph: Graph) -> str:
    """ "no environment variable is set; with others, ..."; "" where nothing is taken for granted."""
    assumed = graph.model.assumed
    return "" if assumed is None else f"{assumed.text}; otherwise other modules may be there, or be called"


def no_calls_line(graph: Graph) -> str:
    """ "not predicted, model.py:12: raises ..."; "" where there are calls, or nobody asked for them."""
    why = graph.model.no_calls
    if why is None or graph.calls:
        return ""
    at = f", {why.file}" + (f":{why.line}" if why.line is not None else "") if why.file is not None else ""
    return f"not predicted{at}{f', in {why.module}' if why.module else ''}: {why.message}"


def open_shapes_line(graph: Graph) -> str:
    """ "not known from model.py:12 on: depends on ..."; "" where nothing is to be said of them."""
    why = graph.model.open_shapes
    if why is None or graph.traced:
        return ""
    place = "" if why.file is None else why.file + (f":{why.line}" if why.line is not None else "")
    tried, refused, reason = why.message.partition(REFUSED)
    if refused:
        return f"not known: {tried} is refused{f' at {place}' if place else ''}: {reason}"
    at = f" from {place} on" if place else ""
    return f"not known{at}{f', in {why.module}' if why.module else ''}: {why.message}"


def open_ways_line(graph: Graph) -> str:
    """ "not followed, model.py:12: ..."; "" where nothing is to be said of other arguments."""
    why = graph.model.open_ways
    if why is None:
        return ""
    at = f", {why.file}" + (f":{why.line}" if why.line is not None else "") if why.file is not None else ""
    return f"not followed{at}{f', in {why.module}' if why.module else ''}: {why.message}"


def _place(found: ArgumentsFrom) -> str:
    place = f"{found.file}:{found.line}" if found.line is not None else str(found.file)
    place = f"{place}, as {found.started_by} starts it" if found.started_by is not None else place
    return f"{place}, with {', '.join(found.with_files)}" if found.with_files else place
