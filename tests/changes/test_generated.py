"""What was done to a generated model is what is reported, and nothing else."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from modgraph.changes import Changes, compare
from modgraph.changes.trees import Numbers, Tree
from modgraph.export.diff.words import lines
from modgraph.graph.state_dict import state_dict_of

MANY = settings(max_examples=max(60, settings.default.max_examples))

_size = st.integers(2, 9)
_weighty = st.builds("nn.Linear({}, {})".format, _size, _size) | st.builds("nn.Conv2d({}, {}, 3)".format, _size, _size)
_leaf = _weighty | st.sampled_from(["nn.ReLU()", "nn.Dropout(0.1)", "nn.BatchNorm1d(4)", "nn.Identity()"])
_names = st.sampled_from(["stem", "body", "head", "norm", "proj", "act", "gate"])
_node = st.recursive(
    _leaf,
    lambda inner: st.lists(inner, min_size=1, max_size=4) | st.dictionaries(_names, inner, min_size=1, max_size=3),
    max_leaves=6,
)
models = st.dictionaries(_names, _node, min_size=1, max_size=4)


def places(model: Any, path: tuple[Any, ...] = ()) -> list[tuple[tuple[Any, ...], Any]]:
    """Every module of a tree with the keys that lead to it."""
    items = enumerate(model) if isinstance(model, list) else model.items() if isinstance(model, dict) else ()
    found = []
    for key, inner in items:
        found.append(((*path, key), inner))
        found += places(inner, (*path, key))
    return found


def at(model: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        model = model[key]
    return model


def dotted(path: tuple[Any, ...]) -> str:
    return ".".join(map(str, path))


def said(changes: Changes) -> dict[str, Any]:
    """What differs, in plain values; parts without anything are left out."""
    parts = {
        "added": [one.path for one in changes.added],
        "removed": [one.path for one in changes.removed],
        "renamed": [(one.old, one.new) for one in changes.renamed],
        "moved": [(one.old, one.new) for one in changes.moved],
        "changed": [one.new for one in changes.changed if one.fields[0].kind != "order"],
    }
    return {name: value for name, value in parts.items() if value}


@pytest.fixture
def both(graph):
    """Compares two trees both ways round, and gives what was found from the first to the second."""

    def compared(old: Any, new: Any) -> Changes:
        graphs = graph(old), graph(new)
        changes = compare(*graphs)
        assert compare(graphs[1], graphs[0]) == changes.reversed()
        assert changes.reversed().reversed() == changes
        assert not compare(graphs[0], graphs[0])
        assert not changes.undecided
        for each in (changes, changes.reversed()):
            deltas = [line.delta for line in lines(each)]
            assert sum(deltas) == each.new.parameters - each.old.parameters
        return changes

    return compared


@MANY
@given(model=models, data=st.data())
def test_a_rename_is_a_rename(both, model, data):
    heavy = [path for path, node in places(model) if isinstance(path[-1], str) and tells(node)]
    assume(heavy)
    path = data.draw(st.sampled_from(heavy))
    new = copy.deepcopy(model)
    holder = at(new, path[:-1])
    items = [("fresh" if name == path[-1] else name, node) for name, node in holder.items()]
    holder.clear()
    holder.update(items)
    changes = both(model, new)
    assert said(changes) == {"renamed": [(dotted(path), dotted((*path[:-1], "fresh")))]}
    assert not changes.changed
    assert set(changes.state.missing) == {key for _, key in changes.state.renamed}
    assert set(changes.state.unexpected) == {key for key, _ in changes.state.renamed}
    assert not changes.state.lost
    assert not changes.state.fresh


def tells(node: Any) -> bool:
    """Whether it can be known again under another name: it has weights, or several modules."""
    inner = [each for _, each in places(node)]
    return len(inner) >= 2 or any(
        "Linear" in str(each) or "Conv" in str(each) or "Norm" in str(each) for each in [node, *inner]
    )


@MANY
@given(model=models, leaf=_leaf, data=st.data())
def test_an_insertion_is_one_insertion(both, model, leaf, data):
    rows = [path for path, node in places(model) if isinstance(node, list)]
    assume(rows)
    path = data.draw(st.sampled_from(rows))
    place = data.draw(st.integers(0, len(at(model, path))))
    new = copy.deepcopy(model)
    at(new, path).insert(place, leaf)
    changes = both(model, new)
    (added,) = changes.added
    assert set(said(changes)) == {"added"}
    # Beside its like, either may be the one that came.
    row, _, number = added.path.rpartition(".")
    assert row == dotted(path)
    assert at(new, path)[int(number)] == leaf
    assert (added.class_name or "").endswith(leaf.partition("(")[0].removeprefix("nn"))


@MANY
@given(model=models, data=st.data())
def test_a_removal_is_one_removal(both, model, data):
    path, node = data.draw(st.sampled_from(places(model)))
    new = copy.deepcopy(model)
    del at(new, path[:-1])[path[-1]]
    changes = both(model, new)
    assert set(said(changes)) == {"removed"}
    (removed,) = changes.removed
    assert removed.modules == 1 + len(places(node))
    assert removed.path.rpartition(".")[0] == dotted(path[:-1])


@MANY
@given(model=models, data=st.data())
def test_a_widening_is_one_change(both, model, data):
    leaves = [path for path, node in places(model) if isinstance(node, str) and ("Linear" in node or "Conv" in node)]
    assume(leaves)
    path = data.draw(st.sampled_from(leaves))
    new = copy.deepcopy(model)
    kind, _, rest = at(model, path).partition("(")
    sizes = rest.rstrip(")").split(", ")
    at(new, path[:-1])[path[-1]] = f"{kind}({', '.join([sizes[0], '64', *sizes[2:]])})"
    changes = both(model, new)
    assert said(changes) == {"changed": [dotted(path)]}
    (change,) = changes.changed
    first = change.fields[0]
    assert (first.kind, first.old, first.new) == ("argument", int(sizes[1]), 64)
    assert change.new_parameters > change.old_parameters
    total = next(total for total in changes.totals if total.name == "parameters")
    assert total.new - total.old == change.new_parameters - change.old_parameters
    assert {one.key.rpartition(".")[0] for one in changes.state.mismatched} == {dotted(path)}


@MANY
@given(model=models, data=st.data())
def test_a_move_is_a_move(both, model, data):
    named = [path for path, node in places(model) if len(path) > 1 and isinstance(path[-1], str) and tells(node)]
    assume(named)
    path = data.draw(st.sampled_from(named))
    new = copy.deepcopy(model)
    node = at(new, path[:-1]).pop(path[-1])
    new["elsewhere"] = {"inside": "nn.Tanh()", path[-1]: node}
    changes = both(model, new)
    assert said(changes) == {"added": ["elsewhere"], "moved": [(dotted(path), f"elsewhere.{path[-1]}")]}
    assert not changes.state.lost
    assert not changes.state.fresh


@MANY
@given(old=models, new=models)
@example(
    old={"stem": [["nn.Linear(2, 2)", "nn.Conv2d(2, 2, 3)"]]},
    new={"stem": [{"stem": "nn.Conv2d(2, 2, 3)", "body": "nn.Linear(2, 2)"}]},
)
def test_of_any_two_models_nothing_is_lost(both, graph, old, new):
    """Every module is a pair, or added, or removed; a checkpoint's keys likewise."""
    changes = both(old, new)
    graphs = graph(old), graph(new)
    for side, one_sided in ((0, changes.removed), (1, changes.added)):
        alone = sum(one.modules for one in one_sided)
        assert alone + len(changes.pairs) == len(graphs[side].modules)
    state = changes.state
    keys = [{entry.key for entry in state_dict_of(each).entries} for each in graphs]
    assert set(state.unexpected) == keys[0] - keys[1]
    assert set(state.missing) == keys[1] - keys[0]
    assert state.kept + len(state.misplaced) + len(state.mismatched) == len(keys[0] & keys[1])
    assert all(one in keys[0] and other in keys[1] for one, other in state.renamed)


