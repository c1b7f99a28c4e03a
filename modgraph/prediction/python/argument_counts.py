"""How many arguments functions of the standard library take, and by which names: Python refuses others.

Source: `inspect.signature`, asked by `tests/oracle/python_names.py`; of what it does not know, the library's reference.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.values import KnownClass, is_optional
from modgraph.prediction.python.standard_names import binding, standard_object

_WRITTEN = {
    "self/ key/ default/=": "builtins.dict.pop",
    "self/ *others": """builtins.set.union builtins.set.intersection builtins.set.difference builtins.set.update
        builtins.set.intersection_update builtins.set.difference_update builtins.frozenset.union
        builtins.frozenset.intersection builtins.frozenset.difference""",
    "object/ name/ default/=": "builtins.getattr",
    "iterator/ default/=": "builtins.next",
    "object/ sentinel/=": "builtins.iter",
    "function/ iterable/": "builtins.filter",
    "function/ iterable/ *iterables": "builtins.map",
    "first/ *others key:= default:=": "builtins.max builtins.min",
    "iterable/=": "builtins.set builtins.frozenset",
    "object/=": "builtins.vars builtins.dir builtins.bool",
    "start/ stop/= step/=": "builtins.range builtins.slice",
    "iterable/ start/ stop/= step/=": "itertools.islice",
    "iterable/= maxlen=": "collections.deque",
    "function/ iterable/ initial=": "functools.reduce _functools.reduce",
    "self/ *groups": "re.Match.group",
    "self/ iterable/= **kwargs": "builtins.dict.update",
    "iterable/= **kwargs": "builtins.dict collections.OrderedDict",
    "factory/= iterable/= **kwargs": "collections.defaultdict",
}
"""Parameters, as the table writes them, of what says none of itself."""
_BY_NAME = {name: form for form, names in _WRITTEN.items() for name in names.split()}


@dataclass(frozen=True, slots=True)
class _Form:
    """What a function takes."""

    most: int | None
    """By position; None where there is no end."""
    by_position: tuple[str, ...]
    """Names of all that may be given by position, in order."""
    alone: frozenset[str]
    """Those of them that are given by position alone."""
    required: frozenset[str]
    """Those that have no default."""
    named: frozenset[str] | None
    """What may be given by name; None where any may."""


@cache
def _form_of(name: str) -> _Form | None:
    if name.startswith(("torch.", "numpy.")):
        return None
    found = standard_object(name)
    written = _BY_NAME.get(name) or (found.parameters if found is not None else "")
    return _parsed(written) if written else None


def _parsed(written: str) -> _Form:
    by_position, alone, required, named = [], set(), set(), set()
    endless = anything = False
    for each in written.split() if written != "-" else ():
        name = each.strip("*/:=")
        if each.startswith("**"):
            anything = True
        elif each.startswith("*"):
            endless = True
        else:
            if each.rstrip("=").endswith("/"):
                alone.add(name)
            else:
                named.add(name)
            if not each.rstrip("=").endswith(":"):
                by_position.append(name)
            if not each.endswith("="):
                required.add(name)
    return _Form(
        None if endless else len(by_position),
        tuple(by_position),
        frozenset(alone),
        frozenset(required),
        None if anything else frozenset(named),
    )


def require(machine: Machine, name: str, arguments: Arguments) -> None:
    """Refuses what Python refuses of a call of that name, of which all arguments are there.

    Raises:
        Raised: TypeError, where there are too many, one is missing, or one has a name that is none.
    """
    form = None if last_name(name).startswith("_") else _form_of(name)
    if form is None or _is_of_another(machine, name, arguments):
        return
    n_given, keywords = len(arguments.positional), arguments.keywords
    certain = [each for each, value in keywords.items() if not is_optional(value)]
    called = last_name(name)
    if form.most is not None and n_given > form.most:
        raise machine.raises("TypeError", f"{called}() takes at most {form.most} positional arguments, {n_given} given")
    if n_given < len(form.required) or keywords:
        filled = form.by_position[:n_given]
        twice = next((each for each in filled if each in certain and each not in form.alone), None)
        if twice is not None and form.named is not None:
            raise machine.raises("TypeError", f"argument for {called}() given by name ('{twice}') and position")
        other = next((each for each in certain if form.named is not None and each not in form.named), None)
        if other is not None:
            raise machine.raises("TypeError", f"{called}() got an unexpected keyword argument '{other}'")
        lacking = next((each for each in sorted(form.required) if each not in filled and each not in keywords), None)
        if lacking is not None:
            raise machine.raises("TypeError", f"{called}() missing required argument '{lacking}'")


def _is_of_another(machine: Machine, name: str, arguments: Arguments) -> bool:
    """A method is called for an object of a derived class of the library, which may take other arguments."""
    owner = standard_object(name.rpartition(".")[0])
    if owner is None or not owner.is_class or binding(name) != "instance" or not arguments.positional:
        return False
    cls = machine.class_of(arguments.positional[0])
    known = [base.name for base in machine.mro(cls) if isinstance(base, KnownClass)] if machine.is_class(cls) else []
    return name.rpartition(".")[0] != next(iter(known), None)
