"""A trace leaves the live model, and the process, as they were: what forward changes on the way is put back.

Each model changes something that can be reached from it, or that is set for the whole process, in forward or in a method
that Python calls by itself. A deep fingerprint is taken before and after, and an autograd graph made before the trace
goes back after it.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import runpy
import signal
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch import nn

import modgraph
from modgraph import live, tracing
from modgraph.source.quiet import python_tree

Fingerprint: Any = runpy.run_path(str(Path(__file__).with_name("fingerprint.py")))["Fingerprint"]
pytestmark = [pytest.mark.needs_torch, pytest.mark.filterwarnings("ignore")]

TRACING, LIVE = str(Path(tracing.__file__).parent), live.__file__

_spec = importlib.util.spec_from_file_location("hostile_models", Path(__file__).with_name("hostile_models.py"))
assert _spec is not None
assert _spec.loader is not None
hostile: Any = importlib.util.module_from_spec(_spec)
sys.modules["hostile_models"] = hostile
_spec.loader.exec_module(hostile)
CHANGES, Hostile, model_with = hostile.CHANGES, hostile.Hostile, hostile.model_with
X = torch.randn(6, 4)


@pytest.fixture(scope="module", autouse=True)
def collected() -> None:
    """What other tests have left does not end in the middle of one of these."""
    gc.collect()


def unchanged(model: Any, run: Any, *others: Any) -> None:
    """`run()` leaves everything as it was, and a graph of autograd made before goes back after it."""
    x = X.clone()
    pending = (model.lin(x) * model.scale * model.norm.running_mean * model.plain).sum()
    others = (model, x, others, hostile.TABLE, hostile.CACHE)
    gc.collect(1)  # of this test; of others there is none, see `collected`
    python_tree("")  # filters for warnings of texts that are analysed, which stay: see `source/quiet.py`
    before = Fingerprint(roots=others, counter=hostile.COUNTER)
    run(x)
    after = Fingerprint(roots=others, counter=hostile.COUNTER)
    assert before.differences(after) == []
    pending.backward()


@contextlib.contextmanager
def handled_in_python():
    """A handler as in an interactive session, whatever the runner of the tests has set."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


