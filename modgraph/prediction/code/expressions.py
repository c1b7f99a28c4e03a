"""evaluate(machine, frame, node) -> Value: one function per kind of expression, found by the node's type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from modgraph.prediction.code import binding, comprehensions, functions, names, taken_away
from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.frames import EnoughError, Frame
from modgraph.prediction.domain.limits import MAX_YIELDED
from modgraph.prediction.domain.objects import (
    DictObject,
    InstanceObject,
    ListObject,
    ModuleObject,
    SetObject,
    TensorObject,
)
from modgraph.prediction.domain.values import (
    FALSE,
    NONE,
    Address,
    Choice,
    Constant,
    SliceValue,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.paths import assuming, possible_tensors
from modgraph.prediction.python import (
    attributes,
    hashing,
    items,
    iterables,
    literal_texts,
    node_text,
    operators,
    text,
)
from modgraph.prediction.python.plain import number_unknown
from modgraph.source import nodes
from modgraph.source.quiet import literal_value

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

Evaluator = Callable[["Machine", Frame, Any], Value]


def evaluate(machine: Machine, frame: Frame, node: nodes.Expression) -> Value:
    """The value of an expression.

    Raises:
        Raised: what Python would certainly raise.
        LimitError: the budget is used up.
    """
    try:
        evaluator = _evaluators()[type(node)]
    except KeyError:
        return machine.unknown(f"{type(node).__name__} is not interpreted")
    value = evaluator(machine, frame, node)
    if machine.is_recording and type(value) is Unknown and type(node) not in _READING:
        return replace(value)  # what is computed of something that is not known is another thing
    return value


_READING = (nodes.Name, nodes.Attribute)


def _name(machine: Machine, frame: Frame, node: nodes.Name) -> Value:
    name = node.value
    return _KEYWORDS[name] if name in _KEYWORDS else names.look_up(machine, frame, name)


_STOPPED = Constant(object())
"""What the path of an `or`, or an `and`, gives on which its right side is not run; no value of a program."""
_KEYWORDS = {"None": NONE, "True": Constant(True), "False": Constant(False)}


def _literal(machine: Machine, frame: Frame, node: Any) -> Value:
    found = machine.caches.literals.get(node)
    if found is None:
        try:
            found = machine.caches.literals[node] = Constant(literal_texts.kept(machine, _read(node)))
        except (ValueError, SyntaxError) as error:
            return machine.unknown(f"literal cannot be read: {error}")
    return found


def _read(node: Any) -> object:
    """The value of a literal; the plain ones without a parser."""
    text_: str = node.value
    if type(node) is nodes.Integer and text_.isdecimal():
        return int(text_)
    quote = text_[0]
    if quote in "'\"" and "\\" not in text_ and text_.count(quote) == 2:
        return text_[1:-1]
    return literal_value(text_)


def _ellipsis(machine: Machine, frame: Frame, node: nodes.Ellipsis) -> Value:
    return Constant(...)


def _tuple(machine: Machine, frame: Frame, node: nodes.Tuple) -> Value:
    found, unknown = _elements(machine, frame, node.elements)
    return points_to.read(machine, unknown, [*found, unknown]) if unknown is not None else TupleValue(tuple(found))


def _list(machine: Machine, frame: Frame, node: nodes.List) -> Value:
    found, unknown = _elements(machine, frame, node.elements)
    return machine.allocate(ListObject(found, unknown))


def _set(machine: Machine, frame: Frame, node: nodes.Set) -> Value:
    found, unknown = _elements(machine, frame, node.elements, in_any_order=True)
    elements, why = hashing.unique(machine, found)
    return machine.allocate(SetObject(elements, unknown or why))


def _elements(
    machine: Machine, frame: Frame, elements: Any, in_any_order: bool = False
) -> tuple[list[Value], Unknown | None]:
    """The items of a display, `*parts` unpacked; with the reason where from some place on they are not known."""
    found: list[Value] = []
    unknown: Unknown | None = None
    parts: list[Value] | Unknown
    for element in elements:
        is_starred = type(element) is nodes.Starred
        value = evaluate(machine, frame, element.value if is_starred else element)
        if is_starred:
            if not in_any_order:
                iterables.asked_for_length(machine, value)
            parts = machine.iterate_in_any_order(value) if in_any_order else machine.iterate(value)
        else:
            parts = [value]
        if isinstance(parts, Unknown):
            unknown = parts if unknown is None else points_to.read(machine, unknown, [unknown, parts])
        elif unknown is None:
            found.extend(parts)
        else:  # what stands behind items whose number is not known is one of the further ones
            unknown = points_to.read(machine, unknown, [unknown, *parts])
    return found, unknown


def _dict(machine: Machine, frame: Frame, node: nodes.Dict) -> Value:
    address = machine.allocate(DictObject())
    for element in node.elements:
        if type(element) is nodes.DictElement:
            key = evaluate(machine, frame, element.key)
            items.assign(machine, address, key, evaluate(machine, frame, element.value))
        elif type(element) is nodes.StarredDictElement:
            items.merge_mapping(machine, address, evaluate(machine, frame, element.value))
    return address


def _attribute(machine: Machine, frame: Frame, node: nodes.Attribute) -> Value:
    return attributes.get(machine, evaluate(machine, frame, node.value), node.attr)


def _subscript(machine: Machine, frame: Frame, node: nodes.Subscript) -> Value:
    value = evaluate(machine, frame, node.value)
    key = subscript_key(machine, frame, node)
    # What loops over points ask for most, spared the questions about every other kind.
    if type(value) is TupleValue and type(key) is Constant and type(key.value) is int:
        index = key.value
        if 0 <= index < len(value.items):
            return value.items[index]
    return machine.get_item(value, key)


def subscript_key(machine: Machine, frame: Frame, node: nodes.Subscript) -> Value:
    """What stands between the brackets: a value, a slice, or a tuple of these."""
    return evaluate(machine, frame, node.slice)


def _slice(machine: Machine, frame: Frame, node: nodes.Slice) -> Value:
    bounds = (node.lower, node.upper, node.step)
    return SliceValue(*[evaluate(machine, frame, bound) if bound is not None else NONE for bound in bounds])


def _call(machine: Machine, frame: Frame, node: nodes.Call) -> Value:
    function = evaluate(machine, frame, node.func)
    positional: list[Value] = []
    keywords: dict[str, Value] = {}
    unknown: Unknown | None = None
    unread = type(function) is Unknown and function.inert  # a logger: the text of an object may take long to make
    for argument in node.args:
        if unread and type(argument.value) is nodes.FormattedString:
            value = text.unread(machine, frame, argument.value)
        else:
            value = evaluate(machine, frame, argument.value)
        if argument.keyword is not None:
            _require_single(machine, keywords, argument.keyword)
            keywords[argument.keyword] = value
        elif argument.star == "**":
            unknown = _unpack_mapping(machine, value, keywords) or unknown
        elif argument.star:
            parts = machine.iterate(value)
            if isinstance(parts, Unknown):
                unknown = parts if unknown is None else points_to.either_of(unknown, (parts,))
            elif unknown is None:
                positional.extend(parts)
            else:
                unknown = points_to.either_of(unknown, parts)
        elif unknown is None:
            positional.append(value)
        else:  # what stands behind arguments whose number is not known is one of the further ones
            unknown = points_to.either_of(unknown, (value,))
    where = frame.location(node)
    if type(function) is Unknown and nodes.is_super(node):
        machine.expose([frame.receiver] if frame.receiver is not None else [], function)  # it is given unwritten
    if type(function) is Unknown and machine.is_recording and _is_called_itself(function, node.func):
        function = replace(function, inert=False)
    outer, frame.calling = frame.calling, where
    arguments = Arguments("", tuple(positional), keywords, where, unknown)
    try:
        found = machine.invoke(function, arguments)
    finally:
        frame.calling = outer
    if type(found) is Unknown and found is function and type(node.func) is nodes.Attribute:
        return possible_tensors.method_of_possible(machine, found, node.func.attr, arguments)
    return found


_CALLS = ("forward", "__call__")


def _is_called_itself(function: Unknown, node: nodes.Expression) -> bool:
    """What was taken for a number, or a text, is called: it is none, and may be a module. A method of one is no such
    thing, and what comes of a library is known by its name."""
    if not function.inert or function.library:
        return False
    return type(node) is not nodes.Attribute or node.attr in _CALLS


def _require_single(machine: Machine, keywords: dict[str, Value], name: str) -> None:
    """A keyword is given once, whether it stands there or comes from `**options`."""
    if name in keywords and not binding.may_be_absent(machine, keywords[name]):
        raise machine.raises("TypeError", f"got multiple values for keyword argument '{name}'")


def _unpack_mapping(machine: Machine, value: Value, keywords: dict[str, Value]) -> Unknown | None:
    """Adds the entries of `**value`; the reason where there may be others."""
    pairs = items.mapping_pairs(machine, value)
    if isinstance(pairs, Unknown):
        return pairs
    found, unknown = pairs
    for key, item in found:
        if isinstance(key, Constant) and isinstance(key.value, str):
            if key.value in keywords:
                if binding.may_be_absent(machine, item):
                    continue
                raise machine.raises("TypeError", f"got multiple values for keyword argument '{key.value}'")
            keywords[key.value] = item
        else:
            unknown = machine.unknown("a key of ** is not known", key)
    return unknown


def _binary(machine: Machine, frame: Frame, node: nodes.BinaryOperation) -> Value:
    # A long chain (a + b + c + ...) leans to the left; a loop spares Python's stack.
    chain: list[nodes.BinaryOperation] = [node]
    left = node.left
    while type(left) is nodes.BinaryOperation:
        chain.append(left)
        left = left.left
    value = evaluate(machine, frame, left)
    for each in reversed(chain):
        value = machine.binary(each.operator, value, evaluate(machine, frame, each.right))
    return value


def test(machine: Machine, frame: Frame, node: nodes.Expression) -> Value:
    """A value that is as true as that of the expression: `unknown or True` is true, whichever of the two it gives."""
    if type(node) is nodes.BooleanOperation:
        return _boolean(machine, frame, node, test)
    if type(node) is nodes.UnaryOperation and node.operator == "not":
        value = test(machine, frame, node.expression)
        truth = machine.truth(value)
        if truth is not None:
            return Constant(not truth)
        return operators.unary(machine, node.operator, _asked(machine, value))
    return evaluate(machine, frame, node)


def _boolean(
    machine: Machine,
    frame: Frame,
    node: nodes.BooleanOperation,
    evaluate_part: Callable[[Machine, Frame, nodes.Expression], Value] | None = None,
) -> Value:
    part = evaluate_part or evaluate
    left = part(machine, frame, node.left)
    stops = node.operator == "or"
    truth = machine.truth(left)
    if machine.is_recording:
        truth = assuming.told(machine, frame, node_text.condition_of(node.left), left, truth)
    if truth is not None:
        if truth is stops:
            return left if evaluate_part is None else Constant(truth)
        return part(machine, frame, node.right)
    reason = f"depends on `{node_text.source_of(node.left)}`"
    if isinstance(left, Choice):
        kept = [
            each for each in left.alternatives if _says_itself(machine, each) or machine.truth(each) in (None, stops)
        ]
    else:
        kept = [left if evaluate_part is None else _asked(machine, left)]
    truths: list[bool | None] = []
    text, at = node_text.condition_of(node.left) if machine.is_recording else "", assuming.moment()

    def stop() -> Value:
        assuming.assume(machine, frame, machine.state, text, stops, left, at=at)
        return _STOPPED

    def evaluate_right() -> Value:
        assuming.assume(machine, frame, machine.state, text, not stops, left, at=at)
        value = part(machine, frame, node.right)
        if evaluate_part is None:  # nobody asks here whether it is true
            return value
        truths.append(machine.truth(value))
        return _asked(machine, value) if truths[-1] is None else Constant(truths[-1])

    right = machine.fork([stop, evaluate_right], reason)
    if evaluate_part is not None and truths == [stops]:
        return Constant(stops)
    given = right.alternatives if isinstance(right, Choice) else (right,)
    alternatives = tuple(value for value in given if value != _STOPPED)  # none are left where the right side raises
    if isinstance(left, Unknown):
        return points_to.either_of(left, alternatives) if evaluate_part is None else left
    return machine.choice([*kept, *alternatives], reason)


def _asked(machine: Machine, value: Value) -> Value:
    """A value that was asked whether it is true, and of which that is not known: it is not asked again."""
    if not any(_says_itself(machine, each) for each in (value.alternatives if isinstance(value, Choice) else (value,))):
        return value
    return number_unknown(machine, node_text.why_not_true(machine, value), value)


def _says_itself(machine: Machine, value: Value) -> bool:
    """It may do something, or raise, when it is asked whether it is true."""
    return isinstance(value, Address) and isinstance(
        machine.state.read(value), (InstanceObject, ModuleObject, TensorObject)
    )


def _comparison(machine: Machine, frame: Frame, node: nodes.Comparison) -> Value:
    return _compared(machine, frame, evaluate(machine, frame, node.left), node.comparisons)


def _compared(machine: Machine, frame: Frame, left: Value, targets: Sequence[nodes.ComparisonTarget]) -> Value:
    """What a chain of comparisons gives: the first that is not true, after which no other is made, or the last."""
    right = evaluate(machine, frame, targets[0].comparator)
    result = machine.compare(targets[0].operator, left, right)
    others = targets[1:]
    if not others:
        return result
    truth = machine.truth(result)
    if truth is not None:
        return _compared(machine, frame, right, others) if truth else result
    reason = result.reason if isinstance(result, (Unknown, Choice)) else "depends on what a comparison gives"
    found = machine.fork([lambda: FALSE, lambda: _compared(machine, frame, right, others)], reason)
    if not isinstance(result, Choice):
        return points_to.either_of(machine.unknown(reason, result), (found,))
    kept = (each for each in result.alternatives if machine.truth(each) is not True)
    return machine.choice([*kept, *(found.alternatives if isinstance(found, Choice) else (found,))], reason)


def _unary(machine: Machine, frame: Frame, node: nodes.UnaryOperation) -> Value:
    return operators.unary(machine, node.operator, evaluate(machine, frame, node.expression))


def _conditional(machine: Machine, frame: Frame, node: nodes.IfExp) -> Value:
    value = test(machine, frame, node.test)
    truth = machine.truth(value)
    if machine.is_recording:
        truth = assuming.told(machine, frame, node_text.condition_of(node.test), value, truth)
    if truth is not None:
        return evaluate(machine, frame, node.body if truth else node.orelse)
    reason = node_text.reason_of_test(machine, node.test, value)
    text, at = node_text.condition_of(node.test) if machine.is_recording else "", assuming.moment()

    def arm(part: nodes.Expression, truth: bool) -> Value:
        assuming.assume(machine, frame, machine.state, text, truth, value, at=at)
        return evaluate(machine, frame, part)

    return machine.fork([lambda: arm(node.body, True), lambda: arm(node.orelse, False)], reason)


def _named(machine: Machine, frame: Frame, node: nodes.NamedExpr) -> Value:
    value = evaluate(machine, frame, node.value)
    if isinstance(node.target, nodes.Name):
        comprehensions.bind_outside(machine, frame, node.target.value, value)
    return value


def _lambda(machine: Machine, frame: Frame, node: nodes.Lambda) -> Value:
    return functions.define_lambda(machine, frame, node)


def _yield(machine: Machine, frame: Frame, node: nodes.Yield) -> Value:
    if frame.yields is None:
        return machine.unknown("yield outside a function")
    if node.is_from and node.value is not None:
        parts = machine.iterate(evaluate(machine, frame, node.value))
        if isinstance(parts, Unknown):
            frame.yields_unknown = True
        else:
            frame.yields.extend(parts)
    else:
        given = evaluate(machine, frame, node.value) if node.value is not None else NONE
        frame.yields.append(given)
        if frame.on_yield is not None:
            frame.on_yield(given)
    if len(frame.yields) > MAX_YIELDED:
        raise EnoughError
    return NONE if frame.on_yield is not None else machine.unknown("what is sent to this `yield` is not known")


def _await(machine: Machine, frame: Frame, node: nodes.Await) -> Value:
    return taken_away.waited_for(machine, evaluate(machine, frame, node.expression))


@cache
def _evaluators() -> dict[type[nodes.Node], Evaluator]:
    """Built at the first expression: the modules it names import this one."""
    return {
        nodes.Name: _name,
        nodes.Integer: _literal,
        nodes.Float: _literal,
        nodes.Imaginary: _literal,
        nodes.SimpleString: _literal,
        nodes.ConcatenatedString: text.concatenated,
        nodes.FormattedString: text.formatted,
        nodes.Ellipsis: _ellipsis,
        nodes.Tuple: _tuple,
        nodes.List: _list,
        nodes.Set: _set,
        nodes.Dict: _dict,
        nodes.Attribute: _attribute,
        nodes.Subscript: _subscript,
        nodes.Slice: _slice,
        nodes.Call: _call,
        nodes.BinaryOperation: _binary,
        nodes.BooleanOperation: _boolean,
        nodes.Comparison: _comparison,
        nodes.UnaryOperation: _unary,
        nodes.IfExp: _conditional,
        nodes.NamedExpr: _named,
        nodes.Lambda: _lambda,
        nodes.ListComp: comprehensions.list_of,
        nodes.SetComp: comprehensions.set_of,
        nodes.DictComp: comprehensions.dict_of,
        nodes.GeneratorExp: comprehensions.generator_of,
        nodes.Yield: _yield,
        nodes.Await: _await,
    }
