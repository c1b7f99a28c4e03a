"""Classes that a configuration file of their project names, judged by building each with torch and the same arguments."""

from __future__ import annotations

import textwrap
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import modgraph
from modgraph.arguments import candidates
from modgraph.arguments.config_files import DATA_READERS
from modgraph.arguments.interpolations import References
from modgraph.arguments.python_configs import python_config
from modgraph.export.text.summary import summary
from modgraph.graph.model import ArgumentsFrom
from modgraph.source.targets import Unsaid, parse_target
from tests.arguments import projects

NET = """
    from torch import nn

    class Part(nn.Module):
        def __init__(self, width, act=None):
            super().__init__()
            self.inner = nn.Linear(width, width)
            self.act = act

        def forward(self, x):
            x = self.inner(x)
            return x if self.act is None else self.act(x)

    class Net(nn.Module):
        def __init__(self, depth, width=8, *, eps=1e-3):
            super().__init__()
            self.layers = nn.Sequential(*[nn.Linear(width, width) for _ in range(depth)])
            self.norm = nn.LayerNorm(width, eps=eps)

        def forward(self, x):
            return self.norm(self.layers(x))

    class Whole(nn.Module):
        def __init__(self, part, options=None):
            super().__init__()
            self.part = part
            if options is not None:
                self.head = nn.Linear(options.width, options.classes)

        def forward(self, x):
            return self.part(x)

    class Registry(nn.Module):
        def __init__(self, part):
            super().__init__()
            self.part = build(part)

        def forward(self, x):
            return self.part(x)

    def build(part):
        part = dict(part)
        return {"Part": Part}[part.pop("type")](**part)
    """


def classes() -> SimpleNamespace:
    """The classes of NET, as Python makes them."""
    held: dict[str, Any] = {"__name__": "net"}
    exec(textwrap.dedent(NET), held)
    return SimpleNamespace(**held)


def shapes(graph: modgraph.Graph) -> dict[str, tuple[int | str | None, ...] | None]:
    return {
        f"{node.path}.{held.name}".removeprefix("."): held.shape for node in graph.modules for held in node.parameters
    }


def built(model: torch.nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(each.shape) for name, each in model.named_parameters()}


def found(folder: Path, files: dict[str, str], target: str = "net.py:Net") -> ArgumentsFrom | None:
    """What counts first for a class of a project; nothing is predicted of the model."""
    projects.write(folder, files)
    each = candidates(parse_target(str(folder / target)), assume=False)
    return each[0].beside(each) if each else None


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.yml", "seed: 1\nnetwork:\n  type: Net\n  depth: 3\n  width: 5\n", 3),
        ("a.yaml", "models:\n- {name: Other, depth: 9}\n- {name: Net, depth: 3, width: 5}\n", 3),
        ("a.json", '{"arch": "Net", "depth": 3, "width": 5}', 1),
        ("a.toml", '[model]\narch = "Net"\ndepth = 3\nwidth = 5\n', 2),
        ("a.yml", "model:\n  target: net.Net\n  params:\n    depth: 3\n    width: 5\n  lr: 4.5e-6\n", 2),
        ("a.yml", "model:\n  _target_: net.Net\n  _convert_: all\n  depth: 3\n  width: 5\n", 2),
        ("a.yml", "_target_: net.Net\n_args_: [3, 5]\n", 1),
        ("a.yml", "model:\n  class_path: net.Net\n  init_args: {depth: 3, width: 5}\n", 2),
        ("a.yml", "class: Net\nargs: [3]\nkwargs: {width: 5}\n", 1),
        ("a.yml", "class: net.py:Net\nkwargs: {depth: 3, width: 5}\n", 1),
        ("a.yml", "# Net of old\ntype: Net\npretrained: x.pth\ndepth: 3\nwidth: 5\n", 2),
        ("a.py", "_depth = 1 + 2\nmodel = dict(type='Net', depth=_depth, width=5)\n", None),
        ("a.py", "base = dict(depth=3)\nmodel = {'type': 'Net', **base, 'width': 5}\n", None),
    ],
)
def test_a_mapping_that_names_the_class_gives_its_arguments(tmp_path, name, text, line):
    projects.write(tmp_path, {"net.py": NET})
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / name).write_text(text)
    graph = modgraph.analyze(str(tmp_path / "net.py:Net"), static=True)
    origin = graph.model.arguments_from
    assert shapes(graph) == built(classes().Net(3, 5))
    assert (origin.kind, origin.file, origin.line) == ("config", f"configs/{name}", line)
    assert "depth=3, width=5" in summary(graph)
    assert f"configs/{name}" in summary(graph)


