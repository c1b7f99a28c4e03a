"""What Python computes for real on constants of the source is bounded before it is begun, and reaches nothing of ours."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import modgraph
from modgraph.prediction.domain.limits import (
    MAX_LOOP_ITERATIONS,
    MAX_MADE_ITEMS,
    MAX_MATCHING_STEPS,
    MAX_VALUE_SIZE,
    LimitError,
)
from modgraph.prediction.domain.objects import InstanceObject, ListObject
from modgraph.prediction.domain.values import Address, Constant, TupleValue, Unknown, Value
from modgraph.prediction.entry import interpreter, with_deep_stack
from modgraph.prediction.python.bounds import too_long_to_match, too_much, work
from modgraph.prediction.python.matching_steps import matching_steps
from modgraph.prediction.python.plain import plain

HEAD = """
import ast, base64, bisect, collections, configparser, copy, datetime, decimal, fractions, functools, getpass, glob
import heapq, importlib, inspect, io, itertools, json, locale, math, operator, os, pathlib, pickle, platform, random, re
import shlex, socket, statistics, string, struct, subprocess, sys, textwrap, time, tomllib, unicodedata, uuid, yaml, zlib
import numpy as np
import torch
from torch import nn
"""


def value_of(folder: Path, expression: str) -> tuple[Any, Value]:
    """The interpreter and what the expression is, as the value of a module's name."""
    (folder / "constants_of_source.py").write_text(f"{HEAD}\nX = {expression}\n", encoding="utf-8")
    machine = interpreter([str(folder), *sys.path])
    return machine, with_deep_stack(lambda: machine.resolve("constants_of_source.X"))


HUGE = [
    '"a" * 10**12', "10**10**9", "1 << 10**12", "(1 << 99000) << 99000", 'format(1, "1000000000")',
    '"%999999999d" % 1', '"%*d" % (999999999, 1)', '"%.*f" % (999999999, 1.0)', '"%(a)999999999d" % {"a": 1}',
    '"%(a)*d" % {"a": 999999999}', 'f"{1:>999999999}"', 'f"{1:{10**9}}"', 'f"{1:.{10**9}f}"', 'int("9" * 5000)',
    "str(10**5000)", "repr(10**5000)", 'f"{10**5000}"', '"%d" % 10**5000', '"{}".format(10**5000)', "str([10**5000])",
    "round(1, -10**9)", "round(5, -10**10)", "bytes(10**11)", "bytearray(10**11)", 'b"a" * 10**11', "tuple(range(10**12))",
    "sum(range(10**12))", "max(range(10**12))", "range(10**12).index(5)", "1.5 in range(10**12)", '"a" in range(10**12)',
    "math.factorial(10**7)", "math.factorial(99999)", "math.comb(10**7, 5 * 10**6)", "math.comb(99999, 50000)",
    "math.perm(99999, 50000)", "math.prod(range(1, 10**6))", "math.prod([10**3000] * 10000)", "math.lcm(*range(1, 20000))",
    "pow(3, 10**9)", "pow(3, 10**9, 10**20000 + 1)", "operator.pow(3, 10**9)", 'operator.mul("a", 10**12)',
    '"a".zfill(10**12)', '"a".center(10**12)', '"a".ljust(10**12)', r'"\t".expandtabs(10**12)',
    r'("\t" * 99999).expandtabs(99999)', r'("\t" * 99999).expandtabs(tabsize=99999)', '("a" * 99999).replace("a", "b" * 99999)',
    '("a" * 99999).replace("", "b" * 99999)', '("a" * 99999).join(["b"] * 99999)', '"".join(["a" * 99999] * 99999)',
    '("a" * 99999).translate({97: "b" * 99999})', r'textwrap.indent("a\n" * 50000, "b" * 99999)',
    r'textwrap.indent("a\n" * 500, prefix="b" * 99999)', '''shlex.join(["'" * 9999] * 9999)''', '"{0:{1}}".format(1, 10**9)',
    '"{:>{w}}".format("a", w="999999999")', '"{a:{b}}".format(a=1, b=10**9)', '("{0}" * 30000).format("a" * 99999)',
    '("%s" * 50000) % (("a" * 99999,) * 50000)', '",".join(itertools.repeat("abc", 10**9))', "(0,) * 10**12",
    're.sub("a", "b" * 99999, "a" * 9999)', r're.sub("(.*)", r"\g<0>" * 1000, "a" * 20000)',
    "functools.reduce(operator.pow, [9] * 8)", "sum([10**3000] * 10**9)", 'hash("abc")',
    'eval("1" + "+1" * 4900)', 'eval("x**" * 3000 + "x")', 'eval("a" + "[0]" * 3000)', '''eval("'a' * 10**12")''',
    'eval("[" * 20000)', 'tomllib.loads(".".join("a" * 9000) + "=1")',
    'tomllib.loads("a=" + "9" * 5000)', 'json.loads("[" * 99999)', 'json.loads("9" * 5000)', 'ast.literal_eval("[" * 99999)',
    'yaml.safe_load("a0: &a0 {x: 1}" + "".join(chr(10) + f"a{i}: &a{i} {{<<: [" + ",".join([f"*a{i-1}"] * 9) + "]}" for i in '
    "range(1, 12)))",
    """yaml.unsafe_load("!!python/object/apply:os.system ['false']")""", 'yaml.safe_load("[" * 900)',
    'str(["a" * 99999] * 9000)', 'repr(("a" * 99999,) * 9000)', '("{}" * 9000).format(*[["a" * 99999]] * 9000)',
    '"%s" % (["a" * 99999] * 9000)', 'f"{["a" * 99999] * 9000}"'.replace('["a"', "['a'"),
    "np.repeat([1], 10**12)", "np.power(10, 10**9)", "np.power([10] * 1000, 10**9)", "np.cumprod([10**3000] * 3000)",
    "np.prod([10**3000] * 30000)", "np.prod([2] * 90)", "np.round(5, -10**9)", "np.round([5], -10**9)", "np.arange(10**12)",
    "np.linspace(0, 1, 10**12)", "torch.arange(10**9).tolist()[5]", "torch.pow(torch.tensor(10), 10**9).item()",
    "torch.tensor(range(10**12)).shape", "torch.zeros(range(10**12)).shape", "torch.zeros(10**5000).shape[0]",
    "torch.zeros([10**9] * 1000).numel()", "list(torch.zeros(10**9))[3]",
    "struct.calcsize('999999999s')", 'decimal.Decimal(10) ** 10**9', "fractions.Fraction(1, 3) ** 10**9",
]  # fmt: skip


