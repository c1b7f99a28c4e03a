"""What functions of the standard library give, which is not interpreted: values of their own, or what they were given or
have found; torch is the judge."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from modgraph.graph.model import Graph

pytestmark = pytest.mark.needs_torch

HEADER = """
import datetime, functools, gc, hashlib, inspect, io, json, logging, multiprocessing, os, pickle, pprint, random
import subprocess, tempfile, textwrap, threading, time, traceback, urllib.parse, warnings, weakref

class Conf:
    layer: nn.Linear

def make(layer=nn.Linear): return nn

shared = nn.Linear(2, 2)
reference = weakref.ref(shared)
"""

GIVEN_OR_FOUND = [
    "pickle.loads(pickle.dumps(nn.Linear(2, 2)))",
    "pickle.load(io.BytesIO(pickle.dumps(nn.Linear(2, 2))))",
    "pickle.Unpickler(io.BytesIO(pickle.dumps(nn.Linear(2, 2)))).load()",
    "functools.partial(pickle.loads, pickle.dumps(nn.Linear(2, 2)))()",
    "list(map(pickle.loads, [pickle.dumps(nn.Linear(2, 2))]))[0]",
    "inspect.unwrap(nn.Linear)(2, 2)",
    "inspect.getmodule(nn.Linear).Linear(2, 2)",
    "inspect.getattr_static(nn, 'Linear')(2, 2)",
    "inspect.getcallargs(lambda m: 0, nn.Linear(2, 2))['m']",
    "inspect.currentframe().f_globals['nn'].Linear(2, 2)",
    "inspect.stack()[0].frame.f_globals['nn'].Linear(2, 2)",
    "inspect.getclosurevars(make).globals['nn'].Linear(2, 2)",
    "gc.get_referents([nn.Linear(2, 2)])[0]",
    "logging.LoggerAdapter(None, {'m': nn.Linear(2, 2)}).extra['m']",
    "logging.makeLogRecord({'m': nn.Linear(2, 2)}).m",
    "getattr(logging.getLogger('u'), 'nope', nn.Linear(2, 2))",
    "getattr(time.localtime(), 'nope', nn.Linear(2, 2))",
    "threading.Timer(1, print, args=[nn.Linear(2, 2)]).args[0]",
    "json.JSONDecoder(object_hook=lambda d: nn.Linear(2, 2)).decode('{}')",
    "weakref.getweakrefs(shared)[0]()",
    "os.environ.get('NOT_THERE', nn.Linear(2, 2))",
    "os.getenv('NOT_THERE', nn.Linear)(2, 2)",
    "random.sample([nn.Linear(2, 2)], 1)[0]",
    "random.choices([nn.Linear(2, 2)])[0]",
    "random.choice(([shared, nn.ReLU()] * 9)[: 1 if flag else 2])",
]


@pytest.mark.parametrize(
    "holder", ["self.m = {}", "self.m = nn.Sequential({}, nn.ReLU())", "self.m = nn.ModuleList([{}])"]
)
@pytest.mark.parametrize("given", GIVEN_OR_FOUND)
def test_what_was_given_or_found_may_be_a_module(
    given: str, holder: str, claims_that_fail: Callable[..., list[Any]]
) -> None:
    assert claims_that_fail(holder.format(given), HEADER) == []


STORED = {
    "an attribute of a logger": """
        logging.getLogger("modgraph.a").model = nn.Linear(2, 2)
        self.m = logging.getLogger("modgraph.a").model
        """,
    "an attribute of a thread": """
        threading.current_thread().model = nn.Linear(2, 2)
        self.m = threading.current_thread().model
        """,
    "one of two attributes": """
        logging.getLogger("modgraph.b").a = nn.Linear(2, 2)
        logging.getLogger("modgraph.b").b = nn.ReLU()
        self.m = logging.getLogger("modgraph.b").a
        """,
    "an attribute on one path": """
        logging.getLogger("modgraph.c").model = None
        if flag:
            logging.getLogger("modgraph.c").model = nn.Linear(2, 2)
        self.m = logging.getLogger("modgraph.c").model
        """,
    "what a condition waits for": """
        condition = threading.Condition()
        with condition:
            self.m = condition.wait_for(lambda: nn.Linear(2, 2))
        """,
    "modules in an order that is not known": """
        self.m = nn.Sequential(*random.sample([nn.Linear(2, 2), nn.ReLU()], k=2))
        """,
    "modules of which one may come twice": """
        self.m = nn.ModuleList(random.choices((nn.Linear(2, 2), nn.Linear(2, 2)), weights=[0, 1], k=2))
        """,
}


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in STORED.items()])
def test_what_was_kept_may_be_a_module(body: str, claims_that_fail: Callable[..., list[Any]]) -> None:
    assert claims_that_fail(body, HEADER) == []


OWN_VALUES = [
    "logging.getLogger(__name__)",
    "time.time()",
    "datetime.datetime.now().strftime('%Y')",
    "datetime.timedelta(seconds=3)",
    "int(os.environ.get('NOT_THERE', 4))",
    "os.environ.get('NOT_THERE')",
    "os.getenv('NOT_THERE', False)",
    "threading.Lock()",
    "threading.Thread(target=print, args=(self,))",
    "threading.Thread(target=print).name",
    "threading.current_thread().name",
    "multiprocessing.cpu_count()",
    "multiprocessing.current_process().name",
    "tempfile.gettempdir()",
    "hashlib.md5(str(self).encode()).hexdigest()",
    "random.random()",
    "random.sample(range(100), 5)",
    "random.sample([1, 2, 3, 4], 2)",
    "random.choices([0.1, 0.2], k=3)",
    "json.dumps({'a': 1, 'm': str(self)})",
    "pickle.dumps({'a': 1})",
    "inspect.getdoc(nn.Linear)",
    "inspect.isclass(nn.Linear)",
    "traceback.format_exc()",
    "gc.collect()",
    "subprocess.run(['true'], capture_output=True).stdout",
    "urllib.parse.urlparse('http://x/y').netloc",
    "io.BytesIO(b'x')",
    "pprint.pformat(self)",
    "textwrap.dedent('x')",
    "getattr(time.localtime(), 'tm_year', 3)",
]


@pytest.mark.parametrize("own", OWN_VALUES)
def test_a_value_of_its_own_is_no_module(own: str, predict_source: Callable[..., Graph]) -> None:
    body = f"class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.m = {own}\n"
    graph = predict_source(textwrap.dedent(HEADER) + body)
    assert ([node.path for node in graph.modules], list(graph.problems)) == ([""], [])
