"""Words that `forward` asks an argument for: `task == "depth"`, `mode in ("a", "b")`, `self.heads[task]`.

Of a parameter that is a text, and of one of which nothing is said but that it is compared with texts, they are what is
meant; an empty text is refused by nearly all of them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from torch import nn

from modgraph.inputs.forward_source import forward_tree
from modgraph.inputs.specs import Candidate, LiteralSpec

MAX_WORDS = 8
"""Words of one argument that are tried."""
_ALIKE = frozenset({"lower", "upper", "strip", "casefold"})
"""Methods whose result is compared as the text itself would be."""
_KEYED = (Mapping, nn.ModuleDict, nn.ParameterDict)


def words_asked(model: nn.Module, name: str) -> tuple[str, ...]:
    """In the order of the source, each once; a text that `forward` adds to the argument is taken away."""
    found = (word for node in ast.walk(forward_tree(model)) for word in _words_at(node, name, model))
    return tuple(islice(dict.fromkeys(found), MAX_WORDS))


def other_words(attempt: Candidate, model: nn.Module) -> Iterator[Candidate]:
    """The candidate with each other word that is asked for, in the place of a text."""
    for name, spec in attempt.entries:
        if isinstance(spec, LiteralSpec) and isinstance(spec.value, str):
            for word in words_asked(model, name):
                if word != spec.value:
                    yield attempt.replaced({(name,): LiteralSpec(word)}, f"{name}: a word that forward asks for")


def _words_at(node: ast.AST, name: str, model: nn.Module) -> Iterator[str]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = node.left, node.comparators[0]
        if isinstance(node.ops[0], ast.Eq | ast.NotEq):
            yield from _bare(left, name, _texts(right))
            yield from _bare(right, name, _texts(left))
        if isinstance(node.ops[0], ast.In | ast.NotIn):
            yield from _bare(left, name, _texts(right) or _held(right, model))
    if isinstance(node, ast.Subscript):
        yield from _bare(node.slice, name, _texts(node.value) or _held(node.value, model))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr" and node.args[1:]:
        owner = _object(node.args[0], model)
        names = owner._modules if isinstance(owner, nn.Module) else ()
        yield from _bare(node.args[1], name, names)
    if isinstance(node, ast.Match) and isinstance(node.subject, ast.Name) and node.subject.id == name:
        for case in node.cases:
            for part in ast.walk(case.pattern):
                if isinstance(part, ast.MatchValue):
                    yield from _texts(part.value)


def _bare(node: ast.expr, name: str, texts: Iterable[str]) -> Iterator[str]:
    """Of texts that an expression is to be, those that its argument then is: `f"head_{task}"`, `task + "_head"`."""
    around = _around(node, name)
    if around is not None:
        before, behind = around
        for text in texts:
            if text.startswith(before) and text.endswith(behind) and len(text) > len(before) + len(behind):
                yield text.removeprefix(before).removesuffix(behind)


def _around(node: ast.expr, name: str) -> tuple[str, str] | None:
    """What an expression has before and behind the argument; None where it is not made of it alone."""
    if isinstance(node, ast.Name):
        return ("", "") if node.id == name else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
        return _around(node.func.value, name) if node.func.attr in _ALIKE else None
    parts: list[ast.expr] = []
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.FormattedValue) else part for part in node.values]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = [node.left, node.right]
    places = [place for place, part in enumerate(parts) if _around(part, name) is not None]
    if len(places) != 1:
        return None
    texts = ["".join(_texts(part)) for part in parts]
    if not all(text or place == places[0] for place, text in enumerate(texts)):
        return None
    before, behind = _around(parts[places[0]], name) or ("", "")
    return "".join(texts[: places[0]]) + before, behind + "".join(texts[places[0] + 1 :])


def _texts(node: ast.expr) -> list[str]:
    """Texts that are written: one, several, or the keys of a dict."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [text for each in node.elts for text in _texts(each)]
    if isinstance(node, ast.Dict):
        return [text for each in node.keys if each is not None for text in _texts(each)]
    return []


def _held(node: ast.expr, model: nn.Module) -> list[str]:
    """Texts in what the model holds there: keys, or items."""
    held = _object(node, model)
    if isinstance(held, _KEYED):
        return [key for key in held.keys() if isinstance(key, str)]  # noqa: SIM118  # a ParameterDict is no Mapping
    return [item for item in held if isinstance(item, str)] if isinstance(held, list | tuple | set | frozenset) else []


def _object(node: ast.expr, model: nn.Module) -> Any:
    """What a chain of attributes of `self` leads to, looked up where no code runs; None of all else."""
    if isinstance(node, ast.Name):
        return model if node.id == "self" else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "keys":
        return _object(node.func.value, model)
    if not isinstance(node, ast.Attribute):
        return None
    owner = _object(node.value, model)
    if isinstance(owner, nn.Module):
        return owner._modules.get(node.attr, vars(owner).get(node.attr))
    return getattr(owner, "__dict__", {}).get(node.attr)
