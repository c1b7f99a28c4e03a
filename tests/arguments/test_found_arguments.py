"""The arguments of a class that is named without any: where they are found, in which order, and what is said of them."""

from __future__ import annotations

import ast
import json
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import jsonschema
import pytest

import modgraph
from modgraph.arguments import calls_in_project, candidates, project_files
from modgraph.arguments.assumed import suggested
from modgraph.export import render
from modgraph.export.text.summary import summary
from modgraph.graph.model import ArgumentsFrom
from modgraph.graph.serial import schema
from modgraph.source.targets import Built, parse_target
from tests.arguments import projects


def named(folder: Path, project: str) -> str:
    projects.write(folder, projects.PROJECTS[project])
    return str(folder / projects.MODEL_FILES[project])


def of(folder: Path, files: dict[str, str], target: str = "net.py", **options: bool) -> modgraph.Graph:
    """The static graph of a target in a project of these files."""
    projects.write(folder, files)
    return modgraph.analyze(str(folder / target), static=True, **options)


def found_in(folder: Path, files: dict[str, str], target: str = "net.py:Net") -> ArgumentsFrom | None:
    """Where the arguments of a class of a project are found that count first; nothing is predicted of the model."""
    projects.write(folder, files)
    found = candidates(parse_target(str(folder / target)), assume=False)
    return found[0].beside(found) if found else None


def weights(graph: modgraph.Graph) -> list[tuple[int | str | None, ...] | None]:
    return [held.shape for node in graph.modules for held in node.parameters if held.name == "weight"]


NET = """
    from torch import nn

    class Net(nn.Module):
        def __init__(self, depth, width=8):
            super().__init__()
            self.layers = nn.Sequential(*[nn.Linear(width, width) for _ in range(depth)])

        def forward(self, x):
            return self.layers(x)
    """


@pytest.mark.parametrize(
    ("project", "kind", "file", "shapes"),
    [
        ("mingpt", "call", "train.py", [(50, 24), *[(24,), (24, 24)] * 3, (50, 24)]),
        ("nanogpt", "config", "model.py", [(64, 16), (16, 16), (16, 16)]),
        ("unet", "call", "train.py", [(8, 3, 3, 3), (2, 8, 1, 1)]),
        ("vit", "call", "tests/test_vit.py", [(24, 3, 8, 8), *[(24, 24)] * 3, (7, 24)]),
        ("yaml", "call", "train.py", [(20, 12), (3, 20)]),
        ("gan", "call", "dcgan.py", [(16, 20), (1, 16)]),
        ("annotated", "config", "pkg/config.py", [(48, 24), (48, 24)]),
        ("conflict", "call", "main.py", [(6, 6)] * 4),
        ("plain", "assumed", None, [(64, 3, 3, 3), (10, 64)]),
    ],
)
def test_they_are_found_in_the_project_and_nothing_is_executed(tmp_path, project, kind, file, shapes):
    graph = modgraph.analyze(named(tmp_path, project), static=True)
    found = graph.model.arguments_from
    assert (found.kind, found.file) == (kind, file)
    assert weights(graph) == shapes
    assert graph.complete == (kind != "assumed")
    assert not list(tmp_path.rglob("MARKER"))


@pytest.mark.parametrize("project", ["mingpt", "yaml", "gan", "annotated"])
def test_the_live_model_is_built_with_them(tmp_path, project):
    graph = modgraph.analyze(named(tmp_path, project))
    assert graph.complete
    assert all(node.predicted and node.observed for node in graph.modules)
    assert graph.model.arguments_from is not None
    assert not list(tmp_path.rglob("MARKER"))


def test_the_line_of_the_call_is_said(tmp_path):
    files = {"net.py": NET, "run.py": "from net import Net\n\n\nnet = Net(3)\n"}
    graph = of(tmp_path, files)
    text = summary(graph)
    assert graph.model.arguments_from.line == 4
    assert graph.model.target == "net.py:Net(3)"
    assert "\narguments   found in run.py:4: depth=3\n" in text
    assert "arguments found in run.py:4" in render(graph, "dot")


def test_others_are_named_with_what_differs(tmp_path):
    graph = modgraph.analyze(named(tmp_path, "conflict"), static=True)
    (other,) = graph.model.arguments_from.others
    assert (other.text, other.file, other.line) == ("depth=12", "examples/demo.py", 3)
    assert "also called with depth=12 at examples/demo.py:3" in summary(graph)


