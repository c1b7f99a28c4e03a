"""Names of typing for classes of Python's own: what they are in isinstance, as bases and, of some, in calls."""

from __future__ import annotations

from modgraph.prediction.domain.registry import constant
from modgraph.prediction.domain.values import KnownClass

_ABSTRACT = (
    *("Sized", "Container", "Callable", "Iterable", "Iterator", "Generator", "Reversible", "Collection", "Sequence"),
    *("MutableSequence", "MutableSet", "Mapping", "MutableMapping"),
    *("MappingView", "KeysView", "ItemsView", "ValuesView"),
)
_CLASSES = {
    **{name: f"collections.abc.{name}" for name in _ABSTRACT},
    **{name: f"builtins.{name.lower()}" for name in ("List", "Dict", "Tuple", "Set", "FrozenSet", "Type")},
    "AbstractSet": "collections.abc.Set",
    "Deque": "collections.deque",
    "Counter": "collections.Counter",
    "OrderedDict": "collections.OrderedDict",
    "DefaultDict": "collections.defaultdict",
}
constant("typing_extensions.NamedTuple", KnownClass("typing.NamedTuple"))
for _owner in ("typing", "typing_extensions"):
    for _name, _class in _CLASSES.items():
        constant(f"{_owner}.{_name}", KnownClass(_class))
