"""Programs of random classes, and expressions over them: what test_class_values.py asks Python and the interpreter."""

from __future__ import annotations

import contextlib
import signal
import warnings
from collections.abc import Iterator
from random import Random
from types import FrameType
from typing import Any

HEAD = """
import abc, collections, collections.abc, copy, dataclasses, enum, functools, itertools, typing

T = typing.TypeVar("T")


class Desc:
    def __init__(self, v):
        self.v = v

    def __get__(self, obj, owner=None):
        return ("got", self.v, obj is None)

    def __set__(self, obj, value):
        obj.__dict__["_set"] = value


class Named:
    def __set_name__(self, owner, name):
        self.told = (owner.__name__, name)

    def __get__(self, obj, owner=None):
        return self.told


class Meta(type):
    def __new__(mcs, name, bases, namespace, **keywords):
        made = super().__new__(mcs, name, bases, namespace)
        made.tag = (name, len(bases), sorted(keywords))
        return made

    def __init__(cls, name, bases, namespace, **keywords):
        super().__init__(name, bases, namespace)

    def __len__(cls):
        return 4

    def __contains__(cls, x):
        return x == 1

    @property
    def size(cls):
        return cls.__name__ * 2


class Counting(type):
    made = 0

    def __call__(cls, *args, **kwargs):
        made = super().__call__(*args, **kwargs)
        cls.made = cls.made + 1
        return made


def marked(cls):
    cls.mark = cls.__name__
    return cls


def extended(cls):
    class Extended(cls):
        extra = 5
    return Extended


def shown(value, depth=0):
    if isinstance(value, enum.Enum) and depth < 3:
        return type(value).__name__, value.name, shown(value.value, depth + 1)
    if isinstance(value, (set, frozenset)):
        return type(value).__name__, sorted(map(repr, value))
    kind = type(value).__name__
    if (isinstance(value, dict) or kind == "mappingproxy") and depth < 3:
        return kind.replace("mappingproxy", "dict"), [(key, shown(each, depth + 1)) for key, each in value.items()]
    if isinstance(value, (list, tuple)) and depth < 3:
        return type(value).__name__, [shown(each, depth + 1) for each in value]
    if isinstance(value, type):
        return "class", value.__name__
    if hasattr(type(value), "__next__"):
        return "iterator", list(itertools.islice(value, 6))
    return kind, "object" if type(value).__module__ == "code" else value


def outcome(call):
    try:
        return shown(call())
    except Exception as error:
        return "raises", type(error).__name__


def with_set(o, n, v):
    setattr(o, n, v)
    return (getattr(o, n), sorted(vars(o)))


def with_del(o, n):
    delattr(o, n)
    return hasattr(o, n)


def entered(o):
    with o as x:
        raise ValueError
    return "left"


def inherits(C, o):
    class Child(C):
        b = 77
        def f(self, x=1):
            return ("child", super().f())
    made = Child()
    return (made.b, made.f())


def slotted(C):
    class Child(C):
        __slots__ = ("d",)
    made = Child()
    made.d = 4
    return (made.d, hasattr(made, "__dict__"))


def counted(o):
    return (o, o.__class__.__name__, [each for each in vars(o) if each == "made"])


def pattern(o):
    match o:
        case {"k": k}:
            return ("map", k)
        case [a, *rest]:
            return ("seq", a, len(rest))
        case str() | int():
            return "plain"
        case object(a=a, b=b):
            return ("ab", a, b)
        case object(value=v):
            return ("v", v)
    return "none"


def order(o, p):
    return [x is o for x in sorted([p, o])]
"""