@MANY
@given(model=_node, data=st.data())
def test_several_edits_are_reported_beside_each_other(both, model, data):
    place = data.draw(st.integers(0, 2))
    row = ["nn.Linear(3, 4)", "nn.ReLU()", "nn.Linear(4, 5)"]
    old = {"kept": model, "row": row, "wide": "nn.Linear(20, 30)", "named": ["nn.Conv2d(7, 8, 3)"], "gone": "nn.ReLU()"}
    new = {
        "kept": model,
        "row": [*row[:place], "nn.Tanh()", *row[place:]],
        "wide": "nn.Linear(20, 31)",
        "called": ["nn.Conv2d(7, 8, 3)"],
    }
    assert said(both(old, new)) == {
        "added": [f"row.{place}"],
        "removed": ["gone"],
        "renamed": [("named", "called")],
        "changed": ["wide"],
    }


def test_the_graphs_made_here_are_those_that_are_predicted(graph, predicted):
    model = {
        "a": ["nn.Linear(2, 3)", "nn.ReLU()", {"x": "nn.Conv2d(3, 4, 3)", "y": ["nn.BatchNorm1d(4)"]}],
        "b": {"d": "nn.Dropout(0.1)", "i": "nn.Identity()", "t": "nn.Tanh()"},
    }
    made, expected = graph(model), predicted(model)
    assert made.modules == tuple(replace(node, source=None, repeat=None) for node in expected.modules)
    assert made.model == replace(expected.model, no_calls=None)  # a tree alone has no `forward` to tell of


def test_fingerprints_do_not_depend_on_names(graph):
    numbers = Numbers()
    trees = [Tree(graph({name: ["nn.Linear(2, 3)", "nn.ReLU()"]}), numbers, {}) for name in ("a", "b")]
    assert trees[0].prints["a"] == trees[1].prints["b"]
    assert trees[0].prints[""] != trees[1].prints[""]
