"""The arguments with which a file of the project calls a class: the file is interpreted up to there, and nothing of it
is executed.

What runs where the file is imported comes first, then what runs where it is the script, then the functions in which the
calls stand, with parameters that nobody says unknown.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from modgraph.errors import ModgraphError
from modgraph.prediction.answer.found_arguments import NameOf, NotPortableError, Porter
from modgraph.prediction.code import functions
from modgraph.prediction.deep_stack import with_deep_stack
from modgraph.prediction.domain.asked_options import AskedOption
from modgraph.prediction.domain.calling import Arguments, Raised
from modgraph.prediction.domain.file_changes import FileChanges
from modgraph.prediction.domain.frames import ClassCalledError, Frame
from modgraph.prediction.domain.limits import MAX_ELSEWHERE_WORK, LimitError
from modgraph.prediction.domain.machine import Compose
from modgraph.prediction.domain.objects import EnvironmentObject
from modgraph.prediction.domain.values import ClassValue, ModuleReference, Unknown, Value
from modgraph.prediction.entry import load_target
from modgraph.prediction.interpreter import Interpreter
from modgraph.prediction.own_calls import run_script_part
from modgraph.prediction.registered_names import is_defined_in, script_machine
from modgraph.source import nodes
from modgraph.source.modules import SourceModule
from modgraph.source.targets import Target, Unsaid


@dataclass(frozen=True, slots=True)
class ReachedCall:
    """A call of the class, with arguments that travel (`answer/found_arguments.py`)."""

    positional: tuple[Any, ...]
    keywords: tuple[tuple[str, Any], ...]
    file: str
    """Relative to the directory from which its module is imported."""
    line: int | None
    says_all: bool = True
    """Nothing is unsaid inside of its arguments that the class itself reads."""
    started_by: str | None = None
    """Where the command line stands with which the project starts the script: "README.md:57"; else the script and its
    words, "train.py --model gat"; None where the script was followed as it runs without words."""
    with_files: tuple[str, ...] = ()
    """Further files that say what is given: data that the script reads, the script where the call stands in a function
    that it calls."""

    @property
    def values(self) -> tuple[Any, ...]:
        """What is given, by place and by name."""
        return (*self.positional, *(value for _, value in self.keywords))


_ENDINGS = (ModgraphError, Raised, LimitError, RecursionError, MemoryError)
"""How a file ends that does not come to the call."""


class Data(NamedTuple):
    """The data files of a project, by the paths that a script writes."""

    text_of: Callable[[str], str | None]
    """What the file holds."""
    leads_to: Callable[[str], tuple[str, ...]]
    """Other paths of the same file, as links say them."""


class CallsElsewhere:
    """Interprets one file for calls of one class.

    Args:
        script: the file, as a target.
        wanted: the file of the class, and its qualified name in it.
        name_of: where what the file names is imported from in the process of the model.
        most: calls that are wanted.
        data: the data files that it opens.
        words: those of the command line with which it is started, with `OPEN` for what is not known of them; None
            where nothing says any.
        says_all: whether a call says all that the class reads from what it is given; None where nobody asks.
        compose: gives the configurations of its project.
        until: when it is over, by the clock of `time.monotonic`.
        most_work: units that it may take.
    """

    def __init__(
        self,
        script: Target,
        wanted: tuple[Path, str],
        name_of: NameOf,
        most: int,
        data: Data,
        words: tuple[str, ...] | None = None,
        says_all: Callable[[ReachedCall], bool] | None = None,
        compose: Compose | None = None,
        until: float = math.inf,
        most_work: int = MAX_ELSEWHERE_WORK,
    ) -> None:
        self._most_work = most_work
        self._until = until
        self._compose = compose
        self._says_all = says_all
        self._data = data
        self._words = words
        self._script = script
        self._wanted = wanted
        self._name_of = name_of
        self._most = most
        self.found: list[ReachedCall] = []
        self.partly: list[ReachedCall] = []
        """Calls with an argument that is not known: `Unsaid`."""
        self.options: dict[str, AskedOption] = {}
        """Those of the command line that it has asked for."""
        self.work = 0
        """Units that it took."""

    def look(self, scopes: Sequence[str], names: Sequence[str] = (), *, in_script: bool) -> None:
        """Fills `found`, with as many calls as asked for at most.

        Args:
            scopes: qualified names of functions in which calls stand.
            names: those of the module that are given what a call gives; they are asked for where the module is too much
                to be executed.
            in_script: what runs where the file is the script may lead to a call.
        """
        machine = script_machine(self._script)
        machine.until = self._until
        machine.deadline = min(machine.deadline, self._until)
        machine.data_of, machine.file_changes = self._data.text_of, FileChanges(self._data.leads_to)
        machine.compose = self._compose
        machine.words_of_script = None if self._words is None else tuple(map(_word, self._words))
        machine.asked_options = self.options
        machine.awaited = lambda cls, arguments: self._called(machine, cls, arguments)
        try:
            with_deep_stack(lambda: self._look(machine, scopes, names, in_script))
        finally:
            self.work = machine.work
            machine.forget()

    def _look(self, machine: Interpreter, scopes: Sequence[str], names: Sequence[str], in_script: bool) -> None:
        sources: list[SourceModule] = []
        with machine.at_most(self._most_work):
            self._tried(machine, lambda: sources.append(load_target(machine, self._script)))
            if not sources or machine.modules.raises:  # what stands behind that is not come to, nor imported by others
                return
            for name in names if machine.modules.is_lazy else ():
                if len(self.found) < self._most:
                    module = ModuleReference(sources[0].name)
                    self._tried(machine, lambda name=name, module=module: machine.find_attribute(module, name))  # type: ignore[misc]
            if in_script and len(self.found) < self._most:
                self._tried(machine, lambda: run_script_part(machine, sources[0]))
            for scope in scopes:
                if len(self.found) < self._most:
                    self._tried(machine, lambda scope=scope: _run_function(machine, sources[0], scope))  # type: ignore[misc]

    def _tried(self, machine: Interpreter, step: Callable[[], object]) -> None:
        """One way into the file; however it ends, the next one begins anew."""
        with contextlib.suppress(ClassCalledError, *_ENDINGS):
            step()
        machine.start_anew()

    def _called(self, machine: Interpreter, cls: ClassValue, arguments: Arguments) -> None:
        if not is_defined_in(machine, cls, self._wanted) or arguments.open is not None or arguments.where is None:
            return
        porter = Porter(machine, self._name_of)
        positional = tuple(_ported(porter, each) for each in arguments.positional)
        keywords = tuple((name, _ported(porter, each)) for name, each in arguments.keywords.items())
        call = ReachedCall(positional, keywords, arguments.where.file, arguments.where.line)
        if self._says_all is not None and not self._says_all(call):
            call = replace(call, says_all=False)
        if any(isinstance(each, Unsaid) for each in call.values) or not call.says_all:
            self.partly.append(call)
        elif call.values:
            self.found.append(call)
            raise ClassCalledError(arguments, machine.state)


OPEN = "\0"
"""In a word of a command line: what the shell, or the reader, is to put there."""


def _word(text: str) -> str | Unknown:
    if OPEN not in text:
        return text
    ends = text.partition(OPEN)[0], text.rpartition(OPEN)[2]
    return Unknown(f"the command line does not say all of {text.replace(OPEN, '...')}", text=(ends,))


def _ported(porter: Porter, value: Value) -> Any:
    try:
        return porter.value(value)
    except NotPortableError as error:
        return Unsaid(str(error))
    except TypeError:  # no hash, of what is found in a set
        return Unsaid("it cannot be made anew")


def _run_function(machine: Interpreter, source: SourceModule, name: str) -> None:
    """Interprets a function or method by itself, its decorators aside."""
    parsed = source.definition(name)
    node = parsed.statements[0]
    if not isinstance(node, nodes.FunctionDef):
        return
    frame = Frame(source.name, parsed, machine.allocate(EnvironmentObject()), statement=node)
    function = functions.define_undecorated(machine, frame, node)
    positional: list[Value] = []
    keywords: dict[str, Value] = {}
    for parameter in function.definition.parameters:
        if parameter.default is None and parameter.kind in ("positional", "normal", "keyword"):
            why = Unknown(f"nobody says what {parameter.name} is")
            if parameter.kind == "keyword":
                keywords[parameter.name] = why
            else:
                positional.append(why)
    machine.invoke(function, Arguments("", tuple(positional), keywords, frame.location()))
