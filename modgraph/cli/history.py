"""`modgraph history TARGET`: the commits at which the keys of a model's state dict changed."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from modgraph.cli.arguments import count
from modgraph.cli.bisect import refuse_revision
from modgraph.cli.console import Console
from modgraph.errors import ExitStatus, TargetError
from modgraph.names import plural

if TYPE_CHECKING:
    from modgraph.past_keys import KeyHistory, KeyStep

_EPILOG = """\
Commits are followed along first parents, the oldest first; the model is predicted at those that may have changed it.
Nothing is checked out or executed. Keys that are joined, split or transposed count as reshaped.

examples:
  modgraph history model.py:Net
  modgraph history package.models:build --since v1.0 --format markdown

exit status:
  0 done   1 never   2 the keys are unknown at every revision, or something could not be read
"""
_MOST = 200


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.usage, parser.epilog = "%(prog)s TARGET [options]", _EPILOG
    parser.add_argument("target", metavar="TARGET", help="model.py:Net or package.module:Net, as for `modgraph diff`")
    parser.add_argument("--since", metavar="REV", help="only commits after this revision; default: all")
    parser.add_argument("--until", metavar="REV", default="HEAD", help="up to this one; default: HEAD")
    parser.add_argument(
        "--most",
        type=count,
        default=_MOST,
        metavar="N",
        help=f"the newest N commits that touch sources; default: {_MOST}",
    )
    parser.add_argument(
        "--format",
        choices=("text", "markdown", "json"),
        default="text",
        metavar="NAME",
        help="text (default), markdown, json: every key",
    )


def run(arguments: argparse.Namespace, console: Console) -> ExitStatus:
    """Follow the keys, and tell where they changed."""
    from modgraph.past_keys import follow
    from modgraph.source.revisions import the_revision

    refuse_revision(arguments.target)
    newest = the_revision(arguments.until)
    since = None if arguments.since is None else the_revision(arguments.since)
    with console.stage("follow"):
        found = follow(arguments.target, newest, since, most=arguments.most)
    if found.n_known == 0:
        why = found.why or "no commit touches a source"
        raise TargetError(f"the keys of {arguments.target} are known at no revision: {why}")
    if arguments.format == "json":
        from modgraph.doors.printing import json_text

        console.document(json_text(json.dumps(_as_json(found), indent=2, ensure_ascii=False)))
    elif arguments.format == "markdown":
        console.document(_markdown(found))
    else:
        console.result("\n".join(_text(found, console)))
    _notes(found, console)
    return ExitStatus.OK


def _notes(found: KeyHistory, console: Console) -> None:
    for commit, why in list(found.unknown.items())[:5]:
        console.warning(f"passed over: {commit[:12]}: {why}")
    if len(found.unknown) > 5:
        console.warning(f"passed over: {len(found.unknown) - 5:,} more revisions")
    if found.cut:
        console.warning(f"older commits are left out: the newest {found.n_commits:,} were looked at (--most)")
    touch = "touches" if found.n_commits == 1 else "touch"
    console.note(f"read: {plural(found.n_read, 'revision')}; {plural(found.n_commits, 'commit')} {touch} sources")


_TITLES = ("commit", "date", "subject", "added", "removed", "renamed", "reshaped", "such as")


def _row(step: KeyStep) -> tuple[str, ...]:
    numbers = (f"{len(keys):,}" if keys else "" for keys in (step.added, step.removed, step.renamed, step.reshaped))
    open_keys = ["? left open"] * step.undecided
    signs = (
        ("+", step.added),
        ("−", step.removed),
        ("", [f"{a} → {b}" for a, b in step.renamed]),
        ("~", step.reshaped),
    )
    such = [f"{sign}{' ' if sign else ''}{keys[0]}" for sign, keys in signs if keys]
    return (step.commit.short, step.commit.day, step.commit.subject, *numbers, ", ".join([*such[:1], *open_keys]))


def _text(found: KeyHistory, console: Console) -> list[str]:
    from modgraph.export.text.table import Cell, Column, Pen, table

    if not found.steps:
        return ["the keys did not change"]
    pen = Pen(color=console.color, unicode=console.unicode, encoding=console.encoding)
    columns = [Column(title, right=title in _TITLES[3:7]) for title in _TITLES]
    columns[2] = Column("subject", shortest=16, at_end=True, ample=36)
    columns[7] = Column("such as", shortest=12, at_end=True, ample=32)
    rows = [[Cell(text) for text in _row(step)] for step in found.steps]
    return table(columns, rows, max(console.width, 40), pen)


def _markdown(found: KeyHistory) -> str:
    from modgraph.doors.printing import in_cell, markdown, markdown_code

    lines = [f"| {' | '.join(_TITLES)} |", "|---|---|---|--:|--:|--:|--:|---|"]
    for step in found.steps:
        commit, day, subject, *numbers, such = _row(step)
        cells = [f"`{commit}`", markdown(day), in_cell(markdown(subject)), *numbers]
        lines.append(f"| {' | '.join(cells)} | {in_cell(markdown_code(such)) if such else ''} |")
    return "\n".join(lines) + "\n"


def _as_json(found: KeyHistory) -> dict[str, Any]:
    return {
        "steps": [
            {
                "commit": step.commit.id,
                "date": step.commit.date,
                "subject": step.commit.subject,
                "keys": step.n_keys,
                "added": list(step.added),
                "removed": list(step.removed),
                "renamed": [list(pair) for pair in step.renamed],
                "reshaped": list(step.reshaped),
                "undecided": step.undecided,
            }
            for step in found.steps
        ],
        "passed_over": dict(found.unknown),
        "revisions_read": found.n_read,
        "commits": found.n_commits,
        "older_left_out": found.cut,
    }
