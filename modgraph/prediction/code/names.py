"""Names to values: local, enclosing, global and builtin ones; modules' attributes, evaluated name by name.

Modules of the user's project are executed as a whole (`whole_modules.py`). Of all others the statements that bind a
name, or change its object in place, are executed in their order when the name is first asked for; imports and
definitions are followed through the index alone.
"""

from __future__ import annotations

import builtins
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from modgraph.prediction.code import allowances, moved_imports, namespaces, path_imports, star_imports
from modgraph.prediction.domain import registry
from modgraph.prediction.domain.assumed import ENVIRONMENT
from modgraph.prediction.domain.calling import Raised
from modgraph.prediction.domain.frames import Frame
from modgraph.prediction.domain.objects import DictObject, EnvironmentObject, ListObject, SetObject
from modgraph.prediction.domain.registry import INSTALLED
from modgraph.prediction.domain.values import (
    DELETED,
    Address,
    ClassValue,
    Constant,
    FunctionValue,
    KnownFunction,
    ModuleReference,
    TupleValue,
    Unknown,
    Value,
    is_optional,
    remaining,
)
from modgraph.prediction.paths import guards
from modgraph.prediction.python import enumerations, exceptions, standard_names, standard_sources
from modgraph.source import joint_statements, shared_names
from modgraph.source.index import ImportedName, Statement
from modgraph.source.modules import CompiledModule, SourceError, SourceModule
from modgraph.source.reached import telling

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine


def look_up(machine: Machine, frame: Frame, name: str) -> Value:
    """The value of a name, as seen from the frame.

    Raises:
        Raised: NameError.
    """
    if name not in frame.global_names:
        read = machine.state.read
        environment = read(frame.environment)
        found: Value | None = environment.names.get(name)  # type: ignore[attr-defined]  # an environment's it is
        if found is not None:
            return found if not environment.unsure else guards.bound(machine, environment, name, found)  # type: ignore[attr-defined, arg-type]
        running = frame.function if frame.class_scope is None else None
        own = machine.own_attribute(frame.class_scope, name) if frame.class_scope is not None else None
        if own is not None:
            return enumerations.in_body(own, frame.class_scope, name) if frame.class_scope is not None else own
        address: Address | None = environment.parent  # type: ignore[attr-defined]
        while address is not None:
            if running is not None and address == running.closure:
                _require_bound(machine, frame, running, name)
            environment = read(address)
            found = environment.names.get(name)  # type: ignore[attr-defined]
            if found is not None:
                return found if not environment.unsure else guards.bound(machine, environment, name, found)  # type: ignore[attr-defined, arg-type]
            address = environment.parent  # type: ignore[attr-defined]
        if running is not None and running.closure is None:
            _require_bound(machine, frame, running, name)
    value = None
    if frame.function is None:
        value = _so_far(machine, frame.module, name, frame.parsed.first_line)
    if value is None and frame.module and not _is_not_bound_yet(machine, frame, name):
        value = global_name(machine, frame.module, name)
    if value is not None:
        if is_optional(value):
            machine.may_refuse("NameError")
        return value
    builtin = registry.lookup(f"builtins.{name}")
    if builtin is not None:
        return builtin
    if name in _BUILTIN_NAMES:
        return machine.unknown(f"builtin {name} is not modelled")
    value = _of_class_body(machine, frame, name) or namespaces.otherwise_bound(machine, frame.module, name)
    if value is not None:
        return value
    raise exceptions.exactly(machine, "NameError", f"name '{name}' is not defined")


def _of_class_body(machine: Machine, frame: Frame, name: str) -> Value | None:
    """What Python itself binds in the body of a class, and in its methods."""
    if name == "__class__" and frame.function is not None:
        return frame.function.owner
    if frame.class_scope is None or name not in ("__qualname__", "__module__"):
        return None
    return machine.find_attribute(frame.class_scope, name)


def _is_not_bound_yet(machine: Machine, frame: Frame, name: str) -> bool:
    """A module asks for a name of its own before the statement that is the first to bind it."""
    key = (frame.module, name)
    if (
        machine.modules.running.get(key) != frame.environment
        or key in machine.state.globals
        or key in machine.base.globals
    ):
        return False
    source = machine.finder.source(frame.module)
    return source is not None and not source.index.star_imports