NAMES = ("a", "b", "c", "_d", "size", "value")
METHODS = ("f", "g", "h", "run")
VALUES = ("0", "1", "2", "3", "None", "True", "'x'", "'yz'", "[1, 2]", "(1, 2)", "{'k': 1}", "1.5", "-1")
SPECIAL = {
    "__len__": ("return 3", "return len(self.__dict__)"),
    "__iter__": ("return iter([1, 2])", "yield from self.__dict__", "yield 1"),
    "__contains__ x": ("return x == 1", "return x in self.__dict__"),
    "__eq__ x": ("return True", "return isinstance(x, type(self))", "return NotImplemented"),
    "__ne__ x": ("return True", "return NotImplemented"),
    "__hash__": ("return 5",),
    "__getitem__ x": ("return [5, 6][x]", "return self.__dict__[x]", "raise IndexError", "raise KeyError(x)"),
    "__setitem__ x y": ("self.__dict__[x] = y",),
    "__call__ x=1": ("return x", "return [x]"),
    "__repr__": ("return 'R'", "return type(self).__name__ + '!'"),
    "__str__": ("return 'S'",),
    "__bool__": ("return False", "return True"),
    "__getattr__ x": ("return x + '?'", "raise AttributeError(x)", "return 9"),
    "__add__ x": ("return 'add'", "return NotImplemented"),
    "__radd__ x": ("return 'radd'",),
    "__iadd__ x": ("return self",),
    "__lt__ x": ("return True", "return NotImplemented"),
    "__le__ x": ("return False",),
    "__enter__": ("return self", "return 4"),
    "__exit__ *x": ("return True", "return None"),
    "__set_name__ x y": ("self.name = y",),
    "__format__ x": ("return 'F' + x",),
    "__index__": ("return 2",),
    "__int__": ("return 7",),
    "__reversed__": ("return iter([9])",),
    "__delattr__ x": ("object.__delattr__(self, x)", "pass"),
    "__setattr__ x y": (
        *("object.__setattr__(self, x, y)", "self.__dict__[x] = (y, 1)"),
        "super().__setattr__('_' + x, y)",
    ),
    "__getattribute__ x": ("return object.__getattribute__(self, x)", "return super().__getattribute__(x)"),
    "__neg__": ("return 'neg'",),
    "__missing__ x": ("return x",),
    "__copy__": ("return 'copied'",),
    "__dir__": ("return ['z']",),
    "__class_getitem__ x": ("return x",),
    "__instancecheck__ x": ("return True",),
    "__or__ x": ("return 'or'",),
    "__ror__ x": ("return 'ror'",),
    "__abs__": ("return 1",),
    "__round__ x=0": ("return 3",),
    "__mul__ x": ("return 'mul'",),
    "__length_hint__": ("return 2",),
}
BUILTIN_BASES = (
    *("dict", "list", "str", "int", "tuple", "set", "frozenset", "object", "Exception", "ValueError", "KeyError"),
    *("collections.OrderedDict", "collections.UserDict", "abc.ABC", "collections.abc.Mapping", "float"),
    *("collections.abc.Sequence", "collections.abc.Iterator", "typing.Generic[T]", "typing.Protocol"),
    *("collections.defaultdict", "collections.deque", "collections.abc.Hashable", "type"),
)
Known = list[tuple[str, str]]
"""The classes of a program: their names, and what kind each is."""


def _name(random: Random) -> str:
    return random.choice(NAMES)


def _result(random: Random) -> str:
    """What a method returns."""
    name = _name(random)
    return random.choice(
        (
            *("1", "2", "'m'", f"self.{name}", "len(self.__dict__)", "type(self).__name__", "__class__.__name__"),
            *(f"getattr(self, '{name}', 7)", f"self.{random.choice(METHODS)}()", "super().__repr__() and 3"),
            *("self.__class__ is not None", "x", "x + 1", "[x, x]", f"hasattr(self, '{name}')", f"(self.{name}, x)"),
            *(f"super().{name}", f"super().{random.choice(METHODS)}()", f"type(self).{name}", "isinstance(self, type)"),
        )
    )


def _parameters(random: Random) -> tuple[list[str], list[str]]:
    """Parameters of `__init__`, and the names of those that are kept."""
    names = random.sample(NAMES, random.randrange(3))
    given: list[str] = []
    defaulted = False
    for name in names:
        defaulted = defaulted or random.random() < 0.6
        given.append(f"{name}={random.choice(VALUES)}" if defaulted else name)
    if random.random() < 0.15:
        given.append("*rest")
    if random.random() < 0.15:
        given.append("**kw")
    return given, names