def test_the_same_arguments_written_otherwise_are_no_others(tmp_path):
    calls = {"a.py": "from net import Net\nNet(3, 8)\n", "b.py": "from net import Net\nNet(width=8, depth=3)\n"}
    assert found_in(tmp_path, {"net.py": NET, **calls}).others == ()


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ({}, ("call", "net.py")),
        ({"config": True}, ("config", "net.py")),
    ],
)
def test_a_configuration_class_comes_before_calls_and_the_own_file_before_others(tmp_path, extra, expected):
    config = """
        class NetConfig:
            depth = 2
            width = 4
        """
    model = """
        from torch import nn

        class Net(nn.Module):
            def __init__(self, config):
                super().__init__()
                self.layers = nn.ModuleList([nn.Linear(config.width, 2) for _ in range(config.depth)])

        def demo():
            from types import SimpleNamespace
            config = SimpleNamespace(depth=1, width=3)
            return Net(config).eval()
        """
    text = textwrap.dedent(config if extra else "") + textwrap.dedent(model)
    other = "from types import SimpleNamespace\nfrom net import Net\nNet(SimpleNamespace(depth=5, width=5))\n"
    found = found_in(tmp_path, {"net.py": text, "train.py": other})
    assert (found.kind, found.file) == expected
    assert found.others[-1].file == "train.py"


def test_the_nearest_file_comes_first(tmp_path):
    call = "from models.net import Net\nNet({})\n"
    files = {
        "models/__init__.py": "",
        "models/net.py": NET,
        "models/demo.py": call.format(3),
        "train.py": call.format(5),
        "z/deep/a.py": call.format(7),
    }
    found = found_in(tmp_path, files, "models/net.py:Net")
    assert [found.file, *(other.file for other in found.others)] == ["models/demo.py", "train.py", "z/deep/a.py"]


def test_arguments_with_which_the_constructor_is_predicted_to_raise_are_passed_over(tmp_path):
    model = NET.replace("super().__init__()", "super().__init__()\n            assert depth > 2", 1)
    calls = {"a.py": "from net import Net\nNet(1)\n", "b.py": "from net import Net\nNet(3)\n"}
    found = of(tmp_path, {"net.py": model, **calls}).model.arguments_from
    assert found.file == "b.py"


def test_arguments_with_which_the_live_constructor_raises_are_passed_over(tmp_path):
    model = NET.replace(
        "super().__init__()",
        "super().__init__()\n            if depth < int(os.environ.get('LEAST', '3')): raise ValueError",
        1,
    )
    model = model.replace("from torch", "import os\n    from torch", 1)
    calls = {"a.py": "from net import Net\nNet(1)\n", "b.py": "from net import Net\nNet(3)\n"}
    projects.write(tmp_path, {"net.py": model, **calls})
    graph = modgraph.analyze(str(tmp_path / "net.py"))
    assert graph.traced
    assert graph.model.arguments_from.file == "b.py"


def test_a_configuration_class_of_a_script_is_not_imported(tmp_path):
    train = """
        from net import Net

        class Config:
            width = 6

            def __init__(self):
                self.depth = 2

        if True:
            open("MARKER", "w").write("executed")
        net = Net(Config())
        """
    model = """
        from torch import nn

        class Net(nn.Module):
            def __init__(self, config):
                super().__init__()
                self.layers = nn.Sequential(*[nn.Linear(config.width, config.width) for _ in range(config.depth)])

            def forward(self, x):
                return self.layers(x)
        """
    projects.write(tmp_path, {"net.py": model, "train.py": train})
    graph = modgraph.analyze(str(tmp_path / "net.py"))
    assert graph.traced
    assert weights(graph) == [(6, 6), (6, 6)]
    assert all(node.predicted and node.observed for node in graph.modules)
    assert not list(tmp_path.rglob("MARKER"))


def test_a_configuration_class_with_methods_of_a_script_is_no_argument(tmp_path):
    train = """
        from net import Net

        class Config:
            def __init__(self):
                self.depth = 2

            def width(self):
                return 4

        print("trains")
        net = Net(Config())
        """
    model = NET.replace("depth,", "config,").replace("range(depth)", "range(config.depth)")
    assert found_in(tmp_path, {"net.py": model, "train.py": train}) is None


