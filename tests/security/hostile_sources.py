"""Sources that nobody would write: real files mutated, and files made from Python's own grammar.

Each is a function of a seed alone and of the files it starts from, so that what was found can be found again.
"""

from __future__ import annotations

import ast
import random
import re
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

MAX_DEPTH = 7
"""Nodes of the grammar inside each other."""

NAMES = (
    *("self", "x", "y", "n", "i", "cls", "torch", "nn", "F", "Net", "Block", "Linear", "layers", "blocks", "conv"),
    *("super", "range", "len", "zip", "map", "type", "getattr", "setattr", "isinstance", "dict", "list", "tuple"),
    *("object", "property", "print", "int", "str", "vars", "globals", "sum", "sorted", "iter", "next", "copy"),
    *("functools", "os", "math", "enum", "dataclasses", "venv", "unittest", "collections", "itertools", "abc"),
)
ATTRIBUTES = (
    *("__init__", "forward", "weight", "bias", "append", "extend", "Module", "Linear", "Sequential", "ModuleList"),
    *("ModuleDict", "Parameter", "register_buffer", "add_module", "apply", "__class__", "__dict__", "__mro__"),
    *("__subclasses__", "__globals__", "__code__", "__getattr__", "__setattr__", "items", "keys", "format", "join"),
    *("partial", "deepcopy", "main", "no_such_name", "__main__", "_modules", "named_modules", "training", "to"),
)
CONSTANTS: tuple[object, ...] = (
    *(0, 1, 2, 3, -1, 7, 8, 64, 10**6, 10**12, 10**40, 2**63, 0.5, 1e308, -0.0, 1j, True, False, None, ...),
    *("", "x", "fc", "a.b", "weight", "%999999999d", "{0.__class__}", "{:>999999999}", "\x1b[2J", "\u202e", "\ud800"),
    *("::error::x", "(a+)+$", "../../x", "/etc/passwd", b"", b"\x00\xff"),
)
HOSTILE_TEXT = (
    *("\x00", "\x0c", "\r", "\ufeff", "\u2028", "\u202e", "\t", "\\", '"""', "'''", "#", "# modgraph: ignore[MG101]"),
    *(
        "# -*- coding: utf-7 -*-\n",
        "# noqa",
        "(" * 300,
        "[" * 90,
        "-" * 500,
        "not " * 300,
        "lambda: " * 200,
        "1" * 5000,
    ),
    *(
        "f'{" * 5,
        "match x:\n",
        "async ",
        "await ",
        "yield ",
        "*",
        "**",
        ":=",
        "@",
        "->",
        ";",
        "\N{MATHEMATICAL BOLD SMALL A}",
    ),
    *("import venv.__main__ as v; v.x\n", "from unittest.__main__ import x\n", "__import__('this')\n", "x" * 20000),
)


def mutated(seed: int, files: Sequence[Path]) -> bytes:
    """A real file, changed in one to twelve places."""
    rng = random.Random(seed)
    text = _read(rng.choice(files))
    for _ in range(rng.choice((1, 1, 2, 3, 5, 12))):
        for _ in range(rng.choice((1, 8))):  # once whatever comes of it, once something that is Python
            changed = rng.choice(_MUTATIONS)(rng, text, files)[:400_000]
            if _is_python(changed):
                break
        text = changed
    data = text.encode("utf-8", "surrogatepass")
    if rng.random() < 0.05 and data:  # bytes that are no text
        place = rng.randrange(len(data))
        data = data[:place] + rng.randbytes(rng.randrange(1, 9)) + data[place + rng.randrange(3) :]
    return data