def _method(random: Random, name: str) -> list[str]:
    chance, value = random.random(), random.choice(VALUES)
    if chance < 0.12:
        shown = random.choice(("cls.__name__", f"cls.{_name(random)}", "x", "cls", "[cls.__name__, x]"))
        return ["@classmethod", f"def {name}(cls, x=1):", f"    return {shown}"]
    if chance < 0.22:
        return ["@staticmethod", f"def {name}(x=2):", "    return x"]
    if chance < 0.34:
        return ["@property", f"def {name}(self):", "    x = 4", f"    return {_result(random)}"]
    if chance < 0.40:
        return ["@functools.cached_property", f"def {name}(self):", "    x = 5", f"    return {_result(random)}"]
    if chance < 0.46:
        return [f"def {name}(self, x=3):", "    yield x", f"    yield {_result(random)}"]
    if chance < 0.50:
        return [f"{name} = functools.partialmethod(lambda self, x: x, {value})"]
    if chance < 0.55:
        return [f"{name} = lambda self, x=6: {_result(random)}"]
    if chance < 0.60:
        return [
            *("@functools.singledispatchmethod", f"def {name}(self, x=1):", f"    return {_result(random)}"),
            *(f"@{name}.register", "def _(self, x: str):", "    return 'text'"),
            *(f"@{name}.register(int)", "def _(self, x):", "    return ('number', x)"),
        ]
    if chance < 0.65:
        return [
            *("@property", f"def {name}(self):", f"    return {_result(random).replace('x', '1')}"),
            *(f"@{name}.setter", f"def {name}(self, x):", "    self.kept = x"),
        ]
    lines = [f"def {name}(self, x={value}):"]
    if random.random() < 0.3:
        lines.append(f"    self.{_name(random)} = {random.choice((*VALUES, 'x'))}")
    if random.random() < 0.25:
        lines.append(f"    x = super().{name}()")
    return [*lines, f"    return {_result(random)}"]


def _special(random: Random) -> list[str]:
    method = random.choice(list(SPECIAL))
    name, *parameters = method.split()
    return [f"def {name}({', '.join(('self', *parameters))}):", f"    {random.choice(SPECIAL[method])}"]


# ---- kinds of classes ------------------------------------------------------------------------------------------------


def _dataclass(random: Random, name: str, known: Known) -> list[str]:
    every = ("order=True", "frozen=True", "eq=False", "kw_only=True", "repr=False", "unsafe_hash=True", "slots=True")
    options = [each for each in every if random.random() < 0.15]
    bases = [each for each, kind in known if kind == "data"] if random.random() < 0.4 else []
    header = f"class {name}({random.choice(bases)}):" if bases else f"class {name}:"
    lines = [f"@dataclasses.dataclass({', '.join(options)})" if options else "@dataclasses.dataclass", header]
    for field in random.sample(NAMES, random.randrange(1, 4)):
        kind = random.choice(("int", "str", "list", "object", "typing.ClassVar[int]", "dataclasses.InitVar[int]"))
        default = random.choice(
            (
                *("0", "1", "None", "'s'", "dataclasses.field(default_factory=list)", "(1, 2)"),
                *("dataclasses.field(default=3, repr=False)", "dataclasses.field(init=False, default=2)"),
                *("dataclasses.field(default=4, compare=False)", "dataclasses.field(kw_only=True, default=6)", ""),
            )
        )
        lines.append(f"    {field}: {kind}{' = ' if default else ''}{default}")
    if random.random() < 0.1:
        lines.append("    _: dataclasses.KW_ONLY")
        lines.append("    last: int = 1")
    if random.random() < 0.3:
        after = random.choice(("self.extra = 1", "pass", f"self.{_name(random)} = 8", "self.extra = rest"))
        lines += ["    def __post_init__(self, *rest):", f"        {after}"]
    if random.random() < 0.4:
        lines += [f"    {line}" for line in _method(random, random.choice(METHODS))]
    return lines


