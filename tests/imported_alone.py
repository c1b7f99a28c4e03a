"""`python imported_alone.py NAME ...`: imports each module first, and prints what went wrong, and last the names that were tried.

A module that was imported first has run after what it needs and after nothing else of the package. So a process imports
what a module needs, in an order of needs, and then the module; and as most of what modules need is the same, the process
is a fork of one that has imported the same before. What each one needs is seen in a process that imports all of them.
"""

from __future__ import annotations

import builtins
import gc
import importlib
import importlib.abc
import importlib.machinery
import json
import os
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from itertools import islice
from typing import Any, NoReturn

import networkx

HEAVY = ("torch", "numpy", "onnx", "onnx_ir", "onnxscript", "onnxruntime")
Groups = tuple[tuple[str, ...], ...]
"""Modules that import each other, and are one module alone where they do not; what is needed comes first."""


class NeedsHeavyError(BaseException):
    """Tried again once what is heavy was imported: once, and not in each process."""


class Refusing(importlib.abc.MetaPathFinder):
    def find_spec(self, name: str, *_: Any) -> None:
        if name in HEAVY:
            raise NeedsHeavyError


def of_package(names: Any) -> set[str]:
    return {name for name in names if name.partition(".")[0] == "modgraph"}


def said(name: str, error: BaseException) -> str | None:
    """What is wrong with it; nothing where an extra is not installed."""
    is_extra = isinstance(error, ModuleNotFoundError) and not of_package([error.name or ""])
    return None if is_extra else f"{name} {error!r}"


def survey(names: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    """What each module has imported while it was run, and those that need what is heavy."""
    needs: dict[str, set[str]] = {}
    running: list[str] = []
    run, imported = importlib.machinery.SourceFileLoader.exec_module, builtins.__import__

    def run_and_tell(self: Any, module: Any) -> None:
        if running and of_package([module.__name__]):
            needs[running[-1]].add(module.__name__)
        if of_package([module.__name__]):
            needs.setdefault(module.__name__, set())
            running.append(module.__name__)
        try:
            run(self, module)
        finally:
            if running[-1:] == [module.__name__]:
                running.pop()

    def import_and_tell(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        result = imported(name, globals, locals, fromlist, level)
        if running:
            needs[running[-1]] |= of_package({name, *(f"{name}.{each}" for each in fromlist or ())} & set(sys.modules))
        return result

    importlib.machinery.SourceFileLoader.exec_module = run_and_tell  # type: ignore[method-assign]
    builtins.__import__ = import_and_tell
    later: list[str] = []
    for name in names:
        with suppress(Exception):  # told when it is tried
            if not is_light(name):
                later.append(name)
    return {name: sorted(found) for name, found in needs.items()}, later


def is_light(name: str) -> bool:
    try:
        importlib.import_module(name)
    except NeedsHeavyError:
        return False
    return True


def in_order(needs: dict[str, list[str]], names: list[str]) -> dict[tuple[str, ...], Groups]:
    """Before each group, itself with all that it needs. What many need comes first, as then more of an order is shared."""
    edges = networkx.DiGraph()
    edges.add_nodes_from(names)
    for name in {*names, *needs}:
        edges.add_edges_from((name, other) for other in needs.get(name, ()))
        if "." in name:
            edges.add_edge(name, name.rpartition(".")[0])
    condensed = networkx.condensation(edges)
    groups = {node: tuple(sorted(found)) for node, found in condensed.nodes(data="members")}
    below = {node: {node, *networkx.descendants(condensed, node)} for node in condensed}
    wanted = Counter(inner for found in below.values() for inner in found)  # more than of whatever needs it
    asked = {node for node in condensed if not set(names).isdisjoint(groups[node])}
    return {
        groups[node]: tuple(
            groups[each] for each in sorted(below[node], key=lambda each: (-wanted[each], groups[each]))
        )
        for node in asked
    }


def import_first(name: str, group: tuple[str, ...]) -> str | None:
    """What is wrong with it, imported before the others of its group."""
    before = len(sys.modules)
    try:
        importlib.import_module(name)
    except BaseException as error:
        return said(name, error)
    came = of_package(islice(reversed(sys.modules), len(sys.modules) - before))  # all names would be copied by a fork
    return (
        None
        if came == set(group)
        else f"{name} has imported {sorted(came ^ set(group))} at one time and not at another"
    )


def forked(work: Any, *given: Any) -> None:
    if (child := os.fork()) == 0:
        status = 1
        try:
            work(*given)
            sys.stdout.flush()
            status = 0
        finally:
            os._exit(status)
    if os.waitpid(child, 0)[1]:
        print(f"a process has failed: {given}")
        sys.stdout.flush()


class Trying:
    def __init__(self, orders: dict[tuple[str, ...], Groups], done: int) -> None:
        self.ends = set(orders.values())
        self.done = done
        self.tree: dict[tuple[str, ...], Any] = {}
        for order in orders.values():
            place = self.tree
            for group in order:
                place = place.setdefault(group, {})

    def walk(self, tree: dict[tuple[str, ...], Any], behind: Groups = ()) -> None:
        """All orders that go on so, from a process that has imported what lies behind and nothing else."""
        for group, after in tree.items():
            if len(tree) > 1:
                forked(self.step, group, after, behind)
            else:
                self.step(group, after, behind)

    def step(self, group: tuple[str, ...], after: dict[tuple[str, ...], Any], behind: Groups) -> None:
        if (*behind, group) in self.ends:
            for name in group[1:]:
                forked(self.tell, name, group)
            self.tell(group[0], group)
        else:
            import_first(group[0], group)
        self.walk(after, (*behind, group))

    def tell(self, name: str, group: tuple[str, ...]) -> None:
        wrong = import_first(name, group)
        if wrong is not None:
            print(wrong)
        os.write(self.done, f"{name} ".encode())


def written(file: int) -> bytes:
    return os.pread(file, 1 << 24, 0)


def temporary() -> int:
    return os.open(tempfile.gettempdir(), os.O_TMPFILE | os.O_RDWR | os.O_APPEND)


def try_all(names: list[str], done: int) -> list[str]:
    """Those that need what is heavy, where that was refused."""
    file = temporary()
    forked(lambda: os.write(file, json.dumps(survey(names)).encode()))
    needs, later = json.loads(written(file))
    names = [name for name in names if name not in later]
    trying = Trying(in_order(needs, names), done)
    forked(trying.walk, trying.tree)
    return list(later)


def main(names: list[str]) -> NoReturn:
    gc.disable()  # what it looks through, a fork gets a copy of
    done = temporary()
    with suppress(ImportError):
        importlib.import_module("libcst")  # once here, not in each process
    sys.meta_path.insert(0, Refusing())
    later = try_all(names, done)
    del sys.meta_path[0]
    for heavy in HEAVY:
        with suppress(ImportError):
            importlib.import_module(heavy)
    try_all(later, done)
    print(written(done).decode())
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    sys.path[0] = os.getcwd()
    main(sys.argv[1:])