@pytest.mark.parametrize("expression", HUGE)
def test_what_would_be_too_large_or_take_too_long_is_unknown(tmp_path: Path, expression: str) -> None:
    try:
        _, found = value_of(tmp_path, expression)
    except LimitError:  # where a prediction begins, this becomes an unknown
        return
    assert isinstance(found, Unknown), found
    assert "MemoryError" not in found.reason
    assert "internal error" not in found.reason or "literal_eval" in expression


OPEN = ["list(range(10**12))", "sorted(range(10**12))", "[*range(10**12)]", "list(itertools.repeat(1))",
        'list(itertools.product("ab", repeat=10**9))', 'list(itertools.product(*["ab"] * 50000))',
        "list(itertools.permutations(range(20)))", "list(itertools.count())", "[i for i in range(10**12)]",
        "list(itertools.repeat(1, 10**9))", "[0] * 99999 + [0] * 99999", "list(os.environ)"]  # fmt: skip


@pytest.mark.parametrize("expression", OPEN)
def test_a_list_that_would_be_too_long_is_open(tmp_path: Path, expression: str) -> None:
    machine, found = value_of(tmp_path, expression)
    machine.renew()  # the value alone is looked at, whatever it has cost
    listed = machine.state.find(found, ListObject)
    assert listed is not None
    assert listed.open is not None
    assert len(listed.items) <= MAX_VALUE_SIZE


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("str.expandtabs", ("\t" * 1000, 1000)),
        ("textwrap.indent", ("a\n" * 1000, "b" * 1000)),
        ("shlex.join", (["'" * 30_000],)),
        ("round", (7, -MAX_VALUE_SIZE)),
        ("math.factorial", (20_000,)),
        ("math.comb", (50_000, 20_000)),
        ("math.perm", (50_000, 20_000)),
        ("math.perm", (20_000,)),
        ("re.sub", ("a", r"\1" * 100, "a" * 1000)),
    ],
)
def test_the_size_of_a_result_is_told_before_it_is_made(name: str, given: tuple[Any, ...]) -> None:
    assert too_much(name, given) is not None


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("YAML", ("- a\n" * 20_000,)),
        ("JSON", ("[" + "0," * 40_000 + "0]",)),
        ("TOML", ("a=1\n" * 20_000,)),
        ("textwrap.dedent", (" a\n" * 30_000,)),
        ("shlex.split", ("a " * 40_000,)),
        ("math.factorial", (7000,)),
        ("str.count", ("a" * 99_999, "b" * 50_000)),
        ("pow", (3, 10**9, 10**20_000)),
    ],
)
def test_work_on_constants_is_counted_so_that_a_loop_of_it_ends(name: str, given: tuple[Any, ...]) -> None:
    assert work(name, given) * MAX_LOOP_ITERATIONS * 10 > MAX_MADE_ITEMS