def _enum(random: Random, name: str, known: Known) -> list[str]:
    base = random.choice(
        ("enum.Enum", "enum.Enum", "enum.IntEnum", "enum.Flag", "enum.IntFlag", "str, enum.Enum", "int, enum.Enum")
    )
    lines = [f"class {name}({base}):"]
    if random.random() < 0.1 and base == "enum.Enum":
        lines += ["    def _generate_next_value_(name, start, count, last_values):", "        return name + str(count)"]
    values = {"enum.Enum": ("enum.auto()", "1", "2", "'x'", "(1, 2)", "None")}.get(base, ("enum.auto()", "1", "2", "4"))
    values = ("'x'", "'y'", "'z'") if "str" in base else values
    lines += [f"    {member} = {random.choice(values)}" for member in "ABC"[: random.randrange(1, 4)]]
    if random.random() < 0.3:
        held = random.choice(("self.value", "self.name", "(self.name, self.value)", "type(self).A is self"))
        lines += ["    @property", "    def f(self):", f"        return {held}"]
    if random.random() < 0.2:
        lines += ["    @classmethod", "    def _missing_(cls, value):"]
        lines += [f"        return {random.choice(('cls.A', 'None', 'None', '3'))}"]
    if random.random() < 0.2:
        lines += ["    def __str__(self):", "        return self.name.lower()"]
    if random.random() < 0.1:
        lines += ["    def __init__(self, *given):", "        self.given = given"]
    if random.random() < 0.2:
        lines += [f"    {line}" for line in random.choice((_special(random), _method(random, "g")))]
    return lines


def _named_tuple(random: Random, name: str, known: Known) -> list[str]:
    lines = [f"class {name}(typing.NamedTuple):"]
    lines += [f"    {field}: int = {random.choice(VALUES)}" for field in random.sample(("a", "b", "c"), 2)]
    if random.random() < 0.5:
        lines += [f"    {line}" for line in _method(random, random.choice(METHODS))]
    if random.random() < 0.2:
        lines += [f"    {line}" for line in _special(random)]
    return lines


def _header(random: Random, name: str, known: Known) -> tuple[list[str], list[str]]:
    """The lines up to the body of a plain class, and its bases."""
    plain = [each for each, kind in known if kind == "plain"]
    others = [each for each, kind in known if kind == "tuple"]
    bases: list[str] = []
    if plain and random.random() < 0.6:
        bases = random.sample(plain, min(len(plain), random.choice((1, 1, 2))))
    if others and not bases and random.random() < 0.3:
        bases = [random.choice(others)]
    if random.random() < (0.1 if bases else 0.25):
        bases.append(random.choice(BUILTIN_BASES))
    given = list(bases)
    if random.random() < 0.12:
        given.append(
            random.choice(("metaclass=Meta", "metaclass=Counting", "metaclass=abc.ABCMeta", "metaclass=Meta, k=1"))
        )
    elif random.random() < 0.05:
        given.append("key=3")
    lines = [f"class {name}({', '.join(given)}):" if given else f"class {name}:"]
    if random.random() < 0.12:
        lines.insert(0, random.choice(("@marked", "@extended", "@functools.total_ordering", "@typing.final")))
    return lines, bases


