"""What the standard library of each Python gives its modules, classes and functions, written down as a table.

    python tests/oracle/python_names.py PYTHON3.10 PYTHON3.11 PYTHON3.12 PYTHON3.13 [--check]

The prediction reads the table, `modgraph/prediction/knowledge/standard_names.txt`, and so imports nothing by a name that
stands in the source it reads. Each interpreter is started in a folder of its own, without site packages, and asked. Run
it again where a Python is new, or knowledge names something new of the standard library. `--check` writes nothing, and
ends with status 1 if the table would change.

The table has a line for each module and each object, of fields between tabs:

    collections <tab> : <tab> ChainMap Counter _chain@3 ...           names of a module
    builtins.dict <tab> f <tab> c <tab> builtins.object <tab> ...     a class: letters, bases in its MRO, own names
    builtins.len <tab> f <tab> o <tab> builtins.builtin_function_or_method <tab> ...     an object: its class, own names

    builtins.list.index <tab> f <tab> o <tab> builtins.method_descriptor <tab> <tab> self/ value/ start/= stop/=
                                                                    and its parameters, of what knowledge calls

The parameters are those that the next Python says which says any: what Python itself is written in says more each year.
A parameter is given by position and by name; `a/` by position alone, `a:` by name alone, `a=` has a default, `*a` and
`**a` take what is left. The letter `s` says that a method is a static one, `m` that it is one of its class.

`@3` are the Pythons in which a name is, one bit each, the first is 1; without it, it is in all of them. The second field
of an object is the same; an object that is not alike in all has several lines.
"""

from __future__ import annotations

import abc
import argparse
import ast
import enum
import importlib
import inspect
import io
import json
import os
import pkgutil
import subprocess
import sys
import tempfile
import types
import warnings
from collections.abc import Collection, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parents[2] / "modgraph/prediction/knowledge/standard_names.txt"

DOING = frozenset(("this", "antigravity", "idlelib", "turtledemo", "test", "lib2to3", "__main__"))
"""Modules that do more than define when they are imported; nothing is said of them."""

OF_EVERY_MODULE = frozenset(
    ("__name__", "__doc__", "__package__", "__loader__", "__spec__", "__builtins__", "__file__", "__cached__")
)

Asked = dict[str, Any]
"""What one Python says: "version", "modules": {module: names}, "objects": {name: [kind, lineage, own names, parameters]}."""


# ---- in the Python that is asked: the standard library alone -----------------------------------------------------------


def ask(wanted: Collection[str]) -> Asked:
    """What this Python says of its modules, and of the objects of these names."""
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        found = {name: module for name in module_names() if (module := imported(name)) is not None}
        modules = {name: names_of(module) for name, module in found.items() if is_listed(name, module)}
        objects = Objects(found)
        for name in sorted({*wanted, *_always(found)}):
            objects.add(name, with_form=name in wanted)
    return {"version": ".".join(map(str, sys.version_info[:3])), "modules": modules, "objects": objects.said}


def _always(found: dict[str, types.ModuleType]) -> Iterator[str]:
    """What is asked for whatever knowledge names: it differs from one Python to the other."""
    for module in ("builtins", "math"):
        yield from (f"{module}.{name}" for name, item in vars(found[module]).items() if callable(item))


def module_names() -> Iterator[str]:
    for top in sorted(sys.stdlib_module_names - DOING):
        yield top
        module = imported(top)
        yield from _below(top, module) if module is not None else ()


def _below(package: str, module: types.ModuleType) -> Iterator[str]:
    for each in pkgutil.iter_modules(getattr(module, "__path__", ())):
        name = f"{package}.{each.name}"
        if each.name in ("__main__", "test", "tests", "idle_test") or each.name.startswith("test_"):
            continue
        yield name
        inner = imported(name) if each.ispkg else None
        yield from _below(name, inner) if inner is not None else ()


