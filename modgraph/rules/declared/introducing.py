"""The bases that ask for declarations: by what they read, and not by their name."""

from __future__ import annotations

import ast

from modgraph.rules.declared.sources import Sources
from modgraph.rules.declared.table import ATTRIBUTES
from modgraph.rules.declared.values import Kind


def introducing(sources: Sources, kind: Kind) -> frozenset[Kind]:
    """The bases that ask those that derive from them for several declarations, by having none themselves."""
    line = sources.line(kind)[0]
    found: dict[Kind, int] = {}
    for name in ATTRIBUTES:
        having = [each for each in line if name in sources.own(each)]
        if having and having[-1] != kind and _is_empty(sources, having[-1], name):
            found[having[-1]] = found.get(having[-1], 0) + 1
    return frozenset(each for each, count in found.items() if count > 1)


def _is_empty(sources: Sources, kind: Kind, name: str) -> bool:
    """It is None there, or stands there without a value."""
    for _, node in sources.members(kind, name):
        value = getattr(node, "value", None)
        if not (value is None or (isinstance(value, ast.Constant) and value.value is None)):
            return False
    return True