@pytest.mark.parametrize(
    "text",
    [
        "type: Net\nwidth: 5\n",  # lacks what it needs
        "type: Net\n",
        "name: Net\ndepth: 3\nseed: 1\nlr: 2\nepochs: 3\n",  # most of it is something else
        "type: other.Net\ndepth: 3\n",
        "type: Net2\ndepth: 3\n",
        "Net: 3\ndepth: 3\n",
        "- Net\n- depth: 3\n",
        "_target_: net.Net\ndepth: ${depth}\n",
        "_target_: net.Net\ndepth: ???\n",
        "a: &a 3\ntype: Net\ndepth: *a\n",
        "type: Net\ndepth: !!python/name:os.getcwd\n",
        "type: Net\ndepth: 2020-01-01\n",
    ],
)
def test_another_mapping_does_not(tmp_path, text):
    projects.write(tmp_path, {"net.py": NET})
    (tmp_path / "a.yml").write_text(text)
    assert found(tmp_path, {}) is None


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        ("${sizes.width}", 5),
        ("${.other}", 6),
        ("${..sizes.width}", 5),
        ("${sizes.both[1]}", 7),
        ("${sizes.again}", 5),
        ("${configs.sizes.width}", 5),  # the file is a part of a whole, under the name of its folder
        ("${sizes}", None),
        ("a${sizes.width}", None),
        ("${oc.env:WIDTH}", None),
        ("${sizes.loop}", None),
    ],
)
def test_a_reference_is_what_it_refers_to_in_the_file(tmp_path, width, expected):
    text = f"""
        sizes: {{width: 5, both: [6, 7], again: "${{sizes.width}}", loop: "${{sizes.loop}}"}}
        net:
          _target_: net.Net
          depth: 2
          other: 6
          width: {width}
        """
    projects.write(tmp_path, {"net.py": NET, "configs/a.yml": text})
    graph = modgraph.analyze(str(tmp_path / "net.py:Net"), static=True, assume=False)
    assert (graph.model.arguments_from is None) == (expected is None)
    if expected is not None:
        assert shapes(graph) == built(classes().Net(2, expected))


def test_a_number_is_one_as_its_authors_mean_it(tmp_path):
    projects.write(tmp_path, {"net.py": NET, "a.yml": "type: Net\ndepth: 1\neps: 1e-6\n"})
    (each,) = candidates(parse_target(str(tmp_path / "net.py:Net")), assume=False)
    assert each.arguments == {"depth": 1, "eps": 1e-6}


@pytest.mark.parametrize(
    ("cls", "text", "made"),
    [
        ("Whole", "_target_: net.Whole\npart:\n  _target_: net.Part\n  width: 3\n", lambda net: net.Whole(net.Part(3))),
        (
            "Whole",
            "_target_: net.Whole\npart: {_target_: net.Part, width: 3, act: {_target_: torch.nn.PReLU}}\n",
            lambda net: net.Whole(net.Part(3, torch.nn.PReLU())),
        ),
        (
            "Whole",
            "class_path: net.Whole\ninit_args:\n  part:\n    class_path: net.Part\n    init_args: {width: 3}\n",
            lambda net: net.Whole(net.Part(3)),
        ),
        (
            "Whole",
            "type: Whole\npart: {type: Part, width: 3}\noptions: {width: 4, classes: 2}\n",
            lambda net: net.Whole(net.Part(3), SimpleNamespace(width=4, classes=2)),
        ),
        (
            "Registry",
            "type: Registry\npart: {type: Part, width: 3}\n",
            lambda net: net.Registry({"type": "Part", "width": 3}),
        ),
    ],
)
def test_a_value_is_an_object_where_it_is_used_as_one(tmp_path, cls, text, made):
    projects.write(tmp_path, {"net.py": NET})
    (tmp_path / "a.yml").write_text(text)
    whole = modgraph.analyze(str(tmp_path / f"net.py:{cls}"))
    assert shapes(whole) == built(made(classes()))
    assert all(node.predicted and node.observed for node in whole.modules)


