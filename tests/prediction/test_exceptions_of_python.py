"""What Python raises for arguments that are known is caught by each class that it has, whatever module that is of: Python
itself is the judge."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import pytest

PRELUDE = """
import argparse, ast, base64, binascii, bisect, codecs, collections, configparser, contextvars, copy, csv, dataclasses
import datetime, decimal, enum, fractions, functools, graphlib, hashlib, heapq, importlib, importlib.metadata, inspect
import ipaddress, itertools, json, locale, math, operator, os, pathlib, pickle, random, re, shlex, statistics, string
import struct, textwrap, time, types, urllib.parse, uuid, weakref, zlib

@dataclasses.dataclass
class Plain:
    x: int

@dataclasses.dataclass(frozen=True)
class Frozen:
    x: int

class Colour(enum.Enum):
    RED = 1
"""
REFUSED = r"""
json.loads("{")
json.loads("1 2")
re.compile("(")
re.match("(", "a")
re.sub("(", "a", "b")
re.findall("[", "a")
re.compile("*").match("a")
re.escape(3)
binascii.unhexlify("a")
base64.b64decode("a")
struct.unpack("i", b"a")
struct.pack("b", 300)
zlib.decompress(b"a")
decimal.Decimal("x")
fractions.Fraction(1, 0)
fractions.Fraction("x")
ipaddress.ip_address("x")
uuid.UUID("x")
datetime.date(2000, 13, 1)
datetime.datetime.fromisoformat("x")
time.strptime("x", "%Y")
statistics.mean([])
configparser.ConfigParser().get("a", "b")
pickle.loads(b"x")
csv.reader(["a"], dialect="nope")
hashlib.new("nope")
graphlib.TopologicalSorter({1: [2], 2: [1]}).prepare()
collections.deque([]).pop()
copy.copy(1).nope
dataclasses.replace(Plain(1), y=2)
setattr(Frozen(1), "x", 2)
Colour("z")
"a".encode("nope")
"é".encode("ascii")
b"\xff".decode("utf-8")
bytes([300])
bytes.fromhex("zz")
codecs.lookup("nope")
string.Template("$x").substitute()
string.Formatter().format("{}")
"{}{x}".format(1)
"%d" % "a"
format(3, "zz")
textwrap.fill("a", width=0)
shlex.split("'")
urllib.parse.urlparse("http://[")
ast.literal_eval("{")
ast.literal_eval("f()")
eval("1 +")
compile("(", "a", "exec")
operator.index("a")
itertools.islice([], -1)
math.sqrt(-1)
int("x")
chr(-1)
divmod(1, 0)
1 << -1
range(1, 2, 0)
"abc".index("z")
float.fromhex("z")
int.from_bytes(b"a", "huh")
contextvars.ContextVar("a").get()
importlib.import_module("nothing_of_that_name")
importlib.metadata.version("nothing_of_that_name")
os.environ["NOTHING_OF_THAT_NAME"]
locale.atoi("x")
bisect.bisect([1, "a"], 3)
heapq.heappop([])
random.choice([])
random.sample([1], 3)
functools.reduce(max, [])
inspect.signature(3)
weakref.ref(3)
pathlib.Path("a").relative_to("b")
types.SimpleNamespace().x
next(iter([]))
{}.popitem()
""".strip().splitlines()

PROGRAM = """
{prelude}
{imports}
try:
    {call}
    RESULT = "no exception"
except {other}:
    RESULT = "another exception"
except {base}:
    RESULT = "caught"
"""


def classes_of(call: str) -> list[type[BaseException]]:
    """What Python raises for it, and what that is derived from."""
    namespace: dict[str, Any] = {}
    exec(PRELUDE, namespace)
    try:
        exec(call, namespace)
    except Exception as error:
        return [cls for cls in type(error).__mro__ if cls not in (object, BaseException)]
    pytest.fail(f"Python runs {call}")


@pytest.mark.parametrize("call", REFUSED)
def test_it_is_caught_by_each_of_its_classes(evaluated: Callable[[str], Any], call: str) -> None:
    raised = classes_of(call)
    other = "ArithmeticError" if issubclass(raised[0], LookupError) else "KeyError"
    for base in raised:
        home = "" if base.__module__ == "builtins" else f"{base.__module__}."
        imports = f"import {base.__module__}" if home else ""
        text = PROGRAM.format(
            prelude=PRELUDE, imports=imports, call=call, other=other, base=f"{home}{base.__qualname__}"
        )
        assert evaluated(text) in ("caught", evaluated.UNKNOWN), base  # type: ignore[attr-defined]


FOLLOWED = {
    "json.loads('{')": "ValueError",
    "re.compile('(')": "Exception",
    "re.match('(', 'a')": "Exception",
    "setattr(Frozen(1), 'x', 2)": "AttributeError",
    "random.choice([])": "LookupError",
    "weakref.ref(3)": "TypeError",
}


@pytest.mark.parametrize("call", FOLLOWED)
def test_and_that_is_certain(evaluated: Callable[[str], Any], call: str) -> None:
    text = PROGRAM.format(prelude=PRELUDE, imports="", call=call, other="KeyError", base=FOLLOWED[call])
    assert evaluated(text) == "caught"


def test_a_library_that_is_asked_raises_its_own_classes(evaluated: Callable[[str], Any]) -> None:
    pytest.importorskip("yaml")
    for base in ("yaml.YAMLError", "yaml.error.MarkedYAMLError", "Exception"):
        text = PROGRAM.format(
            prelude="", imports="import yaml", call='yaml.safe_load("[")', other="ValueError", base=base
        )
        assert evaluated(text) == "caught", base


def test_toml_is_refused_with_its_own_class(evaluated: Callable[[str], Any]) -> None:
    pytest.importorskip("tomllib")
    for base in ("ValueError", "Exception"):
        text = PROGRAM.format(
            prelude="", imports="import tomllib", call='tomllib.loads("a = ")', other="KeyError", base=base
        )
        assert evaluated(text) == "caught", base


def test_a_model_is_built_behind_it(agrees: Callable[[str], Any]) -> None:
    agrees(
        """
        import json
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                try:
                    n = json.loads("{")["n"]
                except ValueError:
                    n = 5
                self.fc = nn.Linear(n, 1)
        """
    )


BUILT_IN = {
    name: cls
    for name, cls in vars(builtins).items()
    if isinstance(cls, type) and issubclass(cls, Exception) and name == cls.__name__ and not name.endswith("Group")
}
GIVEN = {
    "UnicodeDecodeError": "'a', b'a', 0, 1, 'why'",
    "UnicodeEncodeError": "'a', 'a', 0, 1, 'why'",
    "UnicodeTranslateError": "'a', 0, 1, 'why'",
}


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_one_is_caught_by_its_classes_and_no_other(evaluated: Callable[[str], Any], name: str) -> None:
    """All are tried by one program: each class takes it, or lets it through."""
    lines = [
        f"try:\n    try:\n        raise {name}({GIVEN.get(name, '')})\n    except {other}:\n        RESULT.append(True)\n"
        f"except BaseException:\n    RESULT.append(False)\n"
        for other in BUILT_IN
    ]
    assert evaluated("RESULT = []\n" + "".join(lines)) == [issubclass(BUILT_IN[name], cls) for cls in BUILT_IN.values()]