def test_what_is_looked_at_is_counted(tmp_path: Path) -> None:
    machine, _ = value_of(tmp_path, "str(list(range(9000)))")
    few, _ = value_of(tmp_path, "str(list(range(9)))")
    assert machine.base.made - few.base.made > 9000


def test_a_command_line_that_could_be_parted_in_ever_more_ways_is_not_parsed(tmp_path: Path) -> None:
    text = """
        import argparse
        def parsed(count, words, nargs="+"):
            parser = argparse.ArgumentParser()
            for i in range(count):
                parser.add_argument(f"name{i}", nargs=nargs)
            return parser.parse_args(words)
        X = parsed(60, ["a"] * 59)
        Y = parsed(1, ["a"], 10**9)
        Z = parsed(2, ["a", "b", "c"]).name1[0]
    """
    (tmp_path / "command_of_source.py").write_text(textwrap.dedent(text), encoding="utf-8")
    machine = interpreter([str(tmp_path), *sys.path])
    found = {name: with_deep_stack(lambda name=name: machine.resolve(f"command_of_source.{name}")) for name in "XYZ"}
    assert machine.find_attribute(found["X"], "name0") != Constant("a")
    for name in "XY":
        item = machine.state.find(found[name], InstanceObject)
        assert item is None or item.open is not None
    assert found["Z"] == Constant("c")


@pytest.mark.parametrize(
    "size",
    ["10**5000", "10**19", "2**63", "True", "-(10**5000)", "[10**5000]", "range(10**5000)", "'a' * 99999", "{10**5000: 1}",
     "1j * 1e300", "float('nan')", "b'a' * 99999"],
)  # fmt: skip
def test_a_number_that_no_text_can_hold_is_no_crash(tmp_path: Path, size: str) -> None:
    text = f"""
        from torch import nn
        N = {size}
        class Net(nn.Module):
            def __init__(self, n=N, *, other=None):
                super().__init__()
                self.n = n
                self.inner = Inner(N, other=N)
                self.layer = nn.Linear(N, 3)
                self.last = nn.Linear(2, 3)
        class Inner(nn.Module):
            def __init__(self, n, other):
                super().__init__()
                self.act = nn.ReLU()
    """
    (tmp_path / "model.py").write_text(textwrap.dedent(text), encoding="utf-8")
    graph = modgraph.predict(f"{tmp_path / 'model.py'}:Net", path=[str(tmp_path)])
    graph.save(tmp_path / "graph.json")
    assert modgraph.load(tmp_path / "graph.json").modules
    assert any(module.path == "inner.act" for module in graph.modules)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("str.expandtabs", ("a\tb",)),
        ("textwrap.indent", ("a\nb", "  ")),
        ("shlex.join", (["a b", "c"],)),
        ("round", (1234, -2)),
        ("round", (1.25, 1)),
        ("math.factorial", (170,)),
        ("math.comb", (100, 50)),
        ("re.sub", (r"(\d+)", r"<\1>", "layer12")),
    ],
)
def test_what_is_small_is_computed(name: str, given: tuple[Any, ...]) -> None:
    assert too_much(name, given) is None


# ---- encodings, and texts that are held against each other ---------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["rot_13", "rot13", "punycode", "idna", "unicode_escape", "zlib_codec", "mbcs", "antigravity"]
)
@pytest.mark.parametrize(
    "expression",
    [
        '"a".encode({!r})',
        '"a".encode(encoding={!r})',
        'b"a".decode({!r})',
        'str(b"a", {!r})',
        'str(b"a", encoding={!r})',
    ],
)
def test_no_codec_is_looked_up_by_a_name_of_the_source(tmp_path: Path, name: str, expression: str) -> None:
    before = set(sys.modules)
    assert isinstance(value_of(tmp_path, expression.format(name))[1], Unknown)
    assert not {each for each in set(sys.modules) - before if each.startswith("encodings.")}


