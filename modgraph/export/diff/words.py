"""What changed, in words: one line for all that is alike, and none for what follows from something else.

layers.0 – 11   hidden 3072 → 4096, in 12 places       +37.8 M
layer3          widened 256 → 512, in 5 layers         +1.2 M
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from modgraph.changes.leeway import VAGUE
from modgraph.changes.model import Changed, Changes, Field, FieldKind, Renamed, Rewritten, Side, Subtree, Undecided
from modgraph.changes.runs import FORWARD
from modgraph.export.diff.facts import field_text, name_of
from modgraph.export.look.arguments import argument_text
from modgraph.export.look.labels import class_title, clean, cut, cut_apart, number_text, shape_text
from modgraph.graph.model import Graph
from modgraph.names import last_name, natural

Sign = Literal["removed", "added", "renamed", "moved", "changed"]
SIGNS: dict[Sign, str] = {"added": "+", "removed": "−", "renamed": "→", "moved": "→", "changed": "~"}

MOST_FIELDS = 4
"""Facts of one module that are written out."""
MOST_WORDS = 60
"""Characters of what is said of one module in one line, where it is several facts."""
MOST_NAMES = 5
MOST_REWRITTEN = 3
"""Methods, and classes, that a verdict names."""
MOST_ALIKE = 3
"""Lines that say the same of modules that differ in numbers alone."""
_OUT_WORDS = """
    out_features out_channels num_features num_channels normalized_shape embedding_dim embed_dim hidden_size d_model
"""
_OUT = frozenset(_OUT_WORDS.split())
"""Arguments of torch's own layers that say how wide they are."""
_IN = frozenset(["in_features", "in_channels", "input_size", "in1_features", "in2_features"])

_OF_OUTPUTS: dict[FieldKind, str] = {"outputs": "shape", "output_dtypes": "dtype"}

