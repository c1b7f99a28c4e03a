"""By what the tensors of an old checkpoint reach the new model: renamed with their modules, joined, cut, transposed.

Only what one thing explains, and nothing else, is told. Tensors are looked at where their modules stand: in the nearest
module around them that is on both sides. Sizes alone say little: three layers of eight rows and one of twenty-four
are a merge where no other three would make it, or where the names say so (q, k, v: qkv).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from modgraph.changes.certainty import Certainty
from modgraph.changes.joined_names import joined
from modgraph.changes.matching import Matching
from modgraph.changes.model import StateChanges
from modgraph.changes.trees import Tree
from modgraph.changes.weights import Carried, CheckpointChanges, in_order
from modgraph.graph.dataflow import operation_word
from modgraph.graph.paths import parameter_path
from modgraph.graph.state_dict import StateEntry
from modgraph.names import last_name, natural

MOST_PARTS = 6
"""Of one merge or split."""
MOST_IN_A_ROOM = 60
"""Tensors of one kind that went from, or came into, one module; of more, nothing is looked for."""
_FEWEST_OF_A_SUBTREE = 4
"""Tensors of a subtree that is known again by the names and shapes in it alone."""
_ATTENTION = "torch.nn.modules.activation.MultiheadAttention"
_JOINED_IN_IT = "qkv"
"""In which order its `in_proj_weight` has them. Source: torch's documentation."""

Entries = Mapping[str, StateEntry]
Texts = tuple[Mapping[str, Mapping[str, str]], Mapping[str, Mapping[str, str]]]
"""By class, the text of each of its methods; of both sides."""


def checkpoint_changes(
    matching: Matching,
    certainty: Certainty,
    state: StateChanges,
    entries: tuple[Entries, Entries],
    names: Mapping[str, str],
    texts: Texts = ({}, {}),
) -> CheckpointChanges:
    """What becomes of each key.

    Args:
        entries: what an old checkpoint holds, and what the new model asks for, by key; without what is undecided.
        names: new key by old key, of what went under another name with its module.
        texts: of both sides, the methods of classes whose source is at hand.
    """
    broken = bool(state.missing or state.unexpected or state.mismatched)
    pool = _Pool(matching, certainty, state, entries, texts)
    if broken or state.misplaced:
        pool.explain(names)
    lost, fresh, reshaped = pool.left_over()
    return CheckpointChanges(
        fits=False if broken else None if state.undecided else True,
        carried=in_order(pool.carried),
        lost=tuple(sorted(lost, key=natural)),
        fresh=tuple(sorted(fresh, key=natural)),
        reshaped=tuple(sorted(reshaped, key=natural)),
        undecided=bool(state.undecided),
    )


def _home(key: str) -> str:
    """The module that holds it."""
    return key.rpartition(".")[0]


def _kind(key: str) -> str:
    """What it is in its module: "weight" of "q.weight" and of "in_proj_weight"."""
    return last_name(key).rpartition("_")[2]


@dataclass(slots=True)
class _Room:
    """Keys of one kind that went from one module, and those that came into it, in the order of registration."""

    gone: list[str]
    come: list[str]


