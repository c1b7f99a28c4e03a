"""Which layers to adapt: the last names of those that multiply by a matrix, in the repeated blocks."""

from __future__ import annotations

from collections.abc import Iterable

from modgraph.graph.paths import parameter_path
from modgraph.graph.suggestions import SuggestedEntry, Suggestion
from modgraph.names import plural
from modgraph.suggesting.blocks import Blocks
from modgraph.suggesting.layers import LONGEST, Held, Layers, as_known
from modgraph.suggesting.patterns import covering, listed, quoted, starred

SMALL = 0.01
"""Of the weights of all layers in the blocks; layers of a name that hold less stay as they are."""
_LINEAR = ("linear", "transposed")
_MOST_NAMED = 4


def suggest_lora(layers: Layers, blocks: Blocks) -> Suggestion:
    """`target_modules`, matched against the ends of names, and what occurs once."""
    linear = [path for path in layers.own if layers.role(path) in _LINEAR and not layers.is_read_by_attention(path)]
    inside = [path for path in linear if path in blocks.unit_of]
    names = _named(inside, set(linear), layers)
    weights = {name: layers.total(paths) for name, paths in names.items()}
    least = SMALL * sum(weight or 0 for weight in weights.values())
    targets = {name: paths for name, paths in names.items() if weights[name] is None or (weights[name] or 0) >= least}
    ordered = sorted(targets, key=lambda name: -(weights[name] or 0))
    folded = _together(path for name in ordered if _is_numbered(name) for path in targets[name])
    entries = [_entry("target", name, targets[name], layers) for name in ordered if not _is_numbered(name)]
    entries += [_entry("target", starred(paths)[0], paths, layers) for paths in folded]
    outside = _together(path for path in linear if path and path not in blocks.unit_of and not _matches(path, targets))
    heads = [paths[0] for paths in outside if len(paths) == 1]
    entries += [_entry("save", path, [path], layers) for path in heads]
    entries += [_entry("left", starred(paths)[0], paths, layers, "outside") for paths in outside if len(paths) > 1]
    entries += [_entry("left", name, names[name], layers, "small") for name in names if name not in targets]
    paste = []
    if any(_is_numbered(name) for name in ordered):
        paste.append(_whole_names([path for paths in targets.values() for path in paths], layers))
    elif targets:
        paste.append(listed("target_modules", ordered))
    if saved := [each.name for each in entries if each.role == "save"]:
        paste.append(f"{listed('modules_to_save', saved)}  # those of them that are trained anew")
    return Suggestion(
        kind="lora",
        paste="\n".join(paste) if targets else "",
        entries=tuple(entries),
        notes=tuple(_notes(targets, inside, heads, layers, blocks)),
        unknown=tuple(_unknown(layers, blocks)),
    )


def _named(inside: list[str], linear: set[str], layers: Layers) -> dict[str, list[str]]:
    """The layers in the blocks by their last name; by more of it where that also names what is no such layer."""
    found: dict[str, list[str]] = {}
    fits: dict[str, bool] = {}
    for path in inside:
        parts = path.split(".")
        choices = []
        for length in range(1, min(len(parts), LONGEST) + 1):
            name = ".".join(parts[-length:])
            if not parts[-length].isdecimal():
                choices.append(name)
        for name in choices:
            if name not in fits:
                fits[name] = all(each in linear for each in _matched(name, layers))
        good = (name for name in choices if fits[name])
        name = next(good, choices[0] if choices else path)
        found.setdefault(name, []).append(path)
    return found


def _matched(name: str, layers: Layers) -> Iterable[str]:
    """The modules that a name in `target_modules` is taken to mean."""
    return layers.by_end.get(name, ())


def _is_numbered(name: str) -> bool:
    """Whether the number of a block is in it, so that there are as many names as blocks."""
    return any(part.isdecimal() for part in name.split(".")[:-1])


def _whole_names(paths: list[str], layers: Layers) -> str:
    """A text in the place of a list is taken for a regular expression of whole names."""
    return f"target_modules = {quoted('|'.join(covering(paths, list(layers.own))))}"


