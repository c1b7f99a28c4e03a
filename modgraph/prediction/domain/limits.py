"""What the interpreter will not exceed. Reaching one is an `Unknown` whose reason names it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modgraph.prediction.domain.sizes import Room

if TYPE_CHECKING:
    from modgraph.graph.model import SourceLocation


class LimitError(Exception):
    """The steps, the work or the memory of a prediction are used up."""


class EndlessError(LimitError):
    """A loop goes on for ever, so nothing after it is reached."""

    def __init__(self, where: SourceLocation) -> None:
        super().__init__(ENDLESS)
        self.where = where


class TooDeepError(LimitError):
    """There are too many calls inside each other. Python may raise RecursionError there, or go on and do anything."""


ENDLESS = "this loop never ends"
TOO_NESTED = "it is nested too deeply to be followed"
NO_MEMORY = "there is not enough memory to follow it"

MAX_CALL_DEPTH = 250
"""Calls inside calls; deeper is recursion without a known end, or as good as that."""

MAX_FOLLOWED_BODIES = 40
"""Bodies of functions that are read where a limit has left statements that were not run; what is given to further ones
may change."""

MAX_HANDED_DEPTH = 4
"""Functions handing an object on to each other, when it is asked whether they change it."""

MAX_EDGES = 100_000
"""Ways of data that are told of one run of `forward`; each of n writes into one memory can reach each of n readers."""

MAX_SHARING = 500_000
"""Tensors that share memory with one that is written to, of all writes of one run."""

MAX_SUBMODULES = 64
"""Modules of which one is meant by a path that is not known."""

TOO_DEEP = f"more than {MAX_CALL_DEPTH} calls inside each other"
"""What the reason of the unknown says then."""

UNSURE_OPTION = "an option of a data class is not known"
NO_CLASS = (TOO_DEEP, UNSURE_OPTION)
"""How reasons begin for which what a decorator leaves is not what it was given."""

MAX_UNDECIDED_RECURSION = 3
"""Calls of a function inside itself where it is not decided whether it goes on; each level may double the work."""

MAX_STEPS = 500_000
"""Statements and calls of one prediction."""

MAX_MODULE_STEPS = 60_000
"""Statements and calls that one name of a module may cost, besides those of other names that it needs."""

MAX_LIBRARY_UNDECIDED_STEPS = 5_000
"""Those of them that lie behind `LIBRARY_UNDECIDED_DEPTH` undecided branches, where an installed package is evaluated:
what parses or searches something unknown there goes all ways at once, and comes to nothing."""

LIBRARY_UNDECIDED_DEPTH = 4

MAX_FOREIGN_STEPS = 5_000
"""Those of them that a call from one installed package into another may cost, where the module of the function never
says torch: what compiles a pattern or reads a schema there says nothing of modules."""

MAX_IMPORTED_MODULES = 1_000
"""Modules read to see what is registered when they are imported."""

MAX_FOLLOWED_TEXT = 1_000_000
"""Characters of the modules of one package; of a larger one it is not followed what importing it changes, as of one
that is installed."""

MAX_REPLAYED_STEPS = 300_000
"""Statements and calls that filling the registries of modules may cost, besides those of the prediction."""

MAX_CALLED_BACK_STEPS = 5_000
"""Those of a function that is given to a library which may call it; with more, all that it is given may change."""

MAX_HANDED_OVER = 16
"""Functions given at once to code that is not known of which each is run."""

MAX_HANDED_OVER_DEPTH = 3
"""How deep inside each other such functions are run."""

MAX_GIVEN_VALUES = 2_000
"""Values given to such a library, and held by those, among which it is looked for what it may call."""

MAX_DECORATOR_STEPS = 1_000
"""Those that a decorator may cost; one that costs more is taken to leave what it decorates as it is."""

MAX_WORK = 14_000_000
"""Units of work of one prediction: what it costs, by what was done and not by the clock, so that a busy machine gives
the same graph as a quiet one. A unit is about a microsecond of a slow machine; the costs below are measured. Most
published models take half a million, and up to ten millions where their package is large and nothing was read yet."""

MAX_FORWARD_WORK = 8_000_000
"""Units besides for all that is done to know `forward`: runs with one input and another, with every flag, and, where
these ask for the surroundings, a second prediction that takes these for granted, and its runs. A large published model
takes two millions for one run, besides what is written of it."""

MAX_SIZE_WAYS = 32
"""Further runs of `forward` that try what a model requires of the sizes that are left open."""

MAX_SIZE_WORK = 400_000
"""Units of work of all of these; of a prediction that took much, the share of its work."""

SHARE_OF_SIZE_WORK = 16
"""One part of so many."""

UNITS_OF_AN_EVENT = 100
"""Of a call of a module or an operation that a run makes: to keep it, to write it and its edges, to draw it."""

MAX_SHARED_WORK = 14_000_000
"""Those of all predictions of one command together, and of writing their graphs, what reads the same file again left
out. A hundred models of the size of a ResNet-152 take less; of larger ones the last graphs may say that nothing was
left."""

UNITS_OF_A_NAMED_TARGET = 1_000_000
"""Units besides for each further target that a command was given or a configuration names: a large model takes half."""

MAX_NAMED_TARGETS = 100
"""Of these; a configuration is a stranger's too."""

