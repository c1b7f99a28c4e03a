"""`Machine`: what all parts of the interpreter work on, and ask of each other.

It holds the state and the running frames. What it can do is declared here, and stands in the file named for it; which
function does what is said in `interpreter.py`. So a part calls what stands above it without importing it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from modgraph.graph.model import SourceLocation
from modgraph.prediction.domain.asked_options import AskedOption
from modgraph.prediction.domain.assumed import NOTHING
from modgraph.prediction.domain.budget import Budget
from modgraph.prediction.domain.caches import Caches
from modgraph.prediction.domain.calling import Arguments, Raised
from modgraph.prediction.domain.file_changes import FileChanges
from modgraph.prediction.domain.frames import Frame, Outcome
from modgraph.prediction.domain.guesses import Guesses
from modgraph.prediction.domain.leading import Leading
from modgraph.prediction.domain.loaded import Loaded
from modgraph.prediction.domain.state import State
from modgraph.prediction.domain.values import NONE, Address, Choice, ClassValue, KnownClass, Unknown, Value
from modgraph.source import nodes
from modgraph.source.index import Definition, ImportedName, Statement
from modgraph.source.modules import ModuleFinder, SourceModule

if TYPE_CHECKING:
    from modgraph.prediction.code.import_order import Imported
    from modgraph.prediction.domain.definitions import ClassDefinition, FunctionDefinition
    from modgraph.prediction.domain.objects import ClassObject, HeapObject


class Compose(Protocol):
    """Gives the configuration of a folder, by the name of its file and words that change it: plain values, and
    `Unsaid`. A reference is what it refers to."""

    refers: bool
    """There was a reference in one that was given."""

    def __call__(self, folder: str, name: str, words: tuple[str, ...], /) -> Any: ...


class Machine(Budget):
    """What Python would raise is raised as `Raised` by every method that interprets."""

    compose: Compose | None = None
    """None where files are not read."""
    asked_options: dict[str, AskedOption] | None = None
    """Options of the command line that the script asks for, by the names under which it reads them; None where nobody
    wants to know."""
    words_of_script: tuple[str | Unknown, ...] | None = None
    """Of the command line with which the script is started, so that `sys.argv` is known; None where nothing says them,
    and a parser is given none."""
    leading: Leading | None = None
    """How many dimensions layers are taken to be given, where nothing is known of that; None where it is open."""

    layer_frames: int = -1
    """How many functions are open where a layer of torch is called that computes by itself; elsewhere -1."""

    came_out: dict[tuple[str, SourceLocation | None], frozenset[bool]] | None = None
    """By text and place: how the tests of a run of `forward` have come out, both ways where one was not decided. None
    where nobody asks."""

    steady: Unknown | None = None
    """The mode of the module that is called, where that is not known: it is as true at any time of that run."""

    otherwise: frozenset[str] = frozenset()
    """What of `asked` a run of `forward` is to have otherwise, by the names that `asks` is given: to see what depends
    on it."""

    began: int = 0
    """The first address of what a run of `forward` makes."""

    def __init__(self, finder: ModuleFinder) -> None:
        super().__init__()
        self.finder = finder
        self.state = State(self.base)
        self.frames: list[Frame] = []
        self.guards: list[list[tuple[Raised, State]]] = []
        """For each interpreted `try` that runs: paths that raised while others went on."""
        self.depth = 0
        """Calls inside calls."""
        self.doubtful: dict[object, Unknown] = {}
        """Definitions of functions, and addresses of classes, under decorators that are not known."""
        self.told = 0
        """How often a problem was found."""
        self.doubts = 0
        """How many operations were done that may raise."""
        self.unfollowed = 0
        """How many decorators raised, took too long or are not known."""
        self.copied: dict[Address, dict[Address, Value]] = {}
        """Copies by their originals, for each memo that `deepcopy` was given."""
        self.making: list[ClassValue] = []
        """Classes whose metaclasses are running."""
        self.handing_over = 0
        """How deep inside each other functions run that were given to code which is not known."""
        self.recursions: dict[FunctionDefinition, int] = {}
        """Functions whose recursion runs any number of times, and not to its end: how many frames there were before."""
        self.left_open: list[Address] = []
        """Generators that were begun, and do something when they are given up: where nothing holds them any more."""
        self.driving: list[list[Address]] = []
        """Those of them that were begun by each loop that asks for an item just now: it holds them."""
        self.comparing = 0
        """Containers whose items are being compared, one inside the other."""
        self.taken: Value | None = None
        """What is asked for: a class, which may be taken for a module where nothing is known of a base."""
        self.foreign_work: int | None = None
        """Work of one call into an installed package that never says torch; None where all calls count alike."""
        self.awaited: Callable[[ClassValue, Arguments], None] | None = None
        """Told of each class with source that is called, and may end the interpretation there; see `own_calls.py`."""
        self.data_of: Callable[[str], str | None] | None = None
        """The text of a data file by its path, where arguments are looked for (`calls_elsewhere.py`); else None."""
        self.on_yield: Callable[[Value], None] | None = None
        """The block of a `with`, to be run where the next generator that is called yields."""
        self.insistent = False
        """A key that a container lacks is looked for again at module level too; see `lookups.py`."""
        self.strict = False
        """Faults of the interpreter itself are raised, for tests; otherwise they are unknowns."""
        self.assumed = NOTHING
        """What is taken for granted of the surroundings."""
        self.asked: set[str] = set()
        """What of that the code has asked for: names of functions, and what `domain.assumed` has beside them."""
        self.is_recording = False
        """A run of `forward` is followed: calls of modules and operations are events of the state."""
        self.guesses = Guesses()
        """What that run takes its inputs for."""
        self.operating = 0
        """How many operations run inside each other: the outermost alone is an event."""
        self.called: list[Address] = []
        """The modules whose calls are recorded and have not ended."""
        self.modules = Loaded()
        self.caches = Caches()

    @cached_property
    def file_changes(self) -> FileChanges:
        """What the script that is followed may have done to data files."""
        return FileChanges()

    @property
    def where(self) -> SourceLocation | None:
        """The statement or call that is being interpreted."""
        return self.frames[-1].location() if self.frames else None

    @property
    def is_asked_by_torch(self) -> bool:
        """What runs is torch's own source, and no line of the program."""
        return bool(self.frames) and self.frames[-1].module.startswith("torch.")

    def asks(self, name: str) -> bool:
        """Notes that `forward` asks for something that its caller decides, and that is taken for granted. Whether this
        run is to have it otherwise."""
        if not self.is_recording or self.is_asked_by_torch:
            return False
        self.asked.add(name)
        return name in self.otherwise

    def is_class(self, value: Value) -> bool:
        return isinstance(value, (ClassValue, KnownClass))

    def allocate(self, item: HeapObject) -> Address:
        """A new object."""
        return self.state.allocate(item)

    # ---- calls -----------------------------------------------------------------------------------------------------

    def call(
        self,
        function: Value,
        positional: Sequence[Value] = (),
        keywords: Mapping[str, Value] | None = None,
        where: SourceLocation | None = None,
        others: Unknown | None = None,
    ) -> Value:
        """function(*positional, **keywords); of a class, the new instance. `others`: why there may be more of them."""
        return self.invoke(function, Arguments("", tuple(positional), keywords or {}, where or self.where, others))

    @abstractmethod
    def invoke(self, function: Value, arguments: Arguments) -> Value:
        """The same."""

    @abstractmethod
    def make_instance(self, cls: ClassValue, arguments: Arguments) -> Value:
        """The new instance of a class with source, as `type` makes it."""

    # ---- code ------------------------------------------------------------------------------------------------------

    @abstractmethod
    def evaluate(self, frame: Frame, node: nodes.Expression) -> Value:
        """The value of an expression."""

    @abstractmethod
    def test(self, frame: Frame, node: nodes.Expression) -> Value:
        """A value that is as true as that of the expression."""

    @abstractmethod
    def subscript_key(self, frame: Frame, node: nodes.Subscript) -> Value:
        """What stands between the brackets: a value, a slice, or a tuple of these."""

    @abstractmethod
    def execute(self, frame: Frame, block: Sequence[nodes.Node]) -> Outcome:
        """Runs the statements in order until one of them leaves the block."""

    @abstractmethod
    def execute_one(self, frame: Frame, statement: nodes.Node) -> Outcome:
        """Runs one statement."""

    @abstractmethod
    def module_statement(self, source: SourceModule, statement: Statement, environment: Address) -> dict[str, Value]:
        """Executes a statement of a module's body in that environment; the names it binds with their values."""

    @abstractmethod
    def class_statement(self, source: SourceModule, statement: Statement, frame: Frame) -> dict[str, Value]:
        """The same for a statement of a class body; the frame says which class."""

    @abstractmethod
    def define(self, source: SourceModule, definition: Definition) -> Value | None:
        """The class or function that a definition at module level makes."""

    # ---- names -----------------------------------------------------------------------------------------------------

    @abstractmethod
    def bind(self, frame: Frame, name: str, value: Value) -> None:
        """name = value."""

    @abstractmethod
    def global_name(self, module: str, name: str) -> Value | None:
        """A name of a module's namespace; None where nothing binds it."""

    @abstractmethod
    def module_attribute(self, module: str, name: str) -> Value | None:
        """module.name: a name of its namespace or a submodule."""

    @abstractmethod
    def module_dict(self, module: str) -> Value:
        """`module.__dict__`, in the order in which the names are first bound."""

    @abstractmethod
    def lacks(self, module: str, name: str) -> bool:
        """A module certainly has no such name."""

    @abstractmethod
    def from_getter(self, module: str, name: str) -> Value | None:
        """What the `__getattr__` of a module of Python gives; None where it has none, or raises."""

    @abstractmethod
    def may_lack(self, module: str, name: str) -> bool:
        """Of a name whose value is not known: nothing says that the module has it."""

    @abstractmethod
    def import_value(self, module: str, imported: ImportedName) -> Value:
        """What an import statement binds; Unknown where the module is not there."""

    @abstractmethod
    def resolve(self, path: str) -> Value:
        """What an import path leads to: `resolve("torch.nn.Linear")`; Unknown where it cannot be found."""

    @abstractmethod
    def at_module_level(self, of_library: bool = False) -> AbstractContextManager[None]:
        """What is made inside lies in the base, and outlives the prediction; its steps are its own, with a limit of
        their own."""

    @abstractmethod
    def with_own_steps(self, of_library: bool = False) -> AbstractContextManager[None]:
        """The steps that are done inside are counted apart, with a limit of their own."""

    # ---- attributes, items, operators ------------------------------------------------------------------------------

    @abstractmethod
    def get_attribute(self, value: Value, name: str) -> Value:
        """value.name, with properties, methods bound, `__getattr__`; AttributeError is `Raised`."""

    @abstractmethod
    def find_attribute(self, value: Value, name: str) -> Value | None:
        """The same; None where AttributeError would be raised (`Unknown` where that cannot be known)."""

    @abstractmethod
    def set_attribute(self, value: Value, name: str, new: Value) -> None: ...
    @abstractmethod
    def set_own_attribute(self, value: Address, name: str, new: Value) -> None:
        """What object.__setattr__, or for a module Module.__setattr__, does."""

    @abstractmethod
    def delete_attribute(self, value: Value, name: str) -> None: ...
    @abstractmethod
    def get_item(self, value: Value, key: Value) -> Value: ...
    @abstractmethod
    def set_item(self, value: Value, key: Value, new: Value) -> None: ...
    @abstractmethod
    def delete_item(self, value: Value, key: Value) -> None: ...

    @abstractmethod
    def plain_attribute(self, value: Value, name: str) -> Value | None:
        """What the class of a value says of the attribute."""

    @abstractmethod
    def bound(self, found: Value, receiver: Value, cls: Value) -> Value:
        """What a class attribute becomes when it is looked up through an instance."""

    @abstractmethod
    def iterate(self, value: Value) -> list[Value] | Unknown:
        """All items of an iterable (a dict gives its keys), or why they are not known. An iterator is used up."""

    @abstractmethod
    def iterate_in_any_order(self, value: Value) -> list[Value] | Unknown:
        """The same, also of a set whose order is not known: for what does not depend on the order."""

    @abstractmethod
    def length(self, value: Value) -> int | Unknown: ...

    @abstractmethod
    def truth(self, value: Value) -> bool | None:
        """bool(value); None where it cannot be known."""

    @abstractmethod
    def equal(self, left: Value, right: Value) -> bool | None:
        """left == right."""

    @abstractmethod
    def binary(self, operator: str, left: Value, right: Value) -> Value:
        """left + right and kin; `operator` as in source: "+", "//", "@", "<<", ..."""

    @abstractmethod
    def compare(self, operator: str, left: Value, right: Value) -> Value:
        """ "<", "<=", "==", "!=", ">", ">=", "is", "is not", "in", "not in"."""

    @abstractmethod
    def string(self, value: Value) -> str | None:
        """str(value); None where it cannot be known."""

    # ---- classes ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def class_of(self, value: Value) -> Value:
        """type(value): ClassValue, KnownClass, or Unknown."""

    @abstractmethod
    def mro(self, cls: Value) -> tuple[Value, ...]:
        """Of a ClassValue or KnownClass, itself first; an Unknown in it stands for bases not known."""

    @abstractmethod
    def lineage(self, cls: ClassValue) -> frozenset[int]:
        """Addresses of the classes with source in its MRO."""

    @abstractmethod
    def is_instance(self, value: Value, of: Value) -> bool | None:
        """isinstance; `of` is a class, a tuple of them, a union."""

    @abstractmethod
    def is_subclass(self, cls: Value, of: Value) -> bool | None: ...

    @abstractmethod
    def own_attribute(self, cls: ClassValue, name: str) -> Value | None:
        """What the namespace of that class alone holds."""

    @abstractmethod
    def class_attribute(self, cls: Value, name: str, after: Value | None = None) -> Value | None:
        """What the MRO (after the class `after`, if given) holds under `name`, unbound; None if nothing."""

    @abstractmethod
    def class_dict(self, cls: Value) -> Value:
        """`cls.__dict__`, for looking at; without what every class has."""

    @abstractmethod
    def is_bundled(self, cls: ClassValue) -> bool:
        """The class, or one it is derived from, is read from the source that stands in for torch's own."""

    @abstractmethod
    def metaclass_of(self, cls: Value) -> ClassValue | KnownClass | None:
        """Its own, or the first that one of its bases has; None for `type`."""

    @abstractmethod
    def is_module_class(self, cls: Value) -> bool:
        """nn.Module is in its MRO."""

    @abstractmethod
    def make_class(
        self,
        name: str,
        bases: tuple[Value, ...],
        definition: ClassDefinition | None = None,
        closure: Address | None = None,
        namespace: dict[str, Value] | None = None,
    ) -> ClassValue:
        """A new class, its MRO by C3."""

    @abstractmethod
    def class_namespace_entry(self, cls: ClassValue, item: ClassObject, name: str) -> Value | None:
        """A name of a class body, by executing the statements that bind it or change it."""

    @abstractmethod
    def shadow_class(self, known: KnownClass) -> ClassValue | None:
        """The class as its source has it, of a known class; None where its source is not there."""

    @abstractmethod
    def place_tensors(self, name: str, found: Value, since: int, arguments: Arguments) -> None:
        """Tensors made since, as a result, are where the operands are, and need a gradient where one of these does."""

    # ---- copies ----------------------------------------------------------------------------------------------------

    @abstractmethod
    def copy_deep(self, value: Value, memo: Value = NONE) -> Value:
        """copy.deepcopy: fresh addresses throughout, sharing inside kept; a `__deepcopy__` is called."""

    @abstractmethod
    def pickled_its_own_way(self, value: Address) -> Unknown | None:
        """Why a copy of the object may hold something else than it; None where it holds the same."""

    # ---- paths -----------------------------------------------------------------------------------------------------

    @abstractmethod
    def fork(self, paths: Sequence[Callable[[], Value]], reason: str) -> Value:
        """Runs each path on a copy of the present state, and joins what they leave; the choice of their values."""

    @abstractmethod
    def settle(
        self,
        results: list[tuple[Value, State]],
        raised: list[tuple[Raised, State]],
        reason: str,
        where: SourceLocation | None,
        since: int,
    ) -> Value:
        """Joins the states of paths that go on from here; the choice of their values."""

    @abstractmethod
    def distribute(self, value: Choice, function: Callable[[Value], Value]) -> Value:
        """`function` of each alternative, on paths of its own."""

    @abstractmethod
    def on_each(self, value: Choice, change: Callable[[Value], None]) -> None:
        """Changes each alternative, on paths of its own."""

    @abstractmethod
    def may_raise(self, raised: Raised) -> None:
        """One path raised, others did not: the `try` around them, if there is one, has to go both ways."""

    @abstractmethod
    def may_fail(self, name: str = ...) -> None:
        """What is done here, with something unknown, may raise."""

    @abstractmethod
    def may_refuse(self, name: str) -> None:
        """What is done here raises that exception for some of the values that it may be given."""

    # ---- not knowing -----------------------------------------------------------------------------------------------

    @abstractmethod
    def unknown(self, reason: str, *causes: Value) -> Unknown:
        """An Unknown at the present place; the first Unknown or Choice among `causes` gives both instead."""

    @abstractmethod
    def choice(self, values: Iterable[Value], reason: str) -> Value:
        """One of `values`: itself if they are the same, a Choice if few, else an Unknown."""

    @abstractmethod
    def expose(self, values: Iterable[Value], why: Unknown) -> None:
        """Something not known was given these: whatever mutable is reachable from them is open from here on."""

    @abstractmethod
    def may_be_called(
        self, values: Iterable[Value], why: Unknown, methods: tuple[str, ...] = ..., *, later: bool = ...
    ) -> None:
        """Functions among these, and these special methods of objects there, may have run any number of times: here,
        where what they raise goes on, or `later`."""

    @abstractmethod
    def raises(self, name: str, message: str, given: tuple[Value, ...] | None = None) -> Raised:
        """To raise: `raise machine.raises("TypeError", "...")`; `name` a builtin exception or a qualified name; `given`
        its `args`, where they are known: the message need not be that of Python to the letter."""

    @abstractmethod
    def problem(self, reason: str, address: Address | None = None, where: SourceLocation | None = None) -> None:
        """Record something the prediction leaves open."""

    # ---- what importing modules does: the project's registrations, in their order --------------------------------

    @abstractmethod
    def look_again(self, container: Address, key: Value, certain: bool = False) -> bool | Unknown:
        """Whether looking again may find the key: something has run that may have put it there. Unknown where what has
        run leaves that open. `certain`: the code fails where the key is missing."""

    @abstractmethod
    def note_import(self, module: str) -> None:
        """A running function imports a module, which may be the first to do so: what it registers comes in addition."""

    @abstractmethod
    def imported_with(self, module: str) -> Imported:
        """The modules that are imported when that one is looked into."""

    @abstractmethod
    def claim(self, home: tuple[str, str], since: int, attribute: str = "") -> None:
        """Notes the containers made since then as those of that name; of a class, as those of that attribute."""

    @abstractmethod
    def has_come_to(self, module: str, line: int) -> bool:
        """The module has come to that line and no further: its names are as they are there."""

    @abstractmethod
    def statements_due(
        self, source: SourceModule, name: str, given: list[Statement], listed: list[Statement]
    ) -> list[Statement]:
        """Those of the listed statements that run now, where `given` are all that make up the name."""

    @abstractmethod
    def with_handing(self, source: SourceModule, name: str, statements: list[Statement]) -> list[Statement]:
        """The statements that make up a name, with those between and after them that hand its object on."""

    @abstractmethod
    def waits(self, source: SourceModule, name: str, statement: Statement, value: Value | None) -> bool:
        """The statement changes the container that the name stands for, and runs later, with what registers in it."""

    @abstractmethod
    def change_later(self, source: SourceModule, name: str, statement: Statement, environment: Address) -> None:
        """Executes a statement that changes the object of a name; what takes too long leaves the object open."""

    @abstractmethod
    def unless_changed(self, source: SourceModule, name: str, value: Value | None, line: int) -> Value | None:
        """What the statements above that line have made of a name, where no call in between can have changed it."""

    # ---- what libraries call that are not interpreted --------------------------------------------------------------

    @abstractmethod
    def of_library_object(self, attribute: Value, receiver: Address) -> Value:
        """An attribute that a class of a library, not interpreted, gives its instance."""
