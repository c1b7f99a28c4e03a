"""What changed, as one page: the picture, and the tables. No network, no script."""

from __future__ import annotations

import re
from html import escape

from modgraph.changes.model import Changes
from modgraph.errors import ExportError
from modgraph.export.diff.text import sections
from modgraph.export.diff.words import SIGNS, Line, delta_text, lines, verdict
from modgraph.export.look import style
from modgraph.export.look.labels import clean

_COLORS = {
    "removed": style.STATES["removed"].strong,
    "added": style.STATES["added"].strong,
    "renamed": style.STATES["changed"].strong,
    "moved": style.STATES["changed"].strong,
    "changed": style.STATES["changed"].strong,
}
_STYLE = f"""
body {{ font-family: {style.FONT}, "Liberation Sans", sans-serif; color: {style.TEXT}; background: #fff; }}
main {{ margin: 16px; }} h1 {{ font-size: 20px; margin: 0 0 4px; }} h2 {{ font-size: 15px; margin: 24px 0 6px; }}
p {{ margin: 0 0 8px; color: {style.MUTED}; }}
table {{ border-collapse: collapse; font-size: 13px; }}
th, td {{ text-align: left; padding: 3px 12px 3px 0; border-bottom: 1px solid {style.FRAME_BORDER}; }}
td.number {{ text-align: right; }} code {{ font-family: "{style.MONO}", monospace; }}
li {{ font-size: 13px; }} figure {{ margin: 16px 0; overflow: auto; }} svg {{ max-width: none; }}
""".strip()
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def render(changes: Changes) -> str:
    """One page that needs nothing beside itself; without a Graphviz it has the tables alone, and says so."""
    title = " → ".join(dict.fromkeys([changes.old.name, changes.new.name]))
    sides = " → ".join(dict.fromkeys(filter(None, [changes.old.target, changes.new.target])))
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{_text(title)}: what changed</title>",
        f"<style>{_STYLE}</style></head><body><main>",
        f"<h1>{_text(title)}</h1>",
        f"<p>{_text(sides)}</p>",
        f"<p><strong>{_text(verdict(changes))}</strong></p>",
        *_table(lines(changes)),
        *_picture(changes),
    ]
    for name, rows in sections(changes):
        items = "".join(f"<li><code>{_text(row)}</code></li>" for row in rows)
        listed = f"<ul>{items}</ul>" if rows else ""
        parts.append(f"<h2>{_text(name[0].upper() + name[1:])}</h2>{listed}")
    parts.append("</main></body></html>")
    return "\n".join(parts) + "\n"


def _table(found: list[Line]) -> list[str]:
    if not found:
        return []
    head = "<tr><th></th><th>module</th><th>change</th><th>parameters</th></tr>"
    return ["<table>", f"<thead>{head}</thead><tbody>", *(_row(line) for line in found), "</tbody></table>"]


def _row(line: Line) -> str:
    sign = f'<td style="color:{_COLORS[line.sign]}" title="{line.sign}"><b>{SIGNS[line.sign]}</b></td>'
    cells = f"<td><code>{_text(line.place)}</code></td><td>{_text(line.words)}</td>"
    return f'<tr>{sign}{cells}<td class="number">{delta_text(line.delta)}</td></tr>'


def _picture(changes: Changes) -> list[str]:
    if not (changes or changes.rewritten) or changes.graphs is None:
        return []
    from modgraph.export.diff.picture import render as picture

    try:
        svg = picture(changes)
    except ExportError as error:
        return [f"<p>No picture: {_text(error.message)}</p>"]
    inner = re.sub(r"^.*?(?=<svg\b)", "", svg, count=1, flags=re.DOTALL)
    return [f'<figure aria-label="the new model, with what was removed">{inner.rstrip()}</figure>']


def _text(text: str) -> str:
    return escape(clean(text))
