"""How far the modules have come that were asked for something: their names, and the statements that were executed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from modgraph.prediction.domain.values import Address, Unknown, Value
from modgraph.source.index import Statement
from modgraph.source.modules import SourceModule

if TYPE_CHECKING:
    from modgraph.prediction.code.import_order import Imported
    from modgraph.prediction.project.lookups import Wanted


class NotWholeError(BaseException):
    """A module of the project cannot be executed to its end; not an Exception, as no fault is to be made of it.

    Args:
        failure: what Python may fail with there too.
        raises: it certainly raises there.
    """

    def __init__(self, reason: str, failure: Unknown | None = None, *, raises: bool = False) -> None:
        super().__init__(reason)
        self.failure = failure
        self.raises = raises


@dataclass(slots=True)
class Whole:
    """A module that is executed from top to bottom; its names are `globals` of the state and the base."""

    source: SourceModule
    waiting: dict[str, Statement] = field(default_factory=dict)
    """Names whose last statement can be executed when they are asked for."""
    imported_bases: dict[str, Statement] = field(default_factory=dict)
    """Base classes as they are written, with the import of an installed package that gives them."""
    line: int | None = 0
    """Of the statement that is being executed; None when it has come to its end."""
    on_path: bool = False
    """It is executed in the state of one path: what depends on that does not wait."""


@dataclass(slots=True)
class Loaded:
    whole: dict[str, Whole] = field(default_factory=dict)
    """Modules that are executed as a whole; see `whole_modules.py`."""
    on_paths: set[str] = field(default_factory=set)
    """Those of which each state says whether it has imported them; see `path_imports.py`."""
    movers: list[SourceModule] = field(default_factory=list)
    """Executed modules that change where imports lead; see `moved_imports.py`."""
    starred: set[tuple[str, str]] = field(default_factory=set)
    """Modules and those all of which they import, whose names were bound then; see `star_imports.py`."""
    is_executing: bool = False
    """The target's module is being executed."""
    is_lazy: bool = False
    """No module is executed as a whole."""
    raises: bool = False
    """Nor could it be: executing the target's certainly raises."""
    failing_is_expected: bool = False
    """Something around the import of the module that is being executed expects that importing fails."""
    failed: int = 0
    """How many statements have raised at module level."""
    namespaces: dict[str, dict[str, Value | None]] = field(default_factory=dict)
    """By module: the names that were asked for."""
    running: dict[tuple[str, str], Address] = field(default_factory=dict)
    """Module-level names whose statements are being executed, with their environment."""
    so_far: dict[tuple[str, str, int], Value | None] = field(default_factory=dict)
    """Names bound several times: their value before a later line binds them again."""
    importing: set[tuple[str, str]] = field(default_factory=set)
    """Module-level names that are being looked for."""
    class_running: set[tuple[int, str]] = field(default_factory=set)
    """Names of class bodies that are being looked for, by the address of the class."""
    annotated: set[tuple[int, str]] = field(default_factory=set)
    """Names of class bodies that are annotated and have no value."""
    executed: dict[tuple[str, int], dict[str, Value]] = field(default_factory=dict)
    """Names bound by the compound statements of modules and classes that were executed, by module and line."""
    executing: dict[tuple[str, int], Address] = field(default_factory=dict)
    """Those that are being executed, with their environment."""
    filled: set[int] = field(default_factory=set)
    """Addresses of classes whose body was executed as a whole."""
    autocast: set[int] = field(default_factory=set)
    """Nodes of functions that torch.autocast decorates."""
    patched: set[str] = field(default_factory=set)
    """What of torch is given another value: "torch.nn.modules.linear.Linear.forward", "torch.nn.functional.relu"."""
    hooks: dict[tuple[int, str], Address] = field(default_factory=dict)
    """By address of a module and name: the dicts of hooks that were asked for."""
    hooks_assigned: set[int] = field(default_factory=set)
    """Modules that were given another such dict."""
    roots: list[str] = field(default_factory=list)
    """Modules that are imported first: those of the targets."""
    hooked: set[str] = field(default_factory=set)
    """Those of them where a hook on all registrations is set when they are imported."""
    imported: dict[tuple[str, ...], Imported] = field(default_factory=dict)
    wanted: dict[int, Wanted] = field(default_factory=dict)
    """Containers in which a key was missing."""
    heads: dict[str, dict[str, list[Statement]]] = field(default_factory=dict)
    """By module and word: statements that may fill containers; see `lookups.py`."""
    asked: dict[str, tuple[int, list[SourceModule]]] = field(default_factory=dict)
    """By package: its modules among the first so many `namespaces`, which only grow."""
    beside: dict[tuple[str, str], Imported] = field(default_factory=dict)
    """What the second module brings besides what the first, which holds containers, does; see `lookups.py`."""
