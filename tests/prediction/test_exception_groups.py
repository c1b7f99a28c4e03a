"""`except*`: which handlers run, with which part of a group, and what is raised after them; Python is the judge."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from modgraph.graph.model import Graph

pytestmark = [
    pytest.mark.needs_torch,
    pytest.mark.skipif(sys.version_info < (3, 11), reason="`except*` came with Python 3.11"),
]

OUTCOME = """
def outcome(run):
    told = []
    try:
        run(told)
    except BaseExceptionGroup as error:
        told += [type(error).__name__, error.message, len(error.exceptions)]
    except BaseException as error:
        told += [type(error).__name__]
    return told
"""

KNOWN = {
    "two handlers": """
        try: raise ExceptionGroup("x", [ValueError(1), OSError(2)])
        except* ValueError as error: told.append(len(error.exceptions))
        except* OSError as error: told.append(error.message)
        """,
    "groups in groups": """
        try: raise ExceptionGroup("x", [ValueError(1), ExceptionGroup("y", [KeyError(2), ValueError(3)]), OSError(4)])
        except* ValueError as error: told.append([len(error.exceptions), type(error.exceptions[1]).__name__])
        except* (KeyError, OSError) as error: told.append(10 * len(error.exceptions))
        """,
    "a rest": """
        try: raise ExceptionGroup("x", [ValueError(1), OSError(2)])
        except* ValueError: told.append(1)
        """,
    "a rest, after finally": """
        try: raise ExceptionGroup("x", [ValueError(1), OSError(2)])
        except* ValueError: pass
        finally: told.append(7)
        """,
    "a bare exception": """
        try: raise ValueError(1)
        except* ValueError as error: told += [type(error).__name__, len(error.exceptions)]
        """,
    "a bare exception that none takes": """
        try: raise ValueError(1)
        except* KeyError: told.append(9)
        """,
    "a handler that raises": """
        try: raise ValueError(1)
        except* ValueError: raise KeyError(2)
        """,
    "a handler that raises, and one after it": """
        try: raise ExceptionGroup("x", [ValueError(1), OSError(2)])
        except* ValueError: raise KeyError(1)
        except* OSError: told.append(3)
        """,
    "two handlers that raise": """
        try: raise ExceptionGroup("x", [ValueError(1), OSError(2)])
        except* ValueError: raise KeyError(1)
        except* OSError: raise TypeError(1)
        """,
    "all of a group": """
        try: raise ExceptionGroup("x", [ValueError(1), OSError(2)])
        except* Exception as error: told.append(len(error.exceptions))
        except* OSError: told.append(3)
        """,
    "nothing raised": """
        try: told.append(1)
        except* OSError: told.append(3)
        else: told.append(4)
        finally: told.append(5)
        """,
    "a group that is an ExceptionGroup after all": """
        try: raise BaseExceptionGroup("x", [ValueError(1)])
        except* ValueError as error: told.append(type(error).__name__)
        """,
    "a group for a plain handler": """
        try: raise ExceptionGroup("x", [ValueError(1), OSError(2)])
        except ValueError: told.append(1)
        except Exception as error: told += [error.message, len(error.exceptions)]
        """,
    "what Python raises": """
        try: [][1]
        except* IndexError: told.append(1)
        """,
}

NOT_FOLLOWED = {
    "raised again": """
        try: raise ValueError(1)
        except* ValueError: raise
        """,
    "an empty group": """
        try: raise ExceptionGroup("x", [])
        except ValueError: told.append(1)
        """,
    "a group of what is no exception": """
        try: raise ExceptionGroup("x", [3])
        except ValueError: told.append(1)
        """,
    "a class derived from that of groups": """
        class Own(ExceptionGroup): pass
        try: raise Own("x", [ValueError(1), OSError(2)])
        except* ValueError as error: told.append(type(error).__name__)
        """,
    "in a generator": """
        def steps():
            try:
                yield 1
                raise ExceptionGroup("x", [ValueError(1), OSError(2)])
            except* ValueError: told.append(1)
            except* OSError: told.append(2)
        list(steps())
        """,
}


def _source(body: str) -> str:
    return f"{OUTCOME}\ndef run(told):\n{textwrap.indent(textwrap.dedent(body), '    ')}\n"


def _width(body: str) -> int:
    namespace: dict[str, Any] = {}
    exec(f"{_source(body)}\nwidth = 1 + sum(map(ord, str(outcome(run))))", namespace)
    return int(namespace["width"])


def _shape(predict: Callable[..., Graph], body: str) -> tuple[int | None, ...] | None:
    net = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.m = nn.Linear(1, 1 + sum(map(ord, str(outcome(run)))))
"""
    found = next(node for node in predict(_source(body) + net).modules if node.path == "m")
    return found.parameters[0].shape if found.parameters else None


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in KNOWN.items()])
def test_each_handler_takes_its_part(body: str, predict_source: Callable[..., Graph]) -> None:
    assert _shape(predict_source, body) == (_width(body), 1)


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in NOT_FOLLOWED.items()])
def test_nothing_false_is_said_of_what_is_not_followed(body: str, predict_source: Callable[..., Graph]) -> None:
    assert _shape(predict_source, body) in (None, (None, 1), (_width(body), 1))


UNDECIDED = {
    "a group of one or two": """
        told = []
        try:
            raise ExceptionGroup("x", [ValueError(), KeyError()] if flag else [ValueError()])
        except* ValueError: told.append(1)
        except* KeyError: told.append(2)
        self.m = nn.Linear(len(told), 1)
        """,
    "raised on one path": """
        try:
            if flag:
                raise ExceptionGroup("x", [ValueError(), KeyError()])
        except* ValueError: self.a = nn.ReLU()
        except* KeyError: self.b = nn.ReLU()
        else: self.c = nn.ReLU()
        """,
    "a rest on one path": """
        try:
            try:
                raise ExceptionGroup("x", [ValueError(), KeyError() if flag else ValueError()])
            except* ValueError: self.a = nn.ReLU()
        except ExceptionGroup: self.b = nn.ReLU()
        """,
    "a handler that raises on one path": """
        try:
            try:
                raise ExceptionGroup("x", [ValueError(), KeyError()])
            except* ValueError:
                if flag:
                    raise OSError
            except* KeyError: self.a = nn.ReLU()
        except OSError: self.b = nn.ReLU()
        """,
    "a group or none": """
        try:
            raise ExceptionGroup("x", [ValueError()]) if flag else KeyError()
        except* ValueError: self.a = nn.ReLU()
        except* KeyError: self.b = nn.Tanh()
        """,
}


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in UNDECIDED.items()])
def test_what_is_claimed_holds_on_both_paths(body: str, claims_that_fail: Callable[..., list[Any]]) -> None:
    assert claims_that_fail(body) == []
