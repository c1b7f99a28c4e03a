"""Texts of data: JSON, YAML and TOML that stand in the source are read; what stands in a file is not known.

Source: the parsers themselves, asked for the plain values of the very text.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable
from typing import Any

from modgraph.doors.data import TooLargeError, read_toml
from modgraph.doors.yaml_texts import MAX_NODES, nodes_with_references
from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.limits import MAX_VALUE_SIZE
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import DictObject, ListObject, SetObject
from modgraph.prediction.domain.registry import alias, known_class, models
from modgraph.prediction.domain.values import NONE, Constant, KnownClass, TupleValue, Unknown, Value
from modgraph.prediction.knowledge.stdlib.opened_files import text_of
from modgraph.prediction.python import exceptions
from modgraph.prediction.python.bounds import MOST_LONG_NUMBERS, has_many_long_numbers, work
from modgraph.prediction.python.plain import number_unknown, room_of_plain
from modgraph.source.reached import Reached

_PLAIN = (type(None), bool, int, float, str, bytes)


class _Lifted:
    """Python's containers as values; one that stands at several places stays one."""

    def __init__(self, machine: Machine, hook: Value = NONE) -> None:
        self.machine = machine
        self.hook = hook
        self.made: dict[int, Value] = {}

    def value(self, item: Any) -> Value:
        if type(item) in _PLAIN:
            self.machine.makes(room_of_plain(item))
            return Constant(item)
        if id(item) not in self.made:
            self.machine.makes(room_of_plain(item))
            self.made[id(item)] = self._container(item)
        return self.made[id(item)]

    def _container(self, item: Any) -> Value:
        if isinstance(item, dict):
            return self._mapping(item)
        if isinstance(item, list):
            listed = self.machine.allocate(ListObject())
            self.made[id(item)] = listed
            found = [self.value(each) for each in item]
            self.machine.state.change(listed, ListObject).items.extend(found)
            return listed
        if isinstance(item, tuple):
            return TupleValue(tuple(self.value(each) for each in item))
        if isinstance(item, set):
            return self.machine.allocate(SetObject({self.value(each): None for each in sorted(item, key=repr)}))
        return number_unknown(self.machine, f"a {type(item).__name__} in a text of data is not modelled")

    def _mapping(self, item: dict[Any, Any]) -> Value:
        address = self.machine.allocate(DictObject())
        self.made[id(item)] = address
        found = {self.value(key): self.value(each) for key, each in item.items()}
        self.machine.state.change(address, DictObject).entries.update(found)
        return address if self.hook == NONE else self.machine.call(self.hook, (address,))


def _read(machine: Machine, given: Value, what: str, parse: Callable[[Any], Any], hook: Value = NONE) -> Value:
    """What a parser makes of a text that is known."""
    if not isinstance(given, Constant) or not isinstance(given.value, (str, bytes)):
        return machine.unknown(f"the {what} text is not known", given)
    if len(given.value) > MAX_VALUE_SIZE:
        return machine.unknown(Reached(f"a {what} text of more than {MAX_VALUE_SIZE} characters"))
    if has_many_long_numbers(given.value):
        return machine.unknown(Reached(f"a {what} text of more than {MOST_LONG_NUMBERS} long numbers"))
    machine.makes(work(what, [given.value]))
    try:
        found = parse(given.value)
    except RecursionError:
        return machine.unknown(f"a {what} text nested too deep")
    except OverflowError:
        return machine.unknown(f"a number in a {what} text is too large")
    return _Lifted(machine, hook).value(found)


_PARSERS: dict[str, Callable[[Any], Any]] = {"JSON": json.loads, "TOML": read_toml}


def _from_file(machine: Machine, arguments: Arguments, what: str) -> Value:
    stream = arguments.positional[0] if arguments.positional else NONE
    text = text_of(machine, stream)
    if text is not stream and what in _PARSERS and not arguments.keywords and len(arguments.positional) == 1:
        try:
            return _read(machine, text, what, _PARSERS[what])
        except ValueError as error:
            return machine.unknown(f"a {what} file is not read: {error}")
    cause = stream if isinstance(stream, Unknown) else NONE
    return machine.unknown(f"{what} is read from a file, and files are not read", cause)


# ---- JSON, TOML ------------------------------------------------------------------------------------------------------


@models("json.loads")
def json_text(arguments: Arguments, machine: Machine) -> Value:
    """Of text that is known; `object_hook` is called as json does, innermost objects first."""
    if set(arguments.keywords) - {"s", "object_hook"}:
        why = machine.unknown("json.loads with these options is not modelled")
        machine.expose(arguments.keywords.values(), why)
        return why
    try:
        hook = arguments.keywords.get("object_hook", NONE)
        return _read(machine, arguments.get(0, "s", NONE), "JSON", json.loads, hook)
    except ValueError as error:
        raise exceptions.as_python(machine, error) from None