UNITS_OF_A_PREDICTION = 10_000
"""Units of these that each prediction takes, however small its model is."""

UNITS_OF_A_NODE = 120
"""Units of these that a module of its graph takes until it is written."""

MAX_IMPORT_WORK = 10_000_000
"""Those of them that may go into what importing the target's module changes."""

MAX_DEFAULT_WORK = 300_000
"""Those of them that the default of one parameter may cost; of one that costs more, nothing else is lost."""

MAX_EXECUTED_WORK = 1_500_000
"""Those of them that may go into executing the target's module, and those that it imports, from top to bottom."""

MAX_CALLER_WORK = 5_000_000
"""Those that may go into finding the call by which a file builds its model itself."""

MAX_ELSEWHERE_WORK = 3_000_000
"""Those that may go into following one file of the project to the call by which it builds a model."""

MAX_FOREIGN_WORK = 50_000
"""Those of them that one call into an installed package may take that has nothing to do with torch: it reads data."""

MAX_FOREIGN_CALL_WORK = 1_000_000
"""The same while a model is built or its `forward` followed: a template that is parsed must not cost the model."""

MAX_TREE_WORK = 2_000_000
"""Units besides, for making the graph of what is there, however it ended."""

UNITS_OF_A_STEP = 10
"""Units of work that a statement or call takes."""

UNITS_OF_A_FUNCTION = 10
"""Units besides that binding the arguments of a function with source takes, and following its ends."""

UNITS_OF_AN_INSTANCE = 80
"""Units besides that making an instance takes."""

ITEMS_OF_A_UNIT = 20
"""Words of memory (`MAX_MADE_ITEMS`) that are made in one unit."""

COPIES_OF_A_UNIT = 10
"""Objects in copies of states (`MAX_COPIED_OBJECTS`) that are made in one unit."""

MAX_SECONDS = 600.0
"""Wall-clock time of one prediction: a last resort, for what is not counted as work. It alone depends on the machine,
and the problem says so."""

MAX_MATCHING_STEPS = 100_000_000
"""Steps that matching one regular expression could take; one that could take more is not begun."""

MAX_MADE_ITEMS = 50_000_000
"""Words of memory that the items of the containers, and the texts, that one prediction makes would take together."""

ITEMS_OF_AN_ENTRY = 12
"""Words that an entry of a dict or set takes."""

ITEMS_OF_A_NAME = 4
"""Words that an attribute or a registered name takes."""

ITEMS_OF_AN_OBJECT = 16
"""Words that an object of the heap takes besides what it holds."""

ITEMS_OF_A_CONSTANT = 16
"""Words that a number or a short text takes that nothing else holds: the value, and Python's own object in it."""

ITEMS_OF_A_TUPLE = 18
"""Words that a tuple takes besides what it holds: the value, and Python's own tuple in it."""

ITEMS_OF_A_PART = 150
"""Words that a tensor takes of which many are made at once: those that a tensor is split into."""

ITEMS_OF_A_PATH = 40
"""Words that a pair of a path and a module takes."""

ITEMS_OF_A_FURTHER_PATH = 100
"""The same in walks that name a module at each of its places: these may be exponentially many, and cost time too."""

MAX_EVALUATED_TEXT = 10_000
"""Characters of a text that is given to `eval` or `exec`; reading a long expression takes the square of its length."""

MAX_EVALUATED_DEPTH = 100
"""Brackets and signs inside each other in such a text; reading each takes a stack of its own."""

MAX_EVALUATED_CHAIN = 300
"""Operators, attributes and calls in one expression of such a text, and on one line."""

MAX_COMPARED_DEPTH = 200
"""Containers inside each other that are compared item by item."""

MAX_LOOP_ITERATIONS = Room(20_000)
"""Turns of one loop, and items of one range that is walked through."""

MAX_UNDECIDED_ENDS = 32
"""Turns of a `while` in each of which it may have been left: it is taken to have any number of them then."""

