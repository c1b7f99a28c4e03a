"""dataclasses.make_dataclass: a dataclass of fields that a call lists."""

from __future__ import annotations

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import DictObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import NONE, Constant, TupleValue, Unknown, Value
from modgraph.prediction.python import annotated, data_classes


@models("dataclasses.make_dataclass")
def make_dataclass(arguments: Arguments, machine: Machine) -> Value:
    name, listed = arguments.get(0, "cls_name", NONE), machine.iterate(arguments.get(1, "fields", NONE))
    bases = machine.iterate(arguments.keywords.get("bases", TupleValue(())))
    given = arguments.keywords.get("namespace", NONE)
    held = machine.state.find(given, DictObject) if given != NONE else DictObject()
    if not isinstance(name, Constant) or isinstance(listed, Unknown) or isinstance(bases, Unknown) or held is None:
        return machine.unknown("a class made at run time", name)
    namespace = {str(key.value): value for key, value in held.entries.items() if isinstance(key, Constant)}
    listed_names: list[Value] = []
    for each in listed:
        parts = [each] if isinstance(each, Constant) else machine.iterate(each)
        if isinstance(parts, Unknown) or not parts or not isinstance(parts[0], Constant):
            return machine.unknown("the fields of a class made at run time are not known", each)
        listed_names.append(parts[0])
        if len(parts) > 2:
            namespace[str(parts[0].value)] = parts[2]
    namespace[annotated.ANNOTATED] = TupleValue(tuple(listed_names))
    module = machine.frames[-1].module if machine.frames else ""
    made = machine.make_class(f"{module}.{name.value}", tuple(bases), None, None, namespace)
    others = {key: value for key, value in arguments.keywords.items() if key not in _OWN}
    return data_classes.decorate(Arguments("dataclass", (made,), others, arguments.where), machine)


_OWN = ("cls_name", "fields", "bases", "namespace", "module")
"""Keywords that are not those of the decorator."""
