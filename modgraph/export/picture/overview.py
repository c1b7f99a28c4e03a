"""Many models on one page: what is known of each, its picture in small, and what failed. As HTML and as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any
from urllib.parse import quote

from modgraph.doors.printing import in_cell, markdown_code
from modgraph.doors.printing import markdown as words
from modgraph.export.look import style
from modgraph.export.look.labels import clean
from modgraph.names import last_name

_MOST_REASON = 300
"""Characters of a reason that a page shows."""
_THUMBNAIL = ".thumbnail.svg"
_POLICY = "default-src 'none'; img-src 'self' file:; style-src 'unsafe-inline'"
_COLORS = {
    "complete": style.STATES["added"].strong,
    "partial": style.STATES["changed"].strong,
    "failed": style.STATES["failed"].strong,
}
_SIGNS = {"complete": "✓", "partial": "◐", "failed": "✖"}
_STYLE = f"""
body {{ font-family: {style.FONT}, "Liberation Sans", sans-serif; color: {style.TEXT}; background: #fff; margin: 0; }}
main {{ margin: 16px; }} h1 {{ font-size: 20px; margin: 0 0 4px; }} h2 {{ font-size: 15px; margin: 24px 0 6px; }}
p {{ margin: 0 0 8px; color: {style.MUTED}; }} code {{ font-family: "{style.MONO}", monospace; }}
ul.models {{ list-style: none; padding: 0; margin: 0; display: grid; gap: 12px;
  grid-template-columns: repeat(auto-fill, minmax(260px, 1fr)); }}
ul.models > li {{ border: 1px solid {style.FRAME_BORDER}; border-radius: 6px; padding: 10px; overflow: hidden; }}
.picture {{ display: block; height: 200px; margin: 0 0 8px; text-align: center; }}
.picture img {{ max-width: 100%; max-height: 200px; }}
.name {{ font-weight: bold; overflow-wrap: anywhere; }} .place {{ font-size: 12px; overflow-wrap: anywhere; }}
.figure {{ white-space: nowrap; }}
.facts, .reason, .findings {{ font-size: 13px; margin: 4px 0 0; color: {style.TEXT}; overflow-wrap: anywhere; }}
table {{ border-collapse: collapse; font-size: 13px; }}
th, td {{ text-align: left; vertical-align: top; padding: 3px 12px 3px 0; border-bottom: 1px solid {style.FRAME_BORDER};
  overflow-wrap: anywhere; }}
""".strip()


def state_word(state: str, facts: Mapping[str, Any]) -> str:
    """How far a model is known, as the summary of it alone says it: what was not run is predicted, and not complete."""
    return "predicted" if state == "complete" and facts.get("traced") is False else state


def forward_fault(facts: Mapping[str, Any]) -> str | None:
    """The finding that says that `forward`, of the model or of a part, fails with every input; None where a run shows
    what it does."""
    if facts.get("traced") is not False:
        return None
    of_forward = [each for each in facts.get("findings", []) if each["code"].startswith("MG30")]
    own = [each for each in of_forward if each.get("module") == ""]  # that of a part may never be come to
    return next(map(_finding_line, own or of_forward), None)


def _finding_line(found: Mapping[str, Any]) -> str:
    return f"{found['code']} {found['file']}:{found['line']}: {found['message']}"


@dataclass(frozen=True, slots=True)
class Entry:
    """One model."""

    name: str
    """ "pkg/net.py:Net"."""
    place: str
    """ "pkg/net.py"."""
    state: str
    """ "complete", "partial" or "failed"."""
    reason: str | None
    facts: Mapping[str, Any]
    """`traced`, `forward`, `assumed`, `class`, `parameters`, `modules`, `findings`; none where nothing is known."""
    files: tuple[str, ...]
    """Beside the page, relative to it."""

    @property
    def title(self) -> str:
        """The model without its file."""
        return self.name.removeprefix(self.place).removeprefix(":") or self.name

    @property
    def word(self) -> str:
        """How far it is known, with the marks of assumed arguments and of a run that must fail."""
        marks = ", arguments assumed" if self.facts.get("assumed") else ""
        return state_word(self.state, self.facts) + marks + (", forward fails" if self.fails else "")

    @property
    def sign(self) -> str:
        """A sign for that."""
        return _SIGNS[self.look]

    @property
    def look(self) -> str:
        """The state as which it is shown; a prediction without `forward` is a part."""
        if self.fails:
            return "failed"
        return "partial" if self.state == "complete" and self.lacks_forward else self.state

    @property
    def fails(self) -> bool:
        """It is predicted, and its own `forward` fails with every input."""
        return bool(self.facts.get("fails")) and forward_fault(self.facts) is not None

    @property
    def lacks_forward(self) -> bool:
        """It is predicted, and what `forward` does is not."""
        return self.facts.get("traced") is False and bool(self.facts.get("forward"))

    @property
    def thumbnail(self) -> str | None:
        """The file of its small picture."""
        return next((file for file in self.files if file.endswith(_THUMBNAIL)), None)

    @property
    def written(self) -> list[str]:
        """The files of the formats that were asked for."""
        return [file for file in self.files if not file.endswith(_THUMBNAIL)]

    @property
    def findings(self) -> list[str]:
        """A line each."""
        found = self.facts.get("findings", [])
        return [_finding_line(each) for each in found]


@dataclass(frozen=True, slots=True)
class Overview:
    """All of them."""

    entries: tuple[Entry, ...]
    left_out: tuple[tuple[str, str], ...]
    """(place, reason)."""
    n_open: int = 0
    """Models that were not come to: it was interrupted."""

    @property
    def verdict(self) -> str:
        """How many there are of which kind."""
        counts = [found for state in _WORDS if (found := self._counted(state))]
        n_assumed = sum(bool(entry.facts.get("assumed")) for entry in self.entries)
        n_findings = sum(len(entry.findings) for entry in self.entries)
        parts = [_count(len(self.entries), "model"), *counts, _count(n_findings, "finding")]
        parts += [f"arguments of {n_assumed} assumed"] * bool(n_assumed)
        parts += [f"{len(self.left_out)} left out"] * bool(self.left_out)
        parts += [f"{self.n_open} not done yet"] * bool(self.n_open)
        return " · ".join(parts)

    def _counted(self, word: str) -> str:
        """ "3 predicted (1 without forward, 1 of which forward fails)"; "" for none."""
        entries = [entry for entry in self.entries if state_word(entry.state, entry.facts) == word]
        bare = sum(entry.lacks_forward and entry.state == "complete" for entry in entries)
        n_fail = sum(entry.fails for entry in entries)
        notes = [f"{bare} without forward"] * bool(bare) + [f"{n_fail} of which forward fails"] * bool(n_fail)
        return f"{len(entries)} {word}" * bool(entries) + f" ({', '.join(notes)})" * bool(notes)


_WORDS = ("complete", "predicted", "partial", "failed")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _figures(entry: Entry) -> str:
    """What follows the state; a line breaks between two of them, not within one."""
    facts = entry.facts
    parameters = facts.get("parameters")
    parts = [] if parameters is None else [_count(parameters, "parameter")]
    parts += [_count(facts["modules"], "module")] if "modules" in facts else []
    return "".join(f' · <span class="figure">{part}</span>' for part in parts)


def _short(text: str | None) -> str:
    text = clean(" ".join((text or "").split()))
    return text if len(text) <= _MOST_REASON else text[: _MOST_REASON - 1] + "…"


# --- HTML ----------------------------------------------------------------------------------------------------------


def html(overview: Overview) -> str:
    """One page; the pictures and graphs lie beside it. The same overview gives the same text."""
    failed = [entry for entry in overview.entries if entry.state == "failed"]
    rows = [(entry.name, entry.reason or "") for entry in failed]
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        "<title>Models</title>",
        f"<style>{_STYLE}</style></head><body><main>",
        "<h1>Models</h1>",
        f"<p>{_text(overview.verdict)}</p>",
        *_table("Failures", "model", rows),
        *_table("Left out", "place", overview.left_out),
        "<h2>All models</h2>" if failed or overview.left_out else "",
        '<ul class="models">',
        *(_card(entry) for entry in overview.entries),
        "</ul>",
        "</main></body></html>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _text(text: str) -> str:
    return escape(clean(text))


def _table(title: str, what: str, rows: Sequence[tuple[str, str]]) -> list[str]:
    if not rows:
        return []
    body = [f"<tr><td><code>{_text(name)}</code></td><td>{_text(_short(reason))}</td></tr>" for name, reason in rows]
    head = f"<tr><th>{what}</th><th>reason</th></tr>"
    return [f"<h2>{title}</h2>", f"<table><thead>{head}</thead><tbody>", *body, "</tbody></table>"]


def _card(entry: Entry) -> str:
    color = _COLORS[entry.look]
    links = " · ".join(f'<a href="{_link(file)}">{_text(_suffix(file))}</a>' for file in entry.written)
    parts = ["<li>"]
    if entry.thumbnail is not None:
        target = next((file for file in entry.written if file.endswith((".svg", ".html"))), entry.thumbnail)
        image = f'<img src="{_link(entry.thumbnail)}" alt="picture of {_text(entry.title)}" loading="lazy">'
        parts.append(f'<a class="picture" href="{_link(target)}">{image}</a>')
    parts += [
        f'<div class="name">{_text(entry.title)}</div>',
        f'<div class="place"><code>{_text(entry.place)}</code></div>',
        f'<p class="facts"><b style="color:{color}">{entry.sign} {entry.word}</b>{_figures(entry)}</p>',
    ]
    if entry.reason:
        parts.append(f'<p class="reason">{_text(_short(entry.reason))}</p>')
    if entry.findings:
        items = "".join(f"<li>{_text(_short(line))}</li>" for line in entry.findings)
        parts.append(f'<details class="findings"><summary>{_count(len(entry.findings), "finding")}</summary>')
        parts.append(f"<ul>{items}</ul></details>")
    if links:
        parts.append(f'<p class="facts">{links}</p>')
    return "".join(parts) + "</li>"


def _link(file: str) -> str:
    return quote(file, errors="surrogateescape")


def _suffix(file: str) -> str:
    return last_name(file)


# --- Markdown ------------------------------------------------------------------------------------------------------


def markdown(overview: Overview) -> str:
    """The same as Markdown; pictures are shown where the files lie in a repository."""
    failed = [(entry.name, entry.reason or "") for entry in overview.entries if entry.state == "failed"]
    parts = ["# Models", words(overview.verdict)]
    if overview.entries:
        head = ["| | model | | parameters | modules | findings | files |", "|---|---|---|--:|--:|--:|---|"]
        parts.append("\n".join([*head, *map(_row, overview.entries)]))
    left_open = [(entry.name, entry.reason) for entry in overview.entries if entry.state != "failed" and entry.reason]
    for title, rows in (("Failures", failed), ("Left open", left_open), ("Left out", overview.left_out)):
        if rows:
            parts.append(f"## {title}")
            parts.append("\n".join(f"- {markdown_code(name)}: {words(_short(reason))}" for name, reason in rows))
    found = [(entry, line) for entry in overview.entries for line in entry.findings]
    if found:
        parts.append("## Findings")
        parts.append("\n".join(f"- {markdown_code(entry.name)}: {words(_short(line))}" for entry, line in found))
    return "\n\n".join(parts) + "\n"


def _row(entry: Entry) -> str:
    image = f'<img src="{_link(entry.thumbnail)}" height="96">' if entry.thumbnail else ""
    links = " ".join(f"[{_suffix(file)}]({_link(file)})" for file in entry.written)
    facts = entry.facts
    figures = [f"{facts[name]:,}" if facts.get(name) is not None else "" for name in ("parameters", "modules")]
    n_findings = str(len(entry.findings)) if facts else ""
    state = f"{entry.sign} {entry.word}"
    return (
        f"| {image} | {in_cell(markdown_code(entry.name))} | {state} | {' | '.join(figures)} | {n_findings} | {links} |"
    )