@pytest.mark.parametrize(
    "expression", ['"ä".encode()', '"ä".encode("UTF-16-le")', '"ä".encode("ascii", errors="replace")']
)
def test_a_text_in_an_encoding_of_text_is_what_python_makes_of_it(tmp_path: Path, expression: str) -> None:
    assert value_of(tmp_path, expression)[1] == Constant(eval(expression))


SQUARES = [
    ("str.strip", ("a" * 400_000, "b" * 200_000 + "a")), ("str.rfind", ("a" * 400_000, "a" * 9_000 + "b" + "a" * 9_000)),
    ("inspect.cleandoc", ("\n" * 100_000,)), ("shlex.split", ("a" * 100_000,)), ("textwrap.dedent", ("\n" * 100_000,)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "given"), SQUARES)
def test_what_takes_the_square_of_a_text_is_not_begun(name: str, given: tuple[str, ...]) -> None:
    assert too_much(name, given)
    assert not too_much(name, [each[:1_000] for each in given])
    assert work(name, [each[:20_000] for each in given]) > work(name, [each[:10_000] for each in given])


# ---- regular expressions -----------------------------------------------------------------------------------------------

CATASTROPHES = [
    ("(a+)+$", "a" * 40 + "b"), ("(a*)*b", "a" * 40), ("(a|aa)+$", "a" * 60), ("a?" * 40 + "a" * 40, "a" * 40),
    ("(?:a?){40}a{40}", "a" * 40), ("(?:a|b|ab)*c", "ab" * 40), ("(?:aa|aa)" * 40, "aa" * 40), ("(x+x+)+y", "x" * 40),
    ("^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 40), (".*.*.*.*.*.*x", "a" * 1000), (r"(?=(a+)+b)", "a" * 60),
    ("((a*)*)*b", "a" * 50), ("(?:a{0,40}){40}b", "a" * 60), ("(a?b?)*c", "ab" * 40),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "text"), CATASTROPHES)
def test_matching_that_could_go_on_for_ever_is_not_begun(pattern: str, text: str) -> None:
    assert too_long_to_match(pattern, text)


LONG = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"
FLAGGED = [
    f're.match("(a+)+$#)", "{LONG}", re.X)', f're.search("(a+)+$#)", "{LONG}", flags=re.VERBOSE)',
    f're.fullmatch("(?x)(a+)+$#)", "{LONG}")', f're.match("(?x:(a+)+$#)\\n)", "{LONG}")',
    f're.compile("(a+)+$#)", re.X).match("{LONG}")', f're.compile("(?x)(a+)+$#)").search("{LONG}")',
    f're.sub("(a+)+$#)", "", "{LONG}", 0, re.X)', f're.split("(a+)+$#)", "{LONG}", 0, re.X)',
    f're.findall("(a+)+$#)", "{LONG}", re.X)', f're.compile("(a+)+$#)", re.X).sub("", "{LONG}")',
    f're.compile("(a+)+$#)", re.X).findall("{LONG}")', f're.compile("(a+)+$#)", re.X).split("{LONG}")',
    're.search(r"(a*)\\1b", "a" * 9000)', 're.search("(?:" + "[ab]" * 4900 + ")c", "a" * 100000)',
    're.search("[" + "".join(map(chr, range(0x10000, 0x14000, 2))) + "]*b", "a" * 3000)',
    're.match("a", "a", re.DEBUG)', 're.compile("a", re.DEBUG)', 're.match("a", "a", int(input()))',
]  # fmt: skip


@pytest.mark.fresh_process
def test_what_flags_make_of_a_pattern_is_what_is_counted(tmp_path: Path) -> None:
    """In a process that has no more time than that: nothing else ends it."""
    source = (
        "import re\nfrom torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    )
    source += "".join(f"        self.a{n} = nn.Linear(1, 2 if {each} else 3)\n" for n, each in enumerate(FLAGGED))
    (tmp_path / "model.py").write_text(source)
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_CPU, (20, 20)); import modgraph\n"
        "graph = modgraph.predict('model.py:Net')\n"
        "print(sum(None in parameter.shape for module in graph.modules for parameter in module.parameters"
        " if parameter.name == 'weight'))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr[-500:]) == (0, f"{len(FLAGGED)}\n", "")


