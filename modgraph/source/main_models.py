"""Of the root models of a file, those that it is about: losses, classes that are handed to models and parts of no
weight are set aside where a model stands beside them.

It goes by evidence that any file may give: who is given to whom, what `forward` takes and a constructor makes, and what
a class is called in plain words (`FocalLoss`). Nothing is set aside where nothing else would be left.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from modgraph.names import last_name
from modgraph.source.assignments import pairs
from modgraph.source.dotted_names import dotted
from modgraph.source.model_files import ModelFile
from modgraph.source.syntax import FunctionNode

_TARGETS = frozenset(
    ["target", "targets", "label", "labels", "gt", "gts", "y_true", "ground_truth", "truth", "reference"]
)
"""What the last arguments of a loss are called."""
_LOSS_WORDS = re.compile(r"(?i:loss(es)?|criterion)(?![a-z])|(?i:^criterion)")
_LOSS_FUNCTIONS = re.compile(r"(cross_entropy|kl_div|cosine_embedding|_loss)(_with_logits)?$")
_MAKING = frozenset(["Parameter", "Buffer", "register_parameter", "add_module", "register_module", "setattr", "exec"])
"""Calls by which a class comes to have something of its own, beside those that make modules."""
_PLAIN_BASES = frozenset(["Module", "nn.Module", "torch.nn.Module"])
_CERTAIN = 3
_MOST_WEIGHED = 200
"""Roots of a file with more are all taken: each is weighed with all that it reaches."""
_MOST_LAYERS_OF_A_PART, _TIMES_LARGER = 2, 3
"""A class that makes no more layers is a part that nobody uses, beside a model that makes so many times more."""
_HOLDING_OTHERS = frozenset(["Sequential", "ModuleList", "ModuleDict", "DataParallel", "DistributedDataParallel"])


def set_aside(file: ModelFile, roots: Mapping[str, ast.expr | None]) -> dict[str, None]:
    """Those of the roots of a file that it is not about.

    Args:
        roots: by name; of an instance, the call that makes it, of a class None.
    """
    left = dict(roots)
    aside: dict[str, None] = {}
    if len(left) > _MOST_WEIGHED:
        return aside
    for test in (_is_layer_of_torch, _is_loss):
        _take(aside, left, [name for name in left if test(file, name, left[name])])
    handed = _handed(file)
    _take(aside, left, [name for name in left if left[name] is None and name in handed])
    _take(aside, left, [name for name in left if left[name] is None and _is_function(file, name)])
    _take(aside, left, _small_beside(file, left))
    return aside


def _take(aside: dict[str, None], left: dict[str, ast.expr | None], names: Sequence[str]) -> None:
    """Sets these aside, unless nothing would be left."""
    if len(names) < len(left):
        for name in names:
            del left[name]
            aside[name] = None


def _is_layer_of_torch(file: ModelFile, _name: str, made: ast.expr | None) -> bool:
    """`criterion = nn.CrossEntropyLoss()`, `act = nn.ReLU()`: one layer, given nothing that is a module."""
    if not isinstance(made, ast.Call) or (called := dotted(made.func)) is None:
        return False
    if called in file.classes or called in file.functions:
        return called in file.classes and _is_loss(file, called, None)
    first, _, rest = called.partition(".")
    meant = [
        ".".join(filter(None, (one.module, one.attribute, rest)))
        for one in file.module.index.imports_of.get(first, ())
        if one.level == 0
    ]
    if not any(each.startswith("torch.nn.") for each in meant):
        return False
    holds = last_name(called) in _HOLDING_OTHERS or last_name(called).startswith("Transformer")
    return not holds and not any(map(file.makes_module, _inside(made)))


def _inside(made: ast.Call) -> Iterator[ast.expr]:
    """All that stands in the arguments of a call."""
    for argument in (*made.args, *(each.value for each in made.keywords)):
        yield from (node for node in ast.walk(argument) if isinstance(node, ast.expr))


def _is_loss(file: ModelFile, name: str, made: ast.expr | None) -> bool:
    """It compares what a model gives with what it should give, and has no layers."""
    if made is not None:
        return False
    forward = file.forward(name)
    named = _LOSS_WORDS.search(last_name(name)) is not None
    derived = any(_LOSS_WORDS.search(last_name(base)) for base in file.bases_of(name))
    if forward is None:
        return named and derived
    given = [each.arg for each in (*forward.args.posonlyargs, *forward.args.args)][1:]
    weight = 2 * named + 2 * derived + 2 * any(each.lower() in _TARGETS for each in given[1:])
    weight += _computes_a_loss(forward)
    return weight - (2 if _makes_layers(file, name) else -1) >= _CERTAIN


def _computes_a_loss(forward: FunctionNode) -> bool:
    names = (dotted(node.func) for node in ast.walk(forward) if isinstance(node, ast.Call))
    return any(name is not None and _LOSS_FUNCTIONS.search(name) for name in names)


def _handed(file: ModelFile) -> set[str]:
    """Classes that are given to what makes a model, in `ResNet(Block, [2, 2])` or as the default of a constructor."""
    found: set[str] = set()
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Call):
            given = [each.id for each in _arguments(node) if isinstance(each, ast.Name)]
            if given and (file.makes_module(node) or _calls_constructor(node)):
                found.update(given)
    for cls in file.module_classes:
        for method in file.classes[cls].body:
            if isinstance(method, FunctionNode) and method.name == "__init__":
                defaults = (*method.args.defaults, *method.args.kw_defaults)
                found.update(each.id for each in defaults if isinstance(each, ast.Name) and each.id != cls)
    return found & set(file.module_classes)


def _arguments(call: ast.Call) -> Iterator[ast.expr]:
    for argument in (*call.args, *(each.value for each in call.keywords)):
        yield from argument.elts if isinstance(argument, ast.Tuple | ast.List) else (argument,)


def _calls_constructor(call: ast.Call) -> bool:
    """`super().__init__(Block)`"""
    return isinstance(call.func, ast.Attribute) and call.func.attr == "__init__"


def _is_function(file: ModelFile, name: str) -> bool:
    """It has a `forward` and nothing else: no layer, parameter or child of its own, or of a base that is not in the
    file."""
    if file.forward(name) is None or _calls_what_it_is_given(file, name):
        return False
    lineage = _with_bases(file, name)
    bases = {base for each in lineage for base in file.bases_of(each)} - set(lineage)
    return bases <= _PLAIN_BASES and not any(_is_making(file, call) for each in lineage for call in _calls(file, each))


def _is_making(file: ModelFile, call: ast.Call) -> bool:
    name = dotted(call.func)
    if name is not None and last_name(name) in _MAKING:
        return True
    return file.may_make_module(call) or file.makes_module(call) or _is_of_an_argument(call)


def _is_of_an_argument(call: ast.Call) -> bool:
    """`self.act = act()`, `TABLE[key]()`: what is called may be a class."""
    return isinstance(call.func, ast.Subscript) or (isinstance(call.func, ast.Name) and call.func.id not in _BUILTINS)


_BUILTINS = frozenset(dir(builtins)) - {"getattr", "eval", "map", "setattr", "exec", "vars"}
"""Functions that make no module."""


def _makes_layers(file: ModelFile, name: str) -> bool:
    """It makes a module that is no loss itself."""
    calls = (call for each in _with_bases(file, name) for call in _calls(file, each) if file.makes_module(call))
    return any(_LOSS_WORDS.search(last_name(dotted(call.func) or "")) is None for call in calls)


def _with_bases(file: ModelFile, name: str) -> list[str]:
    """A class and its bases in the file."""
    found, pending = dict[str, None](), [name]
    while pending:
        each = pending.pop()
        if each in file.classes and each not in found:
            found[each] = None
            pending.extend(file.bases_of(each))
    return list(found)


def _calls(file: ModelFile, name: str) -> list[ast.Call]:
    return file.calls_in(name)


def _small_beside(file: ModelFile, left: Mapping[str, ast.expr | None]) -> list[str]:
    """Classes of one or two layers that nothing in the file makes, beside a model of many that is made of others."""
    reached = {name: _reached(file, name) for name in left if left[name] is None}
    sizes = {name: _size(file, each) for name, each in reached.items()}
    composed = [
        name for name, each in reached.items() if (each & set(file.module_classes)) - set(_with_bases(file, name))
    ]
    largest = max((sizes[name] for name in composed), default=0)
    return [
        name
        for name, size in sizes.items()
        if name not in composed
        and size <= _MOST_LAYERS_OF_A_PART
        and max(size, 1) * _TIMES_LARGER <= largest
        and not file.is_made_outside(name)
        and not _is_name_of_file(file, name)
        and not _calls_what_it_is_given(file, name)
    ]


def _calls_what_it_is_given(file: ModelFile, name: str) -> bool:
    """Its `forward` calls several things that its constructor was given, as `self.decoder(...)` where that is one: a
    model that is made of others. What wraps a single one is a part like others."""
    methods = {each.name: each for each in file.classes[name].body if isinstance(each, FunctionNode)}
    made, forward = methods.get("__init__"), methods.get("forward")
    if made is None or forward is None:
        return False
    given = {each.arg for each in (*made.args.posonlyargs, *made.args.args, *made.args.kwonlyargs)}
    kept = {
        target.attr
        for node in ast.walk(made)
        if isinstance(node, ast.Assign)
        for bound in node.targets
        for target, value in pairs(bound, node.value)
        if isinstance(target, ast.Attribute) and isinstance(value, ast.Name) and value.id in given
    }
    called = {
        node.func.attr
        for node in ast.walk(forward)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in kept
    }
    return len(called) > 1


def _reached(file: ModelFile, name: str) -> set[str]:
    """What a class is made of, what its bases are made of too."""
    lineage = set(_with_bases(file, name))
    return lineage.union(*map(file.reach, lineage))


def _size(file: ModelFile, reached: set[str]) -> int:
    """Places in the source that make a layer, of all these classes of the file."""
    return sum(file.makes_module(call) for each in reached if each in file.classes for call in _calls(file, each))


def _is_name_of_file(file: ModelFile, name: str) -> bool:
    words: Callable[[str], str] = lambda text: re.sub(r"[\W_]", "", text).lower()  # noqa: E731
    return words(last_name(name)) == words(last_name(file.module.name))
