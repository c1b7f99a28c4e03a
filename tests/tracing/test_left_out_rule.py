"""What was left out is harmless where a rule allows all of it: what the rule has no word for is a doubt.

Python itself is asked: with the missing file there, the same script makes another configuration.
"""

from __future__ import annotations

import argparse
import ast
import copy
import csv
import datetime
import functools
import io
import json
import logging
import runpy
import sys
import textwrap
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from modgraph.graph.model import LeftOut
from modgraph.source.targets import parse_target

pytestmark = pytest.mark.needs_torch

ALL_NAMES = (
    "vars( )",
    "(dir)()",
    "pick()()",
    "eval('loc' + 'als()')",
    "b.globals()",
    "getattr(b, 'glo' + 'bals')()",
    "b.__dict__['glo' + 'bals']()",
    "importlib.import_module('built' + 'ins').globals()",
)
CHANGES = {
    "a method of its own object": """
        class Vocab:
            def __init__(self, path):
                self.path = path
                self.read()
            def read(self):
                CONFIG["hidden"] = len(open(self.path).read().split())
        vocab = Vocab("words.txt")
        """,
    "a method of a data set": """
        from torch.utils.data import Dataset
        class Words(Dataset):
            def __init__(self, path):
                self.items = self.values(path)
            def values(self, path):
                CONFIG.update(hidden=len(open(path).read().split()))
        words = Words("words.txt")
        """,
    "a property": """
        class Vocab:
            def __init__(self, path):
                self.words = open(path).read().split()
                self.n = self.copy
            @property
            def copy(self):
                CONFIG["hidden"] = len(self.words)
        vocab = Vocab("words.txt")
        """,
    "a descriptor": """
        class Field:
            def __get__(self, owner, kind):
                CONFIG["hidden"] = 12
        class A:
            field = Field()
            def __init__(self, path):
                self.words = open(path).read()
                self.other = self.field
        A("words.txt")
        """,
    "a descriptor that is told its name": """
        class Field:
            def __init__(self, n):
                self.n = n
            def __set_name__(self, owner, name):
                CONFIG["hidden"] = self.n
        class Options:
            hidden = Field(len(open("words.txt").read().split()))
        """,
    "another self": """
        class Cfg:
            hidden = 8
        class A:
            def __init__(self, path):
                self.words = open(path).read()
                for self in [Cfg]:
                    self.hidden = 12
        A("words.txt")
        CONFIG = {"hidden": Cfg.hidden}
        """,
    "lists that are added": """
        BIG = {"hidden": 16}
        for each in [CONFIG] + [BIG]:
            each["hidden"] = len(open("words.txt").read().split())
        """,
    "tuples that are added": """
        def targets():
            return (CONFIG,) + ()
        for each in targets():
            each.update(hidden=len(open("words.txt").read().split()))
        """,
    "a function that sorts": """
        def fill(each):
            each["hidden"] = len(open("words.txt").read().split())
            return each["hidden"]
        order = sorted([CONFIG, {}], key=fill)
        """,
    "the cause of an error": """
        def note():
            CONFIG["hidden"] = 12
        try:
            open("words.txt").read()
            raise ValueError("x") from note()
        except ValueError:
            pass
        """,
    "an error that is made": """
        class Stop(Exception):
            def __init__(self):
                CONFIG["hidden"] = 12
        try:
            open("words.txt").read()
            raise Stop
        except Stop:
            pass
        """,
    "an error that is shown": """
        class Stop(Exception):
            def __str__(self):
                CONFIG["hidden"] = 12
                return ""
        def stop():
            try:
                open("words.txt")
                raise Stop()
            except Exception as error:
                print(error)
        stop()
        """,
    "which error is handled": """
        def kinds():
            CONFIG["hidden"] = 12
            return ValueError
        try:
            open("words.txt").read()
            raise ValueError
        except kinds():
            pass
        """,
    "a default of a lambda": """
        def fill(text):
            CONFIG["hidden"] = 12
        f = lambda x=fill(open("words.txt").read()): 0
        """,
    "a wrapper by the name of Python's": """
        def property(f):
            CONFIG["hidden"] = 12
        class A:
            n = len(open("words.txt").read())
            @property
            def x(self):
                pass
        """,
    "a kind that is noted": """
        class Kind:
            def __class_getitem__(cls, item):
                CONFIG["hidden"] = 12
        def f(n: Kind[int] = open("words.txt").read()):
            pass
        """,
    "kinds that are noted": """
        class Kind:
            def __or__(self, other):
                CONFIG["hidden"] = 12
        KIND = Kind()
        def f(n: KIND | None = open("words.txt").read()):
            pass
        """,
    "a name of a class that its comprehension does not see": """
        class A:
            CONFIG = {}
            y = [CONFIG.update(hidden=12) for _ in open("words.txt").read().split()]
        """,
    "a name that a class may bind": """
        words = open("words.txt").read().split()
        class A:
            if len(words) == 3:
                CONFIG = {}
            CONFIG["hidden"] = len(words)
        """,
    "a mapping that is unpacked": """
        class D:
            def keys(self):
                CONFIG["hidden"] = 12
                return []
        OBJECT = D()
        x = {**OBJECT, "w": open("words.txt").read()}
        """,
    "a class that all paths have": """
        words = open("words.txt").read().split()
        path = Path("x")
        path.__class__.hidden_of_test = 12
        CONFIG = {"hidden": getattr(Path(""), "hidden_of_test", 8)}
        """,
    "a class that all parsers have": """
        words = open("words.txt").read().split()
        parser = argparse.ArgumentParser()
        parser.formatter_class.hidden_of_test = len(words)
        CONFIG = {"hidden": getattr(argparse.HelpFormatter, "hidden_of_test", 8)}
        """,
    "a path that is moved": """
        Path("words.txt").replace("moved.txt")
        CONFIG = {"hidden": 12 if Path("moved.txt").exists() else 8}
        """,
    "a log that all have": """
        logging.getLogger("m_of_test").hidden = len(open("words.txt").read().split())
        CONFIG = {"hidden": getattr(logging.getLogger("m_of_test"), "hidden", 8)}
        """,
    "what is done with a log": """
        words = open("words.txt").read().split()
        logging.getLogger("n_of_test").filters.append(3)
        CONFIG = {"hidden": 8 + len(logging.getLogger("n_of_test").filters)}
        """,
    "a data set of another making": """
        from torch.utils.data import Dataset
        Dataset.__setattr__ = lambda self, name, value: CONFIG.update(hidden=12)
        class Words(Dataset):
            def __init__(self, path):
                self.words = open(path).read()
        Words("words.txt")
        """,
    "paths of another making": """
        Path.exists = lambda self: CONFIG.update(hidden=12)
        words = open("words.txt").read()
        print(Path("x").exists(), len(words))
        """,
    "a log of another making": """
        logging.Logger.info = lambda *_: CONFIG.update(hidden=12)
        words = open("words.txt").read()
        logging.getLogger("m_of_test").info("x")
        """,
    "a reader of another making": """
        import json.decoder
        json.JSONDecoder.decode = lambda self, text: CONFIG.update(hidden=12)
        words = open("words.txt").read()
        json.loads("1")
        """,
    "what is printed": """
        class Screen:
            def write(self, text):
                CONFIG["hidden"] = 12
            def flush(self):
                pass
        sys.stdout = Screen()
        words = open("words.txt").read().split()
        print("x")
        """,
    "who is asked for a module": """
        class Finder:
            def find_spec(self, name, path=None, target=None):
                if name == "wave":
                    CONFIG["hidden"] = 12
        sys.meta_path.insert(0, Finder())
        words = open("words.txt").read().split()
        def begin():
            import wave
        begin()
        """,
    "a module that is imported earlier": """
        import cfg
        def begin():
            open("words.txt").read()
            import patch
        begin()
        CONFIG = {"hidden": cfg.N}
        import patch
        """,
    "a module that is asked for a name": """
        import asked
        words = open("words.txt").read().split()
        try:
            asked.nope
        except AttributeError:
            pass
        CONFIG = {"hidden": asked.D["hidden"]}
        """,
    "what is computed later": """
        words = open("words.txt").read().split()
        d = dict()
        def rows():
            d.update(hidden=12)
            yield 1
        r = rows()
        d = CONFIG
        list(r)
        """,
    "a name that a module looks for where it is first imported": """
        from alias import VOCAB, N
        CONFIG = {"hidden": N}
        """,
    "a name that a module asks itself for": """
        from itself import VOCAB
        from itself import N
        CONFIG = {"hidden": N}
        """,
    "names that a module asks itself for": """
        from names import *
        CONFIG = {"hidden": N}
        """,
    "a name that a function looks for before it fails": """
        import swallow
        from swallow import LATE
        CONFIG = {"hidden": swallow.SIZE[0]}
        """,
    **{
        f"all names by {each}": f"import all_{number}\nCONFIG = {{'hidden': all_{number}.N}}"
        for number, each in enumerate(ALL_NAMES)
    },
}
HEAD = """
import argparse, logging, sys
from pathlib import Path

CONFIG = {"hidden": 8}
"""
VOCAB = 'VOCAB = open("words.txt").read().split()\n'
OTHERS = {
    "cfg": "N = 8\n",
    "patch": "import cfg\ncfg.N = 12\n",
    "asked": "D = {'hidden': 8}\ndef __getattr__(name):\n    D['hidden'] = 12\n    raise AttributeError(name)\n",
    "alias": VOCAB + "try:\n    N = len(VOCAB)\nexcept NameError:\n    N = 8\n",
    "itself": "import sys\n" + VOCAB + "N = len(getattr(sys.modules[__name__], 'VOCAB', ())) or 8\n",
    "names": VOCAB + "N = len(globals().get('VOCAB', ())) or 8\n",
    "swallow": VOCAB + "SIZE = [8]\ndef look():\n    try:\n        SIZE[0] = len(VOCAB)\n    except NameError:\n"
    "        SIZE[0] = 9\n    return VOCAB\nLATE = look()\n",
    **{
        f"all_{number}": f"import importlib\nimport builtins as b\n{VOCAB}def pick():\n    return vars\n"
        f"N = 12 if 'VOCAB' in {each} else 8\n"
        for number, each in enumerate(ALL_NAMES)
    },
}
HARMLESS = {
    "a vocabulary": """
        class Vocab:
            def __init__(self, path):
                self.numbers = {}
                self.size = 0
                self.load(path)
            def load(self, path):
                for line in open(path, encoding="utf-8"):
                    self.numbers[line.strip()] = len(self.numbers)
                    self.size += 1
        vocab = Vocab("words.txt")
        """,
    "a data set": """
        from torch.utils.data import Dataset
        class Words(Dataset):
            def __init__(self, path, n=3):
                self.path = path
                self.items = self.read()[:n]
            def read(self):
                with open(self.path) as file:
                    return [line.replace("\\n", "").split(",") for line in file]
        words = Words("words.txt")
        """,
    "options": """
        parser = argparse.ArgumentParser(description="x")
        parser.add_argument("data")
        parser.add_argument("--lr", type=float, default=1e-3)
        args = parser.parse_args()
        print(args.data, args.lr, Path(args.data).parent / "out")
        """,
    "a log": """
        import logging
        logger = logging.getLogger(__name__)
        words = open("words.txt").read()
        logger.info("n %d", len(words))
        """,
    "weights": """
        import torch
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        state = torch.load("words.pt", map_location=device, weights_only=True)
        print(state["epoch"])
        """,
    "kinds that are noted": """
        from typing import Optional, List
        def f(x: Optional[int], y: "str" = open("words.txt").read(), *a: int | None) -> List[int]:
            pass
        """,
    "a class": """
        class Options:
            words = open("words.txt").read().split()
            size = len(words)
            def n(self) -> int:
                return 3
            @property
            def m(self):
                return 2
        """,
    "Python's own functions": """
        import builtins
        words = open("words.txt").read()
        builtins.print(len(words))
        """,
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    before = set(sys.modules)
    sys.modules.pop("wave", None)
    for name in ("path", "meta_path", "argv"):
        monkeypatch.setattr(sys, name, list(getattr(sys, name)) if name != "argv" else ["x"])
    monkeypatch.setattr(sys, "stdout", sys.stdout)
    for kind, name in ((Path, "exists"), (logging.Logger, "info"), (json.JSONDecoder, "decode")):
        monkeypatch.setattr(kind, name, getattr(kind, name))
    monkeypatch.chdir(tmp_path)
    for name, text in OTHERS.items():
        (tmp_path / f"{name}.py").write_text(text)
    yield tmp_path
    forget(set(sys.modules) - before, tmp_path)
    for kind in (Path, type(Path()), argparse.HelpFormatter):
        if "hidden_of_test" in vars(kind):
            del kind.hidden_of_test  # type: ignore[union-attr]
    data = sys.modules.get("torch.utils.data")
    if data is not None and "__setattr__" in vars(data.Dataset):
        del data.Dataset.__setattr__
    for name in ("m_of_test", "n_of_test"):
        logging.root.manager.loggerDict.pop(name, None)


def forget(names: set[str], folder: Path) -> None:
    for name in names:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(folder)):
            del sys.modules[name]


