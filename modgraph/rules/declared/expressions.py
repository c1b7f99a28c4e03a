"""What an expression may be."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from modgraph.rules.declared.functions import (
    constant,
)
from modgraph.rules.declared.objects import Objects
from modgraph.rules.declared.values import (
    ANY,
    NOTHING,
    NUMBER,
    NUMBERS,
    ONLY_DATA,
    ONLY_NONE,
    ONLY_OPEN,
    OPEN,
    Frame,
    Plain,
    Text,
    Values,
)

MAX_NAMES = 64
"""Texts that one name of a child may be made to."""
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)


class Expressions(Objects):
    """Names, literals, comprehensions; and texts that are names of children."""

    def value(self, node: ast.expr, frame: Frame) -> Values:
        """What an expression may be."""
        if isinstance(node, ast.Constant):
            return constant(node.value)
        if isinstance(node, ast.Name):
            return self._name(node.id, frame)
        if isinstance(node, ast.Attribute):
            return self.attribute(self.value(node.value, frame), node.attr)
        if isinstance(node, ast.Call):
            return self.call_of(node, frame)
        if isinstance(node, ast.Subscript):
            self.value(node.slice, frame)
            return self.items(self.value(node.value, frame), whole=isinstance(node.slice, ast.Slice))
        if isinstance(node, ast.Lambda):
            return frozenset([self.code_at(frame.code.file, node, frame.code.owner, frame)])
        if isinstance(node, _COMPREHENSIONS):
            return self._comprehension(node, frame)
        if isinstance(node, ast.NamedExpr):
            values = self.value(node.value, frame)
            self.assign(node.target, values, frame)
            return values
        return self._combined(node, frame)

    def _combined(self, node: ast.expr, frame: Frame) -> Values:
        below = [self.value(each, frame) for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr)]
        if isinstance(node, ast.JoinedStr):
            names = self.texts(node, frame)
            return frozenset(Text(each) for each in names if each != ANY) | (ONLY_NONE if ANY in names else NOTHING)
        if isinstance(node, ast.Compare):
            return ONLY_NONE
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            self.give_back(frame, NOTHING.union(*below))
            return ONLY_DATA
        if isinstance(node, ast.IfExp):
            return below[1] | below[2]
        found: Values = NOTHING.union(*below)
        if isinstance(node, (ast.BinOp, ast.UnaryOp)):
            return frozenset(each for each in found if not isinstance(each, (Text, Plain)) or each is OPEN) or ONLY_NONE
        if isinstance(node, (ast.List, ast.Tuple, ast.Set, ast.Dict)):
            return found or ONLY_NONE
        return found

    def _comprehension(self, node: ast.expr, frame: Frame) -> Values:
        assert isinstance(node, _COMPREHENSIONS)
        for each in node.generators:
            self.loop(each.target, each.iter, frame)
            for test in each.ifs:
                self.value(test, frame)
        if isinstance(node, ast.DictComp):
            return self.value(node.key, frame) | self.value(node.value, frame)
        return self.value(node.elt, frame)

    def _name(self, name: str, frame: Frame) -> Values:
        each: Frame | None = frame
        while each is not None:
            self.read.add((id(each.names), name))
            if name in each.locals or name in each.names:
                return each.names.get(name, NOTHING)
            each = each.around
        return self.known(self.sources.named(frame.code.file, name))

    def known(self, found: Values | tuple[str, str]) -> Values:
        """What a name at the top of a file is, a variable by what is assigned to it."""
        if not isinstance(found, tuple):
            return found
        if found not in self.variables and found not in self.reading:
            self.reading.add(found)
            outer, self.read, since = self.read, set(), self.clock
            text = self.sources.text(found[0])
            assigned_ = text.variables.get(found[1], []) if text is not None else []
            home = self.top_of(found[0])
            parts = [ONLY_OPEN if each is None else self.value(each, home) for each in assigned_]
            is_empty = all(isinstance(each, (ast.Dict, ast.List)) and not ast.unparse(each)[2:] for each in assigned_)
            self.variables[found] = ONLY_OPEN if is_empty else NOTHING.union(*parts)
            self.reading.discard(found)
            self.variables_read[found] = self.read, since
            self.read = outer
        read, since = self.variables_read.get(found, (frozenset(), self.clock))
        self.read |= read
        self.since = min(self.since, since)
        return self.variables.get(found, NOTHING)

    def texts(self, node: ast.expr, frame: Frame) -> Sequence[str]:
        """The names that an expression may be as the name of a child."""
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return [str(node.value)]
        if isinstance(node, ast.JoinedStr):
            found = [""]
            for part in node.values:
                inner = part.value if isinstance(part, ast.FormattedValue) else part
                ends = self.texts(inner, frame) if isinstance(inner, ast.expr) else [ANY]
                found = [f"{head}{end}" for head in found for end in ends]
                if len(found) > MAX_NAMES:
                    return [ANY]
            return found
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "str" and len(node.args) == 1:
            return self.texts(node.args[0], frame)
        if isinstance(node, ast.BinOp) and self._is_number(node, frame):
            return [NUMBERS]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and self._is_text(node, frame):
            pairs = [(a, b) for a in self.texts(node.left, frame) for b in self.texts(node.right, frame)]
            return [ANY] if len(pairs) > MAX_NAMES else [a + b for a, b in pairs]
        values = self.value(node, frame)
        names = [v.text if isinstance(v, Text) else NUMBERS if v is NUMBER else ANY for v in values]
        return [ANY] if ANY in names or not names or len(names) > MAX_NAMES else sorted(set(names))

    def _is_number(self, node: ast.expr, frame: Frame) -> bool:
        """It is reckoned from whole numbers alone, and may be one that a name ends with."""
        if isinstance(node, ast.BinOp):
            return self._is_number(node.left, frame) and self._is_number(node.right, frame)
        if isinstance(node, ast.Constant):
            return type(node.value) is int
        return isinstance(node, ast.Name) and self.value(node, frame) == frozenset([NUMBER])

    def _is_text(self, node: ast.expr, frame: Frame) -> bool:
        """Some part of a sum is a text, and with it all are."""
        if isinstance(node, ast.BinOp):
            return self._is_text(node.left, frame) or self._is_text(node.right, frame)
        if isinstance(node, ast.JoinedStr):
            return True
        values = self.value(node, frame)
        return bool(values) and all(isinstance(value, Text) for value in values)
