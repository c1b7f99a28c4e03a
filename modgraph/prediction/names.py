"""Names to values: local, enclosing, global and builtin ones; modules' attributes, evaluated name by name.

A module is never executed as a whole. The statements that bind a name, or change its object in place, are executed in
their order when the name is first asked for; imports and definitions are followed through the index alone.
"""

from __future__ import annotations

import builtins
import sys
import sysconfig
from typing import TYPE_CHECKING

from modgraph.prediction import registries
from modgraph.prediction.frames import Frame, LimitError
from modgraph.prediction.knowledge import registry
from modgraph.prediction.knowledge.registry import Raised
from modgraph.prediction.values import (
    Address,
    ClassValue,
    Constant,
    EnvironmentObject,
    FunctionValue,
    ModuleReference,
    Unknown,
    Value,
)
from modgraph.source.index import ImportedName, Statement
from modgraph.source.modules import CompiledModule, SourceError, SourceModule

if TYPE_CHECKING:
    from modgraph.prediction.machine import Interpreter

_STDLIB = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})


def look_up(machine: Interpreter, frame: Frame, name: str) -> Value:
    """The value of a name, as seen from the frame.

    Raises:
        Raised: NameError.
    """
    if name not in frame.global_names:
        address: Address | None = frame.environment
        first = True
        running = frame.function if frame.class_scope is None else None
        while address is not None:
            if running is not None and address == running.closure:
                _require_bound(machine, frame, running, name)
            environment = machine.state.read(address)
            assert isinstance(environment, EnvironmentObject)
            found = environment.names.get(name)
            if found is not None:
                return found
            if first and frame.class_scope is not None:
                own = machine.own_attribute(frame.class_scope, name)
                if own is not None:
                    return own
            first = False
            address = environment.parent
        if running is not None and running.closure is None:
            _require_bound(machine, frame, running, name)
    value = None
    if frame.function is None:
        value = _so_far(machine, frame.module, name, frame.parsed.first_line)
    value = value or global_name(machine, frame.module, name)
    if value is not None:
        return value
    builtin = registry.lookup(f"builtins.{name}")
    if builtin is not None:
        return builtin
    if name in _BUILTIN_NAMES:
        return machine.unknown(f"builtin {name} is not modelled")
    raise machine.raises("NameError", f"name '{name}' is not defined")


def _require_bound(machine: Interpreter, frame: Frame, running: FunctionValue, name: str) -> None:
    """Of a name that the running function does not hold.

    Raises:
        Raised: UnboundLocalError, where it is one that its own statements bind.
    """
    if name in running.definition.bound_names and name not in frame.nonlocal_names:
        environment = machine.state.read(frame.environment)
        inner = isinstance(environment, EnvironmentObject) and environment.parent != running.closure
        if inner and sys.version_info < (3, 12):  # a comprehension was a function of its own
            raise machine.raises("NameError", f"cannot access free variable '{name}'")
        raise _unbound(machine, name)


_BUILTIN_NAMES = frozenset(dir(builtins))


def bind(machine: Interpreter, frame: Frame, name: str, value: Value) -> None:
    """name = value."""
    if name in frame.global_names:
        machine.state.globals[(frame.module, name)] = value
        return
    address = frame.environment
    if name in frame.nonlocal_names:
        address = _enclosing(machine, address, name) or address
    machine.state.change(address, EnvironmentObject).names[name] = value


def unbind(machine: Interpreter, frame: Frame, name: str) -> None:
    """del name."""
    names = machine.state.change(frame.environment, EnvironmentObject).names
    if name not in names:
        raise machine.raises("NameError", f"name '{name}' is not defined")
    del names[name]


def forget(machine: Interpreter, frame: Frame, name: str) -> None:
    """The name of an exception ends with its handler."""
    if frame.function is not None and name not in frame.nonlocal_names:
        machine.state.change(frame.environment, EnvironmentObject).names.pop(name, None)


def require_own(machine: Interpreter, frame: Frame, name: str) -> None:
    """Of a name that the running function assigns, and so does not take from outside.

    Raises:
        Raised: UnboundLocalError, where it has no value yet.
    """
    if name in frame.global_names or name in frame.nonlocal_names or frame.class_scope is not None:
        return
    environment = machine.state.read(frame.environment)
    if isinstance(environment, EnvironmentObject) and name not in environment.names:
        raise _unbound(machine, name)


def _unbound(machine: Interpreter, name: str) -> Raised:
    message = f"cannot access local variable '{name}' where it is not associated with a value"
    return machine.raises("UnboundLocalError", message)


def _enclosing(machine: Interpreter, address: Address, name: str) -> Address | None:
    environment = machine.state.read(address)
    assert isinstance(environment, EnvironmentObject)
    outer = environment.parent
    while outer is not None:
        environment = machine.state.read(outer)
        assert isinstance(environment, EnvironmentObject)
        if name in environment.names:
            return outer
        outer = environment.parent
    return None