def imported(folder: Path, name: str, text: str) -> tuple[Any, list[str], Any]:
    from modgraph.tracing.loading.importing import import_target
    from modgraph.tracing.loading.left_out import LeftOutCode

    file = folder / f"{name}.py"
    file.write_text(HEAD + textwrap.dedent(text) + "\n\nclass Net:\n    config = CONFIG\n")
    target = parse_target(f"{file}:Net")
    sys.path.insert(0, str(folder))
    with LeftOutCode(target) as code:
        module = import_target(target, code)
    return module, [doubt.message for doubt in code.doubts()], code


@pytest.mark.parametrize("case", CHANGES)
def test_what_python_says_is_another_model_is_a_doubt(project: Path, case: str):
    name = f"rule_{list(CHANGES).index(case)}"
    before = set(sys.modules)
    module, doubts, code = imported(project, name, CHANGES[case])
    assert doubts, code.told()
    said = dict(module.CONFIG)
    forget(set(sys.modules) - before, project)
    (project / "words.txt").write_text("a b c d e f g h i j k l")
    assert runpy.run_path(str(project / f"{name}.py"))["CONFIG"] != said


@pytest.mark.parametrize("case", HARMLESS)
def test_what_scripts_ordinarily_do_may_be_left_out(project: Path, case: str):
    module, doubts, code = imported(project, f"plain_{list(HARMLESS).index(case)}", HARMLESS[case])
    assert doubts == []
    assert code.told()
    assert module.CONFIG == {"hidden": 8}


