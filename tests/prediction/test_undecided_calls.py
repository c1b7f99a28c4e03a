"""What an object, a function or torch itself is asked with values that nobody can tell: what is claimed holds for either
value of the flag, and so does what is claimed of objects that are gone."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.needs_torch

HEADER = """
import argparse
import heapq
import sys
import weakref


def hidden(flag, good=5, bad=0):
    value = good if flag else bad
    return value if isinstance(value, str) else type(value)(hash("q") * 0 + value)


def text(flag, good, bad):
    return "".join(chr(hash("q") * 0 + ord(each)) for each in (good if flag else bad))


class Plain:
    def __init__(self, **given):
        self.__dict__.update(given)


class Odd:
    def __init__(self, log):
        self.log = log

    def _asked(self, *_):
        self.log.append(1)
        return 1

    __eq__ = __ne__ = __lt__ = __gt__ = __le__ = __ge__ = __add__ = __radd__ = __rsub__ = __rmul__ = _asked
    __index__ = __len__ = __hash__ = _asked

    def __bool__(self):
        return bool(self._asked())

    def __iter__(self):
        self._asked()
        return iter([1])

    def __enter__(self):
        return self._asked()

    def __exit__(self, *_):
        return False

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return self._asked()


class Failing:
    def __eq__(self, other):
        raise ValueError

    __bool__ = __lt__ = __gt__ = __radd__ = __eq__
    __hash__ = None


class Asking(dict):
    def __init__(self, tell):
        self.tell = tell

    def __missing__(self, key):
        return self.tell(key)


@functools.total_ordering
class Version:
    def __init__(self, number, log):
        self.number, self.log = number, log

    def __eq__(self, other):
        return self.number == other.number

    def __lt__(self, other):
        self.log.append(1)
        return self.number < other.number


class Lazy:
    def __init__(self, log):
        self.log = log

    @functools.cached_property
    def value(self):
        self.log.append(1)
        return len(self.log)


class Itself:
    copies = 0

    def __deepcopy__(self, memo):
        Itself.copies += 1
        return self


class Block(nn.Module):
    pass


class Other(nn.Module):
    pass


WIDTH = 3
TABLE = {"a": Block}


def table():
    return TABLE


def set_width(width):
    globals()["WIDTH"] = width


@typing.overload
def stub(x: int) -> int: ...


def parser(**given):
    made = argparse.ArgumentParser(**given)
    made.add_argument("--depth", type=int, default=2)
    return made
"""

LIES = {
    "two that are gone at once": "id([]) == id([])",
    "two that are gone at once, by their numbers": "id([]) is id([])",
    "the set of some that are gone": "len({id(Plain()) for _ in range(3)}) == 1",
    "one that a function has let go": "(lambda: id(Plain()))() == (lambda: id(Plain()))()",
    "functions that are gone": "id(lambda: 0) == id(lambda: 0)",
    "one of those before": "(lambda seen: id(Plain()) in seen)([id(Plain())])",
    "a weak reference to what is gone": "weakref.ref(Plain())() is None",
    "a weak reference to what is there": "weakref.ref(self)() is self",
    "two that are there": "(lambda a, b: id(a) == id(b))([], [])",
    "one that is there": "(lambda a: id(a) == id(a))([])",
}


@pytest.mark.parametrize("condition", [pytest.param(body, id=name) for name, body in LIES.items()])
def test_where_an_object_lies_that_is_gone(condition: str, claims_that_fail: Callable[..., list[Any]]) -> None:
    body = f"if {condition}:\n    self.c = nn.Linear(2, 2)\nelse:\n    self.d = nn.ReLU()"
    assert claims_that_fail(body, HEADER) == []


def test_objects_that_names_lead_to_lie_at_places_of_their_own(predict_source: Callable[..., Any]) -> None:
    graph = predict_source(
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(2, 2)
                self.b = nn.Linear(2, 2)
                self.b.weight = self.a.weight
                self.c = nn.Linear(len({id(each) for each in self.parameters()}), 1)
        """
    )
    assert next(node for node in graph.modules if node.path == "c").parameters[0].shape == (1, 3)


