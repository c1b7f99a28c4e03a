"""What changed, for a pull request: a verdict, a table, the rest folded away, and no more than GitHub takes.

The first line is a comment that names the target, by which a job finds its own comment again to update it.
"""

from __future__ import annotations

from modgraph.changes.model import Changes, Side
from modgraph.doors.printing import comment_marker, in_cell, markdown, markdown_block, markdown_code
from modgraph.export.diff.text import limited, sections
from modgraph.export.diff.words import SIGNS, Line, delta_text, known_words, lines, verdict

MOST_CHARACTERS = 65_000
"""Of one comment. GitHub's documentation says 65,536; a job adds a line of its own."""
MOST_ROWS = (200, 60, 20, 5)
"""Of the table and of each section: fewer where the whole is too long."""


def render(changes: Changes) -> str:
    """Markdown as GitHub reads it; cut where it would be refused, which is said."""
    diagram = _diagram(changes)
    for most in MOST_ROWS:
        for drawn in (diagram, ""):
            text = _text(changes, most, drawn)
            if len(text) <= MOST_CHARACTERS:
                return text
    return text[: MOST_CHARACTERS - 20].rpartition("\n")[0] + "\n\n… cut here\n"


def one_side(target: str, verdict: str, why: str) -> str:
    """What is said of a model that there was none of before, or is none of now."""
    parts = [comment_marker(target), f"### {markdown(target.rpartition(':')[2])}", f"**{verdict}**", markdown(why)]
    return "\n\n".join(parts) + "\n"


def not_comparable(target: str, why: str) -> str:
    """What is said of a model that could not be compared."""
    return one_side(target, "not comparable", why)


def _text(changes: Changes, most: int, diagram: str) -> str:
    parts = [
        comment_marker(changes.new.target or changes.new.name),
        f"### {_title(changes)}",
        f"**{markdown(verdict(changes))}**",
    ]
    found = lines(changes)
    if found:
        rows = [_row(line) for line in found[:most]]
        if len(found) > most:
            rows.append(f"| | | … {len(found) - most:,} more | |")
        parts.append("\n".join(["| | module | change | parameters |", "|---|---|---|--:|", *rows]))
    if diagram:
        parts.append(_folded("The changed containers", markdown_block(diagram, "mermaid")))
    for title, rows in sections(changes):
        listed = "\n".join(f"- {markdown_code(row)}" for row in limited(rows, most))
        title = markdown(title[0].upper() + title[1:])
        parts.append(_folded(title, listed) if rows else f"{title}.")
    parts.append(f"<sub>old: {_side(changes.old)} · new: {_side(changes.new)}</sub>")
    return "\n\n".join(parts) + "\n"


def _title(changes: Changes) -> str:
    names = list(dict.fromkeys([changes.old.name, changes.new.name]))
    return " → ".join(markdown(name) for name in names)


def _row(line: Line) -> str:
    place, words = in_cell(markdown_code(line.place)), in_cell(markdown(line.words))
    return f"| {SIGNS[line.sign]} | {place} | {words} | {delta_text(line.delta)} |"


def _side(side: Side) -> str:
    partial = "" if side.complete else ", partial"
    return f"{markdown_code(side.target or side.name)} ({known_words(side)}{partial})"


def _folded(title: str, content: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{content}\n\n</details>"


def _diagram(changes: Changes) -> str:
    if not (changes or changes.rewritten) or changes.graphs is None:
        return ""
    from modgraph.export.diff.picture import mermaid

    return mermaid(changes)
