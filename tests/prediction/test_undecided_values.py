"""Values, containers, classes and functions that differ with a flag nobody can tell."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.needs_torch

HEADER = """
class Tagged(list):
    pass


class Kept(list):
    pass


class Table(dict):
    pass


class Group(set):
    pass


class Row(tuple):
    pass


class Text(str):
    pass


class Settings:
    width = 2

    def __init__(self, **given):
        self.__dict__.update(given)


class Other(Settings):
    width = 3


class Plain:
    pass


class Point(typing.NamedTuple):
    width: int
    depth: int = 1


class Size(typing.NamedTuple):
    height: int
    depth: int = 1


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Shade(enum.Enum):
    RED = 1
    BLUE = 3


class Block(nn.Module):
    def __init__(self, width=2):
        super().__init__()
        self.inner = nn.Linear(width, width)


class Meta(type):
    kind = "meta"


class Hooked:
    def __init_subclass__(cls, **given):
        cls.given = given


LEVEL = 0
STORE = {}


def set_level(value):
    global LEVEL
    LEVEL = value


def count():
    taken = 0
    while True:
        taken += 1
        yield taken


@functools.lru_cache(maxsize=None)
def made(width):
    return nn.Linear(width, width)


@functools.lru_cache(maxsize=None)
def listed(width):
    return []


def give(width=2):
    return width