def _plain(random: Random, name: str, known: Known) -> list[str]:
    header, bases = _header(random, name, known)
    lines: list[str] = []
    if random.random() < 0.15:
        lines.append(
            f"__slots__ = {random.choice(('()', repr(('a',)), repr(('a', 'b')), repr(['_d', '__dict__']), repr('b')))}"
        )
    lines += [f"{_name(random)} = {random.choice(VALUES)}" for _ in range(random.randrange(3))]
    if random.random() < 0.6:
        parameters, names = _parameters(random)
        lines.append(f"def __init__({', '.join(('self', *parameters))}):")
        if bases and random.random() < 0.6:
            lines.append(f"    super().__init__({random.choice(('', '', '', *names))})")
        lines += [f"    self.{each} = {each}" for each in names]
        if random.random() < 0.3:
            lines.append(f"    self.{_name(random)} = {random.choice(VALUES)}")
        lines.append("    pass")
    if random.random() < 0.1:
        lines += ["def __new__(cls, *args, **kwargs):", "    made = super().__new__(cls)"]
        lines += [
            random.choice(("    made.made = 1", "    pass")),
            f"    return {random.choice(('made', 'made', 'made', '5'))}",
        ]
    if random.random() < 0.15:
        lines += ["def __init_subclass__(cls, key=2, **kwargs):", "    super().__init_subclass__(**kwargs)"]
        lines.append(f"    cls.{_name(random)} = {random.choice(('cls.__name__', '5', 'key'))}")
    for method in random.sample(METHODS, random.randrange(3)):
        lines += _method(random, method)
    for _ in range(random.choice((0, 0, 1, 1, 2))):
        lines += _special(random)
    if random.random() < 0.1:
        lines += ["@abc.abstractmethod", f"def {random.choice(METHODS)}(self):", "    pass"]
    if random.random() < 0.12:
        lines.append(f"{_name(random)} = Desc({random.choice(VALUES)})")
    if random.random() < 0.08:
        lines.append(f"{_name(random)} = Named()")
    if random.random() < 0.08:
        lines += ["class Inner:", f"    {_name(random)} = {random.choice(VALUES)}"]
    if random.random() < 0.05:
        lines.append(f"{random.choice(list(SPECIAL)).split()[0]} = None")
    return [*header, *(f"    {line}" for line in lines or ["pass"])]


_KINDS = (("data", 0.16, _dataclass), ("enum", 0.30, _enum), ("tuple", 0.36, _named_tuple), ("plain", 1.0, _plain))


def _class(random: Random, name: str, known: Known) -> tuple[list[str], str]:
    chance = random.random()
    for kind, below, make in _KINDS:
        if chance < below:
            return make(random, name, known), kind
    raise AssertionError


# ---- expressions -----------------------------------------------------------------------------------------------------


def _made(random: Random, known: Known) -> str:
    """An expression that gives an instance of one of the classes."""
    cls, kind = random.choice(known)
    value = random.choice(VALUES)
    if kind == "enum":
        return (
            f"{cls}{random.choice(('.A', '.B', '(1)', '(2)', '[{!r}]'.format('A')))}"
            if random.random() < 0.8
            else f"{cls}('x')"
        )
    chance = random.random()
    if chance < 0.5:
        return f"{cls}()"
    if chance < 0.7:
        return f"{cls}({value})"
    if chance < 0.85:
        return f"{cls}({_name(random)}={value})"
    return f"{cls}({value}, {random.choice(VALUES)})"


