"""What is given to a library that may call it: the prediction claims nothing that the call could have changed."""

from __future__ import annotations

import sys
import textwrap
import types
from collections.abc import Callable
from typing import Any

import pytest

from modgraph.graph.model import Graph

pytestmark = pytest.mark.needs_torch
Predict = Callable[..., Graph]

BEFORE = """
import atexit, gc, inspect, json, logging, multiprocessing.pool, pickle, signal, threading
W = [1]
class Plain: pass
class Worker(threading.Thread):
    def __init__(self, owner=None):
        super().__init__()
        self.owner = owner
    def run(self):
        if self.owner is not None:
            self.owner.a = nn.ReLU()
        W[0] = 5
class Kept:
    def __init__(self, owner):
        self.owner = owner
    def __getstate__(self):
        self.owner.a = nn.ReLU()
        return 1
class Encoder(json.JSONEncoder):
    def default(self, o):
        W[0] = 4
        return 1
def change(*_):
    W[0] = 3
N = 1
class Rebinder:
    def go(self, n=5):
        global N
        N = n
    @classmethod
    def of_class(cls): cls().go()
    def __call__(self): self.go()
class Config:
    def __init__(self):
        self.width = 4
    def __getstate__(self):
        return dict(self.__dict__)
class Reader(json.JSONEncoder):
    def default(self, o):
        return vars(o)
class Late(threading.Thread):
    def __init__(self, function):
        super().__init__(target=function)
def count():
    global N
    N += 1
def fail():
    global N
    N = 6
    raise SystemExit
def show(cfg):
    for name, value in cfg.items(): print(name, value)
def later():
    global N
    def inner():
        global N
        N = 5
    return inner
"""
RUN = "t.start(); t.join()"
NUMBER = "self.a = nn.Linear(N, 1)"
CHANGED = {
    "a thread": "t = threading.Thread(target=lambda: self.add_module('a', nn.ReLU())); t.start(); t.join()",
    "a method": "t = threading.Thread(target=self.add_module, args=('a', nn.ReLU())); t.start(); t.join()",
    "later": "t = threading.Thread(target=self.add_module, args=('a', nn.ReLU()))\nself.a = nn.Tanh()\nt.start(); t.join()",
    "a timer": "t = threading.Timer(0, self.add_module, ('a', nn.ReLU())); t.start(); t.join()",
    "a pool": "multiprocessing.pool.ThreadPool(1).map(lambda name: self.add_module(name, nn.ReLU()), ['a'])",
    "setattr": "t = threading.Thread(target=setattr, args=(self, 'a', nn.ReLU())); t.start(); t.join()",
    "a function": "t = threading.Thread(target=change); t.start(); t.join(); self.a = nn.Linear(W[0], 1)",
    "a class of its own": "t = Worker(self); t.start(); t.join()",
    "a table": "t = Worker(); t.start(); t.join(); self.a = nn.Linear(W[0], 1)",
    "a hook": "json.dumps(Plain(), default=lambda _: self.add_module('a', nn.ReLU()))",
    "an encoder": "json.dumps(Plain(), cls=Encoder); self.a = nn.Linear(W[0], 1)",
    "a signal": (
        "old = signal.signal(signal.SIGUSR1, change); signal.raise_signal(signal.SIGUSR1)\n"
        "signal.signal(signal.SIGUSR1, old); self.a = nn.Linear(W[0], 1)"
    ),
    "what is pickled": "pickle.dumps(Kept(self))",
    "what is held by what is pickled": "c = Config(); c.kept = Kept(self); pickle.dumps([c])",
    "a global by a method": f"t = threading.Thread(target=Rebinder().go); {RUN}; {NUMBER}",
    "a global by a class method": f"t = threading.Thread(target=Rebinder.of_class); {RUN}; {NUMBER}",
    "a global by an object": f"t = threading.Thread(target=Rebinder()); {RUN}; {NUMBER}",
    "a global by a lambda": f"r = Rebinder(); t = threading.Thread(target=lambda: r.go()); {RUN}; {NUMBER}",
    "a global by a function inside": f"t = threading.Thread(target=later()); {RUN}; {NUMBER}",
    "a global by a partial": f"import functools; t = threading.Thread(target=functools.partial(Rebinder().go, 7)); {RUN}; {NUMBER}",
    "a global before an error": f"t = threading.Thread(target=fail); {RUN}; {NUMBER}",
    "several calls": f"json.dumps([Plain()] * 3, default=lambda o: count()); {NUMBER}",
    "a target given to the base": "t = Late(lambda: self.add_module('a', nn.ReLU())); self.a = nn.Tanh(); t.start(); t.join()",
    "more than is looked at": (
        "m = lambda _: self.add_module('a', nn.ReLU())\n"
        "multiprocessing.pool.ThreadPool(1).starmap(lambda f, _: f(0), [(m, [Plain() for _ in range(2500)])])"
    ),
    "with many arguments": "t = threading.Thread(target=lambda _: self.add_module('a', nn.ReLU()), args=(list(range(300)),)); "
    + RUN,
    "an object that decodes": (
        "d = json.JSONDecoder(object_hook=lambda o: self.add_module('a', nn.ReLU())); self.a = nn.Tanh(); d.decode('{}')"
    ),
    "an object that encodes": (
        "e = json.JSONEncoder(default=lambda o: self.add_module('a', nn.ReLU())); self.a = nn.Tanh(); e.encode(Plain())"
    ),
    "a file of its own": ("class File:\n    def write(file, text): self.a = nn.ReLU()\njson.dump({'n': 1}, File())"),
    "a default and a file of its own": (
        "class File:\n    def write(file, text): self.a = nn.ReLU()\njson.dump({'n': 1}, File(), default=str)"
    ),
    "an object that pickles": (
        "import io; p = pickle.Pickler(io.BytesIO()); self.a = nn.Tanh(); self.todo = Kept(self); p.dump(self.todo)"
    ),
    "a default that changes what it is given": (
        "c = Config(); json.dumps([c], default=lambda o: o.__dict__.update(width=2)); self.a = nn.Linear(c.width, 1)"
    ),
    "a default of what is nested": (
        "c = Config(); c.x = [Config()]; c.x[0].kept = c\n"
        "def out(o): o.width += 1; return [1]\n"
        "json.dumps([c], default=out); self.a = nn.Linear(c.width, 1)"
    ),
    "what a condition waits for": (
        "c = threading.Condition(); c.acquire(); c.wait_for(lambda: self.add_module('a', nn.ReLU()) or True)"
    ),
    "the model itself": "self.todo = 1; t = threading.Thread(target=self, args=(1,)); " + RUN,
}
KEPT = {
    "what asks for a signature": "inspect.signature(self.forward); self.a = nn.ReLU()",
    "what only reads": "json.dumps({'a': 1}, default=lambda o: o.__dict__); self.a = nn.ReLU()",
    "a lock": "with threading.Lock(): self.a = nn.ReLU()",
    "a lock that is held": (
        "for l in (threading.Lock(), threading.RLock(), threading.Condition(), threading.Semaphore()):\n"
        "    l.acquire(); self.a = nn.ReLU(); l.release()"
    ),
    "an event": "e = threading.Event(); e.set(); e.wait(); self.a = nn.ReLU(); e.clear()",
    "a message": "logging.getLogger('x').debug('%s', self.forward); self.a = nn.ReLU()",
    "at the end": "atexit.register(lambda: 1); self.a = nn.ReLU()",
    "a default that only reads": "c = Config(); json.dumps({'c': c}, default=lambda o: vars(o)); self.a = nn.Linear(c.width, 1)",
    "a default that is not called": "c = {'n': 3}; json.dumps(c, default=lambda o: o.tolist()); self.a = nn.Linear(c['n'], 1)",
    "a default with a file": (
        "import os\nc = Config()\nwith open(os.devnull, 'w') as f: json.dump(c, f, default=lambda o: dict(vars(o).items()))\n"
        "self.a = nn.Linear(c.width, 1)"
    ),
    "a default that calls methods": (
        "c = Config(); json.dumps([c], default=lambda o: {k: v for k, v in vars(o).items()}); self.a = nn.Linear(c.width, 1)"
    ),
    "an encoder that is not called": "c = {'n': 3}; json.dumps(c, cls=Encoder, indent=2); self.a = nn.Linear(c['n'], 1)",
    "an encoder that only reads": "c = Config(); json.dumps({'c': c}, cls=Reader); self.a = nn.Linear(c.width, 1)",
    "a state that is only read": (
        "c = Config()\ntry: pickle.dumps(c)\nexcept pickle.PicklingError: pass  # where the class cannot be imported\n"
        "self.a = nn.Linear(c.width, 1)"
    ),
    "a loop that only prints": (
        "c = {'n': 3}; t = threading.Thread(target=show, args=(c,)); t.start(); t.join(); self.a = nn.Linear(c['n'], 1)"
    ),
    "a default that closes over it": (
        "c = Config(); json.dumps(c, default=lambda o: dict(vars(c))); self.a = nn.Linear(c.width, 1)"
    ),
    "an encoder on the model": "self.e = Reader(); self.e.width = 3; self.a = nn.Linear(self.e.width, 1)",
    "a thread on the model": "self.t = Worker(); self.a = nn.Linear(2, 1)",
    "a text on the model": (
        "import io\nclass Text(io.StringIO):\n    size = 4\nself.s = Text(); self.s.n = 3\n"
        "self.a = nn.Linear(self.s.n, self.s.size)"
    ),
}


