"""The heap as a graph: arguments, places of what is hidden, aliases, totals, problems."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from modgraph.errors import TargetError
from modgraph.graph.model import Graph, SourceLocation

Predict = Callable[..., Graph]


def net(body: str) -> str:
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    return f"class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n{lines}\n"


def test_arguments_are_json_values(predict_source: Predict) -> None:
    graph = predict_source("""
        from functools import partial
        import enum
        import os

        class Mode(enum.Enum):
            FAST = 1

        class Config:
            pass

        class Part(nn.Module):
            def __init__(self, a, b=None, *rest, **options):
                super().__init__()

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.literals = Part(1, (2.5, "x", [None, True]), float("inf"), table={"k": 1})
                self.references = Part(nn.ReLU, torch.relu, act=F.gelu, method=Config)
                self.texts = Part(Mode.FAST, torch.float16, norm=partial(nn.LayerNorm, eps=1e-6), config=Config())
                self.tensors = Part(torch.zeros(2, 3), nn.Parameter(torch.zeros(1)), inner=nn.ReLU(), items=range(3))
                self.left_out = Part(os.environ["A"], [nn.ReLU()])
        """)
    arguments = {node.path: node.arguments for node in graph.modules}
    assert arguments["literals"]["a"] == 1
    assert arguments["literals"]["b"] == [2.5, "x", [None, True]]
    assert arguments["references"]["a"] == {"$ref": "torch.nn.modules.activation.ReLU"}
    assert arguments["references"]["b"] == {"$ref": "torch.relu"}
    assert arguments["texts"]["a"] == {"$repr": "Mode.FAST"}
    assert arguments["texts"]["b"] == {"$repr": "torch.float16"}
    assert arguments["tensors"]["a"] == {"$repr": "Tensor[2, 3]"}
    assert arguments["tensors"]["b"] == {"$repr": "Parameter[1]"}
    assert "a" not in arguments["left_out"]
    assert "b" not in arguments["left_out"]


def test_source_is_where_the_instance_is_made(predict_source: Predict) -> None:
    graph = predict_source(net("self.a = nn.ReLU()\nself.b = nn.Sequential(\n    nn.ReLU(),\n)"))
    places = {node.path: node.source for node in graph.modules}
    assert places["a"] == SourceLocation("net.py", 7)
    assert places["b.0"] is not None
    assert places["b.0"].file == "net.py"
    assert places["b.0"].line in (8, 9)


HIDDEN = """
from collections import deque, namedtuple
from functools import partial

Pair = namedtuple("Pair", "left right")

class Holder:
    def __init__(self):
        self.part = nn.Linear(1, 1)

class Net(nn.Module):
    shared = nn.Linear(1, 1)

    def __init__(self):
        super().__init__()
        inner = nn.Linear(1, 1)
        self.items = [nn.Linear(1, 1), (nn.Linear(1, 1),)]
        self.table = {"a": nn.Linear(1, 1), 3: nn.Linear(1, 1)}
        self.pair = Pair(nn.Linear(1, 1), 2)
        self.queue = deque([nn.Linear(1, 1)])
        self.holder = Holder()
        self.fn = partial(F.linear, weight=nn.Linear(1, 1))
        self.call = lambda x, d=nn.Linear(1, 1): inner(x)
        self.method = nn.Sequential(nn.Linear(1, 1)).forward