_FORMS = """
    {o}.{n}|{o}.{n}|{o}.{n}|{o}.{m}()|{o}.{m}({v})|list({o}.{m}())|{C}.{n}|{C}.{m}()|{C}.{m}({o})|isinstance({o}, {D})
    issubclass({C}, {D})|repr({o})|str({o})|f'{{{o}!r:>5}}'|f'{{{o}}}'|{o} == {p}|{o} != {o}|{o} != {p}|{o} < {p}|len({o})
    list({o})|tuple({o})|dict(vars({o}))|sorted(vars({o}))|hasattr({o}, '{n}')|getattr({o}, '{n}', 'none')
    getattr({C}, '{n}', 'none')|[k.__name__ for k in {C}.__mro__]|{C}.__name__|{C}.__qualname__|type({o}).__name__|bool({o})
    {v} in {o}|{o}[{v}]|{o}({v})|{o} + {v}|{v} + {o}|callable({o})|hash({o}) == hash({p})|[x.name for x in {C}]
    [x.value for x in {C}]|{o}.value|{o}.name|{o} | {p}|dataclasses.asdict({o})|dataclasses.astuple({o})
    [x.name for x in dataclasses.fields({C})]|dataclasses.replace({o}, {a}={v})|vars(copy.copy({o}))|vars(copy.deepcopy({o}))
    {o}._asdict()|{o}._replace(a={v})|{C}._fields|with_set({o}, '{n}', {v})|with_del({o}, '{n}')|entered({o})
    '{n}' in {C}.__dict__|sorted({C}.__annotations__)|{C}.__bases__[0].__name__|issubclass({C}, (dict, list, {D}))
    inherits({C}, {o})|max([{o}, {o}])|-{o}|int({o})|{C}.__members__|len({C})|{C}[{v}]|[*reversed({o})]|{o}.{n}.{a}
    '{n}' in dir({C})|[i for i in range(5)][{o}]|pattern({o})|dataclasses.is_dataclass({C})|type({C}).__name__|slotted({C})
    order({o}, {p})|{C}.tag|{C}.mark|{C}.made|{o}.given|{o} * 2|{o} >= {p}|min({o}, {p})|{o} is {p}|{C}({o})|{v} in {C}
    {C}.__base__.__name__|isinstance({C}, Meta)|{o}.__class__.__name__|{C}.__abstractmethods__ and 1|abs({o})
    {C}.__match_args__|dict({o})|sum([{o}, {o}], {v})|next(iter({o}))|{o}.args|str({C}.{m})|'{{}}'.format({o})
    {C}.mro()[1].__name__|{o}.__dict__|hasattr({C}, '{n}')|issubclass({C}, collections.abc.{i})|isinstance({o}, collections.abc.{i})
    {o} and 1|not {o}|[{o}].count({p})|{{{o}: 1}}[{p}]|{C}.{m}.__name__|{o}.{m}.__name__|{C}.__init__ is object.__init__
    {o}.{m}.__self__ is None|[*{o}]|{{**{o}}}|round({o})|{o}.__len__()|{o}.__eq__({p})|type({o}) is {D}
"""
FORMS = [each.strip() for each in _FORMS.replace("\n", "|").split("|") if each.strip()]
FORMS += ["{o} | {p}", "{o} | {v}"]
_INTERFACES = (
    "Hashable",
    "Iterable",
    "Sized",
    "Container",
    "Callable",
    "Mapping",
    "Sequence",
    "Iterator",
    "Reversible",
)


def expression(random: Random, known: Known) -> str:
    name = random.choice((*NAMES, *METHODS, "A", "name", "made", "extra", "_set", "Inner", "kept", "mark"))
    return random.choice(FORMS).format(
        o=_made(random, known),
        p=_made(random, known),
        C=random.choice(known)[0],
        D=random.choice(known)[0],
        n=name,
        m=random.choice(METHODS),
        a=_name(random),
        v=random.choice(VALUES),
        i=random.choice(_INTERFACES),
    )


# ---- programs --------------------------------------------------------------------------------------------------------


class TooLongError(BaseException):
    """Python takes too long over it."""


def _ring(signum: int, frame: FrameType | None) -> None:
    raise TooLongError


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def namespace(text: str) -> dict[str, Any] | None:
    """What the program binds; None where Python refuses it."""
    found: dict[str, Any] = {"__name__": "code"}
    try:
        with within(2):
            exec(compile(text, "code.py", "exec", dont_inherit=True), found)
    except BaseException:  # whatever it is, it is no program to ask of
        return None
    return found


def outcome(bound: dict[str, Any], asked: str) -> Any:
    """None where Python has no answer that could be compared."""
    try:
        with within(0.5):
            found = bound["outcome"](eval(f"lambda: {asked}", bound))
            repr(found)
    except BaseException:  # the text of an object that refuses it; a run that does not end
        return None
    return None if found == ("raises", "RecursionError") else found


def program(random: Random, number: int) -> tuple[str, list[str]]:
    """The text of four classes that Python takes, and expressions over them, most of which Python does not refuse."""
    known: Known = []
    lines: list[str] = []
    while len(known) < 4:
        name = "KLMN"[len(known)]
        body, kind = _class(random, name, known)
        if namespace("\n".join((HEAD, *lines, *body))) is not None:
            lines += body
            known.append((name, kind))
    text = "\n".join((HEAD, *lines)) + "\n"
    bound = namespace(text)
    assert bound is not None
    asked: list[str] = []
    for _ in range(number * 12):
        one = expression(random, known)
        found = outcome(bound, one) if len(asked) < number else None
        if found is not None and (found[0] != "raises" or random.random() < 0.12):
            asked.append(one)
    return text, asked