"""

CASES: dict[str, str] = {
    # Lists.
    "an attribute of a list": """
        x = Tagged([1])
        x.wide = flag
        if x.wide:
            self.c = nn.Linear(2, 2)
        """,
    "an attribute of a list made on either path": """
        if flag:
            x = Tagged([1])
            x.wide = True
        else:
            x = Tagged([1])
            x.wide = False
        if x.wide:
            self.c = nn.Linear(2, 2)
        """,
    "an attribute that a list has on one path": """
        x = Tagged([1])
        if flag:
            x.wide = 1
        if hasattr(x, "wide"):
            self.c = nn.Linear(2, 2)
        """,
    "the class of a list": """
        x = Tagged([1]) if flag else Kept([1])
        if type(x) is Tagged:
            self.c = nn.Linear(2, 2)
        """,
    "the class of a list, assigned": """
        x = Tagged([1])
        if flag:
            x.__class__ = Kept
        if type(x) is Tagged:
            self.c = nn.Linear(2, 2)
        """,
    "the order of a list": """
        x = [1, 2, 3]
        if flag:
            x.reverse()
        self.c = nn.Linear(2, x[0])
        """,
    "the length of a list": """
        x = [1]
        if flag:
            x.append(1)
        self.c = nn.Linear(2, len(x))
        """,
    "an item of a list inside a list": """
        x = [[1], [2]]
        y = x[0] if flag else x[1]
        y.append(4)
        self.c = nn.Linear(2, len(x[0]))
        self.d = nn.Linear(2, len(x[1]))
        """,
    "which of two lists is named twice": """
        a, b = [1], [1]
        c = a if flag else b
        c.append(2)
        for i, _ in enumerate(a):
            self.add_module(f"m{i}", nn.ReLU())
        """,
    "whether two lists are one": """
        a = []
        b = a if flag else []
        b.append(nn.Linear(2, 2))
        self.c = nn.ModuleList(a)
        """,
    "whether two lists are equal": """
        if flag:
            a, b = [1], [1]
        else:
            a, b = [1], [2]
        if a == b:
            self.c = nn.Linear(2, 2)
        """,
    "whether two names are one list, made on either path": """
        if flag:
            a = []
            b = a
        else:
            a = []
            b = []
        if a is b:
            self.c = nn.Linear(2, 2)
        """,
    "whether the parts of a list are one": """
        if flag:
            x = [[]] * 2
        else:
            x = [[], []]
        x[0].append(nn.ReLU())
        self.c = nn.Sequential(*x[1])
        """,
    "a list that is cleared": """
        x = [nn.Linear(2, 2)]
        if flag:
            x.clear()
        self.c = nn.Sequential(*x)
        """,
    "a list kept plainly": """
        x = [nn.Linear(2, 2)]
        if flag:
            x.append(nn.ReLU())
        self.c = x
        """,
    "a list that is sorted by a key": """
        x = sorted([nn.Linear(2, 2), nn.ReLU()], key=lambda m: isinstance(m, nn.ReLU) == flag)
        self.c = nn.Sequential(*x)
        """,
    "a list that is popped in a loop": """
        x = [nn.Linear(2, 2), nn.ReLU()]
        for _ in range(int(flag)):
            x.pop()
        self.c = nn.Sequential(*x)
        """,
    "a list that grows in a while": """
        x, n = [], 0
        while n < (3 if flag else 1):
            x.append(nn.Linear(n + 1, 2))
            n += 1
        self.c = nn.Sequential(*x)
        """,
    # Deques.
    "the longest that a deque may be": """
        x = collections.deque(maxlen=1) if flag else collections.deque()
        x.append(1)
        x.append(2)
        self.c = nn.Linear(2, len(x))
        """,
    "the longest that a deque may be, asked": """
        x = collections.deque([1], maxlen=1) if flag else collections.deque([1])
        if x.maxlen is not None:
            self.c = nn.Linear(2, 2)
        """,
    "the longest of a deque, made on either path": """
        if flag:
            x = collections.deque([1], 2)
        else:
            x = collections.deque([1], 3)
        x.extend([2, 3])
        self.c = nn.Linear(2, x[0])
        """,
    "a deque that is turned": """
        x = collections.deque([1, 2, 3])
        x.rotate(1 if flag else -1)
        self.c = nn.Linear(2, x[0])
        """,
    "a deque or a list": """
        x = collections.deque([1]) if flag else [1]
        if hasattr(x, "popleft"):
            self.c = nn.Linear(2, 2)
        """,
    # Dicts.
    "a defaultdict's factory": """
        d = collections.defaultdict(int) if flag else collections.defaultdict(list)
        if d["x"] == 0:
            self.c = nn.Linear(2, 2)
        """,
    "a defaultdict's factory, made on either path": """
        if flag:
            d = collections.defaultdict(lambda: 2)
        else:
            d = collections.defaultdict(lambda: 3)
        self.c = nn.Linear(2, d["x"])
        """,
    "a defaultdict's factory, assigned": """
        d = collections.defaultdict(int)
        if flag:
            d.default_factory = list
        if d["x"] == 0:
            self.c = nn.Linear(2, 2)
        """,
    "a defaultdict's factory, none on one path": """
        d = collections.defaultdict(int)
        if flag:
            d.default_factory = None
        try:
            d["x"]
        except KeyError:
            self.c = nn.Linear(2, 2)
        """,
    "a key that a defaultdict was asked for": """
        d = collections.defaultdict(list)
        if flag:
            d["x"]
        if "x" in d:
            self.c = nn.Linear(2, 2)
        """,
    "the order of a dict's keys": """
        if flag:
            d = {"a": 2, "b": 3}
        else:
            d = {"b": 3, "a": 2}
        for name, width in d.items():
            self.add_module(name, nn.Linear(width, width))
        """,
    "the order of a dict's keys, moved": """
        d = collections.OrderedDict(a=nn.ReLU(), b=nn.Tanh())
        if flag:
            d.move_to_end("a")
        self.c = nn.Sequential(d)
        """,
    "the order of a dict's keys, one taken out and put back": """
        d = {"a": 2, "b": 3}
        if flag:
            d["a"] = d.pop("a")
        self.c = nn.Linear(2, next(iter(d.values())))
        """,
    "what popitem gives": """
        d = {"a": 2, "b": 3} if flag else {"b": 3, "a": 2}
        name, width = d.popitem()
        self.c = nn.Linear(2, width)
        """,
    "the class of a dict": """
        d = collections.OrderedDict(a=1) if flag else dict(a=1)
        if isinstance(d, collections.OrderedDict):
            self.c = nn.Linear(2, 2)
        """,
    "an attribute of a dict": """
        d = Table(a=1)
        if flag:
            d.width = 2
        else:
            d.width = 3
        self.c = nn.Linear(2, d.width)
        """,
    "an attribute that a dict has on one path": """
        if flag:
            d = Table(a=1)
            d.width = 2
        else:
            d = Table(a=1)
        self.c = nn.Linear(2, getattr(d, "width", 3))
        """,
    "a value of a dict": """
        d = dict(width=2)
        if flag:
            d.update(width=3)
        self.c = nn.Linear(2, d["width"])
        """,
    "a key of a dict": """
        d = {}
        d["a" if flag else "b"] = nn.Linear(2, 2)
        self.c = nn.ModuleDict(d)
        """,
    "a key that is there on one path": """
        d = {"a": 1}
        if flag:
            del d["a"]
        self.c = nn.Linear(2, d.setdefault("a", 2))
        """,
    "the two dicts of a chain": """
        a, b = {"w": 2}, {"w": 3}
        d = collections.ChainMap(a, b) if flag else collections.ChainMap(b, a)
        self.c = nn.Linear(2, d["w"])
        """,
    "a child of a chain": """
        d = collections.ChainMap({"w": 2})
        if flag:
            d = d.new_child({"w": 3})
        self.c = nn.Linear(2, d["w"])
        """,
    "what a read-only view shows": """
        a = {"w": 2}
        d = types.MappingProxyType(a)
        if flag:
            a["w"] = 3
        self.c = nn.Linear(2, d["w"])
        """,
    "a view of keys made before": """
        d = {"a": 1}
        keys = d.keys()
        if flag:
            d["b"] = 1
        for key in keys:
            self.add_module(key, nn.ReLU())
        """,
    "a count": """
        n = collections.Counter("aab")
        if flag:
            n["b"] += 5
        self.c = nn.Linear(2, n.most_common(1)[0][1])
        """,
    "a key that is not counted": """
        n = collections.Counter()
        n.update("a" if flag else "b")
        self.c = nn.Linear(2, n["a"] + 1)
        """,
    "a counter or a dict": """
        n = collections.Counter(a=1) if flag else collections.defaultdict(lambda: 4, a=1)
        self.c = nn.Linear(2, n["b"] + 1)
        """,
    # Sets.
    "an attribute of a set": """
        x = Group([1])
        x.wide = flag
        if x.wide:
            self.c = nn.Linear(2, 2)
        """,
    "an attribute of a set, made on either path": """
        if flag:
            x = Group([1])
            x.width = 2
        else:
            x = Group([1])
            x.width = 3
        self.c = nn.Linear(2, x.width)
        """,
    "an attribute that a set gets on one path": """
        x = Group([1])
        x.width = 2
        if flag:
            x.width = 3
        self.c = nn.Linear(2, x.width)
        """,
    "an attribute that a set has on one path": """
        x = Group([1])
        if flag:
            x.width = 3
        if hasattr(x, "width"):
            self.c = nn.Linear(2, 2)
        """,
    "the class of a set": """
        x = Group([1]) if flag else set([1])
        if type(x) is Group:
            self.c = nn.Linear(2, 2)
        """,
    "the class of a set, assigned": """
        class Named(Group):
            width = 3
        Group.width = 2
        x = Group([1])
        if flag:
            x.__class__ = Named
        self.c = nn.Linear(2, x.width)
        """,
    "a set or a frozenset": """
        x = {1} if flag else frozenset({1})
        if isinstance(x, set):
            self.c = nn.Linear(2, 2)
        """,
    "what is in a set": """
        seen = set()
        if flag:
            seen.add("a")
        for name in ("a", "b"):
            if name not in seen:
                self.add_module(name, nn.ReLU())
        """,
    "how many are in a set": """
        seen = {2}
        seen.add(2 if flag else 3)
        self.c = nn.Linear(2, len(seen))
        """,
    # Tuples, named tuples, strings, slices, ranges.
    "the class of a tuple": """
        x = Row((1, 2)) if flag else (1, 2)
        if type(x) is Row:
            self.c = nn.Linear(2, 2)
        """,
    "an attribute of a tuple": """
        x = Row((1, 2))
        if flag:
            x.width = 3
        self.c = nn.Linear(2, getattr(x, "width", 2))
        """,
    "the class of a named tuple": """
        x = Point(2) if flag else Size(2)
        if hasattr(x, "width"):
            self.c = nn.Linear(2, 2)
        """,
    "the class of a named tuple that holds a list": """
        if flag:
            x = Point([])
        else:
            x = Size([])
        if isinstance(x, Point):
            self.c = nn.Linear(2, 2)
        """,
    "the class of a tuple that holds a list": """
        if flag:
            x = Row(([], 1))
        else:
            x = ([], 1)
        if isinstance(x, Row):
            self.c = nn.Linear(2, 2)
        """,
    "the class of a named tuple of modules": """
        x = Point(nn.ReLU()) if flag else Size(nn.ReLU())
        self.c = nn.Linear(2, len(x._fields[0]))
        """,
    "a named tuple or a tuple": """
        x = Point([2], 1) if flag else ([2], 1)
        if hasattr(x, "_fields"):
            self.c = nn.Linear(2, 2)
        """,
    "a size or a tuple": """
        x = torch.Size([2, 3]) if flag else (2, 3)
        if hasattr(x, "numel"):
            self.c = nn.Linear(2, 2)
        """,
    "the fields of a named tuple class": """
        cls = collections.namedtuple("Pair", ["a", "b"]) if flag else collections.namedtuple("Pair", ["b", "a"])
        self.c = nn.Linear(2, cls(2, 3).a)
        """,
    "the fields of a named tuple class, made on either path": """
        if flag:
            cls = collections.namedtuple("Pair", ["a", "b"])
        else:
            cls = collections.namedtuple("Pair", ["b", "a"])
        self.c = nn.Linear(2, cls(2, 3).a)
        """,
    "the defaults of a named tuple class": """
        if flag:
            cls = collections.namedtuple("Pair", "a b", defaults=(2,))
        else:
            cls = collections.namedtuple("Pair", "a b", defaults=(3,))
        self.c = nn.Linear(2, cls(2).b)
        """,
    "the length of a tuple": """
        x = (nn.ReLU(),)
        if flag:
            x += (nn.Tanh(),)
        self.c = nn.Sequential(*x)
        """,
    "a text or one of its subclass": """
        x = Text("a") if flag else "a"
        if type(x) is Text:
            self.c = nn.Linear(2, 2)
        """,
    "an attribute of a text": """
        x = Text("a")
        if flag:
            x.width = 3
        self.c = nn.Linear(2, getattr(x, "width", 2))
        """,
    "a text that grows": """
        name = "c"
        if flag:
            name += "d"
        setattr(self, name, nn.Linear(2, len(name)))
        """,
    "a text of bytes": """
        x = b"a" if flag else "a"
        if isinstance(x, bytes):
            self.c = nn.Linear(2, 2)
        """,
    "a slice": """
        x = slice(None, 1) if flag else slice(1, None)
        self.c = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Tanh())[x]
        """,
    "the step of a slice": """
        step = slice(None, None, -1 if flag else 1)
        self.c = nn.Sequential(*[nn.Linear(2, 2), nn.ReLU()][step])
        """,
    "the end of a range": """
        for i in range(2 if flag else 3):
            self.add_module(f"c{i}", nn.Linear(2, 2))
        """,
    "the step of a range": """
        x = range(0, 4, 2) if flag else range(0, 4, 3)
        self.c = nn.Linear(2, x[1])
        """,
    "true or one": """
        x = True if flag else 1
        if x is True:
            self.c = nn.Linear(2, 2)
        """,
    "one or one point nought": """
        x = 1 if flag else 1.0
        if isinstance(x, float):
            self.c = nn.Linear(2, 2)
        """,
    "the sign of nought": """
        x = 0.0 if flag else -0.0
        if str(x) == "0.0":
            self.c = nn.Linear(2, 2)
        """,
    # Enums.
    "a member": """
        x = Colour.RED if flag else Colour.BLUE
        self.c = nn.Linear(2, x.value)
        """,
    "the class of a member": """
        x = Colour.RED if flag else Shade.RED
        if x is Colour.RED:
            self.c = nn.Linear(2, 2)
        """,
    "the class of members": """
        kind = Colour if flag else Shade
        self.c = nn.Linear(2, kind["BLUE"].value)
        """,
    "an enum class made on either path": """
        if flag:
            class Kind(enum.Enum):
                A = 2
        else:
            class Kind(enum.Enum):
                A = 3
        self.c = nn.Linear(2, Kind.A.value)
        """,
    "an enum class made by a call": """
        kind = enum.Enum("Kind", "A B") if flag else enum.Enum("Kind", "B A")
        self.c = nn.Linear(2, kind.A.value)
        """,
    "an attribute of a member": """
        Colour.RED.width = 2 if flag else 3
        self.c = nn.Linear(2, Colour(1).width)
        """,
    "flags that are joined": """
        class Parts(enum.Flag):
            A = 1
            B = 2
        x = Parts.A
        if flag:
            x |= Parts.B
        if Parts.B in x:
            self.c = nn.Linear(2, 2)
        """,
    # Data classes.
    "the default of a data class's field": """
        if flag:
            @dataclasses.dataclass
            class Options:
                width: int = 2
        else:
            @dataclasses.dataclass
            class Options:
                width: int = 3
        self.c = nn.Linear(2, Options().width)
        """,
    "the default of a data class's field, by a name": """
        width = 2 if flag else 3
        @dataclasses.dataclass
        class Options:
            size: int = width
        self.c = nn.Linear(2, Options().size)
        """,
    "the factory of a data class's field": """
        factory = list if flag else dict
        @dataclasses.dataclass
        class Options:
            kept: object = dataclasses.field(default_factory=factory)
        if isinstance(Options().kept, list):
            self.c = nn.Linear(2, 2)
        """,
    "the fields of a data class made by a call": """
        cls = dataclasses.make_dataclass("Options", ["a", "b"] if flag else ["b", "a"])
        self.c = nn.Linear(2, cls(2, 3).a)
        """,
    "whether a data class is frozen": """
        @dataclasses.dataclass(frozen=flag)
        class Options:
            width: int = 2
        x = Options()
        try:
            x.width = 3
        except dataclasses.FrozenInstanceError:
            pass
        self.c = nn.Linear(2, x.width)
        """,
    "whether a data class compares": """
        @dataclasses.dataclass(eq=flag)
        class Options:
            width: int = 2
        if Options() == Options():
            self.c = nn.Linear(2, 2)
        """,
    "whether a class is a data class": """
        class Options:
            width: int = 2
        if flag:
            Options = dataclasses.dataclass(Options)
        if dataclasses.is_dataclass(Options):
            self.c = nn.Linear(2, 2)
        """,
    "a field of a data class's instance": """
        @dataclasses.dataclass
        class Options:
            width: int = 2
            bias: bool = True
        x = Options(bias=False) if flag else Options(width=3)
        self.c = nn.Linear(2, x.width, bias=x.bias)
        """,
    "a data class's instance that is replaced": """
        @dataclasses.dataclass
        class Options:
            width: int = 2
        x = Options()
        y = dataclasses.replace(x, width=3) if flag else x
        x.width = 5
        self.c = nn.Linear(2, y.width)
        """,
    # Instances.
    "the class of an instance": """
        x = Settings() if flag else Other()
        self.c = nn.Linear(2, x.width)
        """,
    "the class of an instance, assigned": """
        x = Settings()
        if flag:
            x.__class__ = Other
        self.c = nn.Linear(2, x.width)
        """,
    "the class of an instance, made on either path": """
        if flag:
            x = Settings(a=1)
        else:
            x = Other(a=1)
        if type(x) is Settings:
            self.c = nn.Linear(2, 2)
        """,
    "an attribute of an instance": """
        x = Settings()
        if flag:
            x.width = 4
        self.c = nn.Linear(2, x.width)
        """,
    "an attribute of an instance that is deleted": """
        x = Settings(width=4)
        if flag:
            del x.width
        self.c = nn.Linear(2, x.width)
        """,
    "the order of an instance's attributes": """
        if flag:
            x = Settings(a=2, b=3)
        else:
            x = Settings(b=3, a=2)
        self.c = nn.Linear(2, list(vars(x).values())[0])
        """,
    "which of two instances is changed": """
        a, b = Plain(), Plain()
        x = a if flag else b
        x.width = 3
        if hasattr(a, "width"):
            self.c = nn.Linear(2, 2)
        """,
    "which attribute is set": """
        x = Settings()
        setattr(x, "width" if flag else "height", 3)
        self.c = nn.Linear(2, x.width)
        """,
    "the dict of an instance, replaced": """
        x = Settings(width=3)
        if flag:
            x.__dict__ = {"width": 4}
        self.c = nn.Linear(2, x.width)
        """,
    "the dict of an instance, shared": """
        a, b = Settings(), Settings()
        if flag:
            a.__dict__ = b.__dict__
        b.width = 4
        self.c = nn.Linear(2, a.width)
        """,
    "a simple namespace": """
        x = types.SimpleNamespace(width=2) if flag else types.SimpleNamespace(height=3)
        self.c = nn.Linear(2, getattr(x, "width", 4))
        """,
    "an instance of a class made on either path": """
        if flag:
            class Local:
                width = 2
        else:
            class Local:
                width = 3
        self.c = nn.Linear(2, Local().width)
        """,
    "instances that are kept in instances": """
        if flag:
            a = Plain()
            a.next = Plain()
            a.next.next = a
        else:
            a = Plain()
            a.next = Plain()
            a.next.next = a.next
        if a.next.next is a:
            self.c = nn.Linear(2, 2)
        """,
    # Classes.
    "a class attribute": """
        if flag:
            Settings.width = 5
        self.c = nn.Linear(2, Settings().width)
        """,
    "a class attribute that is deleted": """
        if flag:
            del Other.width
        self.c = nn.Linear(2, Other().width)
        """,
    "a class attribute, by setattr": """
        setattr(Settings if flag else Other, "width", 7)
        self.c = nn.Linear(2, Settings.width)
        self.d = nn.Linear(2, Other.width)
        """,
    "the base of a class": """
        base = Settings if flag else Other
        class Local(base):
            pass
        self.c = nn.Linear(2, Local().width)
        """,
    "the base of a class of modules": """
        base = nn.Linear if flag else nn.Bilinear
        class Local(base):
            def __init__(self):
                nn.Module.__init__(self)
                self.inner = nn.ReLU()
        self.c = Local()
        if isinstance(self.c, nn.Linear):
            self.d = nn.ReLU()
        """,
    "the base of a class, one class on either path": """
        if flag:
            class Local(Settings):
                pass
        else:
            class Local(Other):
                pass
        self.c = nn.Linear(2, Local.width)
        """,
    "the bases of a class, replaced": """
        class Local(Settings):
            pass
        if flag:
            Local.__bases__ = (Other,)
        self.c = nn.Linear(2, Local.width)
        """,
    "the order of a class's bases": """
        class Left:
            width = 2
        class Right:
            width = 3
        class Local(*((Left, Right) if flag else (Right, Left))):
            pass
        self.c = nn.Linear(2, Local.width)
        """,
    "the bases of a class made by a call": """
        cls = type("Local", (Settings,) if flag else (Other,), {})
        self.c = nn.Linear(2, cls.width)
        """,
    "the namespace of a class made by a call": """
        cls = type("Local", (), {"width": 2} if flag else {"width": 3})
        self.c = nn.Linear(2, cls.width)
        """,
    "the name of a class made by a call": """
        if flag:
            cls = type("First", (nn.Module,), {})
        else:
            cls = type("Second", (nn.Module,), {})
        self.c = cls()
        """,
    "the name of a class": """
        class Local(nn.Module):
            pass
        if flag:
            Local.__name__ = "Renamed"
            Local.__qualname__ = "Renamed"
        self.c = Local()
        self.d = nn.Linear(2, len(Local.__name__))
        """,
    "a metaclass": """
        meta = Meta if flag else type
        class Local(metaclass=meta):
            pass
        if hasattr(Local, "kind"):
            self.c = nn.Linear(2, 2)
        """,
    "a metaclass, one class on either path": """
        if flag:
            class Local(metaclass=Meta):
                pass
        else:
            class Local:
                pass
        if type(Local) is Meta:
            self.c = nn.Linear(2, 2)
        """,
    "a metaclass called": """
        class Counting(type):
            def __call__(cls, *given):
                made = super().__call__(*given)
                made.width = 5
                return made
        cls = (Counting if flag else type)("Local", (Settings,), {})
        self.c = nn.Linear(2, cls().width)
        """,
    "keywords of a class": """
        class Local(Hooked, wide=flag):
            pass
        if Local.given["wide"]:
            self.c = nn.Linear(2, 2)
        """,
    "a decorator of a class": """
        def widened(cls):
            cls.width = 9
            return cls
        keep = widened if flag else (lambda cls: cls)
        @keep
        class Local(Settings):
            pass
        self.c = nn.Linear(2, Local.width)
        """,
    "a class of modules": """
        cls = nn.ReLU if flag else nn.Tanh
        self.c = cls()
        """,
    "a class's method": """
        if flag:
            Block.forward = lambda self, x: 2
        else:
            Block.forward = lambda self, x: 3
        self.c = nn.Linear(2, Block().forward(None))
        """,
    "slots": """
        class Local:
            __slots__ = ("a",) if flag else ("a", "b")
        x = Local()
        try:
            x.b = 1
        except AttributeError:
            self.c = nn.Linear(2, 2)
        """,
    "an abstract class": """
        import abc
        class Local(abc.ABC):
            pass
        if flag:
            Local.register(int)
        if isinstance(3, Local):
            self.c = nn.Linear(2, 2)
        """,
    "subclasses of a class": """
        if flag:
            class Local(Plain):
                pass
        self.c = nn.Linear(2, 1 + len(Plain.__subclasses__()))
        """,
    # Functions.
    "the closure of a function": """
        width = 2
        def give():
            return width
        if flag:
            width = 3
        self.c = nn.Linear(2, give())
        """,
    "the closure of a function made on either path": """
        def maker(width):
            def give():
                return width
            return give
        give = maker(2) if flag else maker(3)
        self.c = nn.Linear(2, give())
        """,
    "the closure of a function made by an if": """
        def maker(width):
            def give():
                return width
            return give
        if flag:
            give = maker(2)
        else:
            give = maker(3)
        self.c = nn.Linear(2, give())
        """,
    "the closure of a function that counts": """
        def maker():
            n = 0
            def step():
                nonlocal n
                n += 1
                return n
            return step
        step = maker()
        if flag:
            step()
        self.c = nn.Linear(2, step())
        """,
    "the default of a function": """
        width = 2 if flag else 3
        def give(size=width):
            return size
        width = 4
        self.c = nn.Linear(2, give())
        """,
    "the default of a function, one on either path": """
        if flag:
            def give(size=2):
                return size
        else:
            def give(size=3):
                return size
        self.c = nn.Linear(2, give())
        """,
    "the defaults of a function, assigned": """
        def give(size=2):
            return size
        if flag:
            give.__defaults__ = (3,)
        self.c = nn.Linear(2, give())
        """,
    "the keyword defaults of a function, assigned": """
        def give(*, size=2):
            return size
        if flag:
            give.__kwdefaults__ = {"size": 3}
        self.c = nn.Linear(2, give())
        """,
    "the default list of a function": """
        def give(kept=[]):
            kept.append(1)
            return len(kept)
        if flag:
            give()
        self.c = nn.Linear(2, give())
        """,
    "the code of a function": """
        def give():
            return 2
        def other():
            return 3
        if flag:
            give.__code__ = other.__code__
        self.c = nn.Linear(2, give())
        """,
    "an attribute of a function": """
        def give():
            return 2
        if flag:
            give.width = 3
        self.c = nn.Linear(2, getattr(give, "width", 2))
        """,
    "an attribute of a file's function": """
        give.width = 2
        if flag:
            give.width = 3
        self.c = nn.Linear(2, give.width)
        """,
    "the name of a function": """
        def give():
            return 2
        if flag:
            give.__name__ = "longer"
        self.c = nn.Linear(2, len(give.__name__))
        """,
    "what a function wraps": """
        def two(): return 2
        def three(): return 3
        def wrapper(f):
            @functools.wraps(f)
            def inner():
                return f()
            return inner
        f = wrapper(two if flag else three)
        self.c = nn.Linear(2, f.__wrapped__())
        """,
    "the name that a wrapper has": """
        def two(): return 2
        def three(): return 3
        if flag:
            @functools.wraps(two)
            def f(): return 1
        else:
            @functools.wraps(three)
            def f(): return 1
        self.c = nn.Linear(2, len(f.__name__))
        """,
    "lambdas in a loop": """
        makers = []
        for i in range(2 if flag else 3):
            makers.append(lambda: i)
        self.c = nn.Linear(2, makers[0]())
        """,
    "a partial's keywords": """
        make = functools.partial(nn.Linear, 2, bias=True) if flag else functools.partial(nn.Linear, 2, bias=False)
        self.c = make(3)
        """,
    "a partial's keywords, one on either path": """
        if flag:
            make = functools.partial(dict, wide=[])
        else:
            make = functools.partial(dict, broad=[])
        if "wide" in make():
            self.c = nn.Linear(2, 2)
        """,
    "a partial's function": """
        make = functools.partial(nn.Linear if flag else nn.Bilinear, 2, 3)
        self.c = make(4)
        """,
    "a partial's keywords, changed": """
        make = functools.partial(nn.Linear, 2, 3)
        if flag:
            make.keywords["bias"] = False
        self.c = make()
        """,
    "a partial's list": """
        kept = []
        make = functools.partial(len, kept)
        if flag:
            kept.append(1)
        self.c = nn.Linear(2, make())
        """,
    "the receiver of a bound method": """
        a, b = Settings(width=2), Settings(width=3)
        def give(self):
            return self.width
        Settings.give = give
        f = a.give if flag else b.give
        self.c = nn.Linear(2, f())
        """,
    "the receiver of a bound method made on either path": """
        f = [1].copy if flag else [1, 2].copy
        self.c = nn.Linear(2, len(f()))
        """,
    "the receiver of a method, made by types": """
        def give(self):
            return self.width
        f = types.MethodType(give, Settings() if flag else Other())
        self.c = nn.Linear(2, f())
        """,
    "an operator's getter": """
        get = operator.itemgetter(0) if flag else operator.itemgetter(1)
        self.c = nn.Linear(2, get([2, 3]))
        """,
    "an operator's name": """
        get = operator.attrgetter("a" if flag else "b")
        self.c = nn.Linear(2, get(Settings(a=2, b=3)))
        """,
    # Properties and descriptors.
    "a property's getter": """
        class Local:
            pass
        Local.width = property(lambda self: 2) if flag else property(lambda self: 3)
        self.c = nn.Linear(2, Local().width)
        """,
    "a property's getter, replaced": """
        class Local:
            @property
            def width(self):
                return 2
        if flag:
            Local.width = Local.width.getter(lambda self: 3)
        self.c = nn.Linear(2, Local().width)
        """,
    "a property's setter": """
        class Local:
            kept = 2
            @property
            def width(self):
                return self.kept
        def store(self, value):
            self.kept = value
        if flag:
            Local.width = Local.width.setter(store)
        x = Local()
        try:
            x.width = 3
        except AttributeError:
            pass
        self.c = nn.Linear(2, x.width)
        """,
    "a property or a value": """
        class Local:
            width = property(lambda self: 2) if flag else 3
        self.c = nn.Linear(2, Local().width)
        """,
    "a static method or a class method": """
        def give(*given):
            return 1 + len(given)
        class Local:
            f = staticmethod(give) if flag else classmethod(give)
        self.c = nn.Linear(2, Local.f())
        """,
    "a descriptor's state": """
        class Field:
            def __init__(self, width):
                self.width = width
            def __get__(self, instance, owner):
                return self.width
        class Local:
            width = Field(2 if flag else 3)
        self.c = nn.Linear(2, Local().width)
        """,
    "a descriptor's state, changed": """
        class Field:
            width = 2
            def __get__(self, instance, owner):
                return self.width
        field = Field()
        class Local:
            width = field
        if flag:
            field.width = 3
        self.c = nn.Linear(2, Local().width)
        """,
    "whether a descriptor has a setter": """
        class Field:
            def __get__(self, instance, owner):
                return 2
        if flag:
            Field.__set__ = lambda self, instance, value: None
        class Local:
            width = Field()
        x = Local()
        x.__dict__["width"] = 3
        self.c = nn.Linear(2, x.width)
        """,
    "whether a class has __getattr__": """
        class Local:
            pass
        if flag:
            Local.__getattr__ = lambda self, name: 3
        self.c = nn.Linear(2, getattr(Local(), "width", 2))
        """,
    "whether a class has __len__": """
        class Local:
            pass
        if flag:
            Local.__len__ = lambda self: 0
        if Local():
            self.c = nn.Linear(2, 2)
        """,
    "whether a class has __eq__": """
        class Local:
            pass
        if flag:
            Local.__eq__ = lambda self, other: True
        if Local() == 3:
            self.c = nn.Linear(2, 2)
        """,
    "whether a class has __call__": """
        class Local:
            pass
        if flag:
            Local.__call__ = lambda self: 3
        self.c = nn.Linear(2, 3 if callable(Local()) else 2)
        """,
    # Names of a file, of builtins.
    "a file's name": """
        set_level(2 if flag else 3)
        self.c = nn.Linear(2, LEVEL)
        """,
    "a file's name, on one path": """
        if flag:
            set_level(3)
        self.c = nn.Linear(2, LEVEL + 1)
        """,
    "a file's name, by globals": """
        if flag:
            globals()["LEVEL"] = 5
        self.c = nn.Linear(2, LEVEL + 1)
        """,
    "a name that a file has on one path": """
        if flag:
            globals()["FURTHER"] = 5
        if "FURTHER" in globals():
            self.c = nn.Linear(2, 2)
        """,
    "a file's dict": """
        if flag:
            STORE["x"] = 1
        self.c = nn.Linear(2, len(STORE) + 1)
        """,
    "a file's class": """
        global Block
        if flag:
            Block = nn.ReLU
        self.c = Block()
        """,
    "a name of torch": """
        kept = nn.ReLU
        try:
            if flag:
                nn.ReLU = nn.Tanh
            self.c = nn.ReLU()
        finally:
            nn.ReLU = kept
        """,
    # Exceptions.
    "which exception is raised": """
        try:
            raise (KeyError if flag else ValueError)("x")
        except KeyError:
            self.c = nn.Linear(2, 2)
        except ValueError:
            self.d = nn.Linear(2, 2)
        """,
    "an exception's arguments": """
        try:
            raise ValueError(2 if flag else 3)
        except ValueError as error:
            self.c = nn.Linear(2, error.args[0])
        """,
    "an exception's attribute": """
        error = ValueError()
        error.width = 2
        if flag:
            error.width = 3
        self.c = nn.Linear(2, error.width)
        """,
    "an exception made on either path": """
        if flag:
            error = ValueError(2)
        else:
            error = ValueError(3)
        self.c = nn.Linear(2, error.args[0])
        """,
    "an exception's cause": """
        try:
            try:
                raise KeyError
            except KeyError as first:
                raise ValueError from (first if flag else None)
        except ValueError as error:
            if error.__cause__ is not None:
                self.c = nn.Linear(2, 2)
        """,
    "an exception's context": """
        error = ValueError()
        try:
            if flag:
                try:
                    raise KeyError
                except KeyError:
                    raise error
            raise error
        except ValueError as caught:
            if caught.__context__ is not None:
                self.c = nn.Linear(2, 2)
        """,
    "an exception's notes": """
        error = ValueError()
        if flag:
            error.add_note("x")
        if hasattr(error, "__notes__"):
            self.c = nn.Linear(2, 2)
        """,
    "an exception's arguments, assigned": """
        error = ValueError(2)
        if flag:
            error.args = (3,)
        self.c = nn.Linear(2, error.args[0])
        """,
    # Context managers.
    "what a manager gives": """
        manager = contextlib.nullcontext(2) if flag else contextlib.nullcontext(3)
        with manager as width:
            self.c = nn.Linear(2, width)
        """,
    "whether a manager swallows": """
        manager = contextlib.suppress(KeyError) if flag else contextlib.suppress(ValueError)
        try:
            with manager:
                raise KeyError
            self.c = nn.Linear(2, 2)
        except KeyError:
            self.d = nn.Linear(3, 3)
        """,
    "whether a manager swallows, made on either path": """
        if flag:
            manager = contextlib.suppress(KeyError)
        else:
            manager = contextlib.suppress()
        try:
            with manager:
                raise KeyError
            self.c = nn.Linear(2, 2)
        except KeyError:
            pass
        """,
    "what leaving does": """
        class Leaving:
            def __init__(self, width):
                self.width = width
            def __enter__(self):
                return self
            def __exit__(self, *given):
                kept.append(self.width)
                return True
        kept = []
        with (Leaving(2) if flag else Leaving(3)):
            raise ValueError
        self.c = nn.Linear(2, kept[0])
        """,
    "what a stack of managers calls": """
        kept = []
        with contextlib.ExitStack() as stack:
            if flag:
                stack.callback(kept.append, 1)
        self.c = nn.Linear(2, 1 + len(kept))
        """,
    "the manager of a generator": """
        @contextlib.contextmanager
        def within(width):
            yield width
            kept.append(width)
        kept = []
        manager = within(2) if flag else within(3)
        with manager as width:
            pass
        self.c = nn.Linear(2, kept[0])
        """,
    # Iterators.
    "an iterator's position": """
        x = iter([2, 3])
        if flag:
            next(x)
        self.c = nn.Linear(2, next(x))
        """,
    "an iterator's position, made on either path": """
        if flag:
            x = iter([2, 2, 3])
            next(x)
        else:
            x = iter([2, 2, 3])
        next(x)
        self.c = nn.Linear(2, next(x))
        """,
    "an iterator's position, items alike": """
        x = iter([1, 1, 1])
        if flag:
            next(x)
        self.c = nn.Linear(2, sum(x))
        """,
    "an iterator's list": """
        kept = [2]
        x = iter(kept)
        if flag:
            kept.append(3)
        self.c = nn.Linear(2, sum(x))
        """,
    "which list is iterated": """
        x = iter([2, 4]) if flag else iter([3, 5])
        self.c = nn.Linear(2, next(x))
        """,
    "which iterator is advanced": """
        a, b = iter([2, 3]), iter([2, 3])
        next(a if flag else b)
        self.c = nn.Linear(2, next(a))
        """,
    "a generator's position": """
        x = count()
        if flag:
            next(x)
        self.c = nn.Linear(2, next(x))
        """,
    "a generator's position, made on either path": """
        if flag:
            x = count()
            next(x)
        else:
            x = count()
        self.c = nn.Linear(2, next(x))
        """,
    "a generator's argument": """
        def upwards(n):
            while True:
                yield n
                n += 1
        x = upwards(2) if flag else upwards(3)
        self.c = nn.Linear(2, next(x))
        """,
    "a generator's argument, made on either path": """
        def upwards(n):
            while True:
                yield n
                n += 1
        if flag:
            x = upwards(2)
        else:
            x = upwards(3)
        next(x)
        self.c = nn.Linear(2, next(x))
        """,
    "a generator's text": """
        x = (i for i in (2, 3)) if flag else (i + 1 for i in (2, 3))
        self.c = nn.Linear(2, next(x))
        """,
    "a generator that is closed": """
        x = count()
        if flag:
            x.close()
        self.c = nn.Linear(2, next(x, 4))
        """,
    "what is sent to a generator": """
        def echo():
            width = 2
            while True:
                sent = yield width
                width = sent or width
        x = echo()
        next(x)
        x.send(3 if flag else 4)
        self.c = nn.Linear(2, next(x))
        """,
    "what a generator reads later": """
        width = 2
        x = (width for _ in range(3))
        if flag:
            width = 3
        self.c = nn.Linear(2, next(x))
        """,
    "what a generator has returned": """
        def inner():
            yield 1
            return 2 if flag else 3
        def outer():
            width = yield from inner()
            yield width
        self.c = nn.Linear(2, list(outer())[-1])
        """,
    "where counting starts": """
        x = itertools.count(2) if flag else itertools.count(3)
        self.c = nn.Linear(2, next(x))
        """,
    "how far counting is": """
        x = itertools.count(1)
        if flag:
            next(x)
        self.c = nn.Linear(2, next(x))
        """,
    "counting on either path": """
        if flag:
            x = itertools.count(1)
        else:
            x = itertools.count(1, 2)
        next(x)
        self.c = nn.Linear(2, next(x))
        """,
    "how far a cycle is": """
        x = itertools.cycle([2, 3])
        if flag:
            next(x)
        self.c = nn.Linear(2, next(x))
        """,
    "what is repeated": """
        x = itertools.repeat(2) if flag else itertools.repeat(3)
        self.c = nn.Linear(2, next(x))
        """,
    "how often is repeated": """
        x = itertools.repeat(2, 2 if flag else 3)
        self.c = nn.Linear(2, len(list(x)))
        """,
    "the parts of a chain": """
        x = itertools.chain([2], [3]) if flag else itertools.chain([3], [2])
        self.c = nn.Linear(2, next(x))
        """,
    "an iterator split in two": """
        a, b = itertools.tee([2, 3])
        if flag:
            next(a)
        self.c = nn.Linear(2, next(a))
        self.d = nn.Linear(2, next(b))
        """,
    "the end of a slice of an iterator": """
        x = itertools.islice(itertools.count(), 2 if flag else 3)
        self.c = nn.Linear(2, len(list(x)))
        """,
    "one iterator in a zip": """
        x = iter([1, 2, 3, 4])
        pairs = zip(x, x) if flag else zip(x, iter([1, 2, 3, 4]))
        self.c = nn.Linear(2, len(list(pairs)))
        """,
    "a map's function": """
        x = map((lambda n: n + 1) if flag else (lambda n: n + 2), [1])
        self.c = nn.Linear(2, next(x))
        """,
    "a map's function, made on either path": """
        if flag:
            x = map(lambda n: n + 1, [1])
        else:
            x = map(lambda n: n + 2, [1])
        self.c = nn.Linear(2, next(x))
        """,
    "an enumeration's start": """
        x = enumerate(["a"], 2) if flag else enumerate(["a"], 3)
        self.c = nn.Linear(2, next(x)[0])
        """,
    "how far an enumeration is": """
        x = enumerate("abc")
        if flag:
            next(x)
        self.c = nn.Linear(2, next(x)[0] + 1)
        """,
    "an iterator of one's own": """
        class Steps:
            def __init__(self):
                self.n = 1
            def __iter__(self):
                return self
            def __next__(self):
                self.n += 1
                return self.n
        x = Steps()
        if flag:
            next(x)
        self.c = nn.Linear(2, next(x))
        """,
    # Caches and copies.
    "how often a cache was asked": """
        if flag:
            made(2)
        self.c = nn.Linear(2, 1 + made.cache_info().currsize)
        """,
    "what a cached list holds": """
        listed(2).append(1)
        if flag:
            listed(2).append(1)
        self.c = nn.Linear(2, len(listed(2)))
        """,
    "a cached property": """
        class Local:
            width = 2
            @functools.cached_property
            def double(self):
                return self.width * 2
        x = Local()
        if flag:
            x.double
        x.width = 5
        self.c = nn.Linear(2, x.double)
        """,
    "a cached property that is deleted": """
        class Local:
            width = 2
            @functools.cached_property
            def double(self):
                return self.width * 2
        x = Local()
        x.double
        x.width = 5
        if flag:
            del x.double
        self.c = nn.Linear(2, x.double)
        """,
    "a shallow or a deep copy": """
        x = [[1]]
        y = copy.copy(x) if flag else copy.deepcopy(x)
        y[0].append(2)
        self.c = nn.Linear(2, len(x[0]))
        """,
    "what a copy is made of": """
        x = Settings(width=2)
        if flag:
            x.width = 3
        y = copy.copy(x)
        x.width = 4
        self.c = nn.Linear(2, y.width)
        """,
    "what a class says of its copies": """
        class Local(Settings):
            pass
        if flag:
            Local.__deepcopy__ = lambda self, memo: self
        x = Local()
        y = copy.deepcopy(x)
        y.width = 4
        self.c = nn.Linear(2, x.width)
        """,
    "what a state holds": """
        class Local:
            def __init__(self):
                self.width, self.height = 2, 3
            def __getstate__(self):
                return {"width": 5} if flag else {"height": 5}
        x = copy.copy(Local())
        if hasattr(x, "width"):
            self.c = nn.Linear(2, 2)
        """,
    "how a state is taken up": """
        class Local:
            width = 2
            def __getstate__(self):
                return {"width": 3}
        if flag:
            Local.__setstate__ = lambda self, state: None
        self.c = nn.Linear(2, copy.copy(Local()).width)
        """,
    # Equal constructions.
    "a block made with either width": """
        self.a = Block(2 if flag else 3)
        self.b = Block(2)
        self.c = Block(3)
        """,
    "a block that reads a file's name": """
        class Local(nn.Module):
            def __init__(self):
                super().__init__()
                if LEVEL:
                    self.inner = nn.ReLU()
        self.a = Local()
        self.b = Local()
        if flag:
            set_level(1)
        self.c = Local()
        """,
    "a block that reads a set's attribute": """
        class Local(nn.Module):
            def __init__(self, given):
                super().__init__()
                self.inner = nn.Linear(2, given.width)
        if flag:
            x = Group()
            x.width = 2
        else:
            x = Group()
            x.width = 3
        self.a, self.b, self.c = Local(x), Local(x), Local(x)
        """,
    "a block that reads a dict's factory": """
        class Local(nn.Module):
            def __init__(self, given):
                super().__init__()
                self.inner = nn.Linear(2, given["x"])
        x, y, z = (collections.defaultdict(lambda: 2), collections.defaultdict(lambda: 3), None)
        self.a, self.b = Local(x.copy()), Local(y.copy())
        self.c = Local(x.copy() if flag else y.copy())
        """,
    "a block that reads the default of a function": """
        class Local(nn.Module):
            def __init__(self, f):
                super().__init__()
                self.inner = nn.Linear(2, f())
        def maker(width):
            def f(size=width):
                return size
            return f
        self.a, self.b = Local(maker(2)), Local(maker(2))
        self.c = Local(maker(2) if flag else maker(3))
        """,
    "a block that advances an iterator": """
        class Local(nn.Module):
            def __init__(self, given):
                super().__init__()
                self.inner = nn.Linear(2, next(given))
        x = itertools.count(1)
        self.a = Local(x)
        if flag:
            self.b = Local(x)
        self.c = Local(x)
        """,
    # Names that are attributes of containers, alike but for these.
    "the name of a list's attribute": """
        if flag:
            x = Tagged([1])
            x.wide = 2
        else:
            x = Tagged([1])
            x.broad = 2
        if hasattr(x, "wide"):
            self.c = nn.Linear(2, 2)
        """,
    "an item of a list or its attribute": """
        if flag:
            x = Tagged([1, 2])
        else:
            x = Tagged([1])
            x.wide = 2
        self.c = nn.Linear(2, len(x))
        """,
    "the name of a dict's attribute": """
        if flag:
            x = Table(a=1)
            x.wide = 2
        else:
            x = Table(a=1)
            x.broad = 2
        if hasattr(x, "wide"):
            self.c = nn.Linear(2, 2)
        """,
    "an entry of a dict or its attributes": """
        if flag:
            x = Table({1: 2})
        else:
            x = Table()
            x.wide = 1
            x.broad = 2
        self.c = nn.Linear(2, 1 + len(x))
        """,
    "the name of a set's attribute": """
        if flag:
            x = Group([1])
            x.wide = 2
        else:
            x = Group([1])
            x.broad = 2
        if hasattr(x, "wide"):
            self.c = nn.Linear(2, 2)
        """,
    "the name of an instance's attribute": """
        if flag:
            x = Plain()
            x.wide = 2
        else:
            x = Plain()
            x.broad = 2
        if hasattr(x, "wide"):
            self.c = nn.Linear(2, 2)
        """,
    "the name of an exception's attribute": """
        if flag:
            x = ValueError(2)
            x.wide = 2
        else:
            x = ValueError(2)
            x.broad = 2
        if hasattr(x, "wide"):
            self.c = nn.Linear(2, 2)
        """,
    "the key of a dict": """
        d = {"wide": 2} if flag else {"broad": 2}
        if "wide" in d:
            self.c = nn.Linear(2, 2)
        """,
    "true or one, in a list": """
        x = [True] if flag else [1]
        if x[0] is True:
            self.c = nn.Linear(2, 2)
        """,
    "true or one, the key of a dict": """
        d = {}
        d[True if flag else 1] = 2
        if list(d)[0] is True:
            self.c = nn.Linear(2, 2)
        """,
    # In loops, in try, in what is called.
    "an attribute of a set, in a loop": """
        x = Group()
        x.width = 2
        for _ in range(3 if flag else 0):
            x.width = 3
        self.c = nn.Linear(2, x.width)
        """,
    "an attribute of a set, in a while": """
        x = Group()
        x.width = 1
        n = 4 if flag else 2
        while x.width < n:
            x.width += 1
        self.c = nn.Linear(2, x.width)
        """,
    "an attribute of a set, in a try": """
        x = Group()
        x.width = 2
        try:
            if flag:
                raise ValueError
            x.width = 3
        except ValueError:
            pass
        self.c = nn.Linear(2, x.width)
        """,
    "an attribute of a set, in what is called": """
        def change(x):
            if flag:
                x.width = 3
        x = Group()
        x.width = 2
        change(x)
        self.c = nn.Linear(2, x.width)
        """,
    "an attribute of a set, before a return": """
        def change(x):
            if flag:
                x.width = 3
                return 1
            return 2
        x = Group()
        x.width = 2
        self.d = nn.Linear(2, change(x))
        self.c = nn.Linear(2, x.width)
        """,
    "an attribute of a list, in a loop": """
        x = Tagged()
        x.width = 2
        for _ in range(3 if flag else 0):
            x.width += 1
        self.c = nn.Linear(2, x.width)
        """,
    "an attribute of a dict, in a try": """
        x = Table()
        x.width = 2
        try:
            x.width = 3
            {True: 1}[flag]
            x.width = 4
        except KeyError:
            pass
        self.c = nn.Linear(2, x.width)
        """,
    "the class of an instance, in a loop": """
        x = Settings()
        for _ in range(2 if flag else 0):
            x.__class__ = Other
        self.c = nn.Linear(2, x.width)
        """,
    "a defaultdict's factory, in a loop": """
        d = collections.defaultdict(lambda: 2)
        for _ in range(2 if flag else 0):
            d.default_factory = lambda: 3
        self.c = nn.Linear(2, d["x"])
        """,
    "a function's attribute, in a loop": """
        def give():
            return 1
        give.width = 2
        while give.width < (4 if flag else 2):
            give.width += 1
        self.c = nn.Linear(2, give.width)
        """,
    "an iterator's position, in a loop": """
        x = iter([1, 2, 3, 4])
        for _ in range(2 if flag else 0):
            next(x)
        self.c = nn.Linear(2, next(x))
        """,
    "an iterator's position, where a loop ends": """
        x = iter([1, 2, 3, 4])
        for n in x:
            if n == 2 or flag:
                break
        self.c = nn.Linear(2, next(x))
        """,
    "a generator's position, in a while": """
        x = count()
        n = next(x)
        while n < (4 if flag else 2):
            n = next(x)
        self.c = nn.Linear(2, next(x))
        """,
    "which of two iterators is advanced, in a function": """
        def take(x):
            return next(x)
        a, b = iter([2, 4]), iter([3, 5])
        take(a if flag else b)
        self.c = nn.Linear(2, take(a))
        self.d = nn.Linear(2, take(b))
        """,
    "the class of a tuple, in a loop": """
        x = ([], 1)
        for _ in range(2 if flag else 0):
            x = Point([], 1)
        if isinstance(x, Point):
            self.c = nn.Linear(2, 2)
        """,
    "an order of keys, in a loop": """
        d = collections.OrderedDict(a=nn.ReLU(), b=nn.Tanh())
        for _ in range(1 if flag else 0):
            d.move_to_end("a")
        self.c = nn.Sequential(d)
        """,
    "the class of an instance, in a method": """
        class Local(Settings):
            def turn(self):
                if flag:
                    self.__class__ = Other
        x = Local()
        x.turn()
        self.c = nn.Linear(2, x.width)
        """,
    "a name bound on one path": """
        if flag:
            y = 2
        try:
            y
        except NameError:
            self.c = nn.Linear(2, 2)
        """,
    "a name deleted on one path": """
        y = 2
        if flag:
            del y
        try:
            self.c = nn.Linear(2, y)
        except NameError:
            self.d = nn.Linear(3, 3)
        """,
    "a name of a closure, bound on one path": """
        def give():
            return y
        if flag:
            y = 2
        try:
            self.c = nn.Linear(2, give())
        except NameError:
            self.d = nn.Linear(3, 3)
        """,
    "the names that are bound": """
        if flag:
            y = 2
        if "y" in locals():
            self.c = nn.Linear(2, 2)
        """,
    "a loop that ends early": """
        for n in (2, 3):
            if flag:
                break
        else:
            self.c = nn.Linear(2, 2)
        self.d = nn.Linear(2, n)
        """,
    "what a class pattern finds": """
        x = Point(2) if flag else Size(3)
        match x:
            case Point(width=width):
                self.c = nn.Linear(2, width)
            case Size(height=height):
                self.d = nn.Linear(2, height)
        """,
    "what a mapping pattern leaves": """
        x = {"a": 2, "b": 3}
        if flag:
            x["c"] = 4
        match x:
            case {"a": width, **rest}:
                self.c = nn.Linear(width, len(rest))
        """,
    # Special methods that a class has on one path.
    "whether a class has __bool__": """
        class Local:
            pass
        if flag:
            Local.__bool__ = lambda self: False
        if Local():
            self.c = nn.Linear(2, 2)
        """,
    "whether a class has __contains__": """
        class Local(list):
            pass
        if flag:
            Local.__contains__ = lambda self, item: True
        if 3 in Local():
            self.c = nn.Linear(2, 2)
        """,
    "whether a class has __iter__": """
        class Local(list):
            pass
        if flag:
            Local.__iter__ = lambda self: iter([1, 2, 3])
        self.c = nn.Linear(2, 1 + sum(Local([1])))
        """,
    "whether a class has __getitem__": """
        class Local(dict):
            pass
        if flag:
            Local.__getitem__ = lambda self, key: 3
        self.c = nn.Linear(2, Local(a=2)["a"])
        """,
    "whether a class has __missing__": """
        class Local(dict):
            pass
        if flag:
            Local.__missing__ = lambda self, key: 3
        try:
            self.c = nn.Linear(2, Local()["a"])
        except KeyError:
            self.d = nn.Linear(2, 2)
        """,
    "whether a class has __hash__": """
        class Local:
            def __eq__(self, other):
                return True
            def __hash__(self):
                return id(self)
        if flag:
            Local.__hash__ = lambda self: 1
        self.c = nn.Linear(2, len({Local(), Local()}))
        """,
    "whether a class has __lt__": """
        class Local:
            def __lt__(self, other):
                return True
        if flag:
            Local.__lt__ = lambda self, other: False
        if Local() < Local():
            self.c = nn.Linear(2, 2)
        """,
    "whether a class has __add__": """
        class Local:
            def __radd__(self, other):
                return 2
        if flag:
            Local.__add__ = lambda self, other: 3
        self.c = nn.Linear(2, Local() + Plain() if flag else Plain() + Local())
        """,
    "whether a class has __setattr__": """
        class Local:
            width = 2
        if flag:
            Local.__setattr__ = lambda self, name, value: None
        x = Local()
        x.width = 3
        self.c = nn.Linear(2, x.width)
        """,
    "whether a class has __delattr__": """
        class Local:
            width = 2
        if flag:
            Local.__delattr__ = lambda self, name: None
        x = Local()
        x.width = 3
        del x.width
        self.c = nn.Linear(2, x.width)
        """,
    "whether a class has __getattribute__": """
        class Local:
            width = 2
        if flag:
            Local.__getattribute__ = lambda self, name: 3
        self.c = nn.Linear(2, Local().width)
        """,
    "whether a class has __init__": """
        class Local(Settings):
            pass
        if flag:
            def init(self):
                self.width = 7
            Local.__init__ = init
        self.c = nn.Linear(2, Local().width)
        """,
    "whether a class has __new__": """
        class Local:
            width = 2
        if flag:
            Local.__new__ = lambda cls: Other()
        self.c = nn.Linear(2, Local().width)
        """,
    "whether a class has __copy__": """
        class Local(Settings):
            pass
        if flag:
            Local.__copy__ = lambda self: self
        x = Local()
        copy.copy(x).width = 4
        self.c = nn.Linear(2, x.width)
        """,
    "whether a class has __index__": """
        class Local:
            pass
        if flag:
            Local.__index__ = lambda self: 1
        try:
            self.c = nn.Linear(2, [2, 3][Local()])
        except TypeError:
            self.d = nn.Linear(2, 2)
        """,
    "whether a class has __str__": """
        class Local:
            def __str__(self):
                return "ab"
        if flag:
            Local.__str__ = lambda self: "abc"
        self.c = nn.Linear(2, len(str(Local())))
        self.d = nn.Linear(2, len(f"{Local()}"))
        """,
    "whether a class has __class_getitem__": """
        class Local:
            pass
        if flag:
            Local.__class_getitem__ = classmethod(lambda cls, key: 3)
        try:
            self.c = nn.Linear(2, Local[1])
        except TypeError:
            self.d = nn.Linear(2, 2)
        """,
    "whether a metaclass has __instancecheck__": """
        class Local(metaclass=Meta):
            pass
        if flag:
            Meta.__instancecheck__ = lambda cls, instance: True
        if isinstance(3, Local):
            self.c = nn.Linear(2, 2)
        """,
    "whether a metaclass has __len__": """
        class Local(metaclass=Meta):
            pass
        if flag:
            Meta.__len__ = lambda cls: 0
        if Local:
            self.c = nn.Linear(2, 2)
        """,
    "whether a class has __init_subclass__": """
        class Above:
            width = 2
        if flag:
            def widened(cls):
                cls.width = 3
            Above.__init_subclass__ = classmethod(widened)
        class Local(Above):
            pass
        self.c = nn.Linear(2, Local.width)
        """,
    "whether a descriptor has __set_name__": """
        class Field:
            name = "ab"
        if flag:
            def named(self, owner, name):
                self.name = name
            Field.__set_name__ = named
        class Local:
            width = Field()
        self.c = nn.Linear(2, len(Local.width.name))
        """,
    "whether a class has __enter__": """
        class Local:
            def __enter__(self):
                return 2
            def __exit__(self, *given):
                return False
        if flag:
            Local.__exit__ = lambda self, *given: True
        try:
            with Local():
                raise ValueError
            self.c = nn.Linear(2, 2)
        except ValueError:
            pass
        """,
    "a function that a class has": """
        class Local:
            pass
        def two(self): return 2
        def three(self): return 3
        Local.give = two if flag else three
        self.c = nn.Linear(2, Local().give())
        """,
    "a method of a class body": """
        class Local:
            if flag:
                def give(self):
                    return 2
            else:
                def give(self):
                    return 3
        self.c = nn.Linear(2, Local().give())
        """,
    "a method of a block's class body": """
        class Local(nn.Module):
            def __init__(self):
                super().__init__()
                self.build()
            if flag:
                def build(self):
                    self.inner = nn.ReLU()
            else:
                def build(self):
                    self.inner = nn.Tanh()
        self.c = Local()
        """,
    "a method that a class body has on one path": """
        class Local(Settings):
            if flag:
                def give(self):
                    return 3
        x = Local()
        self.c = nn.Linear(2, x.give() if hasattr(x, "give") else 2)
        """,
    "a constructor of a class body": """
        class Local(Settings):
            if flag:
                def __init__(self):
                    self.width = 7
        self.c = nn.Linear(2, Local().width)
        """,
    "a static function or one of instances": """
        class Local:
            pass
        def give(*given):
            return 1 + len(given)
        Local.give = staticmethod(give) if flag else give
        self.c = nn.Linear(2, Local().give())
        """,
    "a static function that a class has": """
        class Local:
            give = staticmethod(lambda: 2) if flag else staticmethod(lambda: 3)
        self.c = nn.Linear(2, Local().give())
        """,
    "a function of a class or of an instance": """
        class Local:
            def give(self):
                return 2
        x = Local()
        if flag:
            x.give = lambda: 3
        self.c = nn.Linear(2, x.give())
        """,
    "a partial method": """
        class Local:
            def give(self, width):
                return width
            given = functools.partialmethod(give, 2 if flag else 3)
        self.c = nn.Linear(2, Local().given())
        """,
    "what super finds": """
        class Above:
            def give(self):
                return 2
        class Local(Above):
            def give(self):
                return super().give() + 1
        if flag:
            Above.give = lambda self: 5
        self.c = nn.Linear(2, Local().give())
        """,
    "a cell that super needs": """
        class Left:
            def give(self):
                return 2
        class Right:
            def give(self):
                return 3
        class Local(Left if flag else Right):
            def give(self):
                return super().give() + 1
        self.c = nn.Linear(2, Local().give())
        """,
    # Numbers and ranges that are equal and not the same.
    "the end of a range that is equal": """
        x = range(0, 3, 2) if flag else range(0, 4, 2)
        self.c = nn.Linear(2, x.stop)
        """,
    "the start of a range that is empty": """
        x = range(2, 2) if flag else range(3, 3)
        self.c = nn.Linear(2, x.start)
        """,
    "the sign of nought in a list": """
        x = [0.0]
        if flag:
            x[0] = -0.0
        if str(x[0]) == "0.0":
            self.c = nn.Linear(2, 2)
        """,
    "the sign of nought in a complex number": """
        x = complex(0.0, 1.0) if flag else complex(-0.0, 1.0)
        if str(x) == "1j":
            self.c = nn.Linear(2, 2)
        """,
    "a number that is none": """
        x = float("nan") if flag else 1.0
        if x == x:
            self.c = nn.Linear(2, 2)
        """,
    "which number that is none": """
        a, b = float("nan"), float("nan")
        x = a if flag else b
        if x in [a]:
            self.c = nn.Linear(2, 2)
        """,
    # Orders and containers of the standard library.
    "which end is popped": """
        d = collections.OrderedDict(a=2, b=3)
        d.popitem(last=flag)
        self.c = nn.Linear(2, sum(d.values()))
        """,
    "whether two ordered dicts are equal": """
        a = collections.OrderedDict(a=1, b=2)
        b = collections.OrderedDict(a=1, b=2)
        if flag:
            b.move_to_end("a")
        if a == b:
            self.c = nn.Linear(2, 2)
        """,
    "the order of keyword arguments": """
        def order(**given):
            return list(given)
        given = dict(a=1, b=2) if flag else dict(b=2, a=1)
        if order(**given) == ["a", "b"]:
            self.c = nn.Linear(2, 2)
        """,
    "the order of a sequential's names": """
        first = ("a", nn.ReLU())
        second = ("b", nn.Tanh())
        pairs = [first, second] if flag else [second, first]
        self.c = nn.Sequential(collections.OrderedDict(pairs))
        """,
    "the text of a dict": """
        d = {"a": 1, "bb": 2}
        if flag:
            d["a"] = d.pop("a")
        if str(d).startswith("{'a'"):
            self.c = nn.Linear(2, 2)
        """,
    "a view of items made before": """
        d = {"a": 2}
        items = d.items()
        if flag:
            d["b"] = 3
        self.c = nn.Linear(2, len(items))
        """,
    "a view of values made before": """
        d = {"a": 2}
        values = d.values()
        if flag:
            d["a"] = 3
        self.c = nn.Linear(2, sum(values))
        """,
    "a view of a cleared dict": """
        d = {"a": 2}
        keys = d.keys()
        if flag:
            d.clear()
        if "a" in keys:
            self.c = nn.Linear(2, 2)
        """,
    "a dict that a view is of": """
        a, b = {"x": 2}, {"x": 3}
        values = a.values() if flag else b.values()
        self.c = nn.Linear(2, sum(values))
        """,
    "the union of dicts": """
        a, b = {"x": 2}, {"x": 3}
        d = a | b if flag else b | a
        self.c = nn.Linear(2, d["x"])
        """,
    "a dict of one's own": """
        d = collections.UserDict(a=2)
        if flag:
            d["a"] = 3
        self.c = nn.Linear(2, d["a"])
        """,
    "a list of one's own": """
        x = collections.UserList([1])
        if flag:
            x.append(2)
        self.c = nn.Linear(2, len(x))
        """,
    "counts that are taken off": """
        n = collections.Counter(a=3, b=2)
        n.subtract({"a" if flag else "b": 1})
        self.c = nn.Linear(2, n["a"])
        """,
    "the elements of a count": """
        n = collections.Counter(a=1)
        if flag:
            n["a"] = 3
        self.c = nn.Linear(2, len(list(n.elements())))
        """,
    "the maps of a chain, changed": """
        d = collections.ChainMap({}, {"w": 2})
        if flag:
            d.maps.insert(0, {"w": 3})
        self.c = nn.Linear(2, d["w"])
        """,
    "a chain that is written to": """
        below = {"w": 2}
        d = collections.ChainMap({}, below)
        if flag:
            d["w"] = 3
        self.c = nn.Linear(2, d["w"])
        self.d = nn.Linear(2, below["w"])
        """,
    "a list that is cut at one end": """
        x = collections.deque([2, 3, 4], maxlen=3)
        if flag:
            x.append(5)
        self.c = nn.Linear(2, x[0])
        """,
    "a bytearray": """
        x = bytearray(b"ab")
        if flag:
            x += b"c"
        self.c = nn.Linear(2, len(x))
        """,
    "a pattern": """
        import re
        x = re.compile("a+" if flag else "b+")
        if x.match("aa"):
            self.c = nn.Linear(2, 2)
        """,
    "a path": """
        import pathlib
        x = pathlib.Path("a")
        if flag:
            x = x / "b"
        self.c = nn.Linear(2, len(x.parts))
        """,
    "a fraction": """
        import fractions
        x = fractions.Fraction(4, 2 if flag else 1)
        self.c = nn.Linear(2, int(x))
        """,
    "the default of a parser": """
        import argparse
        parser = argparse.ArgumentParser()
        parser.add_argument("--width", type=int, default=2)
        if flag:
            parser.set_defaults(width=3)
        self.c = nn.Linear(2, parser.parse_args([]).width)
        """,
    "an environment variable": """
        import os
        os.environ.pop("UNDECIDED", None)
        if flag:
            os.environ["UNDECIDED"] = "1"
        if "UNDECIDED" in os.environ:
            self.c = nn.Linear(2, 2)
        os.environ.pop("UNDECIDED", None)
        """,
    "an attribute of a module made by a call": """
        x = types.ModuleType("x")
        x.width = 2
        if flag:
            x.width = 3
        self.c = nn.Linear(2, x.width)
        """,
    "a queue": """
        import queue
        x = queue.Queue()
        x.put(2)
        if flag:
            x.put(3)
        self.c = nn.Linear(2, x.qsize())
        """,
    "a heap": """
        import heapq
        x = [3, 5]
        heapq.heapify(x)
        if flag:
            heapq.heappush(x, 2)
        self.c = nn.Linear(2, x[0])
        """,
    "a context variable": """
        import contextvars
        x = contextvars.ContextVar("x", default=2)
        if flag:
            x.set(3)
        self.c = nn.Linear(2, x.get())
        """,
    "a weak reference": """
        import weakref
        a, b = Settings(width=2), Settings(width=3)
        x = weakref.ref(a) if flag else weakref.ref(b)
        self.c = nn.Linear(2, x().width)
        """,
    "the seed of chance": """
        import random
        x = random.Random(1 if flag else 2)
        self.c = nn.Linear(2, x.randint(1, 1000))
        """,
    # Classes of data, named tuples, enums once more.
    "what is done after a data class is made": """
        @dataclasses.dataclass
        class Options:
            width: int = 2
            def __post_init__(self):
                if flag:
                    self.width = 3
        self.c = nn.Linear(2, Options().width)
        """,
    "whether a data class has __post_init__": """
        @dataclasses.dataclass
        class Options:
            width: int = 2
        if flag:
            def later(self):
                self.width = 3
            Options.__post_init__ = later
        self.c = nn.Linear(2, Options().width)
        """,
    "whether a data class is ordered": """
        @dataclasses.dataclass(order=flag)
        class Options:
            width: int = 2
        try:
            Options(1) < Options(2)
        except TypeError:
            self.c = nn.Linear(2, 2)
        """,
    "whether a data class makes a constructor": """
        @dataclasses.dataclass(init=flag)
        class Options:
            width: int = 2
        try:
            Options(3)
        except TypeError:
            self.c = nn.Linear(2, 2)
        """,
    "whether a data class has slots": """
        @dataclasses.dataclass(slots=flag)
        class Options:
            width: int = 2
        x = Options()
        try:
            x.height = 3
        except AttributeError:
            self.c = nn.Linear(2, 2)
        """,
    "whether a data class is hashed": """
        @dataclasses.dataclass(unsafe_hash=flag)
        class Options:
            width: int = 2
        try:
            hash(Options())
        except TypeError:
            self.c = nn.Linear(2, 2)
        """,
    "whether a field is compared": """
        @dataclasses.dataclass
        class Options:
            width: int = dataclasses.field(default=2, compare=flag)
        if Options(1) == Options(2):
            self.c = nn.Linear(2, 2)
        """,
    "whether a field is given": """
        @dataclasses.dataclass
        class Options:
            width: int = dataclasses.field(default=2, init=flag)
        try:
            Options(3)
        except TypeError:
            self.c = nn.Linear(2, 2)
        """,
    "whether a field is by keyword": """
        @dataclasses.dataclass
        class Options:
            width: int = dataclasses.field(default=2, kw_only=flag)
        try:
            Options(3)
        except TypeError:
            self.c = nn.Linear(2, 2)
        """,
    "the fields of a data class's base": """
        @dataclasses.dataclass
        class Wide:
            width: int = 2
        @dataclasses.dataclass
        class High:
            height: int = 2
            depth: int = 2
        @dataclasses.dataclass
        class Options(Wide if flag else High):
            further: int = 1
        self.c = nn.Linear(2, len(dataclasses.fields(Options)))
        """,
    "the default of a data class, assigned": """
        @dataclasses.dataclass
        class Options:
            width: int = 2
        if flag:
            Options.width = 3
        self.c = nn.Linear(2, Options().width)
        self.d = nn.Linear(2, Options.width)
        """,
    "a data class as a dict": """
        @dataclasses.dataclass
        class Options:
            width: int = 2
        x = Options()
        if flag:
            x.width = 3
        self.c = nn.Linear(2, dataclasses.asdict(x)["width"])
        """,
    "a field's annotation": """
        class Local:
            width: int
        if flag:
            Local.__annotations__["height"] = int
        self.c = nn.Linear(2, len(Local.__annotations__))
        """,
    "a named tuple with another item": """
        x = Point(2, 3)
        if flag:
            x = x._replace(width=4)
        self.c = nn.Linear(x.width, x.depth)
        """,
    "a method of a named tuple": """
        if flag:
            Point.area = lambda self: 2
        else:
            Point.area = lambda self: 3
        self.c = nn.Linear(2, Point(1).area())
        """,
    "whether members are numbers": """
        class Kind(enum.IntEnum if flag else enum.Enum):
            A = 1
        if Kind.A == 1:
            self.c = nn.Linear(2, 2)
        """,
    "how many members there are": """
        names = ["A", "B"] if flag else ["A"]
        kind = enum.Enum("Kind", names)
        self.c = nn.Linear(2, len(kind))
        """,
    "a member that another name is of": """
        class Kind(enum.Enum):
            A = 1
            B = 1 if flag else 2
        if Kind.A is Kind.B:
            self.c = nn.Linear(2, 2)
        """,
    "what a class gives for a value that is missing": """
        class Kind(enum.Enum):
            A = 1
            B = 2
            @classmethod
            def _missing_(cls, value):
                return cls.A if flag else cls.B
        self.c = nn.Linear(2, Kind(7).value)
        """,
    "the members of a class body": """
        class Kind(enum.Enum):
            A = 1
            if flag:
                B = 2
        self.c = nn.Linear(2, len(list(Kind)))
        """,
    "a member that a class body has on one path": """
        class Kind(enum.Enum):
            A = 1
            if flag:
                B = 2
        if hasattr(Kind, "B"):
            self.c = nn.Linear(2, 2)
        """,
    # Functions once more.
    "whether a function is cached": """
        def give(width):
            return nn.Linear(width, width)
        if flag:
            give = functools.lru_cache(give)
        self.c = give(2)
        self.d = give(2)
        """,
    "which cache is asked": """
        first = functools.lru_cache(lambda n: nn.Linear(n, n))
        second = functools.lru_cache(lambda n: nn.Linear(n, n))
        give = first if flag else second
        self.c = give(2)
        self.d = first(2)
        """,
    "how much a cache keeps": """
        give = functools.lru_cache(maxsize=1 if flag else None)(lambda n: nn.Linear(n, n))
        self.c = give(2)
        give(3)
        self.d = give(2)
        """,
    "a cache that one path has filled": """
        kept = []
        @functools.lru_cache(maxsize=None)
        def give(n):
            kept.append(n)
            return n
        if flag:
            give(2)
            kept.clear()
        give(2)
        self.c = nn.Linear(2, 1 + len(kept))
        """,
    "a cache of one's own": """
        kept = {}
        def give(n):
            if n not in kept:
                kept[n] = nn.Linear(n, n)
            return kept[n]
        if flag:
            self.a = give(2)
        self.b = give(2)
        self.c = give(2)
        """,
    "a cache that is cleared between two": """
        self.c = made(2)
        if flag:
            made.cache_clear()
        self.d = made(2)
        """,
    "which function is registered for a class": """
        @functools.singledispatch
        def give(x):
            return 2
        if flag:
            give.register(int, lambda x: 3)
        self.c = nn.Linear(2, give(1))
        """,
    "the signature of a function": """
        import inspect
        def one(a): pass
        def two(a, b): pass
        f = one if flag else two
        self.c = nn.Linear(2, len(inspect.signature(f).parameters))
        """,
    "the cells of a function": """
        def maker(n):
            def give():
                return n
            return give
        f = maker(2)
        if flag:
            f.__closure__[0].cell_contents = 3
        self.c = nn.Linear(2, f())
        """,
    "a default of a file's function": """
        if flag:
            give.__defaults__ = (5,)
        self.c = nn.Linear(2, give())
        """,
    "a file's function, replaced": """
        if flag:
            globals()["give"] = lambda: 6
        self.c = nn.Linear(2, give())
        """,
    "a function's dict": """
        def f():
            return 1
        f.__dict__["width"] = 2 if flag else 3
        self.c = nn.Linear(2, f.width)
        """,
    "what a decorator counts": """
        calls = []
        def counted(f):
            def inner(*given):
                calls.append(given)
                return f(*given)
            return inner
        f = lambda n: n
        if flag:
            f = counted(f)
        f(1)
        self.c = nn.Linear(2, 1 + len(calls))
        """,
    "a method called by its name": """
        x = [3, 1, 2]
        operator.methodcaller("sort" if flag else "reverse")(x)
        self.c = nn.Linear(2, x[0])
        """,
    "what is sorted by": """
        key = (lambda n: n) if flag else (lambda n: -n)
        self.c = nn.Linear(2, sorted([1, 2, 3], key=key)[0])
        """,
    "what is folded with": """
        f = operator.add if flag else operator.mul
        self.c = nn.Linear(2, functools.reduce(f, [2, 3]))
        """,
    "the positions of a partial": """
        f = functools.partial(operator.sub, 5) if flag else functools.partial(operator.sub, 6)
        self.c = nn.Linear(2, f(2))
        """,
    "a partial of a partial": """
        f = functools.partial(dict, wide=2)
        if flag:
            f = functools.partial(f, wide=3)
        self.c = nn.Linear(2, f()["wide"])
        """,
    "a partial's attributes": """
        f = functools.partial(nn.Linear, 2)
        if flag:
            f.width = 3
        self.c = f(getattr(f, "width", 2))
        """,
    # Iterators once more.
    "a generator with a last will": """
        kept = []
        def steps():
            try:
                yield 1
            finally:
                kept.append(1)
        x = steps()
        next(x)
        if flag:
            x.close()
        self.c = nn.Linear(2, 1 + len(kept))
        """,
    "what is thrown into a generator": """
        def steps():
            while True:
                try:
                    yield 2
                except ValueError:
                    yield 3
                except KeyError:
                    yield 4
        x = steps()
        next(x)
        self.c = nn.Linear(2, x.throw(ValueError() if flag else KeyError()))
        """,
    "a generator that has ended": """
        x = (n for n in [2])
        if flag:
            list(x)
        self.c = nn.Linear(2, next(x, 3))
        """,
    "an iterator that has ended": """
        x = iter([])
        kept = [2]
        y = iter(kept)
        if flag:
            list(y)
        kept.append(3)
        self.c = nn.Linear(2, 1 + sum(y))
        """,
    "how far a zip is": """
        x = zip([1, 2], [3, 4])
        if flag:
            next(x)
        self.c = nn.Linear(*next(x))
        """,
    "how far a map is": """
        kept = []
        x = map(kept.append, [1, 2, 3])
        if flag:
            next(x)
        next(x)
        self.c = nn.Linear(2, len(kept))
        """,
    "how far a reversal is": """
        x = reversed([2, 3, 4])
        if flag:
            next(x)
        self.c = nn.Linear(2, next(x))
        """,
    "how far an iterator of a dict is": """
        x = iter({"a": 1, "bb": 2})
        if flag:
            next(x)
        self.c = nn.Linear(2, len(next(x)))
        """,
    "how far an iterator of a text is": """
        x = iter("abc")
        if flag:
            next(x)
        if next(x) == "b":
            self.c = nn.Linear(2, 2)
        """,
    "how far an iterator of a range is": """
        x = iter(range(1, 9))
        if flag:
            next(x)
        self.c = nn.Linear(2, next(x))
        """,
    "a dict that is changed while it is read": """
        d = {"a": 1, "b": 2}
        try:
            for key in d:
                if flag:
                    d["c"] = 3
        except RuntimeError:
            self.c = nn.Linear(2, 2)
        """,
    "the groups of a list": """
        key = (lambda n: n) if flag else (lambda n: n // 2)
        self.c = nn.Linear(2, len(list(itertools.groupby([0, 1, 2, 3], key))))
        """,
    "what is added up": """
        x = itertools.accumulate([1, 2, 4], operator.mul if flag else operator.add)
        self.c = nn.Linear(2, list(x)[-1] - 2)
        """,
    "how an uneven zip is filled": """
        x = itertools.zip_longest([1, 2], [3], fillvalue=2 if flag else 5)
        self.c = nn.Linear(2, list(x)[1][1])
        """,
    "what is dropped": """
        x = itertools.dropwhile((lambda n: n < 2) if flag else (lambda n: n < 3), [1, 2, 3])
        self.c = nn.Linear(2, next(x))
        """,
    "the end of an iterator by a call": """
        kept = [1, 2, 3, 4]
        x = iter(kept.pop, 2 if flag else 3)
        self.c = nn.Linear(2, 1 + len(list(x)))
        """,
    "the parts of a product": """
        x = itertools.product([1, 2], repeat=1 if flag else 2)
        self.c = nn.Linear(2, len(list(x)))
        """,
    # Managers and exceptions once more.
    "whether a stack is emptied": """
        kept = []
        stack = contextlib.ExitStack()
        stack.callback(kept.append, 1)
        if flag:
            stack.pop_all()
        stack.close()
        self.c = nn.Linear(2, 1 + len(kept))
        """,
    "whether a manager is entered": """
        class Within:
            depth = 0
            def __enter__(self):
                Within.depth += 1
            def __exit__(self, *given):
                Within.depth -= 1
        with contextlib.ExitStack() as stack:
            if flag:
                stack.enter_context(Within())
            self.c = nn.Linear(2, 1 + Within.depth)
        """,
    "what is closed": """
        class Kept:
            width = 2
            def close(self):
                self.width = 3
        a, b = Kept(), Kept()
        with contextlib.closing(a if flag else b):
            pass
        self.c = nn.Linear(2, a.width)
        """,
    "the class of an exception, by its base": """
        class Mine(KeyError if flag else ValueError):
            pass
        try:
            raise Mine
        except KeyError:
            self.c = nn.Linear(2, 2)
        except ValueError:
            self.d = nn.Linear(3, 3)
        """,
    "which exceptions are caught": """
        kinds = (KeyError,) if flag else (KeyError, ValueError)
        try:
            try:
                raise ValueError
            except kinds:
                self.c = nn.Linear(2, 2)
        except ValueError:
            self.d = nn.Linear(3, 3)
        """,
    "an exception's text": """
        try:
            raise ValueError("ab" if flag else "abc")
        except ValueError as error:
            self.c = nn.Linear(2, len(str(error)))
        """,
    "the value of a generator's end": """
        def steps():
            return 2 if flag else 3
            yield
        try:
            next(steps())
        except StopIteration as end:
            self.c = nn.Linear(2, end.value)
        """,
    "an exception kept for later": """
        kept = None
        try:
            if flag:
                raise ValueError(4)
        except ValueError as error:
            kept = error
        self.c = nn.Linear(2, kept.args[0] if kept else 2)
        """,
    "what is done at last": """
        width = 2
        try:
            if flag:
                raise ValueError
            width = 3
        except ValueError:
            width += 2
        else:
            width += 3
        finally:
            width += 1
        self.c = nn.Linear(2, width)
        """,
    # Copies once more.
    "the attribute of a copied set": """
        x = Group([1])
        x.width = 2
        if flag:
            x.width = 3
        y = copy.copy(x)
        self.c = nn.Linear(2, y.width)
        """,
    "the factory of a copied dict": """
        x = collections.defaultdict(lambda: 2)
        y = copy.copy(x)
        if flag:
            y.default_factory = lambda: 3
        self.c = nn.Linear(2, y["a"])
        self.d = nn.Linear(2, x["a"])
        """,
    "a list copied before it is changed": """
        x = [1]
        y = list(x)
        if flag:
            x.append(2)
        else:
            y.append(2)
        self.c = nn.Linear(len(x), len(y))
        """,
    "what a deep copy is told of": """
        a = Plain()
        x = [a]
        y = copy.deepcopy(x, {id(a): a} if flag else {})
        if y[0] is a:
            self.c = nn.Linear(2, 2)
        """,
    "how a class is reduced": """
        class Local(Settings):
            pass
        if flag:
            Local.__reduce__ = lambda self: (Other, ())
        self.c = nn.Linear(2, copy.copy(Local()).width)
        """,
    "a class that copies a module": """
        x = Block()
        self.c = x
        self.d = copy.deepcopy(x) if flag else x
        """,
    # Equal constructions once more.
    "a block that reads a class attribute": """
        class Local(nn.Module):
            width = 2
            def __init__(self):
                super().__init__()
                self.inner = nn.Linear(2, self.width)
        self.a, self.b = Local(), Local()
        if flag:
            Local.width = 3
        self.c = Local()
        """,
    "a block that reads a closure": """
        width = 2
        class Local(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Linear(2, width)
        self.a, self.b = Local(), Local()
        if flag:
            width = 3
        self.c = Local()
        """,
    "a block that is given a set": """
        class Local(nn.Module):
            def __init__(self, given):
                super().__init__()
                self.inner = nn.Linear(2, given.width)
        x = Group()
        x.width = 2
        self.a, self.b = Local(x), Local(x)
        if flag:
            x.width = 3
        self.c = Local(x)
        """,
    "a block that is given a defaultdict": """
        class Local(nn.Module):
            def __init__(self, given):
                super().__init__()
                self.inner = nn.Linear(2, given["a"])
        x = collections.defaultdict(lambda: 2)
        self.a, self.b = Local(x.copy()), Local(x.copy())
        if flag:
            x.default_factory = lambda: 3
        self.c = Local(x.copy())
        """,
    "a block that is given an instance of another class": """
        class Local(nn.Module):
            def __init__(self, given):
                super().__init__()
                self.inner = nn.Linear(2, given.width)
        x = Settings()
        self.a, self.b = Local(x), Local(x)
        if flag:
            x.__class__ = Other
        self.c = Local(x)
        """,
    "a block that is given a range": """
        class Local(nn.Module):
            def __init__(self, given):
                super().__init__()
                self.inner = nn.Linear(2, given.stop)
        self.a, self.b = Local(range(0, 3, 2)), Local(range(0, 3, 2))
        self.c = Local(range(0, 4, 2) if flag else range(0, 3, 2))
        self.d = Local(range(0, 4, 2))
        """,
    "a block that is given nought": """
        class Local(nn.Module):
            def __init__(self, given):
                super().__init__()
                self.inner = nn.Linear(2, len(str(given)))
        self.a, self.b = Local(0.0), Local(0.0)
        self.c = Local(-0.0)
        self.d = Local(-0.0 if flag else 0.0)
        """,
    "a block that counts itself": """
        class Local(nn.Module):
            made = 0
            def __init__(self):
                super().__init__()
                Local.made += 1
                self.inner = nn.Linear(2, Local.made)
        self.a = Local()
        if flag:
            self.b = Local()
        self.c = Local()
        """,
    "a block with a shared default": """
        class Local(nn.Module):
            def __init__(self, kept=[]):
                super().__init__()
                kept.append(1)
                self.inner = nn.Linear(2, len(kept))
        self.a = Local()
        if flag:
            Local()
        self.c = Local()
        """,
    "a block whose class body is undecided": """
        class Local(nn.Module):
            if flag:
                width = 2
            else:
                width = 3
            def __init__(self):
                super().__init__()
                self.inner = nn.Linear(2, self.width)
        self.a, self.b, self.c = Local(), Local(), Local()
        """,
    "blocks in a dict that is kept": """
        self.kept = {"a": Block()}
        if flag:
            self.kept["b"] = Block()
        """,
    "blocks in a tuple that is kept": """
        self.kept = (Block(), nn.ReLU()) if flag else (nn.ReLU(), Block())
        """,
    "blocks in a set that is kept": """
        self.kept = {nn.ReLU()}
        if flag:
            self.kept.clear()
        """,
    "blocks in an instance that is kept": """
        self.kept = Plain()
        if flag:
            self.kept.block = Block()
        """,
    "a block in a closure that is kept": """
        inner = nn.ReLU() if flag else nn.Tanh()
        self.kept = lambda x: inner(x)
        """,
    "a block in a partial that is kept": """
        inner = nn.ReLU()
        self.kept = functools.partial(inner) if flag else None
        """,
    # Which of two is changed.
    "which of two lists is appended to, by its method kept": """
        a, b = [2, 3], [2, 3]
        f = a.append if flag else b.append
        f(5)
        self.c = nn.Linear(1 + len(a), 1 + sum(a))
        self.d = nn.Linear(1 + len(b), 1 + sum(b))
        """,
    "which of two lists is extended": """
        a, b = [2, 3], [2, 3]
        x = a if flag else b
        x += [5]
        self.c = nn.Linear(1 + len(a), 1 + sum(a))
        self.d = nn.Linear(1 + len(b), 1 + sum(b))
        """,
    "which of two lists is written to": """
        a, b = [2, 3], [2, 3]
        x = a if flag else b
        x[0] = 5
        self.c = nn.Linear(1 + len(a), 1 + sum(a))
        self.d = nn.Linear(1 + len(b), 1 + sum(b))
        """,
    "which of two lists is shortened": """
        a, b = [2, 3], [2, 3]
        x = a if flag else b
        del x[0]
        self.c = nn.Linear(1 + len(a), 1 + sum(a))
        self.d = nn.Linear(1 + len(b), 1 + sum(b))
        """,
    "which of two lists is sorted": """
        a, b = [2, 3], [2, 3]
        x = a if flag else b
        x.sort(reverse=True)
        self.c = nn.Linear(2, a[0])
        self.d = nn.Linear(2, b[0])
        """,
    "which of two lists is written to, by a function": """
        a, b = [2, 3], [2, 3]
        operator.setitem(a if flag else b, 0, 5)
        self.c = nn.Linear(1 + len(a), 1 + sum(a))
        self.d = nn.Linear(1 + len(b), 1 + sum(b))
        """,
    "which of two lists is appended to, by its class": """
        a, b = [2, 3], [2, 3]
        list.append(a if flag else b, 5)
        self.c = nn.Linear(1 + len(a), 1 + sum(a))
        self.d = nn.Linear(1 + len(b), 1 + sum(b))
        """,
    "which of two lists is appended to, in a map": """
        a, b = [2, 3], [2, 3]
        x = a if flag else b
        list(map(x.append, [5, 6]))
        self.c = nn.Linear(1 + len(a), 1 + sum(a))
        self.d = nn.Linear(1 + len(b), 1 + sum(b))
        """,
    "which of two lists is pushed to": """
        a, b = [2, 3], [2, 3]
        import heapq
        heapq.heappush(a if flag else b, 1)
        self.c = nn.Linear(1 + len(a), 1 + sum(a))
        self.d = nn.Linear(1 + len(b), 1 + sum(b))
        """,
    "which of two lists is inserted into": """
        a, b = [2, 3], [2, 3]
        import bisect
        bisect.insort(a if flag else b, 1)
        self.c = nn.Linear(1 + len(a), 1 + sum(a))
        self.d = nn.Linear(1 + len(b), 1 + sum(b))
        """,
    "which of two lists is cut by a slice": """
        a, b = [2, 3], [2, 3]
        x = a if flag else b
        x[:] = [5]
        self.c = nn.Linear(1 + len(a), 1 + sum(a))
        self.d = nn.Linear(1 + len(b), 1 + sum(b))
        """,
    "which of two lists is emptied in a loop": """
        a, b = [2, 3], [2, 3]
        for x in ([a] if flag else [b]):
            x.clear()
        self.c = nn.Linear(1 + len(a), 1 + sum(a))
        self.d = nn.Linear(1 + len(b), 1 + sum(b))
        """,
    "which of two lists is changed by a partial": """
        a, b = [2, 3], [2, 3]
        functools.partial((a if flag else b).insert, 0)(5)
        self.c = nn.Linear(1 + len(a), 1 + sum(a))
        self.d = nn.Linear(1 + len(b), 1 + sum(b))
        """,
    "which of two lists is changed by a function of two": """
        a, b = [2, 3], [2, 3]
        def change(x):
            x.append(5)
        (change if flag else (lambda x: None))(a)
        self.c = nn.Linear(1 + len(a), 1 + sum(a))
        self.d = nn.Linear(1 + len(b), 1 + sum(b))
        """,
    "which of two iterators is read by a star": """
        a, b = iter([2, 3]), iter([2, 3])
        list([*(a if flag else b)])
        self.c = nn.Linear(2, next(a, 4))
        self.d = nn.Linear(2, next(b, 4))
        """,
    "which of two iterators is read by a loop": """
        a, b = iter([2, 3]), iter([2, 3])
        for _ in (a if flag else b):
            break
        self.c = nn.Linear(2, next(a, 4))
        self.d = nn.Linear(2, next(b, 4))
        """,
    "which of two iterators is read by a list": """
        a, b = iter([2, 3]), iter([2, 3])
        list(a if flag else b)
        self.c = nn.Linear(2, next(a, 4))
        self.d = nn.Linear(2, next(b, 4))
        """,
    "which of two iterators is asked by its method": """
        a, b = iter([2, 3]), iter([2, 3])
        (a if flag else b).__next__()
        self.c = nn.Linear(2, next(a, 4))
        self.d = nn.Linear(2, next(b, 4))
        """,
    "which of two iterators is asked with another value": """
        a, b = iter([2, 3]), iter([2, 3])
        next(a if flag else b, None)
        self.c = nn.Linear(2, next(a, 4))
        self.d = nn.Linear(2, next(b, 4))
        """,
    "which of two iterators is searched": """
        a, b = iter([2, 3]), iter([2, 3])
        2 in (a if flag else b)
        self.c = nn.Linear(2, next(a, 4))
        self.d = nn.Linear(2, next(b, 4))
        """,
    "which of two iterators is asked whether any": """
        a, b = iter([2, 3]), iter([2, 3])
        any(a if flag else b)
        self.c = nn.Linear(2, next(a, 4))
        self.d = nn.Linear(2, next(b, 4))
        """,
    "which of two iterators is put into a list": """
        a, b = iter([2, 3]), iter([2, 3])
        [].extend(a if flag else b)
        self.c = nn.Linear(2, next(a, 4))
        self.d = nn.Linear(2, next(b, 4))
        """,
    "which of two iterators is sliced": """
        a, b = iter([2, 3]), iter([2, 3])
        list(itertools.islice(a if flag else b, 1))
        self.c = nn.Linear(2, next(a, 4))
        self.d = nn.Linear(2, next(b, 4))
        """,
    "which of two iterators is zipped": """
        a, b = iter([2, 3]), iter([2, 3])
        list(zip(a if flag else b, [1]))
        self.c = nn.Linear(2, next(a, 4))
        self.d = nn.Linear(2, next(b, 4))
        """,
    "which of two iterators is unpacked": """
        a, b = iter([2, 3]), iter([2, 3])
        first, *rest = a if flag else b
        self.c = nn.Linear(2, next(a, 4))
        self.d = nn.Linear(2, next(b, 4))
        """,
    "which of two iterators gives the keys of a dict": """
        a, b = iter([2, 3]), iter([2, 3])
        dict.fromkeys(a if flag else b)
        self.c = nn.Linear(2, next(a, 4))
        self.d = nn.Linear(2, next(b, 4))
        """,
    "which of two generators is asked": """
        a, b = count(), count()
        next(a if flag else b)
        self.c = nn.Linear(2, next(a))
        self.d = nn.Linear(2, next(b))
        """,
    "which of two counts goes on": """
        a, b = itertools.count(1), itertools.count(1)
        next(a if flag else b)
        self.c = nn.Linear(2, next(a))
        self.d = nn.Linear(2, next(b))
        """,
    "which of two generators is sent to": """
        a, b = count(), count()
        next(a), next(b)
        (a if flag else b).send(None)
        self.c = nn.Linear(2, next(a))
        self.d = nn.Linear(2, next(b))
        """,
    "which of two dicts is asked for a key": """
        a, b = collections.defaultdict(list), collections.defaultdict(list)
        (a if flag else b)['x'].append(1)
        self.c = nn.Linear(2, 1 + len(a))
        self.d = nn.Linear(2, 1 + len(b))
        """,
    "which of two dicts is updated": """
        a, b = {}, {}
        x = a if flag else b
        x |= {'k': 1}
        self.c = nn.Linear(2, 1 + len(a))
        self.d = nn.Linear(2, 1 + len(b))
        """,
    "which of two sets is added to": """
        a, b = set(), set()
        x = a if flag else b
        x.update([1, 2])
        self.c = nn.Linear(2, 1 + len(a))
        self.d = nn.Linear(2, 1 + len(b))
        """,
    "which of two counts is added to": """
        a, b = collections.Counter(), collections.Counter()
        (a if flag else b).update('aab')
        self.c = nn.Linear(2, 1 + a['a'])
        self.d = nn.Linear(2, 1 + b['a'])
        """,
    "which of two deques is turned": """
        a, b = collections.deque([2, 3]), collections.deque([2, 3])
        (a if flag else b).rotate(1)
        self.c = nn.Linear(2, a[0])
        self.d = nn.Linear(2, b[0])
        """,
    "which of two instances has its dict updated": """
        a, b = Settings(), Settings()
        vars(a if flag else b).update(width=5)
        self.c = nn.Linear(2, a.width)
        self.d = nn.Linear(2, b.width)
        """,
    "which of two instances is set, by object": """
        a, b = Settings(), Settings()
        object.__setattr__(a if flag else b, 'width', 5)
        self.c = nn.Linear(2, a.width)
        self.d = nn.Linear(2, b.width)
        """,
    "which of two instances loses an attribute": """
        a, b = Settings(width=5), Settings(width=5)
        delattr(a if flag else b, 'width')
        self.c = nn.Linear(2, a.width)
        self.d = nn.Linear(2, b.width)
        """,
    "which of two instances is added to": """
        a, b = Settings(), Settings()
        x = a if flag else b
        x.width += 5
        self.c = nn.Linear(2, a.width)
        self.d = nn.Linear(2, b.width)
        """,
    "which of two classes is set": """
        x = Settings if flag else Other
        x.width += 5
        self.c = nn.Linear(2, Settings.width)
        self.d = nn.Linear(2, Other.width)
        """,
    "which of two classes loses an attribute": """
        Settings.width, Other.width
        del (Other if flag else Settings).width
        self.c = nn.Linear(2, getattr(Settings, 'width', 7))
        self.d = nn.Linear(2, getattr(Other, 'width', 7))
        """,
    "which of two instances gets another class": """
        a, b = Settings(), Settings()
        x = a if flag else b
        x.__class__ = Other
        self.c = nn.Linear(2, a.width)
        self.d = nn.Linear(2, b.width)
        """,
    "which of two functions has an attribute": """
        def a(): pass
        def b(): pass
        a.width = b.width = 2
        x = a if flag else b
        x.width = 3
        self.c = nn.Linear(2, a.width)
        self.d = nn.Linear(2, b.width)
        """,
    "which of two exceptions gets a note": """
        a, b = ValueError(), ValueError()
        x = a if flag else b
        x.args = (1, 2)
        self.c = nn.Linear(2, 1 + len(a.args))
        self.d = nn.Linear(2, 1 + len(b.args))
        """,
    "which of two cached properties is asked": """
        class Local:
            width = 2
            @functools.cached_property
            def double(self):
                return self.width * 2
        a, b = Local(), Local()
        (a if flag else b).double
        a.width = b.width = 5
        self.c = nn.Linear(2, a.double)
        self.d = nn.Linear(2, b.double)
        """,
    "which of two lists an item is moved to": """
        a, b = [nn.ReLU()], [nn.Tanh()]
        (a if flag else b).append((b if flag else a).pop())
        self.c = nn.Sequential(*a)
        self.d = nn.Sequential(*b)
        """,
    "which of three lists": """
        x = [[1], [1], [1]]
        x[int(flag)].append(1)
        self.c = nn.Linear(len(x[0]), len(x[1]))
        self.d = nn.Linear(2, len(x[2]))
        """,
    "which key is written": """
        d = {'a': 2, 'b': 2}
        d['a' if flag else 'b'] = 3
        self.c = nn.Linear(d['a'], d['b'])
        """,
    "which item is written": """
        x = [2, 2, 2]
        x[0 if flag else -1] = 3
        self.c = nn.Linear(x[0], x[1])
        self.d = nn.Linear(x[1], x[2])
        """,
    "which item is deleted": """
        x = [2, 3, 4]
        del x[0 if flag else 1]
        self.c = nn.Linear(x[0], x[1])
        """,
    "which items a slice writes": """
        x = [2, 3, 4]
        x[(slice(0, 1) if flag else slice(1, 3))] = [7]
        self.c = nn.Linear(2, len(x))
        self.d = nn.Linear(2, x[0])
        """,
    "which place is inserted at": """
        x = [2, 3]
        x.insert(0 if flag else 2, 5)
        self.c = nn.Linear(x[0], x[-1])
        """,
    "which item is removed": """
        x = [2, 3, 2]
        x.remove(2 if flag else 3)
        self.c = nn.Linear(x[0], x[1])
        """,
    "which one is popped": """
        x = [2, 3, 4]
        n = x.pop(0 if flag else 1)
        self.c = nn.Linear(n, x[0])
        """,
    "which key is popped": """
        d = {'a': 2, 'b': 3}
        d.pop('a' if flag else 'b')
        self.c = nn.Linear(2, sum(d.values()))
        """,
    "which key is popped, if it is there": """
        d = {'a': 2}
        n = d.pop('a' if flag else 'b', 7)
        self.c = nn.Linear(2, n + len(d))
        """,
    "how often a list is repeated": """
        x = [nn.ReLU()] * (2 if flag else 3)
        self.c = nn.Sequential(*x)
        """,
    "how often a list is repeated in place": """
        x = [1, 2]
        x *= 1 if flag else 2
        self.c = nn.Linear(2, len(x))
        """,
    "whether a list is reversed in a copy": """
        x = [2, 3]
        y = x[:: -1 if flag else 1]
        self.c = nn.Linear(*y)
        """,
    "what is sorted backwards": """
        x = [2, 4, 3]
        x.sort(reverse=flag)
        self.c = nn.Linear(x[0], x[2])
        """,
    "which base's method is called": """
        f = list.append if flag else list.remove
        x = [2]
        f(x, 2)
        self.c = nn.Linear(2, 1 + len(x))
        """,
    "which name is deleted in a class": """
        class Local(Settings):
            width = 5
            height = 6
        delattr(Local, 'width' if flag else 'height')
        self.c = nn.Linear(2, Local.width)
        self.d = nn.Linear(2, getattr(Local, 'height', 1))
        """,
    "which name of a file is set": """
        globals()['LEVEL' if flag else 'FURTHER'] = 4
        self.c = nn.Linear(2, 1 + LEVEL)
        """,
    "which argument is given": """
        def f(a=2, b=3):
            return a, b
        self.c = nn.Linear(*f(**{('a' if flag else 'b'): 7}))
        """,
    "how many arguments are given": """
        def f(a=2, b=3, *rest):
            return a + b + len(rest)
        given = [1] if flag else [1, 1, 1]
        self.c = nn.Linear(2, f(*given))
        """,
    "which keyword is taken out": """
        def f(a=2, **rest):
            return a + len(rest)
        given = {'a': 5, 'c': 1}
        if flag:
            del given['a']
        self.c = nn.Linear(2, f(**given))
        """,
    "which of two sets is joined in place": """
        a, b = {1}, {1}
        x = a if flag else b
        x |= {2, 3}
        self.c = nn.Linear(2, len(a))
        self.d = nn.Linear(2, len(b))
        """,
    "which of two deques is extended in place": """
        a, b = collections.deque([1]), collections.deque([1])
        x = a if flag else b
        x += [2, 3]
        self.c = nn.Linear(2, len(a))
        self.d = nn.Linear(2, len(b))
        """,
    "which of two lists has an item added to": """
        a, b = [2], [2]
        (a if flag else b)[0] += 5
        self.c = nn.Linear(2, a[0])
        self.d = nn.Linear(2, b[0])
        """,
    "which of two instances is added to in place": """
        class Local(Settings):
            def __iadd__(self, other):
                self.width = other
                return self
        a, b = Local(), Local()
        x = a if flag else b
        x += 5
        self.c = nn.Linear(2, a.width)
        self.d = nn.Linear(2, b.width)
        """,
    "which list of an instance is extended in place": """
        a, b = Settings(kept=[1]), Settings(kept=[1])
        x = a if flag else b
        x.kept += [2]
        self.c = nn.Linear(2, len(a.kept))
        self.d = nn.Linear(2, len(b.kept))
        """,
    "which of two lists of blocks is extended in place": """
        a, b = [nn.ReLU()], [nn.Tanh()]
        x = a if flag else b
        x += [nn.Linear(2, 2)]
        self.c = nn.Sequential(*a)
        self.d = nn.Sequential(*b)
        """,
    "what is added in place": """
        x = [nn.ReLU()]
        x += [nn.Tanh()] if flag else [nn.Linear(2, 2)]
        self.c = nn.Sequential(*x)
        """,
    "what a list is extended with": """
        x = [nn.ReLU()]
        x.extend([nn.Tanh()] if flag else [])
        self.c = nn.Sequential(*x)
        """,
    "a list or a tuple that is added to in place": """
        x = [1] if flag else (1,)
        y = x
        x += (2,)
        self.c = nn.Linear(len(x), len(y))
        """,
    "a list of two names that is repeated in place": """
        x = [nn.ReLU()]
        y = x
        if flag:
            x *= 2
        self.c = nn.Sequential(*y)
        """,
    "a deque of two names that is repeated in place": """
        x = collections.deque([1])
        y = x
        if flag:
            x *= 2
        self.c = nn.Linear(2, len(y))
        """,
    "a list of a class of its own that is extended in place": """
        x = Tagged([1])
        y = x
        if flag:
            x += [2]
        self.c = nn.Linear(2, len(y))
        """,
    "a set of two names that is joined in place": """
        x = {1}
        y = x
        if flag:
            x |= {2}
        self.c = nn.Linear(2, len(y))
        """,
    # Keys of which a part is not known.
    "a tuple with a part that is not known, as a key that is looked for": """
        d, p = {}, 2 if flag else -2
        for s in (1, -1):
            o = (abs(p + s), 1)
            if o not in d:
                d[o] = nn.Linear(2, 2)
        self.c = nn.ModuleList(d.values())
        """,
    "a tuple with a part that is not known, as a key that is set": """
        d, p = {}, 2 if flag else 1
        for s in (1, -1):
            d[(p * s * (1 + s), 1)] = s
        d[(4, 1)] = 7
        self.c = nn.Linear(2, len(d))
        """,
    "a tuple with a part that is not known, asked for with get": """
        d, p = {(1, 1): 5}, 1 if flag else 2
        self.c = nn.Linear(2, d.get((p * p, 1), 3))
        """,
    "a tuple with a part that is not known, looked for under another": """
        d, p = {}, 1 if flag else 2
        d[(p * p, 1)] = 5
        self.c = nn.Linear(2, d.get((1, 1), 3))
        """,
    "a tuple with a part that is not known, popped": """
        d, p = {(1, 1): 5, (2, 1): 6}, 1 if flag else 2
        x = d.pop((p, 1), 3)
        self.c = nn.Linear(2, x)
        self.d = nn.Linear(2, sum(d.values()))
        """,
    "a tuple with a part that is not known, by setdefault": """
        d, p = {(1, 1): 5}, 1 if flag else 2
        x = d.setdefault((p, 1), 3)
        self.c = nn.Linear(x, len(d))
        """,
    "a tuple with a part that is not known, deleted": """
        d, p = {(1, 1): 5, (2, 1): 6}, 1 if flag else 2
        del d[(p, 1)]
        self.c = nn.Linear(2, sum(d.values()))
        """,
    "a tuple with a part that is not known, in a set": """
        x, p = set(), 1 if flag else 2
        for s in (1, -1):
            x.add((abs(p + s), abs(s)))
            x.add((3, 1))
        self.c = nn.Linear(2, len(x))
        """,
    "a tuple with a part that is not known, looked for in a set": """
        x, p = {(1, 1)}, 1 if flag else 2
        if (p, 1) in x:
            self.c = nn.Linear(2, 2)
        """,
    "a tuple with a part that is not known, in a literal set": """
        p = 1 if flag else 2
        self.c = nn.Linear(2, len({(p, 1), (1, 1)}))
        """,
    "a tuple in a tuple with a part that is not known": """
        d, p = {}, 1 if flag else 2
        d[("a", (p, 1))] = 5
        d[("a", (1, 1))] = 6
        self.c = nn.Linear(2, len(d))
        """,
    "a frozen instance with a field that is not known, as a key": """
        @dataclasses.dataclass(frozen=True)
        class Key:
            width: int
        d = {Key(1 if flag else 2): 5}
        d[Key(1)] = 6
        self.c = nn.Linear(2, len(d))
        self.d = nn.Linear(2, d[Key(1)])
        """,
    "a frozen instance with a field that is not known, asked for": """
        @dataclasses.dataclass(frozen=True)
        class Key:
            width: int
        d = {Key(1 if flag else 2): 5}
        self.c = nn.Linear(2, d.get(Key(1), 3))
        try:
            d[Key(1)]
        except KeyError:
            self.d = nn.Linear(2, 2)
        """,
    "a frozen instance with a field that is not known, in a set": """
        @dataclasses.dataclass(frozen=True)
        class Key:
            width: int
        x = {Key(1 if flag else 2), Key(1)}
        self.c = nn.Linear(2, len(x))
        """,
    "a named tuple with a field that is not known, as a key": """
        d = {Point(1 if flag else 2): 5}
        d[Point(1)] = 6
        self.c = nn.Linear(2, len(d))
        """,
    "a defaultdict's key of which a part is not known": """
        d, p = collections.defaultdict(list), 1 if flag else 2
        d[(p, 1)].append(nn.Linear(2, 2))
        d[(1, 1)].append(nn.ReLU())
        self.c = nn.Sequential(*d[(1, 1)])
        """,
    "how often a tuple with a part that is not known is counted": """
        p = 1 if flag else 2
        x = collections.Counter([(p, 1), (1, 1)])
        self.c = nn.Linear(2, len(x))
        """,
    "keys of which a part is not known, from a list": """
        p = 1 if flag else 2
        self.c = nn.Linear(2, len(dict.fromkeys([(p, 1), (1, 1)])))
        self.d = nn.Linear(2, len(dict([((p, 1), 1), ((1, 1), 2)])))
        self.e = nn.Linear(2, len({(p, 1): 1, (1, 1): 2}))
        self.f = nn.Linear(2, len({(x, 1): 1 for x in (p, 1)}))
        """,
    **{
        f"a dispatch of {given}": f"""
        @functools.singledispatch
        def layer(x): return nn.ReLU()
        @layer.register
        def _(x: int): return nn.Linear(4, int(x) + 1)
        @layer.register(str)
        def _(x): return nn.Tanh()
        self.c = layer({given})
        self.d = nn.Sequential(layer({given}), nn.ModuleList([layer({given})])[0])
        """
        for given in (
            "len(str(flag))",
            "bool(flag)",
            "not flag",
            "flag is None",
            "str(flag)",
            "1 if flag else 'a'",
            "1 if flag else 2.0",
        )
    },
    "a dispatch of a method, of a value that is not known": """
        class Maker:
            @functools.singledispatchmethod
            def layer(self, x): return nn.ReLU()
            @layer.register
            def _(self, x: int): return nn.Linear(4, x + 1)
        self.c = Maker().layer(len(str(flag)))
        """,
    "a dispatch that keeps something": """
        kept = []
        @functools.singledispatch
        def keep(x): kept.append(x)
        @keep.register
        def _(x: int): pass
        keep(len(str(flag)))
        self.c = nn.Linear(2, len(kept) + 1)
        """,
    **{
        f"match of {subject}, of one of two": f"""
        match {subject}:
            {first}: k = 3
            {second}: k = 4
            case _: k = 5
        self.c = nn.Linear(2, k)
        """
        for subject, first, second in (
            ("[1] if flag else [1, 2]", "case [x]", "case [x, y]"),
            ("(1,) if flag else (1, 2)", "case (x,)", "case (x, y)"),
            ("{'a': 1} if flag else {'b': 1}", "case {'a': _}", "case {'b': _}"),
            ("nn.ReLU() if flag else nn.Tanh()", "case nn.ReLU()", "case nn.Tanh()"),
            ("[1] if flag else {'b': 1}", "case [x]", "case {'b': x}"),
            ("(0, [1] if flag else [1, 2])", "case (0, [x])", "case (0, [x, y])"),
            ("{'k': (1,) if flag else 'ab'}", "case {'k': (x,)}", "case {'k': str()}"),
            ("[[1] if flag else [1, 2]]", "case [[_, _, *rest]]", "case [[1]]"),
            ("collections.deque([1] if flag else [1, 2])", "case [x]", "case [x, y]"),
            ("collections.ChainMap({'a': 1} if flag else {'b': 1})", "case {'a': x}", "case {'b': x}"),
            ("collections.UserList([1] if flag else [1, 2])", "case [x]", "case [x, y]"),
            ("types.MappingProxyType({'a': 1} if flag else {'b': 1})", "case {'a': x}", "case {'b': x}"),
        )
    },
    "what match takes of one of two lists": """
        match [4, 8] if flag else [4, 6, 8]:
            case [a, b]: self.c = nn.Linear(a, b)
            case [a, b, c]: self.c = nn.Sequential(nn.Linear(a, b), nn.Linear(b, c))
        self.d = nn.Linear(a, b)
        """,
    "what match takes of one of two lists inside": """
        match {"dims": [4, 8] if flag else [4, 6, 8]}:
            case {"dims": [a, *rest]} if len(rest) == 1: self.c = nn.Linear(a, rest[0])
            case {"dims": [a, *rest]}: self.d = nn.Linear(a, rest[1])
        """,
}

NAMED = {
    "attributes of an instance": """
        o = Plain()
        if flag:
            o.b = 1
        o.a = 2
        o.b = 3
        """,
    "attributes of a namespace": """
        o = types.SimpleNamespace()
        if flag:
            o.b = 1
        o.a = 2
        o.b = 3
        """,
    "entries of a `__dict__`": """
        o = Plain()
        if flag:
            o.__dict__["b"] = 1
        vars(o).update(a=2)
        vars(o)["b"] = 3
        """,
    "names that are set in a class": """
        class O:
            pass
        o = O
        if flag:
            o.b = 1
        o.a = 2
        o.b = 3
        """,
    "names of a class body": """
        class O:
            if flag:
                b = 1
            a = 2
            b = 3
        o = O
        """,
    "names of a class body in two orders": """
        class O:
            if flag:
                b, a = 3, 2
            else:
                a = 2
                b = 3
        o = O
        """,
}
"""Of two names, `b` is put before `a` or behind it."""

CASES |= {
    f"the order of {what}, {place}": f"{textwrap.dedent(body)}self.c = nn.Linear({read} + 1, 1)\n"
    for what, body in NAMED.items()
    for place, read in enumerate(
        (
            "[name for name in vars(o) if len(name) == 1].index('b')",
            "[value for value in o.__dict__.values() if type(value) is int][0]",
            "list(dict(o.__dict__).items())[-1][0] == 'a' or 2",
            "[name for name in reversed(list(vars(o).keys())) if len(name) == 1].index('a')",
            "o.a + o.b + ('a' in vars(o))",
        )
    )
}

CASES |= {
    f"a function or None, {place}": f"key = (lambda each: 0) if flag else None\n{body}self.c = nn.Linear(n, 1)\n"
    for place, body in enumerate(
        (
            "x = [2, 1]\nx.sort(key=key)\nn = x[0]\n",
            "n = sorted([2, 1], key=key)[0]\n",
            "n = sorted([2, 1], **({'key': key} if flag else {}))[0]\n",
            "n = sorted([2, 1], reverse=bool(flag))[0]\n",
            "n = sorted({2: 3, 1: 4}, key=key, reverse=not flag)[0]\n",
            "n = min([2, 1], key=key)\n",
            "n = max(1, 2, key=key)\n",
            "n = 1 + len(list(filter(key, [2, 1])))\n",
            "n = len(list(itertools.groupby([2, 1], key)))\n",
            "n = 1 + list(itertools.accumulate([2, 1], (lambda a, b: b) if flag else None))[1]\n",
            "n = len(list(itertools.accumulate([2, 1], initial=0 if flag else None)))\n",
        )
    )
}

FALSE: dict[str, tuple[str, ...]] = {
    "an iterator that one path has read to its end opens the module that its frame knows: not even `sure` is known": (
        "a generator that has ended",
        "a generator's argument, made on either path",
    ),
}
"""Cases of which something is claimed that does not hold, by what of the interpreter is at fault."""

_REASONS = {name: reason for reason, names in FALSE.items() for name in names}


def _case(name: str, body: str) -> Any:
    reason = _REASONS.get(name)
    return pytest.param(body, id=name, marks=() if reason is None else pytest.mark.xfail(strict=True, reason=reason))


def test_every_false_case_is_one_of_the_cases() -> None:
    assert _REASONS.keys() <= CASES.keys()


@pytest.mark.parametrize("body", [_case(name, body) for name, body in CASES.items()])
def test_what_is_claimed_holds_on_both_paths(body: str, claims_that_fail: Callable[..., list[Any]]) -> None:
    assert claims_that_fail(body, HEADER) == []