def test_an_optimizer_is_handed_over_and_not_made(tmp_path):
    net = """
        from torch import nn

        class Net(nn.Module):
            def __init__(self, width, optimizer):
                super().__init__()
                self.layer = nn.Linear(width, width)
                self.optimizer = optimizer

            def forward(self, x):
                return self.layer(x)

        if __name__ == "__main__":
            Net(None, None)
        """
    text = "_target_: net.Net\nwidth: 3\noptimizer: {_target_: torch.optim.Adam, _partial_: true, lr: 0.1}\n"
    projects.write(tmp_path, {"net.py": net})
    (tmp_path / "a.yml").write_text(text)
    graph = modgraph.analyze(str(tmp_path / "net.py:Net"))
    assert (graph.traced, graph.model.arguments_from.file) == (True, "a.yml")
    assert shapes(graph) == {"layer.weight": (3, 3), "layer.bias": (3,)}
    (tmp_path / "a.yml").write_text(text.replace(", _partial_: true", ""))
    assert found(tmp_path, {}).file == "net.py"  # the call that gives nothing is what is left


@pytest.mark.parametrize("reads", ["config.width, Inner(config)", "config.width, Keys(config)"])
def test_what_reads_attributes_and_hands_on_gets_what_builds(tmp_path, reads):
    net = f"""
        from torch import nn

        class Inner(nn.Module):
            def __init__(self, config):
                super().__init__()
                self.layer = nn.Linear(config.width, config.classes)

        class Keys(nn.Module):
            def __init__(self, config):
                super().__init__()
                self.layer = nn.Linear(config["width"], config["classes"])

        class Net(nn.Module):
            def __init__(self, config):
                super().__init__()
                try:
                    self.width, self.inner = {reads}
                except AttributeError:
                    self.inner = Keys(config)

            def forward(self, x):
                return self.inner.layer(x)
        """
    files = {"net.py": net, "a.yml": "type: Net\nconfig: {width: 3, classes: 2}\n"}
    graph = modgraph.analyze(str(projects.write(tmp_path, files) / "net.py:Net"))
    assert graph.traced
    assert shapes(graph) == {"inner.layer.weight": (2, 3), "inner.layer.bias": (2,)}
    assert [node.class_name for node in graph.modules][1] == ("net.Inner" if "Inner" in reads else "net.Keys")


@pytest.mark.parametrize("made_by", ["os.system", "run.Job", "net.build", "nowhere.Part"])
def test_nothing_is_called_that_is_no_class_of_the_project(tmp_path, made_by):
    run = "class Job:\n    def __init__(self, command): pass\nopen('MARKER', 'w').write('executed')\n"
    text = f"_target_: net.Whole\npart: {{_target_: {made_by}, command: touch MARKER}}\n"
    projects.write(tmp_path, {"net.py": NET, "run.py": run})
    (tmp_path / "a.yml").write_text(text)
    assert found(tmp_path, {}, "net.py:Whole") is None


def test_a_script_that_changes_a_value_does_not_say_it():
    text = """
        import os
        width = 4
        part = dict(type="Part", width=width)
        net = dict(part=part, size=[2] * 2 + [3], most=-1)
        other = dict(part=part)
        other["part"]["width"] = 7
        lost = os.environ.get("X", 3)
        late = dict(a=lost, b=2)

        def change():
            net["size"] = 3
        """
    held = python_config(textwrap.dedent(text))
    assert held["width"] == 4
    assert all(isinstance(held[name], Unsaid) for name in ("part", "net", "other", "os"))
    assert isinstance(held["lost"], Unsaid)
    assert isinstance(held["late"]["a"], Unsaid)
    assert held["late"]["b"] == 2
    kept = python_config(textwrap.dedent(text).replace('other["part"]["width"] = 7', ""))
    assert kept["net"] == {"part": {"type": "Part", "width": 4}, "size": [2, 2, 3], "most": -1}