@pytest.mark.parametrize(
    "expression",
    [
        're.compile("b").search("ab", 1)', 're.compile("^b").match("ab", 1)', 're.compile("a").findall("aab", 1, 2)',
        're.compile("B", re.I).search("ab", 1)', 're.compile("b").search("ab", pos=1)', 're.compile("a").flags',
        're.compile("(?x) a").flags', 're.compile("(?x) a # )").match("a").group(0)', 're.compile("A", re.I).flags',
        're.match("a (#", "a", re.X).group(0) if False else 1', 're.split("b", "abab", 1)', 're.findall("A", "aA", 2)',
    ],
)  # fmt: skip
def test_compiled_patterns_say_what_python_says_or_nothing(tmp_path: Path, expression: str) -> None:
    machine, value = value_of(tmp_path, expression)
    expected = eval(expression, {"re": re})
    found = machine.state.find(value, InstanceObject)
    groups = found.attributes["_groups"] if found is not None else None
    shown = groups.items[0].value if isinstance(groups, TupleValue) else (plain(machine, value) or (None,))[0]
    if not isinstance(value, Unknown):
        assert shown == (expected.group(0) if isinstance(expected, re.Match) else expected)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"^(?:module\.)?(\w+)\.(\d+)\.(weight|bias)$", "module.layer1.0.weight"),
        (r"([a-z]+)(\d*)(_[a-z\d]+)*", "r1_k3_s1_e4_c16_se0.25"),
        (r"(\d+)x(\d+)", "12x34"),
        (r"[A-Z][a-z]*", "ConvNormAct" * 20),
        (r"\s+", "a b " * 2000),
        (r"(?P<kind>conv|norm|act)?(\d)", "conv1"),
    ],
)
def test_ordinary_patterns_are_matched(pattern: str, text: str) -> None:
    assert re.search(pattern, text)
    assert not too_long_to_match(pattern, text)


@pytest.mark.parametrize(("pattern", "length"), [("a?a?a?a?a?b", 5), ("(?:aa|a)(?:aa|a)(?:aa|a)b", 6), ("a*a*a*b", 12)])
def test_the_bound_is_not_below_the_ways_there_are(pattern: str, length: int) -> None:
    """Counted: every way in which the parts before the last letter can each take letters one after the other."""
    parts = re.findall(r"\(\?:[^)]*\)|a[?*]", pattern)
    takes = [(0, 1) if part == "a?" else range(length + 1) if part == "a*" else (1, 2) for part in parts]
    ways = sum(sum(taken) <= length for taken in itertools.product(*takes))
    assert matching_steps(pattern, "a" * length) >= ways


def test_a_pattern_of_bytes_and_a_long_one_are_not_matched() -> None:
    assert too_long_to_match(b"(a+)+$", b"a" * 40 + b"b")
    assert too_long_to_match("[a-z]" * 10_000, "a")
    assert too_long_to_match("[a]" * 1_000, "a")
    assert matching_steps("(", "a") > MAX_MATCHING_STEPS  # what cannot be read is not begun; `re.compile` says why
    assert matching_steps("(a+)+$", "a" * 40) > MAX_MATCHING_STEPS


# ---- objects of ours ---------------------------------------------------------------------------------------------------

REACHING = [
    '"{0.__class__}".format(1)', '"{0.__class__.__init__.__globals__}".format("a")', '"{0.real}".format(1)',
    '"{0.__class__.__mro__[1].__subclasses__}".format("a")', '"{a.__class__}".format(a={})', '"{:{0.__class__}}".format(1)',
    '"{a.__class__}".format_map({"a": 1})', '"{0[0].__class__}".format([1])', '"{0[!].__class__}".format({"!": 1})',
    '"{0[:].__class__}".format({":": 1})', '"{0[}].__class__}".format({"}": 1})', "().__class__.__base__.__subclasses__()",
    "len.__self__", "(lambda: 0).__code__.co_consts",
    'string.Formatter().format("{0.__class__}", 1)',
]  # fmt: skip


@pytest.mark.parametrize("expression", REACHING)
def test_no_template_and_no_attribute_reaches_an_object_of_ours(tmp_path: Path, expression: str) -> None:
    _, found = value_of(tmp_path, expression)
    assert isinstance(found, Unknown), found


@pytest.mark.parametrize("expression", ["(lambda: 0).__globals__", "nn.Linear.__init__.__globals__"])
def test_the_names_of_a_module_are_those_that_are_interpreted(tmp_path: Path, expression: str) -> None:
    _, found = value_of(tmp_path, expression)
    assert isinstance(found, Address)  # of what is modelled


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('"layer{}.{}".format(1, "conv")', "layer1.conv"),
        ('"{0[1]}-{a[b]}".format([1, 2], a={"b": 3})', "2-3"),
        ('"{:.2f} {!r:>5}".format(1.234, "a")', "1.23   'a'"),
        ('"%(a)3d" % {"a": 7}', "  7"),
    ],
)
def test_plain_templates_are_filled(tmp_path: Path, expression: str, expected: str) -> None:
    assert value_of(tmp_path, expression)[1] == Constant(expected)


