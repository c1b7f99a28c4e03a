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
    if name.startswith(("torch.", "numpy.")) or last_name(name).startswith("_"):
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
    form = _form_of(name)
    why = _refusal(form, arguments) if form is not None else ""
    if why and not _is_of_another(machine, name, arguments):
        raise machine.raises("TypeError", f"{last_name(name)}() {why}")


def _refusal(form: _Form, arguments: Arguments) -> str:
    """What is wrong with the arguments; "" where they fit."""
    n_given, keywords = len(arguments.positional), arguments.keywords
    if form.most is not None and n_given > form.most:
        return f"takes at most {form.most} positional arguments, {n_given} given"
    if n_given >= len(form.required) and not keywords:
        return ""
    filled = form.by_position[:n_given]
    certain = [each for each, value in keywords.items() if not is_optional(value)]
    for each in certain:
        if form.named is not None and each in filled and each not in form.alone:
            return f"got multiple values for argument '{each}'"
        if form.named is not None and each not in form.named:
            return f"got an unexpected keyword argument '{each}'"
    lacking = sorted(form.required - {*filled, *keywords})
    return f"missing required argument '{lacking[0]}'" if lacking else ""


def _is_of_another(machine: Machine, name: str, arguments: Arguments) -> bool:
    """A method is called for an object of a derived class of the library, which may take other arguments."""
    owner = standard_object(name.rpartition(".")[0])
    if owner is None or not owner.is_class or binding(name) != "instance" or not arguments.positional:
        return False
    cls = machine.class_of(arguments.positional[0])
    known = [base.name for base in machine.mro(cls) if isinstance(base, KnownClass)] if machine.is_class(cls) else []
    return name.rpartition(".")[0] != next(iter(known), None)