def test_an_attribute_that_is_not_known_is_refused_where_the_model_reads_it(tmp_path):
    model = """
        from torch import nn

        class Net(nn.Module):
            def __init__(self, args):
                super().__init__()
                self.layer = nn.Linear(args.width, {})

            def forward(self, x):
                return self.layer(x)
        """
    train = """
        import argparse
        import os
        from net import Net

        args = argparse.Namespace(width=4)
        args.where = os.environ.get("PLACE")
        net = Net(args)
        """
    projects.write(tmp_path, {"net.py": model.format(3), "train.py": train})
    assert modgraph.analyze(str(tmp_path / "net.py")).complete
    projects.write(tmp_path, {"net.py": model.format("3 if hasattr(args, 'where') else 5"), "train.py": train})
    graph = modgraph.analyze(str(tmp_path / "net.py"))
    assert not graph.traced
    assert "UnsaidError: the value of 'where' is not known where the arguments were found" in graph.problems[-1].message
    assert "modgraph." not in graph.problems[-1].message


def test_a_module_that_is_an_argument_is_built_as_the_call_builds_it(tmp_path):
    model = """
        from torch import nn

        class Part(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.layer = nn.Linear(width, width)

            def forward(self, x):
                return self.layer(x)

        class Whole(nn.Module):
            def __init__(self, part, act=nn.ReLU):
                super().__init__()
                self.part = part
                self.act = act()

            def forward(self, x):
                return self.act(self.part(x))
        """
    train = "from torch import nn\nfrom net import Part, Whole\nwhole = Whole(Part(5), act=nn.GELU)\n"
    projects.write(tmp_path, {"net.py": model, "train.py": train})
    graph = modgraph.analyze(str(tmp_path / "net.py:Whole"))
    assert graph.complete
    assert [node.class_name.rpartition(".")[2] for node in graph.modules] == ["Whole", "Part", "Linear", "GELU"]
    assert all(node.predicted and node.observed for node in graph.modules)


def test_nothing_is_looked_for_beyond_the_border_of_the_project(tmp_path):
    projects.write(tmp_path, {"outside.py": "from net import Net\nNet(3)\n"})
    inner = projects.write(tmp_path / "repository", {"net.py": NET})
    (inner / "link.py").symlink_to(tmp_path / "outside.py")
    assert candidates(parse_target(str(inner / "net.py:Net")), assume=False) == ()


def test_assumed_values_are_marked_and_can_be_switched_off(tmp_path):
    target = named(tmp_path, "plain")
    assumed = modgraph.analyze(target, static=True)
    assert assumed.model.arguments_from.assumed == ("in_channels", "hidden_size", "num_classes")
    assert "assumed" in assumed.problems[0].message
    assert "arguments assumed: in_channels=3" in render(assumed, "dot")
    for graph in (modgraph.analyze(target, static=True, assume=False), modgraph.predict(target)):
        assert graph.model.arguments_from is None
        assert weights(graph) == [(None, None, 3, 3), (None, None)]
    assert weights(modgraph.predict(target, assume=True)) == [(64, 3, 3, 3), (10, 64)]


def test_a_parameter_whose_name_says_nothing_leaves_all_open(tmp_path):
    graph = of(tmp_path, {"net.py": NET.replace("depth,", "depth, frobnication,")})
    assert graph.model.arguments_from is None
    assert not graph.complete


def test_arguments_that_are_given_are_taken(tmp_path):
    files = {"net.py": NET, "run.py": "from net import Net\nNet(3)\n"}
    assert len(weights(of(tmp_path, files, "net.py:Net(1)"))) == 1
    graph = modgraph.predict(str(tmp_path / "net.py:Net"), kwargs={"depth": 2})
    assert (len(weights(graph)), graph.model.arguments_from) == (2, None)
    assert len(weights(modgraph.predict(str(tmp_path / "net.py:Net")))) == 3


def test_a_class_of_the_same_name_elsewhere_is_another(tmp_path):
    other = "class Net:\n    def __init__(self, depth): pass\nnet = Net(9)\n"
    assert found_in(tmp_path, {"net.py": NET, "other.py": other}) is None


