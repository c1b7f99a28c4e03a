"""A first look at what `forward` calls, by names and numbers alone: which classes are worth following their `forward`.

To follow one costs far more than all else. A size that comes of an argument without a default is not known, so a class
whose layers have only such cannot be wrong for all arguments.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modgraph.rules.facts import Method, Store, attribute_of, enclosing
from modgraph.rules.subject import Subject
from modgraph.source.torch_names import CONTAINERS, MODAL, STATEFUL, STATELESS

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
_MAX_DEPTH = 4
"""Names that are followed to what made an object."""
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
_NO_LAYERS = STATELESS | MODAL | CONTAINERS


# ---- sizes -----------------------------------------------------------------------------------------------------------


def sizes_are_in_question(subject: Subject) -> bool:
    """Two layers at least have sizes that are known, or may be, and not all of these are one number."""
    if not has_forward(subject):
        return False
    layers, numbers = 0, set[int | str]()
    reader = Sizes(subject)
    for method in subject.facts.reached("__init__"):
        for call in method.calls:
            known = reader.of_call(call, method)
            layers += bool(known)
            numbers.update(known)
    if not layers or len(numbers) < 2:
        return False
    return layers > 1 or any(_last(call) in _SHAPING for method in run_methods(subject) for call in method.calls)


_Asked = tuple[str, str]
"""A name of a method; an attribute of the class has "" for the method."""


class Sizes:
    """Which expressions of methods may be known sizes: a number, or the text of one that is reckoned."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.answers: dict[_Asked, bool] = {}

    def of_call(self, call: ast.Call, method: Method) -> list[int | str]:
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
        found: list[int | str] = []
        for each in given:
            if isinstance(each, ast.Constant):
                found += [each.value] if type(each.value) is int else []
            elif self.is_known(each, method):
                found.append(ast.unparse(each))
        return found

    def is_known(self, node: ast.expr, method: Method) -> bool:
        """Nothing that it is reckoned from is unknown. Each name is gone into once, so that what comes of itself ends,
        and a chain of names costs no more than its length."""
        pending: list[tuple[ast.expr | None, Method, _Asked | None]] = [(node, method, None)]
        asked_by: dict[_Asked, _Asked | None] = {}
        while pending:
            each, where, by = pending.pop()
            name = self._name(each, where)
            answer = None if name is None else self.answers.get(name)
            if answer is True or name in asked_by:
                continue
            if name is not None:
                asked_by[name] = by
            below = None if answer is False else self._below(each, where)
            if below is None:
                self._note_unknown(name or by, asked_by)
                return False
            pending += [(one, home, name or by) for one, home in below]
        self.answers.update(dict.fromkeys(asked_by, True))
        return True

    def _note_unknown(self, name: _Asked | None, asked_by: dict[_Asked, _Asked | None]) -> None:
        """Of a name, and of those that have led to it."""
        while name is not None:
            self.answers[name] = False
            name = asked_by.get(name)

    @staticmethod
    def _name(node: ast.expr | None, method: Method) -> _Asked | None:
        if isinstance(node, ast.Name):
            return method.name, node.id
        own = attribute_of(node, method.receiver) if isinstance(node, ast.Attribute) and method.receiver else None
        return None if own is None else ("", own)

    def _below(self, node: ast.expr | None, method: Method) -> list[tuple[ast.expr | None, Method]] | None:
        """What a value is reckoned from, and where that stands; None of one that is not known."""
        if isinstance(node, ast.Constant):
            return [] if type(node.value) is int else None
        if isinstance(node, ast.BinOp):
            return [(node.left, method), (node.right, method)]
        if isinstance(node, (ast.List, ast.Tuple)):
            return [(each, method) for each in node.elts] or None
        if isinstance(node, ast.Subscript):
            return [(node.value, method)]
        if isinstance(node, ast.Attribute):
            own = attribute_of(node, method.receiver) if method.receiver else None
            stores = [] if own is None else self.subject.facts.stores_of(own)
            if own is None and self._is_configuration(node.value, method):
                return []
            return [(each.value, each.method) for each in stores] or None
        return self._below_name(node.id, method) if isinstance(node, ast.Name) else None

    def _is_configuration(self, node: ast.expr, method: Method, depth: int = 0) -> bool:
        """`cfg` and `self.cfg`, where that may be an object that a class of the project makes without arguments, or of
        plain values: `cfg: Config = Config()`, `cfg = cfg or Config()`."""
        if depth > _MAX_DEPTH:
            return False
        if isinstance(node, ast.Call):
            given = [*node.args, *(each.value for each in node.keywords)]
            is_plain = all(isinstance(each, ast.Constant) for each in given)
            return is_plain and _class_of(self.subject, node.func) is not None
        if isinstance(node, (ast.BoolOp, ast.IfExp)):
            parts = node.values if isinstance(node, ast.BoolOp) else [node.body, node.orelse]
            return any(self._is_configuration(each, method, depth + 1) for each in parts)
        own = attribute_of(node, method.receiver) if method.receiver else None
        values: list[tuple[ast.expr | None, Method]] = []
        if own is not None:
            values = [(each.value, each.method) for each in self.subject.facts.stores_of(own)]
        elif isinstance(node, ast.Name):
            is_built = method.name == "__init__" and all(method.parameters.values())
            values = [(each, method) for each in method.parameters.get(node.id, ()) if is_built]
            values += [(each, method) for each in method.values.get(node.id, ())]
        return any(each is not None and self._is_configuration(each, home, depth + 1) for each, home in values)

    def _below_name(self, name: str, method: Method) -> list[tuple[ast.expr | None, Method]] | None:
        if name in method.parameters:
            if method.name != "__init__":
                return []  # other methods are given what is known
            # A class that needs no arguments is built with those by default.
            is_built = all(method.parameters.values())
            return [(each, method) for each in method.parameters[name]] if is_built else None
        values = method.values.get(name)
        if values is not None:
            return [(each, method) for each in values]
        return [] if name in self.subject.file.numbers else None


def _is_large(node: ast.expr) -> bool:
    """A number that may be one of channels, and is none of kernels, strides or layers."""
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value >= _LARGE


def _last(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def has_forward(subject: Subject) -> bool:
    return "forward" in subject.facts.methods and not subject.is_local


def run_methods(subject: Subject) -> list[Method]:
    return subject.facts.reached("forward")


# ---- arguments -------------------------------------------------------------------------------------------------------


def calls_may_not_fit(subject: Subject) -> bool:
    """A submodule is called with arguments that its class does not seem to take."""
    return has_forward(subject) and any(
        _is_doubtful(subject, call, made)
        and not any(isinstance(each, _AVOIDING) for each in enclosing(method, call))  # no test avoids it
        for method, call, made in _calls(subject)
    )


def _calls(subject: Subject) -> Iterator[tuple[Method, ast.Call, list[ast.Call]]]:
    """Calls of what is stored on self or is an element of it; with each, the calls of which one made what is called."""
    made_of: dict[str, list[ast.Call]] = {}
    for method in run_methods(subject):
        held = {
            name: [item for each in made for item in _inside(subject, each)]
            for name, made in _elements(subject, method)
        }
        for call in method.calls:
            name = attribute_of(call.func, method.receiver) if method.receiver else None
            made: list[ast.Call] = []
            if name is not None:
                if name not in made_of:
                    made_of[name] = _made(subject, subject.facts.stores_of(name))
                made = made_of[name]
            elif isinstance(call.func, ast.Name):
                made = held.get(call.func.id, [])
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
    refusing = (_refuses(subject, each, call) for each in made)
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