ASKED = """
w or odd or 0|w and odd|w + odd|w - odd|w * odd|w == odd|w != odd|w < odd|w in [odd]|w in (odd,)|(w,) == (odd,)|[w] == [odd]
[odd].index(w)|[odd].count(w)|[1, 2][w:odd]|range(w, odd)|[*x, *odd]|hasattr(odd, t)|getattr(odd, t, 0)|list(w or odd)
list(itertools.compress([1, 2], [w, odd]))|list(itertools.groupby([w, odd]))|sorted(x, key=lambda each: each + odd)
{1: w} == {1: odd}|bool(w or odd)|any([w, odd])|1 if (w or odd) else 2|functools.reduce(operator.add, [w, odd])
"""


@pytest.mark.parametrize("expression", [each for line in ASKED.strip().split("\n") for each in line.split("|")])
@pytest.mark.parametrize("known", ["5 if flag else 0", "hidden(flag)"])
def test_what_an_operand_is_asked_beside_one_that_is_not_known(
    expression: str, known: str, claims_that_fail: Callable[..., list[Any]]
) -> None:
    for made in ("Odd(log)", "Failing()"):
        body = f"""
        log, x, t = [], [1] if flag else [], "aa" if flag else "_bb"
        odd, w = {made}, {known}
        try:
            z = {expression}
            self.a = nn.ReLU()
        except (TypeError, AttributeError):
            pass
        except ValueError:
            self.b = nn.Tanh()
        self.c = nn.Linear(1 + len(log), 2)
        """
        assert claims_that_fail(body, HEADER) == []


USED = """
sorted(x, key=tell)|min(x, key=tell)|x.sort(key=tell)|list(map(tell, x))|list(filter(tell, x))|next(filter(tell, x), 0)
list(itertools.accumulate(x, lambda a, b: tell(b)))|list(itertools.takewhile(tell, x))|list(itertools.dropwhile(tell, x))
list(itertools.starmap(tell, zip(x)))|[k for k, _ in itertools.groupby(x, key=tell)]|dict(zip(x, map(tell, x)))
[Asking(tell)[each] for each in x]|[list(each) for each in itertools.tee(map(tell, x))]|heapq.nsmallest(1, x, key=tell)
functools.reduce(lambda a, b: tell(b), x)|sum(map(tell, x))|sorted(x, key=functools.cmp_to_key(lambda a, b: tell(a)))
"""


@pytest.mark.parametrize("use", [each for line in USED.strip().split("\n") for each in line.split("|")])
@pytest.mark.parametrize("filled", ["x = [3, 1]\nif flag: x.append(7)", "x = list(range(2 + hidden(flag)))"])
def test_what_a_function_does_with_items_that_are_not_known(
    use: str, filled: str, claims_that_fail: Callable[..., list[Any]]
) -> None:
    for raises in ("False", "each > 5"):
        filled_here = textwrap.indent(filled, " " * 8)
        body = f"""
        log = []
        def tell(each):
            if {raises}:
                raise RuntimeError
            log.append(each)
            return each
{filled_here}
        try:
            z = {use}
            self.a = nn.ReLU()
        except RuntimeError:
            self.b = nn.Tanh()
        self.c = nn.Linear(1 + len(log), 2)
        """
        assert claims_that_fail(textwrap.dedent(body), HEADER) == []


