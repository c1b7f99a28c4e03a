"""What the user asks for: "model.py:Net(depth=4)" as a `Target`."""

from __future__ import annotations

import ast
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from modgraph.doors.borders import PYTHON_FILES, Border, project_folders
from modgraph.doors.printing import control_in
from modgraph.doors.reading import INSTEAD_OF_A_PIPE, irregular, lies_in, read
from modgraph.errors import MissingFileError, TargetError
from modgraph.names import last_name, nearest
from modgraph.source.dotted_names import dotted
from modgraph.source.files import decode
from modgraph.source.kinds import CONFIG_FILE, FORMS, kind_of
from modgraph.source.model_folders import MODULE, config_in, read_folder
from modgraph.source.quiet import python_tree
from modgraph.source.source_roots import with_source_roots

_IMPORTED_ALONE = re.compile(rb"^(?:from|import)[ \t]+([A-Za-z_]\w*)", re.MULTILINE)
"""Not those that are tried: they are indented."""
_IMPORTED = re.compile(rb"^[ \t]*(?:from|import)[ \t]*(\w*)\.", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Ref:
    """A class or function named by its import path: `Ref("torch.nn.ReLU")`, as an argument of a target."""

    name: str

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Built:
    """What a class gives, as an argument of a target that was found in source: called, or filled without a call."""

    name: str
    """Import path of the class, or of another callable."""
    positional: tuple[Any, ...] = ()
    """Arguments of the call; of a dict that is filled its pairs."""
    keywords: tuple[tuple[str, Any], ...] = ()
    attributes: tuple[tuple[str, Any], ...] | None = None
    """Of an instance whose `__init__` is not run, as it was run where it was found; `Unsaid` where one is not known.
    None of one that is called."""
    later: tuple[tuple[str, Any], ...] = ()
    """What is set on one that was called, in this order: paths of attributes (`layer.weight.requires_grad`)."""

    def __repr__(self) -> str:
        parts = [repr(value) for value in self.positional]
        parts += [f"{name}={value!r}" for name, value in (*self.keywords, *(self.attributes or ()), *self.later)]
        return f"{last_name(self.name)}({', '.join(parts)})"


NAMESPACE = "types.SimpleNamespace"
"""The class of an object that is `Built` from attributes alone."""


@dataclass(frozen=True, slots=True)
class Unsaid:
    """An attribute of something `Built` that the source does not say."""

    reason: str

    def __repr__(self) -> str:
        return "..."


NOT_GIVEN = "not given:"
"""What a prediction says of an argument that a target leaves out, behind the argument and before the signature."""

NONE_KNOWN = "needs arguments, and none are known"
"""What a trace says of a class that is named without arguments, behind its signature."""

SCRIPT = "__main__"
"""What stands below `if __name__ == "__main__":`, as a `Target.caller`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A class, a factory function or a module-level instance, and the arguments to call it with."""

    text: str
    """For people and for the graph: "model.py:Net(depth=4)", the file relative to `root`."""
    module: str
    """Import name of its module: "model", "package.models.net"."""
    name: str
    """Its name in that module, dotted for a nested class: "Net"; "" where the target named a file alone."""
    arguments: tuple[Any, ...] = ()
    """Positional arguments: literals (also nested in lists, tuples, dicts and sets), `Ref`s, and `Built` that were
    found."""
    keywords: tuple[tuple[str, Any], ...] = ()
    called: bool = False
    """Parentheses were written, so a function or class is meant to be called with just these arguments."""
    file: Path | None = None
    """Absolute; None where the target named a module by its import path."""
    root: Path | None = None
    """Directory from which `module` is importable, for a target that named a file."""
    search_path: tuple[str, ...] = ()
    """Where imports are looked up, in order; `root` is its first entry for a file."""
    discovered: bool = False
    """Found by looking through its file, not named by the user: it may turn out not to exist at run time."""
    note: str | None = None
    """Why this is what was taken, where that is not plain."""
    caller: str | None = None
    """The part of its file that calls the class with arguments which only the prediction finds out: the name of a
    function that needs none, or SCRIPT."""
    code: str | None = None
    """The source of its module, where that is not what `file` holds: lines that build what a configuration says."""
    beside: tuple[str, ...] = ()
    """Other models of its file, which it was found not to be about; told once, by the first of those that are taken."""
    doubtful: bool = False
    """The text of its file does not say whether it is an `nn.Module`."""
    line: int | None = None
    """Of the call in its file whose arguments it has."""
    written: str | None = None
    """The file or module as the user wrote it, from where he stands."""

    @property
    def place(self) -> str:
        """The file or module, as written in front of the colon: "model.py"."""
        return self.text.partition(":")[0] if self.file is None else self.relative_file

    def typed(self, model: str = "") -> str:
        """What names another model of the same file or module on a command line, quoted for a shell."""
        place = self.written
        if place is None:
            place = self.place if self.file is None else os.path.relpath(self.file)
        return _quoted(f"{place}:{model}" if model else place)

    @property
    def home(self) -> str | None:
        """The folder of the file; what its imports may lead to depends on it. None of a module."""
        return None if self.file is None else str(self.file.parent)

    @property
    def model(self) -> str:
        """What is written behind the file or module: "Net(depth=4)"."""
        return self.text.removeprefix(self.place).removeprefix(":")

    @property
    def relative_file(self) -> str:
        """The file as the graph names it: relative to `root`, with forward slashes."""
        if self.file is None or self.root is None:
            return self.module.replace(".", "/") + ".py"
        return self.file.relative_to(self.root).as_posix()

    def named(
        self,
        name: str,
        arguments: tuple[Any, ...] = (),
        keywords: tuple[tuple[str, Any], ...] = (),
        *,
        called: bool = False,
    ) -> Target:
        """The same file or module with another name in it."""
        return Target(
            text=f"{self.place}:{written(name, arguments, keywords, called=called)}",
            module=self.module,
            name=name,
            arguments=arguments,
            keywords=keywords,
            called=called,
            file=self.file,
            root=self.root,
            search_path=self.search_path,
            code=self.code,
            written=self.written,
        )


def _quoted(text: str) -> str:
    """For a shell, in the quotation marks that are not in it where that does."""
    return f'"{text}"' if "'" in text and not set(text) & set('"$`\\!\n') else shlex.quote(text)


def written(name: str, arguments: Sequence[Any], keywords: Iterable[tuple[str, Any]], *, called: bool) -> str:
    """A name and its arguments as one would write them: "Net(4, depth=2)"."""
    if not called:
        return name
    parts = [repr(value) for value in arguments] + [f"{key}={value!r}" for key, value in keywords]
    return f"{name}({', '.join(parts)})"


def references_in(value: object) -> Iterator[str]:
    """Import paths of the classes and functions among arguments."""
    if isinstance(value, Ref | Built):
        yield value.name
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from references_in((key, item))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from references_in(item)


_FILE_TARGET = re.compile(r"(?P<file>.+?\.(?:[pP][yY]|[iI][pP][yY][nN][bB]))(?::(?P<object>.*))?\Z", re.DOTALL)
_MAX_SHOWN = 200
"""Characters of a wrong target that its message repeats."""
_FORMS = FORMS
_MODULE_TARGET = re.compile(r"(?P<module>[^\W\d]\w*(?:\.[^\W\d]\w*)*)(?::(?P<object>.*))?\Z", re.DOTALL)


def parse_target(
    text: str, *, path: Sequence[str] | None = None, cwd: Path | None = None, border: Border | None = None
) -> Target:
    """The target that `text` names; `name` is "" where it names a file or module alone.

    Args:
        path: where imports are looked up; by default the working directory and `sys.path`, with what the project of the
            file is imported from (`source_roots.py`) in front of installed packages.
        cwd: directory against which a relative file is read; by default the working directory.
        border: of the project whose configuration holds the text; nothing beyond it is looked at. None where the user
            has named it.

    Raises:
        MissingFileError: the file does not exist.
        TargetError: it is no Python file, lies beyond the border, or what stands behind the colon is not a name with
            literal arguments.
    """
    if (control := control_in(text)) is not None:
        raise TargetError(f"a target cannot hold the character {control}, as {shortened(text)!r} does", hint=_FORMS)
    cwd = cwd or Path.cwd()
    search = tuple(path) if path is not None else (str(cwd), *(entry for entry in sys.path if entry))
    name = text.partition(":")[0]
    match = _FILE_TARGET.match(text)
    asked = cwd / (text if match else _within(border, cwd, text, name))
    if border is None and (config := config_in(asked)) is not None:
        return _of_config(config, text, search)
    if match:
        base = replace(file_target(match["file"], search, cwd, border), written=match["file"])
    elif text and _is(Path.is_dir, asked):
        raise TargetError(f"{text} is a directory, not a Python file", hint=_files_in(asked, text))
    elif text and _is(Path.is_file, cwd / name):
        raise _no_source(cwd / name, name)
    elif text == "-" or (text and (kind := irregular(asked)) is not None):
        what = "standard input is not read as a target" if text == "-" else f"{text} is {kind}, not a regular file"
        raise TargetError(what, hint=_INSTEAD)
    elif match := _MODULE_TARGET.match(text):
        base = Target(text=match["module"], module=match["module"], name="", search_path=search)
    else:
        raise TargetError(f"{shortened(text)!r} is no target", hint=_FORMS)
    if path is None:
        base = replace(base, search_path=with_source_roots(base.search_path, base.home or str(cwd)))
    if match["object"] is None:
        return base
    name, arguments, keywords, called = _parse_object(match["object"], text)
    return base.named(name, arguments, keywords, called=called)


def _of_config(config: Path, text: str, search: tuple[str, ...]) -> Target:
    """The class that a configuration names, built from it."""
    config = Path(os.path.realpath(config))
    roots = with_source_roots(search, str(config.parent))
    found = read_folder(config, roots, text)
    left_out = f"; it does not take {', '.join(found.left_out[:5])}" if found.left_out else ""
    return Target(
        text=f"{config.parent.name}:{found.name}",
        module=MODULE,
        name=found.name,
        file=config,
        root=config.parent,
        search_path=tuple(dict.fromkeys((str(found.root), *roots))),
        code=found.code,
        note=f"{found.home}:{found.name}, built from {CONFIG_FILE}{left_out}; a run is on fake tensors",
    )


def _no_source(path: Path, name: str) -> TargetError:
    """What is said of a file that is no source."""
    try:
        kind = kind_of(path, name)
    except OSError as error:
        return TargetError(f"{name} cannot be read: {error.strerror or error}", file=name)
    except TargetError as error:
        return error
    article = "an" if kind.called[0] in "aeiouAEIOU" else "a"
    if kind.reads == "source":
        return TargetError(f"{name} is {article} {kind.called}, by what is in it", hint=f"call it so: {kind.example}")
    return TargetError(
        f"{name} is {article} {kind.called}, which has no classes to name", hint=f"name it alone: {name}"
    )


_INSTEAD = f"{INSTEAD_OF_A_PIPE}, with a name that ends in .py; standard input is read by `modgraph check -` alone"


def file_in(text: str) -> str | None:
    """The file that a target names, as it is written; None where it names a module."""
    match = _FILE_TARGET.match(text)
    return match["file"] if match else None


def _within(border: Border | None, cwd: Path, text: str, name: str) -> str:
    """What of a target that names no file of Python may be asked for, whether it is there: all of it, or the part in
    front of the colon, where behind it stands what is beyond the border if it is read as a path.

    Raises:
        TargetError: that part is beyond it.
    """
    _require(border, cwd, name)
    return text if border is None or border.holds(cwd / text) else name


def _require(border: Border | None, cwd: Path, name: str) -> None:
    """Raises TargetError for what a configuration names beyond the border of its project, whether it is there or not:
    what is near it, or in it, would be shown as well."""
    refusal = None if border is None else border.refusal(cwd / name, PYTHON_FILES)
    if refusal is not None:
        raise TargetError(
            f"the target {shortened(name)!r} {refusal}", hint="name it on the command line, if it is meant"
        )


def _is(test: Callable[[Path], bool], path: Path) -> bool:
    """What `test` says; False of what cannot be the name of a file."""
    try:
        return test(path)
    except (OSError, ValueError):
        return False


def shortened(text: str) -> str:
    """What the user wrote, not longer than a message should repeat it."""
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."


def file_target(name: str, search: tuple[str, ...], cwd: Path, border: Border | None = None) -> Target:
    """A whole file as a target, whatever it is called: the text of one ends at the first ".py:".

    Raises:
        TargetError: there is no such file, or it lies beyond the border.
    """
    _require(border, cwd, name)
    try:
        file = Path(os.path.realpath(cwd / name))  # `resolve` raises on a link to itself
        is_directory, is_file = file.is_dir(), file.is_file()
    except (OSError, ValueError) as error:  # longer than a name may be, or with a character that none may have
        reason = getattr(error, "strerror", None) or error
        raise TargetError(f"{shortened(name)} cannot be the name of a file: {reason}") from error
    if is_directory:
        raise TargetError(f"{name} is a directory, not a Python file", hint=_files_in(file, name))
    if not is_file and (kind := irregular(file)) is not None:
        raise TargetError(f"{name} is {kind}, not a regular file", hint=_INSTEAD)
    if not is_file:
        raise MissingFileError(f"{name} does not exist", file=name, hint=_near_files(cwd / name, name))
    root, module = import_name(file)
    folders = _script_folders(file, root, module.partition(".")[0])
    around = [str(folder) for folder in folders if folder != file.parent]
    beside = [str(folder) for folder in folders if folder == file.parent]
    return Target(
        text=file.relative_to(root).as_posix(),
        module=module,
        name="",
        file=file,
        root=root,
        search_path=tuple(dict.fromkeys((str(root), *around, *search, *beside))),
    )


def import_name(file: Path) -> tuple[Path, str]:
    """The directory from which `file` is imported, and its import name.

    A directory with an `__init__.py` is part of a package, and so is one without of which the file's own imports say
    that: relative ones (`from . import parts`), and those that name it (`from nets.parts import Part` in `nets/`). The
    root is the first directory above that is none.
    """
    parts = [] if file.stem == "__init__" else [file.stem]
    root = file.parent
    while os.path.isfile(root / "__init__.py") and root.name.isidentifier() and root.parent != root:
        parts.insert(0, root.name)
        root = root.parent
    for _ in range(_n_packages(file, root) - len(file.parent.relative_to(root).parts)):
        parts.insert(0, root.name)
        root = root.parent
    return root, ".".join(parts) or file.stem


def _script_folders(file: Path, root: Path, package: str) -> list[Path]:
    """Folders of the project, around a file, from which it imports by name what its root does not have: whoever runs it
    starts a script there. A module that is called as the file's package would be found instead of it."""
    try:
        names = {name.decode() for name in _IMPORTED_ALONE.findall(read(file))}
    except OSError:
        return []
    lacking = [name for name in names if not _is_there(root / name)]
    tops = project_folders(str(file.parent)) if lacking else []
    found: list[Path] = []
    for folder in file.parents:
        if not any(lies_in(str(folder), top) for top in tops):
            break
        if folder != root and not _is_module(folder / package) and any(_is_there(folder / name) for name in lacking):
            found.append(folder)
    return found


def _is_there(place: Path) -> bool:
    return _is_module(place) or place.is_dir()


def _is_module(place: Path) -> bool:
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()


def _n_packages(file: Path, root: Path) -> int:
    """How many folders around a file are packages, as its own imports say; those that are tried, for which there is
    another way, say nothing."""
    try:
        data = read(file)
    except OSError:
        return 0
    outer = [name.encode() for name in root.parts if name.isidentifier()]
    if not any(name in outer or name == b"" for name in _IMPORTED.findall(data)):
        return 0
    try:
        pending: list[ast.AST] = [python_tree(decode(data))]
    except (SyntaxError, ValueError, LookupError, RecursionError, MemoryError):
        return 0
    around = _packages_around(file.parent)
    most = 0
    while pending:
        node = pending.pop()
        if isinstance(node, ast.ImportFrom) and node.level:
            most = max(most, node.level if node.level <= len(around) else 0)
        elif isinstance(node, ast.ImportFrom | ast.Import):
            names = [node.module] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names]
            most = max(most, *(_named_around(name.split("."), around) for name in names if name), 0)
        tried = isinstance(node, ast.Try) and node.handlers
        pending.extend(each for each in ast.iter_child_nodes(node) if not tried or isinstance(each, ast.ExceptHandler))
    return most