def test_a_script_is_laid_over_those_that_it_names(tmp_path):
    files = {
        "net.py": NET,
        "configs/base/small.py": "model = dict(net=dict(type='Other', depth=4, width=6), seed=1)\n",
        "configs/a.py": "_base_ = ['base/small.py']\nmodel = dict(net=dict(type='Net', depth=2))\n",
    }
    graph = modgraph.analyze(str(projects.write(tmp_path, files) / "net.py:Net"), static=True)
    assert shapes(graph) == built(classes().Net(2, 6))
    (tmp_path / "configs/a.py").write_text(
        "_base_ = 'base/small.py'\nmodel = dict(net=dict(type='Net', depth=2, _delete_=True))\n"
    )
    graph = modgraph.analyze(str(tmp_path / "net.py:Net"), static=True)
    assert shapes(graph) == built(classes().Net(2))
    (tmp_path / "configs/a.py").write_text("_base_ = 'away.py'\nmodel = dict(net=dict(type='Net', depth=2))\n")
    assert found(tmp_path, {}) is None


def test_a_package_that_gives_the_class_on_may_be_named(tmp_path):
    files = {
        "lib/__init__.py": "from .nets import Net\n",
        "lib/nets/__init__.py": "from lib.nets.net import Net\n",
        "lib/nets/net.py": NET,
        "lib/old/__init__.py": "",
        "lib/old/net.py": NET,
        "a.yml": "target: lib.Net\nparams: {depth: 2}\n",
    }
    assert found(tmp_path, files, "lib/nets/net.py:Net").file == "a.yml"
    assert found(tmp_path, files, "lib/old/net.py:Net") is None


@pytest.mark.parametrize("script", ["train.py", "tools/train.py"])
def test_the_file_that_a_script_opens_by_default_comes_first(tmp_path, script):
    files = {
        "net.py": NET,
        "configs/a_config.yml": "type: Net\ndepth: 2\n",
        "configs/b_config.yml": "type: Net\ndepth: 3\n",
        "configs/c.yml": "type: Net\ndepth: 4\n",
        script: "import argparse\np = argparse.ArgumentParser()\np.add_argument('-c', default='configs/c.yml')\n",
    }
    origin = found(tmp_path, files, "net.py:Net")
    assert (origin.file, [each.file for each in origin.others]) == (
        "configs/c.yml",
        ["configs/a_config.yml", "configs/b_config.yml"],
    )


def test_the_nearest_file_comes_first_and_a_call_before_all(tmp_path):
    files = {
        "lib/__init__.py": "",
        "lib/net.py": NET,
        "lib/z.yml": "type: Net\ndepth: 2\n",
        "configs/a.yml": "type: Net\ndepth: 3\n",
        "configs/same.yml": "type: Net\ndepth: 2\n",
    }
    origin = found(tmp_path, files, "lib/net.py:Net")
    assert (origin.file, [(each.text, each.file, each.line) for each in origin.others]) == (
        "lib/z.yml",
        [("depth=3", "configs/a.yml", 1)],
    )
    assert "also named with depth=3 at configs/a.yml:1" in summary(
        modgraph.analyze(str(tmp_path / "lib/net.py:Net"), static=True)
    )
    assert found(tmp_path, {"run.py": "from lib.net import Net\nNet(4)\n"}, "lib/net.py:Net").kind == "call"


def test_what_the_bases_take_are_arguments_too(tmp_path):
    net = """
        from torch import nn

        class Base(nn.Module):
            def __init__(self, width=4, classes=0):
                super().__init__()
                self.head = nn.Linear(width, classes, bias=1 / classes > 0)

            def forward(self, x):
                return self.head(x)

        class Net(Base):
            def __init__(self, *args, fast=False, **kwargs):
                super().__init__(*args, **kwargs)
        """
    files = {"net.py": net, "a.yml": "type: Net\nwidth: 3\nclasses: 2\n"}
    graph = modgraph.analyze(str(projects.write(tmp_path, files) / "net.py:Net"), static=True)
    assert shapes(graph) == {"head.weight": (2, 3), "head.bias": (2,)}
    (tmp_path / "a.yml").write_text("model: Net\nwidth: 3\nseed: 2\nlr: 3\noutput: here\n")
    assert modgraph.analyze(str(tmp_path / "net.py:Net"), static=True).model.arguments_from is None


