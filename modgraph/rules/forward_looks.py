"""A first look at what `forward` calls, by names and numbers alone: which classes are worth following their `forward`.

To follow one costs far more than all else. A size that comes of an argument without a default is not known, so a class
whose layers have only such cannot be wrong for all arguments.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modgraph.rules import members
from modgraph.rules.facts import Method, Store, attribute_of, enclosing
from modgraph.rules.subject import Subject, names_in
from modgraph.source.torch_names import CONTAINERS, MODAL, MODULE_METHODS, OTHER_NAMES, STATEFUL, STATELESS

_SHAPING = frozenset(("view", "reshape", "unflatten", "expand", "randn", "zeros", "ones", "rand", "empty", "Parameter"))
"""What makes sizes beside layers."""
_PLACES = {
    "Embedding": (1,),
    "EmbeddingBag": (1,),
    "GroupNorm": (1,),
    **dict.fromkeys(("MultiheadAttention", "LayerNorm", "RMSNorm", "PReLU", "SyncBatchNorm"), (0,)),
    **{f"{kind}{rank}d": (0,) for kind in ("BatchNorm", "InstanceNorm") for rank in (1, 2, 3)},
    "Bilinear": (0, 1, 2),
}
"""Arguments of a layer that are sizes of what it takes and gives, where these are not the first two."""
_LARGE = 8
_OF_SIZES = frozenset(
    (
        *("in_features", "out_features", "in_channels", "out_channels", "num_features", "normalized_shape"),
        *("num_channels", "embedding_dim", "input_size", "hidden_size", "embed_dim", "d_model"),
        *("in1_features", "in2_features"),
    )
)
_SEVERAL = frozenset(
    (
        *("AdaptiveLogSoftmaxWithLoss", "Bilinear", "EmbeddingBag", "Embedding", "GRU", "GRUCell", "LSTM", "LSTMCell"),
        *("MultiheadAttention", "RNN", "RNNCell", "Transformer", "TransformerDecoder", "TransformerDecoderLayer"),
        *("TransformerEncoder", "TransformerEncoderLayer", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d"),
        *("ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "CosineSimilarity", "PairwiseDistance"),
    )
)
"""Layers whose `forward` takes, or may take, more than one argument."""
_OF_MODULES = MODULE_METHODS | OTHER_NAMES
_NO_LAYERS = STATELESS | MODAL | CONTAINERS


# ---- sizes -----------------------------------------------------------------------------------------------------------


def sizes_are_in_question(subject: Subject) -> bool:
    """Two layers at least have sizes that are known, or may be, and not all of these are one number."""
    if not _has_forward(subject):
        return False
    layers, numbers = 0, set[object]()
    for method in subject.facts.reached("__init__"):
        reader = _Sizes(subject, method)
        for call in method.calls:
            known = reader.of_call(call)
            layers += bool(known)
            numbers.update(known)
    if not layers or len(numbers) < 2:
        return False
    return layers > 1 or any(_last(call) in _SHAPING for method in _run(subject) for call in method.calls)


class _Sizes:
    """Which expressions of a method may be known sizes: a number, or None of one that is reckoned."""

    def __init__(self, subject: Subject, method: Method) -> None:
        self.subject = subject
        self.method = method
        self.arguments_are_known = method.name != "__init__" or all(method.parameters.values())
        """A class that needs no arguments is built with those by default; other methods are given what is known."""

    def of_call(self, call: ast.Call) -> list[int | None]:
        """Among the arguments of a layer, or of a class by the look of its name."""
        name = _last(call)
        if name in STATEFUL:
            given = [call.args[place] for place in _PLACES.get(name, (0, 1)) if place < len(call.args)]
            given += [each.value for each in call.keywords if each.arg in _OF_SIZES]
        elif name[:1].isupper() and name not in _NO_LAYERS:
            given = [each for each in (*call.args, *(word.value for word in call.keywords)) if _is_large(each)]
            if not given or _class_of(self.subject, call.func) is None:
                return []
        else:
            return []
        found: list[int | None] = []
        for each in given:
            if isinstance(each, ast.Constant):
                found += [each.value] if type(each.value) is int else []
            elif self.is_known(each, ()):
                found.append(None)
        return found

    def is_known(self, node: ast.expr | None, names: tuple[str, ...]) -> bool:
        """`names` are those that are being asked for."""
        if isinstance(node, ast.Constant):
            return type(node.value) is int
        if isinstance(node, ast.BinOp):
            return self.is_known(node.left, names) and self.is_known(node.right, names)
        if isinstance(node, (ast.List, ast.Tuple)):
            return bool(node.elts) and all(self.is_known(each, names) for each in node.elts)
        if isinstance(node, ast.Subscript):
            return self.is_known(node.value, names)
        if isinstance(node, ast.Attribute):
            own = attribute_of(node, self.method.receiver) if self.method.receiver else None
            if own is None or own in names:
                return own is not None
            stores = self.subject.facts.stores_of(own)
            return bool(stores) and all(self.is_known(each.value, (*names, own)) for each in stores)
        return isinstance(node, ast.Name) and (node.id in names or self._is_known_name(node.id, names))

    def _is_known_name(self, name: str, names: tuple[str, ...]) -> bool:
        parameters = self.method.parameters
        if name in parameters:
            defaults = parameters[name]
            if self.method.name != "__init__":
                return True
            return self.arguments_are_known and all(self.is_known(each, names) for each in defaults)
        values = self.method.values.get(name)
        if values is not None:
            return all(self.is_known(each, (*names, name)) for each in values)
        return name in self.subject.file.numbers


def _is_large(node: ast.expr) -> bool:
    """A number that may be one of channels, and is none of kernels, strides or layers."""
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value >= _LARGE


def _last(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _has_forward(subject: Subject) -> bool:
    return "forward" in subject.facts.methods and not subject.is_local


def _run(subject: Subject) -> list[Method]:
    return subject.facts.reached("forward")


# ---- arguments -------------------------------------------------------------------------------------------------------


def calls_may_not_fit(subject: Subject) -> bool:
    """A submodule is called with arguments that its class does not seem to take."""
    return _has_forward(subject) and any(
        _is_doubtful(subject, call, made)
        and not any(isinstance(each, _AVOIDING) for each in enclosing(method, call))  # no test avoids it
        for method, call, made in _calls(subject)
    )


def _calls(subject: Subject) -> Iterator[tuple[Method, ast.Call, list[ast.Call]]]:
    """Calls of what is stored on self or is an element of it; with each, the calls of which one made what is called."""
    facts = subject.facts
    for method in _run(subject):
        held = dict(_elements(subject, method))
        for call in method.calls:
            name = attribute_of(call.func, method.receiver) if method.receiver else None
            made: list[ast.Call] = []
            if name is not None:
                made = _made(subject, facts.stores_of(name))
            elif isinstance(call.func, ast.Name):
                made = [each for one in held.get(call.func.id, ()) for each in _inside(subject, one)]
            if made:
                yield method, call, made


_AVOIDING = (ast.If, ast.While, ast.Try, ast.Match, ast.FunctionDef, ast.Lambda)


def _made(subject: Subject, stores: list[Store]) -> list[ast.Call]:
    """The calls of which one certainly made what is stored; none where that is not certain."""
    found = [subject.reads.made(each.value, each.method) for each in stores]
    return [call for each in found for call in each] if all(found) else []


def _elements(subject: Subject, method: Method) -> Iterator[tuple[str, list[ast.Call]]]:
    """Names of loops over what is stored on self, with the containers that may be."""
    for loop in method.loops:
        target, over = loop.target, loop.iter
        if isinstance(over, ast.Call) and getattr(over.func, "id", "") == "enumerate" and len(over.args) == 1:
            target = target.elts[1] if isinstance(target, ast.Tuple) and len(target.elts) == 2 else target
            over = over.args[0]
        name = attribute_of(over, method.receiver) if method.receiver else None
        if name is not None and isinstance(target, ast.Name):
            yield target.id, _made(subject, subject.facts.stores_of(name))


def _inside(subject: Subject, container: ast.Call) -> Iterator[ast.Call]:
    """The calls that make the elements of a container, as far as they stand there."""
    if subject.reads.torch_class(container.func) not in ("ModuleList", "Sequential"):
        return
    for each in container.args:
        each = each.value if isinstance(each, ast.Starred) else each
        items = each.elts if isinstance(each, (ast.List, ast.Tuple)) else [getattr(each, "elt", each)]
        yield from (item for item in items if isinstance(item, ast.Call))


def _is_doubtful(subject: Subject, call: ast.Call, made: list[ast.Call]) -> bool:
    """None of those that may be called seems to take the arguments; of a loop, one does not."""
    if any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords):
        return False
    refusing = [_refuses(subject, each, call) for each in made]
    return any(refusing) if isinstance(call.func, ast.Name) else all(refusing)


def _refuses(subject: Subject, made: ast.Call, call: ast.Call) -> bool:
    kind = subject.reads.torch_class(made.func)
    if kind is None:
        node = _class_of(subject, made.func)
        return node is not None and not _takes(node, call)
    if kind in _SEVERAL or kind in _NOT_CALLED or kind.endswith("Loss"):
        return False
    return len(call.args) != 1 or bool(call.keywords)


_NOT_CALLED = frozenset(("Module", "ModuleList", "ModuleDict", "DataParallel"))
"""Those that are called as what is in them is, or not at all."""


def _class_of(subject: Subject, function: ast.expr) -> ast.ClassDef | None:
    """The class of this file, or of one that it imports, that is called."""
    if not isinstance(function, ast.Name):
        return None
    project, path = subject.file.project, subject.file.path
    found = project.class_node(path, function.id)
    if found is not None or function.id not in subject.file.summary.imports:
        return found
    for home, name in project.homes(path, function.id):
        if home:
            return project.class_node(home, name)
    return None


def _takes(node: ast.ClassDef, call: ast.Call) -> bool:
    """`forward` of a class takes the arguments of a call; so does one that is not there, or is decorated."""
    forward = next((each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "forward"), None)
    if forward is None or forward.decorator_list or forward.args.vararg or forward.args.kwarg:
        return True
    places = [each.arg for each in (*forward.args.posonlyargs, *forward.args.args)][1:]
    needed = set(places[: len(places) - len(forward.args.defaults)])
    needed |= {a.arg for a, d in zip(forward.args.kwonlyargs, forward.args.kw_defaults, strict=True) if d is None}
    names = [each.arg for each in call.keywords]
    given = {*places[: len(call.args)], *names}
    known = {*places, *(each.arg for each in forward.args.kwonlyargs)}
    return len(call.args) <= len(places) and needed <= given <= known and not set(names) & set(places[: len(call.args)])


# ---- what is not there -----------------------------------------------------------------------------------------------


def may_be_missing(subject: Subject) -> list[str]:
    """Attributes that `forward` calls and that are None wherever they are stored, or are stored nowhere."""
    facts = subject.facts
    if not _has_forward(subject) or "__init__" not in facts.methods:
        return []
    called: dict[str, None] = {}
    deleted = set(_deleted(subject))
    for method in _run(subject):
        for call in method.calls if method.receiver else ():
            name = attribute_of(call.func, method.receiver)
            if name is None or name in facts.methods or name in _OF_MODULES:
                continue
            stores = facts.stores_of(name)
            if name in deleted or not (_is_stored(stores) or (stores and _is_tested(method, call, name))):
                called[name] = None
    if not called or not _stands_alone(subject):
        return []
    return [name for name in called if _is_absent(subject, name)]


def _is_tested(method: Method, call: ast.Call, name: str) -> bool:
    """It is called where it is not None alone: `if self.name is not None:`, `if self.name:`."""
    below: ast.AST = call
    while below in method.parents:
        around = method.parents[below]
        if isinstance(around, (ast.If, ast.IfExp)) and below is not around.test:
            body = around.body if isinstance(around.body, list) else [around.body]
            tests = around.test.values if isinstance(around.test, ast.BoolOp) else [around.test]
            is_and = not isinstance(around.test, ast.BoolOp) or isinstance(around.test.op, ast.And)
            if below in body and is_and and any(_says_there(each, method, name) for each in tests):
                return True
        below = around
    return False


def _says_there(test: ast.expr, method: Method, name: str) -> bool:
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.IsNot, ast.NotEq)):
        other = test.comparators[0]
        return (
            attribute_of(test.left, method.receiver) == name and isinstance(other, ast.Constant) and other.value is None
        )
    return attribute_of(test, method.receiver) == name


def _deleted(subject: Subject) -> Iterator[str]:
    """Attributes that a method deletes."""
    for method in subject.facts.methods.values():
        for node in method.deletes if method.receiver else ():
            yield from filter(None, (attribute_of(each, method.receiver) for each in node.targets))


def _is_stored(stores: list[Store]) -> bool:
    return any(not (isinstance(each.value, ast.Constant) and each.value.value is None) for each in stores)


def _stands_alone(subject: Subject) -> bool:
    """Its bases are torch's own, and no class of the file is made of it."""
    if not all(subject.reads.torch_class(base) == "Module" for base in subject.facts.node.bases):
        return False
    if {"__getattr__", "__getattribute__"} & set(subject.facts.methods):
        return False
    return subject.facts.node.name not in subject.file.bases


def _is_absent(subject: Subject, name: str) -> bool:
    """No text of the file puts something there: `net.name = ...`, `setattr(net, "name", ...)`."""
    member = members.member(subject.facts.node, name)
    if member is not None and not member.is_none:
        return False
    return not set_elsewhere(subject, {name}) and name not in subject.file.words


def set_elsewhere(subject: Subject, names: set[str]) -> bool:
    """Something else than the constructor stores one of these attributes: another method, a class made of this one,
    code that has an instance."""
    stored = [each for name in names for each in subject.file.stored.get(name, ())]
    if not stored:
        return False
    constructor = subject.facts.reached("__init__")
    own = {id(store.target) for name in names for store in subject.facts.stores_of(name) if store.method in constructor}
    return any(id(each) not in own and not _is_of_another_class(subject, each) for each in stored)


def _is_of_another_class(subject: Subject, store: ast.Attribute) -> bool:
    """It is a store on `self` in a class that is not made of this one."""
    name = subject.facts.node.name
    return any(
        owner is not subject.facts.node and not any(name in names_in(base) for base in owner.bases)
        for owner in subject.file.storing.get(id(store), ())
    )
