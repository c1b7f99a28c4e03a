"""Changes registered models into the mistakes that the rules of the check are about, and counts which are found.

    python tests/oracle/rule_mutations.py [KIND ...] [--each 25] [--seed 0] [--path DIR] [-v]

Of each file of models of timm and torchvision, one registered model is built. In the lines that this comes to, one place
at a time is changed into a mistake: a ModuleList becomes a list, `super().__init__()` is left out, a Parameter is cast.
Torch is the judge: the changed model is built, and counts only where parameters or buffers are lost or shared, or where
it raises, as the mistake says; of mistakes in `forward` and in other methods it has to be built as before. DIR is put
at the end of Python's path; libraries are changed in memory only. Then the check is asked, with the rule of the mistake.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import random
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parent))
try:
    import mutations
    from mutations import Model
finally:
    sys.path.pop(0)

from modgraph.rules.check import check_text
from modgraph.rules.names import Project
from modgraph.rules.registry import selected

LOST, RAISES, BUILDS = "lost", "raises", "builds"
"""What torch is to say of a mistake: parameters or buffers are gone or shared, it raises, it is built as before."""
Edit = tuple[int, int, str]
"""Of the text in bytes: from where, to where, and what is put there."""


@dataclass(frozen=True)
class Change:
    """One place that can be changed."""

    name: str
    """Of the class."""
    line: int
    edits: tuple[Edit, ...]


class ClassText:
    """One class of a file, and how it is written."""

    def __init__(self, text: str, node: ast.ClassDef, lines: set[int]) -> None:
        self.data, self.node, self.lines = text.encode(), node, lines
        self.starts = [0]
        for line in self.data.split(b"\n"):
            self.starts.append(self.starts[-1] + len(line) + 1)

    def methods(self) -> Iterator[ast.FunctionDef]:
        yield from (each for each in self.node.body if isinstance(each, ast.FunctionDef))

    def method(self, name: str) -> ast.FunctionDef | None:
        return next((each for each in self.methods() if each.name == name), None)

    @cached_property
    def stores(self) -> list[tuple[ast.Assign, str, ast.Call]]:
        """`self.name = Call(...)` in the constructor, where building comes to it."""
        found = []
        init = self.method("__init__")
        for each in ast.walk(init) if init is not None else ():
            if isinstance(each, ast.Assign) and len(each.targets) == 1 and isinstance(each.value, ast.Call):
                name = own(each.targets[0])
                if name is not None and each.lineno in self.lines:
                    found.append((each, name, each.value))
        return found

    def layers(self, *kinds: str) -> Iterator[tuple[ast.Assign, str, ast.Call]]:
        """Those that call a class: of these kinds, or of any that begins with a capital."""
        for statement, name, call in self.stores:
            kind = last(call)
            if kind in kinds if kinds else kind[:1].isupper() and kind not in _NO_LAYERS:
                yield statement, name, call

    @cached_property
    def forward_calls(self) -> list[tuple[str, ast.Call]]:
        """`self.name(...)` in `forward`."""
        forward = self.method("forward")
        calls = (each for each in ast.walk(forward) if isinstance(each, ast.Call)) if forward is not None else ()
        return [(name, each) for each in calls for name in [own(each.func)] if name is not None]

    def around(self, node: ast.AST) -> tuple[int, int]:
        start = self.starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        return start, self.starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def written(self, node: ast.AST) -> str:
        start, end = self.around(node)
        return self.data[start:end].decode()

    def put(self, node: ast.AST, new: str) -> Edit:
        return (*self.around(node), new)

    def below(self, statement: ast.stmt, line: str) -> Edit:
        """A further line below a statement."""
        end = self.around(statement)[1]
        return end, end, f"\n{' ' * statement.col_offset}{line}"

    def change(self, node: ast.AST, *edits: Edit) -> Change:
        return Change(self.node.name, node.lineno, edits)  # type: ignore[attr-defined]

    def with_method(self, text: str, indent: int = 4) -> Edit:
        """A further method at the end of the class."""
        end = self.around(self.node.body[-1])[1]
        return end, end, "\n\n" + "\n".join(" " * indent + line for line in text.split("\n"))


_NO_LAYERS = frozenset(
    ("Identity", "Parameter", "ModuleList", "ModuleDict", "Size", "Path", "OrderedDict", "ParameterList")
)
Kind = Callable[[ClassText], Iterator[Change]]
KINDS: dict[str, tuple[str, str, Kind]] = {}
"""By what is done: the codes that tell of it, what torch is to say, and where it can be done."""


def kind(name: str, codes: str, truth: str) -> Callable[[Kind], Kind]:
    def noted(find: Kind) -> Kind:
        KINDS[name] = (codes, truth, find)
        return find

    return noted


def own(node: ast.AST) -> str | None:
    """ "name", of `self.name`."""
    is_own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return node.attr if is_own and isinstance(node, ast.Attribute) else None


def last(call: ast.Call) -> str:
    return mutations._called(call)


# ---- containers ------------------------------------------------------------------------------------------------------


@kind("a list for an nn.ModuleList", "MG101", LOST)
def _list(at: ClassText) -> Iterator[Change]:
    for statement, _, call in at.layers("ModuleList"):
        yield at.change(statement, at.put(call, f"list({at.written(call.args[0])})" if call.args else "[]"))


@kind("a tuple for an nn.ModuleList", "MG101", LOST)
def _tuple(at: ClassText) -> Iterator[Change]:
    for statement, _, call in at.layers("ModuleList"):
        if call.args:
            yield at.change(statement, at.put(call, f"tuple({at.written(call.args[0])})"))


@kind("a list for an nn.Sequential", "MG101", LOST)
def _sequential(at: ClassText) -> Iterator[Change]:
    for statement, _, call in at.layers("Sequential"):
        if call.args and not call.keywords:
            yield at.change(statement, at.put(call, f"[{', '.join(map(at.written, call.args))}]"))


@kind("a layer in a list", "MG101", LOST)
def _in_list(at: ClassText) -> Iterator[Change]:
    for statement, _, call in at.layers():
        yield at.change(statement, at.put(call, f"[{at.written(call)}]"))


@kind("a layer in a dict", "MG101", LOST)
def _in_dict(at: ClassText) -> Iterator[Change]:
    for statement, name, call in at.layers():
        yield at.change(statement, at.put(call, f'{{"{name}": {at.written(call)}}}'))


@kind("a layer appended to a list", "MG101", LOST)
def _appended(at: ClassText) -> Iterator[Change]:
    for statement, name, call in at.layers():
        new = (f"self.{name} = []", f"self.{name}.append({at.written(call)})")
        yield at.change(statement, at.put(statement, f"\n{' ' * statement.col_offset}".join(new)))


@kind("a layer under a key of a dict", "MG101", LOST)
def _keyed(at: ClassText) -> Iterator[Change]:
    for statement, name, call in at.layers():
        new = (f"self.{name} = {{}}", f'self.{name}["first"] = {at.written(call)}')
        yield at.change(statement, at.put(statement, f"\n{' ' * statement.col_offset}".join(new)))


@kind("a layer as an attribute of the class", "MG124", LOST)
def _of_class(at: ClassText) -> Iterator[Change]:
    for statement, name, call in at.layers():
        if all(isinstance(each, ast.Constant) for each in (*call.args, *(word.value for word in call.keywords))):
            first = at.node.body[1 if ast.get_docstring(at.node) is not None and len(at.node.body) > 1 else 0]
            start = at.starts[(getattr(first, "decorator_list", None) or [first])[0].lineno - 1]
            made = (start, start, f"{' ' * first.col_offset}{name} = {at.written(call)}\n")
            yield at.change(statement, made, at.put(statement, "pass"))


@kind("one layer many times", "MG105", LOST)
def _shared(at: ClassText) -> Iterator[Change]:
    for _, _, call in at.stores:
        for each in ast.walk(call):
            if isinstance(each, ast.ListComp) and len(each.generators) == 1:
                over, target = each.generators[0].iter, each.generators[0].target
                names = {node.id for node in ast.walk(each.elt) if isinstance(node, ast.Name)}
                is_range = isinstance(over, ast.Call) and last(over) == "range" and len(over.args) == 1
                if is_range and isinstance(target, ast.Name) and target.id not in names:
                    new = f"[{at.written(each.elt)}] * ({at.written(over.args[0])})"  # type: ignore[attr-defined]
                    yield at.change(each, at.put(each, new))


@kind("nn.Sequential of a list", "MG109", RAISES)
def _sequential_of_list(at: ClassText) -> Iterator[Change]:
    for statement, _, call in at.layers("Sequential"):
        if call.args and not call.keywords:
            yield at.change(statement, at.put(call, f"nn.Sequential([{', '.join(map(at.written, call.args))}])"))


@kind("nn.ModuleList of several arguments", "MG109", RAISES)
def _list_of_several(at: ClassText) -> Iterator[Change]:
    for statement, _, call in at.layers("Sequential"):
        if len(call.args) > 1 and not any(isinstance(each, ast.Starred) for each in call.args):
            yield at.change(statement, at.put(call.func, "nn.ModuleList"))


@kind("an nn.ModuleList that is called", "MG109", BUILDS)
def _called(at: ClassText) -> Iterator[Change]:
    for statement, name, call in at.layers("Sequential"):
        if call.args and not call.keywords and any(each == name for each, _ in at.forward_calls):
            yield at.change(statement, at.put(call, f"nn.ModuleList([{', '.join(map(at.written, call.args))}])"))


# ---- parameters and buffers ------------------------------------------------------------------------------------------


@kind("a Parameter in a list", "MG102", LOST)
def _parameter_in_list(at: ClassText) -> Iterator[Change]:
    for statement, _, call in at.layers("Parameter"):
        yield at.change(statement, at.put(call, f"[{at.written(call)}]"))


@kind("a Parameter in a dict", "MG102", LOST)
def _parameter_in_dict(at: ClassText) -> Iterator[Change]:
    for statement, _, call in at.layers("Parameter"):
        yield at.change(statement, at.put(call, f'{{"weight": {at.written(call)}}}'))


def _cast(name: str, before: str, behind: str) -> None:
    @kind(name, "MG103", LOST)
    def found(at: ClassText) -> Iterator[Change]:
        for statement, _, call in at.layers("Parameter"):
            yield at.change(statement, at.put(call, f"{before}{at.written(call)}{behind}"))


_cast("a Parameter that is cast", "", ".to(torch.float16)")
_cast("a Parameter that is multiplied", "", " * 0.02")
_cast("a Parameter that is cloned", "", ".clone()")
_cast("a Parameter that is stacked", "torch.stack([", "])")


@kind("a Parameter that is overwritten in forward", "MG210", BUILDS)
def _overwritten(at: ClassText) -> Iterator[Change]:
    forward = at.method("forward")
    for _, name, _ in at.layers("Parameter") if forward is not None else ():
        yield at.change(forward, _at_begin(at, forward, f"self.{name} = self.{name} * 0.5"))


@kind("a plain tensor registered as a Parameter", "MG212", RAISES)
def _registered_tensor(at: ClassText) -> Iterator[Change]:
    for statement, name, call in at.layers("Parameter"):
        if call.args:
            yield at.change(
                statement, at.put(statement, f'self.register_parameter("{name}", {at.written(call.args[0])})')
            )


@kind("a plain tensor for a buffer", "MG203", BUILDS)
def _tensor(at: ClassText) -> Iterator[Change]:
    """Made without a device, as a tensor that is made on a given one is meant to stay there; of one that nothing else of
    the class registers or stores."""
    words = Counter(each.value for each in ast.walk(at.node) if isinstance(each, ast.Constant))
    stored = Counter(own(each) for each in ast.walk(at.node) if isinstance(getattr(each, "ctx", None), ast.Store))
    for statement, name, value in _buffers(at):
        if isinstance(value, ast.Call) and words[name] == 1 and not stored[name]:
            kept = [each for each in value.keywords if each.arg not in ("device", None)]
            given = ", ".join(
                [*map(at.written, value.args), *(f"{each.arg}={at.written(each.value)}" for each in kept)]
            )
            yield at.change(statement, at.put(statement, f"self.{name} = {at.written(value.func)}({given})"))


@kind("a second name for a buffer", "MG123", BUILDS)
def _alias(at: ClassText) -> Iterator[Change]:
    for statement, name, _ in _buffers(at):
        yield at.change(statement, at.below(statement, f"self.kept_{name} = self.{name}"))


def _buffers(at: ClassText) -> Iterator[tuple[ast.Expr, str, ast.expr]]:
    init = at.method("__init__")
    for each in ast.walk(init) if init is not None else ():
        call = each.value if isinstance(each, ast.Expr) else None
        if not isinstance(call, ast.Call) or own(call.func) != "register_buffer" or len(call.args) < 2:
            continue
        name = call.args[0].value if isinstance(call.args[0], ast.Constant) else None
        is_none = isinstance(call.args[1], ast.Constant)
        if isinstance(each, ast.Expr) and isinstance(name, str) and each.lineno in at.lines and not is_none:
            yield each, name, call.args[1]


# ---- constructors and names ------------------------------------------------------------------------------------------


def _super(at: ClassText) -> ast.Expr | None:
    """The statement of the constructor that calls that of `nn.Module`."""
    if [ast.unparse(base) for base in at.node.bases] != ["nn.Module"]:
        return None
    init = at.method("__init__")
    for each in init.body if init is not None else ():
        if isinstance(each, ast.Expr) and ast.unparse(each).startswith("super(") and each.lineno in at.lines:
            return each
    return None


@kind("no super().__init__()", "MG108", RAISES)
def _no_super(at: ClassText) -> Iterator[Change]:
    statement = _super(at)
    if statement is not None:
        yield at.change(statement, at.put(statement, "pass"))


@kind("super().__init__() at the end", "MG108", RAISES)
def _late_super(at: ClassText) -> Iterator[Change]:
    statement, init = _super(at), at.method("__init__")
    if statement is not None and init is not None and init.body[-1] is not statement:
        last_line = init.body[-1]
        end = at.around(last_line)[1]
        line = f"\n{' ' * statement.col_offset}super().__init__()"
        yield at.change(statement, at.put(statement, "pass"), (end, end, line))


@kind("super().__init__() twice", "MG108", LOST)
def _second_super(at: ClassText) -> Iterator[Change]:
    statement, init = _super(at), at.method("__init__")
    if statement is not None and init is not None and init.body[-1] is not statement:
        end = at.around(init.body[-1])[1]
        yield at.change(statement, (end, end, f"\n{' ' * statement.col_offset}super().__init__()"))


@kind("a method with the name of a layer", "MG106", BUILDS)
def _method(at: ClassText) -> Iterator[Change]:
    for statement, name, _ in at.layers():
        if at.method(name) is None:
            yield at.change(statement, at.with_method(f"def {name}(self, x):\n    return x"))


@kind("a name of nn.Module for a container", "MG107", BUILDS)
def _api(at: ClassText) -> Iterator[Change]:
    for statement, name, _ in at.layers("ModuleList", "Sequential"):
        uses = [each for each in ast.walk(at.node) if own(each) == name]
        new = "children" if len(name) % 2 else "modules"
        yield at.change(statement, *(at.put(each, f"self.{new}") for each in uses))


@kind("a dot in a name given to setattr", "MG110", BUILDS)
def _dotted(at: ClassText) -> Iterator[Change]:
    for statement, name, call in at.layers():
        yield at.change(statement, at.put(statement, f'setattr(self, "block.{name}", {at.written(call)})'))


@kind("a dot in a name given to add_module", "MG110", RAISES)
def _dotted_child(at: ClassText) -> Iterator[Change]:
    for statement, name, call in at.layers():
        yield at.change(statement, at.put(statement, f'self.add_module("block.{name}", {at.written(call)})'))


@kind("a name given to add_module that is taken", "MG110", RAISES)
def _taken(at: ClassText) -> Iterator[Change]:
    for statement, name, call in at.layers():
        new = ("forward", "train", "type")[len(name) % 3]
        yield at.change(statement, at.put(statement, f'self.add_module("{new}", {at.written(call)})'))


# ---- forward and other methods ---------------------------------------------------------------------------------------


def _at_begin(at: ClassText, method: ast.FunctionDef, line: str) -> Edit:
    body = method.body
    first = (
        body[1]
        if len(body) > 1 and isinstance(body[0], ast.Expr) and ast.get_docstring(method) is not None
        else body[0]
    )
    start = at.around(first)[0]
    return start, start, f"{line}\n{' ' * first.col_offset}"


_FRESH = {"Linear": "(8, 8)", "Conv2d": "(8, 8, 3)", "BatchNorm2d": "(8)", "LayerNorm": "(8)", "Dropout": "(0.1)"}


@kind("a layer made in forward", "MG104", BUILDS)
def _fresh(at: ClassText) -> Iterator[Change]:
    made = {name: last(call) for _, name, call in at.stores}
    for name, call in at.forward_calls:
        if made.get(name) in _FRESH and call.lineno:
            yield at.change(call, at.put(call.func, f"nn.{made[name]}{_FRESH[made[name]]}"))


@kind("forward called directly", "MG201", BUILDS)
def _direct(at: ClassText) -> Iterator[Change]:
    made = {name for _, name, _ in at.layers()}
    for name, call in at.forward_calls:
        if name in made:
            yield at.change(call, at.put(call.func, f"self.{name}.forward"))


@kind("F.dropout without training", "MG202", BUILDS)
def _dropout(at: ClassText) -> Iterator[Change]:
    made = {name for _, name, _ in at.layers("Dropout")}
    for name, call in at.forward_calls:
        if name in made and len(call.args) == 1:
            yield at.change(call, at.put(call, f"nn.functional.dropout({at.written(call.args[0])}, 0.1)"))


@kind("a layer that forward does not use", "MG204", BUILDS)
def _unused(at: ClassText) -> Iterator[Change]:
    for statement, name, _ in at.layers():
        uses = [each for each in ast.walk(at.node) if own(each) == name and isinstance(each.ctx, ast.Load)]  # type: ignore[attr-defined]
        calls = [call for each, call in at.forward_calls if each == name and len(call.args) == 1]
        if len(uses) == len(calls) == 1:
            yield at.change(statement, at.put(calls[0], at.written(calls[0].args[0])))


@kind("forward keeps a tensor on self", "MG205", BUILDS)
def _kept(at: ClassText) -> Iterator[Change]:
    forward = at.method("forward")
    if forward is not None and len(forward.args.args) > 1 and any(True for _ in at.layers()):
        yield at.change(forward, _at_begin(at, forward, f"self.last_input = {forward.args.args[1].arg}"))


@kind("a deprecated hook", "MG206", BUILDS)
def _hook(at: ClassText) -> Iterator[Change]:
    for statement, name, _ in at.layers("Linear", "Conv2d", "LayerNorm", "Sequential"):
        yield at.change(statement, at.below(statement, f"self.{name}.register_backward_hook(lambda *_: None)"))


@kind("train() without mode", "MG208", BUILDS)
def _train(at: ClassText) -> Iterator[Change]:
    if at.method("train") is None and any(True for _ in at.layers()):
        yield at.change(at.node, at.with_method("def train(self):\n    super().train()\n    return self"))


# ---- models ----------------------------------------------------------------------------------------------------------


def models() -> Iterator[Model]:
    """Of each file of models, the first that is registered."""
    mutations._make_torchvision_importable()
    import timm
    import torchvision.models as vision

    for library, short, name in (*_of_timm(timm), *_of_torchvision(vision)):
        module = f"{library}.models.{short}"
        file = Path(importlib.import_module(module).__file__ or "")
        yield Model(library, file, name, (), module)


def _of_timm(timm: Any) -> list[tuple[str, str, str]]:
    return [("timm", module, timm.list_models(module=module)[0]) for module in sorted(timm.list_modules())]


def _of_torchvision(vision: Any) -> list[tuple[str, str, str]]:
    known: dict[str, str] = {}
    for name in sorted(vision.list_models()):
        home = vision.get_model_builder(name).__module__
        if home.count(".") == 2:
            known.setdefault(home.rpartition(".")[2], name)
    return [("torchvision", module, name) for module, name in sorted(known.items())]


State = tuple[frozenset[str], int]
"""The keys of its state dict, and the number of tensors that are no two the same."""


def built(model: Model, text: str) -> State | str:
    """What a model holds; the error where it cannot be built."""
    try:
        with warnings.catch_warnings(), torch.device("meta"):
            warnings.simplefilter("ignore")
            made = mutations.executed(model, text)()
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:160]
    tensors = [*made.parameters(), *made.buffers()]
    return frozenset(made.state_dict()), len({id(each) for each in tensors})


def lines_of_building(model: Model, text: str) -> set[int]:
    """Lines of the file that building comes to."""
    return mutations.lines_run(model.file, lambda: built(model, text))


def is_so(truth: str, before: State, after: State | str) -> bool:
    """Torch says that the mistake is one."""
    if isinstance(after, str):
        return truth == RAISES
    if truth == BUILDS:
        return True
    return truth == LOST and (len(after[0]) < len(before[0]) or after[1] < before[1])


def changes(text: str, lines: set[int], find: Kind) -> list[Change]:
    """Of the classes of which instances are made."""
    found = []
    for node in ast.parse(text).body:
        at = ClassText(text, node, lines) if isinstance(node, ast.ClassDef) else None
        init = None if at is None else at.method("__init__")
        if at is not None and init is not None and any(each.lineno in lines for each in init.body):
            found += list(find(at))
    return found


def changed(text: str, change: Change) -> str:
    data = text.encode()
    for start, end, new in sorted(change.edits, reverse=True):
        data = data[:start] + new.encode() + data[end:]
    return data.decode()


# ---- sweep -----------------------------------------------------------------------------------------------------------


@dataclass
class Sweep:
    found: Counter[str] = field(default_factory=Counter)
    missed: dict[str, list[str]] = field(default_factory=dict)
    unusable: Counter[str] = field(default_factory=Counter)
    models: set[str] = field(default_factory=set)

    def count(self, name: str) -> int:
        return self.found[name] + len(self.missed.get(name, ()))


def is_found(model: Model, text: str, change: Change, codes: str, project: Project) -> bool:
    """A finding of one of the codes stands in the class."""
    told = check_text(text, model.file.name, str(model.file), selected(codes.split("|")), project, only={change.name})
    project.work = 0
    return any(each.class_name == change.name for each in told)


def sweep(names: list[str], each: int, seed: int, every: list[Model]) -> Sweep:
    """Changes as many places for each kind as are wanted, where there are so many."""
    into = Sweep()
    read = {model: model.file.read_text(encoding="utf-8") for model in every}
    states = {model: built(model, text) for model, text in read.items()}
    lines = {model: lines_of_building(model, read[model]) for model in every if not isinstance(states[model], str)}
    projects = {model: Project() for model in every}
    for name in names:
        codes, truth, find = KINDS[name]
        places = [(model, change) for model in lines for change in changes(read[model], lines[model], find)]
        random.Random(f"{seed} {name}").shuffle(places)
        for model, change in places:
            if into.count(name) >= each:
                break
            text, before = changed(read[model], change), states[model]
            after = built(model, text)
            if isinstance(before, str) or not is_so(truth, before, after):
                into.unusable[name] += 1
                continue
            into.models.add(model.name)
            if is_found(model, text, change, codes, projects[model]):
                into.found[name] += 1
            else:
                place = f"{model.name} ({model.module}) {change.name}, line {change.line}"
                into.missed.setdefault(name, []).append(place)
        print(f"{name}: {into.found[name]} of {into.count(name)}", file=sys.stderr)
    return into


def report(into: Sweep, names: list[str]) -> Iterator[str]:
    yield "| mistake | rule | places | found | missed |"
    yield "| --- | --- | ---: | ---: | ---: |"
    for name in names:
        yield f"| {name} | {KINDS[name][0]} | {into.count(name)} | {into.found[name]} | {len(into.missed.get(name, ()))} |"
    total, found = sum(map(into.count, names)), sum(into.found[name] for name in names)
    yield f"| **all** | | {total} | {found} | {total - found} |"
    yield f"{len(into.models)} models; {found / max(total, 1):.1%} found."
    for name, places in into.missed.items():
        yield from (f"missed: {name}: {place}" for place in places)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="KIND", help="of mistakes: those alone")
    parser.add_argument("--each", type=int, default=25, help="places of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--path", action="append", default=[], help="where libraries are")
    arguments = parser.parse_args()
    sys.path += arguments.path
    names = arguments.names or list(KINDS)
    into = sweep(names, arguments.each, arguments.seed, list(models()))
    print("\n".join(report(into, names)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
