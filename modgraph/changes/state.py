"""What becomes of a checkpoint of the old model that is loaded into the new one: both state dicts, key by key."""

from __future__ import annotations

from collections.abc import Iterable

from modgraph.changes.carrying import Texts, checkpoint_changes
from modgraph.changes.certainty import Certainty
from modgraph.changes.matching import Matching
from modgraph.changes.model import KeyShapes, StateChanges, sorted_pairs
from modgraph.changes.openness import shapes_agree
from modgraph.changes.trees import held_by
from modgraph.changes.weights import CheckpointChanges
from modgraph.graph.paths import parameter_path
from modgraph.graph.state_dict import EXTRA_STATE, StateDict, StateEntry, state_dict_of
from modgraph.names import natural


def state_changes(matching: Matching, texts: Texts = ({}, {})) -> tuple[StateChanges, CheckpointChanges]:
    """The two state dicts by name, which keys are the same tensor under another name, and what explains the others."""
    old_state, new_state = state_dict_of(matching.old.graph), state_dict_of(matching.new.graph)
    olds = {entry.key: entry for entry in old_state.entries if entry.saved}
    news = {entry.key: entry for entry in new_state.entries if entry.expected}
    names, certainty = _new_names(matching), Certainty(matching)
    undecided = _undecided(olds, news, old_state, new_state)
    decided_old = [key for key in olds if key not in undecided]
    decided_new = [key for key in news if key not in undecided]
    both = [key for key in decided_old if key in news]
    mismatched = {key for key in both if _agree(olds[key], news[key]) is False}
    fitting = [key for key in both if key not in mismatched]
    sure = {key: name for key, name in names.items() if certainty.is_sure(key.rpartition(".")[0])}
    renamed = [(key, sure[key]) for key in olds if sure.get(key, key) != key and sure[key] in news]
    state = StateChanges(
        kept=sum(names.get(key) == key for key in fitting),
        missing=_in_order(key for key in decided_new if key not in olds),
        unexpected=_in_order(key for key in decided_old if key not in news),
        mismatched=tuple(KeyShapes(key=key, old=olds[key].shape, new=news[key].shape) for key in _in_order(mismatched)),
        misplaced=_in_order(key for key in fitting if names.get(key) != key),
        renamed=sorted_pairs(
            (key, name) for key, name in renamed if _agree(olds[key], news[name]) and not {key, name} & undecided
        ),
        undecided=_in_order(undecided | _open_places((old_state, new_state), undecided)),
    )
    entries = {key: olds[key] for key in decided_old}, {key: news[key] for key in decided_new}
    return state, checkpoint_changes(matching, certainty, state, entries, sure, texts)


def _in_order(keys: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(keys, key=natural))


def _open_places(states: Iterable[StateDict], undecided: Iterable[str]) -> set[str]:
    """Where there may be further keys, none of which is known: "blocks.?"."""
    told = {key[: key.rfind(".") + 1] for key in undecided}
    prefixes = {prefix for state in states for prefix in (*state.open_below, *state.open_at)}
    return {f"{prefix}?" for prefix in prefixes - told}


def _agree(old: StateEntry, new: StateEntry) -> bool | None:
    """Whether one takes the shape of the other; None where that cannot be told. Extra state has none."""
    return True if old.is_extra and new.is_extra else shapes_agree(old.shape, new.shape)


def _new_names(matching: Matching) -> dict[str, str]:
    """Each tensor's key in the new model, by that in the old one, for those whose module is on both sides."""
    found: dict[str, str] = {}
    for path, other in matching.to_new.items():
        there = matching.new.nodes[other]
        held = {*(tensor.name for tensor in held_by(there)), EXTRA_STATE}
        own = matching.old.nodes[path]
        for name in (*(tensor.name for tensor in held_by(own)), EXTRA_STATE):
            if name in held:
                found[parameter_path(path, name)] = parameter_path(other, name)
    return found


def _undecided(
    olds: dict[str, StateEntry], news: dict[str, StateEntry], old_state: StateDict, new_state: StateDict
) -> set[str]:
    """Keys of which it cannot be told whether both have them, or with which shape."""
    found = {key for key in olds if key not in news and (not olds[key].certain or new_state.may_hold(key))}
    found |= {key for key in news if key not in olds and (not news[key].certain or old_state.may_hold(key))}
    for key in olds.keys() & news.keys():
        certain = olds[key].certain and news[key].certain
        if not certain or _agree(olds[key], news[key]) is None:
            found.add(key)
    return found
