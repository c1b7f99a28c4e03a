"""Built-in functions, methods of Python's types and the standard library: Python itself is the judge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

EXPRESSIONS = """
len([1, 2, 3]), len("abc"), len({}), len(range(3, 9, 2)), len({1, 2})
list(range(5)), list(range(5, 0, -2)), range(3)[1], 3 in range(5)
list(zip([1, 2, 3], "ab")), list(zip()), list(zip([1], [2], [3]))
list(enumerate("ab")), list(enumerate("ab", 1)), list(enumerate(["x"], start=5))
list(reversed([1, 2, 3])), list(reversed("abc")), list(reversed(range(3)))
sorted([3, 1, 2]), sorted("bca", reverse=True), sorted([(1, "b"), (0, "a")], key=lambda p: p[1]), sorted({3, 1, 2})
min(3, 1, 2), max([1, 5, 2]), min("ab", "c", key=len), max([], default=0), max({"a": 1, "b": 2}, key={"a": 1, "b": 2}.get)
sum([1, 2, 3]), sum([0.5, 1]), sum([[1], [2]], []), sum(x * x for x in range(4))
abs(-3), round(2.5), round(2.567, 2), int("12"), int(3.9), int("ff", 16), float("1.5"), float(2), str(3), str(1.5), str(None)
bool([]), bool([0]), bool(""), bool(0.0), bool("x")
divmod(7, 3), pow(2, 5), pow(2, 5, 7), ord("a"), chr(98), hex(255), bin(5)
list(map(lambda x: x + 1, [1, 2])), list(map(lambda a, b: a * b, [1, 2], [3, 4])), list(map(str, [1, 2]))
list(filter(None, [0, 1, 2])), list(filter(lambda x: x > 1, [0, 1, 2]))
any([0, 1]), all([1, 0]), any([]), all([]), any(x > 2 for x in range(4))
tuple([1, 2]), tuple("ab"), list((1, 2)), set([1, 1, 2]), frozenset([1, 2]), dict([("a", 1)]), dict(a=1, b=2), dict({"a": 1}, b=3)
isinstance(1, int), isinstance(True, int), isinstance("a", (int, str)), isinstance([], list), isinstance(1.0, int)
callable(len), callable(3), callable(lambda: 0)
repr("a"), repr([1, "b"]), format(3.14159, ".2f"), "%d-%s" % (3, "x"), f"{3:>4}|{2.5:.1f}|{'a'!r}"
"a,b".split(","), "  x ".strip(), "abc".upper(), "x".join(["a", "b"]), "abc".replace("b", "z"), "{}-{k}".format(1, k=2)
"abc".startswith("a"), "abc".endswith(("c", "d")), "a.b.c".rsplit(".", 1), "abc".find("c"), "abc"[1:], "abc"[-1], "a" in "abc"
"1".isdigit(), "abc".count("a"), "Ab".lower(), "a-b".partition("-"), "a_b".title(), "abc".zfill(5), "a\\nb".splitlines()
[1, 2] + [3], [0] * 3, [1, 2, 3][::-1], [1, 2, 3][1:], (1, 2) + (3,), [3, 1].index(1), [1, 1].count(1)
{"a": 1}.get("a"), {"a": 1}.get("b", 2), list({"a": 1}.items()), list({"a": 1}.keys()), list({"a": 1}.values())
{**{"a": 1}, "b": 2}, {"a": 1} | {"a": 2}, dict.fromkeys("ab", 0), dict.fromkeys([1])
{1, 2} & {2, 3}, {1, 2} | {3}, {1, 2} - {2}, {1, 2} ^ {2, 3}, {1}.issubset({1, 2}), {1, 2}.union([3])
list({"a": 1, "b": 2}.keys() - {"a"}), [*range(3), *"ab"], slice(1, None, 2).indices(5)
math.sqrt(16), math.ceil(2.1), math.floor(-2.1), math.log2(8), math.prod([2, 3]), math.pi, math.gcd(12, 18), math.inf, math.isclose(1, 1)
math.log(8, 2), math.pow(2, 3), math.exp(0), math.comb(5, 2), math.fabs(-1), math.trunc(2.7), math.isnan(math.nan)
list(itertools.chain([1], [2, 3])), list(itertools.chain.from_iterable([[1], [2]])), list(itertools.product([1, 2], "ab"))
list(itertools.repeat(1, 3)), list(itertools.islice(itertools.count(5), 3)), list(zip(itertools.count(), "abc"))
list(itertools.combinations([1, 2, 3], 2)), list(itertools.permutations([1, 2])), list(itertools.accumulate([1, 2, 3]))
list(itertools.islice(itertools.cycle([1, 2]), 5)), list(itertools.pairwise([1, 2, 3])), list(itertools.zip_longest([1], [2, 3]))
list(itertools.starmap(pow, [(2, 3)])), list(itertools.takewhile(lambda x: x < 3, [1, 2, 3, 1]))
functools.reduce(operator.mul, [1, 2, 3, 4]), functools.partial(pow, 2)(3), functools.partial(sorted, reverse=True)([1, 2])
functools.partial(functools.partial(pow, 2), 3)(), operator.add(1, 2), operator.itemgetter(1)([4, 5]), operator.neg(2)
operator.itemgetter("a", "b")({"a": 1, "b": 2}), operator.attrgetter("real")(3)
list(collections.OrderedDict([("a", 1), ("b", 2)]).items()), list(collections.OrderedDict(a=1)), collections.Counter("aab")["a"]
collections.Counter(["x", "y", "x"]).most_common(1), list(collections.deque([1, 2, 3], maxlen=2))
copy.copy([1, 2]), copy.deepcopy({"a": [1]}), re.sub("a", "b", "cat"), re.match(r"(\\d+)x", "12x").group(1), re.findall("a.", "abac")
os.path.join("a", "b"), os.path.basename("a/b.c"), os.path.splitext("b.c")
(lambda a, b: [id(a) in {id(b): 1}, id(a) == id(a), id(b) == id(b), {id(b): 1}.get(id(a), 2)])((1, 2), [3])
id(None) == id(None), id(True) in {id(False)}, id(7) == id(7), id(int) == id(int), isinstance(id("a"), int)
[int(x) for x in np.fromstring("4-3-20", dtype=int, sep="-")], np.fromstring("1, 2.5,3", sep=",").size, float(np.fromstring("1,2.5", sep=",")[1])
int(np.prod([2, 3, 4])), [int(x) for x in np.cumsum([1, 2, 3])], [float(x) for x in np.linspace(0, 1, 5)], int(np.ceil(2.1))
[x.item() if hasattr(x, "item") else x for x in [1, 2]], float(np.sqrt(16)), float(np.log2(8)), [int(x) for x in np.arange(1, 7, 2)]
importlib.util.find_spec("nothing_of_that_name") is None, importlib.util.find_spec("json") is not None, sys.version_info >= (3, 8)
(lambda *a, **k: (a, k))(1, *[2], b=3, **{"c": 4}), [i for i in range(9) if i % 2 if i > 2], {k: v for k, v in zip("ab", [1, 2])}
next(iter([7, 8])), next(iter([]), None), list(iter([1])), "a" < "b", 1 < 2 < 3, not [], 5 // 2, -5 % 3, 2**-1, 7 & 3, 1 << 3
type(3) is int, type("a").__name__, hasattr([], "append"), hasattr({}, "append"), getattr("a", "upper")(), getattr(3, "nope", 9)
"""
PRELUDE = (
    "import collections, copy, functools, importlib.util, itertools, math, operator, os, re, sys\nimport numpy as np\n"
)


@pytest.mark.parametrize("line", [line for line in EXPRESSIONS.strip().splitlines() if line])
def test_expression_is_what_python_makes_of_it(evaluated: Callable[[str], Any], line: str) -> None:
    expression = line.replace("\\\\", "\\")
    pytest.importorskip("numpy")
    namespace: dict[str, Any] = {}
    exec(f"{PRELUDE}RESULT = ({expression})", namespace)
    assert evaluated(f"{PRELUDE}RESULT = ({expression})") == namespace["RESULT"]


PROGRAMS = {
    "list methods": """
        RESULT = [3, 1]
        RESULT.append(2); RESULT.extend((5, 4)); RESULT.insert(0, 9); RESULT.remove(5)
        last = RESULT.pop(); first = RESULT.pop(0); RESULT.sort(reverse=True); copy = RESULT.copy()
        RESULT.reverse(); RESULT += [last, first]; copy.clear(); del RESULT[0]; RESULT[0] = 7; RESULT[1:1] = [8, 8]
        """,
    "dict methods": """
        RESULT = {"a": 1}
        RESULT.update(b=2); RESULT.update({"c": 3}); RESULT.setdefault("d", 4); RESULT.setdefault("a", 9)
        RESULT["e"] = RESULT.pop("b"); RESULT["f"] = RESULT.pop("zz", None); key, value = RESULT.popitem()
        RESULT[key + "!"] = value; del RESULT["c"]; RESULT = list(RESULT.items())
        """,
    "ordered dict": """
        from collections import OrderedDict
        d = OrderedDict(a=1, b=2, c=3); d.move_to_end("a"); d.popitem(last=False); d["z"] = 1
        RESULT = (list(d), d == {"c": 3, "a": 1, "z": 1})
        """,
    "default dict": """
        from collections import defaultdict
        d = defaultdict(list); d["a"].append(1); d["a"].append(2); d["b"]
        e = defaultdict(int); e["x"] += 3
        RESULT = (dict(d), dict(e))
        """,
    "set methods": """
        s = {1, 2}; s.add(3); s.discard(9); s.remove(1); s.update([5]); s |= {6}
        RESULT = sorted(s)
        """,
    "deque": """
        from collections import deque
        d = deque([1, 2]); d.appendleft(0); d.append(3); a = d.popleft(); d.rotate(1)
        RESULT = (a, list(d))
        """,
    "iterators are used up": """
        it = iter(range(5)); a = next(it); b = list(it); c = list(it)
        z = zip([1, 2], [3, 4]); RESULT = (a, b, c, list(z), list(z))
        """,
    "two names for one list": "a = b = []; a.append(1); RESULT = (a, b, a is b)",
    "strict zip": """
        try:
            RESULT = list(zip([1], [1, 2], strict=True))
        except ValueError:
            RESULT = "refused"
        """,
    "errors of operators are caught by name": """
        RESULT = []
        for make in (lambda: {}["a"], lambda: [][0], lambda: int("x"), lambda: None.x, lambda: 1 / 0, lambda: len(3), lambda: next(iter([]))):
            try:
                make()
            except Exception as error:
                RESULT.append(type(error).__name__)
        """,
    "cached and wrapped functions": """
        import functools
        def decorate(f):
            @functools.wraps(f)
            def inner(*args):
                return f(*args) + 1
            return inner
        @functools.lru_cache(maxsize=None)
        @decorate
        def f(x):
            return 2 * x
        @functools.cache
        def g(x):
            return x
        class A:
            @functools.cached_property
            def width(self):
                return 7
        RESULT = (f(3), g(4), A().width)
        """,
    "warnings and logging are inert": """
        import logging, warnings
        logger = logging.getLogger(__name__)
        logger.info("x"); warnings.warn("y")
        if logger.isEnabledFor(10):
            logger.debug("z")
        RESULT = 3
        """,
    "typing is transparent": """
        from typing import Optional, List, cast, overload, TYPE_CHECKING
        @overload
        def f(x: int) -> int: ...
        def f(x): return x
        if TYPE_CHECKING:
            import nothing_at_all
        x: Optional[List[int]] = cast(list, [1])
        RESULT = (f(2), x)
        """,
    "signatures": """
        import inspect
        def f(a, b=1, *, c): ...
        RESULT = (list(inspect.signature(f).parameters), "c" in inspect.signature(f).parameters)
        """,
    "abstract base classes": """
        from collections.abc import Iterable, Mapping, Sequence
        import numbers
        RESULT = (isinstance([], Iterable), isinstance({}, Mapping), isinstance((), Sequence), isinstance(3, Iterable),
                  isinstance(3, numbers.Number), isinstance(3, numbers.Integral), isinstance("a", Sequence), isinstance({}, Sequence))
        """,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_program_does_what_python_does(evaluated: Callable[[str], Any], text: str) -> None:
    import textwrap

    namespace: dict[str, Any] = {"__name__": "code"}
    exec(textwrap.dedent(text), namespace)
    assert evaluated(text) == namespace["RESULT"]


UNKNOWABLE = [
    "import os\nRESULT = os.environ.get('A', 'b')",
    "import os\nRESULT = os.getenv('HOME')",
    "import random\nRESULT = random.random()",
    "import random\nRESULT = random.choice([1, 2])",
    "import time\nRESULT = time.time()",
    "RESULT = input()",
    "RESULT = open('x').read()",
    "RESULT = len(open('x').readlines()) + 1",
    "import numpy as np\nRESULT = np.random.rand(3)",
    "RESULT = id(tuple([1])) == id(tuple([1]))",
    "import torch\nRESULT = torch.rand(3).tolist()",
    "import torch\nRESULT = torch.cuda.is_available()",
    "import os\nRESULT = sum([1, int(os.environ['N'])])",
    "import os\nRESULT = f\"{os.environ['N']}\"",
    "import os\nRESULT = sorted([1, int(os.environ['N'])])",
]


@pytest.mark.parametrize("text", UNKNOWABLE)
def test_what_cannot_be_known_is_unknown(evaluated: Any, text: str) -> None:
    assert evaluated(text) is evaluated.UNKNOWN