class _Pool:
    """The keys that are not what they were, and what explains them."""

    def __init__(
        self,
        matching: Matching,
        certainty: Certainty,
        state: StateChanges,
        entries: tuple[Entries, Entries],
        texts: Texts,
    ) -> None:
        self.matching, self.certainty, self.texts = matching, certainty, texts
        self.olds, self.news = entries
        self.mismatched = {one.key for one in state.mismatched}
        self.misplaced = set(state.misplaced)
        self.carried: list[Carried] = []
        self.went: set[str] = set()
        """Old keys that are explained."""
        self.filled: set[str] = set()
        self.together: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        """By module of either side ("-" or "+" before its path): which of the old were joined or cut into which new."""
        self._ranks: dict[str, int] | None = None

    def left_over(self) -> tuple[set[str], set[str], set[str]]:
        """Old keys, and new ones, that nothing explains, and those of both whose shape is another."""
        reshaped = self.mismatched - self.went - self.filled
        lost = {
            key
            for key in self.olds
            if key not in self.went and (key not in self.news or key in self.mismatched or key in self.filled)
        }
        fresh = {
            key
            for key in self.news
            if key not in self.filled and (key not in self.olds or key in self.mismatched or key in self.went)
        }
        return lost - reshaped, fresh - reshaped, reshaped

    def explain(self, names: Mapping[str, str]) -> None:
        """Finds what it can, the plainest first."""
        self._wrapped()
        for old, new in names.items():
            if old != new and self._is_free(old, new) and self._is_equal(old, new):
                self._take(Carried(how="rename", old=(old,), new=(new,)))
        self._subtrees()
        rooms = self._rooms()
        for kinds in rooms.values():
            for kind in sorted(kinds, key=lambda kind: (-self._rank(kinds[kind]), kind)):
                self._look_into(kinds[kind])
        self._in_one_module()
        self._names_of_one()

    # --- what is free ----------------------------------------------------------------------------------------------

    def _gone(self, *, misplaced: bool = False) -> list[str]:
        return [key for key in self.olds if self._is_gone(key, misplaced=misplaced)]

    def _come(self, *, misplaced: bool = False) -> list[str]:
        return [key for key in self.news if self._is_come(key, misplaced=misplaced)]

    def _is_gone(self, key: str, *, misplaced: bool = False) -> bool:
        if key in self.went or key not in self.olds:
            return False
        return key not in self.news or key in self.mismatched or (misplaced and key in self.misplaced)

    def _is_come(self, key: str, *, misplaced: bool = False) -> bool:
        if key in self.filled or key not in self.news:
            return False
        return key not in self.olds or key in self.mismatched or (misplaced and key in self.misplaced)

    def _is_free(self, old: str, new: str) -> bool:
        return self._is_gone(old, misplaced=True) and self._is_come(new, misplaced=True)

    def _is_equal(self, old: str, new: str) -> bool:
        one, other = self.olds[old], self.news[new]
        return (one.is_extra and other.is_extra) or (_is_known(one) and one.shape == other.shape)

    def _take(self, found: Carried) -> None:
        self.carried.append(found)
        # What is copied stays where it is, and what is dropped arrives under its other name.
        self.went.update(() if found.how == "copy" else found.old)
        self.filled.update(() if found.how == "drop" else found.new)

    # --- whole subtrees --------------------------------------------------------------------------------------------

    def _wrapped(self) -> None:
        """All of one side stands on the other below one prefix: a model that was put into another, or taken out."""
        counts = len(self.olds), len(self.news)
        if min(counts) < (2 if counts[0] == counts[1] else _FEWEST_OF_A_SUBTREE):
            return
        if all(self._is_gone(key) for key in self.olds):
            prefixes = self._prefixes(self.olds, self.news, self._is_equal)
            for key in self.olds if len(prefixes) == 1 else ():
                self._take(Carried(how="rename", old=(key,), new=(f"{prefixes[0]}{key}",)))
        if all(self._is_come(key) for key in self.news):
            prefixes = self._prefixes(self.news, self.olds, lambda new, old: self._is_equal(old, new))
            for key in self.news if len(prefixes) == 1 else ():
                self._take(Carried(how="rename", old=(f"{prefixes[0]}{key}",), new=(key,)))

    @staticmethod
    def _prefixes(inner: Entries, outer: Entries, is_equal: Callable[[str, str], bool]) -> list[str]:
        first = next(iter(inner))
        tried = [key[: -len(first)] for key in outer if key.endswith(f".{first}")]
        return [
            prefix
            for prefix in tried
            if all(f"{prefix}{key}" in outer and is_equal(key, f"{prefix}{key}") for key in inner)
        ]

    def _subtrees(self) -> None:
        """Subtrees of the same names and shapes, of which there is one on each side."""
        gone, come = _whole(self.olds, set(self._gone())), _whole(self.news, set(self._come()))
        for content in sorted(gone.keys() & come.keys(), key=lambda each: (-len(each), sorted(gone[each]))):
            olds, news = gone[content], come[content]
            if not len(olds) == len(news) == 1 or not self._may_be_one(olds[0], news[0]):
                continue
            pairs = [(f"{olds[0]}.{tail}", f"{news[0]}.{tail}") for tail, _ in content]
            if all(self._is_free(*pair) for pair in pairs):
                for old, new in pairs:
                    self._take(Carried(how="rename", old=(old,), new=(new,)))

    def _may_be_one(self, old: str, new: str) -> bool:
        one, other = (
            tree.class_of(path) if path in tree.nodes else None
            for tree, path in ((self.matching.old, old), (self.matching.new, new))
        )
        return None in (one, other) or one == other

    # --- tensors of one room ---------------------------------------------------------------------------------------

    def _rooms(self) -> dict[str, dict[str, _Room]]:
        rooms: dict[str, dict[str, _Room]] = {}
        for key in self._gone():
            if _is_known(self.olds[key]):
                self._room(rooms, self._room_of(key, self.matching.old), key).gone.append(key)
        for key in self._come():
            if _is_known(self.news[key]):
                self._room(rooms, self._room_of(key, self.matching.new), key).come.append(key)
        return rooms

    @staticmethod
    def _room(rooms: dict[str, dict[str, _Room]], home: str, key: str) -> _Room:
        return rooms.setdefault(home, {}).setdefault(_kind(key), _Room([], []))

    def _room_of(self, key: str, tree: Tree) -> str:
        """The nearest module around it that is on both sides, as the new model calls it: around its own, where that is
        a layer."""
        path = _home(key)
        if not tree.children.get(path):
            path = tree.parents.get(path, "")
        while path:
            old = path if tree is self.matching.old else self.matching.to_old.get(path)
            if old is not None and old in self.matching.to_new and self.certainty.is_sure(old):
                return self.matching.to_new[old]
            path = tree.parents.get(path, "")
        return ""

    def _rank(self, room: _Room) -> int:
        ranks = [len(self.olds[key].shape or ()) for key in room.gone]
        return max([*ranks, *(len(self.news[key].shape or ()) for key in room.come)], default=0)

    def _in_one_module(self) -> None:
        """The only tensor that went from a module that is the same, and the only one that came into it: one under
        another name, where the same is done with it. A bias that went and a scale that came are as long, and two."""
        old, new = self.matching.old, self.matching.new
        for home, other in self.matching.to_new.items():
            held = old.nodes[home], new.nodes[other]
            if old.class_of(home) != new.class_of(other) or not self.certainty.is_sure(home):
                continue
            for rows in ((held[0].parameters, held[1].parameters), (held[0].buffers, held[1].buffers)):
                gone = [key for each in rows[0] if self._is_gone(key := parameter_path(home, each.name))]
                come = [key for each in rows[1] if self._is_come(key := parameter_path(other, each.name))]
                if not len(gone) == len(come) == 1 or {*gone, *come} & self.mismatched:
                    continue
                if self._is_equal(gone[0], come[0]) and self._is_used_alike(gone[0], come[0]):
                    self._take(Carried(how="rename", old=(gone[0],), new=(come[0],)))

    def _is_used_alike(self, old: str, new: str) -> bool:
        """Whether the same is seen to be done with both: by the operations, else by the text of their class."""
        uses = _uses(old, self.matching.old), _uses(new, self.matching.new)
        if any(uses):
            return uses[0] == uses[1]
        one = self.texts[0].get(self.matching.old.nodes[_home(old)].class_name or "")
        two = self.texts[1].get(self.matching.new.nodes[_home(new)].class_name or "")
        if not one or not two:
            return False
        word = re.compile(rf"\b{re.escape(last_name(old))}\b")
        return {name: word.sub(last_name(new), text) for name, text in one.items()} == two

    def _look_into(self, room: _Room) -> None:
        if max(len(room.gone), len(room.come)) > MOST_IN_A_ROOM:
            return
        room = _Room([key for key in room.gone if self._is_gone(key)], [key for key in room.come if self._is_come(key)])
        found = [
            *self._parts(room.gone, room.come, "merge"),
            *self._parts(room.come, room.gone, "split"),
            *self._singles(room),
        ]
        for each in _the_only_ones(each for each in found if self._is_with_its_own(each)):
            self._take(each)
            homes = tuple(map(_home, each.old)), tuple(map(_home, each.new))
            for mark, paths in zip("-+", homes, strict=True):
                self.together.update(dict.fromkeys((mark + path for path in paths), homes))

    def _is_with_its_own(self, found: Carried) -> bool:
        """Whether it says the same of modules as their weights do: that biases are as long says nothing."""
        homes = tuple(map(_home, found.old)), tuple(map(_home, found.new))
        same = len(homes[0]) == len(homes[1]) == 1 and self.matching.to_new.get(homes[0][0]) == homes[1][0]
        if same and self.certainty.is_sure(homes[0][0]):
            return True
        marked = [mark + path for mark, paths in zip("-+", homes, strict=True) for path in paths]
        known = [self.together.get(each) for each in marked]
        if any(each is not None for each in known):
            return all(each == homes for each in known)
        entries = [*(self.olds[key] for key in found.old), *(self.news[key] for key in found.new)]
        ranks = [len(entry.shape or ()) for entry in entries]
        return all(rank >= self._highest(each) for rank, each in zip(ranks, marked, strict=True))

    def _highest(self, marked: str) -> int:
        """Of the tensors that a module holds, the most dimensions."""
        if self._ranks is None:
            self._ranks = {}
            for mark, entries in (("-", self.olds), ("+", self.news)):
                for key, entry in entries.items():
                    home = mark + _home(key)
                    self._ranks[home] = max(self._ranks.get(home, 0), len(entry.shape or ()))
        return self._ranks.get(marked, 0)

    def _parts(self, parts: Sequence[str], wholes: Sequence[str], how: str) -> Iterator[Carried]:
        # What stands on both sides was made wider or narrower: that something else went is by chance as large.
        parts, wholes = ([key for key in keys if key not in self.mismatched] for keys in (parts, wholes))
        of_parts, of_wholes = (self.olds, self.news) if how == "merge" else (self.news, self.olds)
        tree = self.matching.new if how == "merge" else self.matching.old
        for whole in wholes:
            size, *rest = of_wholes[whole].shape or (0,)
            if not isinstance(size, int) or not of_wholes[whole].shape:
                continue
            alike = [key for key in parts if list((of_parts[key].shape or (None,))[1:]) == rest and of_parts[key].shape]
            for run in _runs(alike, [_rows(of_parts[key]) for key in alike], size):
                order = _order_said(run, whole, tree)
                keys = tuple(run if order is None else (run[place] for place in order))
                sizes = tuple(_rows(of_parts[key]) for key in keys)
                named = order is not None
                if not (named or self._is_one_class(keys, whole, how)):
                    continue
                if how == "merge":
                    yield Carried(how="merge", old=keys, new=(whole,), sizes=sizes, named=named)
                else:
                    yield Carried(how="split", old=(whole,), new=keys, sizes=sizes, named=named)

    def _is_one_class(self, parts: Sequence[str], whole: str, how: str) -> bool:
        """Whether layers of one class are joined into, or cut out of, one of that class, as far as these are known."""
        trees = self.matching.old, self.matching.new
        of_parts, of_whole = trees if how == "merge" else trees[::-1]
        classes = {of_parts.class_of(_home(key)) for key in parts if _home(key) in of_parts.nodes}
        classes |= {of_whole.class_of(_home(whole))} if _home(whole) in of_whole.nodes else set()
        return len(classes - {None}) <= 1

    def _singles(self, room: _Room) -> Iterator[Carried]:
        """What is one tensor on both sides: of layers of one kind under another name, or transposed."""
        for old in room.gone:
            for new in room.come:
                if not self._is_beside(old, new) or (old != new and {old, new} & self.mismatched):
                    continue  # what stands on both sides is itself, in another shape
                shapes = self.olds[old].shape or (), self.news[new].shape or ()
                if len(shapes[0]) == 2 and shapes[0] == shapes[1][::-1] and shapes[0] != shapes[1]:
                    yield Carried(how="transpose", old=(old,), new=(new,), named=old == new)
                elif shapes[0] == shapes[1] and self._may_be_one(_home(old), _home(new)):
                    yield Carried(how="rename", old=(old,), new=(new,))

    def _is_beside(self, old: str, new: str) -> bool:
        """Whether they are held by one module, or by two of one parent."""
        homes = _home(old), _home(new)
        matching = self.matching
        if matching.to_new.get(homes[0]) == homes[1]:
            return True
        parents = matching.old.parents.get(homes[0]), matching.new.parents.get(homes[1])
        return parents[0] is not None and matching.to_new.get(parents[0]) == parents[1]

    # --- one tensor under several names ----------------------------------------------------------------------------

    def _names_of_one(self) -> None:
        """What is asked for under a further name, and what was saved under one."""
        arriving = {**{key: key for key in self.olds if key in self.news}, **self._renames()}
        filled = {new: old for old, new in arriving.items() if old == new or new in self.filled}
        firsts = {self.news[new].first: (old, new) for new, old in filled.items() if not self._is_come(new)}
        for key in self._come():
            if (source := firsts.get(self.news[key].first)) is not None and self._is_equal(source[0], key):
                self._take(Carried(how="copy", old=(source[0],), new=(key,)))
        went = {self.olds[old].first: (old, new) for new, old in filled.items() if not self._is_gone(old)}
        for key in self._gone():
            if (place := went.get(self.olds[key].first)) is not None and self._is_equal(key, place[1]):
                self._take(Carried(how="drop", old=(key,), new=(place[1],)))

    def _renames(self) -> dict[str, str]:
        return {each.old[0]: each.new[0] for each in self.carried if each.how == "rename"}


