"""Records what the constructors of an installed package register, as JSON lines: constructor calls, and whole models.

    python tests/oracle/record_cases.py PACKAGE OUT_FOLDER [--path FOLDER] [--seconds 120]

Every public class and function of the package is called with arguments guessed from its signature; each constructor of
one of the package's modules that runs on the way is a case. Written are `PACKAGE.class.jsonl.xz` and
`PACKAGE.builder.jsonl.xz`, in the notation that `score_cases.py` and `zoo_bridge.py` read.
"""

from __future__ import annotations

import argparse
import contextlib
import enum
import functools
import hashlib
import importlib
import inspect
import io
import json
import lzma
import math
import os
import pkgutil
import random
import runpy
import signal
import sys
import tempfile
import time
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn

MOST_OF_A_CLASS = 12
MOST_OF_A_STRUCTURE = 2
MOST_NODES = 400
MOST_BUILDERS = 150
MOST_PARAMETERS = 60_000_000

Encoded = Any


class NotEncodable(Exception):
    """A value that the notation has no form for."""


def qualified(thing: Any) -> str:
    """The definition site of a class or function.

    Raises:
        NotEncodable: it is local to a function, or a lambda.
    """
    name, module = getattr(thing, "__qualname__", None), getattr(thing, "__module__", None)
    if not name or not module or "<" in name or module == "__main__":
        raise NotEncodable(repr(thing)[:80])
    return f"{module}.{name}"


def tree_of(module: nn.Module) -> list[list[Any]]:
    """Path and class of every registered name below, depth first; None where a slot holds None."""
    found: list[list[Any]] = []

    def walk(parent: nn.Module, prefix: str) -> None:
        for name, child in parent._modules.items():
            found.append([prefix + name, None if child is None else qualified(type(child))])
            if child is not None and len(found) < 20_000:
                walk(child, f"{prefix}{name}.")

    walk(module, "")
    return found


class Encoder:
    """Values in the notation; `kinds` says what was met beyond literals and references."""

    def __init__(self, opaque: bool = False) -> None:
        self.kinds: set[str] = set()
        self.opaque = opaque
        self.seen: list[int] = []

    def value(self, value: Any) -> Encoded:
        if type(value) in (bool, int, str, type(None)):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"$float": str(value)}
        try:
            return self._compound(value)
        except NotEncodable:
            if self.opaque:
                return {"$opaque": f"{type(value).__module__}.{type(value).__qualname__}"}
            raise

    def _compound(self, value: Any) -> Encoded:
        if id(value) in self.seen or len(self.seen) > 8:
            raise NotEncodable("nested too deeply")
        self.seen.append(id(value))
        try:
            for kind, encode in self._forms():
                if isinstance(value, kind):
                    return encode(value)
            return self._object(value)
        finally:
            self.seen.pop()

    def _forms(self) -> list[tuple[Any, Callable[[Any], Encoded]]]:
        return [
            (enum.Enum, lambda v: {"$enum": f"{qualified(type(v))}.{v.name}"}),
            (torch.dtype, lambda v: {"$ref": str(v)}),
            (torch.device, lambda v: {"$device": str(v)}),
            (torch.Tensor, self._none),
            (type, lambda v: {"$ref": qualified(v)}),
            (functools.partial, self._partial),
            (types.FunctionType, lambda v: {"$ref": qualified(v)}),
            (nn.Module, self._module),
            (range, lambda v: {"$range": [v.start, v.stop, v.step]}),
            (tuple, lambda v: {"$tuple": [self.value(item) for item in v]} if type(v) is tuple else self._none(v)),
            (list, lambda v: [self.value(item) for item in v] if type(v) is list else self._none(v)),
            ((set, frozenset), lambda v: {"$set": [self.value(item) for item in sorted(v, key=repr)]}),
            (dict, lambda v: self._dict(v) if type(v) is dict else self._none(v)),
        ]

    def _none(self, value: Any) -> Encoded:
        raise NotEncodable(type(value).__name__)

    def _partial(self, value: functools.partial[Any]) -> Encoded:
        return {
            "$partial": qualified(value.func),
            "args": [self.value(item) for item in value.args],
            "kwargs": {key: self.value(item) for key, item in value.keywords.items()},
        }

    def _dict(self, value: dict[Any, Any]) -> Encoded:
        if all(type(key) is str and not key.startswith("$") for key in value):
            return {key: self.value(item) for key, item in value.items()}
        return {"$dict": [[self.value(key), self.value(item)] for key, item in value.items()]}

    def _module(self, value: nn.Module) -> Encoded:
        if "_modules" not in value.__dict__:
            raise NotEncodable("a module before its constructor")
        if any(parameter is not None for parameter in value._parameters.values()):
            self.kinds.add("module with parameters")
        self.kinds.add("module")
        tree = tree_of(value)
        if len(tree) > MOST_NODES:
            raise NotEncodable("a big module")
        plain = {k: v for k, v in vars(value).items() if not k.startswith("_") and k != "training"}
        attributes = {}
        for key, item in plain.items():
            with contextlib.suppress(NotEncodable):
                attributes[key] = Encoder().value(item)
        return {"$module": qualified(type(value)), "tree": tree, "attrs": attributes}

    def _object(self, value: Any) -> Encoded:
        if not hasattr(value, "__dict__") or isinstance(
            value, (types.ModuleType, types.MethodType, types.BuiltinFunctionType)
        ):
            raise NotEncodable(type(value).__name__)
        self.kinds.add("object")
        before, self.opaque = self.opaque, True
        try:
            attributes = {key: self.value(item) for key, item in vars(value).items()}
        finally:
            self.opaque = before
        return {"$object": {"class": qualified(type(value)), "attrs": attributes, "aliases": {}}}


