"""What the summary and the Markdown say of names that are proposed for other tools."""

from __future__ import annotations

import textwrap

from modgraph.doors.printing import in_cell, markdown, markdown_block, markdown_code
from modgraph.export.text.table import Pen
from modgraph.graph.model import Graph
from modgraph.graph.suggestions import SuggestedEntry, Suggestion
from modgraph.names import last_name

MOST = 24
"""Entries that are shown of one suggestion; the JSON has all."""
_NOUNS = {"groups": "tensor"}


def suggestions_text(graph: Graph, width: int, pen: Pen) -> list[str]:
    """Nothing where none were asked for."""
    lines: list[str] = []
    told: set[str] = set()
    for each in graph.suggestions:
        unknown = [text for text in each.unknown if text not in told]  # most of it is of all of them
        told.update(unknown)
        lines += [*([""] if lines else []), pen.paint(f"suggested {each.kind}", "bold")]
        # What is pasted is not wrapped: a line of it is a line of Python.
        lines += [f"  {pen.plain(line)}" for line in each.paste.split("\n") if line]
        for entry in each.entries[:MOST]:
            lines += _wrapped(_said(entry, each), width, pen)
        if len(each.entries) > MOST:
            lines.append(f"    and {len(each.entries) - MOST:,} more, see the JSON")
        for word, texts in (("note", each.notes), ("not known", unknown)):
            for text in texts[:MOST]:
                lines += _wrapped(f"{word}: {text}", width, pen)
            if len(texts) > MOST:
                lines.append(f"    {word}: and {len(texts) - MOST:,} more, see the JSON")
    return lines


def suggestions_markdown(graph: Graph) -> list[str]:
    """Each as a heading, a block to paste and a table."""
    lines: list[str] = []
    for each in graph.suggestions:
        lines += ["", f"**suggested {each.kind}**"]
        if each.paste:
            lines += ["", markdown_block(each.paste, "python")]
        if each.entries:
            lines += ["", "| as | name | count | parameters | |", "| --- | --- | ---: | ---: | --- |"]
        for entry in each.entries[:MOST]:
            said = [entry.role, in_cell(markdown_code(entry.name)), f"{entry.count:,}", _amount(entry)]
            lines.append(f"| {' | '.join([*said, in_cell(markdown(entry.note)) if entry.note else ''])} |")
        if len(each.entries) > MOST:
            lines += ["", f"and {len(each.entries) - MOST:,} more, see the JSON"]
        for word, texts in (("note", each.notes), ("not known", each.unknown)):
            lines += ["", *(f"- {word}: {markdown(text)}" for text in texts[:MOST])] if texts else []
    return lines


def _said(entry: SuggestedEntry, of: Suggestion) -> str:
    noun = _NOUNS.get(of.kind, "module")
    count = f"{entry.count:,} {noun}{'' if entry.count == 1 else 's'}"
    name = ", ".join(entry.where) if of.kind in ("compile", "quantize") and entry.role != "left" else entry.name
    kind = last_name(entry.class_name or "")
    facts = [
        count,
        f"{_amount(entry)} parameter{'' if entry.parameters == 1 else 's'}",
        *([kind] if kind and kind != name else []),
        entry.note,
    ]
    return f"{entry.role} {name}: {', '.join(filter(None, facts))}"


def _amount(entry: SuggestedEntry) -> str:
    return "?" if entry.parameters is None else f"{entry.parameters:,}"


def _wrapped(text: str, width: int, pen: Pen) -> list[str]:
    plain = pen.plain(" ".join(text.split()))
    return textwrap.wrap(
        plain, max(width, 40), initial_indent="    ", subsequent_indent="      ", break_on_hyphens=False
    )
