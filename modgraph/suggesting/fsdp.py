"""Which classes to shard by: those of repeated blocks that hold the weights."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from modgraph.graph.paths import is_below
from modgraph.graph.suggestions import SuggestedEntry, Suggestion
from modgraph.names import last_name, plural
from modgraph.suggesting.blocks import Blocks
from modgraph.suggesting.layers import Layers, as_known
from modgraph.suggesting.patterns import starred

LEAST = 0.05
"""Of what the class holds that holds the most; one that holds less is not named."""


def suggest_fsdp(layers: Layers, blocks: Blocks) -> Suggestion:
    """`transformer_layer_cls`, what stays outside, and tied weights that would be split."""
    total = layers.weight_of("")
    candidates = list(dict.fromkeys(series.class_name for series in blocks.series))
    classes: dict[str, list[str]] = {}
    small: list[SuggestedEntry] = []
    of_class = {name: [path for path, node in layers.own.items() if node.class_name == name] for name in candidates}
    of_class = {name: paths for name, paths in of_class.items() if not layers.is_container(layers.own[paths[0]])}
    weights = {name: _held(paths, layers) for name, paths in of_class.items()}
    most = max((held or 0 for held in weights.values()), default=0)
    for name, paths in of_class.items():
        held = weights[name]
        if held is not None and held < LEAST * most:
            small.append(_entry("left", name, paths, layers, total, note="repeats, and holds little"))
        else:
            classes[name] = paths
    for name in list(_frames(classes, layers, most)):
        inner, note = _inside(name, classes), "repeats, and holds little beside the blocks in it"
        small.append(_entry("left", name, classes.pop(name), layers, total, inner, note=note))
    entries = [_entry("block", name, paths, layers, total, _inside(name, classes)) for name, paths in classes.items()]
    inside = {node.path: path for paths in classes.values() for path in paths for node in layers.below(path)}
    entries += [*small, *_outside(inside, layers, total)]
    return Suggestion(
        kind="fsdp",
        paste=_paste(list(classes)),
        entries=tuple(entries),
        notes=tuple(_notes(classes, inside, layers, blocks)),
        unknown=layers.unknown,
    )


def _held(paths: list[str], layers: Layers, inner: Container[str] = ()) -> int | None:
    """The weights of modules and of all below them, each once, without those of the units `inner` in them."""
    every = dict.fromkeys(node.path for path in paths for node in layers.below(path))
    return layers.total([path for path in every if path not in inner and not is_below(path, inner)])


def _inside(name: str, classes: Mapping[str, list[str]]) -> set[str]:
    """The units of other classes that lie in those of one."""
    own = set(classes[name])
    return {path for other, paths in classes.items() if other != name for path in paths if is_below(path, own)}


def _frames(classes: Mapping[str, list[str]], layers: Layers, most: int) -> Iterable[str]:
    """Classes that hold little beside the units in them: to wrap these and what is around them gains nothing."""
    for name, paths in classes.items():
        inner = _inside(name, classes)
        held = _held(paths, layers, inner)
        if inner and held is not None and held < LEAST * most:
            yield name


def _share(held: int | None, total: int | None) -> str:
    return f"{100 * held / total:.1f} %" if held is not None and total else ""


def _entry(
    role: str,
    name: str,
    paths: list[str],
    layers: Layers,
    total: int | None,
    inner: Container[str] = (),
    *,
    note: str = "",
) -> SuggestedEntry:
    """What is told of the units of a class: their weights without those of the units `inner` in them."""
    held = _held(paths, layers, inner)
    each = {_held([path], layers, inner) for path in paths}
    of_each = f"{next(iter(each)):,} each" if len(each) == 1 and None not in each else ""
    return SuggestedEntry(
        role=role,
        name=last_name(name),
        count=len(paths),
        parameters=held,
        class_name=name,
        where=starred(paths),
        note=", ".join(filter(None, (note, _share(held, total), of_each))),
    )


def _outside(inside: dict[str, str], layers: Layers, total: int | None) -> Iterable[SuggestedEntry]:
    """Modules outside of the blocks that hold weights, the largest first."""
    if not inside:
        return
    left = [path for path in layers.own if path not in inside and layers.elements[path] != 0]
    for path in sorted(left, key=lambda path: -(layers.elements[path] or 0)):
        yield SuggestedEntry(
            role="outside",
            name=path or "the model's own",
            count=1,
            parameters=layers.elements[path],
            class_name=layers.own[path].class_name,
            note=_share(layers.elements[path], total),
        )


def _paste(names: list[str]) -> str:
    if not names:
        return ""
    lines = []
    for name in names:
        module, _, cls = name.rpartition(".")
        if _is_importable(name):
            lines.append(f"from {module} import {cls}")
    return "\n".join([*lines, f"transformer_layer_cls = {{{', '.join(map(last_name, names))}}}"])


def _is_importable(name: str) -> bool:
    """Whether its last part is what is imported: no class in a class or function, no name that was put together."""
    module, _, cls = name.rpartition(".")
    return all(part.isidentifier() for part in (*module.split("."), cls)) and not last_name(module)[:1].isupper()


def _notes(classes: dict[str, list[str]], inside: dict[str, str], layers: Layers, blocks: Blocks) -> Iterable[str]:
    frames = [series for series in blocks.series if layers.is_container(layers.own[series.paths[0]])]
    for series in frames:
        kind = last_name(series.class_name)
        yield f"{', '.join(starred(series.paths))} is a plain {kind}: that class names too much; wrap it by its path"
    if not classes and not frames:
        yield f"no class of blocks repeats{as_known(layers)}, so none is proposed"
    for name in classes:
        if not _is_importable(name):
            yield f"{name} is a class inside of another, or made in a function: how it is imported is not known"
    for held in layers.held.values():
        if held.first == held.key:
            continue
        one, other = inside.get(held.node.path, ""), _unit(held.first, inside)
        if one != other:
            yield f"{held.key} is tied to {held.first}, which lies in another unit: apart, they are no longer one"
        elif not one and inside:
            yield f"{held.key} is tied to {held.first}: both stay in the outermost unit, so wrap neither by itself"
    count = sum(len(paths) for paths in classes.values())
    if count:
        yield f"{plural(count, 'unit')}, and one around all"


def _unit(key: str, inside: dict[str, str]) -> str:
    """The block in which a parameter lies; "" for none."""
    end = len(key)
    while (end := key.rfind(".", 0, end)) > 0:
        if key[:end] in inside:
            return inside[key[:end]]
    return ""