DEFAULTS = """
    import os
    from torch import nn

    class Net(nn.Module):
        def __init__(self, width=31, groups=4):
            super().__init__()
            if {test}:
                raise ValueError("no such width")
            self.conv = nn.Conv2d(width, width, 3, groups=groups)

        def forward(self, x):
            return self.conv(x)
    """


@pytest.mark.parametrize("static", [True, False])
def test_a_class_whose_defaults_torch_refuses_is_built_as_a_file_says(tmp_path, static):
    files = {"net.py": DEFAULTS.format(test="width > 99"), "a.yml": "type: Net\nwidth: 40\n"}
    graph = modgraph.analyze(str(projects.write(tmp_path, files) / "net.py:Net"), static=static)
    assert shapes(graph)["conv.weight"] == (40, 10, 3, 3)
    assert graph.model.arguments_from.file == "a.yml"
    assert graph.traced == (not static)


def test_a_class_whose_defaults_only_the_run_refuses_is_built_as_a_file_says(tmp_path):
    text = DEFAULTS.replace("31", "32").format(test="width < int(os.environ.get('LEAST', '36'))")
    files = {"net.py": text, "a.yml": "type: Net\nwidth: 40\n"}
    target = str(projects.write(tmp_path, files) / "net.py:Net")
    graph = modgraph.analyze(target)
    assert (graph.traced, graph.model.arguments_from.file) == (True, "a.yml")
    assert shapes(graph)["conv.weight"] == (40, 10, 3, 3)
    assert not modgraph.analyze(f"{target}()").traced  # the user said them
    (tmp_path / "a.yml").unlink()
    graph = modgraph.analyze(target)
    assert (graph.traced, graph.model.arguments_from) == (False, None)
    assert "no such width" in graph.problems[-1].message


def test_defaults_that_build_are_kept(tmp_path):
    files = {"net.py": DEFAULTS.replace("31", "32").format(test="width > 99"), "a.yml": "type: Net\nwidth: 40\n"}
    graph = modgraph.analyze(str(projects.write(tmp_path, files) / "net.py:Net"), static=True)
    assert graph.model.arguments_from is None
    assert shapes(graph)["conv.weight"] == (32, 8, 3, 3)


# ---- hostile projects ------------------------------------------------------------------------------------------------


def test_values_that_grow_beyond_all_measure_are_refused(tmp_path):
    lines = ["a0 = [1] * 1000", *(f"a{n} = [a{n - 1}] * 1000" for n in range(1, 9))]
    text = "\n".join([*lines, "model = dict(type='Net', depth=2, width=a8)", ""])
    assert found(tmp_path, {"net.py": NET, "a.py": text}) is None
    lines = ["a0 = dict(type='Other')", *(f"a{n} = dict(x=a{n - 1}, y=a{n - 1})" for n in range(1, 60))]
    text = "\n".join([*lines, "model = dict(type='Net', depth=2)", ""])
    assert found(tmp_path, {"a.py": text}) is None


def test_a_graph_that_was_saved_is_no_configuration(tmp_path):
    graph = modgraph.analyze(f"{projects.write(tmp_path, {'net.py': NET}) / 'net.py'}:Net(3)", static=True)
    (tmp_path / "out.json").write_text(graph.to_json())
    assert found(tmp_path, {}) is None


def test_of_many_files_a_few_are_taken_and_bases_in_a_circle_end(tmp_path):
    many = {f"configs/{n:02}.yml": f"type: Net\ndepth: {n + 1}\n" for n in range(40)}
    projects.write(tmp_path, {"net.py": NET, **many})
    assert len(candidates(parse_target(str(tmp_path / "net.py:Net")), assume=False)) == 3
    circle = "_base_ = '{}.py'\nmodel = dict(type='Net', depth=2)\n"
    other = projects.write(tmp_path / "b", {"net.py": NET, "a.py": circle.format("b"), "b.py": circle.format("a")})
    assert candidates(parse_target(str(other / "net.py:Net")), assume=False) == ()


