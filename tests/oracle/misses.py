"""What the default check may have missed in public repositories: places that might be the subject of one of its rules.

    python tests/oracle/misses.py FOLDER             how many places of each kind, and how many of those drawn are judged
    python tests/oracle/misses.py FOLDER --draw      the places that are drawn, with what the class says of the attribute

FOLDER is that of check_precision.py. The scanner shares no code with the rules: it reads the syntax tree of each file, knows
names and no values, and takes for a module whatever looks like one. Of the places that the check does not report it draws 300 by a
fixed seed, so many of each kind as stands in DRAWN; `misses.txt` says of each what reading it came to.
"""

from __future__ import annotations

import ast
import random
import re
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
SEED = 26
DRAWN = {
    "container": 60,
    "added": 60,
    "by-name": 14,
    "given-back": 18,
    "parameter": 18,
    "cast": 20,
    "in-forward": 25,
    "repeated": 25,
    "hidden": 2,
    "api-name": 12,
    "super": 30,
    "misused": 16,
}
"""How many places of each kind are drawn; where a kind has too few, containers are drawn in their place."""
_API = """
add_module apply bfloat16 buffers call_super_init children compile cpu cuda double dump_patches eval
extra_repr float forward get_buffer get_extra_state get_parameter get_submodule half ipu load_state_dict
modules mtia named_buffers named_children named_modules named_parameters parameters register_buffer
register_module register_parameter requires_grad_ set_extra_state set_submodule share_memory state_dict to
to_empty train training type xpu zero_grad
"""
API = frozenset(_API.split())
_PLAIN_CALLS = """
abs all any bool bytes dict divmod enumerate filter float format frozenset getattr hash hex id input int
isinstance iter len list map max min next open ord pow print range repr reversed round set sorted str sum
tuple type zip
"""
PLAIN_CALLS = frozenset(_PLAIN_CALLS.split())
"""Calls of builtins, which make no module (what they are given may)."""
PLAIN_ROOTS = frozenset(("math", "np", "numpy", "os", "random", "F", "time", "re", "json", "logging", "itertools"))
ADDING = ("append", "extend", "insert", "add", "update", "setdefault", "appendleft")
HOLDERS = frozenset(("ModuleList", "ModuleDict", "Sequential", "ParameterList", "ParameterDict"))
OTHERS = re.compile(
    rb"^\s*(?:import|from)\s+(?:mxnet|chainer|tensorflow|keras|paddle|jax|flax|mindspore)\b", re.MULTILINE
)
"""Imports of other frameworks: a file that has one, and no word of torch, is not read."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Hit(NamedTuple):
    """A place that might be the subject of a rule."""

    repository: str
    file: str
    line: int
    kind: str
    owner: str
    about: str


class Model(NamedTuple):
    """A class that looks like a module, with its methods."""

    node: ast.ClassDef
    methods: dict[str, ast.FunctionDef | ast.AsyncFunctionDef]


def last(node: ast.expr) -> str:
    """`Linear`, of `nn.Linear`."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def root(node: ast.expr) -> str:
    """`nn`, of `nn.Linear`."""
    while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def on_self(node: ast.AST) -> str | None:
    """`blocks`, of `self.blocks` (and of `self.blocks[0]`)."""
    while isinstance(node, ast.Subscript):
        node = node.value
    is_there = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return node.attr if is_there else None  # type: ignore[attr-defined]


def may_make(node: ast.AST) -> bool:
    """Whether a call below might give a module or a Parameter."""
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and not (isinstance(each.func, ast.Name) and each.func.id in PLAIN_CALLS):
            start = root(each.func)
            if start in PLAIN_ROOTS or (
                start == "torch" and last(each.func).islower() and "nn" not in ast.unparse(each.func)
            ):
                continue
            return True
    return False


