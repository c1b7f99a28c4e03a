"""What becomes of a checkpoint of the old model that is loaded into the new one: both state dicts, key by key."""

from __future__ import annotations

from collections.abc import Iterable

from modgraph.changes.matching import Matching
from modgraph.changes.model import KeyShapes, StateChanges, natural, sorted_pairs
from modgraph.changes.openness import shapes_agree
from modgraph.changes.trees import held_by
from modgraph.graph.paths import parameter_path
from modgraph.graph.state_dict import StateDict, StateEntry, state_dict_of


def state_changes(matching: Matching) -> StateChanges:
    """The two state dicts by name, and which keys are the same tensor under another name."""
    old_state, new_state = state_dict_of(matching.old.graph), state_dict_of(matching.new.graph)
    olds, news = _entries(old_state), _entries(new_state)
    names = _new_names(matching)
    undecided = _undecided(olds, news, old_state, new_state)
    decided_old = [key for key in olds if key not in undecided]
    decided_new = [key for key in news if key not in undecided]
    both = [key for key in decided_old if key in news]
    mismatched = {key for key in both if shapes_agree(olds[key].shape, news[key].shape) is False}
    fitting = [key for key in both if key not in mismatched]
    renamed = [(key, names[key]) for key in olds if names.get(key, key) != key and names[key] in news]
    return StateChanges(
        kept=sum(names.get(key) == key for key in fitting),
        missing=_in_order(key for key in decided_new if key not in olds),
        unexpected=_in_order(key for key in decided_old if key not in news),
        mismatched=tuple(KeyShapes(key=key, old=olds[key].shape, new=news[key].shape) for key in _in_order(mismatched)),
        misplaced=_in_order(key for key in fitting if names.get(key) != key),
        renamed=sorted_pairs(
            (key, name)
            for key, name in renamed
            if shapes_agree(olds[key].shape, news[name].shape) and not {key, name} & undecided
        ),
        undecided=_in_order(undecided),
    )


def _in_order(keys: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(keys, key=natural))


def _entries(state: StateDict) -> dict[str, StateEntry]:
    return {entry.key: entry for entry in state.entries}


def _new_names(matching: Matching) -> dict[str, str]:
    """Each tensor's key in the new model, by that in the old one, for those whose module is on both sides."""
    found: dict[str, str] = {}
    for path, other in matching.to_new.items():
        there = matching.new.nodes[other]
        held = {tensor.name for tensor in held_by(there)}
        own = matching.old.nodes[path]
        for tensor in held_by(own):
            if tensor.name in held:
                found[parameter_path(path, tensor.name)] = parameter_path(other, tensor.name)
    return found


def _undecided(
    olds: dict[str, StateEntry], news: dict[str, StateEntry], old_state: StateDict, new_state: StateDict
) -> set[str]:
    """Keys of which it cannot be told whether both have them, or with which shape."""
    found = {key for key in olds if key not in news and (not olds[key].certain or new_state.may_hold(key))}
    found |= {key for key in news if key not in olds and (not news[key].certain or old_state.may_hold(key))}
    for key in olds.keys() & news.keys():
        certain = olds[key].certain and news[key].certain
        if not certain or shapes_agree(olds[key].shape, news[key].shape) is None:
            found.add(key)
    return found
