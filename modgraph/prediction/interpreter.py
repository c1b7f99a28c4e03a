"""`Interpreter`: the machine as it is put together. Which function does what a `Machine` can do is said here, once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from modgraph.graph.model import SourceLocation
from modgraph.prediction import knowledge
from modgraph.prediction.code import (
    allowances,
    calls,
    expressions,
    functions,
    handed_over,
    names,
    namespaces,
    path_imports,
    statements,
    taken_away,
)
from modgraph.prediction.domain import registry
from modgraph.prediction.domain.budget import Allowance
from modgraph.prediction.domain.caches import Caches
from modgraph.prediction.domain.calling import Raised
from modgraph.prediction.domain.frames import frame_outside_torch, place_outside_torch
from modgraph.prediction.domain.limits import MAX_MODULE_STEPS, MAX_TREE_WORK, LimitError
from modgraph.prediction.domain.loaded import Loaded
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import ClassObject, DictObject, HeapObject, InstanceObject, SetObject
from modgraph.prediction.domain.state import Base, State, Trouble
from modgraph.prediction.domain.values import Address, Choice, Constant, KnownClass, TupleValue, Unknown, Value
from modgraph.prediction.domain.weights import weigh
from modgraph.prediction.knowledge.tensors import devices
from modgraph.prediction.paths import assuming, failed, given_up, guards, partial_texts, several
from modgraph.prediction.paths.joining import choice_of, join_results
from modgraph.prediction.project import import_progress, lookups, mutating_calls, registries, textual_order, waiting
from modgraph.prediction.python import (
    attribute_changes,
    attributes,
    classes,
    comparison,
    copying,
    exceptions,
    items,
    iteration,
    metaclasses,
    operators,
    text,
)
from modgraph.prediction.python.bounds import is_long_range
from modgraph.source.modules import ModuleFinder


class Interpreter(Machine):
    """Interprets code found by `finder`. Module-level values are kept from one prediction to the next."""

    def __init__(self, finder: ModuleFinder) -> None:
        registry.load(knowledge.import_all)
        super().__init__(finder)
        self.use(finder)
        self._connect()
        self.start()

    invoke = calls.call
    make_instance = calls.make_instance

    evaluate = expressions.evaluate
    test = expressions.test
    subscript_key = expressions.subscript_key
    execute = statements.execute
    execute_one = statements.execute_one
    module_statement = statements.module_statement
    class_statement = statements.run_class_statement
    define = functions.define_from_index

    bind = names.bind
    global_name = names.global_name
    module_attribute = names.module_attribute
    import_value = names.import_value
    resolve = names.resolve
    module_dict = namespaces.module_dict
    lacks = namespaces.lacks
    may_lack = namespaces.may_lack
    from_getter = namespaces.from_getter

    get_attribute = attributes.get
    find_attribute = attributes.find
    plain_attribute = attributes.of_plain
    bound = attributes.bind
    set_attribute = attribute_changes.assign
    set_own_attribute = attribute_changes.own_assign
    delete_attribute = attribute_changes.delete

    def get_item(self, value: Value, key: Value) -> Value:
        return several.decided(self, (value, key), lambda: items.get(self, value, key))

    def set_item(self, value: Value, key: Value, new: Value) -> None:
        several.does(self, (value, key), lambda: items.assign(self, value, key, new), "__setitem__", "__index__")

    def delete_item(self, value: Value, key: Value) -> None:
        several.does(self, (value, key), lambda: items.delete(self, value, key), "__delitem__", "__index__")

    iterate_in_any_order = iteration.in_any_order
    length = iteration.length
    truth = comparison.truth
    equal = comparison.equal
    string = text.string

    class_of = classes.class_of
    mro = classes.mro
    lineage = classes.lineage
    is_instance = classes.is_instance
    is_subclass = classes.is_subclass
    own_attribute = classes.own_attribute
    class_attribute = classes.class_attribute
    class_dict = namespaces.class_dict
    is_bundled = namespaces.is_bundled
    metaclass_of = metaclasses.metaclass_of
    is_module_class = classes.is_module_class
    make_class = functions.make_class
    class_namespace_entry = functions.class_namespace_entry
    shadow_class = functions.shadow_class

    copy_deep = copying.copy_deep
    pickled_its_own_way = copying.is_pickled_its_own_way
    place_tensors = devices.settle
    expose = handed_over.expose
    may_be_called = handed_over.may_be_called
    may_fail = guards.may_fail
    may_refuse = guards.may_refuse
    note_costly = allowances.note_costly

    look_again = lookups.look_again
    note_import = registries.note_import
    imported_with = registries.imported_with
    claim = registries.claim
    has_come_to = import_progress.is_at
    statements_due = import_progress.due
    with_handing = mutating_calls.including
    waits = textual_order.waits
    change_later = waiting.change
    unless_changed = textual_order.unless_changed
    of_library_object = taken_away.of_object

    def iterate(self, value: Value) -> list[Value] | Unknown:
        if type(value) is Unknown and value.is_doubtful:
            self.may_fail()
        if type(value) is not Constant or not is_long_range(value.value):  # nobody walks through that
            weigh(self.state, (value,))
        return iteration.iterate(self, value)

    def binary(self, operator: str, left: Value, right: Value) -> Value:
        if (type(left) is Unknown and left.is_doubtful) or (type(right) is Unknown and right.is_doubtful):
            self.may_fail()
        self.base.work += 1
        weigh(self.state, (left, right))
        return several.decided(self, (left, right), lambda: operators.binary(self, operator, left, right))

    def compare(self, operator: str, left: Value, right: Value) -> Value:
        weigh(self.state, self._looked_through(operator, left, right))
        return several.decided(self, (left, right), lambda: comparison.compare(self, operator, left, right))

    def _looked_through(self, operator: str, left: Value, right: Value) -> tuple[Value, ...]:
        if operator in ("is", "is not"):
            return ()
        held = self.state.read(right) if isinstance(right, Address) and operator in ("in", "not in") else None
        if isinstance(held, DictObject | SetObject):
            return (left,)  # where their keys are compared one by one, that is counted
        return (left, right)

    # ---- from one prediction to the next -----------------------------------------------------------------------------

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
        self.caches = Caches()
        self.start_anew()

    def start_lazily(self) -> None:
        """Forgets what was executed as a whole; modules are evaluated name by name from here on."""
        roots, hooked, work = self.modules.roots, self.modules.hooked, self.work
        self.forget()
        self.base.work = work
        self._connect()
        self.modules = Loaded(roots=roots, hooked=hooked, is_lazy=True)
        self.doubtful.clear()
        self.making = []

    def _connect(self) -> None:
        """The base asks the machine for what it does not hold yet."""
        self.base.settle = lambda index: registries.settle(self, index)
        self.base.require = self._require_room
        self.base.unassigned = self._unassigned
        self.base.inherited = self._inherited

    def _require_room(self) -> None:
        self.makes(0)
        self.require_work()

    def start_anew(self) -> None:
        """A fresh state; the work that was done remains counted."""
        self.state = State(self.base)
        self.frames = []
        self.copied = {}
        self.guards = []
        self.left_open, self.driving = [], []
        self.depth = 0
        self.caches.fragments_here.clear()
        self.restart()

    # ---- module level ----------------------------------------------------------------------------------------------

    @contextmanager
    def with_own_steps(self, of_library: bool = False) -> Iterator[None]:
        """The steps that are done inside are counted apart, with a limit of their own: who asks first does not pay for
        all that others have asked for."""
        self.require_work()
        limit, allowance, steps = self.limit, self.allowance, self.steps
        self.limit = steps + MAX_MODULE_STEPS
        self.allowance = Allowance(self.limit, MAX_MODULE_STEPS, len(self.frames), self.base.next_index, of_library)
        try:
            yield
        finally:
            self.limit, self.allowance = limit, allowance
            self.elsewhere += self.steps - steps
            self.steps = steps

    @contextmanager
    def at_module_level(self, of_library: bool = False) -> Iterator[None]:
        """What is made inside lies in the base, and outlives the prediction; its steps are its own."""
        with self.with_own_steps(of_library):
            outer, frames, guards, depth = self.state, self.frames, self.guards, self.depth
            undecided, self.undecided = self.undecided, 0
            self.base.outer.append(outer)
            self.state, self.guards, self.frames = State(self.base), [], list(frames)
            inside = bool(self.module_depth) or path_imports.are_in(self, outer)
            if inside:  # one statement of a module brings another: what the first has done is there to see
                self.state.below = outer.fork().below
                self.state.epoch = outer.epoch
                self.state.classes = outer.classes
                self.state.globals = dict(outer.globals)
            self.module_depth += 1
            try:
                yield
            except LimitError as error:
                allowances.doubt_changes(self, outer, error)
                raise
            finally:
                self._keep(outer, inside)
                self.base.outer.pop()
                self.module_depth -= 1
                self.state, self.frames, self.guards, self.depth = outer, frames, guards, depth
                self.undecided = undecided

    def _keep(self, outer: State, inside: bool) -> None:
        """Puts what the state has into the base; what the outer one has too is changed there."""
        made = self.state.above(outer.below) if inside else self.state.everything()
        self._keep_classes(made)
        self.base.objects.update(made)
        bound = self.state.globals
        if inside:
            outer.objects.update((index, item) for index, item in made.items() if outer.get(index) is not None)
            bound = {key: value for key, value in bound.items() if outer.globals.get(key) is not value}
            outer.globals.update((key, value) for key, value in bound.items() if key in outer.globals)
        self.base.globals.update(bound)

    def _keep_classes(self, made: dict[int, HeapObject]) -> None:
        """Forgets what was found in classes, where module-level code has changed one that was there before."""
        changed = self.state.classes
        if changed and any(index in changed and index in self.base.objects for index in made):
            self.caches.class_attributes.clear()

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
        if self.leading is not None:
            self.leading.dropped.append(raised)
        failed.note(self, [raised])
        if self.guards:
            self.guards[-1].append((raised.kept(), self.state))

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
            raise failed.leave(self, raised, reason, where, since)
        failed.drop(self, raised)
        value, self.state = results[0]
        failed.tell(self, raised, reason)
        for other, state in results[1:]:
            value = join_results(self.state, value, state, other, reason, where, since)
        return value

    def distribute(self, value: Choice, function: Callable[[Value], Value]) -> Value:
        """`function` of each alternative, on paths of its own."""

        def path(place: int) -> Value:
            assuming.assume_again(self, value.tests_of(place))
            return function(value.alternatives[place])

        places = assuming.possible(self, value)
        if len(places) == 1:
            return function(value.alternatives[places[0]])
        return self.fork([partial(path, place) for place in places], value.reason)

    def on_each(self, value: Choice, change: Callable[[Value], None]) -> None:
        """Changes each alternative, on paths of its own."""

        def path(each: Value) -> Value:
            change(each)
            return each

        self.distribute(value, path)

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

    def raises(self, name: str, message: str, given: tuple[Value, ...] | None = None) -> Raised:
        qualified = name if "." in name else f"builtins.{name}"
        if given is None:
            why = self.unknown("the text of an exception that Python or torch raises is not followed")
            given = (replace(why, text=(("", ""),)),)
        exception = self.allocate(InstanceObject(KnownClass(qualified), {"args": TupleValue(given)}, where=self.where))
        exceptions.keep_context(self, exception)
        raised = Raised(exception, qualified, message, self.frames[-1].raising if self.frames else None)
        asking = frame_outside_torch(self.frames)
        raised.asked = None if asking is None else asking.raising
        raised.is_of_rule = True
        return raised

    def problem(self, reason: str, address: Address | None = None, where: SourceLocation | None = None) -> None:
        self.told += 1
        trouble = Trouble(reason, where or place_outside_torch(self.frames) or self.where, address)
        if trouble not in self.state.problems:
            self.state.problems.append(trouble)