def test_nothing_is_read_beyond_the_border_of_the_project(tmp_path):
    projects.write(tmp_path, {"a.yml": "type: Net\ndepth: 3\n", "a.py": "model = dict(type='Net', depth=3)\n"})
    inner = projects.write(tmp_path / "inner", {"net.py": NET, "b.py": "_base_ = '../a.py'\nx = 'Net'\n"})
    (inner / "link.yml").symlink_to(tmp_path / "a.yml")
    assert candidates(parse_target(str(inner / "net.py:Net")), assume=False) == ()


@pytest.mark.parametrize("text", ["- " * 45_000, "? " * 45_000, "x:\n" + "- " * 45_000 + "Net"])
def test_yaml_that_is_nested_too_deeply_is_refused(text):
    with pytest.raises(ValueError, match="nested too deeply"):
        DATA_READERS["yaml"](text)


def test_objects_that_stand_in_many_places_end(tmp_path):
    """Twice in each object: a text of them, and a walk through them, has no end."""
    twice = ["n = 'Net'", "a0 = {}", *(f"a{n} = dict(x=a{n - 1}, y=a{n - 1})" for n in range(1, 40))]
    files = {
        "net.py": NET,
        "text.py": "\n".join([*twice, "schema = a39", ""]),
        "base.py": "\n".join(twice),
        "over.py": "\n".join(["_base_ = 'base.py'", *twice]),
        "chain.py": "\n".join(
            ["n = 'Net'", "a0 = []", *(f"a{n} = [a{n - 1}]" for n in range(1, 3000)), "schema = a2999"]
        ),
        "both.json": '{"_base_": "below.json", "type": "Net", "depth": 2, "x": '
        + '{"a":' * 900
        + "1"
        + "}" * 900
        + "}",
        "below.json": '{"type": "Net", "x": ' + '{"a":' * 900 + "1" + "}" * 900 + "}",
    }
    begin = time.process_time()
    assert found(tmp_path, files) is None
    assert time.process_time() - begin < 5


@pytest.mark.parametrize(
    "lines",
    [
        ["a0 = 1", *(f"a{n} = a{n - 1}" for n in range(1, 8000))],
        [
            "a = {}",
            *(f"a{n} = dict(x=a)" for n in range(1000)),
            *(f"print(a{n})" for n in range(1000)),
            *["print(a)"] * 5000,
        ],
        ["a = dict(" + ", ".join(f"b{n}=1" for n in range(4000)) + ")", "c = dict(" + "**a, " * 8000 + ")"],
        ["f(" + "lambda: " * 300 + "a)"] * 30,
        ["x = " + "+".join(["a"] * 900)] * 20,
    ],
)
def test_a_script_takes_no_longer_than_it_is_long(lines):
    begin = time.process_time()
    python_config("\n".join(lines))
    assert time.process_time() - begin < 3


def test_a_reference_with_many_dots_takes_no_longer_than_it_is_long():
    begin = time.process_time()
    assert isinstance(References({}, "").value("${" + "." * 40_000 + "!}", ()), Unsaid)
    assert time.process_time() - begin < 1


