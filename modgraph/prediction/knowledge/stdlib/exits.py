"""What ends the process: what would come after it does not run.

`sys.exit` raises SystemExit, which a `try` may take. Nothing takes the others: no handler runs, no `finally`, and no
`__exit__`.
"""

from __future__ import annotations

from modgraph.names import last_name
from modgraph.prediction.domain.calling import PROCESS_ENDS, Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import known_class, models
from modgraph.prediction.domain.values import NONE, Constant, Unknown, Value
from modgraph.prediction.python import exceptions

_EXECUTING = ("execv", "execve", "execvp", "execvpe", "execl", "execle", "execlp", "execlpe")
_KILL = 9

known_class(PROCESS_ENDS, "builtins.BaseException")


@models("sys.exit", "builtins.exit", "builtins.quit", "_thread.exit")
def leave(arguments: Arguments, machine: Machine) -> Value:
    given = arguments.positional[:1] or tuple(arguments.keywords.values())[:1]
    said = exceptions.text_without_effects(machine, given[0]) if given else None
    raise machine.raises("SystemExit", said or "", given)


@models(*(f"{of}.{name}" for of in ("os", "posix", "nt") for name in ("_exit", "abort", *_EXECUTING)))
def end(arguments: Arguments, machine: Machine) -> Value:
    raise machine.raises(PROCESS_ENDS, f"{arguments.function} ends the process")


@models("os.kill", "posix.kill", "signal.raise_signal")
def kill(arguments: Arguments, machine: Machine) -> Value:
    """Of the process itself, by a signal that nothing handles; of one that a handler may take, where arguments are
    looked for: that they are not found says nothing false."""
    *process, signal = arguments.positional or (NONE,)
    number = _number(signal)
    is_itself = not process or _is_own(process[0])
    if is_itself and (number == _KILL or (number != 0 and machine.data_of is not None)):
        raise machine.raises(PROCESS_ENDS, f"{arguments.function} ends the process")
    machine.may_fail()
    return NONE if is_itself and number == 0 else machine.unknown(f"{arguments.function} is not modelled")


@models("os.killpg", "signal.pthread_kill", "atexit._run_exitfuncs", "_thread.interrupt_main")
def may_end(arguments: Arguments, machine: Machine) -> Value:
    """Where arguments are looked for, the process is taken to end here; else it may go on."""
    if machine.data_of is not None:
        raise machine.raises(PROCESS_ENDS, f"{arguments.function} may end the process")
    machine.may_fail()
    return machine.unknown(f"{arguments.function} is not modelled")


def _is_own(process: Value) -> bool:
    return isinstance(process, Unknown) and process.reason == "depends on os.getpid"


def _number(value: Value) -> int | None:
    if isinstance(value, Constant) and type(value.value) is int:
        return value.value
    name = last_name(value.library) if isinstance(value, Unknown) and value.library.startswith("signal.") else ""
    return _KILL if name == "SIGKILL" else None
