"""The Python interface: what it takes, and what it says of the rest."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import modgraph
from modgraph.errors import ConfigError, InputError, TargetError

NET = """
from torch import nn

class Net(nn.Module):
    def __init__(self, width=4, act=nn.ReLU):
        super().__init__()
        self.fc = nn.Linear(width, 2)
        self.act = act()

    def forward(self, x, scale=1.0):
        return self.act(self.fc(x)) * scale
"""


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    file = tmp_path / "model.py"
    file.write_text(NET)
    return file


def test_a_path_is_a_target(model_file: Path):
    graph = modgraph.predict(model_file)
    assert graph == modgraph.predict(str(model_file))
    assert graph == modgraph.analyze(model_file, static=True)
    assert [node.path for node in graph.modules] == ["", "fc", "act"]


def test_arguments_of_a_prediction_are_literals_or_references(model_file: Path):
    graph = modgraph.predict(f"{model_file}:Net", (8,), {"act": modgraph.Ref("torch.nn.GELU")})
    assert graph.modules[1].parameters[0].shape == (2, 8)
    assert graph.modules[2].class_name == "torch.nn.modules.activation.GELU"


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((object(),), {}, "argument 1 cannot be predicted with: object is no literal"),
        ((4, int), {}, "argument 2 cannot be predicted with: type is no literal"),
        ((), {"act": [print]}, "act cannot be predicted with: builtin_function_or_method is no literal"),
    ],
)
def test_another_argument_of_a_prediction_is_named(model_file: Path, args, kwargs, message):
    with pytest.raises(TargetError) as caught:
        modgraph.predict(f"{model_file}:Net", args, kwargs)
    assert caught.value.message == message
    assert "Ref(" in caught.value.hint


def test_what_a_prediction_makes_no_use_of_is_named(model_file: Path):
    with pytest.raises(ConfigError, match="backward is of no use with static=True"):
        modgraph.analyze(str(model_file), static=True, backward=True, inputs=["1x4"])
    with pytest.raises(ConfigError, match="device is of no use with static=True"):
        modgraph.analyze(str(model_file), static=True, device="fake")


@pytest.mark.parametrize("model", [3, None, object()])
def test_what_is_no_model_is_named(model):
    for static in (False, True):
        with pytest.raises(InputError, match=f"a live model is a torch.nn.Module, not {type(model).__name__}"):
            modgraph.analyze(model, static=static)


def test_what_is_no_model_is_named_without_torch(tmp_path: Path):
    code = "import sys; sys.modules['torch'] = None; import modgraph\ntry: modgraph.analyze(3)\nexcept modgraph.InputError: print('refused')"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=Path.cwd())
    assert run.stdout == "refused\n", run.stderr


@pytest.mark.needs_torch
class TestLive:
    """A live model, run in this process."""

    @pytest.fixture
    def net(self):
        from torch import nn

        return nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    @pytest.fixture
    def x(self):
        import torch

        return torch.ones(1, 4)

    @pytest.mark.parametrize(
        "options",
        [{"inputs": ["1x4"]}, {"timeout": 3}, {"memory_limit": 1000}, {"path": ["."]}, {"timeout": 3, "path": []}],
    )
    def test_options_of_a_target_are_refused(self, net, x, options):
        names = [name for name in ("timeout", "memory_limit", "inputs", "path") if options.get(name) is not None]
        with pytest.raises(ConfigError, match=f"{', '.join(names)} (is|are) of no use with a live model"):
            modgraph.analyze(net, x, **options)

    def test_a_trace_says_why_it_takes_no_timeout(self, net, x):
        with pytest.raises(ConfigError, match="timeout is of no use with a live model, which runs in this process"):
            modgraph.trace(net, x, timeout=3)

    @pytest.mark.parametrize("call", [modgraph.analyze, modgraph.trace])
    @pytest.mark.parametrize("options", [{"mode": "evaluate"}, {"device": "tpu"}])
    def test_a_value_that_an_option_cannot_have_is_refused(self, net, x, call, options):
        with pytest.raises(ConfigError, match="is not possible"):
            call(net, x, **options)

    @pytest.mark.parametrize("call", [modgraph.analyze, modgraph.trace])
    def test_arguments_that_forward_does_not_take_are_refused_before_the_run(self, net, x, call):
        with pytest.raises(InputError, match=r"do not fit forward\(input\): got an unexpected keyword argument 'zz'"):
            call(net, (x,), {"zz": 1})
        with pytest.raises(InputError, match="too many positional arguments"):
            call(net, (x, x))

    def test_a_hook_that_stands_before_forward_may_take_others(self, net, x):
        net.register_forward_pre_hook(lambda module, args: args[:1])
        assert modgraph.trace(net, (x, x)).complete

    def test_freezing_and_converting_a_model_does_not_belie_its_constructor(self, net, x):
        graph = modgraph.analyze(net.requires_grad_(False).double(), x.double())
        assert graph.problems == ()
        weight = graph.modules[1].parameters[0]
        assert (weight.trainable, weight.dtype) == (False, "float64")


class TestNotebook:
    """What a notebook shows of a graph."""

    @pytest.fixture
    def graph(self, model_file: Path):
        return modgraph.predict(model_file)

    def test_text_is_always_there(self, graph, monkeypatch):
        monkeypatch.setenv("PATH", "")
        monkeypatch.setitem(sys.modules, "pygraphviz", None)
        bundle = graph._repr_mimebundle_()
        assert "Net · model.py:Net · predicted" in bundle["text/plain"]

    @pytest.mark.needs_dot
    def test_the_picture_is_there_where_it_can_be_drawn(self, graph):
        assert graph._repr_mimebundle_()["image/svg+xml"].rstrip().endswith("</svg>")

    @pytest.mark.needs_dot
    def test_a_large_picture_is_left_out(self, graph, monkeypatch):
        monkeypatch.setattr("modgraph.export.notebook.MAX_SVG", 100)
        assert list(graph._repr_mimebundle_()) == ["text/plain"]

    def test_what_was_not_asked_for_is_left_out(self, graph):
        assert list(graph._repr_mimebundle_(include={"text/plain"})) == ["text/plain"]
        assert list(graph._repr_mimebundle_(exclude={"image/svg+xml"})) == ["text/plain"]
        assert graph._repr_mimebundle_(exclude={"image/svg+xml", "text/plain"}) == {}

    @pytest.mark.needs_dot
    def test_html_has_both_and_names_are_text(self, graph):
        odd = replace(graph, model=replace(graph.model, name="</pre><b>"))
        (both,) = odd._repr_mimebundle_(include={"text/html"}).values()
        assert both.count("<img ") == both.count("</pre>") == 1
        assert "<b>" not in both
        assert "&lt;/pre&gt;&lt;b&gt; · model.py:Net · predicted" in both

    def test_it_never_raises(self, graph, monkeypatch):
        def fail(*_args, **_options):
            raise RuntimeError("broken")

        monkeypatch.setattr("modgraph.export.notebook.render", fail)
        monkeypatch.setattr("modgraph.export.text.summary.summary", fail)
        assert graph._repr_mimebundle_() == {"text/plain": "<Graph of Net>"}


@pytest.mark.parametrize("target", [3, object, NotImplemented], ids=str)
def test_a_prediction_of_what_is_no_target_says_what_is_one(target):
    with pytest.raises(TargetError, match=r"a target is a text such as 'model\.py:Net', and the") as caught:
        modgraph.predict(target)
    assert "modgraph.analyze(model)" in caught.value.hint


def test_a_class_that_needs_arguments_is_predicted_as_its_file_builds_it_unless_some_are_given(tmp_path: Path):
    file = tmp_path / "model.py"
    file.write_text(NET.replace("width=4", "width") + "\n\ndef build():\n    return Net(7)\n")
    assert modgraph.predict(f"{file}:Net").modules[1].parameters[0].shape == (2, 7)
    assert modgraph.predict(f"{file}:Net", (9,)).modules[1].parameters[0].shape == (2, 9)


def test_a_prediction_is_compared_with_a_checkpoint(model_file: Path, tmp_path: Path):
    checkpoint = tmp_path / "net.safetensors"
    header = b'{"fc.weight": {"dtype": "F32", "shape": [2, 4], "data_offsets": [0, 32]}}'
    checkpoint.write_bytes(len(header).to_bytes(8, "little") + header + bytes(32))
    found = modgraph.predict(model_file, against=checkpoint).checkpoint
    assert found is not None
    assert (found.matching, found.missing) == (1, ("fc.bias",))
    assert modgraph.analyze(model_file, static=True, against=checkpoint).checkpoint == found


@pytest.mark.needs_torch
def test_a_live_model_whose_class_takes_too_long_to_reach_is_traced_all_the_same(monkeypatch):
    torch = pytest.importorskip("torch")
    from modgraph.prediction import live_models
    from modgraph.prediction.domain.limits import LimitError

    def too_long(*_):
        raise LimitError("more than 30 seconds")

    monkeypatch.setattr(live_models, "find_name", too_long)
    model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    (problem,) = modgraph.analyze(model, static=True).problems
    assert problem.message == "Sequential is not reached: more than 30 seconds"
    graph = modgraph.analyze(model, torch.ones(1, 2))
    assert [node.path for node in graph.modules if node.observed] == ["", "0"]


@pytest.mark.parametrize(
    ("line", "raised"),
    [
        ("nn.Conv2d(3, 31, 1, groups=4)", "ValueError"),  # torch refuses it
        ("nn.Linear(2, 2, bais=True)", "TypeError"),  # Python does
    ],
)
def test_what_a_constructor_raises_is_told_once(tmp_path: Path, line: str, raised: str):
    head = "from torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    text = f"{head}        self.layer = {line}\n"
    (tmp_path / "net.py").write_text(text)
    predicted = modgraph.analyze(str(tmp_path / "net.py"), static=True)
    assert [raised in each.message for each in predicted.problems] == [True]
    graph = modgraph.analyze(str(tmp_path / "net.py"))
    assert [each.stage for each in graph.problems] == ["trace"]
    assert raised in graph.problems[0].message