# Which parts of Python are read.

SAMPLES = """
print(1)
x = y = 1
x: int = 1
x: list[int] | None = 1
x: tuple[int, str] = 1
x += 1
[{}][0][0] = 1
if 1: print(1)
else: print(2)
while 1: print(1)
else: print(2)
for x in []: break
else: print(2)
for x in []: continue
with open("a") as x: pass
try: print(1)
except ValueError as e: print(e)
else: print(2)
finally: print(3)
raise ValueError from None
assert 1, 2
def f(a: int, /, b: int = 1, *c: int, d: int = 2, **e: int) -> int: pass
async def f(a: int = 1) -> int: pass
class A(object): x = 1
print([1][0:1:1], (1, 2), [1, *[2]], {1}, {1: 2, **{}}, f"{1!r:{2}}")
print(1 and 2, -1, 1 + 2, 1 < 2, 1 if 2 else 3, sep="")
print(1 is 2)
print([x for x in [] if 1], {x for x in []}, (x for x in []), {x: 1 for x in []})
z2 = lambda a=1, *, b=2: 0
z = "a".strip
import os
from os import path
"""
NOT_RUN = {("FunctionDef", "body"), ("AsyncFunctionDef", "body"), ("Lambda", "body")}
HOLDS_NONE = {
    *(("Break", ""), ("arg", "arg"), ("Yield", "value"), ("Return", "value")),
    *(("Constant", "value"), ("alias", "name"), ("keyword", "arg"), ("ExceptHandler", "name"), ("Attribute", "attr")),
}
"""Fields without an expression, or that stand in functions alone (which the programs above do)."""
PLAIN = [
    "id",
    "name",
    "ctx",
    "op",
    "ops",
    "type_comment",
    "simple",
    "module",
    "names",
    "level",
    "kind",
    "conversion",
    "attr",
    "asname",
    "decorator_list",
    "posonlyargs",
    "args",
    "vararg",
    "kwonlyargs",
    "kwarg",
    "items",
    "handlers",
    "generators",
    "keywords",
    "returns",
]


