"""What changed for checkpoints, in words: the verdict, what explains each key, and what nothing explains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from modgraph.changes.model import Changes, StateChanges
from modgraph.changes.weights import Carried
from modgraph.export.diff.facts import name_of
from modgraph.export.diff.words import pattern_of, range_of
from modgraph.export.look.labels import shape_text
from modgraph.graph.paths import is_open_place


def checkpoint_verdict(state: StateChanges) -> str:
    """Whether a checkpoint of the old model can be loaded into the new one, in words."""
    if state.loads is None:
        return "whether a checkpoint of the old model fits cannot be told"
    if state.loads:
        return "a checkpoint of the old model fits"
    counts = [
        (len(state.missing), "missing"),
        (len(state.unexpected), "unexpected"),
        (len(state.mismatched), "of another shape"),
        (len(state.misplaced), f"that {'is' if len(state.misplaced) == 1 else 'are'} another layer's now"),
    ]
    return "a checkpoint of the old model does not fit: keys " + ", ".join(
        f"{count:,} {words}" for count, words in counts if count
    )


def carried_text(each: Carried) -> str:
    """ "a.weight → b.weight", "q.weight + k.weight → qk.weight (merge)"."""
    text = f"{' + '.join(each.old)} → {' + '.join(each.new)}"
    if each.how == "rename":
        return text
    words = {"copy": "copy: the same tensor under one name more", "drop": "drop: the same tensor under one name less"}
    said = words.get(each.how, each.how)
    if each.sizes and not each.named:
        said += ", in the order of registration"
    return f"{text} ({said})"


def reshaped_words(state: StateChanges) -> dict[str, str]:
    """By key of another shape: "4×3 → 4×5"."""
    return {one.key: f"{shape_text(one.old)} → {shape_text(one.new)}" for one in state.mismatched}


def every_key(changes: Changes) -> Iterator[str]:
    """Each key of the old model that the new one does not take, and each that it misses, one a row."""
    found, state = changes.checkpoint, changes.state
    yield from map(carried_text, found.carried)
    shapes = reshaped_words(state)
    yield from (f"{key}: {shapes[key]}" for key in found.reshaped)
    yield from (f"it has no values for {key}" for key in found.fresh)
    yield from (f"the new model has no place for {key}" for key in found.lost)
    yield from _silent(changes)
    if found.undecided:
        yield from (f"left open: {_open_key(key)}" for key in state.undecided)


def _silent(changes: Changes) -> Iterator[str]:
    went = {key for each in changes.checkpoint.carried for key in each.old}
    yield from (f"{key} would load, and is another layer's now" for key in changes.state.misplaced if key not in went)


def checkpoint_rows(changes: Changes) -> Iterator[str]:
    """What becomes of its keys; those of a module that was added or removed as a whole in one row."""
    state = changes.state
    found = changes.checkpoint
    yield from map(carried_text, found.carried)
    alike: dict[tuple[str, str], list[str]] = {}
    reshaped = set(found.reshaped)
    for key, words in reshaped_words(state).items():
        if key in reshaped:
            alike.setdefault((pattern_of(key), words), []).append(key)
    yield from (f"{range_of(keys)}: {words}" for (_, words), keys in alike.items())
    for keys, subtrees, words in (
        (found.fresh, changes.added, "it has no values for"),
        (found.lost, changes.removed, "the new model has no place for"),
    ):
        for name, count in _by_subtree(keys, [one.path for one in subtrees]).items():
            yield f"{words} {name}" + (f" ({count} keys)" if count > 1 else "")
    if state.loads is None:
        yield from (f"left open: {_open_key(key)}" for key in state.undecided)
    yield from _silent(changes)


def _open_key(key: str) -> str:
    if not is_open_place(key):
        return key
    return f"further keys of {name_of(key[:-1].rstrip('.'))}"


def _by_subtree(keys: Sequence[str], subtrees: Sequence[str]) -> dict[str, int]:
    """How many keys lie below each subtree; those that lie below none are counted one by one."""
    outer = set(subtrees)
    found: dict[str, int] = {}
    for key in keys:
        name, end = key, len(key)
        while (end := key.rfind(".", 0, end)) > 0:
            if key[:end] in outer:
                name = f"{key[:end]}.*"
                break
        found[name] = found.get(name, 0) + 1
    return found
