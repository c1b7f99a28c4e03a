"""What the values of a mapping are as arguments: themselves, namespaces where attributes are read from them, and
objects where a mapping names a class in its turn.

An object is made of a class of the project that may be imported where the model runs, or of a layer of torch: a
configuration is data, and may not name anything else to be called.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

from modgraph.arguments.annotated import ConfigClass, class_in, class_named
from modgraph.arguments.config_files import namespace
from modgraph.arguments.constructor import Constructor
from modgraph.arguments.importable import Importable
from modgraph.arguments.interpolations import Path, References
from modgraph.arguments.named_mappings import arguments_in, is_marker
from modgraph.arguments.naming import split_name
from modgraph.names import last_name
from modgraph.prediction.code.whole_modules import is_of_project
from modgraph.source.dotted_names import dotted
from modgraph.source.syntax import FunctionNode
from modgraph.source.targets import Built, Ref, Unsaid

MAX_VALUES = 5_000
"""In the arguments of one mapping."""
_MAX_DEPTH = 16
_PLAIN = (type(None), bool, int, float, Built, Unsaid)
_INSIDE_OUT = ("_target_", "class_path")
"""Keys of the two libraries that make objects of all mappings below: Hydra, and the command line of Lightning."""
_NOT_RECURSIVE = "_recursive_"
_PARTIAL = "_partial_"
_KEYS = ("type", "name", "class", "arch", "target")
_ARGUMENTS = ("init_args", "params", "kwargs", "args", "arguments")
_LAYER = re.compile(r"torch\.nn(?:\.modules\.\w+)?\.[A-Z]\w*")
_OF_TORCH = re.compile(r"torch(?:\.[a-z]\w*)*\.[A-Z]\w*")
"""What may be handed to a model, which calls it or not: an optimizer for its training."""
_OF_A_DICT = frozenset({"get", "items", "keys", "values", "pop", "copy", "update", "setdefault"})


class Values:
    """Arguments of one class, out of one file."""

    def __init__(self, constructor: Constructor, references: References, key: str, mapping: Mapping[str, Any]) -> None:
        self._constructor = constructor
        self._references = references
        self._makes_all = key in _INSIDE_OUT and mapping.get(_NOT_RECURSIVE) is not False
        self._importable = Importable(constructor.target, constructor.file.module, constructor.finder)
        self._left = MAX_VALUES

    def argument(self, parameter: str, value: Any, inside: Path, *, as_read: bool = True) -> Any:
        """What the constructor is given for a parameter; `Unsaid` where that is not known as a whole.

        Args:
            inside: where the mapping stands that has the parameter for a key.
            as_read: a mapping from which attributes are read has these.
        """
        makes = self._makes_all or _takes_object(self._constructor, parameter)
        found = self._value(value, (*inside, parameter), makes=makes)
        if as_read and isinstance(found, dict | list) and _is_read_by_attribute(self._constructor, parameter):
            found = namespace(found)
        return found

    def _value(self, value: Any, where: Path, *, makes: bool) -> Any:
        self._left -= 1
        if self._left < 0 or len(where) > _MAX_DEPTH:
            return Unsaid("it holds too much")
        if isinstance(value, str):
            return self._references.value(value, where[:-1])
        if isinstance(value, dict):
            key = _naming_key(value, inside_out=self._makes_all) if makes else None
            return self._mapping(value, where, makes=makes) if key is None else self._object(value, key, where)
        if isinstance(value, list | tuple):
            items = [self._value(each, (*where, number), makes=makes) for number, each in enumerate(value)]
            lacking = next((each for each in items if isinstance(each, Unsaid)), None)
            return lacking if lacking is not None else type(value)(items)
        return value if isinstance(value, _PLAIN) else Unsaid("it is no plain value")

    def _mapping(self, value: dict[Any, Any], where: Path, *, makes: bool) -> Any:
        found = {name: self._value(each, (*where, name), makes=makes) for name, each in value.items()}
        lacking = next((each for each in found.values() if isinstance(each, Unsaid)), None)
        return found if lacking is None else lacking

    def _object(self, value: dict[Any, Any], key: str, where: Path) -> Any:
        is_partial = value.get(_PARTIAL) is True
        name, parameters = self._class(value[key], _OF_TORCH if is_partial else _LAYER)
        if name is None:
            return Unsaid(f"it is made by what may not be called here: {value[key]}")
        for positional, keywords, below in arguments_in(value, key):
            if not _may_be_its(keywords, below, parameters):
                continue
            place = (*where, *below)
            given = [self._value(each, (*place, number), makes=True) for number, each in enumerate(positional)]
            named = {each: self._value(one, (*place, each), makes=True) for each, one in keywords.items()}
            if any(isinstance(each, Unsaid) for each in (*given, *named.values())):
                return Unsaid(f"not all is known that {value[key]} is given")
            if is_partial:
                return Built("functools.partial", (Ref(name), *given), tuple(named.items()))
            return Built(name, tuple(given), tuple(named.items()))
        return Unsaid(f"{value[key]} does not take what it is given")

    def _class(self, text: str, of_torch: re.Pattern[str]) -> tuple[str | None, set[str] | None]:
        """Import path of a class that may be called, and its parameters; None for those where its own text does not say
        them."""
        if of_torch.fullmatch(text):
            return text, None
        found = split_name(text)
        if found is None:
            return None, None
        if found[0]:
            source = self._constructor.finder.readable(found[0])
            node = None if source is None else class_in(source, found[1])
            made = None if source is None or node is None else ConfigClass(source, found[1], node)
        else:
            made = class_named(self._constructor, found[1])
        if made is None or not is_of_project(made.source):
            return None, None
        return self._importable.name(made.source, made.name), _parameters(made.node)


def _may_be_its(keywords: Mapping[str, Any], below: Path, parameters: set[str] | None) -> bool:
    """Arguments by name are those of an object, by its parameters, or by the key below which they stand."""
    if parameters is not None:
        return keywords.keys() <= parameters
    return below[0] in _ARGUMENTS if below else not keywords.keys() & set(_ARGUMENTS)


def _parameters(node: ast.ClassDef) -> set[str] | None:
    """Names that a class takes; None where its own body has no constructor, or one that takes any."""
    for each in node.body:
        if isinstance(each, FunctionNode) and each.name == "__init__":
            given = each.args
            names = (*given.posonlyargs, *given.args[1:], *given.kwonlyargs)
            return None if given.kwarg is not None else {one.arg for one in names}
    return None


def _naming_key(mapping: Mapping[Any, Any], *, inside_out: bool) -> str | None:
    """The key whose value names a class, as far as the text says."""
    for key, value in mapping.items():
        if not isinstance(key, str) or not isinstance(value, str):
            continue
        if inside_out or is_marker(key):
            found = key in _INSIDE_OUT
        else:
            name = split_name(value)
            found = name is not None and name[1][:1].isupper() and bool(name[0] or key in _KEYS)
        if found:
            return key
    return None


def _is_read_by_attribute(constructor: Constructor, parameter: str) -> bool:
    """And in no other way that a mapping has."""
    paths = constructor.paths(parameter)
    return bool(paths) and all(paths.values()) and all(path[0] not in _OF_A_DICT for path in paths)


def _takes_object(constructor: Constructor, parameter: str) -> bool:
    """The class keeps what it is given as a module, or says that it is one."""
    annotation = next((each.annotation for each in constructor.parameters if each.arg == parameter), None)
    if annotation is not None and last_name(dotted(annotation) or "") == "Module":
        return True
    kept = {
        target.attr
        for node in ast.walk(constructor.node)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id == parameter
        for target in node.targets
        if isinstance(target, ast.Attribute)
    }
    owner = constructor.file.classes.get(constructor.target.name)
    called = (node.func for node in ast.walk(owner) if isinstance(node, ast.Call)) if owner is not None else ()
    return any(
        isinstance(each, ast.Attribute) and each.attr in kept and dotted(each.value) == "self" for each in called
    )