class Recorder:
    """The cases of one package."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.cases: list[dict[str, Any]] = []
        self.counts: dict[str, dict[str, int]] = {}
        self.running: list[int] = []
        self.ids: set[str] = set()

    def wrap(self, cls: type[nn.Module]) -> None:
        """Makes the class's constructor record itself; one that it inherits is called as before."""
        own = cls.__dict__.get("__init__")
        signature = inspect.signature(cls.__init__)

        def __init__(module: nn.Module, *args: Any, **kwargs: Any) -> None:
            make = own if own is not None else super(cls, module).__init__
            before = (module,) if own is not None else ()
            if type(module) is not cls or id(module) in self.running:
                return make(*before, *args, **kwargs)
            question = self.question(cls, signature, args, kwargs)
            self.running.append(id(module))
            try:
                make(*before, *args, **kwargs)
            finally:
                self.running.remove(id(module))
            if question is not None:
                self.record(question, module)
            return None

        functools.update_wrapper(__init__, own or cls.__init__)
        cls.__init__ = __init__  # type: ignore[method-assign]

    def question(self, cls: type, signature: inspect.Signature, args: Any, kwargs: Any) -> dict[str, Any] | None:
        """What was asked, before it ran; None where that has no notation or the class has cases enough."""
        try:
            name = qualified(cls)
            if sum(self.counts.get(name, {}).values()) >= MOST_OF_A_CLASS:
                return None
            bound = signature.bind(None, *args, **kwargs).arguments
            encoder = Encoder()
            row: dict[str, Any] = {"package": self.package, "class": name, "args": {}}
            for position, (key, value) in enumerate(bound.items()):
                kind = signature.parameters[key].kind
                if position == 0 and kind is not inspect.Parameter.VAR_POSITIONAL:
                    continue
                if kind is inspect.Parameter.VAR_POSITIONAL:
                    row["varargs"] = [encoder.value(item) for item in (value[1:] if position == 0 else value)]
                elif kind is inspect.Parameter.VAR_KEYWORD:
                    row["varkw"] = {name: encoder.value(item) for name, item in value.items()}
                else:
                    row["args"][key] = encoder.value(value)
        except (NotEncodable, TypeError):
            return None
        return {**row, "kinds": sorted(encoder.kinds)}

    def record(self, row: dict[str, Any], module: nn.Module) -> None:
        """Adds the case, unless it is known or there are enough like it."""
        try:
            tree = tree_of(module)
        except NotEncodable:
            return
        text = json.dumps(row, sort_keys=True)
        if len(text) > 40_000:
            return
        row["id"] = f"{self.package}-{hashlib.sha1(text.encode()).hexdigest()[:10]}"
        row["children"] = [entry for entry in tree if "." not in entry[0]]
        counts = self.counts.setdefault(row["class"], {})
        structure = json.dumps([row["children"], sorted(module._parameters), sorted(module._buffers)])
        if row["id"] in self.ids or counts.get(structure, 0) >= MOST_OF_A_STRUCTURE:
            return
        self.ids.add(row["id"])
        counts[structure] = counts.get(structure, 0) + 1
        row["params"] = [[name, shape_of(value)] for name, value in module._parameters.items()]
        row["buffers"] = [
            [name, shape_of(value), name not in module._non_persistent_buffers_set]
            for name, value in module._buffers.items()
        ]
        if len(tree) <= MOST_NODES:
            row["tree"] = tree
        self.cases.append(row)


def shape_of(tensor: torch.Tensor | None) -> list[int] | None:
    if tensor is None or isinstance(tensor, torch.nn.parameter.UninitializedTensorMixin):
        return None
    return list(tensor.shape)