def is_container(node: ast.AST) -> bool:
    """A list, tuple, set or dict, written or comprehended, or a call of one of their builtins, or a sum of such."""
    if isinstance(node, ast.BinOp):
        return is_container(node.left) or is_container(node.right)
    if isinstance(node, ast.IfExp):
        return is_container(node.body) or is_container(node.orelse)
    if isinstance(node, ast.Call):
        return last(node.func) in (
            "list",
            "tuple",
            "set",
            "dict",
            "sorted",
            "OrderedDict",
            "defaultdict",
            "deque",
            "map",
            "zip",
        )
    kinds = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    return isinstance(node, kinds)


def looks_like_modules(trees: dict[Path, ast.Module]) -> Iterator[tuple[Path, Model]]:
    """Classes of a repository with a `forward`, or a base that has a module's name, or is one of these by its bare name."""
    nodes = [(file, node) for file, tree in trees.items() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    known: set[str] = set()
    grown = -1
    while len(known) != grown:
        grown = len(known)
        for _, node in nodes:
            bases = [last(base.value if isinstance(base, ast.Subscript) else base) for base in node.bases]
            names = {each.name for each in node.body if isinstance(each, FUNCTIONS)}
            if any(
                base.endswith("Module") or base in known or root(raw) == "nn"
                for base, raw in zip(bases, node.bases, strict=True)
            ) or (node.bases and "forward" in names):
                known.add(node.name)
    for file, node in nodes:
        if node.name in known and not any(last(base) == "Function" for base in node.bases):
            yield file, Model(node, {each.name: each for each in node.body if isinstance(each, FUNCTIONS)})


def assigned(method: ast.AST) -> Iterator[tuple[ast.stmt, ast.expr, ast.expr]]:
    """(statement, target, value) of each assignment of a method, with tuples taken apart."""
    for each in ast.walk(method):
        targets = each.targets if isinstance(each, ast.Assign) else []
        if isinstance(each, (ast.AnnAssign, ast.AugAssign)) and each.value is not None:
            targets = [each.target]
        for target in targets:
            value = each.value  # type: ignore[attr-defined]
            if isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, ast.Tuple):
                yield from ((each, *pair) for pair in zip(target.elts, value.elts, strict=False))  # type: ignore[misc]
            else:
                yield each, target, value  # type: ignore[misc]


def lists_of(method: ast.AST) -> set[str]:
    """Local names that are bound to a container that holds what is called, or to which something is appended."""
    made = {t.id for _, t, v in assigned(method) if isinstance(t, ast.Name) and is_container(v)}
    filled = {t.id for _, t, v in assigned(method) if isinstance(t, ast.Name) and is_container(v) and may_make(v)}
    for call in ast.walk(method):
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and isinstance(call.func.value, ast.Name)
        ) and call.func.attr in ("append", "extend", "insert", "add", "update", "setdefault"):
            filled.add(call.func.value.id)
    filled |= {root(t) for _, t, _ in assigned(method) if isinstance(t, ast.Subscript)}
    return made & filled


def only_held(model: Model) -> set[str]:
    """Attributes that the class binds to containers of torch, and to nothing else."""
    values = defaultdict(list)
    for method in model.methods.values():
        for statement, target, value in assigned(method):
            name = on_self(target)
            if name is not None and isinstance(target, ast.Attribute) and not isinstance(statement, ast.AugAssign):
                values[name].append(isinstance(value, ast.Call) and last(value.func) in HOLDERS)
    return {name for name, kinds in values.items() if all(kinds)}


