"""What is kept so that it need not be done twice: without it the answers are the same, and come later."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from modgraph.prediction.domain.values import ClassValue, Value
from modgraph.source import nodes

if TYPE_CHECKING:
    from modgraph.prediction.code.memo import Fragment
    from modgraph.prediction.domain.definitions import ClassDefinition, FunctionDefinition
    from modgraph.source.plain_uses import Known, Uses


@dataclass(frozen=True, slots=True)
class Taken:
    """The arguments that a function takes, as its source says; the first is left out."""

    places: tuple[str, ...]
    required: int = 0
    """How many of the places have no default."""
    keywords: frozenset[str] = frozenset()
    """Those that are given by name alone, and may be left out."""
    is_open: bool = True
    """It takes others as well, or that is not known."""


@dataclass(slots=True)
class Caches:
    literals: dict[nodes.Node, Value] = field(default_factory=dict)
    """Values of literals by their node; nodes are compared by identity."""
    literal_texts: dict[str, str] = field(default_factory=dict)
    """Texts of sources of which there is one object."""
    too_long: set[FunctionDefinition] = field(default_factory=set)
    """Decorators that were given up."""
    shadows: dict[str, ClassValue | None] = field(default_factory=dict)
    """Classes as their source has them, of known classes whose source is there."""
    patched: set[str] = field(default_factory=set)
    """Names that were set on classes which are not the project's: see `patched_classes.py`."""
    remade: bool = False
    """Some function was given other code, defaults or cells: see `stored_attributes.py`."""
    lineages: dict[int, frozenset[int]] = field(default_factory=dict)
    """Addresses of the classes in an MRO, by that of its class as the base has it."""
    class_attributes: dict[tuple[object, str, object], Value | None] = field(default_factory=dict)
    """What was found in the namespaces of MROs, where every class is as the base has it."""
    fragments: dict[tuple[object, ...], Fragment | None] = field(default_factory=dict)
    """Constructions and calls that may be repeated; None for a construction that was seen once."""
    fragments_here: dict[tuple[object, ...], tuple[dict[tuple[str, str], Value], Fragment | None]] = field(
        default_factory=dict
    )
    """The same of one prediction, in states that have given modules other names, with those names."""
    remembered: int = 0
    """Objects in both."""
    contents: dict[tuple[object, ...], int] = field(default_factory=dict)
    """Numbers of the contents of arguments."""
    costs: dict[FunctionDefinition, int] = field(default_factory=dict)
    """Steps that the last run of a function took."""
    functions: dict[int, FunctionDefinition] = field(default_factory=dict)
    installed: dict[str, bool] = field(default_factory=dict)
    """Of modules by name: whether they are of an installed package."""
    torchless: dict[str, bool] = field(default_factory=dict)
    """Of modules by name: whether they are of an installed package, and never say torch."""
    module_names: dict[str, tuple[dict[str, None], bool]] = field(default_factory=dict)
    """Of modules by name: the names that importing it binds in it, and whether they are all."""
    uses: dict[ClassDefinition, Uses] = field(default_factory=dict)
    """What the methods of a class do with its attributes."""
    kinds_by_uses: dict[Value, dict[str, Known]] = field(default_factory=dict)
    """The same of a class and those that it is derived from."""
    forward_parameters: dict[str, Taken] = field(default_factory=dict)
    """What the `forward` of torch's layers takes, by its name."""
    naming_hooks: dict[tuple[str, str], bool] = field(default_factory=dict)
    derived_elsewhere: dict[tuple[str, str], bool] = field(default_factory=dict)
    """By module and class: another file may derive a class from it."""
    """Of names in modules: whether what their call gives may be told its name; of a module with "": whether a class of
    it has the method for that."""