def global_name(machine: Interpreter, module: str, name: str) -> Value | None:
    """A name of a module's namespace; None where nothing binds it."""
    key = (module, name)
    found = machine.state.globals.get(key) or machine.base.globals.get(key)
    if found is not None:
        return found
    namespace = machine.namespaces.setdefault(module, {})
    if name in namespace:
        return namespace[name]
    running = machine.running.get(key)
    if running is not None:
        environment = machine.state.read(running)
        partial = environment.names.get(name) if isinstance(environment, EnvironmentObject) else None
        return partial or machine.unknown(f"import cycle at {module}.{name}")
    if key in machine.importing:
        return None  # a package that imports its own submodule by name
    machine.importing.add(key)
    since, before = machine.base.next_index, machine.steps
    try:
        with machine.at_module_level():
            machine.module_limit = machine.outer_limit  # not that of a decorator which happens to ask for it first
            value = _evaluate(machine, module, name)
        if machine.module_limit < machine.outer_limit:
            machine.module_limit = min(machine.module_limit + machine.steps - before, machine.outer_limit)
    except LimitError as limit:
        if machine.module_depth or machine.exhausted or machine.steps > machine.module_limit:
            raise
        value = machine.unknown(f"{module}.{name}: {limit}")
    finally:
        machine.importing.discard(key)
    if machine.base.next_index > since and not isinstance(value, ClassValue):
        registries.claim(machine, key, since)
    namespace[name] = value
    return value


def _so_far(machine: Interpreter, module: str, name: str, line: int) -> Value | None:
    """What a name that the module binds several times is before that line; None where it has its final value there,
    or none yet."""
    source = machine.finder.source(module)
    if source is None or (module, name) in machine.running or is_standard(source):
        return None
    binding = [each for each in source.index.statements.get(name, ()) if name in each.names]
    before = [each for each in binding if each.last_line < line]
    if not before or len(before) == len(binding):
        return None
    key = (module, name, before[-1].first_line)
    if key not in machine.so_far:
        with machine.at_module_level():
            machine.so_far[key] = _run(machine, source, name, before)
    return machine.so_far[key]


def module_attribute(machine: Interpreter, module: str, name: str) -> Value | None:
    """module.name: a name of its namespace or a submodule."""
    value = global_name(machine, module, name)
    if value is None and _shadows_standard(machine, module):
        return _known_of(module, name)  # other code means Python's own
    if value is None and machine.finder.find(f"{module}.{name}") is not None:
        return ModuleReference(f"{module}.{name}")
    return value


def _evaluate(machine: Interpreter, module: str, name: str) -> Value | None:
    source = machine.finder.source(module)
    if not _shadows_standard(machine, module):
        known = _known_of(module, name)
        if known is not None:
            return known
    if source is None or is_standard(source):
        return _without_source(machine, module, name, source)
    special = _special(source, name)
    if special is not None:
        return special
    try:
        index = source.index
    except SourceError as error:
        return Unknown(f"{source.file} cannot be read: {error.message}")
    statements = index.statements.get(name, [])
    if any(name in statement.names for statement in statements):
        return _run(machine, source, name, statements)
    return _elsewhere(machine, source, name)


def _shadows_standard(machine: Interpreter, module: str) -> bool:
    """A target's own file that is named like a module of Python's."""
    if module not in machine.roots or module.partition(".")[0] not in sys.stdlib_module_names:
        return False
    source = machine.finder.source(module)
    return source is not None and not is_standard(source)


def _known_of(module: str, name: str) -> Value | None:
    """What is known of a module's name without its source."""
    known = registry.lookup(f"{module}.{name}")
    if known is None and registry.is_inert(module):
        return Unknown(f"{module} is not interpreted", None, inert=True)
    return known


def _special(source: SourceModule, name: str) -> Value | None:
    if name == "__name__":
        return Constant(source.name)
    if name == "__file__":
        return Unknown("depends on where the file is installed")
    if name == "__package__":
        return Constant(source.package)
    return None


def is_standard(source: SourceModule) -> bool:
    """A module of the standard library that is not to be interpreted."""
    if source.name.partition(".")[0] not in sys.stdlib_module_names or registry.is_interpreted(source.name):
        return False
    path = str(source.path)
    return path.startswith(_STDLIB) and "site-packages" not in path


def _without_source(machine: Interpreter, module: str, name: str, source: SourceModule | None) -> Value | None:
    path = f"{module}.{name}"
    if machine.finder.find(path) is not None or (source is None and registry.has_package(path)):
        return ModuleReference(path)
    if source is not None and name not in source.index.names and not source.index.star_imports:
        return None
    why = "is not modelled" if source is not None else "has no Python source"
    return machine.unknown(f"{module}.{name} {why}")


def _run(machine: Interpreter, source: SourceModule, name: str, statements: list[Statement]) -> Value | None:
    """Executes the statements that make up a name."""
    if len(statements) == 1 and statements[0].kind == "import":
        return _imported(machine, source, name, statements[0])
    environment = machine.state.allocate(EnvironmentObject())
    key = (source.name, name)
    machine.running[key] = environment
    try:
        for statement in statements:
            _run_statement(machine, source, name, statement, environment)
    finally:
        del machine.running[key]
    final = machine.state.read(environment)
    assert isinstance(final, EnvironmentObject)
    return final.names.get(name) or _elsewhere(machine, source, name)


