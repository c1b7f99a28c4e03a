"""Answers the questions of the recorded zoo with modgraph's prediction: zoo_bridge.py CASES OUT [--reasons FILE].

Decodes the zoo's notation (its README) into the interpreter's values, calls the recorded class or builder, and writes
children, parameters, buffers and the tree. Imports neither torch nor what it predicts.
"""

from __future__ import annotations

import argparse
import collections
import gc
import json
import sys
import time
from typing import Any

from modgraph.prediction.code import functions
from modgraph.prediction.deep_stack import with_deep_stack
from modgraph.prediction.domain.calling import Raised
from modgraph.prediction.domain.limits import LimitError
from modgraph.prediction.domain.objects import (
    DictObject,
    InstanceObject,
    ListObject,
    ModuleObject,
    SetObject,
    TensorObject,
)
from modgraph.prediction.domain.values import (
    NONE,
    Address,
    ClassValue,
    Constant,
    Device,
    Dtype,
    KnownClass,
    PartialValue,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.entry import Prediction, interpreter, predict_value
from modgraph.prediction.interpreter import Interpreter


class Decoder:
    """Zoo notation -> values, on one machine."""

    def __init__(self, machine: Interpreter) -> None:
        self.machine = machine
        self.objects: dict[int, Value] = {}

    def value(self, code: Any) -> Value:
        if isinstance(code, list):
            return self.machine.allocate(ListObject([self.value(item) for item in code]))
        if not isinstance(code, dict):
            return Constant(code)
        special = next((key for key in code if key.startswith("$")), None)
        if special is None:
            return self.machine.allocate(DictObject({Constant(key): self.value(item) for key, item in code.items()}))
        return getattr(self, f"_{special[1:]}")(code)

    def _tuple(self, code: Any) -> Value:
        return TupleValue(tuple(self.value(item) for item in code["$tuple"]))

    def _set(self, code: Any) -> Value:
        return self.machine.allocate(SetObject({self.value(item): None for item in code["$set"]}))

    def _range(self, code: Any) -> Value:
        return Constant(range(*code["$range"]))

    def _dict(self, code: Any) -> Value:
        return self.machine.allocate(DictObject({self.value(key): self.value(item) for key, item in code["$dict"]}))

    def _float(self, code: Any) -> Value:
        return Constant(float(code["$float"]))

    def _ref(self, code: Any) -> Value:
        name = code["$ref"]
        if name.startswith("torch.") and name.count(".") == 1:
            found = self.machine.resolve(name)
            return Dtype(name[6:]) if isinstance(found, Unknown) else found
        return self.machine.resolve(name)

    def _partial(self, code: Any) -> Value:
        keywords = tuple((key, self.value(item)) for key, item in code.get("kwargs", {}).items())
        function = self.machine.resolve(code["$partial"])
        return PartialValue(function, tuple(self.value(item) for item in code.get("args", ())), keywords)

    def _enum(self, code: Any) -> Value:
        return self.machine.resolve(code["$enum"])

    def _device(self, code: Any) -> Value:
        return Device(code["$device"])

    def _opaque(self, code: Any) -> Value:
        return Unknown(f"an attribute that was not recorded ({code['$opaque']})")

    def _object(self, code: Any) -> Value:
        record = code["$object"]
        cls = self.machine.resolve(record["class"])
        made = InstanceObject(cls)
        address = self.machine.allocate(made)
        attributes = {key: self.value(item) for key, item in record["attrs"].items()}
        aliases = record.get("aliases") or {}
        found = self.machine.state.change(address, InstanceObject)
        found.attributes = attributes
        if not isinstance(cls, ClassValue):
            found.attributes.update({key: attributes[to] for key, to in aliases.items() if to in attributes})
        return address

    def _module(self, code: Any) -> Value:
        name = code["$module"]
        return self.module_tree(name, code["tree"], code.get("attrs", {}))

    def module_tree(self, name: str, tree: list[Any], attributes: dict[str, Any]) -> Value:
        made: dict[str, Address] = {"": self.empty_module(name)}
        for path, cls in tree:
            parent, _, last = path.rpartition(".")
            holder = self.machine.state.change(made[parent], ModuleObject)
            if cls is None:
                holder.modules[last] = NONE
                continue
            made[path] = self.empty_module(cls)
            holder.modules[last] = made[path]
        root = self.machine.state.change(made[""], ModuleObject)
        root.attributes.update({key: self.value(item) for key, item in attributes.items()})
        return made[""]

    def empty_module(self, name: str) -> Address:
        cls = self.machine.resolve(name)
        made = ModuleObject(cls, initialised=True)
        # What it registers is recorded: nothing else that it may hold is a module or parameter.
        made.open = Unknown("the attributes of a given module are not recorded", inert=True)
        made.attributes["training"] = Constant(True)
        return self.machine.allocate(made)


# ---- answers ---------------------------------------------------------------------------------------------------------


def class_text(machine: Interpreter, value: Value) -> str | None:
    if value == NONE:
        return None
    module = machine.state.find(value, ModuleObject)
    if module is None:
        return "?"
    return module.cls.name if isinstance(module.cls, (ClassValue, KnownClass)) else "?"


def entries(machine: Interpreter, module: ModuleObject) -> list[tuple[str, str | None, Value]]:
    found: list[tuple[str, str | None, Value]] = []
    for name, value in module.modules.items():
        if name == "?" or (isinstance(value, Unknown) and value.optional):
            if not any(entry[0] == "?" for entry in found):
                found.append(("?", "?", value))
        else:
            found.append((name, class_text(machine, value), value))
    return found


def tree(machine: Interpreter, module: ModuleObject, prefix: str = "", depth: int = 0) -> list[tuple[str, str | None]]:
    found: list[tuple[str, str | None]] = []
    for name, cls, value in entries(machine, module):
        found.append((prefix + name, cls))
        child = machine.state.find(value, ModuleObject)
        if child is not None and depth < 100:
            found.extend(tree(machine, child, f"{prefix}{name}.", depth + 1))
    return found


def tensor(machine: Interpreter, value: Value) -> Any:
    if value == NONE:
        return None
    found = machine.state.find(value, TensorObject)
    return "?" if found is None or found.shape is None else list(found.shape)


def answer(question: dict[str, Any], prediction: Prediction, reasons: collections.Counter[str]) -> dict[str, Any]:
    machine, level = prediction.machine, "entry" in question
    module = machine.state.find(prediction.root, ModuleObject)
    if module is None:
        why = getattr(prediction.root, "reason", type(prediction.root).__name__)
        reasons[why] += 1
        return {"id": question["id"], "tree" if level else "children": "?", "why": why}
    why = note(machine, module, reasons, 0 if level else 99)
    if level:
        return {"id": question["id"], "why": why, "tree": tree(machine, module)}
    return {
        "id": question["id"],
        "why": why,
        "children": [entry[:2] for entry in entries(machine, module)],
        "tree": tree(machine, module),
        "params": [[name, tensor(machine, value)] for name, value in module.parameters.items()],
        "buffers": [
            [name, tensor(machine, value), None if transient is None else not transient]
            for name, value in module.buffers.items()
            for transient in [module.non_persistent.get(name, False)]
        ],
    }


def note(machine: Interpreter, module: ModuleObject, reasons: collections.Counter[str], depth: int) -> str:
    """Counts the first reason of unknown of a case, and returns it; "" where all is known."""
    pending = [module]
    while pending:
        current = pending.pop(0)
        for value in current.modules.values():
            if class_text(machine, value) == "?":
                why = str(getattr(value, "reason", type(value).__name__))
                reasons[f"{why} @{getattr(value, 'where', '')}"] += 1
                return why
            child = machine.state.find(value, ModuleObject)
            if child is not None and depth < 50:
                pending.append(child)
    return ""


def predict(machine: Interpreter, question: dict[str, Any]) -> Prediction:
    decoder = Decoder(machine)
    try:
        if "entry" not in question:
            positional = [decoder.value(item) for item in question.get("varargs", ())]
            keywords = {key: decoder.value(item) for key, item in question.get("args", {}).items()}
            extra = {key: decoder.value(item) for key, item in question.get("varkw", {}).items()}
            cls = machine.resolve(question["class"])
            if positional:
                names = functions.signature(machine, cls) or ()
                before = [
                    keywords.pop(name) for name in names if name in keywords and names.index(name) < len(keywords) + 1
                ]
                positional = before + positional
            return predict_value(machine, cls, positional, {**keywords, **extra})
        entry = question["entry"]
        function = machine.resolve(entry["call"])
        if "config" in entry:
            keywords = {key: decoder.value(item) for key, item in entry["config_kwargs"].items()}
            config = machine.call(machine.resolve(entry["config"]), (), keywords)
            return predict_value(machine, function, [config])
        return predict_value(machine, function, [], {key: decoder.value(item) for key, item in entry["args"].items()})
    except Raised as raised:
        return Prediction(machine, Unknown(f"raises {raised}", raised.where))
    except LimitError as limit:
        return Prediction(machine, Unknown(str(limit)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases")
    parser.add_argument("out")
    parser.add_argument("--reasons", help="write how often each reason of unknown stands first")
    parser.add_argument("--strict", action="store_true", help="let the interpreter's own faults through")
    options = parser.parse_args()
    with_deep_stack(lambda: answer_all(options))


def answer_all(options: argparse.Namespace) -> None:
    machine = interpreter(sys.path)
    machine.strict = options.strict
    reasons: collections.Counter[str] = collections.Counter()
    slow: list[tuple[float, str]] = []
    gc.freeze()
    with open(options.cases) as questions, open(options.out, "w") as out:
        for line in questions:
            question = json.loads(line)
            started = time.perf_counter()
            machine.start()
            out.write(json.dumps(answer(question, predict(machine, question), reasons)) + "\n")
            slow.append((time.perf_counter() - started, str(question.get("class") or question["entry"]["call"])))
    if options.reasons:
        with open(options.reasons, "w") as file:
            for reason, count in reasons.most_common(200):
                file.write(f"{count:5d} {reason}\n")
            for seconds, name in sorted(slow, reverse=True)[:15]:
                file.write(f"{seconds:6.2f} s {name}\n")


if __name__ == "__main__":
    main()