REFUSED = {
    "nn.Linear(n, 3)": (2, -1),
    "nn.Embedding(n, 2)": (3, -2),
    "nn.Embedding(3, 2, padding_idx=n)": (2, 3),
    "nn.Conv2d(4, 4, 1, groups=n)": (2, 3),
    "nn.Conv2d(2, 4, n)": (2, -2),
    "nn.MultiheadAttention(6, n)": (2, 4),
    "nn.LayerNorm(n)": (2, -1),
    "nn.TransformerEncoderLayer(6, 2, n)": (2, -4),
    "nn.Parameter(torch.zeros(n))": (2, -2),
    "torch.zeros(6).split(n)": (2, -2),
    "torch.zeros(6, 2).flip(n)": (1, 4),
    "torch.zeros(6, 2)[n]": (2, 8),
    "torch.cat([torch.zeros(2, n), torch.zeros(2, 3)])": (3, 4),
    "torch.zeros(2, n) @ torch.zeros(3, 2)": (3, 4),
    "nn.init.kaiming_normal_(torch.empty(2, 2), mode=n)": ("fan_in", "fan"),
    "nn.ModuleDict({n: nn.ReLU()})": ("a", "a.b"),
    "nn.Conv1d(2, 2, 3, padding_mode=n)": ("zeros", "zeroes"),
    "self.register_buffer(n, torch.zeros(1))": ("aa", "forward"),
    "torch.nn.utils.spectral_norm(nn.Linear(2, 2), n)": ("weight", "wait"),
}


@pytest.mark.parametrize("call", REFUSED)
def test_torch_may_refuse_what_is_not_known(call: str, claims_that_fail: Callable[..., list[Any]]) -> None:
    good, bad = REFUSED[call]
    known = "text" if isinstance(good, str) else "hidden"
    for value in (f"{known}(flag, {good!r}, {bad!r})", f"{good!r} if flag else {bad!r}"):
        body = f"""
        n = {value}
        try:
            {call}
            self.okay = nn.ReLU()
        except Exception:
            self.refused = nn.Tanh()
        """
        assert claims_that_fail(body, HEADER) == []


ON_META = """
F.linear(torch.zeros(2, 3), x)|F.linear(x, x.double())|F.conv1d(torch.zeros(1, 3, 5), x.unsqueeze(2))|x & x|x @ x.double()
torch.softmax(x.int(), 0)|nn.Conv1d(3, 2, 1, device="meta")(torch.zeros(1, 3, 3))|x + torch.zeros(3, 3)|x.view(2)|x.mm(x[:2])
x.unique()|torch.allclose(x, x)|x.masked_select(x > 0)|x.nonzero()|x[x > 0]|float(x.sum())|int(x.sum())|torch.where(x > 0)
nn.LayerNorm(3, device="meta")(torch.zeros(1, 3))|nn.LayerNorm(3)(x)|x.float()|x.repeat(2, 1)|x.argwhere()|x.bincount()
torch.equal(x, x)|x.cpu()|x.numpy()|torch.cov(x)|nn.GroupNorm(1, 3, device="meta")(torch.zeros(1, 3))|x.unique_consecutive()
"""


@pytest.mark.parametrize("expression", [each for line in ON_META.strip().split("\n") for each in line.split("|")])
def test_of_tensors_that_hold_nothing_torch_refuses_less(
    expression: str, claims_that_fail: Callable[..., list[Any]]
) -> None:
    body = f"""
    x = torch.zeros(3, 3, device="meta")
    try:
        {expression}
        self.okay = nn.ReLU()
    except Exception:
        self.refused = nn.Tanh()
    """
    assert claims_that_fail(textwrap.dedent(body), HEADER) == []