@pytest.mark.parametrize(
    "change",
    [
        "from local import *",
        "def deepen():\n    model['depth'] = 9\ndeepen()",
        "def deepen():\n    global model\n    model = 9\nused = [deepen() for _ in range(1)]",
        "def deepen(given):\n    model['depth'] = 9\n@deepen\ndef other(): pass",
        "def deepen():\n    model['depth'] = 9\n    return 1\ndef other(given=deepen()): pass",
        "deepen = lambda: model.update(depth=9)\nmodel = dict(type='Net', depth=5)\ndeepen()",
        "class Deepen:\n    model['depth'] = 9",
        "class Deepen:\n    def __add__(self, other):\n        model['depth'] = 9\ndeepen = Deepen()\n"
        "model = dict(type='Net', depth=5)\nx = deepen + 1",
        "if True:\n    import os as model",
        "match 3:\n    case model: pass",
        "match [1, 2]:\n    case [1, *model]: pass",
        "match {1: 2}:\n    case {**model}: pass",
        "try:\n    1 / 0\nexcept ZeroDivisionError as model: pass",
        "if True:\n    def model(): pass",
        "globals()['model']['depth'] = 9",
        "globals()['model'] = 9",
        "exec(\"model['depth'] = 9\")",
        "import sys\nsys.modules[__name__].model = 9",
        "held = [model]\nheld[0]['depth'] = 9",
        "def dict(**given): return 9\nmodel = dict(type='Net', depth=5)",
        "if __name__ == '__main__':\n    pass\nelse:\n    model['depth'] = 9",
        "with open(__file__) as model: pass",
        "model['depth'] += 4",
    ],
)
def test_what_python_changes_is_not_said(tmp_path, change, run_code):
    text = f"depth = 5\nmodel = dict(type='Net', depth=depth)\n{change}\nkept = 7\n"
    (tmp_path / "local.py").write_text("model = dict(type='Net', depth=9)\n")
    (tmp_path / "conf.py").write_text(text)
    run = "import conf; print(getattr(conf, 'model', 9) == {'type': 'Net', 'depth': 5}, conf.kept)"
    done = run_code(run, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "False 7\n", done.stderr
    held = python_config(text)
    assert isinstance(held["model"], Unsaid)
    assert held["kept"] == 7


@pytest.mark.parametrize(
    "statement",
    [
        "print(depth)",
        "def other():\n    model = 3\n    return model",
        "def other(model): return model['depth']",
        "from model import depth as other",
        "name = f'{depth}'",
        "x = model['depth'] + 1",
        "def other(): return model\nx = dict(y=model['depth'] * 2)",
        "for i in range(depth): print(i)",
    ],
)
def test_what_python_does_not_change_is_said(statement):
    held = python_config(f"depth = 5\nmodel = dict(type='Net', depth=depth)\n{statement}\n")
    assert (held["depth"], held["model"]) == (5, {"type": "Net", "depth": 5})


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("data: {name: Net, depth: 6, path: ./data}", False),
        ("data: {name: Net, params: {depth: 6}, path: ./data}", False),
        ("data: {id: Net, depth: 6, path: ./data}", False),
        ("model: {name: Net, depth: 6}", True),
        ("model: {name: Net, params: {depth: 6}}", True),
        ("model: {name: net.Net, depth: 6, path: ./data}", True),
        ("model: {type: Net, depth: 6, path: ./data}", True),
        ("model: {model_name: Net, depth: 6, path: ./data}", True),
    ],
)
def test_what_only_has_a_name_is_no_class_for_sure(tmp_path, text, counts):
    assert (found(tmp_path, {"net.py": NET, "a.yml": f"{text}\n"}) is not None) == counts


OTHER = "class Net:\n    def __init__(self, depth): pass\n"


@pytest.mark.parametrize(
    ("config", "other", "counts"),
    [
        ("b/config.yaml", {"b/other.py": OTHER}, False),
        ("b/config.yaml", {"b/deep/other.py": OTHER}, False),
        ("a/config.yaml", {"b/other.py": OTHER}, True),
        ("config.yaml", {"b/other.py": OTHER}, False),  # both lie equally near
        ("config.yaml", {"b/deep/other.py": OTHER}, True),
        ("b/config.yaml", {"b/other.py": "try:\n    import x\nexcept ImportError:\n    class Net: pass\n"}, False),
        ("b/config.yaml", {"b/other.py": "def test():\n    class Net: pass\n"}, True),
        ("b/config.yaml", {"b/other.py": "from a.net import Net\n"}, True),
    ],
)
def test_a_name_alone_means_the_nearest_class(tmp_path, config, other, counts):
    files = {"a/__init__.py": "", "a/net.py": NET, **other, config: "model: {type: Net, depth: 5}\n"}
    assert (found(tmp_path, files, "a/net.py:Net") is not None) == counts
    (tmp_path / config).write_text("model: {type: a.net.Net, depth: 5}\n")
    assert found(tmp_path, {}, "a/net.py:Net") is not None


def test_in_a_project_too_large_to_look_through_a_name_alone_says_nothing(tmp_path, monkeypatch):
    files = {"net.py": NET, "a.yml": "type: Net\ndepth: 5\n"}
    assert found(tmp_path, files) is not None
    monkeypatch.setattr("modgraph.arguments.namesakes.MAX_FILES", 0)
    assert found(tmp_path, {}) is None