def imported(name: str) -> types.ModuleType | None:
    """None where this system, or this build of Python, does not have it."""
    try:
        return importlib.import_module(name)
    except (ImportError, AttributeError, OSError):
        return None


def is_listed(name: str, module: types.ModuleType) -> bool:
    """Of what stands behind other modules, `_json`, and is compiled, nothing is asked."""
    return not name.startswith("_") or str(getattr(module, "__file__", None) or "").endswith(".py")


def names_of(module: types.ModuleType) -> list[str]:
    """All names of a module, also those that its `__getattr__` makes."""
    names = {name for name in vars(module) if name not in OF_EVERY_MODULE and not name.startswith("__warning")}
    if "__getattr__" in names:
        text = Path(str(module.__file__)).read_text(encoding="utf-8")
        texts = {each.value for each in ast.walk(ast.parse(text)) if isinstance(each, ast.Constant)}
        names.update(each for each in texts if isinstance(each, str) and each.isidentifier() and hasattr(module, each))
    return sorted(names)


_MARKS = {0: "{}/", 1: "{}", 2: "*{}", 3: "{}:", 4: "**{}"}
"""By the kind of a parameter."""


def form_of(found: Any) -> str:
    """The parameters of a function, or of a class that is made as classes are; "" where Python does not say."""
    if not callable(found) or (isinstance(found, type) and type(found) not in (type, abc.ABCMeta)):
        return ""
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):
        return ""
    if not parameters:
        return "-"
    return " ".join(
        _MARKS[each.kind].format(each.name) + ("" if each.default is each.empty else "=") for each in parameters
    )


class Objects:
    """Classes and functions by their qualified names, with what they inherit."""

    def __init__(self, modules: dict[str, types.ModuleType]) -> None:
        self.modules = modules
        self.said: dict[str, list[Any]] = {}
        self.nameless = {
            type(lambda: 0): "function", type([].append): "builtin_function_or_method", type(self.add): "method",
            type(_below("", types.ModuleType(""))): "generator", types.ModuleType: "module", type(None): "NoneType",
            type(...): "ellipsis", type(NotImplemented): "NotImplementedType",
        }  # fmt: skip
        for cls, name in self.nameless.items():
            self.add_object(f"builtins.{name}", cls)
        for value in (iter([]), {}.keys(), {}.values(), {}.items()):
            self.class_name(type(value))

    def add(self, name: str, *, with_form: bool) -> None:
        """Nothing is said of a name that this Python does not have."""
        parts = name.split(".")
        for end in range(len(parts) - 1, 0, -1):
            module = self.modules.get(".".join(parts[:end]))
            if module is not None:
                owner: Any = None
                found: Any = module
                for part in parts[end:]:
                    owner, found = found, getattr(found, part, None)
                if found is not None:
                    self.add_object(name, found)
                    kind, *said, _ = self.said[name]
                    raw = inspect.getattr_static(owner, parts[-1], None)
                    of_class = isinstance(raw, (classmethod, type(dict.__dict__["fromkeys"])))
                    letter = "m" if of_class else "s" if isinstance(raw, staticmethod) else ""
                    kind += letter if isinstance(owner, type) and not {"m", "s"} & set(kind) else ""
                    self.said[name] = [kind, *said, form_of(found) if with_form else ""]
                return

    def add_object(self, name: str, found: Any) -> None:
        if name in self.said:
            return
        if isinstance(found, type):
            letters = "".join(letter for letter, holds in self.letters(found) if holds)
            lineage = [self.class_name(base) for base in found.__mro__[1:]]
            inherited: set[str] = set().union(*(vars(base) for base in found.__mro__[1:]))
            own = {each for each in vars(found) if each not in inherited}
            self.said[name] = [f"c{letters}", lineage, sorted(own), ""]
        else:
            own = {each for each in getattr(found, "__dict__", ()) if isinstance(each, str)}
            seen_through = (
                [found.__func__] if isinstance(found, types.MethodType) else []
            )  # it has what its function has
            self.said[name] = ["o", [self.class_name(type(each)) for each in (found, *seen_through)], sorted(own), ""]

    @staticmethod
    def letters(cls: type) -> Iterator[tuple[str, bool]]:
        """Abstract and enum: by its metaclass. Initialised: `__init__` is a function of Python's."""
        yield "a", isinstance(cls, abc.ABCMeta)
        yield "e", isinstance(cls, enum.EnumMeta)
        yield "i", isinstance(vars(cls).get("__init__"), types.FunctionType)

    def class_name(self, cls: type) -> str:
        inside = self.nameless.get(cls)
        name = f"builtins.{inside}" if inside else f"{cls.__module__}.{cls.__qualname__}"
        self.add_object(name, cls)
        return name