MAPPED = {
    "a chain": "m = collections.ChainMap(d, e)",
    "a chain of one": "m = collections.ChainMap(d)",
    "parents": "m = collections.ChainMap(e, d).parents",
    "a child": "m = collections.ChainMap(d).new_child({'c': 4})\nif flag: m.maps[1]['b'] = 2",
    "a class of its own": "class Own(collections.ChainMap):\n    pass\nm = Own(d, e)",
    "a proxy": "m = types.MappingProxyType(d)",
    "a chain that makes items": "d = collections.defaultdict(lambda: 3, a=1)\nm = collections.ChainMap(d, e)",
    "a chain that counts": "d = collections.Counter('a')\nm = collections.ChainMap(d, e)",
    "a chain of a proxy that makes items": (
        "d = collections.defaultdict(lambda: 3, a=1)\nm = collections.ChainMap(types.MappingProxyType(d), e)"
    ),
    "a chain of what is cleared": "m = collections.ChainMap(d, e)\nif flag: e.clear(); e['c'] = 1",
    "a chain of a proxy of what is cleared": (
        "m = collections.ChainMap(d, types.MappingProxyType(e))\nif flag: e.clear(); e['c'] = 1"
    ),
}
ASKED_OF_ONE = """
isinstance(m, dict)|issubclass(type(m), dict)|type(m) is dict|isinstance(m, collections.abc.Mapping)|dict(m) == {"a": 2}
isinstance(m, collections.abc.MutableMapping)|list({**m}) == ["a"]|m == {"a": 2}|list(m)[0] == "a"|m.get("c") == 6
list(m.values())[0] == 2|len(m) == 2|"c" in m|dict(m.items()).get("c") == 6|hasattr(m, "pop")|[*m.items()][-1][1] == 6
isinstance(m, (int, dict))|isinstance({**m}, dict)|(m["c"] == 6 if flag else True) and len(d) == 1|bool(m)
"""


@pytest.mark.parametrize("asked", [each for line in ASKED_OF_ONE.strip().split("\n") for each in line.split("|")])
def test_a_mapping_that_shows_others_is_no_dict(asked: str, claims_that_fail: Callable[..., list[Any]]) -> None:
    for made in MAPPED.values():
        before = 'd = {"a": 2}\ne = {"a": 5, "c": 6}\n'
        body = f"{before}{made}\ntry:\n    self.x = nn.ReLU() if ({asked}) else nn.Tanh()\nexcept KeyError:\n    pass"
        assert claims_that_fail(f"{body}\nself.y = nn.Linear(1 + len(d), 1)", HEADER) == [], made


HELD = {
    "by nothing": "p = weakref.proxy(Held())",
    "on one path": "o = Held()\np = weakref.proxy(o)\nif flag: del o",
    "until another is": "o = Held()\np = weakref.proxy(o)\no = None",
    "all along": "o = Held()\np = weakref.proxy(o)",
}
ASKED_OF_A_PROXY = """
p.x = 1|p.a|p()|len(p)|p[0]|p[0] = 1|del p.a|bool(p)|str(p)|isinstance(p, Held)|list(p)|1 in p|p + 1|hasattr(p, "a")|p.a += 1
getattr(p, "a", 3)|setattr(p, "q", 1)|p == 1|not p|[*p]|vars(p)|delattr(p, "x")|p < 1
"""
OF_A_PROXY = """
class Held:
    a = 1

    def __call__(self, *_):
        return 1

    __len__ = __getitem__ = __setitem__ = __contains__ = __add__ = __call__

    def __iter__(self):
        return iter([1])
"""


@pytest.mark.parametrize("asked", [each for line in ASKED_OF_A_PROXY.strip().split("\n") for each in line.split("|")])
def test_the_object_of_a_proxy_may_be_gone(asked: str, claims_that_fail: Callable[..., list[Any]]) -> None:
    for held in HELD.values():
        body = f"""{held}
try:
    {asked}
    self.x = nn.ReLU()
except ReferenceError:
    self.y = nn.Tanh()
except Exception:
    self.z = nn.Sigmoid()
with contextlib.suppress(ReferenceError, AttributeError, TypeError):
    {asked}
    self.w = nn.ReLU()
"""
        assert claims_that_fail(body, HEADER + OF_A_PROXY) == [], held


