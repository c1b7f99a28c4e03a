"""When to stop: a forward that raises an exception of its own, whatever it is given, will not be won over."""

from __future__ import annotations

import ast
import linecache
import re
import traceback
from collections import Counter
from collections.abc import Sequence
from types import FrameType

from torch import nn

from modgraph.inputs.probe import Failure
from modgraph.source.quiet import python_tree
from modgraph.tracing.basics.failures import describe, raised_by_user, said, user_line

_UNCONDITIONAL = 3
"""Equal exceptions of a `raise` that nothing decides about, after which no other input is tried."""
_CONDITIONAL = 20
"""The same under a condition, which another input may meet."""

_OF_NO_INPUT = 3
"""Equal exceptions that come from no input, whatever others came between, after which no other one is tried."""

Refusal = tuple[str, str, int]
"""What was raised, and the file and line that raised it."""


class Refusals:
    """The exceptions of one search, in order."""

    def __init__(self) -> None:
        self._last: Refusal | None = None
        self._count = 0
        self._enough = _CONDITIONAL
        self._of_no_input: Counter[Refusal] = Counter()

    def add(self, error: BaseException | None, failures: Sequence[Failure] | None = ()) -> None:
        """Take in how one run ended.

        Args:
            failures: what the exception left, innermost first; None where inputs were not followed.
        """
        if error is not None and comes_from_no_input(error, failures):
            self._of_no_input[_place_of(error)] += 1
        refusal = _refusal(error)
        if refusal is None or error is None:
            self._last, self._count = None, 0
            return
        self._count = self._count + 1 if refusal == self._last else 1
        if self._count == 1:
            self._enough = _UNCONDITIONAL if _is_unconditional(_innermost(error)) else _CONDITIONAL
        self._last = refusal

    @property
    def final(self) -> bool:
        """The user's own code has said the same so often that it says so of every input."""
        return self._count >= self._enough or self.of_no_input

    @property
    def of_no_input(self) -> bool:
        """So often it was the same exception, which comes from no input."""
        return max(self._of_no_input.values(), default=0) >= _OF_NO_INPUT


def comes_from_no_input(error: BaseException, failures: Sequence[Failure] | None) -> bool:
    """A file that is not there, a name or attribute of a module that does not exist, a function of torch that got
    nothing of an input: `torch.zeros(4, device=-1)`, `.cuda()` of a new tensor."""
    if isinstance(error, OSError | ImportError):
        return True
    if isinstance(error, NameError):
        return not isinstance(error, UnboundLocalError)
    if isinstance(error, AttributeError):
        return isinstance(error.obj, nn.Module)
    function = failures[0] if failures and failures[0].layer is None else None
    return function is not None and not any(seen.origin is not None for seen in function.seen)


def _place_of(error: BaseException) -> Refusal:
    file, line = user_line(error)
    return describe(error), file or "", line or 0


_OF_FORM = re.compile(r"values to unpack|cannot unpack|tuple index out of range")
"""What Python says where a shape, or a sequence, is not as long as the code takes it for."""


def is_refusal(error: BaseException | None) -> bool:
    """The user's own code says no, and not for the number of dimensions or items that it was given."""
    return raised_by_user(error) and not _OF_FORM.search(said(error))


def _refusal(error: BaseException | None) -> Refusal | None:
    if error is None or not is_refusal(error):
        return None
    frame, line = _innermost(error)
    return describe(error), frame.f_code.co_filename, line


def names_decided_on(error: BaseException | None) -> set[str]:
    """Names in the conditions under which the line lies that raised: `if ids is None: ... raise`."""
    if error is None or not error.__traceback__:
        return set()
    frame, line = _innermost(error)
    function = _function_around(frame, line)
    conditions = [
        node.test
        for node in ast.walk(function or ast.Module([], []))
        if isinstance(node, ast.If | ast.Assert) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return {name.id for test in conditions for name in ast.walk(test) if isinstance(name, ast.Name)}


def _innermost(error: BaseException) -> tuple[FrameType, int]:
    return list(traceback.walk_tb(error.__traceback__))[-1]


def _is_unconditional(place: tuple[FrameType, int]) -> bool:
    """The line is a `raise` that the function comes to whenever it comes that far."""
    frame, line = place
    function = _function_around(frame, line)
    return function is not None and _comes_to(function.body, line)


def _function_around(frame: FrameType, line: int) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The source of the function that the frame runs, if it can be read."""
    lines = linecache.getlines(frame.f_code.co_filename)
    try:
        tree = python_tree("".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    around = [
        node
        for node in ast.walk(tree)  # from the outside in
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name == frame.f_code.co_name
        and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return around[-1] if around else None


def _comes_to(body: list[ast.stmt], line: int) -> bool:
    """One of the statements is a `raise` on this line, and none before it may leave the function."""
    for statement in body:
        if statement.lineno <= line <= (statement.end_lineno or line):
            if isinstance(statement, ast.Raise):
                return True
            if hasattr(statement, "body"):
                return False
        if any(isinstance(inner, ast.Return) for inner in ast.walk(statement)):
            return False
    return False
