"""What is said of found arguments: each file that says one, and each that the call gives and that is not known."""

from __future__ import annotations

import json

import jsonschema
import pytest

import modgraph
from modgraph.export.text.arguments import arguments_line, arguments_rows
from modgraph.graph.serial import schema
from tests.arguments import projects

NET = """
    from torch import nn

    class Net(nn.Module):
        def __init__(self, width, depth=4, classes=10):
            super().__init__()
            self.layers = nn.Sequential(*[nn.Linear(width, width) for _ in range(depth)])
            self.head = nn.Linear(width, classes)

        def forward(self, x):
            return self.head(self.layers(x))
    """
BUILD = """
    from net import Net

    def build(width, depth, classes=10):
        return Net(width, depth=depth, classes=classes)
    """
BUILDER = """
    from net import Net

    class Builder:
        def __init__(self, width, depth):
            self.width, self.depth = width, depth

        def build(self, classes):
            return Net(self.width, self.depth, classes)
    """


def told(folder, files):
    projects.write(folder, {"net.py": NET, **files})
    graph = modgraph.analyze(str(folder / "net.py:Net"), static=True)
    jsonschema.validate(json.loads(graph.to_json()), schema())
    return graph, " | ".join(arguments_rows(graph))


@pytest.mark.parametrize(
    ("files", "given", "said", "assumed", "left"),
    [
        ({"a.py": "from net import Net\nimport data\nNet(width=5, depth=data.d(), classes=3)\n"},
         {"width": 5, "classes": 3}, "found in a.py:3", "", "depth"),
        ({"a.py": "from net import Net\nimport data\nNet(data.w(), data.d(), 3)\n"},
         {"classes": 3}, "found in a.py:3", "width", "depth"),
        ({"build.py": BUILD, "a.py": "from build import build\nimport data\nbuild(3, depth=2, classes=data.c())\n"},
         {"width": 3, "depth": 2}, "found in build.py:4, with a.py", "", "classes"),
        ({"build.py": BUILD, "a.py": "from build import build\nimport data\nbuild(width=data.w(), depth=2)\n"},
         {"depth": 2}, "found in build.py:4, with a.py", "width", ""),
        ({"build.py": BUILDER, "a.py": "from build import Builder\nimport data\nBuilder(3, data.d()).build(7)\n"},
         {"width": 3, "classes": 7}, "found in build.py:8, with a.py", "", "depth"),
    ],
)  # fmt: skip
def test_what_a_call_gives_and_is_not_known_is_said(tmp_path, files, given, said, assumed, left):
    graph, text = told(tmp_path, files)
    found = graph.model.arguments_from
    assert found.kind == "assumed"
    assert set(found.assumed) == set(filter(None, (assumed, left)))
    assert found.left_at_default == tuple(filter(None, (left,)))
    assert {name: graph.modules[0].arguments[name] for name in given} == given
    assert text.startswith(f"{said}: ")
    assert ("assumed from the names: width" in text) == bool(assumed)
    assert (f"is not known: {left}" in text) == bool(left)
    (message,) = [each.message for each in graph.problems if "nothing says all" in each.message]
    assert (f"{left} is left at the default" in message) == bool(left)
    assert ("width is assumed" in message) == bool(assumed)
    assert ("left at the default" in arguments_line(graph)) == bool(left)
    assert modgraph.load(_saved(tmp_path, graph)).model.arguments_from == found


def _saved(folder, graph):
    graph.save(folder / "saved.json")
    return folder / "saved.json"


DATA = {
    "model.yaml": "model:\n  width: 7\n  depth: 3\n",
    "model.json": '{"model": {"width": 7, "depth": 3}}',
    "model.toml": "[model]\nwidth = 7\ndepth = 3\n",
}
READING = {
    "model.yaml": "import yaml\ncfg = yaml.safe_load(open('model.yaml'))\n",
    "model.json": "import json\nwith open('model.json') as file:\n    cfg = json.load(file)\n",
    "model.toml": "import tomllib\nwith open('model.toml', 'rb') as file:\n    cfg = tomllib.load(file)\n",
}


@pytest.mark.parametrize("name", DATA)
def test_the_data_file_is_named_from_which_the_values_come(tmp_path, name):
    script = f"from net import Net\n{READING[name]}net = Net(**cfg['model'])\n"
    graph, text = told(tmp_path, {name: DATA[name], "train.py": script})
    found = graph.model.arguments_from
    assert (found.kind, found.file, found.with_files) == ("call", "train.py", (name,))
    assert f"train.py:{found.line}, with {name}: width=7, depth=3" in text
    assert arguments_line(graph) == f"arguments found in train.py:{found.line}, with {name}"


def test_a_data_file_that_says_none_of_the_values_is_not_named(tmp_path):
    script = f"from net import Net\n{READING['model.yaml']}print(cfg['model'])\nnet = Net(5, depth=2)\n"
    graph, _ = told(tmp_path, {"model.yaml": DATA["model.yaml"], "train.py": script})
    assert graph.model.arguments_from.with_files == ()


