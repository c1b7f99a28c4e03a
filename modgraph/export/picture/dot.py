"""Picture -> DOT, Graphviz's language. What is looked at is decided in `picture.py`; here it is only written down.

All text from the model passes through `markup` (inside HTML-like labels) or `quoted` (everywhere else).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

from graphviz import escape
from graphviz.quoting import quote

from modgraph.export.look import style
from modgraph.export.look.dark import darkened
from modgraph.export.look.labels import clean
from modgraph.export.look.metrics import text_width
from modgraph.export.look.options import PictureOptions
from modgraph.export.look.parts import Arrow, Card, Frame, Item, Join, Kind, Legend, Mark, Picture, Pill, Row, Tag
from modgraph.export.look.widths import (
    BAR,
    COUNT_WIDTH,
    STRIPE,
    bar_width,
    card_width,
    column_widths,
    mark_in_title,
    natural_width,
)
from modgraph.export.picture.choosing import picture_of
from modgraph.export.picture.signs import MEANINGS
from modgraph.graph.model import Graph

FAN = 4
"""So many arrows from one node are a fan."""
LEGEND_WIDTH = 300
"""Points that a line of signs has in any case, where the title is shorter."""
LEGEND_WITH_SIGNS = 560
"""Points of a line of kinds in which signs stand too."""
_TABLE = '<table border="0" cellborder="0" cellspacing="0" cellpadding="0">'


def render(graph: Graph, options: PictureOptions | None = None) -> str:
    """DOT text of `graph`: one cluster per frame, one node per card, one edge per arrow."""
    return write_dot(picture_of(graph, options))


def write_dot(picture: Picture) -> str:
    """`picture` as DOT text; the same picture gives the same text."""
    lines = [f"digraph {quoted(picture.name)} {{", *_defaults(picture)]
    main = {end for arrow in picture.arrows if arrow.main for end in (arrow.tail, arrow.head)}
    for item in _main_first(picture.items, main):
        lines.extend(_item(item, "  ", picture.direction))
    tall = {card.id for card in _cards(picture.items) if len(card.rows) > 1 and not card.head}
    narrow = any(card.narrow for card in _cards(picture.items))
    fans = Counter(arrow.tail for arrow in picture.arrows if arrow.kind != "order")
    titled, weights, past = _titled(picture), _weights(picture), _past_others(picture)
    for arrow in sorted(picture.arrows, key=lambda arrow: not arrow.main):
        ports = _ports(arrow, picture.direction, tall, main, titled)
        if picture.direction == "LR" and arrow.kind != "feedback" and fans[arrow.tail] >= FAN:
            ports.setdefault("tailport", "e")  # else they leave at a corner, one on the other
            weights[arrow.id] = 1  # and what they come from stands before the first of them, not the middle
        is_slim = picture.direction == "TB" and (narrow or (arrow.main and arrow.id not in past))
        lines.append(_arrow(arrow, ports, weights[arrow.id], is_slim=is_slim))
    lines.append("}")
    text = "\n".join(lines) + "\n"
    return darkened(text) if picture.dark else text


def _main_first(items: tuple[Item, ...], main: set[str], *, beside: bool = False) -> tuple[Item, ...]:
    """`items`, what the main path passes in front: the layout engine puts what it reads first to the left.

    `beside`: all of them are in a frame that the main path does not enter.
    """
    passed = [_is_on(item, main) for item in items]
    aside = [beside or (any(passed) and not on) for on in passed]
    inside = [
        replace(item, items=_main_first(item.items, main, beside=off), beside=off) if isinstance(item, Frame) else item
        for item, off in zip(items, aside, strict=True)
    ]
    ranked = sorted(range(len(items)), key=lambda number: not passed[number])
    return tuple(inside[number] for number in ranked)


def _is_on(item: Item, main: set[str]) -> bool:
    return any(_is_on(inner, main) for inner in item.items) if isinstance(item, Frame) else item.id in main


def _cards(items: tuple[Item, ...]) -> Iterator[Card]:
    for item in items:
        if isinstance(item, Frame):
            yield from _cards(item.items)
        elif isinstance(item, Card):
            yield item


def markup(text: str) -> str:
    """`text` for an HTML-like label; backslashes are doubled, as Graphviz puts the node's name for `\\N` even there."""
    safe = clean(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    return safe.replace("\\", "\\\\")


def quoted(text: str) -> str:
    """`text` as a DOT identifier: no quote, backslash (`\\N` is the node's name) or entity in it has a meaning."""
    quoted_text: str = quote(escape(clean(text).replace("&", "&amp;")))
    return quoted_text


def _attributes(pairs: dict[str, str]) -> str:
    """`name=value` pairs; an HTML-like label stands as it is.

    Backslashes of a tooltip are doubled once more, as Graphviz resolves `\\N` in tooltips twice.
    """
    written = []
    for name, value in pairs.items():
        if name.endswith("tooltip"):
            value = quoted(value.replace("\\", "\\\\"))
        elif name.endswith("color"):
            value = f'"{value}"'
        elif not (name == "label" and value.startswith("<")):
            value = quoted(value)
        written.append(f"{name}={value}")
    return " ".join(written)


_BEGINS_WITH_SPACE = re.compile(r"(?:^|(?<=>)) (?=[^ <])")
"""The space between two pieces of a line: each becomes a text of its own in SVG, where a space at its begin is lost."""


def _font(text: str, size: int, color: str | None = None, face: str | None = None, bold: bool = False) -> str:
    """`text` (already markup) in a font; "" for no text, as an empty element is a syntax error in Graphviz."""
    if not text:
        return ""
    face_part = f' face="{face}"' if face else ""
    color_part = f' color="{color}"' if color else ""
    text = _BEGINS_WITH_SPACE.sub("&#160;", text)
    inner = f"<b>{text}</b>" if bold else text
    return f'<font{face_part} point-size="{size}"{color_part}>{inner}</font>'


def _defaults(picture: Picture) -> list[str]:
    graph = {
        "rankdir": picture.direction,
        "newrank": "true",
        "nodesep": "0.20" if any(card.narrow for card in _cards(picture.items)) else "0.30",
        "ranksep": "0.32",
        "pad": "0.25",
        "bgcolor": "white",
        "labelloc": "t",
        "labeljust": "l",
        "splines": "spline",
        "fontname": style.FONT,
        "fontsize": "12",
        "fontcolor": style.TEXT,
        "id": "picture",
        "tooltip": picture.name,
        "label": _heading(picture) if picture.paper is None else _caption(picture, picture.paper[0]),
    }
    if picture.paper is not None:
        graph["pad"] = "0.05"
    node = {
        "shape": "box",
        "style": "filled",
        "fillcolor": "white",
        "color": "#FFFFFF00",
        "margin": "0",
        "width": "0",
        "height": "0",
        "penwidth": "1.2",
        "fontname": style.FONT,
        "fontsize": "12",
        "fontcolor": style.TEXT,
    }
    edge = {
        "color": style.LINE,
        "penwidth": "1.3",
        "arrowsize": "0.7",
        "fontname": style.FONT,
        "fontsize": "10",
        "fontcolor": style.LINE,
    }
    return [f"  {kind} [{_attributes(pairs)}];" for kind, pairs in (("graph", graph), ("node", node), ("edge", edge))]


def _heading(picture: Picture) -> str:
    subtitle = _font(markup(picture.subtitle), style.SUBTITLE_SIZE, style.MUTED)
    name = _font(markup(picture.name), style.TITLE_SIZE, bold=True)
    rows = [f'<tr><td align="left">{name}  {subtitle}</td></tr>']
    rows.extend(
        f'<tr><td align="left">{_font(markup(note), style.DETAIL_SIZE, style.MUTED)}</td></tr>'
        for note in picture.notes
    )
    words = text_width(picture.name, style.TITLE_SIZE, bold=True) + text_width(picture.subtitle, style.SUBTITLE_SIZE)
    lines = _legend(picture.legend, max(words, LEGEND_WIDTH))
    rows.extend(f'<tr><td align="left">{line}</td></tr>' for line in lines)
    rows.append('<tr><td height="6"></td></tr>')
    return f'<<table border="0" cellborder="0" cellspacing="0" cellpadding="2">{"".join(rows)}</table>>'


def _caption(picture: Picture, width: float) -> str:
    """The heading of a figure: lines no longer than the figure may be wide."""
    room = width * style.FIGURE_SCALE - 30
    lines = [_font(markup(picture.name), style.CLASS_SIZE + 2, bold=True)]
    for text in (picture.subtitle, *picture.notes):
        lines.extend(_font(markup(line), style.DETAIL_SIZE, style.MUTED) for line in wrapped(text, room))
    lines.extend(_stripes(picture.legend, room))
    lines.extend(_legend(replace(picture.legend, kinds=(), collapsed=False), room))
    rows = "".join(f'<tr><td align="left">{line}</td></tr>' for line in lines if line)
    table = '<table border="0" cellborder="0" cellspacing="0" cellpadding="1">'
    return f'<{table}{rows}<tr><td height="4"></td></tr></table>>'


def wrapped(text: str, room: float) -> list[str]:
    """`text` in lines of at most so many points, broken between words."""
    lines: list[str] = []
    for word in text.split(" "):
        line = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(line, style.DETAIL_SIZE) <= room:
            lines[-1] = line
        else:
            lines.append(word)
    return [line for line in lines if line]


def _stripes(legend: Legend, room: float) -> list[str]:
    """The kinds of a figure and their bars, in lines."""
    swatches: list[tuple[str, str]] = [
        (_bar(kind, style.KINDS[kind], striped=True), style.KINDS[kind].legend)
        for kind in legend.kinds
        if style.STRIPES[kind].strip()
    ]
    if legend.collapsed:
        swatches.append((f'<td width="{3 * STRIPE}"></td>', "▸ collapsed"))
    lines: list[tuple[float, list[str]]] = [(0, [])]
    for bar, words in swatches:
        wide = text_width(f" {words}", style.DETAIL_SIZE) + 12
        if lines[-1][0] + wide + 3 * STRIPE > room and lines[-1][1]:
            lines.append((0, []))
        taken, cells = lines[-1]
        words_cell = f'<td align="left" width="{wide:.0f}"> {_font(words, style.DETAIL_SIZE, style.MUTED)}</td>'
        lines[-1] = taken + wide + 3 * STRIPE, [*cells, bar + words_cell]
    table = '<table border="0" cellborder="0" cellspacing="0" cellpadding="0" align="left" fixedsize="true"'
    return [
        f'{table} width="{taken:.0f}" height="14"><tr>{"".join(cells)}</tr></table>' for taken, cells in lines if cells
    ]


def _bar(kind: Kind, colors: style.KindStyle, *, striped: bool, more: str = "") -> str:
    """The cells that say the kind: one in its colour, or three stripes."""
    if not striped:
        return f'<td width="{BAR}" cellpadding="0" bgcolor="{colors.strong}"{more}></td>'
    cells = []
    for stripe, group in groupby(style.STRIPES[kind]):
        count = len(list(group))
        span = f' colspan="{count}"' if count > 1 else ""
        fill = colors.strong if stripe == "#" else "white"
        cells.append(f'<td width="{STRIPE * count}" cellpadding="0" bgcolor="{fill}"{span}{more}></td>')
    return "".join(cells)


def _legend(legend: Legend, room: float) -> list[str]:
    """The legend's lines: kinds, signs, then frames; signs in lines of at most so many points."""
    swatches = [(style.KINDS[kind].fill, style.KINDS[kind].strong, style.KINDS[kind].legend) for kind in legend.kinds]
    ramp = _ramp(*legend.ramp) if legend.ramp else ""
    if legend.collapsed and not ramp:
        other = style.KINDS["other"]
        swatches.append((other.fill, other.strong, "▸ collapsed"))
    cells: list[str] = []
    width = 0.0
    for fill, strong, words in swatches:
        box = f'<td width="12" height="12" fixedsize="true" border="1" color="{strong}" bgcolor="{fill}"></td>'
        cells.append(f'{box}<td align="left"> {_font(words, style.DETAIL_SIZE, style.MUTED)}</td>')
        width += text_width(f" {words}", style.DETAIL_SIZE) + 30
    if legend.repeated:
        width += text_width("×N identical blocks", style.DETAIL_SIZE) + 16
        cells.append(f"<td>{_font('<b>×N</b> identical blocks', style.DETAIL_SIZE, style.MUTED)}</td>")
    if legend.feedback:
        width += text_width("→ to the next turn", style.DETAIL_SIZE) + 16
        arrow = _font("→", style.DETAIL_SIZE, style.REPEAT, bold=True)
        cells.append(f"<td>{arrow}{_font(' to the next turn', style.DETAIL_SIZE, style.MUTED)}</td>")
    lines = [ramp] if ramp else []
    signs = list(_signs(legend, room))
    wide = sum(text_width(f"{' '.join(MEANINGS[sign])} · ", style.DETAIL_SIZE, bold=True) for sign in legend.signs)
    if cells and len(signs) == 1 and width + wide <= max(room, LEGEND_WITH_SIGNS):
        cells.append(f'<td align="left">{signs.pop()}</td>')
        width += wide + 16
    if cells:
        spaced = '<td width="10"></td>'.join(cells)
        # A fixed size: in a wide picture the table would else be stretched, and its words driven apart.
        size = f'align="left" fixedsize="true" width="{width:.0f}" height="18"'
        lines.append(
            f'<table border="0" cellborder="0" cellspacing="0" cellpadding="1" {size}><tr>{spaced}</tr></table>'
        )
    lines.extend(signs)
    if legend.conditional:
        lines.append(_font(f"dashed: {style.CONDITIONAL}", style.DETAIL_SIZE, style.MUTED))
    if legend.open:
        lines.append(_font(f"dotted: {style.OPEN}", style.DETAIL_SIZE, style.MUTED))
    if legend.states:
        states = [style.STATES[state] for state in legend.states]
        words = " · ".join(f"<b>{each.legend} {each.sign}</b> {each.words}" for each in states)
        lines.append(_font(f"frame: {words}", style.DETAIL_SIZE, style.MUTED))
    return lines


def _signs(legend: Legend, room: float) -> Iterator[str]:
    """What signs mean, in lines."""
    told = {f"inside {style.STATES[state].sign}" for state in legend.states}
    line: list[str] = []
    taken = 0.0
    for sign, words in (MEANINGS[sign] for sign in legend.signs if sign not in told):
        wide = text_width(f"{sign} {words} · ", style.DETAIL_SIZE, bold=True)
        if line and taken + wide > room:
            yield _font(" · ".join(line), style.DETAIL_SIZE, style.MUTED)
            line, taken = [], 0.0
        # Other bold signs are wider than Graphviz takes them for, and would lie on the words behind them.
        line.append(f"<b>{sign}</b> {words}" if sign[0] in "+−×÷@" else f"{sign} {words}")
        taken += wide
    if line:
        yield _font(" · ".join(line), style.DETAIL_SIZE, style.MUTED)


def _ramp(measure: str, most: str) -> str:
    """The steps of a cost, the words beside them."""
    steps = "".join(
        f'<td width="20" height="12" fixedsize="true" border="1" color="{each.strong}" bgcolor="{each.fill}"></td>'
        for each in style.RAMP
    )
    words = [_font(markup(text), style.DETAIL_SIZE, style.MUTED) for text in (f"{measure}: 0 ", f" {most}")]
    width = 20 * len(style.RAMP) + text_width(f"{measure}: 0  {most}", style.DETAIL_SIZE) + 20
    size = f'align="left" fixedsize="true" width="{width:.0f}" height="18"'
    cells = f'<td align="right">{words[0]}</td>{steps}<td align="left">{words[1]}</td>'
    return f'<table border="0" cellborder="0" cellspacing="0" cellpadding="1" {size}><tr>{cells}</tr></table>'


def _item(item: Item, indent: str, direction: str) -> Iterator[str]:
    if isinstance(item, Frame):
        yield from _frame(item, indent, direction)
        return
    if isinstance(item, Card):
        attributes = _card(item, direction)
    elif isinstance(item, Join):
        attributes = _join(item)
    elif isinstance(item, Pill):
        attributes = _pill(item)
    else:
        attributes = _tag(item)
    yield f"{indent}{quoted(item.id)} [{_attributes({**attributes, 'id': item.id})}];"


def _frame(frame: Frame, indent: str, direction: str) -> Iterator[str]:
    border, width, line = style.FRAME_BORDER, "1", ""
    if frame.copies > 1:
        border, width = style.FADED if frame.plain else style.REPEAT, "2"
    if frame.state is not None:
        state = style.STATES[frame.state]
        border, width = state.frame_color, "2.4" if state.frame in ("thick", "double") else "2"
        line = state.frame if state.frame in ("dashed", "dotted") else ""
    attributes = {
        "bgcolor": style.FRAME_FILLS[frame.level % 2],
        "color": border,
        "penwidth": width,
        "labeljust": "r" if frame.beside else "l",
        "margin": "10",
        "id": frame.id,
        "tooltip": frame.tooltip,
        "label": _frame_title(frame),
    }
    if line:
        attributes["style"] = line
    yield f"{indent}subgraph {quoted(f'cluster_{frame.id}')} {{"
    if frame.state is not None and style.STATES[frame.state].frame == "double":
        # Graphviz draws no double line around a cluster: a second one stands close around it.
        around = {**attributes, "penwidth": "1.2", "margin": "4", "id": f"{frame.id}:around", "label": ""}
        yield f"{indent}  graph [{_attributes(around)}];"
        yield f"{indent}  subgraph {quoted(f'cluster_{frame.id}:inner')} {{"
        yield from _frame_content(frame, {**attributes, "penwidth": "1.2"}, f"{indent}  ", direction)
        yield f"{indent}  }}"
    else:
        yield from _frame_content(frame, attributes, indent, direction)
    yield f"{indent}}}"


def _frame_content(frame: Frame, attributes: dict[str, str], indent: str, direction: str) -> Iterator[str]:
    yield f"{indent}  graph [{_attributes(attributes)}];"
    for item in frame.items:
        yield from _item(item, f"{indent}  ", direction)


def _frame_title(frame: Frame) -> str:
    rows = [f'<td align="left"><b>{markup(frame.title)}</b></td>']
    rows.append(f'<td align="left">{_font(markup(frame.detail), style.DETAIL_SIZE, style.MUTED)}</td>')
    lines = 2
    if frame.idiom:
        rows.append(f'<td align="left">{_font(markup(frame.idiom), style.DETAIL_SIZE, style.MUTED)}</td>')
        lines = 3
    if frame.copies > 1:
        badge = _font(f"×{frame.copies}", 13, "white", bold=True)
        cell = f'<td rowspan="{lines}" bgcolor="{style.REPEAT}" style="rounded" cellpadding="4">{badge}</td>'
        if frame.gap:
            rows[0] += f'<td rowspan="{lines}" width="{frame.gap:g}"></td>{cell}'
        else:
            rows[0] = f'{cell}<td rowspan="{lines}" width="6"></td>{rows[0]}'
    if frame.marks and frame.copies > 1 and not frame.gap:
        # The badge stands first: in a table of its own size, so that it is no wider where a mark below it is.
        words = max(
            text_width(frame.title, style.CLASS_SIZE, bold=True),
            text_width(frame.detail, style.DETAIL_SIZE),
            text_width(frame.idiom, style.DETAIL_SIZE),
        )
        wide = words + text_width(f"×{frame.copies}", 13, bold=True) + 24
        size = f'align="left" fixedsize="true" width="{wide:.0f}" height="{16 * lines}"'
        inner = _TABLE.replace("<table", f"<table {size}")
        rows = [f'<td align="left">{inner}{"".join(f"<tr>{row}</tr>" for row in rows)}</table></td>']
    rows.extend(_mark_cell(mark_in_title(mark), 1, ' cellpadding="2"') for mark in frame.marks)
    return f"<{_TABLE}{''.join(f'<tr>{row}</tr>' for row in rows)}</table>>"


def _card(card: Card, direction: str) -> dict[str, str]:
    lines = _grid(card) if card.head else _lines(card, direction)
    lines.extend(f"<tr>{_mark_cell(mark, _columns(card))}</tr>" for mark in card.marks)
    table = f'<table border="1" color="{style.CARD_BORDER}" cellborder="0" cellspacing="0" cellpadding="3">'
    attributes = {"tooltip": " | ".join(row.tooltip for row in card.rows if row.tooltip) or card.id}
    attributes.update(_card_frame(card))
    attributes["label"] = f"<{table}{''.join(lines)}</table>>"
    return attributes


def _columns(card: Card) -> int:
    """Of the table that one column of rows is."""
    return 6 if card.striped else 4


def _lines(card: Card, direction: str) -> list[str]:
    """A row of the table each; of a narrow card, two."""
    across = direction == "LR"
    first = column_widths(card.rows)[0]
    spare = card_width(card) - natural_width(card)
    lines: list[str] = []
    for number, row in enumerate(card.rows):
        if number:
            lines.append("<hr/>")
        last = number > 0 and number == len(card.rows) - 1
        port = "out" if last else "in" if across and not number and len(card.rows) > 1 else ""
        if card.narrow:
            width = card_width(card) - bar_width(card) if spare > 1 else 0
            lines.extend(f"<tr>{line}</tr>" for line in _narrow_row(row, width, port, striped=card.striped) if line)
        else:
            lines.append(f"<tr>{_row(row, first + spare if spare > 1 else 0, port, striped=card.striped)}</tr>")
        lines.extend(f"<tr>{_mark_cell(mark, _columns(card))}</tr>" for mark in row.marks)
    return lines


def _grid(card: Card) -> list[str]:
    """Branches beside each other, in columns, below a line that says so."""
    head = _font(markup(card.head), style.DETAIL_SIZE, style.MUTED)
    wide = f'colspan="{card.columns * _columns(card)}" width="{card_width(card):.0f}"'
    lines = [f'<tr><td align="left" {wide}>{head}</td></tr>']
    for start in range(0, len(card.rows), card.columns):
        rows = card.rows[start : start + card.columns]
        if card.steps > 1 and start and start % (card.columns * card.steps) == 0:
            lines.append("<hr/>")  # below it stand further branches
        lacking = card.columns - len(rows)
        empty = f'<td colspan="{lacking * _columns(card)}"></td>' if lacking else ""
        if card.narrow:
            both = [_narrow_row(row, 0, "", striped=card.striped) for row in rows]
            lines.append(f"<tr>{''.join(upper for upper, _ in both)}{empty}</tr>")
            if any(lower for _, lower in both):
                lines.append(f"<tr>{''.join(lower for _, lower in both)}{empty}</tr>")
        else:
            lines.append(f"<tr>{''.join(_row(row, 0, '', striped=card.striped) for row in rows)}{empty}</tr>")
    return lines


def _narrow_row(row: Row, width: float, port: str, *, striped: bool) -> tuple[str, str]:
    """Two lines beside one bar: class with arguments; path and parameters, where there are any."""
    kind, text, muted = _row_colors(row)
    fill = f'bgcolor="{kind.fill}"'
    enters, leaves = (f' port="{name}"' if port == name else "" for name in ("in", "out"))
    below = bool(row.path or row.count)
    wide = f' width="{width:.0f}"' if width else ""
    bar = _bar(_kind_of(row), kind, striped=striped, more=(' rowspan="2"' if below else "") + enters)
    ends = leaves if not below else ""
    upper = f'{bar}<td align="left" colspan="3" {fill}{wide}{ends}>{_class_words(row, text, muted)}</td>'
    if not below:
        return upper, ""
    path = _font(markup(row.path), style.DETAIL_SIZE, text, face=style.MONO)
    count = _font(markup(row.count), style.DETAIL_SIZE, muted)
    return upper, (
        f'<td align="left" cellpadding="2" {fill}>{path}</td><td {fill}></td>'
        f'<td align="right" cellpadding="2" {fill}{leaves}>{count}</td>'
    )


def _card_frame(card: Card) -> dict[str, str]:
    state = style.STATES[card.state] if card.state is not None else None
    if state is None or not state.frame:
        return {}
    frame = {"color": state.frame_color, "penwidth": "2", "margin": "0.05"}
    if state.frame in ("dashed", "dotted"):
        frame["style"] = f"filled,{state.frame}"
    else:
        frame["penwidth"] = "2.4"
    if state.frame == "double":
        frame["peripheries"] = "2"
    return frame


def _row(row: Row, width: float, port: str, *, striped: bool = False) -> str:
    """Four cells: bar, class with arguments, path, parameters. `width` of the second, 0 for what it needs.

    `port`: "in" for the first of several rows, "out" for the last.
    """
    kind, text, muted = _row_colors(row)
    fill = f'bgcolor="{kind.fill}"'
    wide = f' width="{width:.0f}"' if width else ""
    path = _font(markup(row.path), style.DETAIL_SIZE, text, face=style.MONO)
    count = _font(markup(row.count), style.DETAIL_SIZE, muted)
    enters, leaves = (f' port="{name}"' if port == name else "" for name in ("in", "out"))
    return (
        f"{_bar(_kind_of(row), kind, striped=striped, more=enters)}"
        f'<td align="left" {fill}{wide}>{_class_words(row, text, muted)}</td>'
        f'<td align="left" {fill}>{path}</td>'
        f'<td align="right" {fill} width="{COUNT_WIDTH}"{leaves}>{count}</td>'
    )


def _row_colors(row: Row) -> tuple[style.KindStyle, str | None, str]:
    """Of its cells, of its name, of what is said beside it."""
    if row.heat is not None:
        return style.RAMP[row.heat], None, style.TEXT
    kind = style.KINDS[_kind_of(row)]
    return (kind, style.FADED, style.FADED) if row.muted else (kind, None, style.MUTED)


def _kind_of(row: Row) -> Kind:
    return "other" if row.muted or row.collapsed else row.kind


def _class_words(row: Row, text: str | None, muted: str) -> str:
    """Class, number of copies, arguments."""
    title = f"<b>{markup(row.title)}</b>"
    if text:
        title = f'<font color="{text}">{title}</font>'
    if row.copies > 1:
        title += f' <font color="{style.REPEAT}"><b>×{row.copies}</b></font>'
    return f"{title} {_font(markup(row.detail), style.DETAIL_SIZE, muted)}"


def _mark_cell(mark: Mark, span: int, room: str = "") -> str:
    state = style.STATES[mark.state]
    words = {"shared": "same as", "again": "call", "inside": ""}.get(mark.state, state.words)
    said = " ".join(part for part in (state.sign, words) if part)
    if mark.state == "inside":
        text = _font(f"{markup(mark.note)} inside", style.DETAIL_SIZE, "white")
    else:
        text = _font(said, style.MARK_SIZE, "white", bold=True)
        if mark.note:
            # Room at its end: fonts may be a little wider than the engine takes them for.
            text += f"  {_font(f'{markup(mark.note)}&#160;', style.DETAIL_SIZE, 'white')}"
    return f'<td colspan="{span}" align="left" bgcolor="{state.strong}"{room}>{text}</td>'


def _join(join: Join) -> dict[str, str]:
    return {
        "shape": "circle",
        "color": style.MUTED,
        "penwidth": "1.4",
        "width": "0.30",
        "height": "0.30",
        "fixedsize": "true",
        "fontsize": "15",
        "label": join.sign,
        "tooltip": join.tooltip,
    }


def _pill(pill: Pill) -> dict[str, str]:
    detail = _font(markup(pill.detail), style.DETAIL_SIZE)
    return {
        "style": "rounded,filled",
        "fillcolor": style.PILL,
        "color": style.PILL,
        "fontcolor": "white",
        "margin": "0.16,0.07",
        "tooltip": pill.tooltip,
        "label": f"<<b>{markup(pill.title)}</b>{'  ' + detail if detail else ''}>",
    }


def _tag(tag: Tag) -> dict[str, str]:
    return {
        "style": "rounded,filled",
        "fillcolor": style.TAG_FILL,
        "color": style.CARD_BORDER,
        "penwidth": "0.8",
        "margin": "0.07,0.03",
        "tooltip": tag.tooltip,
        "label": f"<{_font('◂ ' + markup(tag.text), style.DETAIL_SIZE, style.MUTED)}>",
    }


_ARROWS: dict[str, dict[str, str]] = {
    "data": {},
    "static": {"style": "dashed", "color": style.FADED},
    "runtime": {"color": "#5B3A8C", "penwidth": "2.2"},
    "feedback": {"color": style.REPEAT, "penwidth": "1.6", "constraint": "false"},
    "conditional": {"style": "dashed", "color": style.FADED},
    "open": {"style": "dotted", "penwidth": "1.8"},
    "order": {"style": "invis"},
}


def _titled(picture: Picture) -> set[str]:
    """Arrows beside the main one into the first card of a frame: they enter at the right, the title is at the left."""
    frame_of: dict[str, str] = {}
    pending: list[tuple[Item, str]] = [(item, "") for item in picture.items]
    while pending:
        item, frame = pending.pop()
        if isinstance(item, Frame):
            pending.extend((inner, item.id) for inner in item.items)
        elif isinstance(item, Card) or frame:
            frame_of[item.id] = frame
    cards = {card.id for card in _cards(picture.items)}
    entering = [
        arrow
        for arrow in picture.arrows
        if arrow.head in cards and frame_of[arrow.head] and frame_of.get(arrow.tail, "") != frame_of[arrow.head]
    ]
    first = {arrow.head for arrow in entering if arrow.main}
    return {arrow.id for arrow in entering if arrow.head in first and not arrow.main and arrow.kind != "order"}


def _ports(arrow: Arrow, direction: str, tall: set[str], main: set[str], titled: set[str]) -> dict[str, str]:
    """Where an arrow leaves and enters cards of several rows: data comes from the last row and goes to the first.

    From top to bottom that is so by itself, but for skips that leave at a side.
    """
    if arrow.kind == "feedback":
        ends = {"tailport": "se"} if arrow.tail in tall and direction == "TB" else {}
        return {**ends, "headport": "ne"} if arrow.head in tall and direction == "TB" else ends
    if direction == "TB":
        enters = {"headport": "ne"} if arrow.id in titled else {}
        return {"tailport": "out:_", **enters} if arrow.tail in tall & main and not arrow.main else enters
    ends = {"tailport": "out:e"} if arrow.tail in tall else {}
    return {**ends, "headport": "in:w"} if arrow.head in tall else ends


_MAIN_WEIGHT = 8
"""Of an arrow on the main path, which is drawn as straight as can be."""


def _weights(picture: Picture) -> dict[str, int]:
    """By its id, what each arrow weighs: what goes into a node weighs more than what comes out of it.

    Where both weigh the same the layout engine may put the node on any row between its neighbours, the emptiest one:
    parallel branches would stand like stairs. So they all stand right below what they come from.
    """
    weights = {arrow.id: _MAIN_WEIGHT if arrow.main else 1 for arrow in picture.arrows}
    into: dict[str, list[Arrow]] = {}
    after: dict[str, list[Arrow]] = {}
    for arrow in picture.arrows:
        if arrow.kind != "feedback":  # it is no constraint of the layout
            into.setdefault(arrow.head, []).append(arrow)
            after.setdefault(arrow.tail, []).append(arrow)
    waiting = {node: len(after.get(node, ())) for node in {*into, *after}}
    ready = [node for node, number in waiting.items() if not number]
    while ready:
        node = ready.pop()
        entering = into.get(node, [])
        lacking = sum(weights[each.id] for each in after.get(node, ())) - sum(weights[each.id] for each in entering)
        if entering and lacking >= 0 and not any(arrow.main for arrow in entering):
            weights[entering[0].id] += lacking + 1
        for arrow in entering:
            waiting[arrow.tail] -= 1
            if not waiting[arrow.tail]:
                ready.append(arrow.tail)
    for arrow in picture.arrows:
        if arrow.main:
            beside = [each for each in (*after.get(arrow.tail, ()), *into.get(arrow.head, ())) if not each.main]
            weights[arrow.id] = max(_MAIN_WEIGHT, 2 * sum(weights[each.id] for each in beside))
    return weights


def _past_others(picture: Picture) -> set[str]:
    """Arrows of the main path beside which something stands that depends on a condition: their labels need room."""
    uncertain = [arrow for arrow in picture.arrows if arrow.kind == "conditional"]
    tails, heads = {arrow.tail for arrow in uncertain}, {arrow.head for arrow in uncertain}
    return {arrow.id for arrow in picture.arrows if arrow.tail in tails and arrow.head in heads}


def _arrow(arrow: Arrow, ports: dict[str, str], weight: int, *, is_slim: bool) -> str:
    attributes = {} if arrow.kind == "order" else dict(ports)
    if arrow.label and is_slim:
        attributes["label"] = _slim_label(arrow.label)
    elif arrow.label:
        attributes["label"] = f"\u00a0{arrow.label}\u00a0"
    if weight > 1:
        attributes["weight"] = str(weight)
    attributes.update(_ARROWS[arrow.kind])
    attributes["id"] = arrow.id
    if arrow.tooltip:
        attributes["tooltip"] = attributes["labeltooltip"] = arrow.tooltip
    return f"  {quoted(arrow.tail)} -> {quoted(arrow.head)} [{_attributes(attributes)}];"


def _slim_label(text: str) -> str:
    """A label that takes no width in the layout, and stands to the right of its edge.

    A label of its full width can push the edge aside, so that the main path bends and crosses the title below.
    """
    size = 'fixedsize="true" width="6" height="14"'
    table = f'<table border="0" cellborder="0" cellspacing="0" cellpadding="0" {size}>'
    return f'<{table}<tr><td align="left">&#160;{markup(text)}</td></tr></table>>'