@pytest.mark.parametrize(
    "call",
    [
        "from net import Net as Model\nmodel = Model(3)\n",
        "import net\nmodel = net.Net(depth=3)\n",
        "from net import Net\ndef build(args):\n    return Net(3)\n",
        "from net import Net\nimport pytest\n@pytest.mark.slow\ndef test_it(tmp_path):\n    Net(3)\n",
        "from unittest import TestCase\nfrom net import Net\nclass T(TestCase):\n    def test(self):\n        Net(3)\n",
        "from net import Net\ndef make(n): return Net(n)\ndef main(): return make(3)\n",
        "from net import Net\nif __name__ == '__main__':\n    for _ in range(2):\n        Net(3)\n",
        "import json\nfrom net import Net\nNet(**json.load(open('conf.json')))\n",
    ],
)
def test_ways_to_call(tmp_path, call):
    found = found_in(tmp_path, {"net.py": NET, "call.py": call, "conf.json": '{"depth": 3}'})
    assert (found.text, found.file) == ("depth=3", "call.py")


def test_of_devices_the_one_is_taken_on_which_the_model_is_built(tmp_path):
    call = """
        import torch
        from net import Net
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        net = Net(3, device)
        """
    projects.write(tmp_path, {"net.py": NET, "call.py": call})
    (found,) = candidates(parse_target(str(tmp_path / "net.py:Net")), assume=False)
    assert found.arguments["width"] == Built("torch.device", ("cpu",))


# ---- hostile projects ------------------------------------------------------------------------------------------------


def test_a_huge_file_is_not_parsed(tmp_path, monkeypatch):
    files = {"net.py": NET, "huge.py": "from net import Net\nNet(3)\n" + "x = 1\n" * 60_000}
    assert found_in(tmp_path, files) is None
    monkeypatch.setattr(project_files, "MAX_TEXT", 10**6)
    assert found_in(tmp_path, files).file == "huge.py"


def test_of_a_thousand_calls_a_few_are_taken(tmp_path):
    lines = "".join(f"def f{n}(): return Net({n + 1})\n" for n in range(1_000))
    files = {f"run{n}.py": "from net import Net\n" + lines for n in range(5)}
    projects.write(tmp_path, {"net.py": NET, **files})
    found = candidates(parse_target(str(tmp_path / "net.py:Net")), assume=False)
    assert 1 <= len(found) <= calls_in_project.MAX_CALLS
    assert len(found[0].beside(found).others) <= 3


def test_files_that_import_each_other_and_do_not_end(tmp_path):
    files = {
        "net.py": NET,
        "a.py": "import b\nfrom net import Net\ndef f(): return f()\nwhile True:\n    Net(f())\n",
        "b.py": "import a\nfrom net import Net\nnet = Net(2)\n",
    }
    assert found_in(tmp_path, files).file == "b.py"


def test_files_are_bounded_in_number(tmp_path, monkeypatch):
    projects.write(tmp_path, {"net.py": NET, **{f"f{n:02}.py": "pass\n" for n in range(20)}})
    projects.write(tmp_path, {"z/call.py": "from net import Net\nNet(3)\n"})
    monkeypatch.setattr(project_files, "MAX_FILES", 10)
    assert candidates(parse_target(str(tmp_path / "net.py:Net")), assume=False) == ()


# ---- the command -----------------------------------------------------------------------------------------------------


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "modgraph", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


def test_a_model_that_nothing_can_build_is_predicted_and_written(tmp_path):
    projects.write(tmp_path, projects.PROJECTS["lost"])
    done = run(tmp_path, "analyze", "net.py")
    document = json.loads((tmp_path / "modgraph-out/Net.json").read_text())
    assert done.returncode == 1
    assert [each["message"] for each in document["problems"]] == [
        "'rest' may have further children: argument 'spec' is not given: Net(spec)"
    ]
    assert [each["path"] for each in document["modules"]] == ["", "first", "rest", "rest.?"]


def test_no_assume_leaves_the_prediction(tmp_path):
    projects.write(tmp_path, projects.PROJECTS["plain"])
    done = run(tmp_path, "analyze", "net.py", "--no-assume", "--format", "json")
    document = json.loads((tmp_path / "modgraph-out/Classifier.json").read_text())
    assert done.returncode == 1
    assert "arguments_from" not in document["model"]
    assert "are not given: Classifier(in_channels, hidden_size, num_classes)" in " ".join(done.stdout.split())


