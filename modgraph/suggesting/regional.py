"""Which blocks to compile one by one: repeated ones, of which one compilation serves all."""

from __future__ import annotations

from collections.abc import Iterable

from modgraph.graph.suggestions import SuggestedEntry, Suggestion
from modgraph.names import last_name, plural
from modgraph.suggesting.blocks import Blocks, Series
from modgraph.suggesting.layers import Layers, as_known
from modgraph.suggesting.patterns import covering, listed, starred


def suggest_compile(layers: Layers, blocks: Blocks) -> Suggestion:
    """A loop that compiles each of the repeated blocks where it stands."""
    every = list(layers.own)
    paths = [path for series in blocks.series for path in series.paths]
    patterns = covering(paths, every)
    entries = tuple(_entry(series, layers, blocks, every) for series in _by_class(blocks.series))
    return Suggestion(
        kind="compile",
        paste=_paste(patterns),
        entries=entries,
        notes=tuple(_notes(layers, blocks)),
        unknown=layers.unknown,
    )


def _by_class(found: list[Series]) -> list[Series]:
    """Those of one class as one, where they stand alike in blocks that repeat themselves: `stages.*.blocks.*`."""
    joined: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for series in found:
        joined.setdefault((series.class_name, starred(series.paths)), []).extend(series.paths)
    return [Series(name, tuple(paths)) for (name, _), paths in joined.items()]


def _entry(series: Series, layers: Layers, blocks: Blocks, every: list[str]) -> SuggestedEntry:
    count = [layers.weight_of(path) for path in series.paths]
    known = [each for each in count if each is not None]
    return SuggestedEntry(
        role="block",
        name="|".join(covering(series.paths, every)),
        count=len(series.paths),
        parameters=sum(known) if len(known) == len(count) else None,
        class_name=series.class_name,
        where=starred(series.paths),
        note=_alike(series, blocks),
    )


def _alike(series: Series, blocks: Blocks) -> str:
    found = blocks.variants(series)
    if blocks.is_open(series):
        return "whether they are alike is not known"
    if found.kinds > 1:
        return f"{found.kinds} kinds, by layers, arguments or sizes: as many compilations, as a rule"
    differs = [f"alike but for {', '.join(found.numbered)}"] if found.numbered else []
    differs += ["the objects that they are given differ"] if found.given > 1 else []
    if differs:
        return f"{', and '.join(differs)}: one compilation, unless forward reads that"
    return "alike: one compilation"


def _paste(patterns: list[str]) -> str:
    if not patterns:
        return ""
    return "\n".join(
        [
            "import re",
            listed("blocks", patterns),
            "for name, module in model.named_modules():",
            "    if any(re.fullmatch(pattern, name) for pattern in blocks):",
            "        module.compile()",
        ]
    )


def _notes(layers: Layers, blocks: Blocks) -> Iterable[str]:
    if not blocks.series:
        yield f"no block repeats{as_known(layers)}: compile the model as a whole"
        return
    count = sum(len(series.paths) for series in blocks.series)
    classes = ", ".join(dict.fromkeys(last_name(series.class_name) for series in blocks.series))
    yield f"{plural(count, 'block')} of {classes}; what is outside of them runs as it is"
    if not layers.graph.calls:
        yield "the sizes that go in are not known, and others compile anew"