WAYS = {
    "eval": {},
    "train": {"mode": "train"},
    "backward": {"mode": "train", "backward": True},
    "stats": {"stats": True, "mode": "train"},
    "verify": {"verify": True, "mode": "train"},
    "profile": {"profile": True},
    "fake": {"device": "fake"},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("change", CHANGES)
def test_what_forward_changes_is_put_back(change, way):
    graph = []
    model = model_with(CHANGES[change])
    unchanged(model, lambda x: graph.append(modgraph.trace(model, x, **WAYS[way])))
    assert "lin" in [call.module for call in graph[0].calls]


@pytest.mark.parametrize("change", CHANGES)
def test_inputs_that_are_found_change_nothing(change):
    model = model_with(CHANGES[change])
    unchanged(model, lambda x: modgraph.trace(model, mode="train"))


@pytest.mark.parametrize("change", CHANGES)
def test_analyze_changes_nothing(change):
    model = model_with(CHANGES[change])
    unchanged(model, lambda x: modgraph.analyze(model, x, mode="train"))


@pytest.mark.parametrize("ending", ["raises", "exits"])
@pytest.mark.parametrize("change", CHANGES)
def test_what_forward_changes_before_it_raises_is_put_back(change, ending):
    model = model_with(CHANGES[change], ending)
    graph = []
    unchanged(model, lambda x: graph.append(modgraph.trace(model, x, mode="train")))
    assert not graph[0].complete


@pytest.mark.parametrize("change", CHANGES)
def test_what_forward_changes_before_ctrl_c_is_put_back(change):
    model = model_with(CHANGES[change], "interrupted")

    def run(x):
        with handled_in_python(), pytest.raises(KeyboardInterrupt):
            modgraph.trace(model, x, mode="train")

    unchanged(model, run)


@pytest.mark.long
def test_ctrl_c_at_any_moment_leaves_everything_as_it_was():
    model = model_with(CHANGES["changes_containers"])
    moments = []

    def at(moment):
        def watch(frame, event, argument):
            if frame.f_code.co_filename.startswith((TRACING, LIVE)):
                moments.append(frame.f_code.co_name)
                if len(moments) == moment:
                    signal.raise_signal(signal.SIGINT)

        return watch

    def run(x, moment):
        moments.clear()
        with handled_in_python():
            sys.settrace(at(moment))
            try:
                modgraph.trace(model, x, mode="train")
            finally:
                sys.settrace(None)

    run(X.clone(), -1)
    total, interrupted = len(moments), 0
    for moment in range(1, total, max(1, total // 20)):

        def run_here(x, moment=moment):
            nonlocal interrupted
            try:
                run(x, moment)
            except KeyboardInterrupt:
                interrupted += 1

        unchanged(model, run_here)
    assert interrupted >= 15


class Reactive(dict):
    """Counts whatever Python asks of it."""

    asked = 0

    def _count(self, *_: Any) -> int:
        Reactive.asked += 1
        return Reactive.asked

    __len__ = __hash__ = _count  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        self._count()
        return True

    def __getitem__(self, key: Any) -> Any:
        self._count()
        return dict.get(self, key)

    def __iter__(self) -> Any:
        self._count()
        return dict.__iter__(self)

    def items(self) -> Any:
        self._count()
        return dict.items(self)


class Asked(nn.Module):
    """Whose attributes count how often they are read, set and copied."""

    def __init__(self) -> None:
        super().__init__()
        self.lin, self.table, self.log = nn.Linear(4, 4), Reactive(a=1), []

    @property
    def looked_at(self) -> int:
        self.log.append("property")
        return len(self.log)

    def __getattr__(self, name: str) -> Any:
        if "log" in vars(self) and not name.startswith("__"):
            self.log.append(name)
        return super().__getattr__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if "log" in vars(self):
            self.log.append(f"set {name}")
        super().__setattr__(name, value)

    def __deepcopy__(self, memo: Any) -> Any:
        self.log.append("copied")
        made = type(self)()
        made.load_state_dict(self.state_dict())
        return made

    def __reduce__(self) -> Any:
        self.log.append("reduced")
        return type(self), ()

    def train(self, mode: bool = True) -> Any:
        self.log.append("train")
        return super().train(mode)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.table["b"] = 2
        return self.lin(x) * (self.looked_at > 0)


@pytest.mark.parametrize("options", [{}, {"device": "fake"}, {"mode": "eval", "backward": True}, {"profile": True}])
@pytest.mark.parametrize("given", [True, False])
def test_methods_that_python_calls_by_itself(options, given):
    model = Asked()

    def run(x):
        modgraph.trace(model, *((x,) if given else ()), **options)

    model.lin(X)
    before = Fingerprint(model=model, asked=Reactive)
    run(X)
    assert before.differences(Fingerprint(model=model, asked=Reactive)) == []


def _unseen(tensor: torch.Tensor) -> None:
    with torch._C.DisableTorchFunction():
        tensor.add_(1)


KINDS = {
    "view": (lambda t: t[1:].add_(1), lambda: torch.zeros(4)),
    "expanded": (lambda t: t[0].add_(1), lambda: torch.zeros(1).expand(4)),
    "sparse": (lambda t: t.mul_(2), lambda: torch.eye(4).to_sparse()),
    "values of sparse": (lambda t: t._values().mul_(2), lambda: torch.eye(4).to_sparse()),
    "compressed": (lambda t: t.values().mul_(2), lambda: torch.eye(4).to_sparse_csr()),
    "nested": (lambda t: t.mul_(2).add_(1), lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])),
    "jagged": (
        lambda t: t.mul_(2),
        lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged),
    ),
    "complex": (lambda t: t.add_(1j), lambda: torch.zeros(4, dtype=torch.complex64).conj()),
    "negated": (lambda t: t.add_(1), lambda: torch._neg_view(torch.ones(4))),
    "float8": (lambda t: t.copy_(torch.ones(4)), lambda: torch.zeros(4).to(torch.float8_e4m3fn)),
    "overlapping": (lambda t: t[0].add_(1), lambda: torch.zeros(6).as_strided((4, 3), (1, 1))),
    "transposed": (lambda t: t.t_(), lambda: torch.zeros(2, 4)),
    "grown": (lambda t: t.resize_(100).fill_(3), lambda: torch.zeros(4)),
    "shrunk": (lambda t: t.resize_(2).fill_(3), lambda: torch.ones(4)),
    "without memory": (lambda t: t.untyped_storage().resize_(0), lambda: torch.ones(4)),
    "other memory": (lambda t: t.set_(torch.ones(9)).add_(1), lambda: torch.zeros(4)),
    "other data": (lambda t: (setattr(t, "data", torch.ones(4)), t.add_(1)), lambda: torch.zeros(4)),
    "numpy": (lambda t: t.detach().numpy().fill(2), lambda: torch.zeros(4)),
    "foreach": (lambda t: torch._foreach_add_([t], 1), lambda: torch.zeros(4)),
    "requires grad": (lambda t: t.requires_grad_(), lambda: torch.zeros(4)),
}