def _packages_around(folder: Path) -> list[Path]:
    """Folders that may be packages, the innermost first: within the project, with folders of it above them."""
    tops = project_folders(str(folder))
    found: list[Path] = []
    while folder.name.isidentifier() and any(lies_in(str(folder.parent), top) for top in tops):
        found.append(folder)
        folder = folder.parent
    return found


def _named_around(parts: list[str], around: list[Path]) -> int:
    """How many of the folders are packages, where an import of that name means what lies in the outermost of these."""
    for number, folder in enumerate(around, 1):
        place = folder.parent.joinpath(*parts)
        if len(parts) > 1 and folder.name == parts[0] and (place.is_dir() or place.with_suffix(".py").is_file()):
            return number
    return 0


def _files_in(directory: Path, name: str) -> str:
    files = sorted(entry.name for entry in directory.glob("*.py") if os.path.isfile(entry))[:5]
    if not files and (notebook := _notebook_below(directory)) is not None:
        return f"name the notebook in it: modgraph analyze {shlex.quote(os.path.join(name, notebook))}"
    named = ", ".join(_quoted(os.path.join(name, file)) for file in files)
    in_it = f" in it: {named}" if named else ""
    return f"name a file{in_it}, or take all models below: modgraph analyze --all {_quoted(name)}"