MAX_RECORDED_ENDS = 8
"""The same of a loop of a run that is followed, each turn of which is told."""

TURNS_BEFORE_DOUBT = 48
"""Turns of a `while` of a run that is followed, after which it is asked whether anything can end it."""

MAX_RECORDED_TURNS = 5_000
"""Turns of a `while` that are told one by one, of a run that is followed; of more, one turn that may repeat."""

MAX_TENSOR_SIZE = 2**63 - 1
"""Of one dimension: torch takes no greater one, and Python writes no integer of more than 4,300 digits."""
MAX_SHOWN_BITS = 1024
"""Of an integer that is written out in a graph."""
MAX_SHOWN_SIZE = 100_000
"""Characters of a text that is written out in a graph."""
MAX_VALUE_SIZE = Room(100_000)
"""Characters of a string, items of a list or tuple, that an operation may make; an integer may have as many bits."""

MAX_PLAIN_ITEMS = 4 * MAX_VALUE_SIZE
"""Items of containers inside each other that a function of Python is given: what is shared is one at each place."""

MAX_ALTERNATIVES = 4
"""Values of one `Choice`; more are an Unknown."""

MAX_POSSIBLE_OBJECTS = 64
"""Objects of a container of which one is read, that are named one by one; of more, a list of them is kept."""

MAX_KNOWN_TEXTS = 8
"""Beginnings and ends of one text that is partly known; of more, what they share."""

MAX_KNOWN_ENDS = 200
"""Characters of such a beginning or end."""

MAX_WIDENINGS = 24
"""Passes through the body of a loop whose number of turns is not known; each makes something open, or is the last."""

MAX_COMPARED_OBJECTS = 2_000
"""Heap objects looked at to decide whether two branches have built the same thing."""

MAX_FUSED_DEPTH = 40
"""Modules inside each other that two branches have built with other arguments, and that are still taken for one."""

MAX_REMEMBERED_OBJECTS = 5_000
"""Heap objects of one construction that is kept to be repeated."""

MAX_KEPT_OBJECTS = 150_000
"""Heap objects of all constructions that are kept; when there are more, all are forgotten."""

MAX_KEY_OBJECTS = 300
"""Heap objects behind the arguments of a construction that is kept."""

MIN_REMEMBERED_STEPS = 12
"""Steps that a call must have taken for its next one to be looked for among those that are kept."""

MIN_LONG_STEPS = 5_000
"""Steps of a construction that is kept when it is made for the first time; of others only the second is."""

MAX_PLAIN_STEPS = 20_000
"""Steps of a comprehension in which no module or parameter was made; what it gives is then left unknown."""

MAX_MESSAGE_STEPS = 300
"""Steps that the message of an exception may cost."""

MAX_UNDECIDED_DEPTH = 8
"""Undecided branches and loops inside each other in which functions are still called; each may double the work."""

MAX_COPIED_OBJECTS = 10_000_000
"""Objects in the copies of states that undecided branches need, all together; bounds the memory of a prediction."""

MAX_REPLAYED_STATEMENTS = 400
"""Statements that are run because they may fill one registry; with more it is open."""

MAX_NAMESPACE = 3_000
"""Names of a module that is asked for as a whole; of a larger one nothing is said."""

MAX_KEYED_STATEMENTS = 20
"""Statements that are run because they mention a key that a container of a module lacks."""

MAX_NODES = 50_000
"""Modules of one graph."""

MAX_IMPORT_CHAIN = 6
"""Modules that hand a name on, each importing it from the next, through which it is followed by the text alone."""

MAX_YIELDED = 2_000
"""Items that a generator is asked for; it runs ahead of what consumes it, and may have no end."""

MAX_INHERITED = 1_000
"""Classes in the orders of the bases of one class; each name that is looked for may be looked for in all of them."""

MAX_NAME_DEPTH = 1_000
"""Names of modules that are evaluated one inside the other, as each needs the next; Python's stack holds no more."""

MAX_PATH_TEXT = 10_000_000
"""Characters of the paths of the modules of one graph: those of modules inside each other are as long as these are
deep."""

UNDECIDED_STEPS = 4
"""Steps that one counts as behind more than `MAX_UNDECIDED_DEPTH` undecided branches: it takes several times
as long."""

COPIES_OF_AN_ENTRY = 8
"""Objects copied as which one entry counts that two states hold in other orders, and that is joined one by one."""

MAX_MADE_MODULES = 300_000
"""Modules and parameters that one prediction makes: a graph has fewer, and what is copied takes no steps."""

MAX_OTHER_NAMES = 200
"""Names of a module that stand for the same object as one, and whose statements are looked at with its own."""