@models("tomllib.loads")
def toml_text(arguments: Arguments, machine: Machine) -> Value:
    try:
        importlib.import_module("tomllib")
    except ImportError:  # before Python 3.11
        return machine.unknown("tomllib is not in this Python")
    given = arguments.get(0, "s", NONE)
    if isinstance(given, Constant) and not isinstance(given.value, str):
        raise machine.raises("TypeError", f"Expected str object, not '{type(given.value).__name__}'")
    try:
        return _read(machine, given, "TOML", read_toml)
    except TooLargeError as error:
        return machine.unknown(f"a TOML text is not read: {error}")
    except ValueError as error:
        raise exceptions.as_python(machine, error) from None


@models("json.load", "tomllib.load")
def data_file(arguments: Arguments, machine: Machine) -> Value:
    return _from_file(machine, arguments, arguments.function.partition(".")[0].removesuffix("lib").upper())


# ---- YAML ------------------------------------------------------------------------------------------------------------

_LOADERS = {
    **dict.fromkeys(("SafeLoader", "FullLoader", "Loader", "UnsafeLoader"), "SafeLoader"),
    **dict.fromkeys(("CSafeLoader", "CFullLoader", "CLoader", "CUnsafeLoader"), "SafeLoader"),
    **dict.fromkeys(("BaseLoader", "CBaseLoader"), "BaseLoader"),
}
"""Loaders, and one that makes the same of a text in which no tag names a Python object."""

for _name in _LOADERS:
    _home = "yaml.cyaml" if _name.startswith("C") else "yaml.loader"
    known_class(f"{_home}.{_name}")
    alias(f"yaml.{_name}", f"{_home}.{_name}")

_OWN_RULES = ("implicit_resolver", "add_constructor", "add_multi_constructor", "add_path_resolver")
"""What the text of a module holds that may change how scalars are read."""


@models("yaml.safe_load", "yaml.full_load", "yaml.unsafe_load", "yaml.load")
def yaml_text(arguments: Arguments, machine: Machine) -> Value:
    given = text_of(machine, arguments.get(0, "stream", NONE))
    loader = arguments.get(1, "Loader", NONE)
    if not isinstance(given, Constant):
        return _from_file(machine, arguments, "YAML")
    wanted = "SafeLoader"
    if arguments.function == "yaml.load":
        is_own = isinstance(loader, KnownClass) and loader.name.partition(".")[0] == "yaml"
        name = last_name(loader.name) if isinstance(loader, KnownClass) and is_own else ""
        if name not in _LOADERS:
            return machine.unknown("which YAML loader it is is not known", loader)
        wanted = _LOADERS[name]
    if isinstance(given.value, bytes) and given.value.startswith(_OF_UTF_16):
        return machine.unknown("a YAML text in UTF-16 is not read")
    looked_through = _open_brackets(str(given.value)) * len(given.value) if isinstance(given.value, str | bytes) else 0
    if looked_through > _MOST_LOOKED_THROUGH:
        return machine.unknown(Reached("a YAML text with too many brackets that may stand inside each other"))
    machine.makes(looked_through // 20)
    if _has_own_rules(machine) or "!" in str(given.value):
        return machine.unknown("YAML with tags or rules of its own is not interpreted")
    try:
        yaml: Any = importlib.import_module("yaml")
    except ImportError:
        return machine.unknown("yaml is not interpreted")
    parser = getattr(yaml, f"C{wanted}", None) or getattr(yaml, wanted)
    try:
        if isinstance(given.value, str | bytes) and len(given.value) <= MAX_VALUE_SIZE and "*" in str(given.value):
            machine.makes(work("YAML", [given.value]))
            if nodes_with_references(yaml.parse(given.value, Loader=parser)) > MAX_NODES:
                return machine.unknown(Reached(f"a YAML text of more than {MAX_NODES} values behind references"))
        return _read(machine, given, "YAML", lambda text: yaml.load(text, Loader=parser))
    except (yaml.YAMLError, ValueError) as error:
        raise exceptions.as_python(machine, error) from None


_MOST_LOOKED_THROUGH = 50_000_000
"""Brackets that are open, times characters: YAML's scanner looks through the former at each token."""


_OF_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""How bytes begin that YAML reads in another encoding than ASCII's."""


def _open_brackets(text: str) -> int:
    """How many brackets could be open at once; one in a quotation or a comment closes none, so that there all count."""
    if any(sign in text for sign in "\"'#"):
        return text.count("[") + text.count("{")
    most = now = 0
    for sign in _BRACKET.findall(text):
        now = now + 1 if sign in "[{" else max(now - 1, 0)
        most = max(most, now)
    return most


_BRACKET = re.compile(r"[\[\]{}]")


def _has_own_rules(machine: Machine) -> bool:
    modules = dict.fromkeys([*machine.modules.roots, *(frame.module for frame in machine.frames)])
    sources = [machine.finder.source(name) for name in modules]
    return any(word in source.text for source in sources if source is not None for word in _OWN_RULES)


@models("yaml.safe_load_all", "yaml.full_load_all", "yaml.unsafe_load_all", "yaml.load_all")
def yaml_documents(arguments: Arguments, machine: Machine) -> Value:
    return machine.unknown("several YAML documents are not read", *arguments.positional[:1])


@models("yaml.dump", "yaml.safe_dump", "yaml.dump_all", "yaml.safe_dump_all")
def yaml_dump(arguments: Arguments, machine: Machine) -> Value:
    return number_unknown(machine, "the text that YAML makes is not modelled")