def _require_bound(machine: Machine, frame: Frame, running: FunctionValue, name: str) -> None:
    """Of a name that the running function does not hold.

    Raises:
        Raised: UnboundLocalError, where it is one that its own statements bind.
    """
    if name in running.definition.bound_names and name not in frame.nonlocal_names:
        environment = machine.state.read(frame.environment)
        inner = isinstance(environment, EnvironmentObject) and environment.parent != running.closure
        if inner and sys.version_info < (3, 12):  # a comprehension was a function of its own
            raise machine.raises("NameError", f"cannot access free variable '{name}'")
        raise exceptions.unbound(machine, name)


_BUILTIN_NAMES = frozenset(dir(builtins))


def bind(machine: Machine, frame: Frame, name: str, value: Value) -> None:
    """name = value."""
    if frame.class_scope is not None:
        value = enumerations.as_bound(machine, frame, frame.class_scope, name, value)
    if name in frame.global_names:
        machine.state.globals[(frame.module, name)] = value
        return
    address = frame.environment
    if name in frame.nonlocal_names:
        address = _enclosing(machine, address, name) or address
    machine.state.change(address, EnvironmentObject).bind(name, value)


def unbind(machine: Machine, frame: Frame, name: str) -> None:
    """del name."""
    if name in frame.global_names:
        unbind_global(machine, frame.module, name)
        return
    address = frame.environment
    if name in frame.nonlocal_names:
        address = _enclosing(machine, address, name) or address
    environment = machine.state.change(address, EnvironmentObject)
    if name not in environment.names:
        raise exceptions.exactly(machine, "NameError", f"name '{name}' is not defined")
    guards.bound(machine, environment, name, environment.names[name])
    environment = machine.state.change(address, EnvironmentObject)
    del environment.names[name]
    environment.unsure -= {name}


def unbind_global(machine: Machine, module: str, name: str) -> None:
    """Takes a name out of a module's namespace."""
    held = global_name(machine, module, name)
    if held is None:
        raise exceptions.exactly(machine, "NameError", f"name '{name}' is not defined")
    if is_optional(held):
        machine.may_refuse("NameError")
    machine.state.globals[(module, name)] = DELETED


def forget(machine: Machine, frame: Frame, name: str) -> None:
    """The name of an exception ends with its handler."""
    if name in frame.global_names:
        machine.state.globals[(frame.module, name)] = DELETED
    elif frame.function is not None and name not in frame.nonlocal_names:
        machine.state.change(frame.environment, EnvironmentObject).names.pop(name, None)


def require_own(machine: Machine, frame: Frame, name: str) -> None:
    """Of a name that the running function assigns, and so does not take from outside.

    Raises:
        Raised: UnboundLocalError, where it has no value yet.
    """
    if name in frame.global_names or name in frame.nonlocal_names or frame.class_scope is not None:
        return
    environment = machine.state.read(frame.environment)
    if isinstance(environment, EnvironmentObject) and name not in environment.names:
        raise exceptions.unbound(machine, name)


def _enclosing(machine: Machine, address: Address, name: str) -> Address | None:
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


def global_name(machine: Machine, module: str, name: str) -> Value | None:
    """A name of a module's namespace; None where nothing binds it."""
    key = (module, name)
    found = machine.state.bound(key)
    if found is not None:
        return remaining(found)
    namespace = machine.modules.namespaces.setdefault(module, {})
    if name in namespace:
        return namespace[name]
    if (running := machine.modules.running.get(key)) is not None:
        environment = machine.state.read(running)
        partial = environment.names.get(name) if isinstance(environment, EnvironmentObject) else None
        return partial or machine.unknown(f"import cycle at {module}.{name}")
    whole = machine.modules.whole.get(module)
    waiting = whole.waiting.get(name) if whole is not None else None
    if key in machine.modules.importing or (waiting is None and whole is not None and whole.line is not None):
        return _of_running(machine, module, name)  # a package that imports its own submodule by name
    machine.modules.importing.add(key)
    since = machine.base.next_index
    try:
        value = allowances.evaluated(machine, module, f"{module}.{name}", lambda: _evaluate(machine, module, name))
    finally:
        machine.modules.importing.discard(key)
    if machine.base.next_index > since and not isinstance(value, ClassValue):
        machine.claim(key, since)
    namespace[name] = value
    _change_by_another_name(machine, module, name, value)
    return value


def _change_by_another_name(machine: Machine, module: str, name: str, value: Value | None) -> None:
    """Runs the statements of another name that change the object of this one."""
    source = machine.finder.source(module)
    if source is None or module in machine.modules.whole or standard_sources.is_standard(source):
        return
    if isinstance(value, Address) and name in shared_names.changed_elsewhere(source) and _is_container(machine, value):
        other = shared_names.changer(source, name)
        if other is not None:
            global_name(machine, module, other)


