"""What the summary says of a checkpoint: how much of it fits, and what does not, whole subtrees in one line."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence

from modgraph.export.look.labels import shape_text
from modgraph.export.text.table import Pen, shortened
from modgraph.graph.model import CheckpointComparison, Graph, Shape
from modgraph.graph.state_dict import state_dict_of

MAX_LINES = 12
"""Lines for each kind of difference; the JSON has every key."""
_INDENT = "  "
_LOADING = "load_state_dict needs its keys without {}"


def checkpoint_text(graph: Graph, width: int, pen: Pen) -> list[str]:
    """The lines about the checkpoint; none where the model was compared with none."""
    found = graph.checkpoint
    if found is None:
        return []
    style = "bold" if found.fits else "bold red"
    lines = textwrap.wrap(
        pen.plain(checkpoint_headline(found)), max(width, 40), subsequent_indent="  ", break_on_hyphens=False
    )
    lines[0] = pen.paint("checkpoint", style) + lines[0][len("checkpoint") :]
    if found.prefix:
        lines.append(shortened(pen.plain(f"{_INDENT}{_LOADING.format(repr(found.prefix))}"), max(width, 40), pen))
    for title, entries in _sections(found, {entry.key: entry.shape for entry in state_dict_of(graph).entries}):
        if entries:
            lines.append(f"{_INDENT}{title}")
            lines += [shortened(pen.plain(f"{_INDENT * 2}{entry}"), max(width, 40), pen) for entry in _limited(entries)]
    return lines


def _sections(found: CheckpointComparison, shapes: Mapping[str, Shape | None]) -> Iterator[tuple[str, list[str]]]:
    """Each kind of difference with its lines."""

    def grouped(keys: Sequence[str]) -> list[str]:
        return [_line(*group, shapes) for group in _Subtrees(names, set(keys)).groups(keys)]

    names = [*shapes, *(f"{found.prefix}{key}" for key in shapes if found.prefix)]

    yield "missing from the checkpoint", grouped(found.missing)
    yield "unexpected, not in the model", grouped(found.unexpected)
    yield (
        "of another shape",
        [
            f"{one.key} · {shape_text(one.model)} in the model, {shape_text(one.checkpoint)} in the checkpoint"
            for one in found.mismatched
        ],
    )
    yield "not tensors in the checkpoint", grouped(found.not_tensors)
    yield "cannot tell: the graph leaves open what the model has there", grouped(found.undecided)


def checkpoint_headline(found: CheckpointComparison) -> str:
    """How much of the checkpoint fits, in one line."""
    n_model = sum(map(len, (found.missing, found.mismatched, found.not_tensors, found.tied)), found.matching)
    parts = [f"checkpoint {found.file}" + (f", entry {found.entry!r}" if found.entry else "")]
    if found.prefix:
        parts.append(f"{found.prefix!r} taken off its keys")
    parts.append(f"{found.matching:,} of {n_model:,} keys match" if n_model else "the model has no keys")
    for count, words in (
        (len(found.missing), "missing"),
        (len(found.unexpected), "unexpected"),
        (len(found.mismatched), "of another shape"),
        (len(found.not_tensors), "not a tensor" if len(found.not_tensors) == 1 else "not tensors"),
        (len(found.tied), "tied, held under another name"),
        (len(found.undecided), "cannot be told"),
    ):
        if count:
            parts.append(f"{count:,} {words}")
    return " · ".join(parts)


class _Subtrees:
    """Which differing keys can be said in one line: those of a subtree of which nothing in the model is left.

    The model's keys count as the checkpoint names them too.
    """

    def __init__(self, model_keys: Iterable[str], differing: set[str]) -> None:
        self.kept = {prefix for key in model_keys if key not in differing for prefix in _prefixes(key)}

    def groups(self, keys: Sequence[str]) -> Iterator[tuple[str, int]]:
        """Each subtree ("layer4.") or single key, in the order of its first key, with the number of its keys."""
        counts: dict[str, int] = {}
        single: dict[str, str] = {}
        for key in keys:
            top = next((prefix for prefix in _prefixes(key) if prefix not in self.kept), key)
            counts[top] = counts.get(top, 0) + 1
            single[top] = key
        for top, count in counts.items():
            yield (single[top] if count == 1 else top), count


def _prefixes(key: str) -> Iterator[str]:
    """ "layer4.", "layer4.0.", ... of "layer4.0.conv1.weight"."""
    end = key.find(".")
    while end != -1:
        yield key[: end + 1]
        end = key.find(".", end + 1)


def _line(name: str, count: int, shapes: Mapping[str, Shape | None]) -> str:
    if count > 1 or name.endswith("."):
        return f"{name}* · {count:,} keys"
    shape = shapes.get(name)
    return name if shape is None else f"{name} · {shape_text(shape)}"


def _limited(entries: list[str]) -> list[str]:
    if len(entries) <= MAX_LINES:
        return entries
    return [*entries[: MAX_LINES - 1], f"… and {len(entries) - MAX_LINES + 1:,} more lines; the JSON has all"]