def _uses(key: str, tree: Tree) -> list[tuple[str, str]]:
    """What is done with a tensor, as far as it is seen: operations, and in which place they take it."""
    operations = tree.index.operations
    return sorted(
        (operation_word(operations[edge.consumer].name) if edge.consumer in operations else "", edge.tensor.name)
        for edge in tree.index.outgoing.get(f"param:{key}", ())
    )


def _is_known(entry: StateEntry) -> bool:
    return entry.shape is not None and all(isinstance(size, int) for size in entry.shape)


def _rows(entry: StateEntry) -> int:
    """How long it is along dimension 0."""
    size = (entry.shape or (0,))[0]
    return size if isinstance(size, int) else 0


def _whole(entries: Entries, free: set[str]) -> dict[frozenset[tuple[str, object]], list[str]]:
    """Subtrees all of whose keys are free, by what they hold."""
    found: dict[str, list[tuple[str, object]]] = {}
    counts: Counter[str] = Counter()
    for key, entry in entries.items():
        end = len(key)
        while (end := key.rfind(".", 0, end)) > 0:
            counts[key[:end]] += 1
            if key in free:
                found.setdefault(key[:end], []).append((key[end + 1 :], entry.shape))
    by_content: dict[frozenset[tuple[str, object]], list[str]] = {}
    for path, content in found.items():
        if len(content) == counts[path] >= _FEWEST_OF_A_SUBTREE and all(shape is not None for _, shape in content):
            by_content.setdefault(frozenset(content), []).append(path)
    return by_content