def test_assumed_arguments_run_with_status_1_and_a_help_that_works(tmp_path):
    folder = projects.write(tmp_path / "a folder", projects.PROJECTS["plain"])
    done = run(tmp_path, "analyze", "a folder/net.py", "--format", "json", "-o", "out")
    document = json.loads((tmp_path / "out/Classifier.json").read_text())
    jsonschema.Draft202012Validator(schema()).validate(document)
    assert done.returncode == 1
    assert document["calls"]
    assert document["model"]["arguments_from"]["kind"] == "assumed"
    hint = done.stderr.partition("give the arguments, ")[2].partition(", or write a function")[0]
    words = shlex.split(hint)
    assert words[:2] == ["modgraph", "analyze"]
    typed = run(tmp_path, *words[1:], "--static", "--format", "json")
    assert typed.returncode == 0, typed.stderr
    (folder / "net.py").write_text((folder / "net.py").read_text() + "\ndef build():\n    return Classifier(3, 8, 2)\n")
    words = shlex.split(done.stderr.partition("and name that: ")[2].splitlines()[0])
    assert run(tmp_path, *words[1:], "--static", "--format", "json").returncode == 0


def test_what_is_written_is_read_again(tmp_path):
    graph = modgraph.analyze(named(tmp_path, "conflict"), static=True)
    text = graph.to_json()
    jsonschema.Draft202012Validator(schema()).validate(json.loads(text))
    (tmp_path / "graph.json").write_text(text)
    assert modgraph.load(tmp_path / "graph.json").model == graph.model


GRAPHS = """
    from torch import nn

    class Narrow(nn.Module):
        def __init__(self, nfeat, width, nclass, slope):
            super().__init__()
            self.inner = nn.Linear(nfeat, width)
            self.act = nn.LeakyReLU(slope)
            self.outer = nn.Linear(width, nclass)

        def forward(self, x):
            return self.outer(self.act(self.inner(x)))

    class Wide(Narrow):
        def forward(self, x):
            return self.inner(x)
    """
PARTLY = {
    "net.py": GRAPHS,
    "train.py": """
        import argparse
        import numpy as np
        from net import Narrow

        parser = argparse.ArgumentParser()
        parser.add_argument("--width", type=int, default=24)
        args = parser.parse_args()
        features = np.load("features.npy")
        model = Narrow(nfeat=features.shape[1], width=args.width, nclass=int(features.max()), slope=0.3)
        """,
}


def test_of_a_call_that_says_only_some_the_others_are_assumed(tmp_path):
    graph = of(tmp_path, PARTLY, "net.py:Narrow")
    found = graph.model.arguments_from
    assert (found.kind, found.file, found.assumed) == ("assumed", "train.py", ("nfeat", "nclass"))
    assert [shape[0] for shape in weights(graph)] == [24, 10]
    assert not graph.complete
    assert "nfeat, nclass are assumed" in graph.problems[0].message
    assert "found in train.py:" in summary(graph)
    assert "assumed from the names: nfeat, nclass" in " ".join(summary(graph).split())
    assert of(tmp_path, PARTLY, "net.py:Narrow", assume=False).model.arguments_from is None


def test_of_several_models_those_are_assumed_that_are_called_somewhere(tmp_path):
    projects.write(tmp_path, {**PARTLY, "net.py": GRAPHS.replace("Wide(Narrow)", "Wide(nn.Module)")})
    command = [sys.executable, "-m", "modgraph", "analyze", str(tmp_path / "net.py"), "--static", "--format", "json"]
    run = subprocess.run([*command, "-o", str(tmp_path / "out")], capture_output=True, text=True, check=False)
    assert run.returncode == 1, run.stderr
    document = json.loads((tmp_path / "out" / "Narrow.json").read_text())
    assert document["model"]["arguments_from"]["assumed"] == ["nfeat", "nclass"]
    assert "net.py:Narrow(nfeat=64, width=24, nclass=10, slope=0.3)" in run.stderr  # the example has what was found