def _of_running(machine: Machine, module: str, name: str) -> Value | None:
    """What a module that is being executed has besides the names that its statements have bound."""
    whole = machine.modules.whole.get(module)
    if whole is None or (module, name) in machine.modules.importing:
        return None
    special = _special(whole.source, name)
    if special is not None:
        return special
    return star_imports.value(machine, whole.source, name, False)


def _so_far(machine: Machine, module: str, name: str, line: int) -> Value | None:
    """What a name that the module binds several times is before that line; None where it has its final value there,
    or none yet."""
    source = machine.finder.source(module)
    if module in machine.modules.whole:
        return None
    if source is None or (module, name) in machine.modules.running or standard_sources.is_standard(source):
        return None
    made = source.index.statements.get(name, ())
    before = [each for each in made if each.last_line < line]
    rebound = any(name in each.names and each.last_line >= line for each in made)
    changed = any(name in each.touched and each.first_line > line for each in made)
    if not (rebound or changed) or not any(name in each.names for each in before):
        return None
    keeps = False
    if changed:
        here = next((each for each in source.index.body if each.first_line <= line <= each.last_line), None)
        keeps = here is None or name in shared_names.leaked(source, here)
        if keeps and not rebound and here is not None and shared_names.is_other_name(source, here):
            return None  # it is that object, whatever it holds in the end
    if machine.has_come_to(module, line):
        return None
    key = (module, name, before[-1].first_line)
    if key not in machine.modules.so_far:
        found = allowances.evaluated(machine, module, f"{module}.{name}", lambda: _run(machine, source, name, before))
        machine.modules.so_far[key] = machine.unless_changed(source, name, found, line)
    value = machine.modules.so_far[key]
    made_once = any(name in each.names and len(each.names) > 1 for each in before)  # it is the object of the end
    if changed and (keeps or made_once) and _is_container(machine, value):
        return machine.unknown(f"{name} is changed below line {line} of {module}, where it is kept")
    return value


def _is_container(machine: Machine, value: Value | None) -> bool:
    item = machine.state.read(value) if isinstance(value, Address) else None
    return isinstance(item, (ListObject, DictObject, SetObject))


def module_attribute(machine: Machine, module: str, name: str) -> Value | None:
    """module.name: a name of its namespace or a submodule."""
    why = namespaces.replaced(machine, module, name)
    if why is not None:
        return why
    value = _submodule_of_some(machine, module, name) or global_name(machine, module, name)
    if value is None and _shadows_standard(machine, module):
        return _known_of(module, name)  # other code means Python's own
    if value is None and machine.finder.find(f"{module}.{name}") is not None:
        return ModuleReference(f"{module}.{name}")
    return value if value is not None else namespaces.possibly_stored(machine, module, name)


def _submodule_of_some(machine: Machine, module: str, name: str) -> Value | None:
    """A submodule that was imported on some paths only is an attribute of its package on these."""
    path = f"{module}.{name}"
    if path not in machine.modules.on_paths or path_imports.is_imported(machine, path):
        return None
    source = machine.finder.source(module)
    if source is None or name in source.index.bound:
        return None
    return replace(machine.unknown(f"{path} is imported on some paths only"), optional=True)


def _evaluate(machine: Machine, module: str, name: str) -> Value | None:
    source = machine.finder.source(module)
    if not _shadows_standard(machine, module):
        known = _assumed(machine, module, name) or _known_of(module, name)
        if known is not None:
            return known
    if source is None or standard_sources.is_standard(source):
        return _without_source(machine, module, name, source)
    if (special := _special(source, name)) is not None:
        return special
    try:
        index = source.index
    except SourceError as error:
        return Unknown(telling(f"{source.file} cannot be read: {error.message}", error.message))
    if (whole := machine.modules.whole.get(module)) is not None:
        waiting = whole.waiting.get(name)
        return _waiting(machine, source, name, waiting) if waiting is not None else _elsewhere(machine, source, name)
    statements = index.statements.get(name, [])
    if any(name in statement.names for statement in statements):
        return _unless_shared(machine, source, name, _run(machine, source, name, statements))
    return _elsewhere(machine, source, name)


