"""What a trace costs beside the forward, by what can be counted; seconds are those of `tests/benchmarks/`."""

import cProfile
import functools
import inspect
import logging
import os
import pstats

import pytest
import torch
from torch import nn

import modgraph
from modgraph.tracing.basics.parameters import parameters_of
from modgraph.tracing.recording.tree import Tree

pytestmark = pytest.mark.needs_torch


def calls_of(model, x):
    """Function calls of one trace, the caches of the process being filled."""
    for _ in range(3):
        modgraph.trace(model, x)
    profile = cProfile.Profile()
    profile.enable()
    modgraph.trace(model, x)
    profile.disable()
    return pstats.Stats(profile).total_calls


def test_a_trace_of_one_layer_takes_few_calls():
    assert calls_of(nn.LSTM(16, 32).eval(), torch.randn(8, 1, 16)) < 6000


def functions_with_parameters():
    kinds = [kind for kind in vars(nn).values() if isinstance(kind, type) and issubclass(kind, nn.Module)]
    yield from (vars(kind)[name] for kind in kinds for name in ("__init__", "forward") if name in vars(kind))

    def plain(a, /, b, c=1, *rest, d, e=2, **named): ...

    def bare(): ...

    @functools.wraps(bare)
    def wrapping(*args, **kwargs): ...

    def signed(x): ...

    signed.__signature__ = inspect.signature(plain)
    yield from (plain, bare, wrapping, signed, functools.partial(plain, 1, d=3), lambda x, y=None: x, len, nn.Linear)


def test_parameters_are_those_that_inspect_tells():
    n_told = 0
    for function in functions_with_parameters():
        told = [(each.name, each.kind, each.default) for each in inspect.signature(function).parameters.values()]
        assert parameters_of(function) == told
        n_told += bool(told)
    assert n_told > 200


def test_what_has_no_parameters_to_tell_has_none():
    with pytest.raises(ValueError, match="signature"):
        inspect.signature(type)
    assert parameters_of(type) == []


def test_a_layer_of_torchs_own_may_hide_modules():
    model, plain = nn.Linear(2, 2), nn.Linear(2, 2)
    model.extra = [nn.ReLU()]
    assert [node.path for node in Tree(model).nodes] == ["", "extra[0]"]
    assert [node.path for node in Tree(plain).nodes] == [""]


class Filling(nn.Module):
    """Puts something into what is empty, and changes the process."""

    def __init__(self):
        super().__init__()
        self.seen, self.cache, self.names = set(), {}, []

    def forward(self, x):
        self.seen.add(1)
        self.cache["a"] = x
        self.names.append("a")
        self.register_forward_hook(lambda *_: None)
        os.environ["MODGRAPH_TEST_NEW"] = "1"
        os.environ["MODGRAPH_TEST_OTHER"] = "changed"
        os.environ.pop("MODGRAPH_TEST_GONE")
        logger = logging.getLogger("modgraph_test_logger")
        logger.setLevel(logging.ERROR)
        logger.addHandler(logging.NullHandler())
        logger.propagate = False
        return x


def test_what_was_empty_and_the_process_are_as_before(monkeypatch):
    monkeypatch.setenv("MODGRAPH_TEST_OTHER", "é\udcff")
    monkeypatch.setenv("MODGRAPH_TEST_GONE", "")
    logger, model = logging.getLogger("modgraph_test_logger"), Filling()
    before = dict(os.environ)
    modgraph.trace(model, torch.ones(1))
    assert (model.seen, model.cache, model.names, len(model._forward_hooks)) == (set(), {}, [], 0)
    assert dict(os.environ) == before
    assert os.getenvb(b"MODGRAPH_TEST_OTHER") == "é\udcff".encode(errors="surrogateescape")
    assert (logger.level, logger.handlers, logger.propagate) == (logging.NOTSET, [], True)


def test_where_a_class_begins_is_sought_again_in_another_text(tmp_path, monkeypatch):
    import importlib
    import linecache
    import sys

    file = tmp_path / "moving_class.py"
    monkeypatch.syspath_prepend(str(tmp_path))
    lines = []
    for above in ("", "\n\n\n\n"):
        file.write_text(
            f"{above}from torch import nn\nclass Net(nn.Module):\n    def forward(self, x):\n        return x\n"
        )
        sys.modules.pop("moving_class", None)
        importlib.invalidate_caches()
        linecache.checkcache()
        module = importlib.import_module("moving_class")
        lines.append(modgraph.trace(module.Net(), torch.ones(1)).modules[0].source.line)
    sys.modules.pop("moving_class", None)
    assert lines == [2, 6]