def generated(seed: int) -> bytes:
    """A file made from the grammar: classes of modules whose methods hold whatever the grammar allows."""
    maker = _Maker(random.Random(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n\n\n" + "\n".join(
            maker.module_class() if maker.rng.random() < 0.7 else maker.text(maker.statement(0))
            for _ in range(maker.rng.randrange(1, 7))
        )
    return text.encode("utf-8", "surrogatepass")


# ---- mutations ---------------------------------------------------------------------------------------------------------

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")


@cache
def _read(path: Path) -> str:
    return path.read_text("utf-8", "replace")


def _is_python(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


def _somewhere(rng: random.Random, text: str, change: Callable[[list[str], int], None]) -> str:
    """Tokens near one place of the text, changed."""
    start = rng.randrange(len(text) + 1)
    window = _TOKEN.findall(text[start : start + 2000])
    if window:
        change(window, rng.randrange(len(window)))
    return text[:start] + "".join(window) + text[start + 2000 :]


def _drop(rng: random.Random, text: str, _files: Sequence[Path]) -> str:
    return _somewhere(rng, text, lambda tokens, at: tokens.__delitem__(slice(at, at + rng.randrange(1, 6))))


def _repeat(rng: random.Random, text: str, _files: Sequence[Path]) -> str:
    return _somewhere(rng, text, lambda tokens, at: tokens.insert(at, "".join(tokens[at : at + rng.randrange(1, 40)])))


def _rename(rng: random.Random, text: str, _files: Sequence[Path]) -> str:
    words = [word for word in set(re.findall(r"\b[A-Za-z_]\w*\b", text[:50_000])) if len(word) < 40]
    if not words:
        return text
    old, new = rng.choice(sorted(words)), rng.choice((*sorted(words)[:200], *NAMES))
    return re.sub(rf"\b{re.escape(old)}\b", new, text, count=rng.choice((0, 1, 2)))


def _number(rng: random.Random, text: str, _files: Sequence[Path]) -> str:
    found = list(re.finditer(r"\b\d+\b", text))
    if not found:
        return text
    one = rng.choice(found)
    return text[: one.start()] + repr(rng.choice((0, -1, 10**9, 10**30, 2**31, 1e400, 0.0))) + text[one.end() :]


def _insert(rng: random.Random, text: str, _files: Sequence[Path]) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(HOSTILE_TEXT) * rng.choice((1, 1, 1, 3)) + text[at:]


def _insert_made(rng: random.Random, text: str, _files: Sequence[Path]) -> str:
    lines = text.split("\n")
    at = rng.randrange(len(lines) + 1)
    maker = _Maker(rng)
    indent = re.match(r"\s*", lines[at] if at < len(lines) else "")
    new = maker.text(maker.statement(2))
    lines[at:at] = [(indent[0] if indent else "") + line for line in new.split("\n")]
    return "\n".join(lines)


def _move_lines(rng: random.Random, text: str, _files: Sequence[Path]) -> str:
    lines = text.split("\n")
    start, count = rng.randrange(len(lines)), rng.randrange(1, 30)
    taken = lines[start : start + count]
    if rng.random() < 0.5:
        del lines[start : start + count]
    at = rng.randrange(len(lines) + 1)
    shift = rng.choice(("", "", "    ", "        "))
    lines[at:at] = [shift + line for line in taken] * rng.choice((1, 1, 2, 20))
    return "\n".join(lines)


def _splice(rng: random.Random, text: str, files: Sequence[Path]) -> str:
    other = _read(rng.choice(files))
    return text[: rng.randrange(len(text) + 1)] + other[rng.randrange(len(other) + 1) :][:60_000]


def _indent(rng: random.Random, text: str, _files: Sequence[Path]) -> str:
    lines = text.split("\n")
    start = rng.randrange(len(lines))
    head = rng.choice(
        ("if x:", "while x:", "for i in x:", "try:", "with x as y:", "class C(nn.Module):", "def f(self):")
    )
    depth = rng.choice((1, 1, 2, 30))
    body = lines[start : start + rng.randrange(1, 20)]
    base = re.match(r"\s*", body[0])
    margin = base[0] if base else ""
    nested = [margin + "    " * level + head for level in range(depth)]
    lines[start : start + len(body)] = [*nested, *("    " * depth + line for line in body)]
    return "\n".join(lines)


_MUTATIONS = (
    _drop,
    _repeat,
    _rename,
    _rename,
    _number,
    _insert,
    _insert_made,
    _insert_made,
    _move_lines,
    _splice,
    _indent,
)


# ---- the grammar -------------------------------------------------------------------------------------------------------


@cache
def _kinds(sort: str) -> tuple[type[ast.AST], ...]:
    """The kinds of node of one sort, such as `expr`, as the documentation of `ast` lists them (Python's own ASDL)."""
    text = getattr(ast, sort).__doc__ or ""
    found = [getattr(ast, name, None) for name in re.findall(r"[=|] (\w+)", text)]
    return tuple(kind for kind in found if isinstance(kind, type)) or (getattr(ast, sort),)


@cache
def _fields(kind: type[ast.AST]) -> tuple[tuple[str, str, str], ...]:
    """Sort, quantifier ("", "?" or "*") and name of each field of a node."""
    inside = (kind.__doc__ or "").partition("(")[2].rstrip(")")
    return tuple(re.findall(r"(\w+)([*?]?) (\w+)", inside))


_LEAVES = (ast.Name, ast.Constant)
_TARGETS = (ast.Name, ast.Attribute, ast.Subscript, ast.Tuple, ast.List)
_RARE = (ast.Await, ast.Yield, ast.YieldFrom, ast.AsyncFor, ast.AsyncWith, ast.AsyncFunctionDef, ast.Starred)


class _Maker:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def text(self, node: ast.AST) -> str:
        """Its source; where it cannot be written, or read back (but for one of fifty), another one's."""
        for attempt in range(20):
            text = self.written(node)
            if text is not None:
                return text
            depth = min(3 + attempt // 4, MAX_DEPTH)
            node = ast.Expr(self.expression(depth)) if isinstance(node, ast.Expr) else self.statement(depth)
        return "pass"

    def written(self, node: ast.AST) -> str | None:
        try:
            text = ast.unparse(ast.fix_missing_locations(node))
            if self.rng.random() >= 0.02:
                ast.parse(text)
        except (ValueError, TypeError, AttributeError, IndexError, KeyError, RecursionError, SyntaxError):
            return None
        return text

    def module_class(self) -> str:
        """A class of modules with a constructor."""
        name = self.rng.choice(("Net", "Block", "Model", "Head"))
        base = self.rng.choice(("nn.Module", "nn.Module", "nn.Sequential", "Block", "nn.ModuleList, Net", "object"))
        lines = [f"class {name}({base}):", f"    def __init__(self{self.rng.choice(('', ', n=3', ', *x, **y'))}):"]
        lines += ["        super().__init__()"] * self.rng.choice((0, 1, 1, 1, 2))
        for _ in range(self.rng.randrange(1, 9)):
            made = self.registration() if self.rng.random() < 0.5 else self.text(self.statement(2))
            lines += ["        " + line for line in made.split("\n")]
        lines += ["    def forward(self, x):"]
        for _ in range(self.rng.randrange(1, 4)):
            lines += ["        " + line for line in self.text(self.statement(3)).split("\n")]
        return "\n".join(lines) + "\n"

    def registration(self) -> str:
        """A statement that registers something, of a value from the grammar."""
        value = self.text(ast.Expr(self.expression(3)))
        layer = self.rng.choice(
            ("nn.Linear(8, 8)", "nn.Conv2d(3, n, 3)", "Block()", "nn.Sequential(*x)", f"nn.Linear({value})")
        )
        form = self.rng.choice(
            (
                *("self.{a} = {m}", "self.{a} = [{m} for _ in range({v})]", "self.add_module({v}, {m})"),
                *("self.{a} = nn.ModuleList([{m}] * ({v}))", "setattr(self, {v}, {m})", "self.{a} = {v}"),
                *("if {v}:\n    self.{a} = {m}", "for i in {v}:\n    self.{a}.append({m})", "self.{a} = {{{v}: {m}}}"),
                *("self.register_buffer({v}, torch.zeros({v}))", "self.{a} = nn.Parameter(torch.ones({v}))"),
                *("while {v}:\n    self.{a} = nn.Sequential(self.{a}, {m})", "self.{a} = {m} if {v} else {v}"),
            )
        )
        return form.format(a=self.rng.choice(ATTRIBUTES[2:14]), m=layer, v=value.replace("\n", " "))

    def statement(self, depth: int) -> ast.stmt:
        kinds = [kind for kind in _kinds("stmt") if kind not in _RARE or self.rng.random() < 0.1]
        if depth >= MAX_DEPTH:
            kinds = [ast.Pass, ast.Expr, ast.Assign, ast.Return]
        made: Any = self.node(self.rng.choice(kinds), depth)
        return made

    def expression(self, depth: int) -> ast.expr:
        kinds: Sequence[type[ast.AST]] = _kinds("expr")
        if depth >= MAX_DEPTH or self.rng.random() < 0.3:
            kinds = _LEAVES
        else:
            kinds = [kind for kind in kinds if kind not in (ast.Slice, ast.FormattedValue)]
            kinds = [kind for kind in kinds if kind not in _RARE or self.rng.random() < 0.1] + [
                ast.Call,
                ast.Attribute,
            ] * 3
        made: Any = self.node(self.rng.choice(kinds), depth)
        return made

    def node(self, kind: type[ast.AST], depth: int) -> ast.AST:
        """One node with everything it needs."""
        if kind is ast.Constant:
            return ast.Constant(self.rng.choice(CONSTANTS))
        if kind is ast.JoinedStr:
            values = [
                ast.Constant("a"),
                ast.FormattedValue(self.expression(depth + 2), self.rng.choice((-1, 114)), None),
            ]
            return ast.JoinedStr(self.rng.sample(values, 2))
        if kind is ast.arguments:
            return self.parameters(depth)
        given = {name: self.field(sort, many, name, depth) for sort, many, name in _fields(kind)}
        self.repair(kind, given, depth)
        return kind(**given)

    def field(self, sort: str, many: str, name: str, depth: int) -> Any:
        if many == "?" and self.rng.random() < 0.6:
            return None
        if many == "*":
            least = (
                1 if name in ("body", "targets", "names", "items", "values", "handlers", "generators", "cases") else 0
            )
            return [self.one(sort, name, depth) for _ in range(self.rng.randrange(least, least + 3))]
        return self.one(sort, name, depth)

    def one(self, sort: str, name: str, depth: int) -> Any:
        if sort == "expr_context":
            return ast.Load()
        if sort == "expr":
            if name in ("target", "targets", "optional_vars"):
                return self.target(depth)
            return self.expression(depth + 1)
        if sort == "stmt":
            return self.statement(depth + 1)
        if sort == "identifier":
            return self.rng.choice(ATTRIBUTES if name == "attr" else NAMES)
        if sort == "int":
            return 0
        if sort in ("string", "constant"):
            return None
        return self.node(self.rng.choice(_kinds(sort)), depth + 1)

    def target(self, depth: int) -> ast.expr:
        if depth >= MAX_DEPTH:
            return ast.Name(self.rng.choice(NAMES), ast.Store())
        made: Any = self.node(self.rng.choice(_TARGETS[: 3 if depth > 3 else 5]), depth + 1)
        if isinstance(made, (ast.Tuple, ast.List)):
            made.elts = [self.target(depth + 1) for _ in range(self.rng.randrange(1, 3))]
        return made

    def parameters(self, depth: int) -> ast.arguments:
        names = self.rng.sample(NAMES, 5)
        count = self.rng.randrange(3)
        defaults = [self.expression(depth + 2) for _ in range(self.rng.randrange(count + 1))]
        kinds = [ast.arg(name) for name in names]
        return ast.arguments(
            posonlyargs=[], args=kinds[:count], vararg=kinds[3] if self.rng.random() < 0.2 else None, kwonlyargs=[],
            kw_defaults=[], kwarg=kinds[4] if self.rng.random() < 0.2 else None, defaults=defaults,
        )  # fmt: skip

    def repair(self, kind: type[ast.AST], given: dict[str, Any], depth: int) -> None:
        """What the grammar alone does not say: lists of equal length, chains of at least two."""
        if kind is ast.Compare:
            given["comparators"] = [self.expression(depth + 1) for _ in given["ops"]] or [ast.Constant(1)]
            given["ops"] = given["ops"] or [ast.Eq()]
        elif kind is ast.Dict:
            given["values"] = [self.expression(depth + 1) for _ in given["keys"]]
        elif kind is ast.BoolOp and len(given["values"]) < 2:
            given["values"] = [self.expression(depth + 1), self.expression(depth + 1)]
        elif kind is ast.MatchMapping:
            given["patterns"] = [ast.MatchAs() for _ in given["keys"]]
        elif kind is ast.MatchClass:
            given["kwd_attrs"], given["kwd_patterns"] = [], []
        elif kind is ast.MatchSingleton:
            given["value"] = None
        elif kind is ast.Raise and given["exc"] is None:
            given["cause"] = None
        elif kind is ast.NamedExpr:
            given["target"] = ast.Name(self.rng.choice(NAMES), ast.Store())
        elif kind is ast.Constant:
            given["value"] = 1
