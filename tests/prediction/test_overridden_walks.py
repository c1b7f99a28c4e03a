"""Methods of nn.Module that a class has for itself are run wherever torch's own methods call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.needs_torch

PART = """
class Part(nn.Module):
    n = 0
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, 1)
        self.b = nn.BatchNorm1d(1)
"""
OVERRIDES = {
    "named_modules": """
        def named_modules(self, memo=None, prefix="", remove_duplicate=True):
            Part.n += 1
            yield prefix + "q", self.a
        """,
    "named_modules by super": """
        def named_modules(self, memo=None, prefix="", remove_duplicate=True):
            memo = set() if memo is None else memo
            for name, module in super().named_modules(memo, prefix, remove_duplicate):
                Part.n += 1
                yield name, module
        """,
    "named_parameters": """
        def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
            Part.n += 1
            yield "w", self.a.weight
        """,
    "parameters": """
        def parameters(self, recurse=True):
            Part.n += 1
            yield self.a.weight
        """,
    "a list of parameters": """
        def parameters(self, recurse=True):
            Part.n += 1
            return [self.a.weight]
        """,
    "buffers": """
        def named_buffers(self, *args, **options):
            yield "r", self.b.running_mean
        def buffers(self, recurse=True):
            Part.n += 1
            return super().buffers(recurse)
        """,
    "_named_members": """
        def _named_members(self, get_members_fn, prefix="", recurse=True, **options):
            Part.n += 1
            yield "w", self.a.weight
        """,
    "children": """
        def children(self):
            Part.n += 1
            yield self.a
        """,
    "named_children": """
        def named_children(self):
            Part.n += 1
            yield "a", self.a
        """,
    "modules": """
        def modules(self):
            Part.n += 1
            yield self.a
        """,
    "state_dict": """
        def state_dict(self, *args, **options):
            Part.n += 1
            return super().state_dict(*args, **options)
        """,
    "_save_to_state_dict": """
        def _save_to_state_dict(self, destination, prefix, keep_vars):
            Part.n += 1
        """,
    "get_submodule": """
        def get_submodule(self, target):
            Part.n += 1
            return self.a
        """,
    "extra_repr": """
        def extra_repr(self):
            Part.n += 1
            return ""
        """,
    "train": """
        def train(self, mode=True):
            Part.n += 1
            self.extra = nn.ReLU()
            return self
        """,
}
CALLS = (
    *("self.part.requires_grad_(False)", "self.requires_grad_(False)", "self.part.zero_grad()", "self.zero_grad()"),
    *("self.part.eval()", "self.eval()", "self.part.double()", "self.part.apply(lambda m: setattr(m, 'x', nn.ReLU()))"),
    *("text = f'{self.part}'", "text = str(self)", "print([self.part])", "text = '%s' % self.part"),
    *("self.part.get_parameter('weight')", "self.apply(lambda m: setattr(m, 'x', nn.ReLU()))"),
    "import logging\nlogging.getLogger().debug('%s', self)",
)
WALKS = (
    "modules",
    "named_modules",
    "parameters",
    "named_parameters",
    "buffers",
    "named_buffers",
    "children",
    "state_dict",
)


@pytest.mark.parametrize("override", OVERRIDES.values(), ids=OVERRIDES.keys())
@pytest.mark.parametrize("call", ["", *CALLS])
def test_an_override_is_run(claims_that_fail: Callable[..., list[Any]], override: str, call: str) -> None:
    if "get_parameter" in call and "get_submodule" not in override:
        call = call.replace("'weight'", "'a.weight'")
    header = PART + "\n".join(line[4:] for line in override.splitlines())
    body = f"self.part = Part()\n{call}\n"
    for place, walk in enumerate(WALKS if not call else ()):
        body += f"self.own{place} = nn.ModuleList([nn.ReLU() for _ in self.part.{walk}()])\n"
        body += f"self.all{place} = nn.ModuleList([nn.ReLU() for _ in list(self.{walk}())])\n"
    body += "self.runs = nn.Linear(Part.n + 1, 1)"
    assert claims_that_fail(body, header) == []


@pytest.mark.parametrize(
    "statement",
    ["print(k)", "print([k])", "logging.getLogger().warning('%s', k)", "pprint.pformat(k)", "warnings.warn(k)"],
)
@pytest.mark.filterwarnings("ignore")  # of a class that only the tested source has
def test_an_object_whose_text_is_made_may_change_others(
    claims_that_fail: Callable[..., list[Any]], statement: str
) -> None:
    header = """
import logging, pprint, warnings
class K(UserWarning):
    n = 0
    def __str__(self):
        K.n += 1
        return "k"
    def __repr__(self):
        K.n += 1
        return "k"
"""
    assert claims_that_fail(f"k = K()\n{statement}\nself.a = nn.Linear(K.n + 1, 1)", header) == []


@pytest.mark.parametrize("statement", ["log.addHandler(Handler())", "log.addFilter(keep)", "gc.callbacks.append(keep)"])
def test_what_a_library_that_informs_is_given_may_be_called(
    claims_that_fail: Callable[..., list[Any]], statement: str
) -> None:
    header = """
import gc, logging
class C:
    n = 0
class Handler(logging.Handler):
    def emit(self, record):
        C.n += 1
def keep(*args):
    C.n += 1
    return True
"""
    body = f"log = logging.Logger('x')\n{statement}\nlog.warning('x')\ngc.collect()\nself.a = nn.Linear(C.n + 1, 1)"
    assert claims_that_fail(body, header) == []