@functools.cache
def patches() -> Any:
    from modgraph.tracing.loading.patched import Patches

    return Patches()


def reasons(*statements: ast.stmt) -> list[str | None]:
    from modgraph.tracing.loading.project_texts import Texts
    from modgraph.tracing.loading.side_effects import SideEffects

    return [*SideEffects({"harm": compile}, Texts(), patches()).of(statements)]


def changed_everywhere() -> Iterator[tuple[str, str, ast.stmt]]:
    """The samples, in each one of their expressions and statements a call of what is not known."""
    for sample in ast.parse(SAMPLES).body:
        places = [
            (at, field, index)
            for at, node in enumerate(ast.walk(sample))
            for field, value in ast.iter_fields(node)
            for index, one in enumerate(value if isinstance(value, list) else [value])
            if isinstance(one, ast.expr | ast.stmt)
        ]
        for at, field, index in places:
            statement = copy.deepcopy(sample)
            node = list(ast.walk(statement))[at]
            held = getattr(node, field)
            before = held[index] if isinstance(held, list) else held
            harm: ast.AST = ast.parse("harm()").body[0].value  # type: ignore[attr-defined]
            if isinstance(before, ast.stmt):
                harm = ast.Expr(harm)  # type: ignore[arg-type]
            elif isinstance(getattr(before, "ctx", None), ast.Store):
                harm = ast.Subscript(harm, ast.Constant(0), ast.Store())  # type: ignore[arg-type]
            if isinstance(held, list):
                held[index] = harm
            else:
                setattr(node, field, harm)
            yield type(node).__name__, field, statement


