"""The options of a script's command line, as its text says them: what `parser.parse_args()` gives without any."""

from __future__ import annotations

import ast
from typing import Any

from modgraph.source.integers import parse

MAX_TEXT = 300_000
"""Characters of one file that is parsed."""
_TYPES = {"int": int, "float": float, "str": str}
_FLAGS = {"store_true": False, "store_false": True}


def option_defaults(text: str) -> dict[str, Any] | None:
    """By name of the attribute, what each option is where it is not given, as far as that is a literal; None of a file
    that is no Python, or has no options."""
    if "add_argument" not in text or len(text) > MAX_TEXT:
        return None
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found: dict[str, Any] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
            _add(node, found)
    return found or None


def _add(call: ast.Call, found: dict[str, Any]) -> None:
    """One option; none that has to be given, or of whose default the text does not say all."""
    said = {each.arg: each.value for each in call.keywords}
    flags = [each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    if None in said or not flags or len(flags) != len(call.args):
        return
    long = next((each for each in flags if each.startswith("--")), flags[0])
    name = _text(said.get("dest")) or long.lstrip("-").replace("-", "_")
    # One that has to be given may have a default all the same: what its author takes for usual.
    has_to_be_given = "default" not in said and _text(said.get("required")) not in (None, "False")
    if not flags[0].startswith("-") or has_to_be_given:
        found.pop(name, None)
        return
    try:
        found[name] = _default(said)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        found.pop(name, None)


def _text(node: ast.expr | None) -> str | None:
    return None if node is None else str(node.value) if isinstance(node, ast.Constant) else ast.unparse(node)


def _default(said: dict[str | None, ast.expr]) -> Any:
    """Raises ValueError where it is not known."""
    action = _text(said.get("action"))
    if "default" not in said:
        return _FLAGS.get(action or "")
    node = said["default"]
    value = ast.literal_eval(node)
    if isinstance(value, str) and "type" in said:  # argparse converts a text, and nothing else
        kind = _TYPES.get(_text(said["type"]) or "")
        if kind is None:
            raise ValueError("a type of its own")
        value = kind(value)
    return value
