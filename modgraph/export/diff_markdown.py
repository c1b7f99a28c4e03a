"""What a change did, for a pull request: a verdict, a table, the rest folded away, and no more than GitHub takes.

The first line is a comment that names the target, by which a job finds its own comment again to update it.
"""

from __future__ import annotations

import re

from modgraph.changes.model import Changes, Side
from modgraph.export.diff_text import limited, sections
from modgraph.export.diff_words import SIGNS, Line, delta_text, lines, verdict

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


def marker(target: str) -> str:
    """The comment by which a job finds what it wrote before."""
    return f"<!-- modgraph:{re.sub('--+', '-', target).replace('>', '')} -->"


def new_model(target: str, why: str) -> str:
    """What is said of a model that there was none of before."""
    parts = [marker(target), f"### {_escaped(target.rpartition(':')[2])}", "**a new model**", _escaped(why)]
    return "\n\n".join(parts) + "\n"


def not_comparable(target: str, why: str) -> str:
    """What is said of a model that could not be compared."""
    parts = [marker(target), f"### {_escaped(target.rpartition(':')[2])}", "**not comparable**", _escaped(why)]
    return "\n\n".join(parts) + "\n"


def _text(changes: Changes, most: int, diagram: str) -> str:
    parts = [
        marker(changes.new.target or changes.new.name),
        f"### {_title(changes)}",
        f"**{_escaped(verdict(changes))}**",
    ]
    found = lines(changes)
    if found:
        rows = [_row(line) for line in found[:most]]
        if len(found) > most:
            rows.append(f"| | | … {len(found) - most:,} more | |")
        parts.append("\n".join(["| | module | change | parameters |", "|---|---|---|--:|", *rows]))
    if diagram:
        parts.append(_folded("The changed containers", f"```mermaid\n{diagram.rstrip()}\n```"))
    for title, rows in sections(changes):
        listed = "\n".join(f"- {_code(row)}" for row in limited(rows, most))
        title = _escaped(title[0].upper() + title[1:])
        parts.append(_folded(title, listed) if rows else f"{title}.")
    parts.append(f"<sub>old: {_side(changes.old)} · new: {_side(changes.new)}</sub>")
    return "\n\n".join(parts) + "\n"


def _title(changes: Changes) -> str:
    names = list(dict.fromkeys([changes.old.name, changes.new.name]))
    return " → ".join(_escaped(name) for name in names)


def _row(line: Line) -> str:
    return f"| {SIGNS[line.sign]} | {_code(line.place)} | {_escaped(line.words)} | {delta_text(line.delta)} |"


def _side(side: Side) -> str:
    partial = "" if side.complete else ", partial"
    return f"{_code(side.target or side.name)} ({side.known_by}{partial})"


def _folded(title: str, content: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{content}\n\n</details>"


def _diagram(changes: Changes) -> str:
    if not (changes or changes.rewritten) or changes.graphs is None:
        return ""
    from modgraph.export.diff_picture import mermaid

    return mermaid(changes)


def _code(text: str) -> str:
    """`text` as code: the fence is longer than any in it, and no character of it ends a cell or a line."""
    plain = " ".join(text.split())
    if not plain:
        return ""
    longest = max((len(run) for run in re.findall("`+", plain)), default=0)
    fence = "`" * (longest + 1)
    space = " " if longest else ""
    return f"{fence}{space}{plain}{space}{fence}".replace("|", "\\|")


_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&@])")


def _escaped(text: str) -> str:
    """`text` so that nothing in it is Markdown, HTML or the name of a person."""
    entities = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "&#64;"}
    plain = " ".join(text.split())
    return _SPECIAL.sub(lambda found: entities.get(found[1]) or f"\\{found[1]}", plain)
