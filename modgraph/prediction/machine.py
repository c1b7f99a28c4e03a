"""`Interpreter`: the machine that all parts of the evaluator work on. It holds the state and the running frames, and
gives each part's functions under one roof; what they do stands in the file named for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import libcst as cst

from modgraph.graph.model import SourceLocation
from modgraph.prediction import (
    allowances,
    attribute_changes,
    attributes,
    calls,
    classes,
    comparison,
    copying,
    exceptions,
    exposure,
    functions,
    given_up,
    guards,
    items,
    iteration,
    lookups,
    memo,
    names,
    operators,
    partial_texts,
    registries,
    several,
    statements,
    text,
)
from modgraph.prediction.allowances import Allowance
from modgraph.prediction.budget import Budget
from modgraph.prediction.definitions import FunctionDefinition
from modgraph.prediction.frames import Frame, LimitError, Outcome, place_outside_torch
from modgraph.prediction.import_order import Imported
from modgraph.prediction.joining import choice_of, join_results
from modgraph.prediction.knowledge import registry
from modgraph.prediction.knowledge.registry import Arguments, Raised
from modgraph.prediction.limits import MAX_MODULE_STEPS, MAX_TREE_WORK
from modgraph.prediction.objects import ClassObject, HeapObject, InstanceObject
from modgraph.prediction.state import Base, State, Trouble
from modgraph.prediction.values import (
    NONE,
    Address,
    Choice,
    ClassValue,
    KnownClass,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.weights import weigh
from modgraph.source.index import Definition, Statement
from modgraph.source.modules import ModuleFinder, SourceModule


class Interpreter(Budget):
    """Interprets code found by `finder`. Module-level values are kept from one prediction to the next."""

    def __init__(self, finder: ModuleFinder) -> None:
        registry.load()
        super().__init__()
        self.use(finder)
        self.state = State(self.base)
        self.frames: list[Frame] = []
        self.guards: list[list[tuple[Raised, State]]] = []
        """For each interpreted `try` that runs: paths that raised while others went on."""
        self.doubtful: dict[object, Unknown] = {}
        """Definitions of functions, and addresses of classes, under decorators that are not known."""
        self.told = 0
        """How often a problem was found."""
        self.doubts = 0
        """How many operations were done that may raise."""
        self.namespaces: dict[str, dict[str, Value | None]] = {}
        self.running: dict[tuple[str, str], Address] = {}
        self.literals: dict[cst.CSTNode, Value] = {}
        """Values of literals by their node; nodes are compared by identity."""
        self.literal_texts: dict[str, str] = {}
        """Texts of sources of which there is one object."""
        self.so_far: dict[tuple[str, str, int], Value | None] = {}
        """Names bound several times: their value before a later line binds them again."""
        self.importing: set[tuple[str, str]] = set()
        """Module-level names that are being looked for."""
        self.class_running: set[tuple[int, str]] = set()
        self.executed: dict[tuple[str, int], dict[str, Value]] = {}
        """Names bound by the compound statements of modules and classes that were executed, by module and line."""
        self.executing: dict[tuple[str, int], Address] = {}
        """Those that are being executed, with their environment."""
        self.too_long: set[FunctionDefinition] = set()
        """Decorators that were given up."""
        self.shadows: dict[str, ClassValue | None] = {}
        """Classes as their source has them, of known classes whose source is there."""
        self.lineages: dict[int, frozenset[int]] = {}
        """Addresses of the classes in an MRO, by that of its class as the base has it."""
        self.class_attributes: dict[tuple[object, str, object], Value | None] = {}
        """What was found in the namespaces of MROs, where every class is as the base has it."""
        self.fragments: dict[tuple[object, ...], memo.Fragment | None] = {}
        """Constructions and calls that may be repeated; None for a construction that was seen once."""
        self.copied: dict[Address, dict[Address, Value]] = {}
        """Copies by their originals, for each memo that `deepcopy` was given."""
        self.remembered = 0
        """Objects in `fragments`."""
        self.contents: dict[tuple[object, ...], int] = {}
        """Numbers of the contents of arguments."""
        self.costs: dict[FunctionDefinition, int] = {}
        """Steps that the last run of a function took."""
        self.functions: dict[int, FunctionDefinition] = {}
        self.roots: list[str] = []
        """Modules that are imported first: those of the targets."""
        self.imported: dict[tuple[str, ...], Imported] = {}
        self.wanted: dict[int, lookups.Wanted] = {}
        """Containers in which a key was missing."""
        self.heads: dict[str, dict[str, list[Statement]]] = {}
        """By module and word: statements that may fill containers; see `lookups.py`."""
        self.asked: dict[str, tuple[int, list[SourceModule]]] = {}
        """By package: its modules among the first so many `namespaces`, which only grow."""
        self.beside: dict[tuple[str, str], Imported] = {}
        """What the second module brings besides what the first, which holds containers, does; see `lookups.py`."""
        self.filled: set[int] = set()
        """Addresses of classes whose body was executed as a whole."""
        self.unfollowed = 0
        """How many decorators raised, took too long or are not known."""
        self.base.settle = lambda index: registries.settle(self, index)
        self.base.require = self._require_room
        self.base.unassigned = self._unassigned
        self.base.inherited = self._inherited
        self.insistent = False
        """A key that a container lacks is looked for again at module level too; see `lookups.py`."""
        self.making: list[ClassValue] = []
        """Classes whose metaclasses are running."""
        self.awaited: ClassValue | None = None
        """A call of this class ends the interpretation; see `own_calls.py`."""
        self.on_yield: Callable[[Value], None] | None = None
        """The block of a `with`, to be run where the next generator that is called yields."""
        self.strict = False
        """Faults of the interpreter itself are raised, for tests; otherwise they are unknowns."""
        self.depth = 0
        self.comparing = 0
        """Containers whose items are being compared, one inside the other."""
        self.installed: dict[str, bool] = {}
        """Of modules by name: whether they are of an installed package."""
        self.naming_hooks: dict[tuple[str, str], bool] = {}
        """Of names in modules: whether what their call gives may be told its name; of a module with "": whether a class
        of it has the method for that."""
        self.start()

    def use(self, finder: ModuleFinder) -> None:
        """Finds modules with it from now on, and counts what reading them costs."""
        self.finder = finder
        finder.spend = self.spend

    def start(self) -> None:
        """A fresh state and budget for the next prediction."""
        self.finder.start()
        self.start_anew()
        self.renew()

    def finish(self) -> None:
        """What there is may be looked at from now on, whatever limit was reached."""
        self.work_limit = self.work + MAX_TREE_WORK
        self.has_ended = True
        self.base.settle = lambda index: registries.settle_or_leave(self, index)

    def forget(self) -> None:
        """Lets go what it has made: it is much, and stands in circles in which Python would find it late."""
        self.base = Base()
        self.start_anew()
        self.fragments, self.literals, self.class_attributes = {}, {}, {}

    def _require_room(self) -> None:
        self.makes(0)
        self.require_work()

    def start_anew(self) -> None:
        """A fresh state; the work that was done remains counted."""
        self.state = State(self.base)
        self.frames = []
        self.copied = {}
        self.guards = []
        self.depth = 0
        self.restart()

    # ---- module level ----------------------------------------------------------------------------------------------

    @contextmanager
    def at_module_level(self, of_library: bool = False) -> Iterator[None]:
        """What is made inside lies in the base, and outlives the prediction; its steps are its own, with a limit of
        their own: who asks first does not pay for all that others have asked for."""
        self.require_work()
        outer, frames, guards, depth = self.state, self.frames, self.guards, self.depth
        outer_limit, allowance, steps, undecided = self.limit, self.allowance, self.steps, self.undecided
        self.limit = steps + MAX_MODULE_STEPS
        self.allowance = Allowance(self.limit, len(frames), self.base.next_index, of_library)
        self.base.outer.append(outer)
        self.undecided = 0
        self.state, self.guards, self.frames = State(self.base), [], list(frames)
        if self.module_depth:  # one statement of a module brings another: what the first has done is there to see
            self.state.below = outer.fork().below
            self.state.epoch = outer.epoch
        self.module_depth += 1
        try:
            yield
        except LimitError as error:
            allowances.doubt_changes(self, outer, error)
            raise
        finally:
            made = self.state.above(outer.below) if self.module_depth > 1 else self.state.everything()
            self._keep_classes()
            self.base.objects.update(made)
            if self.module_depth > 1:
                outer.objects.update((index, item) for index, item in made.items() if outer.get(index) is not None)
            self.base.globals.update(self.state.globals)
            self.base.outer.pop()
            self.module_depth -= 1
            self.state, self.frames, self.guards, self.depth = outer, frames, guards, depth
            self.limit, self.allowance, self.undecided = outer_limit, allowance, undecided
            self.elsewhere += self.steps - steps
            self.steps = steps

    def _keep_classes(self) -> None:
        """Forgets what was found in classes, where module-level code has changed one that was there before."""
        if any(index in self.base.objects for index in self.state.classes):
            self.class_attributes.clear()

    def module_statement(self, source: SourceModule, statement: Statement, environment: Address) -> dict[str, Value]:
        return statements.module_statement(self, source, statement, environment)

    def define(self, source: SourceModule, definition: Definition) -> Value | None:
        """The class or function that a definition at module level makes."""
        return functions.define_from_index(self, source, definition)

    def _unassigned(self, state: State, key: tuple[str, str]) -> Value | None:
        with self._seen_from(state):
            return names.global_name(self, *key) if not key[0].startswith("<") else None

    def _inherited(self, state: State, index: int, name: str) -> Value | None:
        if isinstance(found := self.base.objects.get(index), ClassObject) and name in found.namespace:
            return found.namespace[name]
        with self._seen_from(state):
            item = state.read(Address(index))
            return self.class_attribute(item.mro[0], name) if isinstance(item, ClassObject) and item.mro else None

    @contextmanager
    def _seen_from(self, state: State) -> Iterator[None]:
        outer, self.state = self.state, state
        try:
            yield
        finally:
            self.state = outer

    # ---- branching -------------------------------------------------------------------------------------------------

    def fork(self, paths: Sequence[Callable[[], Value]], reason: str) -> Value:
        """Runs each path from the present state on a copy of it, and joins what they leave; the choice of their values.
        A path that certainly raises is dropped, unless all do."""
        where, since = self.where, self.base.next_index
        start = self.state
        states = [start.fork() for _ in paths[1:]]
        states.insert(0, start)
        results: list[tuple[Value, State]] = []
        raised: list[tuple[Raised, State]] = []
        self.undecided += 1
        try:
            for path, state in zip(paths, states, strict=True):
                self.state = state
                try:
                    value = path()
                except Raised as error:
                    raised.append((error.kept(), self.state))
                else:
                    results.append((value, self.state))
        except given_up.ENDINGS:
            place = len(results) + len(raised) + 1
            given_up.join_others(self, [*(kept for _, kept in results), *states[place:]], since)
            raise
        finally:
            self.undecided -= 1
        return self.settle(results, raised, reason, where, since)

    def may_raise(self, raised: Raised) -> None:
        """One path raised, others did not: the `try` around them, if there is one, has to go both ways."""
        if self.guards:
            self.guards[-1].append((raised.kept(), self.state))

    def may_fail(self, name: str = guards.OPERATION) -> None:
        """What is done here, with something unknown, may raise."""
        guards.may_fail(self, name)

    def may_refuse(self, name: str) -> None:
        """What is done here raises for some of the values that it may be given."""
        guards.may_refuse(self, name)

    def settle(
        self,
        results: list[tuple[Value, State]],
        raised: list[tuple[Raised, State]],
        reason: str,
        where: SourceLocation | None,
        since: int,
    ) -> Value:
        """Joins the states of paths that go on from here; the choice of their values."""
        if not results:
            self.state = raised[0][1]
            raise raised.pop(0)[0]
        if raised and self.guards:
            self.guards[-1].extend(raised)
        value, self.state = results[0]
        for other, state in results[1:]:
            value = join_results(self.state, value, state, other, reason, where, since)
        return value

    def distribute(self, value: Choice, function: Callable[[Value], Value]) -> Value:
        """`function` of each alternative, on paths of its own."""
        return self.fork([lambda each=each: function(each) for each in value.alternatives], value.reason)  # type: ignore[misc]

    def on_each(self, value: Choice, change: Callable[[Value], None]) -> None:
        """Changes each alternative, on paths of its own."""

        def path(each: Value) -> Value:
            change(each)
            return each

        self.distribute(value, path)

    # ---- calls -----------------------------------------------------------------------------------------------------

    def call(
        self,
        function: Value,
        positional: Sequence[Value] = (),
        keywords: Mapping[str, Value] | None = None,
        where: SourceLocation | None = None,
        others: Unknown | None = None,
    ) -> Value:
        return calls.call(self, function, Arguments("", tuple(positional), keywords or {}, where or self.where, others))

    def invoke(self, function: Value, arguments: Arguments) -> Value:
        return calls.call(self, function, arguments)

    def execute(self, frame: Frame, block: Sequence[cst.CSTNode]) -> Outcome:
        return statements.execute(self, frame, block)

    # ---- attributes, items, operators ------------------------------------------------------------------------------

    def get_attribute(self, value: Value, name: str) -> Value:
        return attributes.get(self, value, name)

    def find_attribute(self, value: Value, name: str) -> Value | None:
        return attributes.find(self, value, name)

    def set_attribute(self, value: Value, name: str, new: Value) -> None:
        attribute_changes.assign(self, value, name, new)

    def delete_attribute(self, value: Value, name: str) -> None:
        attribute_changes.delete(self, value, name)

    def get_item(self, value: Value, key: Value) -> Value:
        return several.decided(self, (value, key), lambda: items.get(self, value, key))

    def set_item(self, value: Value, key: Value, new: Value) -> None:
        several.does(self, (value, key), lambda: items.assign(self, value, key, new), "__setitem__", "__index__")

    def delete_item(self, value: Value, key: Value) -> None:
        several.does(self, (value, key), lambda: items.delete(self, value, key), "__delitem__", "__index__")

    def iterate(self, value: Value) -> list[Value] | Unknown:
        if type(value) is Unknown and value.is_doubtful:
            self.may_fail()
        weigh(self.state, (value,))
        return iteration.iterate(self, value)

    def iterate_in_any_order(self, value: Value) -> list[Value] | Unknown:
        return iteration.in_any_order(self, value)

    def length(self, value: Value) -> int | Unknown:
        return iteration.length(self, value)

    def truth(self, value: Value) -> bool | None:
        return comparison.truth(self, value)

    def equal(self, left: Value, right: Value) -> bool | None:
        return comparison.equal(self, left, right)

    def binary(self, operator: str, left: Value, right: Value) -> Value:
        if (type(left) is Unknown and left.is_doubtful) or (type(right) is Unknown and right.is_doubtful):
            self.may_fail()
        self.base.work += 1
        weigh(self.state, (left, right))
        return several.decided(self, (left, right), lambda: operators.binary(self, operator, left, right))

    def compare(self, operator: str, left: Value, right: Value) -> Value:
        weigh(self.state, (left, right))
        return several.decided(self, (left, right), lambda: comparison.compare(self, operator, left, right))

    def string(self, value: Value) -> str | None:
        return text.string(self, value)

    # ---- classes ---------------------------------------------------------------------------------------------------

    def class_of(self, value: Value) -> Value:
        return classes.class_of(self, value)

    def mro(self, cls: Value) -> tuple[Value, ...]:
        return classes.mro(self, cls)

    def is_instance(self, value: Value, of: Value) -> bool | None:
        return classes.is_instance(self, value, of)

    def is_subclass(self, cls: Value, of: Value) -> bool | None:
        return classes.is_subclass(self, cls, of)

    def own_attribute(self, cls: ClassValue, name: str) -> Value | None:
        """What the namespace of that class alone holds."""
        return classes.own_attribute(self, cls, name)

    def class_attribute(self, cls: Value, name: str, after: Value | None = None) -> Value | None:
        return classes.class_attribute(self, cls, name, after)

    def is_module_class(self, cls: Value) -> bool:
        return classes.is_module_class(self, cls)

    def resolve(self, name: str) -> Value:
        return names.resolve(self, name)

    def function_signature(self, function: Value) -> tuple[str, ...] | None:
        return functions.signature(self, function)

    # ---- heap ------------------------------------------------------------------------------------------------------

    def allocate(self, item: HeapObject) -> Address:
        return self.state.allocate(item)

    def copy_deep(self, value: Value, memo: Value = NONE) -> Value:
        return copying.copy_deep(self, value, memo)

    def pickled_its_own_way(self, value: Address) -> Unknown | None:
        return copying.is_pickled_its_own_way(self, value)

    # ---- not knowing -----------------------------------------------------------------------------------------------

    def unknown(self, reason: str, *causes: Value) -> Unknown:
        for cause in causes:
            if isinstance(cause, Unknown):
                return cause if cause.text is None else partial_texts.plainly(cause)
            if isinstance(cause, Choice):
                return Unknown(cause.reason, cause.where)
        return Unknown(reason, self.where)

    def choice(self, values: Iterable[Value], reason: str) -> Value:
        return choice_of(values, reason, self.where)

    def expose(self, values: Iterable[Value], why: Unknown) -> None:
        exposure.expose(self, values, why)

    def raises(self, name: str, message: str, given: tuple[Value, ...] | None = None) -> Raised:
        qualified = name if "." in name else f"builtins.{name}"
        if given is None:
            why = self.unknown("the text of an exception that Python or torch raises is not followed")
            given = (replace(why, text=(("", ""),)),)
        exception = self.allocate(InstanceObject(KnownClass(qualified), {"args": TupleValue(given)}, where=self.where))
        exceptions.keep_context(self, exception)
        raised = Raised(exception, qualified, message, self.where)
        raised.asked = place_outside_torch(self.frames)
        return raised

    def problem(self, reason: str, address: Address | None = None, where: SourceLocation | None = None) -> None:
        self.told += 1
        trouble = Trouble(reason, where or self.where, address)
        if trouble not in self.state.problems:
            self.state.problems.append(trouble)

    @property
    def where(self) -> SourceLocation | None:
        return self.frames[-1].location() if self.frames else None

    def is_class(self, value: Value) -> bool:
        return isinstance(value, (ClassValue, KnownClass))
