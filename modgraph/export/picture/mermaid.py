"""Picture -> Mermaid, for READMEs and job summaries: the same cards and frames, within what GitHub draws.

GitHub draws at most 500 edges and 50,000 characters, and a diagram cannot ask for more. Where a picture is larger,
fewer containers are opened; the last line says what was cut.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace

from modgraph.export.look import style
from modgraph.export.look.labels import clean
from modgraph.export.look.options import PictureOptions
from modgraph.export.look.parts import Arrow, Card, Frame, Item, Join, Mark, Picture, Pill, Row
from modgraph.export.look.widths import mark_in_title
from modgraph.export.picture.choosing import picture_of
from modgraph.graph.model import Graph

GOOD_NODES, GOOD_EDGES, GOOD_LENGTH = 80, 120, 10_000
"""What a reader takes in; aimed at."""
MOST_EDGES, MOST_LENGTH = 400, 40_000
"""With room below GitHub's limits, as whoever embeds a diagram may add to it; never passed."""

WRAPPED = 420
"""Pixels beyond which a row is broken; Mermaid's own 200 break nearly every one."""


def render(graph: Graph, options: PictureOptions | None = None) -> str:
    """Mermaid text of `graph`: one subgraph per frame, one node per card, one edge per arrow."""
    options = options or PictureOptions()
    if options.depth is not None:
        depth = options.depth
        while depth >= 0:
            picture = picture_of(graph, replace(options, depth=depth), is_readable=_is_good)
            text = write_mermaid(picture)
            if _is_drawn(text):
                return text
            # Not `depth`: there may be far fewer levels than were asked for.
            depth = picture.depth - 1
    text = write_mermaid(picture_of(graph, replace(options, depth=None), is_readable=_is_good))
    return text if _is_drawn(text) else _not_drawn(text)


def _not_drawn(text: str) -> str:
    """What stands for a model that is too large even closed."""
    head = text[: text.index("\nflowchart") + len("\nflowchart TB")]
    return f'{head}\n  n0["too large to be drawn here"]\n%% left out: everything\n'


def _is_good(picture: Picture) -> bool:
    text = write_mermaid(picture)
    return _count(text, _EDGE) <= GOOD_EDGES and len(text) <= GOOD_LENGTH and _count(text, _NODE) <= GOOD_NODES


def _is_drawn(text: str) -> bool:
    return _count(text, _EDGE) <= MOST_EDGES and len(text) <= MOST_LENGTH


_EDGE = re.compile(r"^ *n\d+ (?:-|=|~)", re.MULTILINE)
_NODE = re.compile(r"^ *n\d+[(\[]", re.MULTILINE)


def _count(text: str, pattern: re.Pattern[str]) -> int:
    return sum(1 for _ in pattern.finditer(text))


def write_mermaid(picture: Picture) -> str:
    """`picture` as Mermaid text; the same picture gives the same text."""
    return "\n".join(_Writer(picture).lines()) + "\n"


_SETTINGS = ("config:", "  flowchart:", f"    wrappingWidth: {WRAPPED}")
_PLAIN = re.compile(r"[^\W_]|[ .,()/=\-]")
"""Characters that stand for themselves: no other ASCII character is free of a meaning in Mermaid or in Markdown."""


def escaped(text: str) -> str:
    """`text` for a quoted label: everything that Mermaid, its Markdown or HTML would take for its own as an entity."""
    text = clean(text).replace("www.", "www\0")
    written = []
    for position, char in enumerate(text):
        inside_a_word = char == "_" and text[position - 1 : position].isalnum() and text[position + 1 :][:1].isalnum()
        if inside_a_word or (not char.isascii()) or (_PLAIN.match(char) and not (char in "-=." and not position)):
            written.append(char)
        else:
            written.append(_NAMED.get(char) or f"#{ord(char)};")
    return "".join(written)