# ---- in ours -----------------------------------------------------------------------------------------------------------


def wanted_names() -> list[str]:
    """What knowledge names of the standard library, and the exceptions that it raises."""
    import modgraph.prediction.entry  # noqa: F401  in its order, the rooms of the prediction can be imported
    from modgraph.prediction.domain import registry
    from modgraph.prediction.knowledge import import_all

    registry.load(import_all)
    names = {*registry._models, *registry._classes, *registry._aliases, *registry._aliases.values()}
    names |= {"json.decoder.JSONDecodeError", "tomllib.TOMLDecodeError", "enum.EnumMeta", "abc.ABCMeta"}
    return sorted(name for name in names if name.partition(".")[0] in sys.stdlib_module_names)


def ask_python(executable: str, wanted: list[str]) -> Asked:
    """What another Python says, in an empty folder and without what is installed beside it."""
    with tempfile.TemporaryDirectory() as folder:
        command = [executable, "-I", "-S", str(Path(__file__).resolve()), "--answer"]
        environment = {"PATH": os.defpath, "HOME": folder}
        done = subprocess.run(
            command, input=json.dumps(wanted), cwd=folder, env=environment, capture_output=True, text=True, check=True
        )
    answer: Asked = json.loads(done.stdout)
    return answer


def table(asked: list[Asked]) -> str:
    """The text of the table."""
    every = (1 << len(asked)) - 1
    lines = ["pythons\t" + " ".join(one["version"] for one in asked)]
    for module in sorted({name for one in asked for name in one["modules"]}):
        there = sum(1 << bit for bit, one in enumerate(asked) if module in one["modules"])
        names = sorted({name for one in asked for name in one["modules"].get(module, ())})
        marked = []
        for name in names:
            mask = sum(1 << bit for bit, one in enumerate(asked) if name in one["modules"].get(module, ()))
            marked.append(name if mask == there else f"{name}@{mask:x}")
        lines.append(f"{module}\t:{there:x}\t" + " ".join(marked))
    for name in sorted({name for one in asked for name in one["objects"]}):
        groups: dict[str, int] = {}
        for bit, one in enumerate(asked):
            if name in one["objects"]:
                kind, lineage, own, _ = one["objects"][name]
                later = (each["objects"][name][3] for each in asked[bit:] if name in each["objects"])
                form = next(filter(None, later), "")
                said = "\t".join((kind, " ".join(lineage), " ".join(own), form))
                groups[said] = groups.get(said, 0) | 1 << bit
        lines.extend(f"{name}\t{mask:x}\t{said}" for said, mask in sorted(groups.items(), key=lambda pair: pair[1]))
    assert every < 16, "a mask is one digit"
    return "\n" + "\n".join(lines) + "\n"


def main() -> int:
    if sys.argv[1:] == ["--answer"]:
        wanted = json.load(sys.stdin)
        answer = ask(wanted)
        sys.stdout.write(json.dumps(answer))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", nargs="+", help="an interpreter, the oldest first")
    parser.add_argument("--check", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    wanted = wanted_names()
    made = table([ask_python(python, wanted) for python in arguments.python])
    if arguments.check:
        return int(made != TABLE.read_text(encoding="utf-8"))
    TABLE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