def containers(model: Model, helpers: dict[str, ast.AST]) -> Iterator[tuple[int, str, str]]:
    """Containers on self, what is added to them, and what a function gives back that returns a container."""
    held = only_held(model)
    for method in model.methods.values():
        local = lists_of(method)
        makes = {t.id for _, t, v in assigned(method) if isinstance(t, ast.Name) and may_make(v)}
        makes |= {each.arg for each in (*method.args.args, *method.args.kwonlyargs)} - {"self"}
        for statement, target, value in assigned(method):
            name = on_self(target)
            if name is None or name in held:
                continue
            names = {each.id for each in ast.walk(value) if isinstance(each, ast.Name)}
            if isinstance(target, ast.Subscript) or isinstance(statement, ast.AugAssign):
                if may_make(value) or names & (makes | local):
                    yield statement.lineno, "added", name
            elif is_container(value) and (may_make(value) or names & (makes | local)):
                yield statement.lineno, "container", name
            elif isinstance(value, ast.Name) and value.id in local:
                yield statement.lineno, "by-name", name
            elif isinstance(value, ast.Call) and last(value.func) in helpers:
                yield statement.lineno, "given-back", name
        for call in ast.walk(method):
            if not isinstance(call, ast.Call):
                continue
            name = on_self(call.func.value) if isinstance(call.func, ast.Attribute) else None
            given = ast.Tuple(call.args, ast.Load())
            if (
                last(call.func) == "setattr"
                and len(call.args) == 3
                and is_container(call.args[2])
                and may_make(call.args[2])
            ):
                yield call.lineno, "container", ast.unparse(call.args[1])
            elif name is None or name in held or last(call.func) not in ADDING:
                continue
            elif may_make(given) or any(isinstance(each, ast.Name) for each in call.args):
                yield call.lineno, "added", name


def giving_back(body: list[ast.stmt]) -> dict[str, ast.AST]:
    """Functions of a body that return a container in which something is called."""
    found: dict[str, ast.AST] = {}
    for each in body:
        if isinstance(each, FUNCTIONS):
            local = lists_of(each)
            for part in ast.walk(each):
                value = part.value if isinstance(part, ast.Return) else None
                if value is not None and (
                    (is_container(value) and may_make(value)) or (isinstance(value, ast.Name) and value.id in local)
                ):
                    found[each.name] = each
    return found


def parameters(model: Model) -> Iterator[tuple[int, str, str]]:
    """Containers of Parameters, and Parameters of which something is made before they are kept."""
    for method in model.methods.values():
        for statement, target, value in assigned(method):
            inside = [each for each in ast.walk(value) if isinstance(each, ast.Call) and last(each.func) == "Parameter"]
            if not inside or value in inside or on_self(target) is None:
                continue
            outer = last(value.func) if isinstance(value, ast.Call) else ""
            if outer in HOLDERS:
                continue
            yield statement.lineno, "parameter" if is_container(value) else "cast", str(on_self(target))
        for call in ast.walk(method):
            adds = (
                isinstance(call, ast.Call)
                and isinstance(call.func, ast.Attribute)
                and call.func.attr in ("append", "extend")
            )
            if adds and any(
                isinstance(e, ast.Call) and last(e.func) == "Parameter" for a in call.args for e in ast.walk(a)
            ):  # type: ignore[attr-defined]
                yield call.lineno, "parameter", ast.unparse(call.func)  # type: ignore[attr-defined]


def reached(model: Model, start: str) -> dict[str, ast.AST]:
    """The methods that a method comes to through `self.name(...)`, itself among them."""
    found: dict[str, ast.AST] = {}
    names = [start]
    while names:
        name = names.pop()
        if name in model.methods and name not in found:
            found[name] = model.methods[name]
            names += [str(on_self(c.func)) for c in ast.walk(model.methods[name]) if isinstance(c, ast.Call)]
    return found


def in_forward(model: Model, classes: set[str]) -> Iterator[tuple[int, str, str]]:
    """Layers that are made where forward comes to."""
    made_there = reached(model, "__init__")
    for name, method in reached(model, "forward").items():
        for call in ast.walk(method):
            if isinstance(call, ast.Call) and name not in made_there:
                is_torch = (
                    root(call.func) in ("nn", "torch")
                    and last(call.func)[:1].isupper()
                    and "nn" in ast.unparse(call.func)
                )
                if is_torch or (isinstance(call.func, ast.Name) and call.func.id in classes):
                    yield call.lineno, "in-forward", ast.unparse(call.func)


