"""`modgraph bisect CHECKPOINT TARGET GOOD..BAD`: the first commit at which a checkpoint no longer fits."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from modgraph.cli.arguments import seconds, size
from modgraph.cli.console import Console
from modgraph.errors import ConfigError, ExitStatus, TargetError
from modgraph.names import plural
from modgraph.options import TraceOptions

if TYPE_CHECKING:
    from modgraph.bisecting import Bisection
    from modgraph.past import Past
    from modgraph.source.history import Commit
    from modgraph.source.revisions import Revision

_EPILOG = """\
Nothing is checked out or executed: the model is predicted at each revision that is tested. A revision at which it is
unknown whether the checkpoint fits is skipped, as by `git bisect skip`.

examples:
  modgraph bisect old.safetensors model.py:Net v1.0..HEAD
  modgraph bisect net.pt package.models:build 1f3c2ab..main --format json

exit status:
  0 found   1 it fits at both ends, or at neither   2 unknown, or something could not be read
"""
_MOST_CANDIDATES = 12
_RANGE = re.compile(r"(?P<good>.+?)\.\.(?P<bad>[^.].*)?", re.DOTALL)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.usage, parser.epilog = "%(prog)s CHECKPOINT TARGET GOOD..BAD [options]", _EPILOG
    parser.add_argument("checkpoint", metavar="CHECKPOINT", help="net.safetensors, net.pt, net.gguf, *.index.json")
    parser.add_argument("target", metavar="TARGET", help="model.py:Net or package.module:Net, as for `modgraph diff`")
    parser.add_argument(
        "range",
        metavar="GOOD..BAD",
        help="where it fits, and where it does not; without BAD: HEAD",
    )
    output = parser.add_argument_group("what is written")
    output.add_argument(
        "--format", choices=("text", "json"), default="text", metavar="NAME", help="text (default), json"
    )
    reading = parser.add_argument_group("reading a checkpoint that needs PyTorch")
    reading.add_argument("--timeout", type=seconds, metavar="SECONDS", help="for all of it")
    reading.add_argument("--memory-limit", type=size, metavar="SIZE", help="of its process: 4G, 512M")


def run(arguments: argparse.Namespace, console: Console) -> ExitStatus:
    """Search, and tell what was found."""
    from modgraph.api import read_checkpoint
    from modgraph.bisecting import Bisector
    from modgraph.past import Past
    from modgraph.source.history import is_ancestor

    good, bad = _ends(arguments.range)
    refuse_revision(arguments.target)
    if good.commit != bad.commit and not is_ancestor(bad.top, good.commit, bad.commit):
        raise TargetError(
            f"{good.name} is not part of the history of {bad.name}",
            hint=f"begin where both come from: git merge-base {shlex.quote(good.name)} {shlex.quote(bad.name)}",
        )
    checkpoint = read_checkpoint(arguments.checkpoint, TraceOptions.among(vars(arguments)))
    past = Past(arguments.target, bad)
    with console.stage("search"):
        found = Bisector(past, checkpoint).between(good.commit, bad.commit)
    if arguments.format == "json":
        from modgraph.doors.printing import json_text

        console.document(json_text(json.dumps(_as_json(found, past), indent=2, ensure_ascii=False)))
    else:
        _tell(found, past, arguments, console)
    for note in found.notes:
        console.warning(note)
    console.note(f"read: {plural(past.n_read, 'revision')}{_among(found.n_listed)}")
    if found.kind == "found":
        return ExitStatus.OK
    return ExitStatus.PARTIAL if found.kind in ("fits everywhere", "fits nowhere") else ExitStatus.FAILED


def _among(count: int) -> str:
    touch = "touches" if count == 1 else "touch"
    return f"; {plural(count, 'commit')} {touch} what the model reads" if count else ""


def _ends(text: str) -> tuple[Revision, Revision]:
    """The two revisions.

    Raises:
        ConfigError: it is no range.
        TargetError: there is no such revision.
    """
    from modgraph.source.revisions import the_revision

    match = _RANGE.fullmatch(text)
    if match is None:
        raise ConfigError(
            f"{text[:80]!r} is no range of revisions",
            hint="GOOD..BAD: a revision at which the checkpoint fits, and one at which it does not: v1.0..HEAD",
        )
    return the_revision(match["good"]), the_revision(match["bad"] or "HEAD")


def refuse_revision(target: str) -> None:
    """Raises ConfigError where a target has a revision of its own."""
    from modgraph.source.revisions import parse_revision

    revision = parse_revision(target)
    if revision is not None:
        raise ConfigError(f"{target[:80]!r} is of one revision", hint=f"leave that out: {revision.target}")


def _tell(found: Bisection, past: Past, arguments: argparse.Namespace, console: Console) -> None:
    from modgraph.doors.printing import printable

    name, target = printable(arguments.checkpoint), printable(arguments.target)
    if found.kind == "found":
        console.result("\n".join(_found(found, f"{name} no longer fits {target}", console)))
        assert found.commit is not None
        ends = (found.before[:12], past.name_at(found.before)), (found.commit.short, past.name_at(found.commit.id))
        command = f"modgraph diff {' '.join(shlex.quote(':'.join(end)) for end in ends)} --fail-on checkpoint"
        console.note(f"what became of each key: {command}")
    elif found.kind == "fits everywhere":
        console.result(f"{name} fits {target} at both ends of {printable(arguments.range)}")
    elif found.kind == "fits nowhere":
        head = f"{name} does not fit {target} at either end of {printable(arguments.range)}"
        console.result("\n".join([head, *_comparison(found, console)]))
    elif found.kind == "backwards":
        console.reason(f"{arguments.checkpoint} fits at the end of {arguments.range}, and not at its beginning")
    else:
        console.reason(f"the first commit at which {arguments.checkpoint} no longer fits cannot be told")
        for row in _candidates(found):
            console.note(row)


def _found(found: Bisection, what: str, console: Console) -> Iterator[str]:
    from modgraph.doors.printing import printable

    commit = found.commit
    assert commit is not None
    yield f"{commit.id} is the first commit at which {what}"
    yield f"date     {printable(commit.date)}"
    yield f"subject  {printable(commit.subject)}"
    yield ""
    yield from _comparison(found, console)


def _comparison(found: Bisection, console: Console) -> list[str]:
    from modgraph.export.text.checkpoint import checkpoint_text
    from modgraph.export.text.table import Pen

    verdict = found.verdict
    if verdict is None or verdict.found is None:
        return []
    graph = replace(verdict.found.graph, checkpoint=verdict.comparison)
    pen = Pen(color=console.color, unicode=console.unicode, encoding=console.encoding)
    return checkpoint_text(graph, console.width, pen)


def _candidates(found: Bisection) -> Iterator[str]:
    for commit in found.candidates[:_MOST_CANDIDATES]:
        about = " ".join(filter(None, (commit.short, commit.day, commit.subject)))
        why = found.reasons.get(commit.id)
        yield f"  {about}" + (f": {why}" if why else "")
    if len(found.candidates) > _MOST_CANDIDATES:
        yield f"  … {len(found.candidates) - _MOST_CANDIDATES:,} more"
    if not found.candidates:
        yield from (f"  {commit[:12]}: {why}" for commit, why in found.reasons.items())


def _as_json(found: Bisection, past: Past) -> dict[str, Any]:
    from modgraph.graph.codec import encode

    def commit(one: Commit) -> dict[str, Any]:
        told = {"commit": one.id, "date": one.date, "subject": one.subject}
        return {**told, "why": found.reasons[one.id]} if one.id in found.reasons else told

    comparison = None if found.verdict is None else found.verdict.comparison
    return {
        "result": found.kind,
        "first": None if found.commit is None else commit(found.commit),
        "fits_at": found.before or None,
        "candidates": [commit(one) for one in found.candidates],
        "checkpoint": None if comparison is None else encode(comparison),
        "notes": list(found.notes),
        "revisions_read": past.n_read,
        "commits_searched": found.n_listed,
    }