def _run_statement(
    machine: Interpreter, source: SourceModule, name: str, statement: Statement, environment: Address
) -> None:
    names = machine.state.change(environment, EnvironmentObject).names
    if statement.kind == "import":
        value = _imported(machine, source, name, statement)
    elif statement.definition is not None:
        value = machine.define(source, statement.definition)
    elif name not in statement.names and not isinstance(names.get(name), (Address, ClassValue, FunctionValue)):
        return  # changes in place something that cannot be changed, as far as is known
    else:
        value = machine.module_statement(source, statement, environment).get(name)
    if value is not None:
        machine.state.change(environment, EnvironmentObject).names[name] = value


def _imported(machine: Interpreter, source: SourceModule, name: str, statement: Statement) -> Value | None:
    value: Value | None = None
    for imported in statement.imports:
        if imported.name == name:
            value = import_value(machine, source.absolute(imported.module, imported.level), imported)
    return value


def import_value(machine: Interpreter, module: str, imported: ImportedName) -> Value:
    """What an import statement binds; Unknown where the module is not there."""
    try:
        return import_name(machine, module, imported.attribute, imported.name)
    except Raised as raised:
        return machine.unknown(raised.message)


def import_name(machine: Interpreter, module: str, attribute: str | None, bound: str) -> Value:
    """The value of `import module as bound` or `from module import attribute`.

    Raises:
        Raised: ModuleNotFoundError, ImportError.
    """
    found = machine.finder.find(module)
    if found is None:
        known = registry.lookup(f"{module}.{attribute}") if attribute else None
        if known is not None:
            return known
        if registry.is_inert(module) or registry.has_package(module):
            return ModuleReference(module) if attribute is None else machine.unknown(f"{module} is not on the path")
        raise machine.raises("ModuleNotFoundError", f"No module named '{module}'")
    if attribute is None:
        top = module.partition(".")[0]
        return ModuleReference(top if bound == top else module)
    value = module_attribute(machine, module, attribute)
    if value is not None:
        return value
    if isinstance(found, CompiledModule):
        return machine.unknown(f"{module} has no Python source")
    source = machine.finder.source(module)
    if source is None or source.index.statements.get("__getattr__") or _dynamic(source):
        return machine.unknown(f"{module}.{attribute} is not in its source")
    raise machine.raises("ImportError", f"cannot import name '{attribute}' from '{module}'")


def _dynamic(source: SourceModule) -> bool:
    """Its namespace is filled in other ways than by statements that bind names."""
    return "globals()" in source.text or "sys.modules[" in source.text or bool(source.index.star_imports)


def _elsewhere(machine: Interpreter, source: SourceModule, name: str) -> Value | None:
    """A name that no statement of the module binds when it is imported."""
    value = _from_stars(machine, source, name, False)
    if value is not None:
        return value
    if machine.finder.find(f"{source.name}.{name}") is not None:
        return ModuleReference(f"{source.name}.{name}")
    # A package that loads its parts lazily says under TYPE_CHECKING what there is.
    for imported in source.index.imports:
        if imported.name == name and imported.type_checking:
            return import_value(machine, source.absolute(imported.module, imported.level), imported)
    return _from_stars(machine, source, name, True)


def _from_stars(machine: Interpreter, source: SourceModule, name: str, type_checking: bool) -> Value | None:
    """What the star imports bring, the last one first."""
    for imported in reversed(source.index.star_imports):
        module = source.absolute(imported.module, imported.level)
        if imported.type_checking is not type_checking or module == source.name:
            continue
        if not name.startswith("_") or _exports(machine, module, name):
            value = _star(machine, module, name)
            if value is not None:
                return value
    return None


def _exports(machine: Interpreter, module: str, name: str) -> bool:
    source = machine.finder.source(module)
    return source is not None and name in (source.index.exported or ())


def _star(machine: Interpreter, module: str, name: str) -> Value | None:
    source = machine.finder.source(module)
    if source is None:
        return None
    try:
        exported = source.index.exported
    except SourceError:
        return None
    if exported is not None and name not in exported and "__all__" not in source.index.statements:
        return None
    if (module, name) in machine.running or (module, name) in machine.importing:
        return None
    return global_name(machine, module, name)


def resolve(machine: Interpreter, path: str) -> Value:
    """What a dotted import path leads to; Unknown where nothing is there."""
    known = registry.lookup(path)
    if known is not None:
        return known
    parts = path.split(".")
    for end in range(len(parts), 0, -1):
        module = ".".join(parts[:end])
        if machine.finder.find(module) is None:
            continue
        value: Value | None = ModuleReference(module)
        if end == len(parts) > 1:
            # A package may bind the name of a submodule to something in it.
            value = module_attribute(machine, ".".join(parts[:-1]), parts[-1]) or value
        for name in parts[end:]:
            if isinstance(value, ModuleReference):
                value = module_attribute(machine, value.name, name)
            elif isinstance(value, ClassValue):
                value = machine.class_attribute(value, name)
            else:
                value = None
            if value is None:
                break
        if value is not None:
            return value
    return machine.unknown(f"{path} is not on the search path")