def test_each_part_of_each_statement_is_read():
    from modgraph.tracing.loading.known_syntax import READ_FIELDS

    assert reasons(*ast.parse(SAMPLES).body) == [None] * len(ast.parse(SAMPLES).body)
    seen = set()
    for kind, field, statement in changed_everywhere():
        seen.add((kind, field))
        assert (reasons(statement) == [None]) is ((kind, field) in NOT_RUN), ast.unparse(
            ast.fix_missing_locations(statement)
        )
    for kind, fields in READ_FIELDS.items():
        for field in fields:
            place = (kind.__name__, field)
            assert place in seen | HOLDS_NONE or field in PLAIN, place


def test_what_the_rule_has_no_word_for_is_a_doubt():
    from modgraph.tracing.loading.known_syntax import READ_FIELDS, unread_part

    groups = (ast.stmt, ast.expr, ast.comprehension, ast.ExceptHandler, ast.arguments, ast.arg, ast.keyword, ast.alias)
    kinds = [each for each in vars(ast).values() if isinstance(each, type) and issubclass(each, groups)]
    kinds = [
        each
        for each in kinds
        if type(each()) is each and each.__module__ in ("ast", "_ast") and each not in groups[:2] and each._fields
    ]
    for kind in kinds:
        if kind not in READ_FIELDS:
            assert unread_part(kind()) == kind.__name__
            continue
        assert set(READ_FIELDS[kind]) <= set(kind._fields)
        for field in set(kind._fields) - set(READ_FIELDS[kind]):
            node = kind()
            setattr(node, field, 1)
            assert unread_part(node) == f"{kind.__name__}.{field}"


UNREAD = [
    "del x",
    "match 1:\n    case _: pass",
    "print(x := 1)",
    "async def f():\n    pass\nprint([x async for x in f()])",
    "class A(metaclass=type): pass",
    "def f():\n    pass\n@staticmethod\ndef g(): pass",
    "for x.y in []: pass",
    "{}.x += 1",
    "x.y: int",
]


@pytest.mark.parametrize("text", UNREAD)
def test_what_stands_there_and_is_not_read_is_a_doubt(text: str):
    assert reasons(*ast.parse(text).body)[-1] is not None


def known_values(folder: Path) -> Iterator[Any]:
    import torch

    (folder / "a.txt").write_text("a,b\n1,2\n")
    parser = argparse.ArgumentParser()
    yield from ("", b"", 1, 1.0, True, None, (), [], {}, set(), range(2), 1j, Path("a"), parser)
    yield from (parser.add_argument_group(), argparse.Namespace(lr=1), torch.device("cpu"), torch.float32)
    yield from (torch.no_grad(), datetime.datetime.now(), ValueError(1), StopIteration(ValueError), OSError(1, "a"))
    yield from (AttributeError("a", name="a", obj=sys), csv.reader([]), csv.DictReader(["a,b"]), io.StringIO())
    with open(folder / "a.txt") as file:
        yield file


def test_an_attribute_that_is_read_is_nothing_that_others_have_and_could_be_changed(tmp_path: Path):
    from modgraph.tracing.loading.pure_calls import shows

    for value in known_values(tmp_path):
        for name in {*dir(value), *getattr(value, "__dict__", ())}:
            if shows(name):
                found = getattr(value, name, None)
                shared = (types.ModuleType, type, types.FunctionType, types.MethodType, logging.Logger)
                assert not isinstance(found, shared), (value, name)


PURE_OF_PATHS = {
    *("absolute", "resolve", "expanduser", "exists", "is_file", "is_dir", "read_text", "read_bytes", "joinpath"),
    *("relative_to", "with_suffix", "iterdir", "glob"),
}


@pytest.mark.parametrize("text", ["p.{0}()", "p.{0}('b')"])
def test_of_a_path_only_what_reads_is_called(text: str):
    called = {
        name
        for name in dir(Path)
        if not name.startswith("_")
        and reasons(*ast.parse(f"from pathlib import Path\np = Path('a')\n{text.format(name)}").body)[-1] is None
    }
    assert called <= PURE_OF_PATHS
    assert "exists" in called


def test_that_many_statements_fail_takes_no_time_for_each_pair_of_them(project: Path, monkeypatch: pytest.MonkeyPatch):
    compared = []
    same = LeftOut.__eq__
    monkeypatch.setattr(LeftOut, "__eq__", lambda one, other: bool(compared.append(1)) or same(one, other))
    _, _, code = imported(project, "many", "\n".join(f"a{number} = 1 / 0" for number in range(200)))
    assert len(code.told()) == 100
    assert len(compared) <= 200
