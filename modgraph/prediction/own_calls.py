"""The arguments that a file itself gives a class: its main function, or its script part, is interpreted up to there.

So a script's `args = parser.parse_args(); model = Net(args)` says what `args` is: every option at its default.
"""

from __future__ import annotations

from modgraph.prediction.domain.calling import Arguments, Raised
from modgraph.prediction.domain.frames import ClassCalledError, Frame
from modgraph.prediction.domain.limits import MAX_CALLER_WORK, LimitError
from modgraph.prediction.domain.objects import EnvironmentObject
from modgraph.prediction.domain.values import ClassValue, ModuleReference
from modgraph.prediction.interpreter import Interpreter
from modgraph.source import nodes
from modgraph.source.index import Statement
from modgraph.source.modules import SourceModule
from modgraph.source.targets import SCRIPT


def arguments_of_own_call(machine: Interpreter, source: SourceModule, cls: ClassValue, caller: str) -> Arguments | None:
    """The arguments of the first call of the class, on the state in which it is made; None where none is reached.

    Args:
        caller: a function of the file that needs no arguments; or SCRIPT, for what runs where the file is the script.
    """

    def reached(found: ClassValue, arguments: Arguments) -> None:
        if found == cls:
            raise ClassCalledError(arguments, machine.state)

    machine.awaited = reached
    try:
        with machine.at_most(MAX_CALLER_WORK):
            if caller == SCRIPT:
                run_script_part(machine, source)
            else:
                machine.call(machine.get_attribute(ModuleReference(source.name), caller))
    except ClassCalledError as called:
        machine.start_anew()
        machine.state = called.state
        machine.state.problems = []  # of what the caller does besides
        return called.arguments
    except (Raised, LimitError, RecursionError, MemoryError):
        pass  # the caller does not come to the call; what it left is dropped with the state
    finally:
        machine.awaited = None
    machine.start_anew()
    return None


def run_script_part(machine: Interpreter, source: SourceModule) -> None:
    """Interprets what stands below `if __name__ == "__main__":`."""
    environment = machine.allocate(EnvironmentObject())
    for statement in source.index.body:
        node = _script_part(source, statement)
        if node is not None:
            frame = Frame(source.name, source.statement(statement), environment)
            machine.frames.append(frame)
            machine.execute(frame, node.body)
            machine.frames.pop()


def _script_part(source: SourceModule, statement: Statement) -> nodes.If | None:
    if statement.kind != "compound" or "__main__" not in source.lines[statement.first_line - 1]:
        return None
    node = source.statement(statement).statements[0]
    return node if isinstance(node, nodes.If) else None