@pytest.mark.parametrize(
    ("defaults", "call"),
    [
        ("sizes=None, groups=1", "sizes=[4, 6]"),  # nothing is built without
        ("sizes=(3, 5), groups=2", "sizes=[4, 6], groups=2"),  # torch refuses the defaults
    ],
)
def test_a_class_whose_defaults_build_nothing_is_built_as_it_is_called(tmp_path, defaults, call):
    files = {
        "net.py": f"""
        from torch import nn

        class Net(nn.Module):
            def __init__(self, {defaults}):
                super().__init__()
                for number, size in enumerate(sizes or ()):
                    setattr(self, f"conv{{number}}", nn.Conv2d(size, size, 1, groups=groups))

            def forward(self, x):
                return self.conv0(x)
        """,
        "run.py": f"""
        from net import Net
        if __name__ == "__main__":
            Net({call})
        """,
    }
    graph = of(tmp_path, files)
    assert graph.model.arguments_from.file == "run.py"
    assert [shape[0] for shape in weights(graph)] == [4, 6]
    del files["run.py"]
    (tmp_path / "run.py").unlink()
    assert of(tmp_path, files).model.arguments_from is None


def test_a_package_that_reads_data_does_not_keep_a_script_from_its_call(tmp_path):
    """Its source is long to follow; what it gives is unknown then, and the call is reached."""
    steps = "".join(f"def step{n}(x):\n    return [step{n - 1}(each) for each in ([x] * 9)]\n" for n in range(1, 9))
    heavy = f"def step0(x):\n    return object()\n{steps}def load():\n    return step8({{}})\n"
    site = tmp_path / "env" / "site-packages"
    site.mkdir(parents=True)
    (site / "heavydata.py").write_text(heavy)
    files = {
        "net.py": NET,
        "train.py": """
        import heavydata
        from net import Net

        model = Net(depth=2, width=len(heavydata.load()))
        other = Net(3, 5)
        """,
    }
    projects.write(tmp_path / "project", files)
    target = parse_target(str(tmp_path / "project" / "net.py:Net"), path=[str(site)])
    found = candidates(target, assume=False)
    assert [each.origin.text for each in found] == ["depth=3, width=5"]


READS = """
    from torch import nn

    class Net(nn.Module):
        def __init__(self, config):
            super().__init__()
            first = config{0}
            self.layers = nn.ModuleList([nn.Linear(first, width) for width in config{1}])

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x
    """


@pytest.mark.parametrize("by", [(".data.size", ".model.widths"), ('["data"]["size"]', '["model"]["widths"]')])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("small.yml", "data: {size: 5}\nmodel:\n  widths: [7]\n"),
        ("small.json", '{"data": {"size": 5}, "model": {"widths": [7]}}'),
        ("small.toml", "data.size = 5\nmodel.widths = [7]\n"),
    ],
)
def test_a_configuration_file_that_has_all_that_is_read_is_taken(tmp_path, by, name, text):
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "a_base.json").write_text('{"data": {"size": 5}, "model": {"depth": 1}}')  # no widths
    (tmp_path / "configs" / name).write_text(text)
    target = projects.write(tmp_path, {"nets/net.py": READS.format(*by)}) / "nets" / "net.py"
    graph = modgraph.analyze(str(target))
    found = graph.model.arguments_from
    assert (found.kind, found.file, found.line) == ("config", f"../configs/{name}", None)
    assert weights(graph) == [(7, 5)]
    assert graph.complete
    assert f"config read from ../configs/{name}" in summary(graph)


def test_a_call_comes_before_a_configuration_file(tmp_path):
    files = {
        "net.py": READS.format(".size", ".widths"),
        "train.py": """
        from types import SimpleNamespace
        from net import Net

        model = Net(SimpleNamespace(size=2, widths=[3]))
        """,
    }
    (tmp_path / "net.yaml").write_text("size: 5\nwidths: [7]\n")
    assert weights(of(tmp_path, files)) == [(3, 2)]


@pytest.mark.parametrize(
    "text",
    [
        "size: 5\n",  # not all of it
        "- size\n- widths\n",
        "size: !!python/name:os.system\nwidths: [7]\n",
        "a: &a [7]\nsize: 5\nwidths: *a\n",  # may grow beyond all measure
        "size: 5\nwidths: [7\n",
        "size: 5\nwidths: [2020-01-01]\n",
        "size: five\nwidths: [7]\n",  # the constructor is predicted to raise
    ],
)
def test_a_file_that_does_not_fit_is_no_configuration(tmp_path, text):
    (tmp_path / "net.yaml").write_text(text)
    files = {"net.py": READS.format(".size", ".widths")}
    assert of(tmp_path, files, assume=False).model.arguments_from is None