@pytest.mark.parametrize(
    "expression",
    ['repr({"a", "b", "c"})', '"{}".format({"a", "b"})', 'f"{ {1, "b"} }"', '"%s" % ({"a", "b"},)', 'str({"a", "b"})',
     'ascii({"a", "b"})', 'hash(("a", 1))', '{"a", "b"}.pop()', 'list({"a", "b"})[0]'],
)  # fmt: skip
def test_what_differs_from_run_to_run_is_unknown(tmp_path: Path, expression: str) -> None:
    assert isinstance(value_of(tmp_path, expression)[1], Unknown)


# ---- the world outside -------------------------------------------------------------------------------------------------

SECRET = "TOKEN_OF_THE_USER_4711"
OUTSIDE = [
    'open("{file}").read()', 'open("{file}").readlines()[0]', 'pathlib.Path("{file}").read_text()', 'list(open("{file}"))',
    'json.load(open("{file}"))', 'json.loads(open("{file}").read())', 'yaml.safe_load(open("{file}"))',
    'yaml.safe_load(pathlib.Path("{file}"))', 'tomllib.load(open("{file}", "rb"))', 'np.loadtxt("{file}")',
    'np.fromfile("{file}")', 'torch.load("{file}")', 'io.open("{file}").read()', 'configparser.ConfigParser().read("{file}")',
    'os.environ["SECRET"]', 'os.environ.get("SECRET", "x")', 'os.getenv("SECRET")', "dict(os.environ)", "str(os.environ)",
    '"SECRET" in os.environ', "len(os.environ)", "os.environb", 'os.path.expandvars("$SECRET")', 'os.path.expanduser("~")',
    'os.__dict__["environ"]["SECRET"]', 'vars(os)["environ"]["SECRET"]', 'getattr(os, "environ")["SECRET"]',
    'operator.attrgetter("environ")(os)["SECRET"]', 'sys.modules["os"].environ["SECRET"]', 'torch.os.environ["SECRET"]',
    """eval("os.environ['SECRET']")""", "os.getcwd()", "pathlib.Path.cwd()", "pathlib.Path.home()", 'os.listdir("{folder}")',
    'glob.glob("{folder}/*")', 'list(pathlib.Path("{folder}").iterdir())', 'os.path.exists("{file}")',
    'os.path.getsize("{file}")', 'pathlib.Path("{file}").exists()', "sys.argv", "sys.path", "sys.executable", "platform.node()",
    "platform.uname()", "getpass.getuser()", "socket.gethostname()", "os.uname()", "os.getlogin()", "os.getpid()",
    "__file__", "torch.__file__", "time.time()", "datetime.datetime.now()", "uuid.uuid4()", "random.random()",
    'subprocess.check_output(["cat", "{file}"])', 'os.popen("cat {file}").read()', "input()", "sys.stdin.read()",
    'importlib.import_module("{folder}/secret").TOKEN', '__import__("{folder}/secret").TOKEN',
    'importlib.import_module("../outside/secret").TOKEN', 'inspect.getsource(importlib.import_module("{folder}/secret"))',
    """pickle.loads(b"cos\\nsystem\\n(S'false'\\ntR.")""",
]  # fmt: skip


@pytest.mark.parametrize("expression", OUTSIDE)
def test_what_stands_outside_of_the_source_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expression: str
) -> None:
    outside, project = tmp_path / "outside", tmp_path / "project"
    outside.mkdir()
    project.mkdir()
    (outside / "secret.json").write_text(f'["{SECRET}"]', encoding="utf-8")
    (outside / "secret.py").write_text(f"TOKEN = '{SECRET}'", encoding="utf-8")
    monkeypatch.setenv("SECRET", SECRET)
    monkeypatch.chdir(project)
    asked = expression.replace("{file}", str(outside / "secret.json")).replace("{folder}", str(outside))
    machine, found = value_of(project, asked)
    item = (
        machine.state.read(found)
        if not isinstance(found, (Unknown, Constant, TupleValue)) and hasattr(found, "index")
        else None
    )
    assert (
        isinstance(found, Unknown)
        or getattr(item, "open", None) is not None
        or found.__class__.__name__ == "KnownFunction"
    )
    assert SECRET not in repr(found)
    assert SECRET not in repr(item)