@pytest.mark.parametrize("values", ["(1, 2)|(1, 3)|(1, 2)", "1000|1001|1000", "2.5|3.5|2.5", "'a b'|'c d'|'a b'"])
def test_equal_constants_may_be_one(values: str, claims_that_fail: Callable[..., list[Any]]) -> None:
    one, other, same = values.split("|")
    body = f"""
    a = {one} if flag else {other}
    b = {same}
    self.x = nn.ReLU() if id(a) == id(b) else nn.Tanh()
    self.y = nn.ReLU() if id(b) == id(a) else nn.Tanh()
    self.z = nn.ReLU() if a is b else nn.Tanh()
    """
    assert claims_that_fail(body, HEADER) == []


CASES: dict[str, str] = {
    "a proxy that is written to": """
        t = types.MappingProxyType({"a": 1})
        for change in (lambda: t.__setitem__("a", 2), lambda: t.pop("a"), lambda: operator.ior(t, {"b": 1})):
            try:
                change()
            except (TypeError, AttributeError):
                self.add_module(f"c{len(self._modules)}", nn.ReLU())
        try:
            t["a"] = 2
        except TypeError:
            self.d = nn.Linear(t["a"], len(t))
        """,
    "a proxy of what changes": """
        d = {"a": 1}
        t = types.MappingProxyType(d)
        d["b"] = 2
        if flag:
            d["c"] = 3
        self.c = nn.Linear(len(t), t["b"])
        if isinstance(t, dict) or t is d:
            self.d = nn.ReLU()
        """,
    "the namespace of a class": """
        try:
            vars(Plain)["w"] = 3
        except TypeError:
            self.c = nn.ReLU()
        """,
    "a copy of a proxy": """
        try:
            copy.deepcopy(types.MappingProxyType({}))
        except TypeError:
            self.c = nn.ReLU()
        """,
    "a chain that is written to": """
        a, b = {"x": 1}, {"x": 2, "y": 3}
        c = collections.ChainMap(a, b)
        c["y"] = 5
        c.update(z=3)
        del c["x"]
        b["w"] = 7
        self.c = nn.Linear(c["x"], c["y"])
        self.d = nn.Linear(len(a), b["y"])
        self.e = nn.Linear(c["w"], len(c))
        """,
    "a chain of which a mapping is changed on one path": """
        a, b = {}, {"x": 2}
        c = collections.ChainMap(a, b)
        if flag:
            a["x"] = 5
        self.c = nn.Linear(c["x"], len(c))
        """,
    "the maps of a chain": """
        c = collections.ChainMap({"x": 1}, {"x": 2})
        c.maps[0]["x"] = 9
        c.maps.append({"w": 4})
        d = c.new_child()
        d["x"] = 3
        self.c = nn.Linear(c["x"], len(c))
        self.d = nn.Linear(d["x"], c.parents["x"])
        """,
    "total_ordering": """
        log = []
        if Version(5, log) >= Version(hidden(flag), log):
            self.a = nn.ReLU()
        self.c = nn.Linear(1 + len(log), 1)
        """,
    "overload without what is overloaded": """
        try:
            stub(1)
        except NotImplementedError:
            self.c = nn.ReLU()
        """,
    "replace with what is not known": """
        @dataclasses.dataclass
        class D:
            a: int = 1
            b: int = 2
        given = {"a": 5} if flag else {"b": 6}
        e = dataclasses.replace(D(), **given)
        self.c = nn.Linear(e.a, e.b)
        """,
    "a callback of an ExitStack that swallows": """
        try:
            with contextlib.ExitStack() as stack:
                stack.push(lambda *_: flag)
                raise KeyError
        except KeyError:
            self.c = nn.ReLU()
        """,
    "a cached property that is assigned": """
        log = []
        lazy = Lazy(log)
        lazy.value = 7 if flag else 8
        self.c = nn.Linear(lazy.value, 1 + len(log))
        """,
    "a copy that is the object itself": """
        one = Itself()
        copy.deepcopy([one] if flag else [one, one])
        self.c = nn.Linear(1 + Itself.copies, 1)
        """,
    "namespaces that are compared": """
        n = types.SimpleNamespace(a=1)
        if flag:
            n.b = 2
        if n == types.SimpleNamespace(a=1):
            self.c = nn.ReLU()
        """,
    "an argument of a cached function that may have no hash": """
        made = functools.lru_cache(lambda x: nn.ReLU())
        x = hidden(flag) if flag else [1]
        try:
            self.c = made(x)
        except TypeError:
            self.d = nn.Tanh()
        """,
    "the global names of a function": """
        set_width.__globals__["WIDTH"] = 5 if flag else 2
        self.c = nn.Linear(WIDTH, 1)
        """,
    "a global name that is not known": """
        set_width.__globals__[text(flag, "WIDTH", "OTHER")] = 8
        self.c = nn.Linear(WIDTH, 1)
        """,
    "a name that is taken out of the global ones": """
        x = globals().pop(text(flag, "WIDTH", "OTHER"), 4)
        self.c = nn.Linear(x, 1)
        """,
    "an attribute of a function whose name is not known": """
        def f(): pass
        f.w = 2
        setattr(f, text(flag, "w", "v"), 5)
        self.c = nn.Linear(f.w, 1)
        """,
    "the __dict__ of a function": """
        def f(): pass
        f.w = 2
        f.__dict__[text(flag, "w", "v")] = 5
        self.c = nn.Linear(f.w, 1)
        """,
    "defaults by keyword": """
        def f(*, w=2): return w
        f.__kwdefaults__[text(flag, "w", "v")] = 5
        self.c = nn.Linear(f(), 1)
        """,
    "past __setattr__, a name that is not known": """
        class K: w = 2
        o = Plain(w=2)
        object.__setattr__(o, text(flag, "w", "v"), 5)
        type.__setattr__(K, text(flag, "w", "v"), 5)
        self.c = nn.Linear(o.w, K.w)
        """,
    "a table from a getter": """
        table()[text(flag, "a", "b")] = Other
        self.c = TABLE["a"]()
        """,
    "words of a command line that are changed": """
        sys.argv[1:] = ["--depth", "4"] if flag else []
        self.c = nn.Linear(parser().parse_args().depth, 1)
        """,
    "words of a command line that are added": """
        sys.argv += ["--depth", "4"] if flag else []
        self.c = nn.Linear(parser().parse_args().depth, 1)
        """,
    "words that do not fit": """
        for words in (["--nope"], ["--depth", "x"], ["--depth", "x" if flag else "3"]):
            try:
                parser().parse_args(words)
            except SystemExit:
                self.add_module(f"c{len(self._modules)}", nn.ReLU())
        """,
    "parsers that read in another way": """
        found, rest = parser(allow_abbrev=False).parse_known_args(["--dep", "3"])
        self.c = nn.Linear(found.depth, 1 + len(rest))
        p = argparse.ArgumentParser(argument_default=argparse.SUPPRESS)
        p.add_argument("--wide")
        if hasattr(p.parse_args([]), "wide"):
            self.d = nn.ReLU()
        """,
    "defaults of which the names are not known": """
        p = parser()
        p.set_defaults(**({"depth": 5} if flag else {"other": 5}))
        self.c = nn.Linear(p.parse_args([]).depth, 1)
        """,
    "an option that is there already": """
        try:
            parser().add_argument("--depth")
        except argparse.ArgumentError:
            self.c = nn.ReLU()
        """,
    "no manager on one path": """
        log = []
        try:
            with (5 if flag else Odd(log)):
                pass
        except (TypeError, AttributeError):
            pass
        self.c = nn.Linear(1 + len(log), 1)
        """,
}


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in CASES.items()])
def test_what_is_claimed_holds_on_both_paths(
    body: str, claims_that_fail: Callable[..., list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["net.py"])
    assert claims_that_fail(body, HEADER) == []
