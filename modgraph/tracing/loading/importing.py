"""The user's module, imported as Python would import it: under its import name, its packages first, not as a script."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import linecache
import os
import sys
import types
from pathlib import Path

from modgraph.doors.reading import NOTEBOOK_BYTES, read
from modgraph.errors import ModgraphError, TargetError, TraceError
from modgraph.source.needed_statements import needed_statements
from modgraph.source.notebooks import SUFFIX as NOTEBOOK
from modgraph.source.notebooks import only_statements, read_notebook
from modgraph.source.targets import Target
from modgraph.tracing.basics.failures import describe, is_interruption, trace_error, user_line
from modgraph.tracing.basics.origins import is_installed
from modgraph.tracing.loading.left_out import LeftOutCode
from modgraph.tracing.loading.own_modules import told_of

_loaded_here: set[str] = set()


def import_target(target: Target, code: LeftOutCode | None = None) -> types.ModuleType:
    """The module that holds the target.

    Args:
        code: leaves out what of its project cannot be imported.

    Raises:
        TargetError: no module has that import path.
        TraceError: the user's code raised while it was imported, or needs a package that is not there.
    """
    try:
        if target.file is not None:
            return _import_file(target.module, target.file, _text_of(target), code)
        return importlib.import_module(target.module)
    except ModgraphError:
        raise
    except ModuleNotFoundError as error:
        raise _not_found(error, target) from error
    except SyntaxError as error:
        file, line = user_line(error)
        raise TraceError(f"{target.place} cannot be imported: {describe(error)}", file=file, line=line) from error
    except BaseException as error:
        if is_interruption(error):
            raise
        raise trace_error(error, f"importing {target.place}") from error


def _not_found(error: ModuleNotFoundError, target: Target) -> ModgraphError:
    missing = error.name or ""
    if target.file is None and (target.module == missing or target.module.startswith(missing + ".")):
        return TargetError(
            f"there is no module {missing}",
            hint="it must be importable from the working directory or from where modgraph is installed",
        )
    file, line = user_line(error)
    said, hint = told_of(missing, target.root) or (
        "which is not installed here",
        f"install {missing.partition('.')[0]} beside modgraph, or use --static, which imports nothing",
    )
    message = f"importing {target.place} needs {missing or 'a module'}, {said}"
    return TraceError(message, cause=error, file=file, line=line, hint=hint)


class _TextLoader(importlib.machinery.SourceFileLoader):
    """A text as the module of a file that holds no Python: no bytecode is kept of it."""

    def __init__(self, name: str, path: str, text: str) -> None:
        super().__init__(name, path)
        self._text = text

    def get_code(self, fullname: str) -> types.CodeType | None:  # noqa: ARG002
        # Whoever asks for the source of a class in it (TorchScript, dataclasses, tracebacks) looks there.
        linecache.cache[self.path] = (len(self._text), None, self._text.splitlines(keepends=True), self.path)
        return self.source_to_code(self._text.encode("utf-8", "surrogatepass"), self.path)


def _text_of(target: Target) -> str | None:
    """The source of a module that no file of Python holds; of a notebook the statements that the target, and example
    inputs beside it, need. None where the file itself is Python."""
    assert target.file is not None
    if target.code is not None or target.file.suffix.lower() != NOTEBOOK:
        return target.code
    text = read_notebook(read(target.file, NOTEBOOK_BYTES)).text
    return only_statements(text, needed_statements(text, (target.name.partition(".")[0], "example_inputs")))


def _import_file(name: str, file: Path, text: str | None, code: LeftOutCode | None) -> types.ModuleType:
    """`file` as module `name`, whether or not its directory can be searched for it."""
    parent_name, _, child = name.rpartition(".")
    parent = importlib.import_module(parent_name) if parent_name else None
    already = sys.modules.get(name)
    if already is not None and _same_file(already, file):
        return already
    is_package = file.name == "__init__.py"
    # The loader is named, as one of its own choice goes by the ending, and MODEL.PY is Python too.
    loader = importlib.machinery.SourceFileLoader(name, str(file))
    if text is not None:
        loader = _TextLoader(name, str(file), text)
    if code is not None and not is_installed(str(file)):
        loader = code.loader(name, str(file), text)
    spec = importlib.util.spec_from_file_location(
        name, file, loader=loader, submodule_search_locations=[str(file.parent)] if is_package else None
    )
    if spec is None or spec.loader is None:
        raise TargetError(f"{file.name} cannot be imported: it is not a Python file", file=file.name)
    module = importlib.util.module_from_spec(spec)
    # A file called types.py or random.py must not take the place of a module that others already use.
    registered = already is None or name in _loaded_here
    if registered:
        sys.modules[name] = module
        _loaded_here.add(name)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        if registered:
            sys.modules.pop(name, None)
        raise
    if parent is not None:
        setattr(parent, child, module)
    return sys.modules.get(name, module) if registered else module


def _same_file(module: types.ModuleType, file: Path) -> bool:
    origin = getattr(module, "__file__", None)
    return origin is not None and os.path.realpath(origin) == os.path.realpath(file)