@pytest.mark.parametrize("mode", ["eval", "train"])
@pytest.mark.parametrize("kind", KINDS)
def test_buffers_of_every_kind_keep_values_memory_and_version(kind, mode):
    write, make = KINDS[kind]

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("held", make())
            self.lin = nn.Linear(4, 4)

        def forward(self, x):
            write(self.held)
            return self.lin(x)

    model = Net()
    before = Fingerprint(model=model)
    graph = modgraph.trace(model, X, mode=mode)
    assert before.differences(Fingerprint(model=model)) == []
    assert graph.problems == ()


def test_nothing_is_written_where_nothing_changed(monkeypatch):
    from modgraph.tracing.restoring import kept_tensor

    written = []
    monkeypatch.setattr(kept_tensor, "_set_version", lambda *given: written.append(given))
    monkeypatch.setattr(torch.Tensor, "copy_", lambda *given: written.append(given))
    model = Hostile().eval()
    modgraph.trace(model, X)
    assert written == []


def test_what_was_written_unseen_is_a_problem_and_its_version_stays():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(4, 4)

        def forward(self, x):
            _unseen(self.lin.weight)
            return self.lin(x)

    model = Net()
    version = model.lin.weight._version
    graph = modgraph.trace(model, X)
    assert "could not be put back" in graph.problems[0].message
    assert model.lin.weight._version == version + 1


def test_a_history_made_in_place_is_a_problem():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(4, 4)
            self.hidden = self.lin.weight * 2

        def forward(self, x):
            with torch.enable_grad():
                self.hidden.mul_(self.lin.weight)
            return self.lin(x)

    graph = modgraph.trace(Net(), X)
    assert "history" in graph.problems[0].message


def test_weights_cast_under_autocast_have_their_gradients_after_a_trace_inside():
    model = nn.Linear(4, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        modgraph.trace(model, X)
        model(X).sum().backward()
    assert model.weight.grad is not None


def test_a_model_traced_again_and_again_leaves_no_tensors():
    def alive():
        gc.collect()
        return sum(issubclass(type(each), torch.Tensor) for each in gc.get_objects())

    model = model_with(CHANGES["changes_containers"])
    modgraph.trace(model, X, mode="train")
    modgraph.trace(model)
    before = alive()
    for _ in range(3):
        modgraph.trace(model, X, mode="train")
        modgraph.trace(model, X, device="fake")
    modgraph.trace(model)
    assert alive() <= before  # what tests before this one have left may go meanwhile


def test_a_large_array_that_a_global_holds_is_not_copied(monkeypatch):
    from modgraph.tracing.restoring import restore

    monkeypatch.setattr(restore, "_MAX_NAMED_BYTES", 8)
    copied = []
    monkeypatch.setattr(restore, "_generator_state", lambda item: copied.append(item))
    modgraph.trace(model_with(lambda self, x: LARGE), X)
    assert not any(item is LARGE for item in copied)


LARGE = numpy.zeros(100)
