"""Truth, equality, order, identity, membership."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from modgraph.prediction.domain import dict_views
from modgraph.prediction.domain.limits import MAX_COMPARED_DEPTH
from modgraph.prediction.domain.objects import (
    DictObject,
    InstanceObject,
    IteratorObject,
    ListObject,
    ModuleObject,
    SetObject,
    TensorObject,
    ViewObject,
)
from modgraph.prediction.domain.registry import LOADED_MODULES
from modgraph.prediction.domain.values import (
    FALSE,
    NOT_IMPLEMENTED,
    TRUE,
    Address,
    Choice,
    ClassValue,
    Constant,
    EnumMember,
    KnownClass,
    KnownFunction,
    SliceValue,
    TupleValue,
    Unknown,
    Value,
    is_optional,
)
from modgraph.prediction.paths import partial_texts, shared_memory
from modgraph.prediction.paths.recording import operate_on_unknown
from modgraph.prediction.python import (
    classes,
    data_classes,
    enumerations,
    exceptions,
    hashing,
    inner_stores,
    producing,
    rich_comparison,
    unordered,
)
from modgraph.prediction.python.bounds import is_long_range
from modgraph.prediction.python.classes import is_plain_member, short_name
from modgraph.prediction.python.counted import count
from modgraph.prediction.python.identity import (
    any_alternative,
    identical,
    is_no_number,
    is_one,
    maybe_another,
    same_member,
)
from modgraph.prediction.python.plain import number_unknown
from modgraph.prediction.python.rich_comparison import METHODS, MIRRORED
from modgraph.prediction.python.stand_ins import OtherTextError

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

_KEYS_OF_A_UNIT = 10
"""Looked at to see whether all of them are constants."""


def truth(machine: Machine, value: Value) -> bool | None:
    """bool(value); None where it cannot be known."""
    if isinstance(value, Constant):
        return None if value.value is NotImplemented else bool(value.value)
    if isinstance(value, Unknown):
        if value.may_be:
            rich_comparison.perhaps_asked(machine, [value], value, *_OF_TRUTH)
        return True if value.text is not None and not partial_texts.may_be(value, "") else None
    if isinstance(value, Choice):
        return _of_each(machine, value, lambda each: truth(machine, each))
    if isinstance(value, TupleValue):
        return bool(value.items)
    if isinstance(value, EnumMember):
        by_value = is_plain_member(machine, value) or enumerations.is_flag(machine, value.cls)
        return truth(machine, value.value) if by_value else True
    if isinstance(value, ClassValue):
        meta = machine.metaclass_of(value)
        return _by_methods(machine, value, meta) if isinstance(meta, ClassValue) else True
    if not isinstance(value, Address):
        return True
    item = machine.state.read(value)
    if isinstance(item, (ListObject, DictObject, SetObject)) and isinstance(item.cls, ClassValue):
        for name in _OF_TRUTH:
            method = machine.class_attribute(item.cls, name)
            if method is not None and _is_source(method):
                return truth(machine, machine.call(method, (value,)))
    if isinstance(item, ListObject):
        return True if item.items else (None if item.open else False)
    if machine.guesses.may_be_empty(value):
        return None
    if isinstance(item, DictObject):
        if any(not is_optional(each) for each in item.entries.values()):
            return True
        return None if item.unsure else False
    if isinstance(item, SetObject):
        return True if item.items else (None if item.open else False)
    if isinstance(item, TensorObject):
        if machine.guesses.doubts(value):
            return None
        _require_one_element(machine, item)
        elements = shared_memory.current(machine.state, item).elements
        return bool(elements[0]) if elements is not None and len(elements) == 1 else None
    if isinstance(item, (InstanceObject, ModuleObject)):
        return _by_methods(machine, value, item.cls)
    return True


_OF_TRUTH = ("__bool__", "__len__")


def _of_each(
    machine: Machine, value: Choice, ask: Callable[[Value], bool | None], other: Value | None = None
) -> bool | None:
    """What holds of one of several values; an object may do something when it is asked, on its own path. So may the
    `other`, when it is compared with them."""
    if not any(isinstance(each, (Address, Unknown)) for each in (*value.alternatives, other)):
        return any_alternative([ask(each) for each in value.alternatives])
    found = machine.distribute(value, lambda each: Constant(ask(each)))
    return found.value if isinstance(found, Constant) else None


def _require_one_element(machine: Machine, tensor: TensorObject) -> None:
    """Of a tensor, or an array of numpy, that is asked whether it is true.

    Raises:
        Raised: RuntimeError or ValueError, where it certainly has more elements, or none.
    """
    sizes = [size for size in tensor.shape or () if size is not None]
    if tensor.shape is None or len(sizes) < len(tensor.shape) or all(size == 1 for size in sizes):
        return
    what = "no values" if 0 in sizes else "more than one value"
    if tensor.cls is None or tensor.is_parameter:
        raise machine.raises("RuntimeError", f"Boolean value of Tensor with {what} is ambiguous")
    if isinstance(tensor.cls, KnownClass) and 0 not in sizes:
        raise machine.raises("ValueError", "The truth value of an array with more than one element is ambiguous")


def _by_methods(machine: Machine, value: Value, cls: Value) -> bool | None:
    for name in _OF_TRUTH:
        method = machine.class_attribute(cls, name)
        if isinstance(method, Unknown):
            return None
        if method is not None:
            return truth(machine, machine.call(method, (value,)))
    return True


def compare(machine: Machine, operator_: str, left: Value, right: Value) -> Value:
    """left operator right."""
    if operator_ in _OF_KINDS and machine.guesses.kinds and _is_of_guess(machine, left, right):
        answer = None
    elif operator_ in ("is", "is not"):
        answer = identical(machine, left, right)
    elif operator_ in ("==", "!="):
        if is_one(left, right):
            return Constant(operator_ == "==")
        if _elementwise(machine, left) or _elementwise(machine, right):
            tensor, other = (left, right) if _elementwise(machine, left) else (right, left)
            method = machine.get_attribute(tensor, "__eq__" if operator_ == "==" else "__ne__")
            return machine.call(method, (other,))
        if isinstance(left, Choice):
            return machine.distribute(left, lambda each: compare(machine, operator_, each, right))
        if isinstance(right, Choice):
            return machine.distribute(right, lambda each: compare(machine, operator_, left, each))
        said = rich_comparison.compared(machine, operator_, left, right)
        if said is not None:
            return said
        answer = equal(machine, left, right)
    elif operator_ in ("in", "not in"):
        answer = contains(machine, right, left)
    else:
        return order(machine, operator_, left, right)
    if answer is None:
        if operator_ in ("==", "!="):
            operate_on_unknown(machine, left, right)
        return number_unknown(machine, f"{operator_} cannot be decided", left, right)
    return TRUE if answer is (operator_ in ("is", "==", "in")) else FALSE


_OF_KINDS = ("is", "is not", "==", "!=")
"""These have an answer whatever the two are."""


def _is_of_guess(machine: Machine, left: Value, right: Value) -> bool:
    """One of them is only taken for a tensor, and the other is nothing that a tensor is compared with."""
    for value, other in ((left, right), (right, left)):
        if _is_no_number(machine, other) and machine.guesses.doubts(value):
            return True
    return False


def _is_no_number(machine: Machine, value: Value) -> bool:
    if isinstance(value, Constant):
        return not isinstance(value.value, (bool, int, float, complex))
    if isinstance(value, Choice):
        return any(_is_no_number(machine, each) for each in value.alternatives)
    return not isinstance(value, Unknown) and not _elementwise(machine, value)


def _elementwise(machine: Machine, value: Value) -> bool:
    return machine.state.find(value, TensorObject) is not None


def equal(machine: Machine, left: Value, right: Value) -> bool | None:
    """left == right."""
    if is_one(left, right):
        return True
    if isinstance(left, Choice):
        return _of_each(machine, left, lambda each: equal(machine, each, right), right)
    if isinstance(right, Choice):
        return _of_each(machine, right, lambda each: equal(machine, left, each), left)
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        if partial_texts.differ(left, right):
            return False
        said = rich_comparison.compared(machine, "==", left, right)
        if said is not None:
            return truth(machine, said)
        rich_comparison.perhaps_asked(machine, [left, right], _whichever(left, right), "__eq__")
        return None
    if isinstance(left, Constant) and isinstance(right, Constant):
        return bool(left.value == right.value)
    if isinstance(left, (Address, EnumMember)) or isinstance(right, (Address, EnumMember)):
        said = rich_comparison.compared(machine, "==", left, right)
        if said is not None:
            return truth(machine, said)
    if isinstance(left, EnumMember) or isinstance(right, EnumMember):
        return _equal_members(machine, left, right)
    if isinstance(left, TupleValue) and isinstance(right, TupleValue):
        return _equal_items(machine, list(left.items), list(right.items))
    if isinstance(left, SliceValue) and isinstance(right, SliceValue):
        return _equal_items(machine, [left.lower, left.upper, left.step], [right.lower, right.upper, right.step])
    if isinstance(left, Address) and left != right:
        return _equal_objects(machine, left, right)
    if isinstance(right, Address) and left != right:
        return _equal_objects(machine, right, left)
    return None if left == right and maybe_another(left, right) else left == right


def _whichever(left: Value, right: Value) -> Unknown:
    """That of the two of which nothing is known."""
    found = left if isinstance(left, Unknown) else right
    assert isinstance(found, Unknown)
    return found


def _equal_members(machine: Machine, left: Value, right: Value) -> bool | None:
    if isinstance(left, EnumMember) and isinstance(right, EnumMember):
        return same_member(left, right)
    member, other = (left, right) if isinstance(left, EnumMember) else (right, left)
    assert isinstance(member, EnumMember)
    return equal(machine, member.value, other) if is_plain_member(machine, member) else False


def _is_source(method: Value) -> bool:
    return hasattr(method, "definition")


def _equal_items(machine: Machine, left: list[Value], right: list[Value]) -> bool | None:
    if len(left) != len(right):
        return False
    machine.step()  # what is shared inside is compared at each of its places
    count(machine, len(left))
    if machine.comparing > MAX_COMPARED_DEPTH:
        return None
    machine.comparing += 1
    try:
        return _all_same(machine, list(zip(left, right, strict=True)))
    finally:
        machine.comparing -= 1


def _all_same(machine: Machine, pairs: Sequence[tuple[Value, Value]]) -> bool | None:
    """Those after the first two that differ are not compared."""
    return in_turn(
        machine,
        pairs,
        lambda pair: same_item(machine, *pair),
        False,
        lambda pair: any(_asks_source(machine, each) for each in pair),
        _EQUAL,
    )


_EQUAL = "depends on whether two are equal"
_Asked = TypeVar("_Asked")


def in_turn(
    machine: Machine,
    items: Sequence[_Asked],
    ask: Callable[[_Asked], bool | None],
    decisive: bool,
    may_change: Callable[[_Asked], bool],
    reason: str,
) -> bool | None:
    """The `decisive` answer where one of the items gives it, the other where all give that. Those behind the first of
    which it is not known are asked on some paths only, if to ask one of them may change something."""
    is_sure = True
    for place, item in enumerate(items):
        answer = ask(item)
        if answer is decisive:
            return decisive
        if answer is None and is_sure:
            is_sure, others = False, items[place + 1 :]
            if any(map(may_change, others)):
                rest = lambda: in_turn(machine, others, ask, decisive, may_change, reason)  # noqa: B023, E731
                return _perhaps(machine, rest, decisive, reason)
    return not decisive if is_sure else None


def _perhaps(machine: Machine, ask: Callable[[], bool | None], otherwise: bool, reason: str) -> bool | None:
    """An answer where it is asked on some paths only, and another one on the others."""
    found = machine.fork([lambda: Constant(otherwise), lambda: Constant(ask())], reason)
    return otherwise if found == Constant(otherwise) else None


def same_item(machine: Machine, left: Value, right: Value) -> bool | None:
    """What `in`, and the comparison of lists and tuples, take for the same: one object, or two that are equal."""
    if isinstance(left, (Address, EnumMember)) and left == right:
        return True
    if type(left) is Constant and type(right) is Constant and is_no_number(left.value) and is_no_number(right.value):
        return True if left is right else None
    if _elementwise(machine, left) or _elementwise(machine, right):
        return truth(machine, compare(machine, "==", left, right))
    return equal(machine, left, right)


def _equal_objects(machine: Machine, left: Address, right: Value) -> bool | None:
    ours = machine.state.read(left)
    theirs = machine.state.read(right) if isinstance(right, Address) else None
    if dict_views.is_view(ours) or dict_views.is_view(theirs):
        return _equal_views(machine, ours, theirs)
    if isinstance(ours, ListObject) and isinstance(theirs, ListObject):
        if ours.open is not None or theirs.open is not None:
            return None
        return _equal_items(machine, ours.items, theirs.items)
    if isinstance(ours, DictObject) and isinstance(theirs, DictObject):
        if ours.unsure is not None or theirs.unsure is not None:
            return None
        return _equal_mappings(machine, ours, theirs)
    if isinstance(ours, SetObject) and isinstance(theirs, SetObject):
        return None if ours.open or theirs.open else _equal_sets(machine, ours, theirs)
    if isinstance(ours, TensorObject) or isinstance(theirs, TensorObject):
        return None
    if isinstance(ours, (InstanceObject, ModuleObject)):
        return _equal_instances(machine, left, ours, right, theirs)
    return False


def _equal_mappings(machine: Machine, ours: DictObject, theirs: DictObject) -> bool | None:
    """Of two OrderedDicts the order counts; in a Counter, a key that is not there counts zero."""
    counted, ordered = (
        all(KnownClass(f"collections.{kind}") in machine.mro(each.cls) for each in (ours, theirs))
        for kind in ("Counter", "OrderedDict")
    )
    if not counted and len(ours.entries) != len(theirs.entries):
        return False
    others = hashing.counterparts(machine, ours.entries, theirs.entries)
    if others is None:
        return None
    if not counted and (None in others or (ordered and others != list(theirs.entries))):
        return False
    zero = Constant(0)
    held = [zero if each is None else theirs.entries[each] for each in others]
    met = set(others)
    more = [value for key, value in theirs.entries.items() if key not in met]
    return _equal_items(machine, [*ours.entries.values(), *(zero for _ in more)], [*held, *more])


def _equal_views(machine: Machine, ours: object, theirs: object) -> bool | None:
    """Of two objects one of which shows a dict: its keys and items are sets, and its values equal nothing."""
    sides: list[dict[Value, None]] = []
    for each in (ours, theirs):
        if not isinstance(each, SetObject) and not dict_views.is_set(each):
            return False
        assert isinstance(each, (ListObject, SetObject))
        if each.open is not None:
            return None
        sides.append(dict.fromkeys(each.items))
    if not all(map(_is_plain, (*sides[0], *sides[1]))):
        return None
    if len(sides[0]) != len(sides[1]):
        return False
    others = hashing.counterparts(machine, *sides)
    return None if others is None else None not in others


def _is_plain(value: Value) -> bool:
    """A constant, or a tuple of such."""
    return type(value) is Constant or (isinstance(value, TupleValue) and all(map(_is_plain, value.items)))


def _equal_sets(machine: Machine, ours: SetObject, theirs: SetObject) -> bool | None:
    if len(ours.items) != len(theirs.items):
        return False
    others = hashing.counterparts(machine, ours.items, theirs.items)
    return None if others is None else None not in others


def _equal_instances(
    machine: Machine, left: Address, ours: InstanceObject | ModuleObject, right: Value, theirs: object
) -> bool | None:
    method = machine.class_attribute(ours.cls, "__eq__")
    if isinstance(method, Unknown):
        return None
    if method is not None and isinstance(ours.cls, KnownClass):
        if method == KnownFunction("builtins.object.__eq__"):
            answer = identical(machine, left, right)
        else:
            said = machine.call(method, (left, right))
            answer = False if said == NOT_IMPLEMENTED else truth(machine, said)
        if answer is not False or ours.cls not in _BY_ATTRIBUTES:
            return answer
    if isinstance(theirs, InstanceObject) and theirs.cls == ours.cls and isinstance(ours.cls, ClassValue):
        names = data_classes.compared_names(machine, ours.cls)
        if isinstance(names, Unknown) or (names is not None and (ours.open is not None or theirs.open is not None)):
            return None
        if names is not None:
            sides = [[machine.get_attribute(each, name) for name in names] for each in (left, right)]
            return _equal_items(machine, *sides)
    if isinstance(theirs, InstanceObject) and theirs.cls == ours.cls and ours.cls in _BY_ATTRIBUTES:
        if ours.open is not None or theirs.open is not None:
            return None
        if ours.attributes.keys() != theirs.attributes.keys():
            both = (*ours.attributes.items(), *theirs.attributes.items())
            unsure = {name for name, value in both if is_optional(value)}
            return None if (ours.attributes.keys() ^ theirs.attributes.keys()) <= unsure else False
        held = [theirs.attributes[name] for name in ours.attributes]
        return _equal_items(machine, list(ours.attributes.values()), held)
    return False


_BY_ATTRIBUTES = (KnownClass("types.SimpleNamespace"), KnownClass("argparse.Namespace"))


def order(machine: Machine, operator_: str, left: Value, right: Value) -> Value:
    """<, <=, >, >=."""
    if isinstance(left, Choice):
        return machine.distribute(left, lambda each: order(machine, operator_, each, right))
    if isinstance(right, Choice):
        return machine.distribute(right, lambda each: order(machine, operator_, left, each))
    said = rich_comparison.compared(machine, operator_, left, right)
    if said is not None:
        return said
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        operate_on_unknown(machine, left, right)
        asked = METHODS[operator_], MIRRORED[operator_], "__eq__"
        rich_comparison.perhaps_asked(machine, [left, right], _whichever(left, right), *asked)
        if not all(isinstance(each, (Unknown, Constant)) for each in (left, right)):
            machine.may_refuse("TypeError")
        return number_unknown(machine, "an operand is not known", left, right)
    if isinstance(left, EnumMember) and is_plain_member(machine, left):
        left = left.value
    if isinstance(right, EnumMember) and is_plain_member(machine, right):
        right = right.value
    if isinstance(left, Constant) and isinstance(right, Constant):
        try:
            return Constant(_ORDER[operator_](left.value, right.value))
        except OtherTextError:
            return number_unknown(machine, "which of two objects lies before the other is not known")
        except TypeError as error:
            raise machine.raises("TypeError", str(error)) from None
    if any(classes.is_list_of_a_library(machine, side) for side in (left, right)):
        return number_unknown(machine, "what a library's list is compared to is not known", left, right)
    sequences = [_sequence(machine, side) for side in (left, right)]
    alike = isinstance(left, TupleValue) is isinstance(right, TupleValue)
    if sequences[0] is not None and sequences[1] is not None and alike:
        count(machine, min(len(sequences[0]), len(sequences[1])))
        for a, b in zip(sequences[0], sequences[1], strict=False):
            same = equal(machine, a, b)
            if same is None:
                return number_unknown(machine, "an item is not known", a, b)
            if not same:
                return order(machine, operator_, a, b)
        return Constant(_ORDER[operator_](len(sequences[0]), len(sequences[1])))
    straight, mirrored = METHODS[operator_], MIRRORED[operator_]
    for receiver, other, name in ((left, right, straight), (right, left, mirrored)):
        cls = machine.class_of(receiver)
        method = None if isinstance(cls, Unknown) else machine.class_attribute(cls, name)
        if method is not None and not isinstance(method, Unknown):
            found = machine.call(method, (receiver, other))
            if found != NOT_IMPLEMENTED:
                return found
    if _is_of_python(machine, left) and _is_of_python(machine, right):
        names = [short_name(machine.class_of(side)) for side in (left, right)]
        message = f"'{operator_}' not supported between instances of '{names[0]}' and '{names[1]}'"
        raise exceptions.exactly(machine, "TypeError", message)
    machine.may_refuse("TypeError")
    return number_unknown(machine, f"{operator_} of these is not modelled")


def _is_of_python(machine: Machine, value: Value) -> bool:
    """A number, text, tuple, list, dict or set itself."""
    cls = machine.class_of(value)
    item = machine.state.read(value) if isinstance(value, Address) else None
    is_one = isinstance(value, (Constant, TupleValue)) or isinstance(item, (ListObject, DictObject, SetObject))
    return is_one and isinstance(cls, KnownClass) and cls.name in _ORDERED_ALIKE


_ORDERED_ALIKE = frozenset(
    f"builtins.{name}"
    for name in "int bool float complex str bytes NoneType tuple list dict set frozenset range".split()  # noqa: SIM905
)
"""Python has an order between two of one of these, if any, and none between any two others."""


def _sequence(machine: Machine, value: Value) -> list[Value] | None:
    if isinstance(value, TupleValue):
        return list(value.items)
    items = machine.state.find(value, ListObject)
    return items.items if items is not None and items.open is None else None


def _is_loaded(machine: Machine, module: Value) -> bool | None:
    """module in sys.modules: torch is, where there are modules of it; what is not on the path cannot be."""
    name = module.value if isinstance(module, Constant) else None
    if not isinstance(name, str):
        return None
    if name == "torch":
        return True
    built_in = name.partition(".")[0] in sys.stdlib_module_names
    return None if built_in or machine.finder.find(name) is not None else False


def contains(machine: Machine, container: Value, item: Value) -> bool | None:
    """item in container."""
    if machine.guesses.kinds and _holds_no_tensors(machine, container) and machine.guesses.doubts(item):
        return None
    answer = _contains(machine, container, item)
    if answer is not True and isinstance(container, Address):
        again = machine.look_again(container, item)
        if again is not False:
            answer = _contains(machine, container, item)
            if isinstance(again, Unknown) and answer is False:
                answer = None
    return answer


def _holds_no_tensors(machine: Machine, container: Value) -> bool:
    """It finds by hash, or is a text."""
    if isinstance(container, Constant):
        return True
    return isinstance(container, Address) and isinstance(machine.state.read(container), (DictObject, SetObject))


def _answer(machine: Machine, container: Value, item: Value) -> Value:
    answer = contains(machine, container, item)
    return (
        number_unknown(machine, "it is not known whether it is in it", container, item)
        if answer is None
        else Constant(answer)
    )


def _contains(machine: Machine, container: Value, item: Value) -> bool | None:
    if isinstance(container, Choice):
        return truth(machine, machine.distribute(container, lambda each: _answer(machine, each, item)))
    if isinstance(item, Choice):
        return truth(machine, machine.distribute(item, lambda each: _answer(machine, container, each)))
    if container is LOADED_MODULES:
        return _is_loaded(machine, item)
    if isinstance(container, Unknown):
        rich_comparison.perhaps_asked(machine, [item], container, "__eq__")
        return None
    if isinstance(container, Constant):
        return _in_constant(machine, container, item)
    flags = enumerations.holds(machine, container, item)
    if flags is not None:
        return flags
    if _elementwise(machine, container):
        return _in_tensor(machine, container, item)
    found: list[Value] | None = None
    open_ = False
    target = machine.state.read(container) if isinstance(container, Address) else None
    if isinstance(target, (DictObject, SetObject)) and isinstance(container, Address):
        hashing.asked(machine, item)
        target = machine.state.read(container)
    if isinstance(target, (ListObject, DictObject, SetObject)) and isinstance(target.cls, ClassValue):
        method = machine.class_attribute(target.cls, "__contains__")
        if method is not None and _is_source(method):
            return truth(machine, machine.call(method, (container, item)))
    if isinstance(container, TupleValue):
        found = list(container.items)
    elif isinstance(target, ListObject):
        known = unordered.elements(machine, container)
        found, open_ = (target.items, target.open is not None) if known is None else (known, False)
    elif isinstance(target, ViewObject) and type(item) is Constant and type(item.value) is str:
        held = inner_stores.entry(machine, target, item)
        if held is None:
            return None if target.open is not None else False
        return None if is_optional(held) else True
    elif isinstance(target, (DictObject, SetObject)) and hashing.settled(machine, item) is not item:
        keys = target.entries if isinstance(target, DictObject) else target.items
        return False if target.open is None and all(type(each) is Constant for each in keys) else None
    elif isinstance(target, (DictObject, SetObject)) and _elementwise(machine, item):
        return _by_identity(target, item)
    elif isinstance(target, DictObject):
        hashing.require(machine, item)
        entries, open_ = target.entries, target.open is not None
        if item in entries and not isinstance(entries[item], Unknown):
            return True
        if item in entries and getattr(entries[item], "optional", False):
            return None
        if _only_by_value(machine, item, entries):
            return item in entries or (None if open_ else False)
        found = [each for each in entries if not _elementwise(machine, each)]
    elif isinstance(target, SetObject):
        if machine.state.find(item, SetObject) is None:  # of a set, its frozen equal is looked for
            hashing.require(machine, item)
        found, open_ = [each for each in target.items if not _elementwise(machine, each)], target.open is not None
        if _only_by_value(machine, item, target.items):
            return item in target.items or (None if open_ else False)
    return _by_method(machine, container, item) if found is None else _is_among(machine, found, open_, item)


def _by_identity(target: DictObject | SetObject, item: Value) -> bool | None:
    """Whether a tensor is a key: it is equal to none but itself."""
    keys = target.entries if isinstance(target, DictObject) else target.items
    if item not in keys:
        return None if target.open is not None else False
    return None if isinstance(target, DictObject) and is_optional(target.entries[item]) else True


def _is_among(machine: Machine, found: list[Value], is_open: bool, item: Value) -> bool | None:
    """One of these is equal to the item; those after it are not asked."""
    count(machine, len(found))
    is_sure = True
    for place, each in enumerate(found):
        answer = same_item(machine, each, item)
        if answer:
            return True
        if answer is None and is_sure:
            is_sure, others = False, found[place + 1 :]
            if any(_asks_source(machine, one) for one in (item, *others)):
                return _perhaps(machine, lambda: _is_among(machine, others, is_open, item), True, _EQUAL)  # noqa: B023
    if is_open:
        rich_comparison.perhaps_asked(machine, [item], machine.unknown("what else it holds is not known"), "__eq__")
    return False if is_sure and not is_open else None


def _asks_source(machine: Machine, value: Value) -> bool:
    """To compare it, or what it holds, may change something."""
    if isinstance(value, TupleValue):
        return any(_asks_source(machine, each) for each in value.items)
    held = machine.state.find(value, ListObject)
    if held is not None and held.cls != value:
        return any(not isinstance(each, (Constant, Unknown)) for each in held.items)
    return isinstance(value, Address) and rich_comparison.has_method(machine, value)


def _in_tensor(machine: Machine, container: Value, item: Value) -> bool | None:
    """One of the elements of a tensor is equal to the item: a number is not compared with its rows."""
    tensor = machine.state.find(container, TensorObject)
    elements = None if tensor is None else shared_memory.current(machine.state, tensor).elements
    if elements is None or not isinstance(item, Constant) or not isinstance(item.value, (bool, int, float)):
        return None
    count(machine, len(elements))
    return item.value in elements


def _only_by_value(machine: Machine, item: Value, keys: Collection[Value]) -> bool:
    """The item is a string, and only the same string among the keys can equal it."""
    machine.base.work += len(keys) // _KEYS_OF_A_UNIT
    return type(item) is Constant and type(item.value) is str and all(type(key) is Constant for key in keys)


def _in_constant(machine: Machine, container: Constant, item: Value) -> bool | None:
    if isinstance(item, EnumMember) and is_plain_member(machine, item):
        item = item.value
    if not isinstance(item, Constant):
        return None if isinstance(item, Unknown) else _other_in_constant(machine, container, item)
    if is_long_range(container.value) and not isinstance(item.value, int):
        return None  # Python looks at every number of it
    try:
        return bool(item.value in container.value)
    except TypeError as error:
        raise machine.raises("TypeError", str(error)) from None


def _other_in_constant(machine: Machine, container: Constant, item: Value) -> bool | None:
    """A value that is no constant: no text holds one, and a range only one that says that it is equal to a number."""
    held = container.value
    if isinstance(held, (str, bytes)):
        cls = machine.class_of(item)
        if isinstance(cls, Unknown) or isinstance(item, (Choice, EnumMember)):
            return None
        name = short_name(cls)
        wanted = "'in <string>' requires string as left operand, not {}"
        if isinstance(held, bytes):
            wanted = "a bytes-like object is required, not '{}'"
        raise machine.raises("TypeError", wanted.format(name))
    if not isinstance(held, range):
        raise machine.raises("TypeError", f"argument of type '{type(held).__name__}' is not iterable")
    if held:
        rich_comparison.perhaps_asked(machine, [item], machine.unknown("which number it is equal to"), "__eq__")
    return None if isinstance(item, (Address, EnumMember, Choice)) else False


def _by_method(machine: Machine, container: Value, item: Value) -> bool | None:
    cls = machine.class_of(container)
    if isinstance(cls, Unknown):
        return None
    method = machine.class_attribute(cls, "__contains__")
    if isinstance(method, Unknown):
        return None
    if method is not None:
        return truth(machine, machine.call(method, (container, item)))
    if isinstance(container, ClassValue) and not isinstance(item, EnumMember):
        return None  # an Enum: Python 3.12 looks for its value, earlier ones raise
    found: list[Value] | Unknown | None = unordered.elements(machine, container)
    if found is None and machine.state.find(container, IteratorObject) is not None:
        return _in_iterator(machine, cast(Address, container), item)
    found = machine.iterate(container) if found is None else found
    if isinstance(found, Unknown):
        return None
    answers = [same_item(machine, each, item) for each in found]
    return True if True in answers else (None if None in answers else False)


def _in_iterator(machine: Machine, iterator: Address, item: Value) -> bool | None:
    """Takes from the iterator until an item is found."""
    while (each := producing.take(machine, iterator)) is not None:
        same = same_item(machine, each, item)
        if same is None:
            producing.drain_maybe(machine, iterator, each, lambda one: same_item(machine, one, item))
            return None
        if same:
            return True
    return False if producing.ended(machine, iterator) is None else None
