"""Graph -> one HTML page that needs no network: the viewer's script and style, the graph as JSON, a static picture."""

from __future__ import annotations

import html
import json
from functools import cache
from pathlib import Path
from typing import Any

from modgraph.doors.printing import json_text
from modgraph.errors import ExportError
from modgraph.export.look.dark import DARK
from modgraph.export.look.kinds import NOTATION, SIGNS
from modgraph.export.look.labels import cut_end
from modgraph.export.look.options import PictureOptions
from modgraph.export.look.style import CONDITIONAL, KINDS, OPEN, RAMP, STATES
from modgraph.export.look.totals import calls_text
from modgraph.export.page.items import drawn_items
from modgraph.export.page.modules import module_details
from modgraph.export.picture.heading import conditions, model_title, partial_line, subtitle_of
from modgraph.export.text.arguments import assumed_line, no_calls_line, open_shapes_line
from modgraph.export.text.left_out import left_out_line
from modgraph.export.text.weights import weights_line
from modgraph.graph.focus import module_at
from modgraph.graph.model import Graph, OpenPlace, Problem
from modgraph.graph.occurrences import Run
from modgraph.graph.untaken import as_run

VIEWER = Path(__file__).parent / "viewer"
DAGRE = "vendor/dagre.min.js"
SCRIPTS = (
    "data.js",
    "svg.js",
    "colours.js",
    "members.js",
    "cards.js",
    "layout.js",
    "places.js",
    "drawing.js",
    "filling.js",
    "slices.js",
    "camera.js",
    "panel.js",
    "selection.js",
    "search.js",
    "filters.js",
    "saving.js",
    "keyboard.js",
    "main.js",
)
"""Files of `viewer/src`, in the order in which they stand in the page."""
MAX_STATIC = 1_000_000
"""Characters of the picture for readers without scripting; a larger one is replaced by the summary."""
SUMMARY_WIDTH = 110
MAX_NOTE = 300
"""Characters of a line under the title."""


def render(graph: Graph, options: PictureOptions | None = None) -> str:
    """The page, as text; the same graph, options and drawing program give the same text."""
    options = options or PictureOptions()
    name = model_title(graph)
    fields = {
        "TITLE": html.escape(name),
        "STYLE": _palette() + _viewer_file("style.css"),
        "STATIC": _static(graph, options),
        "DATA": data_text(page_data(graph, options)),
        "DAGRE": library_text(),
        "SCRIPT": script_text(),
    }
    page = _viewer_file("template.html")
    head, *parts = page.split("{{")
    pieces = [head]
    for part in parts:
        field, _, rest = part.partition("}}")
        pieces.extend((fields[field], rest))
    # Half of a surrogate pair, which a name in Python may hold, has no place in UTF-8.
    return "".join(pieces).encode("utf-8", "backslashreplace").decode("utf-8")


def page_data(graph: Graph, options: PictureOptions) -> dict[str, Any]:
    """All that the viewer's script reads: drawn is what may run as well, told of is what ran."""
    run, drawn = drawn_items(graph, options)
    ran = as_run(graph)
    if ran is not graph:
        graph, run = ran, Run(ran, views=options.views)
    if options.focus:
        module_at(run.index, options.focus)
    model = graph.model
    data: dict[str, Any] = {
        "name": model_title(graph),
        "subtitle": subtitle_of(run),
        **({"notes": notes} if (notes := _notes(graph)) else {}),
        "kinds": {kind: style.legend for kind, style in KINDS.items()},
        "states": {state: [style.sign, style.words] for state, style in STATES.items()},
        **({"measures": drawn.measures} if drawn.measures else {}),
        **({"color": options.color} if options.color != "kind" else {}),
        **({"turns": "to the next turn"} if drawn.has_turns else {}),
        **({"open": OPEN} if drawn.is_open else {}),
        **({"conditional": CONDITIONAL} if drawn.is_conditional else {}),
        "signs": {**SIGNS, **NOTATION},
        "labels": drawn.labels,
        "items": drawn.items,
        **module_details(run, drawn.places),
    }
    model_facts = {
        "class": model.class_name,
        "target": model.target,
        "assumed": assumed_line(graph) or None,
        "forward": no_calls_line(graph) or None,
        "shapes": open_shapes_line(graph) or None,
        "weights": weights_line(model.missing_weights) or None,
        "left_out": left_out_line(model.left_out) or None,
        "parameters": model.parameters,
        "trainable": model.trainable_parameters,
        "buffers": model.buffers,
        "mode": model.mode,
        "device": model.device,
        "modules": len(graph.modules),
        "calls": len(graph.calls),
        "run": " · ".join((calls_text(graph.calls, "call"), calls_text(graph.operations, "operation"))),
        "traced": graph.traced or not graph.predicted,
    }
    data["model"] = {key: value for key, value in model_facts.items() if value is not None}
    if options.depth is not None:
        data["depth"] = options.depth
    if options.focus:
        data["openedAt"] = options.focus
    data["findings"] = [
        {"code": each.code, "message": each.message, "at": f"{each.file}:{each.line}", "module": each.module}
        for each in graph.findings
    ]
    data["problems"] = [_problem(each) for each in graph.problems]
    return data


