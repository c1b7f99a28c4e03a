"""A folder with a `config.json` -> a target: the class that it names, built from what stands in it.

`_class_name`, or the first of `architectures`, names the class. It is looked for by name in the file of the folder
that `auto_map` says, in packages of which the configuration says a version (`NAME_version`), then along the
search path. Nothing of any of them is imported: a few lines of source that import the class and call it are the
target, and are predicted or traced as any other.

A class whose constructor takes one configuration (by its annotation, or `config_class = ...`) gets an object of that
class, made of all entries; any other gets the entries that its constructor names.
"""

from __future__ import annotations

import ast
import os
import re
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from modgraph.doors.data import read_json
from modgraph.doors.reading import CONFIG_BYTES, SOURCE_BYTES, read
from modgraph.errors import TargetError
from modgraph.source.files import NEVER, decode
from modgraph.source.integers import parse
from modgraph.source.kinds import CONFIG_FILE

MODULE = "config_json"
"""Import name of the lines that stand for the folder."""
MAX_FILES = 40_000
"""Files that are looked through for a class."""
MAX_BYTES = 1_000_000_000
MAX_CODE = 1_000_000
"""Characters of the entries as Python."""
_MAX_DEPTH = 12
_MAX_NAMED = 5
_VERSION = re.compile(r"_*(?P<package>[A-Za-z]\w*)_version\Z")


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """What is to be predicted for a folder."""

    name: str
    """Of the class, and of the function in `code` that builds it."""
    code: str
    home: str
    """Import path of the module that has the class."""
    root: Path
    """Where that is imported from, where it lies in the folder."""
    left_out: tuple[str, ...] = ()
    """Entries that the constructor does not take."""


def read_folder(config: Path, search: Sequence[str], shown: str) -> ModelFolder:
    """The class that a configuration names, and the lines that build it.

    Raises:
        TargetError: it names none, or none that is found, or nothing says how it is built.
    """
    entries = _entries(config, shown)
    name = _class_name(entries, shown)
    folder = config.parent
    own = _auto_mapped(entries, name, folder)
    found = [own] if own is not None else _installed(name, entries, search)
    if not found:
        raise TargetError(
            f"{shown} names the class {name}, which no file of the project and no installed package defines",
            hint="install the package it belongs to, or put the folder of its source on PYTHONPATH",
        )
    if len(found) > 1:
        named = ", ".join(f"{each.module}:{name}" for each in found[:_MAX_NAMED])
        raise TargetError(f"{shown} names the class {name}, which several modules define: {named}")
    place = found[0]
    code, left_out = _code(place, name, entries, shown)
    return ModelFolder(name, code, place.module, place.root, left_out)