Pair = tuple[int, int]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One thing that a change did, to one module or to several alike."""

    sign: Sign
    place: str
    """ "layers.0 – 11", "emb → embedding"."""
    words: str = ""
    delta: int | None = 0
    """Parameters more; None where that is not known."""
    key: tuple[Any, ...] = ()


def lines(changes: Changes) -> list[Line]:
    """All of it, by place: what was removed, added, renamed, moved and changed."""
    old, new = _details(changes)
    found = _lone_lines(changes.removed, "removed", old) + _lone_lines(changes.added, "added", new)
    found += [
        Line(
            sign="renamed",
            place=f"{one.old} → {one.new}",
            words=_what(one),
            delta=one.in_total,
            key=(natural(one.new),),
        )
        for one in changes.renamed
    ]
    found += _moved_lines(changes.moved)
    found += _changed_lines(changes)
    order = list(SIGNS)
    return sorted(found, key=lambda line: (order.index(line.sign), line.key))


def verdict(changes: Changes) -> str:
    """The whole in one line: "2 added · 12 changed · parameters 1,306 → 2,394 (+1,088)"."""
    new, gone = (sum(one.side == side for one in changes.findings) for side in ("new", "old"))
    counts = [
        (sum(one.modules for one in changes.added), "added"),
        (sum(one.modules for one in changes.removed), "removed"),
        (len(changes.renamed), "renamed"),
        (len(changes.moved), "moved"),
        (len(changes.changed), "changed"),
        (len(changes.dataflow), "other ways of data" if len(changes.dataflow) > 1 else "other way of data"),
        (new, "new finding" if new == 1 else "new findings"),
        (gone, "finding gone" if gone == 1 else "findings gone"),
    ]
    said = [f"{count:,} {word}" for count, word in counts if count]
    shown = [total for total in changes.totals if total.name in ("parameters", "flops", "run")]
    said += [total_text(total.name, total.old, total.new) for total in shown]
    if not changes:
        said = ["no difference" if not (changes.undecided or _left_alone(changes)) else "no difference found"]
        # Of source alone no forward is known: a model that computes something else must not read as the same.
        if _not_run(changes) and changes.forward == "unknown":
            said = [f"{said[0]} in modules, arguments and tensors"]
            said += ["forward not compared (--run does)"] * (not changes.rewritten)
    if changes.rewritten:
        # First where there is nothing else: a change that may be one must not begin with "no difference".
        said.insert(len(said) if changes else 0, f"{_rewritten_names(changes)} changed ({effect_unknown(changes)})")
    if changes.undecided:
        said.append(_not_told(changes))
    left = _left_alone(changes)
    if left and not (changes and changes.forward == "predicted"):
        said.append(f"not compared: {'; '.join(left)}")
    return " · ".join(said)


def _left_alone(changes: Changes) -> list[str]:
    """What was not compared, where that is not said otherwise."""
    said_already = not changes and _not_run(changes) and changes.forward == "unknown"
    return list(dict.fromkeys(one.what for one in changes.not_compared if not (said_already and one.what == FORWARD)))


def undecided_places(undecided: Iterable[Undecided]) -> list[list[Undecided]]:
    """What cannot be told, by where it is and why."""
    grouped: dict[Hashable, list[Undecided]] = {}
    for one in undecided:
        grouped.setdefault((one.path, one.side, one.reason, *places_of(one)), []).append(one)
    return list(grouped.values())


def under_text(condition: str) -> str:
    """ "where `w <= 64`"; a condition that names no test is one all the same."""
    return f"where `{clean(condition)}`" if condition and not condition.startswith(VAGUE) else "under a condition"


def places_of(one: Undecided) -> list[str]:
    """The lines that leave it open, as "net.py:12"."""
    return list(dict.fromkeys(place for place in (one.old_place, one.new_place) if place is not None))


def _not_told(changes: Changes) -> str:
    """How many places could not be compared; where nothing else is told, the first with its line."""
    groups = undecided_places(changes.undecided)
    counted = f"{len(groups):,} place{'' if len(groups) == 1 else 's'} could not be compared"
    if changes:
        return counted
    group = next((each for each in groups if places_of(each[0])), groups[0])
    lines = places_of(group[0])
    at = f" ({' and '.join(lines)})" if lines else ""
    first = f"{name_of(group[0].path)}, {group[0].what}{at}"
    return f"{counted}, the first: {first}" if len(groups) > 1 else f"{counted}: {first}"


def known_words(side: Side) -> str:
    """By what a model is known: of a file, neither a prediction nor a run."""
    return "read from a file" if side.known_by == "nothing" else side.known_by


def _not_run(changes: Changes) -> bool:
    return changes.old.known_by == changes.new.known_by == "predicted"


def effect_unknown(changes: Changes) -> str:
    """What is to be said of methods of which nothing but another text is known."""
    if changes.forward == "predicted":
        if _leaves_effect_open(changes):
            return "whether it does the same cannot be told"
        same = "the same calls, operations and shapes, as far as is known"
        return same if _nothing_else(changes) else "no further effect of it is known"
    return "its effect is not known" + (" without --run" if _not_run(changes) else "")


def _leaves_effect_open(changes: Changes) -> bool:
    """Whether it cannot be told what one of these methods does, in its module or in what it calls."""
    inside = [(one.new, f"{one.new}." if one.new else "") for one in changes.rewritten]
    return any(
        each.path == path or each.path.startswith(below)
        for each in changes.undecided
        if each.is_of_forward
        for path, below in inside
    )


def _nothing_else(changes: Changes) -> bool:
    """Whether nothing else is told of the modules whose methods have another text, and of what is right in them."""
    told = {one.new for one in changes.changed}
    told |= {one.path.rpartition(".")[0] for one in changes.added}
    told |= {one.new.rpartition(".")[0] for one in (*changes.renamed, *changes.moved)}
    gone = {one.path.rpartition(".")[0] for one in changes.removed}
    return not any(one.new in told or one.old in gone for one in changes.rewritten)


def _rewritten_names(changes: Changes) -> str:
    """ "forward of Block and of Net"."""
    names = [_method_names(*key) for key in _by_methods(changes)]
    more = f" and {len(names) - MOST_REWRITTEN} more" if len(names) > MOST_REWRITTEN else ""
    return ", ".join(names[:MOST_REWRITTEN]) + more


def rewritten_rows(changes: Changes) -> list[str]:
    """ "forward of Block, in layers.0 – 11": all the modules of one class in one row."""
    rows = []
    for key, group in _by_methods(changes).items():
        patterns: dict[str, list[str]] = {}
        for one in group:
            patterns.setdefault(pattern_of(one.new), []).append(one.new)
        places = [range_of(paths) for paths in patterns.values()]
        more = f" and {len(places) - MOST_NAMES} more" if len(places) > MOST_NAMES else ""
        rows.append(f"{_method_names(*key)}, in {', '.join(places[:MOST_NAMES])}{more}")
    return rows


def _by_methods(changes: Changes) -> dict[tuple[str, tuple[str, ...]], list[Rewritten]]:
    groups: dict[tuple[str, tuple[str, ...]], list[Rewritten]] = {}
    for one in changes.rewritten:
        groups.setdefault((one.class_name, one.methods), []).append(one)
    return groups


def _method_names(class_name: str, methods: tuple[str, ...]) -> str:
    more = f" and {len(methods) - MOST_REWRITTEN} more" if len(methods) > MOST_REWRITTEN else ""
    return f"{', '.join(map(clean, methods[:MOST_REWRITTEN]))}{more} of {class_title(class_name)}"


TOTAL_NAMES = {"trainable_parameters": "trainable parameters", "buffers": "elements of buffers", "flops": "FLOPs"}


def total_text(name: str, old: Any, new: Any) -> str:
    """ "parameters 1,306 → 2,394 (+1,088)"."""
    title = TOTAL_NAMES.get(name, name)
    if isinstance(old, int) and isinstance(new, int):
        return f"{title} {old:,} → {new:,} ({new - old:+,})".replace("-", "−")
    if name == "inputs":
        return f"{title} {_inputs_text(old)} → {_inputs_text(new)}"
    return f"{title} {' → '.join(cut_apart(str(old), str(new), 160))}"


def _inputs_text(inputs: Any) -> str:
    parts = []
    for name, literal, tensors in inputs:
        shapes = ", ".join(shape_text(None if shape is None else tuple(shape)) for shape, _ in tensors)
        parts.append(f"{cut(name)} = {literal if literal is not None else shapes}")
    return ", ".join(parts) or "none"


def delta_text(delta: int | None) -> str:
    """ "+1.2 M", "−340"; "" for none."""
    if delta is None:
        return "?"
    if delta == 0:
        return ""
    return f"{'+' if delta > 0 else '−'}{number_text(abs(delta))}"


# --- one side alone, other names -------------------------------------------------------------------------------------


def _details(changes: Changes) -> tuple[Callable[[str], str], Callable[[str], str]]:
    """What each side says of a layer behind its class: " p 0.5"; "" of two sizes, which would read as a change."""
    if changes.graphs is None:
        return (lambda _: ""), (lambda _: "")

    def details(graph: Graph) -> Callable[[str], str]:
        nodes = {node.path: node for node in graph.modules}

        def detail(path: str) -> str:
            text = "" if nodes[path].class_name is None else argument_text(nodes[path], defaults=True)
            is_torch = (nodes[path].class_name or "").startswith("torch.")
            return f" {text}" if text and is_torch and "→" not in text else ""

        return detail

    return details(changes.graphs[0]), details(changes.graphs[1])


def _lone_lines(
    subtrees: Sequence[Subtree], sign: Literal["added", "removed"], detail: Callable[[str], str]
) -> list[Line]:
    """Neighbours that are alike in one line."""
    found: list[Line] = []
    groups: list[list[Subtree]] = []
    for one in subtrees:
        last = groups[-1] if groups else None
        if last and _follows(last[-1].path, one.path) and _alike(last[-1], one, detail):
            last.append(one)
        else:
            groups.append([one])
    for group in _together(
        groups, lambda one: (_without_numbers(one.path), one.class_name, one.modules, detail(one.path))
    ):
        first = group[0]
        known = _sum(group)
        inside = f", {first.modules:,} modules" + (" each" if len(group) > 1 else "") if first.modules > 1 else ""
        many = f", in {len(group)} places" if len(group) > 1 else ""
        delta = known if known is None or sign == "added" else -known
        words = f"{class_title(first.class_name)}{detail(first.path)}{inside}{many}"
        place = range_of([one.path for one in group])
        found.append(Line(sign=sign, place=place, words=words, delta=delta, key=(natural(first.path),)))
    return found


def _alike(one: Subtree, other: Subtree, detail: Callable[[str], str]) -> bool:
    return detail(one.path) == detail(other.path) and replace(one, path="") == replace(other, path="")


def _follows(before: str, path: str) -> bool:
    """Whether two paths are neighbours in a numbered row."""
    (home, _, number), (other_home, _, other) = before.rpartition("."), path.rpartition(".")
    return home == other_home and number.isdecimal() and other.isdecimal() and int(other) == int(number) + 1


def _what(one: Renamed) -> str:
    more = f", with {one.modules - 1:,} inside" if one.modules > 1 else ""
    return f"{class_title(one.class_name)}{more}"


def _moved_lines(moved: Sequence[Renamed]) -> list[Line]:
    """Those that went from one parent to another under their own names in one line."""
    groups: dict[tuple[str, str], list[Renamed]] = {}
    found: list[Line] = []
    for one in moved:
        (home, _, name), (other_home, _, other) = one.old.rpartition("."), one.new.rpartition(".")
        if name == other:
            groups.setdefault((home, other_home), []).append(one)
        else:
            words = f"{_what(one)}, moved"
            place, key = f"{one.old} → {one.new}", (natural(one.new),)
            found.append(Line(sign="moved", place=place, words=words, delta=one.in_total, key=key))
    for (home, other_home), group in groups.items():
        names = [last_name(one.old) for one in group]
        shown = ", ".join(names[:MOST_NAMES]) + (f" and {len(names) - MOST_NAMES} more" if names[MOST_NAMES:] else "")
        words = f"moved from {name_of(home)} to {name_of(other_home)}"
        key = (natural(group[0].new),)
        found.append(Line(sign="moved", place=shown, words=words, delta=_sum(group), key=key))
    return found


# --- changed ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Item:
    """A changed module, and what is to be said of it."""

    change: Changed
    fields: tuple[Field, ...]
    pairs: tuple[Pair, ...]
    """Old and new of its sizes, where these are all that changed; the one that says how wide it is first."""
    wide: bool
    """The first of `pairs` says how wide it is."""
    leaf: bool
    around: str = ""
    """What is said behind its new class: " p 0.2"; " around Linear (base)", where such a module stood in its place."""

    @property
    def path(self) -> str:
        return self.change.new


def _changed_lines(changes: Changes) -> list[Line]:
    holders = {path.rpartition(".")[0] for _, path in changes.pairs}
    _, new = _details(changes)
    items = [
        replace(_item(one, leaf=one.new not in holders), around=_wrapped(one, changes.added) or new(one.new))
        for one in changes.changed
    ]
    quiet = [item for item in items if {field.kind for field in item.fields} <= set(_OF_OUTPUTS)]
    said = {item.path for item in quiet}
    leading, following = _without_followers([item for item in items if item.path not in said])
    wide, rest = _widened(leading, following)
    found = wide + _grouped(rest, following)
    if quiet:
        names = [name_of(item.path) for item in quiet]
        shown = ", ".join(names[:MOST_NAMES]) + (" …" if len(names) > MOST_NAMES else "")
        words = _words(quiet[0]) if len(quiet) == 1 else f"outputs of another {_output_words(quiet)}"
        delta = _shares(quiet, {})
        found.append(Line(sign="changed", place=shown, words=words, delta=delta, key=(natural("\U0010ffff"),)))
    return found


def _output_words(items: Iterable[_Item]) -> str:
    kinds = {field.kind for item in items for field in item.fields}
    return " or ".join(word for kind, word in _OF_OUTPUTS.items() if kind in kinds)


def _wrapped(change: Changed, added: Iterable[Subtree]) -> str:
    """ " around Linear (base)", where a module of the class and size that stood there stands in another one now."""
    if not change.new or change.old_class is None or all(field.kind != "class" for field in change.fields):
        return ""
    inside = [one for one in added if one.path.rpartition(".")[0] == change.new]
    size = change.old_parameters
    names = [last_name(one.path) for one in inside if (one.class_name, one.parameters) == (change.old_class, size)]
    return f" around {class_title(change.old_class)} ({clean(names[0])})" if len(names) == 1 else ""


def _item(change: Changed, *, leaf: bool) -> _Item:
    fields = said_fields(change)
    sizes = [(field.name, pair) for field in fields if (pair := _pair(field)) is not None]
    ordered = sorted(sizes, key=lambda one: (one[0] in _IN, one[0] not in _OUT))
    pairs = tuple(pair for _, pair in ordered) if len(sizes) == len(fields) else ()
    return _Item(change, fields, pairs, bool(pairs) and ordered[0][0] in _OUT, leaf)


_Followers = dict[str, list[_Item]]
"""By path, the modules inside that got the sizes that this one got."""


def _is_wide(item: _Item, following: _Followers) -> bool:
    """Whether the first size of a module says how wide it is: that of a block does where a layer in it got it too."""
    inside = following.get(item.path, ())
    return item.wide or any(one.wide and one.leaf and one.pairs[0] == item.pairs[0] for one in inside)


def said_fields(change: Changed) -> tuple[Field, ...]:
    """What is said of a module: shapes only where no argument, and arguments only where no class says why."""
    kinds = {field.kind for field in change.fields}
    left_out: set[str] = set()
    if "argument" in kinds or "class" in kinds:
        left_out |= {"shape", *_OF_OUTPUTS}
    if "class" in kinds:
        left_out |= {"argument", "parameter", "buffer", "dtype", "operations"}
    elif "argument" in kinds:
        left_out |= {"parameter", "buffer"}
    if "shape" in kinds or "operations" in kinds or "calls" in kinds:
        left_out |= set(_OF_OUTPUTS)
    if "dtype" in kinds:
        left_out.add("output_dtypes")
    if "same_as" in kinds:
        left_out.add("tied")
    said = tuple(field for field in change.fields if field.kind not in left_out)
    return said or change.fields


def _pair(field: Field) -> Pair | None:
    """Old and new of an argument that is a number on both sides."""
    if field.kind != "argument":
        return None
    old, new = _number(field.old), _number(field.new)
    return None if old is None or new is None else (old, new)


def _number(value: Any) -> int | None:
    if isinstance(value, list) and len(value) == 1:  # the shape that a LayerNorm takes
        value = value[0]
    return value if type(value) is int else None


def _without_followers(items: Sequence[_Item]) -> tuple[list[_Item], _Followers]:
    """Those that are not so because something around them was given another size; and what follows from each."""
    by_path = {item.path: item for item in items}
    following: _Followers = {}
    leading = []
    for item in items:
        above = _leader(item, by_path)
        if above is None:
            leading.append(item)
        else:
            following.setdefault(above, []).append(item)
    return leading, following


def _leader(item: _Item, by_path: dict[str, _Item]) -> str | None:
    """The outermost module around `item` that got all the sizes that `item` got."""
    if not item.pairs:
        return None
    parts = item.path.split(".")
    for end in range(len(parts)):
        above = by_path.get(".".join(parts[:end]))
        if above is not None and above is not item and set(item.pairs) <= set(_all_pairs(above)):
            return above.path
    return None


def _all_pairs(item: _Item) -> list[Pair]:
    return [pair for field in item.fields if (pair := _pair(field)) is not None]


def _widened(items: Sequence[_Item], following: _Followers) -> tuple[list[Line], list[_Item]]:
    """Several layers or blocks of one container that became wider together, in one line; and the rest."""
    groups: dict[Pair, list[_Item]] = {}
    for item in items:
        if item.pairs and (item.leaf or _is_wide(item, following)):
            groups.setdefault(item.pairs[0], []).append(item)
    found: list[Line] = []
    said: set[str] = set()
    for pair, group in groups.items():
        for home, members in _by_container(group):
            wide = any(_is_wide(item, following) for item in members)
            if len(members) < 2 or not wide or _is_one_row(members):
                continue
            word = "widened" if pair[1] > pair[0] else "narrowed"
            what = "layers" if all(item.leaf for item in members) else "blocks"
            words = f"{word} {pair[0]} → {pair[1]}, in {len(members)} {what}{_inside(members, following)}"
            found.append(
                Line(
                    sign="changed",
                    place=home,
                    words=words,
                    delta=_shares(members, following),
                    key=(natural(home), pair),
                )
            )
            said |= {item.path for item in members}
    return found, [item for item in items if item.path not in said]


def _inside(items: Iterable[_Item], following: _Followers) -> str:
    count = sum(len(following.get(item.path, ())) for item in items)
    return f"; {count} inside follow{'s' if count == 1 else ''}" if count else ""


def _is_one_row(members: Sequence[_Item]) -> bool:
    """Whether they are said in one line anyway, as they are alike in all but a number."""
    return len({(pattern_of(item.path), _words(item)) for item in members}) == 1


def _by_container(group: Sequence[_Item]) -> list[tuple[str, list[_Item]]]:
    """The innermost container of them all; where that is the model, the containers right below it."""
    common = _common([item.path.split(".")[:-1] for item in group])
    if common:
        return [(".".join(common), list(group))]
    found: dict[str, list[_Item]] = {}
    for item in group:
        home, dot, _ = item.path.partition(".")
        if dot:
            found.setdefault(home, []).append(item)
    return [(".".join(_common([m.path.split(".")[:-1] for m in members])), members) for members in found.values()]


def _common(paths: Sequence[list[str]]) -> list[str]:
    shared = []
    for parts in zip(*paths, strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return shared


def _shares(items: Iterable[_Item], following: _Followers) -> int | None:
    """Of these, and of what follows from them."""
    return _sum(one.change for item in items for one in (item, *following.get(item.path, ())))


def _sum(items: Iterable[Changed | Subtree | Renamed]) -> int | None:
    found = [one.in_total for one in items]
    return None if None in found else sum(more or 0 for more in found)


def _grouped(items: Sequence[_Item], following: _Followers) -> list[Line]:
    """One line for all of which the same is said and that differ in a number of their path alone."""
    groups: dict[tuple[str, str], list[_Item]] = {}
    for item in items:
        groups.setdefault((pattern_of(item.path), _words(item)), []).append(item)
    found = []
    for group in _together(list(groups.values()), lambda item: (_without_numbers(item.path), _words(item))):
        said = _said(group[0])
        first, *rest = [", ".join(said)] if sum(map(len, said)) <= MOST_WORDS else said
        many = f", in {len(group)} places" if len(group) > 1 else ""
        line = Line(
            sign="changed",
            place=range_of([item.path for item in group]),
            words=f"{first}{many}{_inside(group, following)}",
            delta=_shares(group, following),
            key=(natural(group[0].path),),
        )
        found += [line, *(replace(line, words=f"{words}{many}", delta=0) for words in rest)]
    return found


def _together(groups: list[list[_T]], key: Callable[[_T], Hashable]) -> list[list[_T]]:
    """The groups; many of which the same is said (one in each stage of a model) become one."""
    alike: dict[Hashable, list[list[_T]]] = {}
    for group in groups:
        alike.setdefault(key(group[0]), []).append(group)
    merged = ([[one for group in same for one in group]] if len(same) > MOST_ALIKE else same for same in alike.values())
    return [group for same in merged for group in same]


def _without_numbers(path: str) -> str:
    return re.sub(r"\d+", "*", path)


def pattern_of(path: str) -> str:
    """The path with its numbers left out: what members of one row have in common."""
    return ".".join("*" if part.isdecimal() else part for part in path.split("."))


def range_of(paths: Sequence[str]) -> str:
    """ "layers.0 – 11.fc1"; where the numbers have gaps, or several differ, the first and how many more."""
    if len(paths) == 1:
        return name_of(paths[0])
    rows = [path.split(".") for path in paths]
    differing = [place for place, parts in enumerate(zip(*rows, strict=True)) if len(set(parts)) > 1]
    at = differing[0]
    if len(differing) == 1 and all(row[at].isdecimal() for row in rows):
        numbers = [int(row[at]) for row in rows]
        if numbers == list(range(numbers[0], numbers[0] + len(numbers))):
            parts = [*rows[0][:at], f"{numbers[0]} – {numbers[-1]}", *rows[0][at + 1 :]]
            return ".".join(parts)
        if len(numbers) <= MOST_NAMES:
            return ".".join([*rows[0][:at], ", ".join(map(str, numbers)), *rows[0][at + 1 :]])
    return f"{paths[0]} and {len(paths) - 1} like it"


def _words(item: _Item) -> str:
    return ", ".join(_said(item))


def _said(item: _Item) -> list[str]:
    if item.wide and len(set(item.pairs)) == 1 and item.leaf:
        old, new = item.pairs[0]
        names = ", ".join(field.name for field in item.fields)
        return [f"{'widened' if new > old else 'narrowed'} {old} → {new} ({names})"]
    classes = item.change.old_class, item.change.new_class
    said = [field_text(field, classes) + item.around * (field.kind == "class") for field in item.fields]
    if len(said) > MOST_FIELDS:
        said[MOST_FIELDS:] = [f"and {len(said) - MOST_FIELDS} more"]
    return said