def test_each_parameter_has_the_file_that_fits_it(tmp_path):
    files = {
        "net.py": """
        from torch import nn

        class Net(nn.Module):
            def __init__(self, data, model):
                super().__init__()
                self.layer = nn.Linear(data["size"], model["net"]["width"])

            def forward(self, x):
                return self.layer(x)
        """
    }
    (tmp_path / "data.yaml").write_text("size: 5\n")
    (tmp_path / "net.yaml").write_text("net: {width: 7}\n")
    graph = of(tmp_path, files)
    assert graph.model.arguments_from.file == "data.yaml, net.yaml"
    assert weights(graph) == [(7, 5)]


OPTIONS = """
    import argparse
    from torch import nn

    def main():
        parser = argparse.ArgumentParser()
        parser.add_argument("--data", required=True)
        parser.add_argument("--n-in", "-n", type=int, required=True, default=5)
        parser.add_argument("-w", "--width", dest="width", type=int, default="7")
        parser.add_argument("--bias", action="store_true")
        parser.add_argument("--depth", type=int, default=len("abc"))
        parser.add_argument("--name")
        args = parser.parse_args()
        registry = load(args.data)
        registry[args.name](args)
    """


@pytest.mark.parametrize(
    ("reads", "expected"),
    [
        ("args.n_in, args.width, bias=args.bias", [(7, 5)]),
        ("args.n_in, args.width, bias=args.extra if args.name else args.bias", [(7, 5)]),  # nothing has `extra`
        ("args.n_in, args.depth", None),  # its default is no literal
        ("args.n_in, len(args.data)", None),  # it has to be given
    ],
)
def test_the_defaults_of_a_command_line_that_has_all_that_is_read_are_taken(tmp_path, reads, expected):
    net = f"""
    from torch import nn

    class Net(nn.Module):
        def __init__(self, args):
            super().__init__()
            self.layer = nn.Linear({reads})

        def forward(self, x):
            return self.layer(x)
    """
    graph = of(tmp_path, {"net.py": net, "run.py": OPTIONS}, assume=False)
    found = graph.model.arguments_from
    assert (found and weights(graph)) == expected
    assert found is None or (found.kind, found.file) == ("config", "run.py")


def test_of_parameters_those_that_no_file_has_are_assumed(tmp_path):
    net = """
    from torch import nn

    class Net(nn.Module):
        def __init__(self, num_users, args):
            super().__init__()
            self.users = nn.Embedding(num_users, args.width)

        def forward(self, ids):
            return self.users(ids)
    """
    graph = of(tmp_path, {"net.py": net, "run.py": OPTIONS})
    found = graph.model.arguments_from
    assert (found.kind, found.file, found.assumed) == ("assumed", "run.py", ("num_users",))
    assert weights(graph) == [(1000, 7)]
    assert not graph.complete


SIZES = """
    from dataclasses import dataclass
    from torch import nn

    @dataclass
    class Sizes:
        n_text_vocab: int
        text_width: int
        n_layer: int = 3

        def __post_init__(self):
            self.inner = 2 * self.text_width

    class Net(nn.Module):
        def __init__(self, sizes: Sizes):
            super().__init__()
            self.sizes = sizes
            self.embed = nn.Embedding(sizes.n_text_vocab, sizes.text_width)
            self.layer = nn.Linear(sizes.text_width, sizes.inner)

        def forward(self, ids):
            return self.layer(self.embed(ids))
    """


