"""An Enum class with a value that is not known: which names are aliases is one question, with one answer."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest

NOT_KNOWN = {
    "is": """
        import enum, os
        class K(enum.Enum):
            A = os.environ.get("A", "b")
            B = "b"
        RESULT = K.B is K.A
    """,
    "equal": """
        import enum, os
        class K(enum.Enum):
            A = os.environ.get("A", "b")
            B = "b"
        RESULT = K.B == K.A
    """,
    "in": """
        import enum, os
        class K(enum.Enum):
            A = os.environ.get("A", "b")
            B = "b"
        RESULT = K.B in (K.A,)
    """,
    "name": """
        import enum, os
        class K(enum.Enum):
            A = os.environ.get("A", "b")
            B = "b"
        RESULT = K.B.name
    """,
    "keys": """
        import enum, os
        class K(enum.Enum):
            A = os.environ.get("A", "b")
            B = "b"
        RESULT = len({K.A: 1, K.B: 2})
    """,
    "elements": """
        import enum, os
        class K(enum.Enum):
            A = os.environ.get("A", "b")
            B = "b"
        RESULT = len({K.A, K.B})
    """,
    "a key read": """
        import enum, os
        class K(enum.Enum):
            A = os.environ.get("A", "b")
            B = "b"
        d = {K.B: 5}
        RESULT = d.get(K.A)
    """,
}

KNOWN = {
    "values and names before": """
        import enum, os
        class K(enum.Enum):
            A = os.environ.get("A", "b")
            B = "b"
        RESULT = K.A.name, K.B.value, K.A is K.A
    """,
    "aliases": """
        import enum
        class K(enum.Enum):
            A = 1
            B = 1
            C = "c"
            D = C * 2
        RESULT = K.B is K.A, K.B.name, K.C.name, len(K), K(1).name, K["B"].name, list(K.__members__), K.D.value, {K.A: 1, K.B: 2}[K.A]
    """,
    "flags": """
        import enum
        class F(enum.Flag):
            A = enum.auto()
            B = enum.auto()
            C = A | B
        RESULT = F.C.value, F.A | F.B == F.C, (F.A | F.B) is F.C, F(3) is F.C, F.A == F.B
    """,
}

BASES = {
    "a handler": """
        import logging
        class H(logging.Handler):
            def emit(self, r): pass
        h = H()
        h.setLevel(10)
        RESULT = 3
    """,
    "a time": """
        import datetime
        class T(datetime.timedelta):
            def width(self): return 4
        t = T(days=3)
        RESULT = t.width()
    """,
    "a printer and a warning": """
        import pprint, warnings
        class P(pprint.PrettyPrinter): pass
        class W(UserWarning): pass
        class V(warnings.catch_warnings): pass
        P(indent=3); V(record=True)
        RESULT = len(str(W("x")))
    """,
    "own attributes": """
        import logging
        class H(logging.Handler):
            n = 3
            def emit(self, r): pass
            def width(self): return 5
        RESULT = H.n, H().width(), isinstance(H(), H)
    """,
    "generic": """
        from typing import Generic, TypeVar, Protocol
        T = TypeVar("T")
        class G(Generic[T]):
            def __init__(self, n): self.n = n
        class P(Protocol):
            n: int
        class Q(G[int], P): pass
        RESULT = Q(3).n, G(4).n
    """,
    "abstract": """
        import abc
        class A(abc.ABC):
            @abc.abstractmethod
            def f(self): ...
        class B(A):
            def f(self): return 3
        RESULT = B().f()
    """,
    "an adapter": """
        import logging
        class L(logging.LoggerAdapter):
            def process(self, msg, kwargs): return msg, kwargs
        log = L(logging.getLogger("x"), {})
        log.info("y")
        RESULT = 3
    """,
}


@pytest.mark.parametrize("text", NOT_KNOWN.values(), ids=NOT_KNOWN)
def test_whether_it_is_an_alias_is_unknown(evaluated: Callable[[str], Any], text: str):
    assert evaluated(text) is evaluated.UNKNOWN  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", KNOWN.values(), ids=KNOWN)
def test_what_does_not_depend_on_it_is_known(evaluated: Callable[[str], Any], text: str):
    namespace: dict[str, Any] = {"__name__": "code"}
    exec(textwrap.dedent(text), namespace)
    assert evaluated(text) == namespace["RESULT"]


@pytest.mark.parametrize("text", BASES.values(), ids=BASES)
def test_classes_of_the_standard_library_are_kept_as_bases(evaluated: Callable[[str], Any], text: str):
    namespace: dict[str, Any] = {"__name__": "code"}
    exec(textwrap.dedent(text), namespace)
    assert evaluated(text) == namespace["RESULT"]