def _notes(graph: Graph) -> list[str]:
    """Under the title: under what the graph holds, and what it leaves open first."""
    return [*conditions(graph, MAX_NOTE), *filter(None, [partial_line(graph, MAX_NOTE)])]


def _problem(problem: Problem) -> dict[str, Any]:
    def said(each: Problem | OpenPlace) -> dict[str, Any]:
        at = f"{each.file}:{each.line}" if each.file and each.line else each.file
        return {"message": cut_end(each.message, 2000), "at": at, "module": each.module}

    found = {"stage": problem.stage, **said(problem)}
    if problem.places:
        found["places"] = [said(each) for each in problem.places]
    return found


def data_text(data: dict[str, Any]) -> str:
    """`data` as JSON that can stand in a script element: nothing in it ends the element or begins a comment."""
    return json_text(json.dumps(data, ensure_ascii=False, separators=(",", ":"))).replace("<", "\\u003c")


@cache
def script_text() -> str:
    """The viewer's own script: its files share one scope, which is closed to everything else on the page."""
    parts = (f"// --- {name}\n{_viewer_file(f'src/{name}')}" for name in SCRIPTS)
    return '(function () {\n"use strict";\n' + "\n".join(parts) + "})();\n"


@cache
def library_text() -> str:
    """dagre as it came from its registry, with the licences that have to go along, without the link to its sources."""
    lines = _viewer_file(DAGRE).splitlines()
    code = "\n".join(line for line in lines if not line.startswith(("//# sourceMappingURL", "/*! For license")))
    licences = (f"@dagrejs/{name}\n\n" + _viewer_file(f"vendor/LICENSE-{name}.txt") for name in ("dagre", "graphlib"))
    return "/*!\n" + "\n".join(licences) + f"*/\n{code}\n"


def _palette() -> str:
    """Colours of kinds, costs and states as properties, so that the page and the pictures have them from one place."""
    names = [state.replace(" ", "-") for state in STATES]
    looks = {str(kind): look for kind, look in KINDS.items()}
    looks |= {f"heat{step}": look for step, look in enumerate(RAMP)}
    colours = {f"{name}-{part}": getattr(look, part) for name, look in looks.items() for part in ("fill", "strong")}
    colours |= {name: look.strong for name, look in zip(names, STATES.values(), strict=True)}
    lines = _properties(colours)
    lines += [
        "@media (prefers-color-scheme: dark) {",
        *_properties({key: DARK[it] for key, it in colours.items()}),
        "}",
    ]
    for name in looks:
        lines.append(f".kind-{name} {{ fill: var(--{name}-fill); background: var(--{name}-fill); }}")
        lines.append(f".strong-{name} {{ border-color: var(--{name}-strong); }}")
        lines.append(f".bar.strong-{name} {{ fill: var(--{name}-strong); }}")
    for name in names:
        lines.append(f".mark-{name} {{ fill: var(--{name}); background: var(--{name}); }}")
        lines.append(f".sign-{name} {{ color: var(--{name}); }}")
    return "\n".join(lines) + "\n"


def _properties(colours: dict[str, str]) -> list[str]:
    return [":root {", *(f"  --{name}: {colour};" for name, colour in colours.items()), "}"]


def _static(graph: Graph, options: PictureOptions) -> str:
    """What is shown where scripts are off: the picture if it can be drawn here, else the summary."""
    from modgraph.export.picture import images

    try:
        picture = images.render(graph, options, "svg").decode("utf-8")
    except ExportError:
        picture = ""
    start = picture.find("<svg")
    if start >= 0 and len(picture) <= MAX_STATIC:
        version = ".".join(map(str, images.version_of(images.find_engine())))
        return picture[start:] + (f"<p>Drawn by Graphviz {version}</p>" if version else "")
    from modgraph.export.text.summary import summary

    return f"<pre>{html.escape(summary(graph, width=SUMMARY_WIDTH))}</pre>"


def _viewer_file(name: str) -> str:
    return (VIEWER / name).read_text(encoding="utf-8")