def test_of_two_data_files_that_is_named_which_says_a_value(tmp_path):
    script = f"from net import Net\n{READING['model.yaml']}{READING['model.json'].replace('cfg', 'other')}"
    files = {**DATA, "train.py": f"{script}net = Net(**other['model'])\n"}
    assert told(tmp_path, files)[0].model.arguments_from.with_files == ("model.json",)


def reading(*names):
    return "import json\n" + "".join(f"{name} = json.load(open('{name}.json'))\n" for name in names)


SAID = '{"width": 12, "depth": 3}'
OTHER = '{"width": 77, "depth": 9}'


@pytest.mark.parametrize(
    ("files", "script", "named"),
    [
        ({"a.json": OTHER, "b.json": OTHER, "c.json": OTHER, "d.json": SAID},
         f"{reading('a', 'b', 'c', 'd')}print(a, b, c)\nNet(d['width'], depth=d['depth'])\n", ("d.json",)),
        ({"a.json": OTHER, "b.json": SAID},
         f"{reading('a', 'b')}a.update(b)\nNet(a['width'], depth=a['depth'])\n", ("b.json",)),
        ({"a.json": OTHER, "b.json": '{"width": 12}'},
         f"{reading('a', 'b')}a.update(b)\nNet(a['width'], depth=a['depth'])\n", ("a.json", "b.json")),
        ({"a.json": '{"depth": 3}', "b.json": '{"width": 12}', "c.json": '{"depth": 4}', "d.json": '{"depth": 5}'},
         f"{reading('a', 'b', 'c', 'd')}Net(b['width'], depth=a['depth'] + c['depth'] + d['depth'])\n",
         ("a.json", "b.json", "c.json", "d.json")),
    ],
)  # fmt: skip
def test_each_data_file_is_named_that_says_a_value_and_no_other(tmp_path, files, script, named):
    graph, _ = told(tmp_path, {**files, "train.py": f"from net import Net\n{script}"})
    assert graph.model.arguments_from.with_files == named


def test_none_is_named_where_not_every_file_can_be_asked(tmp_path, monkeypatch):
    monkeypatch.setattr("modgraph.arguments.followed._MOST_IN_ALL", 1)
    script = f"from net import Net\n{READING['model.yaml']}net = Net(**cfg['model'])\n"
    graph, _ = told(tmp_path, {"model.yaml": DATA["model.yaml"], "train.py": script})
    assert graph.model.arguments_from.with_files == ()


def test_the_configuration_that_hydra_composes_is_named(tmp_path):
    script = """
        import hydra
        from net import Net

        @hydra.main(version_base=None, config_path="conf", config_name="config")
        def main(cfg):
            Net(cfg.width, cfg.depth)

        if __name__ == "__main__":
            main()
        """
    files = {"conf/config.yaml": "width: 7\ndepth: 3\n", "train.py": script}
    graph, text = told(tmp_path, files)
    assert graph.model.arguments_from.with_files == ("conf/config.yaml",)
    assert "with conf/config.yaml: width=7, depth=3" in text


@pytest.mark.parametrize(
    ("primary", "group", "named"),
    [
        ("defaults: [model: small, data: all]\nseed: 1\n", "width: 7\ndepth: 3\n", ("conf/model/small.yaml",)),
        (
            "defaults: [model: small, data: all, _self_]\nmodel: {depth: 3}\n",
            "width: 7\ndepth: 2\n",
            ("conf/config.yaml", "conf/model/small.yaml"),
        ),
    ],
)
def test_of_what_hydra_composes_the_files_are_named_that_say_it(tmp_path, primary, group, named):
    script = """
        import hydra
        from net import Net

        @hydra.main(version_base=None, config_path="conf", config_name="config")
        def main(cfg):
            Net(cfg.model.width, cfg.model.depth)

        if __name__ == "__main__":
            main()
        """
    files = {
        "conf/config.yaml": primary,
        "conf/model/small.yaml": group,
        "conf/data/all.yaml": "root: /data\nfolds: 5\n",
        "train.py": script,
    }
    graph, text = told(tmp_path, files)
    assert sorted(graph.model.arguments_from.with_files) == list(named)
    assert "width=7, depth=3" in text


def test_files_are_named_from_where_the_user_stands(tmp_path, monkeypatch):
    from modgraph.cli.places import seen_from_here
    from modgraph.source.targets import parse_target

    projects.write(tmp_path, {"sub/net.py": NET, "sub/model.yaml": DATA["model.yaml"]})
    script = f"from net import Net\n{READING['model.yaml']}net = Net(**cfg['model'])\n"
    projects.write(tmp_path, {"sub/train.py": script})
    monkeypatch.chdir(tmp_path)
    graph = seen_from_here(modgraph.analyze("sub/net.py:Net", static=True), parse_target("sub/net.py:Net"))
    assert arguments_line(graph) == "arguments found in sub/train.py:4, with sub/model.yaml"