"""


@pytest.mark.needs_torch
def test_hidden_modules_stand_where_the_trace_finds_them(agrees: Callable[[str], Graph]) -> None:
    agrees(HIDDEN)


def test_places_of_hidden_modules(predict_source: Predict) -> None:
    graph = predict_source(HIDDEN)
    expected = {"items[0]", "items[1][0]", "table['a']", "table[3]", "pair.left", "queue[0]", "holder.part", "shared"}
    expected |= {"fn.keywords['weight']", "call.closure['inner']", "call.__defaults__[0]", "method.__self__"}
    assert {node.path for node in graph.modules if not node.registered} == expected


def test_alias_and_its_children(predict_source: Predict) -> None:
    graph = predict_source(net("self.a = nn.Sequential(nn.Linear(1, 1))\nself.b = self.a"))
    assert {node.path: node.alias_of for node in graph.modules} == {
        "": None,
        "a": None,
        "a.0": None,
        "b": "a",
        "b.0": "a.0",
    }
    assert graph.model.parameters == 2


def test_none_is_a_slot_of_its_own_class(predict_source: Predict) -> None:
    graph = predict_source(net("self.a = nn.ReLU()\nself.a = None\nself.add_module('b', None)"))
    assert [(node.path, node.class_name) for node in graph.modules[1:]] == [("a", "NoneType"), ("b", "NoneType")]
    assert graph.complete


def test_one_of_two_classes_is_a_class_not_known(predict_source: Predict) -> None:
    graph = predict_source(
        "import os\n\n" + net("self.a = nn.ReLU() if os.environ['A'] else nn.GELU()\nself.b = nn.ReLU()")
    )
    assert [(node.path, node.class_name is None) for node in graph.modules[1:]] == [("a", True), ("b", False)]
    (problem,) = graph.problems
    assert problem.module == "a"
    assert "ReLU or GELU" in problem.message
    assert "os.environ" in problem.message
    assert graph.model.parameters is None


def test_the_same_in_both_arms_is_known(predict_source: Predict) -> None:
    body = "if os.environ['A']:\n    self.a = nn.Linear(1, 2)\nelse:\n    self.a = nn.Linear(1, 2)"
    graph = predict_source("import os\n\n" + net(body))
    assert graph.complete
    assert graph.model.parameters == 4


def test_only_in_one_arm_keeps_its_name_without_a_class(predict_source: Predict) -> None:
    graph = predict_source(
        "import os\n\n" + net("if os.environ['A']:\n    self.a = nn.Linear(1, 2)\nself.b = nn.ReLU()")
    )
    assert [node.path for node in graph.modules] == ["", "a", "b"]
    assert graph.modules[1].class_name is None
    (problem,) = graph.problems
    assert problem.module == ""
    assert "'a'" in problem.message


def test_totals_count_a_tied_parameter_once(predict_source: Predict) -> None:
    body = (
        "self.a = nn.Embedding(10, 4)\nself.b = nn.Linear(4, 10, bias=False)\nself.b.weight = self.a.weight\n"
        "self.c = nn.BatchNorm1d(3)\nself.c.weight.requires_grad = False"
    )
    graph = predict_source(net(body))
    assert (graph.model.parameters, graph.model.trainable_parameters, graph.model.buffers) == (46, 43, 7)
    parameters = {node.path: node.parameters for node in graph.modules}
    assert parameters["b"][0].alias_of == "a.weight"


def test_lazy_parameters_leave_the_total_open_without_a_problem(predict_source: Predict) -> None:
    graph = predict_source(net("self.a = nn.LazyLinear(3)"))
    assert graph.complete
    assert graph.model.parameters is None


def test_a_tree_thousands_deep(predict_source: Predict) -> None:
    body = "layer = nn.Identity()\nfor _ in range(1500):\n    outer = nn.Module()\n    outer.m = layer\n    layer = outer\nself.a = layer"
    graph = predict_source(net(body))
    assert len(graph.modules) == 1502
    assert graph.complete


def test_a_module_below_itself_ends(predict_source: Predict) -> None:
    graph = predict_source(net("self.a = nn.Linear(1, 1)\nself.a.me = self.a\nself.a.top = self"))
    assert {node.path: node.alias_of for node in graph.modules if node.alias_of is not None} == {
        "a.me": "a",
        "a.top": "",
    }


def test_a_factory_and_its_name(predict_source: Predict) -> None:
    graph = predict_source("def build(n=3):\n    return nn.Sequential(nn.Linear(n, 1))\n", "build")
    assert graph.model.name == "build"
    assert graph.model.class_name == "torch.nn.modules.container.Sequential"
    assert graph.model.target == "net.py:build"


def test_what_is_certainly_no_module_is_an_error(predict_source: Predict) -> None:
    with pytest.raises(TargetError, match="gives int"):
        predict_source("def build():\n    return 3\n", "build")


def test_what_may_be_a_module_is_a_graph_with_a_problem(predict_source: Predict) -> None:
    graph = predict_source("import somewhere\n\ndef build():\n    return somewhere.make()\n", "build")
    assert [(node.path, node.class_name) for node in graph.modules] == [("", None)]
    assert not graph.complete


def test_what_raises_keeps_what_came_before(predict_source: Predict) -> None:
    graph = predict_source(net("self.a = nn.ReLU()\nself.b = nn.Linear(1)\nself.c = nn.ReLU()"))
    assert [node.path for node in graph.modules] == ["", "a", "?"]
    (problem,) = graph.problems
    assert "raises TypeError" in problem.message
    assert (problem.file, problem.line) == ("net.py", 8)


def test_every_node_is_predicted_and_not_observed(predict_source: Predict) -> None:
    graph = predict_source(net("self.a = nn.ReLU()\nself.items = [nn.ReLU()]"))
    assert {(node.predicted, node.observed) for node in graph.modules} == {(True, None)}


def test_two_predictions_are_equal(predict_source: Predict) -> None:
    text = net(
        "self.names = {'b', 'a'}\nfor n in sorted(self.names):\n    setattr(self, n, nn.Linear(1, 1))\nself.s = {nn.ReLU(), nn.GELU()}"
    )
    assert predict_source(text) == predict_source(text)


def test_a_tensor_of_unknown_shape_has_the_line_that_registers_it(predict_source: Predict) -> None:
    graph = predict_source(
        """
        import os
        N = int(os.environ["N"])

        class Part(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.empty(N))

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.part = Part()
                self.fc = nn.Linear(N, 2)
                self.register_buffer("m", torch.zeros(N))
        """
    )
    lines = {problem.module: problem.line for problem in graph.open_places}
    places = {node.path: node.source.line for node in graph.modules if node.source is not None}
    assert lines["part"] < places["part"]  # in its own class, not where it is called
    assert lines["fc"] == places["fc"]  # torch's own code says nothing to the reader
    assert lines[""] == places["fc"] + 1