def _unless_shared(machine: Machine, source: SourceModule, name: str, value: Value | None) -> Value | None:
    """What the statements of a name have made, where no other statement changes the same object."""
    if any(each.kind == "import" for each in source.index.statements[name]):
        return value  # it is followed where it is made
    if isinstance(value, Constant) and not shared_names.is_bound_by_functions(source, name):
        return value
    if value is None or not (_is_container(machine, value) or isinstance(value, Constant)):
        return value
    line = shared_names.changed_elsewhere(source).get(name)
    if line is None:
        return value
    if shared_names.changer(source, name) is not None:
        return value  # `global_name` runs what changes it
    return machine.unknown(f"line {line} of {source.name} may change {name} by another name")


def _shadows_standard(machine: Machine, module: str) -> bool:
    """A target's own file that is named like a module of Python's."""
    if module not in machine.modules.roots or module.partition(".")[0] not in sys.stdlib_module_names:
        return False
    source = machine.finder.source(module)
    return source is not None and not standard_sources.is_standard(source)


def _assumed(machine: Machine, module: str, name: str) -> Value | None:
    """What is taken for granted of the surroundings, where a module's name stands for them."""
    if name == "environ" and module == "os" and machine.assumed.environment is not None:
        machine.asked.add(ENVIRONMENT)
        entries: dict[Value, Value] = {Constant(k): Constant(v) for k, v in machine.assumed.environment.items()}
        return machine.allocate(DictObject(entries))
    if name == "argv" and module == "sys" and machine.words_of_script is not None:
        words = (each if isinstance(each, Unknown) else Constant(each) for each in machine.words_of_script)
        script = Unknown("depends on sys.argv", None, inert=True, outside=True)
        return machine.allocate(ListObject([script, *words]))
    if machine.assumed.answers and f"{module}.{name}" in machine.assumed.answers:
        return KnownFunction(f"{module}.{name}")
    return None


def _known_of(module: str, name: str) -> Value | None:
    """What is known of a module's name without its source."""
    known = registry.lookup(f"{module}.{name}")
    if known is None and registry.is_inert(module):
        return registry.not_interpreted(module, name)
    return known


def _special(source: SourceModule, name: str) -> Value | None:
    if name == "__name__":
        return Constant(source.name)
    if name == "__file__":
        return INSTALLED
    if name == "__package__":
        return Constant(source.package)
    if name in _OF_IMPORT or (name == "__path__" and source.is_package):
        return Unknown(f"{name} of a module is not modelled", None, inert=True)
    return None


_OF_IMPORT = frozenset({"__doc__", "__spec__", "__loader__", "__cached__", "__builtins__", "__annotations__"})
"""What importing gives every module."""


def _without_source(machine: Machine, module: str, name: str, source: SourceModule | None) -> Value | None:
    path = f"{module}.{name}"
    if machine.finder.find(path) is not None or (source is None and registry.has_package(path)):
        return ModuleReference(path)
    if machine.lacks(module, name):
        return None
    why = "is not modelled" if source is not None else "has no Python source"
    unknown = machine.unknown(machine.finder.refusal(path) or f"{module}.{name} {why}")
    return replace(unknown, library=path) if module.partition(".")[0] in sys.stdlib_module_names else unknown


def _waiting(machine: Machine, source: SourceModule, name: str, statement: Statement) -> Value | None:
    """The value of a name that was not asked for when its statement was come to."""
    if statement.definition is not None:
        return machine.define(source, statement.definition)
    return _imported(machine, source, name, statement)


def _run(machine: Machine, source: SourceModule, name: str, statements: list[Statement]) -> Value | None:
    """Executes the statements that make up a name."""
    if len(statements) == 1 and statements[0].kind == "import":
        return _imported(machine, source, name, statements[0])
    environment = machine.state.allocate(EnvironmentObject())
    key = (source.name, name)
    machine.modules.running[key] = environment
    try:
        listed = machine.with_handing(source, name, statements)
        for statement in machine.statements_due(source, name, statements, listed):
            run_statement(machine, source, name, statement, environment)
    finally:
        del machine.modules.running[key]
    final = machine.state.read(environment)
    assert isinstance(final, EnvironmentObject)
    return final.names.get(name) or _elsewhere(machine, source, name)


_MAY_CHANGE = (Address, ClassValue, FunctionValue, TupleValue)
"""Values behind which, or in which, objects are that a statement may change."""