def net(body: str) -> str:
    init = textwrap.indent(f"super().__init__()\n{body}\n", " " * 8)
    return f"{BEFORE}\nclass Net(nn.Module):\n    def __init__(self):\n{init}    def forward(self, x):\n        if hasattr(self, 'todo'): self.a = nn.ReLU()\n        return x\n"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("name", CHANGED)
def test_what_a_library_may_call_may_have_changed_it(
    predict_source: Predict, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setitem(sys.modules, "net", types.ModuleType("net"))
    namespace: dict[str, Any] = vars(sys.modules["net"])
    exec(f"import torch\nfrom torch import nn\n{net(CHANGED[name])}", namespace)
    live = namespace["Net"]()
    assert "a" in live._modules
    graph = predict_source(net(CHANGED[name]))
    assert not graph.complete
    assert not any("cannot be built" in problem.message for problem in graph.problems)
    assert any("is not known without running it" in problem.message for problem in graph.problems)
    for module in graph.modules:
        if module.path == "a" and module.class_name is not None:
            assert module.class_name.rpartition(".")[2] == type(live.a).__name__
            shapes = {each.name: each.shape for each in module.parameters}
            for each, parameter in live.a.named_parameters():
                known = shapes[each]
                assert known is None or all(
                    size in (None, real) for size, real in zip(known, parameter.shape, strict=True)
                )


@pytest.mark.parametrize("name", KEPT)
def test_what_calls_nothing_leaves_everything_known(agrees: Callable[[str], Graph], name: str) -> None:
    agrees(net(KEPT[name]))


def endless(body: str) -> str:
    return f"""
import threading

def watch(model):
    while True:
        {body}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.n, self.kept = nn.Linear(1, 2), 3, 4
        threading.Thread(target=watch, args=(self,), daemon=True).start()
        self.b = nn.Linear(self.n, self.kept)
"""


def test_a_loop_without_end_that_only_reads_leaves_everything_known(predict_source: Predict) -> None:
    graph = predict_source(endless("print(len(list(model.parameters())))"))
    assert graph.complete
    assert graph.modules[2].parameters[0].shape == (4, 3)


def test_what_a_loop_without_end_changes_is_not_known(predict_source: Predict) -> None:
    graph = predict_source(endless("model.n += 1"))
    assert not graph.complete
    assert graph.modules[2].parameters[0].shape in (None, (4, None))
    graph = predict_source(endless("model.add_module(str(model.n), nn.ReLU())\n        model.n += 1"))
    assert any("may have further children" in each.message for each in graph.open_places)