# ---- what is called --------------------------------------------------------------------------------------------------

BY_NAME: list[tuple[str, list[Any]]] = [
    ("kernel", [3, 5]), ("stride", [1, 2]), ("dilation", [1, 2]), ("group", [1, 2]), ("head", [4, 2]),
    ("image_size", [32, 64]), ("img_size", [32, 64]), ("patch", [8, 4]), ("class", [10, 3]), ("output", [10, 4]),
    ("layer", [2, 3]), ("depth", [2, 1]), ("num_", [4, 2]), ("n_", [8, 4]), ("drop", [0.1, 0.0]), ("prob", [0.1, 0.5]),
    ("rate", [0.1, 0.5]), ("frames", [8, 16]), ("time", [256, 512]), ("sfreq", [128, 100]), ("chan", [16, 8]),
    ("dim", [32, 16]), ("feature", [16, 32]), ("size", [16, 32]), ("width", [16, 32]), ("height", [16, 32]),
]  # fmt: skip
"""Part of a parameter's name -> values that such a parameter usually takes."""


def guesses(parameter: inspect.Parameter, built: list[nn.Module]) -> list[Any]:
    """Values for a required parameter, the most likely first."""
    name, text = parameter.name.lower(), str(parameter.annotation).lower()
    if any(
        word in name for word in ("model", "net", "encoder", "backbone", "module", "vit", "transformer", "fn", "block")
    ):
        return [*built[-2:], nn.Identity(), nn.Linear(4, 4)]
    for part, values in BY_NAME:
        if part in name:
            if "tuple" in text or "list" in text or "sequence" in text:
                return [(values[0],) * 2, [values[0], values[1]], *values]
            return [*values, (values[0],) * 4, (values[0],) * 2]
    if "bool" in text:
        return [True, False]
    if "float" in text:
        return [0.5]
    if "str" in text:
        return ["relu", "mean"]
    return [16, 4, (16, 16), nn.Identity()]


def argument_sets(function: Any, built: list[nn.Module], random_source: random.Random) -> Iterator[dict[str, Any]]:
    """Keyword arguments to try, from the plain call on."""
    try:
        parameters = [
            p
            for p in inspect.signature(function).parameters.values()
            if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        ]
    except (TypeError, ValueError):
        return
    required = [p for p in parameters if p.default is p.empty]
    if len(required) > 12:
        return
    for attempt in range(4):
        given = {}
        for parameter in required:
            values = guesses(parameter, built)
            given[parameter.name] = values[0] if attempt == 0 else random_source.choice(values)
        yield given
        if attempt == 0:
            yield from ({**given, **varied} for varied in variations(parameters, random_source))
        if not required:
            return


def variations(parameters: list[inspect.Parameter], random_source: random.Random) -> Iterator[dict[str, Any]]:
    """Changes of the defaults: switches turned, numbers doubled."""
    found: list[dict[str, Any]] = []
    for parameter in parameters:
        if parameter.default is parameter.empty or "pretrain" in parameter.name or "weight" in parameter.name:
            continue
        if isinstance(parameter.default, bool):
            found.append({parameter.name: not parameter.default})
        elif type(parameter.default) is int and 0 < parameter.default <= 512:
            found.append({parameter.name: parameter.default * 2})
        elif type(parameter.default) is float and 0 <= parameter.default <= 0.5:
            found.append({parameter.name: 0.2 if parameter.default == 0 else 0.0})
        elif parameter.default is None and any(part in parameter.name for part in ("dim", "channels", "features")):
            found.append({parameter.name: 16})
    random_source.shuffle(found)
    yield from found[:6]


class TookTooLongError(BaseException):
    """Raised by the alarm; no `except Exception` of the package stops it."""


def _alarm(*_: Any) -> None:
    raise TookTooLongError


def attempt(function: Any, arguments: dict[str, Any], seconds: int = 8) -> nn.Module | None:
    """What a call gives, where it gives a module; None for anything else, and for whatever it raises."""
    signal.alarm(seconds)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            made = function(**arguments)
        return made if isinstance(made, nn.Module) else None
    except BaseException:  # SystemExit too -- guessed arguments: whatever goes wrong is no case
        return None
    finally:
        signal.alarm(0)


def modules_of(package: str) -> list[types.ModuleType]:
    """The package and all its modules that can be imported."""
    found: list[types.ModuleType] = []
    pending = [package]
    while pending:
        name = pending.pop(0)
        if any(part.startswith("test") or part == "__main__" for part in name.split(".")):
            continue
        with contextlib.suppress(BaseException):  # what a module does when it is imported is its own affair
            module = importlib.import_module(name)
            found.append(module)
            pending += [f"{name}.{info.name}" for info in pkgutil.iter_modules(getattr(module, "__path__", ()))]
    return found