def _runs(keys: Sequence[str], sizes: Sequence[int], total: int) -> Iterator[Sequence[str]]:
    """Neighbours, two or more, that together are `total` long."""
    for first in range(len(keys)):
        length = 0
        for last in range(first, min(first + MOST_PARTS, len(keys))):
            length += sizes[last]
            if length == total and last > first and sizes[first]:
                yield keys[first : last + 1]


def _order_said(parts: Sequence[str], whole: str, tree: Tree) -> tuple[int, ...] | None:
    """The order of the parts as names say it."""
    same = len({last_name(part) for part in parts}) == 1
    words = [last_name(_home(part)) if same else last_name(part) for part in parts]
    wholes = [last_name(_home(whole)), last_name(whole)]
    node = tree.nodes.get(_home(whole))
    if node is not None and node.class_name == _ATTENTION and last_name(whole).startswith("in_proj"):
        wholes.insert(0, _JOINED_IN_IT)
    return next((order for word in wholes if (order := joined(words, word)) is not None), None)


def _the_only_ones(found: Iterable[Carried]) -> list[Carried]:
    """Those of which each key is in no other; what names say is asked first."""
    pending, accepted = list(found), list[Carried]()
    for candidates in ([each for each in pending if each.named], pending):
        taken = {key for each in accepted for key in _marked(each)}
        free = [each for each in candidates if not taken & set(_marked(each))]
        uses = Counter(key for each in free for key in _marked(each))
        accepted += [each for each in free if all(uses[key] == 1 for key in _marked(each))]
    return [replace(each, named=each.named and each.how in ("merge", "split")) for each in accepted]


def _marked(each: Carried) -> list[tuple[int, str]]:
    return [*((0, key) for key in each.old), *((1, key) for key in each.new)]