def run_statement(
    machine: Machine, source: SourceModule, name: str, statement: Statement, environment: Address
) -> None:
    """Executes one of the statements that make up a name; the environment holds what it is before and after."""
    names = machine.state.change(environment, EnvironmentObject).names
    value: Value | None = None
    if joint_statements.is_one(source, statement):
        value = machine.unknown(f"line {statement.first_line} of {source.name} changes several names at once")
    elif statement.kind == "import":
        value = _imported(machine, source, name, statement)
    elif statement.definition is not None:
        value = machine.define(source, statement.definition)
    elif name not in statement.names and not isinstance(names.get(name), _MAY_CHANGE):
        return  # changes in place something that cannot be changed, as far as is known
    elif machine.waits(source, name, statement, names.get(name)):
        return
    elif name not in statement.names:
        machine.change_later(source, name, statement, environment)
    else:
        value = machine.module_statement(source, statement, environment).get(name)
    if value is not None:
        machine.state.change(environment, EnvironmentObject).names[name] = value


def _imported(machine: Machine, source: SourceModule, name: str, statement: Statement) -> Value | None:
    value: Value | None = None
    for imported in statement.imports:
        if imported.name == name:
            value = import_value(machine, source.absolute(imported.module, imported.level), imported)
    return value


def import_value(machine: Machine, module: str, imported: ImportedName) -> Value:
    """What an import statement binds; Unknown where the module is not there."""
    try:
        return import_name(machine, module, imported.attribute, imported.name)
    except Raised as raised:
        return machine.unknown(raised.message)


def import_name(machine: Machine, module: str, attribute: str | None, bound: str) -> Value:
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
            if attribute is not None:
                return _of_absent(machine, module, attribute)
            top = module.partition(".")[0]
            return ModuleReference(top if bound == top else module)
        if (why := machine.finder.refusal(module)) is not None:  # Python would follow it
            return machine.unknown(why)
        if namespaces.is_left_out(machine, module):
            return machine.unknown(f"{module} is not in the bundled source of torch, and torch is not installed")
        if (perhaps := moved_imports.may_be_found(machine, module)) is not None:
            machine.may_refuse("ModuleNotFoundError")
            return perhaps
        raise machine.raises("ModuleNotFoundError", f"No module named '{module}'")
    if machine.modules.movers and moved_imports.is_other(machine, module) is not None:
        machine.may_refuse("ModuleNotFoundError")
    if attribute is None:
        top, _, rest = module.partition(".")
        return ModuleReference(top) if bound == top or not rest else _last_of(machine, module)
    value = module_attribute(machine, module, attribute)
    if value is None:
        value = namespaces.imported_from_getter(machine, module, attribute)
    if value is not None:
        if type(value) is Unknown and (value.optional or namespaces.may_lack(machine, module, attribute)):
            machine.may_refuse("ImportError")
        return value
    if isinstance(found, CompiledModule) and not machine.lacks(module, attribute):
        machine.may_refuse("ImportError")
        return machine.unknown(f"{module} has no Python source")
    if (why := machine.finder.refusal(f"{module}.{attribute}")) is not None:
        return machine.unknown(why)
    if not namespaces.cannot_import(machine, module, attribute):
        machine.may_refuse("ImportError")
        return machine.unknown(f"{module}.{attribute} is not in its source")
    raise machine.raises("ImportError", f"cannot import name '{attribute}' from '{module}'")


def _of_absent(machine: Machine, module: str, attribute: str) -> Value:
    """A name of a module that is known, and is not on the path."""
    if machine.lacks(module, attribute):
        raise machine.raises("ImportError", f"cannot import name '{attribute}' from '{module}'")
    if not standard_names.module_has(module, attribute):
        machine.may_refuse("ImportError")
    return machine.unknown(f"{module} is not on the path")


def _last_of(machine: Machine, module: str) -> Value:
    """What `import a.b.c as name` binds: c as its package has it, which may have bound that name to something else."""
    package, _, last = module.rpartition(".")
    source = machine.finder.source(package)
    statements = source.index.statements.get(last, ()) if source is not None else ()
    if not any(last in statement.names for statement in statements) or (package, last) in machine.modules.importing:
        return ModuleReference(module)
    return module_attribute(machine, package, last) or ModuleReference(module)


def _elsewhere(machine: Machine, source: SourceModule, name: str) -> Value | None:
    """A name that no statement of the module binds when it is imported."""
    value = star_imports.value(machine, source, name, False)
    if value is not None:
        return value
    if machine.finder.find(f"{source.name}.{name}") is not None:
        return ModuleReference(f"{source.name}.{name}")
    # A package that loads its parts lazily says under TYPE_CHECKING what there is.
    for imported in source.index.imports:
        if imported.name == name and imported.type_checking:
            return import_value(machine, source.absolute(imported.module, imported.level), imported)
    return star_imports.value(machine, source, name, True)


def resolve(machine: Machine, path: str) -> Value:
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