def record(package: str, seconds: float) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The class cases and the builder cases of a package."""
    recorder, builders = Recorder(package), []
    random_source = random.Random(0)
    targets: list[tuple[str, Any]] = []
    for module in modules_of(package):
        for name, thing in sorted(vars(module).items(), key=lambda entry: entry[0]):
            if getattr(thing, "__module__", None) != module.__name__ or not isinstance(
                thing, (type, types.FunctionType)
            ):
                continue
            if isinstance(thing, type) and issubclass(thing, nn.Module) and "<" not in thing.__qualname__:
                recorder.wrap(thing)
                targets.append((f"{module.__name__}.{thing.__qualname__}", thing))
            elif isinstance(thing, types.FunctionType) and not name.startswith("_") and thing.__name__ == name:
                targets.append((f"{module.__name__}.{name}", thing))
    random_source.shuffle(targets)
    built: dict[str, list[nn.Module]] = {}
    end = time.monotonic() + seconds
    for number, (name, thing) in enumerate(targets):
        share = max(2.0, (end - time.monotonic()) / max(1, len(targets) - number) * 4)
        stop = min(end, time.monotonic() + share)
        beside = built.setdefault(name.rpartition(".")[0], [])
        for arguments in argument_sets(thing, beside, random_source):
            if time.monotonic() > stop:
                break
            made = attempt(thing, arguments)
            if made is None:
                continue
            if sum(p.numel() for p in made.parameters() if not isinstance(p, nn.UninitializedParameter)) < 1_000_000:
                beside.append(made)
                del beside[:-4]
            row = builder_case(package, name, arguments, made)
            if (
                row is not None
                and sum(r["entry"]["call"] == name for r in builders) < 2
                and len(builders) < MOST_BUILDERS
            ):
                builders.append(row)
    return recorder.cases, builders


def builder_case(package: str, call: str, arguments: dict[str, Any], made: nn.Module) -> dict[str, Any] | None:
    """The whole tree of what a call gave; None where it has no children, or the call no notation."""
    try:
        encoder = Encoder()
        entry = {"call": call, "args": {key: encoder.value(value) for key, value in arguments.items()}}
        if encoder.kinds:
            return None
        tree = [[path, qualified(type(module))] for path, module in made.named_modules(remove_duplicate=False) if path]
        cls = qualified(type(made))
    except NotEncodable:
        return None
    if len(tree) < 3:
        return None
    digest = hashlib.sha1(json.dumps(entry, sort_keys=True).encode()).hexdigest()[:10]
    classes = list(dict.fromkeys(name for _, name in tree))
    numbers = {name: number for number, name in enumerate(classes)}
    return {
        "id": f"{package}-{digest}", "package": package, "entry": entry, "class": cls, "classes": classes,
        "tree": [[path, numbers[name]] for path, name in tree],
    }  # fmt: skip


def without_initialisation() -> None:
    """Makes nn.init leave tensors as they are: values are not recorded, and drawing them takes most of the time."""
    for name in [name for name in vars(nn.init) if name.endswith("_") and not name.startswith("_")]:
        original = getattr(nn.init, name)
        setattr(nn.init, name, functools.wraps(original)(lambda tensor, *_args, **_kwargs: tensor))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package")
    parser.add_argument("out", type=Path)
    parser.add_argument("--path", action="append", default=[], help="a folder to import from as well")
    parser.add_argument("--seconds", type=float, default=120)
    options = parser.parse_args()
    sys.path.extend(str(Path(folder).resolve()) for folder in options.path)
    del sys.argv[1:]  # some packages read it when they are imported
    shim = runpy.run_path(str(Path(__file__).parent / "torchvision_shim/sitecustomize.py"))
    shim["declare"]()
    without_initialisation()
    signal.signal(signal.SIGALRM, _alarm)
    out = options.out.resolve()
    with tempfile.TemporaryDirectory() as folder:  # some of the functions that are tried write files
        os.chdir(folder)
        classes, builders = record(options.package, options.seconds)
        os.chdir("/")
    out.mkdir(parents=True, exist_ok=True)
    for level, rows in (("class", classes), ("builder", builders)):
        with lzma.open(out / f"{options.package}.{level}.jsonl.xz", "wt") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    with_children = sum(bool(row["children"]) for row in classes)
    print(
        f"{options.package}: {len(classes)} class cases ({with_children} with children), {len(builders)} builder cases"
    )


if __name__ == "__main__":
    main()