def _entries(config: Path, shown: str) -> dict[str, Any]:
    def refuse(value: str) -> Any:
        raise ValueError(f"{value} is no JSON")

    try:
        found = read_json(read(config, CONFIG_BYTES), parse_constant=refuse)
    except OSError as error:
        raise TargetError(f"{shown} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise TargetError(f"the configuration in {shown} cannot be read: {str(error)[:200]}") from error
    if not isinstance(found, dict):
        raise TargetError(f"the configuration in {shown} is no JSON object")
    return found


def _class_name(entries: dict[str, Any], shown: str) -> str:
    named = entries.get("_class_name")
    listed = entries.get("architectures")
    if isinstance(listed, list) and listed:
        named = named or listed[0]
    if isinstance(named, str) and named.isidentifier():
        return named
    kind = entries.get("model_type")
    said = f", only the model_type {str(kind)[:60]!r}" if kind is not None else ""
    raise TargetError(
        f"the configuration in {shown} names no class: it has neither architectures nor _class_name{said}",
        hint="name the class itself: package.module:Class",
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """A file that defines the class."""

    file: Path
    module: str
    root: Path


def _auto_mapped(entries: dict[str, Any], name: str, folder: Path) -> _Place | None:
    """The file of the folder itself that has the class; of another repository's nothing is said here."""
    mapped = entries.get("auto_map")
    for value in mapped.values() if isinstance(mapped, dict) else ():
        for each in value if isinstance(value, list) else [value]:
            stem, _, last = each.rpartition(".") if isinstance(each, str) else ("", "", "")
            file = folder / f"{stem}.py"
            if last == name and stem.isidentifier() and file.is_file() and not file.is_symlink():
                if folder.name.isidentifier():  # so that `from .configuration import ...` leads somewhere
                    return _Place(file, f"{folder.name}.{stem}", folder.parent)
                return _Place(file, stem, folder)
    return None


class _Budget:
    def __init__(self) -> None:
        self.files, self.bytes = MAX_FILES, MAX_BYTES


def _installed(name: str, entries: dict[str, Any], search: Sequence[str]) -> list[_Place]:
    """Where a class of that name is defined, in the first of the places that has one."""
    hints = [match["package"] for key in entries if (match := _VERSION.match(key))]
    kind = entries.get("model_type")
    kind = kind if isinstance(kind, str) and kind.isidentifier() else ""
    roots = [Path(entry) for entry in dict.fromkeys(search) if entry and not _is_standard(entry)]
    budget = _Budget()
    for hint in hints:
        for root in roots:
            package = root / hint
            if hint.isidentifier() and (package / "__init__.py").is_file():
                near = [each for each in (package / "models" / kind, package / kind) if kind and each.is_dir()]
                for place in (*near, package):
                    found = _exported(_defining(name, place, root, budget))
                    if found:
                        return found
    for root in roots:
        found = _exported(_defining(name, root, root, budget, but=("torch", *hints)))
        if found:
            return found
    return []


def _is_standard(entry: str) -> bool:
    """A folder of Python's own library, which holds no models."""
    paths = sysconfig.get_paths()
    return os.path.realpath(entry) in {os.path.realpath(paths[name]) for name in ("stdlib", "platstdlib")}


def _defining(name: str, folder: Path, root: Path, budget: _Budget, but: tuple[str, ...] = ()) -> list[_Place]:
    """The files below a folder with a line that begins a class of that name."""
    line = re.compile(rb"^class " + re.escape(name.encode("utf-8")) + rb"\s*[(:]", re.MULTILINE)
    found: list[_Place] = []
    for file in _python_files(folder, but if folder == root else ()):
        budget.files -= 1
        if budget.files < 0 or budget.bytes < 0:
            raise TargetError(
                f"the class {name} was not found in the first {MAX_FILES:,} files",
                hint="name the class itself: package.module:Class",
            )
        try:
            data = read(file, SOURCE_BYTES)
        except OSError:
            continue
        budget.bytes -= len(data)
        if line.search(data) is not None:
            parts = os.path.relpath(file, root).removesuffix(".py").split(os.sep)
            if all(part.isidentifier() for part in parts):
                found.append(_Place(file, ".".join(parts).removesuffix(".__init__"), root))
    return found


def _python_files(folder: Path, but: tuple[str, ...]) -> Iterator[Path]:
    """In the order of their paths; links, and folders that hold no code, are passed over."""
    for here, folders, files in os.walk(folder):
        depth = len(os.path.relpath(here, folder).split(os.sep)) - (Path(here) == folder)
        folders[:] = sorted(
            each for each in folders if each.isidentifier() and (each not in NEVER) and depth < _MAX_DEPTH
            and not (depth == 0 and each in but)
        )  # fmt: skip
        for name in sorted(files):
            file = Path(here, name)
            if name.endswith(".py") and not file.is_symlink():
                yield file


def _exported(found: list[_Place]) -> list[_Place]:
    """Those that the `__init__.py` beside them mentions, where some are: the others are what they were written from."""
    if len(found) < 2:
        return found
    kept = []
    for place in found:
        try:
            text = read(place.file.with_name("__init__.py"), SOURCE_BYTES)
        except OSError:
            continue
        if re.search(rb"\b" + re.escape(place.file.stem.encode("utf-8")) + rb"\b", text):
            kept.append(place)
    return kept or found


def _code(place: _Place, name: str, entries: dict[str, Any], shown: str) -> tuple[str, tuple[str, ...]]:
    """The lines that build the class, and the entries that it does not take."""
    tree = _tree(place.file, shown)
    chain = _chain(tree, name)
    given = {key: value for key, value in entries.items() if key.isidentifier() and not key.startswith("_")}
    maker = next((made for node in chain if (made := _method(node, "__init__")) is not None), None)
    config = _config_class(chain, maker)
    lines = [f"from {place.module} import {name} as _Model"]
    if config is not None:
        taken = _of_config(config, tree, place)
        kept = given if taken is None else {key: value for key, value in given.items() if key in taken}
        lines.append(f"from {place.module} import {config} as _Configuration")
        call = f"_Model(_Configuration(**{kept!r}))"
    elif maker is not None:
        named = _parameters(maker)
        kept = given if named is None else {key: value for key, value in given.items() if key in named}
        call = f"_Model(**{kept!r})"
    else:
        raise TargetError(
            f"{shown} names the class {name} of {place.module}, whose constructor is inherited from another file:"
            " nothing here says how it is built from a configuration",
            hint="write a function without arguments that returns it, and name that: model.py:build",
        )
    code = "\n".join([*lines, "", "", f"def {name}():", f"    return {call}", ""])
    if len(code) > MAX_CODE:
        raise TargetError(f"the configuration in {shown} is longer than {MAX_CODE:,} characters")
    return code, tuple(key for key in given if key not in kept)


def _tree(file: Path, shown: str) -> ast.Module:
    try:
        tree: ast.Module = parse(decode(read(file, SOURCE_BYTES)))
    except OSError as error:
        raise TargetError(f"{file.name}, which {shown} names, cannot be read: {error.strerror or error}") from error
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise TargetError(f"{file.name}, which {shown} names, cannot be parsed") from error
    return tree


def _chain(tree: ast.Module, name: str) -> list[ast.ClassDef]:
    """A class, and its bases in the same file, each before its own."""
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    found: dict[str, ast.ClassDef] = {}
    pending = [name]
    while pending:
        here = pending.pop(0)
        node = classes.get(here)
        if node is not None and here not in found:
            found[here] = node
            pending += [base.id for base in node.bases if isinstance(base, ast.Name)]
    return list(found.values())


def _method(node: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    return next((each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == name), None)


def _config_class(chain: list[ast.ClassDef], maker: ast.FunctionDef | None) -> str | None:
    """The class of the one argument that the constructor needs: by its annotation, else by what the class says."""
    name = ""
    if maker is not None:
        every = [*maker.args.posonlyargs, *maker.args.args][1:]
        needed = every[: len(every) - len(maker.args.defaults)] if maker.args.defaults else every
        if len(needed) != 1:
            return None
        name = needed[0].arg
        annotated = _plain(needed[0].annotation)
        if annotated is not None and annotated not in ("dict", "int", "float", "str", "bool", "list", "tuple", "Any"):
            return annotated
    for node in chain:
        for each in node.body:
            if isinstance(each, ast.Assign) and any(_plain(target) == "config_class" for target in each.targets):
                return _plain(each.value)
            if isinstance(each, ast.AnnAssign) and _plain(each.target) in ("config_class", name or "config"):
                said = each.value if _plain(each.target) == "config_class" else each.annotation
                if (found := _plain(said)) is not None:
                    return found
    return None


def _plain(node: ast.AST | None) -> str | None:
    """A lone name, also written as a text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
        return node.value
    return node.id if isinstance(node, ast.Name) else None


def _parameters(maker: ast.FunctionDef) -> frozenset[str] | None:
    """Names that a constructor takes; None where it takes any."""
    if maker.args.kwarg is not None:
        return None
    every = [*maker.args.args, *maker.args.kwonlyargs]
    return frozenset(each.arg for each in every[1:])


def _of_config(name: str, tree: ast.Module, place: _Place) -> frozenset[str] | None:
    """Names that the class of a configuration takes; None where it takes any, or its source says nothing of it."""
    chain = _chain(tree, name)
    if not chain:
        chain = _imported_chain(name, tree, place)
    node = chain[0] if chain else None
    if node is None:
        return None
    maker = _method(node, "__init__")
    if maker is not None:
        return _parameters(maker)
    if node.bases:
        return None
    fields = [
        each.target.id for each in node.body if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    ]
    return frozenset(fields)


def _imported_chain(name: str, tree: ast.Module, place: _Place) -> list[ast.ClassDef]:
    """The class as the file from which it is imported defines it."""
    for node in tree.body:
        if not isinstance(node, ast.ImportFrom):
            continue
        for each in node.names:
            if (each.asname or each.name) != name:
                continue
            around = place.module.split(".")[: -node.level] if node.level else []
            parts = [*around, *(node.module or "").split(".")]
            file = place.root.joinpath(*filter(None, parts)).with_suffix(".py")
            if not file.is_file():
                file = place.root.joinpath(*filter(None, parts), "__init__.py")
            if file.is_file() and not file.is_symlink():
                try:
                    return _chain(_tree(file, file.name), each.name)
                except TargetError:
                    return []
    return []


def config_in(path: Path) -> Path | None:
    """The `config.json` that a folder has, or that a path is; None where there is none."""
    try:
        if path.is_dir() and (path / CONFIG_FILE).is_file():
            return path / CONFIG_FILE
        return path if path.name == CONFIG_FILE and path.is_file() else None
    except (OSError, ValueError):
        return None