@pytest.mark.parametrize(
    ("script", "assumed", "shapes"),
    [
        (None, ("sizes.n_text_vocab", "sizes.text_width"), [(1000, 64), (128, 64)]),
        ("Sizes(**json.load(open('there/is/none.bin')))", ("sizes.n_text_vocab", "sizes.text_width"), None),
        ("Sizes(load(), 6)", ("sizes.n_text_vocab",), [(1000, 6), (12, 6)]),
        ("Sizes(50, 6)", (), [(50, 6), (12, 6)]),
    ],
)
def test_fields_of_a_configuration_class_that_nobody_says_are_assumed(tmp_path, script, assumed, shapes):
    files = {"net.py": SIZES}
    if script is not None:
        files["run.py"] = f"import json\nfrom net import Net, Sizes\nfrom loading import load\nmodel = Net({script})\n"
    projects.write(tmp_path, files)
    graph = modgraph.analyze(str(tmp_path / "net.py"))
    found = graph.model.arguments_from
    assert found.assumed == assumed
    assert weights(graph) == (shapes or [(1000, 64), (128, 64)])
    assert graph.traced
    assert graph.complete == (not assumed)
    assert modgraph.analyze(str(tmp_path / "net.py"), assume=False, static=True).complete == (not assumed)


@pytest.mark.parametrize(
    ("name", "value"),
    [("vision_patch_size", 16), ("transformer_heads", 4), ("n_text_ctx", 128), ("batch_size", None), ("spec", None)],
)
def test_the_end_of_a_name_suggests_a_value(name, value):
    assert suggested(ast.arg(name)) == value


@pytest.mark.parametrize("other", ["", "import builtins\nbuiltins.print = lambda *a: None\n"])
def test_a_class_that_makes_nothing_with_its_defaults_is_built_as_the_project_builds_it(tmp_path, other):
    """Also where something of the project, which is not of this model, is not followed."""
    model = """
        from torch import nn
        import other

        class Net(nn.Module):
            def __init__(self, sizes=None):
                super().__init__()
                if sizes is not None:
                    self.layer = nn.Linear(int(sizes[0]), sizes.size)

            def forward(self, x):
                return self.layer(x)
        """
    train = 'import numpy as np\nfrom net import Net\nNet(np.fromstring("4-3-2", dtype=int, sep="-"))\n'
    projects.write(tmp_path, {"net.py": model, "other.py": other, "train.py": train})
    graph = modgraph.analyze(str(tmp_path / "net.py:Net"))
    assert graph.traced
    assert weights(graph) == [(3, 4)]
    assert graph.model.arguments_from.file == "train.py"


def test_a_configuration_that_asks_for_the_identity_of_its_values_travels(tmp_path):
    """As `ml_collections.ConfigDict` does: what is shared in what it is made of is shared in it."""
    model = """
        from torch import nn

        class Config:
            def __init__(self, given, seen=None):
                self.fields = {}
                seen = seen or {}
                seen[id(given)] = self
                for name, value in given.items():
                    if id(value) in seen:
                        value = seen[id(value)]
                    elif isinstance(value, dict):
                        value = Config(value, seen)
                    self.fields[name] = value

            def __getattr__(self, name):
                try:
                    return self.fields[name]
                except KeyError as error:
                    raise AttributeError(name) from error

        class Net(nn.Module):
            def __init__(self, config):
                super().__init__()
                self.layer = nn.Linear(config.size[0], config.inner.width)

            def forward(self, x):
                return self.layer(x)
        """
    train = """
        from net import Config, Net

        given = {"size": (16, 8), "inner": {"width": 3, "name": "b"}}
        given["again"] = given["inner"]
        net = Net(Config(given))
        """
    projects.write(tmp_path, {"net.py": model, "train.py": train})
    graph = modgraph.analyze(str(tmp_path / "net.py:Net"))
    assert graph.complete
    assert weights(graph) == [(3, 16)]
    assert graph.model.arguments_from.file == "train.py"


@pytest.mark.parametrize("target", ["lib.nets.net:Net", "lib/nets/net.py:Net"])
@pytest.mark.parametrize("static", [True, False])
def test_a_module_by_its_name_is_built_as_its_file_is(tmp_path, monkeypatch, target: str, static: bool) -> None:
    files = {"lib/nets/net.py": NET, "train.py": "from lib.nets.net import Net\nnet = Net(3, width=6)\n"}
    projects.write(tmp_path, files)
    monkeypatch.chdir(tmp_path)
    graph = modgraph.analyze(target, static=static, path=[str(tmp_path)])
    assert graph.complete, graph.problems
    assert weights(graph) == [(6, 6)] * 3
    found = graph.model.arguments_from
    assert found is not None
    assert (found.kind, Path(found.file or "").name, found.line) == ("call", "train.py", 2)
    assert (graph.model.target or "").endswith(":Net(3, width=6)")