def repeated(model: Model) -> Iterator[tuple[int, str, str]]:
    """Products of lists in which something is called or named, and one thing that a loop or a comprehension puts many times."""
    for method in model.methods.values():
        bound = {t.id for _, t, v in assigned(method) if isinstance(t, ast.Name) and isinstance(v, ast.Call)}
        for each in ast.walk(method):
            if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Mult):
                for side in (each.left, each.right):
                    if isinstance(side, (ast.List, ast.Tuple)) and (
                        may_make(side) or any(isinstance(e, ast.Name) and e.id in bound for e in side.elts)
                    ):
                        yield each.lineno, "repeated", ast.unparse(each)[:60]
            elif isinstance(each, (ast.ListComp, ast.GeneratorExp)) and isinstance(each.elt, (ast.Name, ast.Attribute)):
                targets = {n.id for g in each.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
                if root(each.elt) not in targets and (root(each.elt) in bound or on_self(each.elt)):
                    yield each.lineno, "repeated", ast.unparse(each)[:60]
            elif isinstance(each, ast.For):
                inside = {n.id for n in ast.walk(each) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
                for call in ast.walk(each):
                    if (
                        isinstance(call, ast.Call)
                        and last(call.func) in ("append", "extend", "add_module")
                        and call.args
                    ):
                        names = {n.id for n in ast.walk(call.args[-1]) if isinstance(n, ast.Name)}
                        if isinstance(call.args[-1], (ast.Name, ast.List)) and names & bound - inside:
                            yield call.lineno, "repeated", ast.unparse(call)[:60]
            elif isinstance(each, ast.Call) and ast.unparse(each.func) in ("itertools.repeat", "repeat"):
                yield each.lineno, "repeated", ast.unparse(each)[:60]


def names_of(model: Model) -> Iterator[tuple[int, str, str]]:
    """Attributes that a method, a property or the class hides, names of nn.Module, and names of children that may not be."""
    taken = set(model.methods) | {
        t.id
        for each in model.node.body
        if isinstance(each, ast.Assign)
        for t in each.targets
        if isinstance(t, ast.Name)
    }
    for method in model.methods.values():
        for statement, target, value in assigned(method):
            name = on_self(target) if isinstance(target, ast.Attribute) else None
            if name in API:
                yield statement.lineno, "api-name", str(name)
            elif name in taken and (isinstance(value, ast.Call) or is_container(value)):
                yield statement.lineno, "hidden", str(name)
        for call in ast.walk(method):
            if not isinstance(call, ast.Call):
                continue
            place = 1 if last(call.func) == "setattr" else 0
            called = last(call.func) in (
                "add_module",
                "register_module",
                "register_buffer",
                "register_parameter",
                "setattr",
            )
            if not called or len(call.args) <= place:
                continue
            key = call.args[place]
            texts = [e.value for e in ast.walk(key) if isinstance(e, ast.Constant) and isinstance(e.value, str)]
            if any("." in text or text in taken or text in API for text in texts) or texts == [""]:
                yield call.lineno, "child-name", ast.unparse(key)[:40]


def constructed(model: Model) -> Iterator[tuple[int, str, str]]:
    """Constructors that do not begin with the one usual call of the base's constructor."""
    method = model.methods.get("__init__")
    if method is None:
        return
    calls = [
        each
        for each in ast.walk(method)
        if isinstance(each, ast.Call)
        and isinstance(each.func, ast.Attribute)
        and "init" in each.func.attr
        and ("super" in ast.unparse(each.func.value) or each.func.attr == "__init__")
    ]
    other = [
        each
        for each in ast.walk(method)
        if isinstance(each, ast.Call)
        and last(each.func) == "super"
        and each.args
        and last(each.args[0]) != model.node.name
    ]
    first = min((each.lineno for each in calls), default=10**9)
    early = [s for s, t, v in assigned(method) if on_self(t) and s.lineno < first and (may_make(v) or is_container(v))]
    if len(calls) != 1 or other or early or calls[0].func.attr != "__init__":  # type: ignore[attr-defined]
        yield method.lineno, "super", f"{len(calls)} calls, {len(early)} assignments before"


def misused(model: Model) -> Iterator[tuple[int, str, str]]:
    """Containers of torch that are given several or one list too much, and those that are called."""
    held = set()
    for method in model.methods.values():
        for _, target, value in assigned(method):
            if isinstance(value, ast.Call) and last(value.func) in (
                "ModuleList",
                "ModuleDict",
                "ParameterList",
                "ParameterDict",
            ):
                held.add(on_self(target))
    for method in model.methods.values():
        for call in ast.walk(method):
            if not isinstance(call, ast.Call):
                continue
            name = last(call.func)
            wrong = name in HOLDERS - {"Sequential"} and len(call.args) > 1
            wrong |= (
                name == "Sequential"
                and len(call.args) == 1
                and is_container(call.args[0])
                and "Dict" not in ast.unparse(call.args[0])
            )
            wrong |= isinstance(call.func, ast.Attribute) and on_self(call.func) in held - {None}
            if wrong:
                yield call.lineno, "misused", ast.unparse(call)[:60]


def hits(folder: Path) -> Iterator[Hit]:
    """All places of the repositories of the list."""
    for line in (HERE / "check_repositories.txt").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        repository = line.split()[0]
        base = folder / repository.replace("/", "+")
        trees = {}
        for file in sorted(base.rglob("*.py")):
            text = file.read_bytes()
            if b"torch" not in text and OTHERS.search(text) is not None:
                continue
            try:
                trees[file] = ast.parse(text)
            except (SyntaxError, ValueError):
                continue
        models = list(looks_like_modules(trees))
        classes = {model.node.name for _, model in models}
        helpers = {file: giving_back(tree.body) for file, tree in trees.items()}
        for file, model in models:
            helped = helpers[file] | giving_back(model.node.body)
            found = {*containers(model, helped), *parameters(model), *in_forward(model, classes), *repeated(model)}
            found |= {*names_of(model), *constructed(model), *misused(model)}
            for number, kind, about in sorted(found):
                yield Hit(repository, file.relative_to(base).as_posix(), number, kind, model.node.name, about)


def reported() -> set[tuple[str, str, int]]:
    """(repository, file, line) of what the check found in its first run; what was missed then is drawn from the rest."""
    lines = (HERE / "check_findings.txt").read_text(encoding="utf-8").partition("# Found since")[0].splitlines()
    places = [line.split()[:2] for line in lines if line and not line.startswith("#")]
    return {(name, place.rpartition(":")[0], int(place.rpartition(":")[2])) for name, place in places}


def drawn(found: list[Hit]) -> list[Hit]:
    """Those that are to be judged."""
    of_kind = defaultdict(list)
    for hit in found:
        of_kind[hit.kind].append(hit)
    chance = random.Random(SEED)
    for hits_of in of_kind.values():
        chance.shuffle(hits_of)
    taken = [hit for kind, number in DRAWN.items() for hit in of_kind[kind][:number]]
    rest = of_kind["container"][DRAWN["container"] :]
    return sorted(taken + rest[: max(0, 300 - len(taken))])


def judged() -> dict[tuple[str, str], str]:
    """What was judged of (repository, file:line kind)."""
    file = HERE / "misses.txt"
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    found = {}
    for line in lines:
        if line and not line.startswith("#"):
            repository, place, kind, verdict, _ = line.split(maxsplit=4)
            found[repository, f"{place} {kind}"] = verdict
    return found


def main() -> None:
    """Prints the counts, or the places that are drawn."""
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    warnings.simplefilter("ignore")
    known = reported()
    found = [hit for hit in dict.fromkeys(hits(Path(sys.argv[1]))) if (hit.repository, hit.file, hit.line) not in known]
    chosen = drawn(found)
    if sys.argv[2:] == ["--draw"]:
        for hit in chosen:
            print(f"{hit.repository} {hit.file}:{hit.line} {hit.kind} {hit.owner}: {hit.about}")
        return
    verdicts = judged()
    told = Counter(verdicts.get((hit.repository, f"{hit.file}:{hit.line} {hit.kind}"), "not judged") for hit in chosen)
    kinds, of_kind = Counter(hit.kind for hit in found), Counter(hit.kind for hit in chosen)
    print(f"{len(found):,} places that are not reported, {len(chosen)} drawn: {dict(told)}")
    for kind in DRAWN:
        print(f"| {kind} | {kinds[kind]:,} | {of_kind[kind]} |")


if __name__ == "__main__":
    main()