_MOST_LOOKED_AT = 2_000
"""Entries below a folder."""


def _notebook_below(directory: Path) -> str | None:
    """The first notebook below a folder in which there is no file of Python."""
    looked = 0
    for folder, folders, files in os.walk(directory):
        folders.sort()
        looked += len(folders) + len(files)
        if looked > _MOST_LOOKED_AT or any(each.endswith(".py") for each in files):
            return None
        notebook = next((each for each in sorted(files) if each.endswith(".ipynb")), None)
        if notebook is not None:
            return os.path.relpath(os.path.join(folder, notebook), directory)
    return None


def _near_files(missing: Path, name: str) -> str | None:
    try:
        names = [entry.name for entry in missing.parent.iterdir() if entry.suffix == ".py"]
    except OSError:
        return f"the directory {Path(name).parent} does not exist either"
    # Of the names without their endings: those alone are alike in all of them.
    near = nearest(missing.stem, [each.removesuffix(".py") for each in names if each != missing.name])
    return f"did you mean {Path(name).parent / near[0]}.py?" if near else None


def _parse_object(text: str, whole: str) -> tuple[str, tuple[Any, ...], tuple[tuple[str, Any], ...], bool]:
    """Name, positional arguments, keyword arguments, and whether parentheses were written."""
    try:
        node = python_tree(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise TargetError(
            f"{shortened(text)!r} in target {shortened(whole)!r} is not a name with literal arguments",
            hint="write it as model.py:Net or 'model.py:Net(depth=4)' (quoted for the shell)",
        ) from error
    function = node.func if isinstance(node, ast.Call) else node
    name = dotted(function)
    if name is None:
        raise TargetError(
            f"{shortened(text)!r} in target {shortened(whole)!r} is not the name of a class, function or instance"
        )
    if not isinstance(node, ast.Call):
        return name, (), (), False
    if any(keyword.arg is None for keyword in node.keywords) or any(isinstance(a, ast.Starred) for a in node.args):
        raise TargetError(f"* and ** are not possible in target {shortened(whole)!r}: write the arguments out")
    try:
        positional = tuple(_literal(argument, whole) for argument in node.args)
        keywords = tuple((str(k.arg), _literal(k.value, whole)) for k in node.keywords)
        repr((positional, keywords))
    except (RecursionError, ValueError) as error:  # Python writes no integer of more than 4,300 digits
        raise TargetError(f"the arguments in target {shortened(whole)!r} are nested too deeply, or too long") from error
    return name, positional, keywords, True


def _literal(node: ast.expr, whole: str) -> Any:
    """The value of a literal; a dotted name such as `torch.nn.ReLU` is a `Ref`."""
    try:
        return ast.literal_eval(node)
    except (ValueError, SyntaxError, TypeError, MemoryError):
        pass
    if isinstance(node, ast.Attribute) and (name := dotted(node)) is not None:
        return Ref(name)
    try:
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            items = [_literal(element, whole) for element in node.elts]
            return tuple(items) if isinstance(node, ast.Tuple) else set(items) if isinstance(node, ast.Set) else items
        if isinstance(node, ast.Dict) and None not in node.keys:
            return {_literal(k, whole): _literal(v, whole) for k, v in zip(node.keys, node.values, strict=True) if k}
    except TypeError:  # a list, a dict or a set cannot be in a set, nor a key
        raise TargetError(
            f"{shortened(ast.unparse(node))!r} in target {shortened(whole)!r} cannot be: what is in a set, and the keys"
            " of a dict, must be hashable"
        ) from None
    raise TargetError(
        f"{shortened(ast.unparse(node))!r} in target {shortened(whole)!r} is not a literal",
        hint="numbers, strings, True, None, and tuples, lists and dicts of them, or a class by its import path"
        " (torch.nn.ReLU); for anything richer write a factory function and name that",
    )
