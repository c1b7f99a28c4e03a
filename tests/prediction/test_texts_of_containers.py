"""What a container with a class of its own is as text: that class's own, or unknown; items that a template reads are known."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest

KNOWN = {
    "sizes": """
        import torch
        x = torch.zeros(2, 3)
        RESULT = str(x.shape), f"{x.shape}", repr(x.size()), "%s" % (x.shape,), "{}".format(x.shape), f"{x.shape!r}"
    """,
    "sizes in containers": """
        import torch
        x = torch.zeros(2, 3)
        RESULT = str((x.shape, 1)), str([x.shape]), str({"a": x.shape})
    """,
    "named tuples": """
        from collections import namedtuple
        P = namedtuple("P", "a b")
        RESULT = str(P(1, 2)), f"{P(1, 2)}", repr(P(1, 2)), str([P(1, "x")])
    """,
    "a NamedTuple": """
        from typing import NamedTuple
        class P(NamedTuple):
            a: int
            b: int = 3
        RESULT = str(P(1)), "%s-%s" % P(1), str((P(1),))
    """,
    "a text of its own": """
        from collections import namedtuple
        class P(namedtuple("Q", "a")):
            def __str__(self): return "me"
        RESULT = str(P(1)), f"{P(1)}"
    """,
    "parts of sizes": """
        import torch
        x = torch.zeros(2, 3)
        RESULT = x.shape == (2, 3), "x".join(map(str, x.shape)), x.shape.numel(), list(x.shape), str(tuple(x.shape)), str(x.shape[:1]), "%d-%d" % x.shape, str(x.shape[1]), "{0[0]}".format(x.shape), "{} {}".format(*x.shape)
    """,
    "sums of sizes": """
        import torch
        x = torch.zeros(2)
        RESULT = str(x.shape + (1,)), str(x.shape * 2), str((1,) + tuple(x.shape))
    """,
    "items in templates": """
        from collections import OrderedDict, defaultdict
        class AttrDict(dict):
            __getattr__ = dict.__getitem__
        a, b, c = OrderedDict(d=3), defaultdict(int, d=4), AttrDict(d=5)
        RESULT = ["%(d)s" % a, "%(d)s" % b, "%(d)s" % c, "{d}".format_map(a), "{d}".format_map(b), "{d}".format_map(c), "{0[d]}".format(a), "{0[d]}-{1[d]}".format(b, c), "{d}".format(**a), "{d}".format(**c)]
    """,
    "a template beside a set": """
        cfg = {"s": {1, 2}, "d": 3, "l": [1, 2]}
        RESULT = "%(d)s" % cfg, "{d}".format(**cfg), "{0[l][1]}".format(cfg)
    """,
    "a key that is missing": """
        from collections import OrderedDict
        try:
            x = "%(x)s" % OrderedDict(a=1)
        except KeyError:
            x = "no"
        RESULT = x
    """,
    "items of items": """
        from collections import OrderedDict
        cfg = OrderedDict(a=OrderedDict(b=2), n=[1, (2, 3)])
        RESULT = "{0[a][b]}".format(cfg), "%(n)s" % cfg, f"{cfg['n']}"
    """,
}

NOT_KNOWN = {
    "a default is made": """
        from collections import OrderedDict, defaultdict
        b = defaultdict(int, d=4)
        RESULT = "%(x)s" % b, dict(b)
    """,
    "items by __missing__": """
        class M(dict):
            def __missing__(self, k): return k * 2
        RESULT = "{x}".format_map(M(a=1)), "%(a)s %(y)s" % M(a=1)
    """,
    "items by __getitem__": """
        class G(dict):
            def __getitem__(self, k): return 7
        RESULT = "%(a)s" % G(a=1), "{a}".format_map(G(a=1)), "{0[a]}".format(G(a=1))
    """,
    "the container written by %": """
        from collections import OrderedDict
        RESULT = "%s" % OrderedDict(a=1)
    """,
    "the container written by format": """
        from collections import OrderedDict
        RESULT = "{}".format(OrderedDict(a=1))
    """,
    "a set written": """
        RESULT = "%s" % {1}
    """,
}


@pytest.mark.needs_torch
@pytest.mark.parametrize("text", KNOWN.values(), ids=KNOWN)
def test_as_python_writes_it(evaluated: Callable[[str], Any], text: str):
    namespace: dict[str, Any] = {}
    exec(textwrap.dedent(text), namespace)
    assert evaluated(text) == namespace["RESULT"]


@pytest.mark.parametrize("text", NOT_KNOWN.values(), ids=NOT_KNOWN)
def test_what_only_the_class_knows_is_unknown(evaluated: Callable[[str], Any], text: str):
    assert evaluated(text) is evaluated.UNKNOWN  # type: ignore[attr-defined]