_NAMED = {'"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "\0": "#46;"}


def _in_comment(text: str) -> str:
    """`text` in a comment, where Mermaid still looks for directives: `%%{init: ...}%%` anywhere in a diagram is one.
    What shows the file as a part of a page may take a tag for its own."""
    return re.sub(r"%(?=[%{])", "% ", re.sub(r"[<>]", lambda sign: _NAMED[sign[0]], clean(text)))


class _Writer:
    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.names: dict[str, str] = {}
        self.classes: dict[str, list[str]] = {}
        self.styles: list[str] = []

    def lines(self) -> Iterator[str]:
        picture = self.picture
        title = " · ".join(part for part in (picture.name, picture.subtitle) if part)
        yield from ("---", f"title: {json.dumps(clean(title), ensure_ascii=False)}", *_SETTINGS, "---")
        yield f"flowchart {picture.direction}"
        for item in picture.items:
            yield from self._item(item, "  ")
        yield from (self._arrow(arrow) for arrow in picture.arrows)
        yield from self.styles
        for name, nodes in self.classes.items():
            yield f"  classDef {name} {_CLASSES[name]}"
            yield f"  class {','.join(nodes)} {name}"
        yield f"%% {_in_comment(' · '.join(picture.notes)) or 'nothing was cut'}"

    def _item(self, item: Item, indent: str) -> Iterator[str]:
        if isinstance(item, Frame):
            yield from self._frame(item, indent)
            return
        name = self.names[item.id] = f"n{len(self.names)}"
        opening, closing, classes = "[", "]", ["other"]
        if isinstance(item, Card):
            text = "<br/>".join(_card_lines(item))
            if len(item.rows) == 1 and item.rows[0].collapsed:
                opening, closing = "[[", "]]"
            classes = [_card_kind(item), *([item.state.replace(" ", "_")] if item.state else [])]
        elif isinstance(item, Join):
            text, opening, closing, classes = escaped(item.sign), "((", "))", ["join"]
        elif isinstance(item, Pill):
            text = f"<b>{escaped(item.title)}</b>{f' {escaped(item.detail)}' if item.detail else ''}"
            opening, closing, classes = "([", "])", ["pill"]
        else:
            text, opening, closing, classes = f"◂ {escaped(item.text)}", "(", ")", ["tag"]
        for each in classes:
            self.classes.setdefault(each, []).append(name)
        yield f'{indent}{name}{opening}"{text}"{closing}'

    def _frame(self, frame: Frame, indent: str) -> Iterator[str]:
        name = f"g{len(self.styles)}"
        self.styles.append(f"  style {name} {_frame_style(frame)}")
        badge = f" ×{frame.copies}" if frame.copies > 1 else ""
        title = f"<b>{escaped(frame.title)}{badge}</b> · {escaped(frame.detail)}"
        idiom = [escaped(frame.idiom)] if frame.idiom else []
        title = "<br/>".join([title, *idiom, *(_mark(mark_in_title(mark)) for mark in frame.marks)])
        yield f'{indent}subgraph {name}["{title}"]'
        for item in frame.items:
            yield from self._item(item, f"{indent}  ")
        yield f"{indent}end"

    def _arrow(self, arrow: Arrow) -> str:
        line = _LINES[arrow.kind]
        if arrow.kind == "feedback":
            return f'  {self.names[arrow.tail]} {line}|"next turn"| {self.names[arrow.head]}'
        label = f'|"{escaped(arrow.label)}"|' if arrow.label and arrow.kind != "order" else ""
        return f"  {self.names[arrow.tail]} {line}{label} {self.names[arrow.head]}"


_LINES = {
    "data": "-->",
    "static": "-.->",
    "runtime": "==>",
    "feedback": "-->",
    "conditional": "-.->",
    "open": "-.->",
    "order": "~~~",
}


def _card_lines(card: Card) -> Iterator[str]:
    for row in card.rows:
        yield _row(row)
        yield from (_mark(mark) for mark in row.marks)
    yield from (_mark(mark) for mark in card.marks)


def _row(row: Row) -> str:
    title = f"<b>{escaped(row.title)}{f' ×{row.copies}' if row.copies > 1 else ''}</b>"
    return " · ".join([" ".join([title, *([escaped(row.detail)] if row.detail else [])]), *_figures(row)])


def _figures(row: Row) -> Iterator[str]:
    yield from (escaped(text) for text in (row.path, row.count) if text)


def _mark(mark: Mark) -> str:
    if mark.state == "inside":
        return f"<b>{escaped(mark.note)} inside</b>"
    state = style.STATES[mark.state]
    return " ".join([f"<b>{escaped(state.sign)} {state.words}</b>", *([escaped(mark.note)] if mark.note else [])])


def _card_kind(card: Card) -> str:
    """The colour of a card that holds rows of several kinds: that of the first with weights, else of the first."""
    heat = max((row.heat for row in card.rows if row.heat is not None), default=None)
    if heat is not None:
        return f"heat{heat}"
    row = next((row for row in card.rows if row.count and not row.collapsed and row.kind != "norm"), card.rows[0])
    return "other" if row.collapsed or row.muted else row.kind


def _frame_style(frame: Frame) -> str:
    fill, stroke, more = style.FRAME_FILLS[frame.level % 2], style.FRAME_BORDER, ""
    if frame.copies > 1:
        stroke, more = style.FADED if frame.plain else style.REPEAT, ",stroke-width:2px"
    if frame.state is not None:
        state = style.STATES[frame.state]
        stroke, more = state.frame_color, _STROKES.get(state.frame, ",stroke-width:2px")
    return f"fill:{fill},stroke:{stroke}{more},color:{style.TEXT}"


_STROKES = {
    "thick": ",stroke-width:3px",
    "double": ",stroke-width:3px",
    "dashed": ",stroke-width:2px,stroke-dasharray:6 4",
    "dotted": ",stroke-width:2px,stroke-dasharray:2 3",
}
_CLASSES = {
    **{kind: f"fill:{each.fill},stroke:{each.strong},color:{style.TEXT}" for kind, each in style.KINDS.items()},
    **{
        f"heat{step}": f"fill:{each.fill},stroke:{each.strong},color:{style.TEXT}"
        for step, each in enumerate(style.RAMP)
    },
    "join": f"fill:#FFFFFF,stroke:{style.MUTED},color:{style.TEXT}",
    "pill": f"fill:{style.PILL},stroke:{style.PILL},color:#FFFFFF",
    "tag": f"fill:{style.TAG_FILL},stroke:{style.CARD_BORDER},color:{style.MUTED}",
    **{
        state.replace(" ", "_"): f"stroke:{each.frame_color}{_STROKES[each.frame]}"
        for state, each in style.STATES.items()
        if each.frame
    },
}