def _together(paths: Iterable[str]) -> list[list[str]]:
    """Those that differ in numbers alone in one list."""
    found: dict[str, list[str]] = {}
    for path in paths:
        found.setdefault(starred([path])[0], []).append(path)
    return list(found.values())


def _matches(path: str, names: Iterable[str]) -> bool:
    return any(path == name or path.endswith(f".{name}") for name in names)


def _entry(role: str, name: str, paths: list[str], layers: Layers, note: str = "") -> SuggestedEntry:
    classes = {layers.own[path].class_name for path in paths}
    return SuggestedEntry(
        role=role,
        name=name,
        count=len(paths),
        parameters=layers.total(paths),
        class_name=classes.pop() if len(classes) == 1 else None,
        where=starred(paths),
        note=note,
    )


def _notes(
    targets: dict[str, list[str]], inside: list[str], heads: list[str], layers: Layers, blocks: Blocks
) -> Iterable[str]:
    if not blocks.series:
        yield f"no block repeats{as_known(layers)}, so nothing is proposed"
    elif not inside:
        is_read = any(layers.is_read_by_attention(path) for path in blocks.unit_of)
        yield f"no repeated block holds a linear layer{' that is called' if is_read else ''}{as_known(layers)}"
    for name, paths in targets.items():
        others = [path for path in _matched(name, layers) if path not in paths]
        linear = [path for path in others if layers.role(path) in _LINEAR]
        wrong = [path for path in others if layers.role(path) not in _LINEAR]
        if linear:
            yield f"{name} also matches {_some(linear)}, outside of the blocks"
        if wrong:
            yield f"{name} also matches {_some(wrong)}, which is no linear layer: name more of the path"
    yield from _tied_notes(list(dict.fromkeys([*inside, *heads])), layers)
    if any(layers.role(path) == "transposed" for path in inside):
        yield "weights of some are stored as (in, out): fan_in_fan_out=True"
    loose = [
        held.key
        for path in blocks.unit_of
        if layers.role(path) == "unknown"
        for held in _matrices(path, layers)
        if _use(held, layers)
    ]
    if loose:
        yield f"{_some(loose)} is a weight that no layer holds, which target_modules cannot name"
    attention = [path for path in layers.own if layers.is_read_by_attention(path)]
    if attention:
        told = (
            "is read by MultiheadAttention and never called, so it is"
            if len(starred(attention)) == 1
            else ("are read by MultiheadAttention and never called, so they are")
        )
        yield f"{_some(attention)} {told} left out"


def _tied_notes(paths: list[str], layers: Layers) -> Iterable[str]:
    for held in layers.held.values():
        if held.first != held.key and (held.node.path in paths or held.first.rpartition(".")[0] in paths):
            yield f"{held.key} is tied to {held.first}: what is trained of one is trained of both"


def _unknown(layers: Layers, blocks: Blocks) -> Iterable[str]:
    yield from layers.unknown
    open_roles: dict[str, list[str]] = {}
    for path in blocks.unit_of:
        if layers.role(path) == "unknown" and any(_use(held, layers) is None for held in _matrices(path, layers)):
            open_roles.setdefault(layers.own[path].class_name or "", []).append(path)
    for name, paths in open_roles.items():
        what = name or "a class that is not known"
        where = f"{plural(len(paths), 'module')}: {_some(paths)}"
        yield f"what {what} does with its weights is not known ({where})"


def _matrices(path: str, layers: Layers) -> Iterable[Held]:
    """The parameters of a module that may have two dimensions or more."""
    held = (layers.held[parameter_path(path, each.name)] for each in layers.own[path].parameters)
    return (each for each in held if each.parameter.shape is None or len(each.parameter.shape) >= 2)


def _use(held: Held, layers: Layers) -> bool | None:
    return layers.is_multiplied(held.key)


def _some(paths: Iterable[str]) -> str:
    found = list(starred(paths))
    more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    return ", ".join(found[:_MOST_NAMED]) + more
