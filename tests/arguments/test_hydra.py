"""Scripts that Hydra starts: where it is installed, Python runs each project, and what the class is given is what is found."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import modgraph
from modgraph.arguments import candidates
from modgraph.source.targets import Built, Unsaid, parse_target
from tests.arguments import projects

NET = """
    from torch import nn

    class Net(nn.Module):
        def __init__(self, depth, width=8, options=None):
            super().__init__()
            self.layers = nn.Sequential(*[nn.Linear(width, width) for _ in range(depth)])

        def forward(self, x):
            return self.layers(x)
    """
STUB = """
    def plain(value):
        if hasattr(value, "items"):
            return {key: plain(each) for key, each in value.items()}
        if type(value).__name__ == "ListConfig":
            return [plain(each) for each in value]
        return value

    class Net:
        def __init__(self, depth, width=8, options=None):
            print("GIVEN", dict(depth=plain(depth), width=plain(width), options=plain(options)))
            raise SystemExit(0)
    """
CONFIGS = {
    "conf/config.yaml": """
        defaults:
          - model: small
          - data: images
          - _self_
        seed: 1
        train:
          rate: 1e-3
        """,
    "conf/model/small.yaml": """
        depth: 3
        width: ${data.size}
        kind: net
        """,
    "conf/model/large.yaml": """
        defaults: [small]
        depth: 9
        """,
    "conf/model/made.yaml": """
        _target_: net.Net
        depth: 2
        width: ${data.size}
        options:
          names: [a, b]
          rate: ${train.rate}
        """,
    "conf/data/images.yaml": """
        size: 6
        """,
}
MAIN = """
    import hydra
    from omegaconf import DictConfig, OmegaConf, open_dict
    from net import Net

    @hydra.main(version_base=None, config_path="conf", config_name="config")
    def main(cfg: DictConfig) -> None:
        {body}

    if __name__ == "__main__":
        main()
    """


def train(body: str, **replaced: str) -> str:
    text = textwrap.dedent(MAIN).replace("{body}", textwrap.indent(textwrap.dedent(body).strip(), "    ").strip())
    for before, after in replaced.items():
        text = text.replace(before, after)
    return text


MADE = {"conf/config.yaml": CONFIGS["conf/config.yaml"].replace("small", "made")}
PROJECTS: dict[str, tuple[dict[str, str], dict[str, object]]] = {
    "attributes": ({"train.py": train("Net(cfg.model.depth, cfg.model.width)")}, {"depth": 3, "width": 6}),
    "items": (
        {"train.py": train("Net(cfg['model']['depth'], width=cfg.model.get('width', 1))")},
        {"depth": 3, "width": 6},
    ),
    "keywords": (
        {
            "train.py": train(
                "kinds = {'net': Net}\nkinds[cfg.model.kind](**{k: v for k, v in cfg.model.items() if k != 'kind'})"
            )
        },
        {"depth": 3, "width": 6},
    ),
    "unpacked": (
        {
            "train.py": train("Net(**cfg.model)"),
            "conf/model/small.yaml": "depth: 4\nwidth: 2\n",
        },
        {"depth": 4, "width": 2},
    ),
    "a function of another file": (
        {
            "build.py": "from net import Net\ndef build(config):\n    return Net(config.depth, config.width)\n",
            "train.py": train("from build import build\nbuild(cfg.model)"),
        },
        {"depth": 3, "width": 6},
    ),
    "taken out": (
        {
            "train.py": train(
                "with open_dict(cfg):\n    kind = cfg.model.pop('kind')\nassert 'kind' not in cfg.model\nNet(len(kind), **{'width': 2})"
            )
        },
        {"depth": 3, "width": 2},
    ),
    "plain containers": (
        {"train.py": train("given = OmegaConf.to_container(cfg.model, resolve=True)\ndel given['kind']\nNet(**given)")},
        {"depth": 3, "width": 6},
    ),
    "a value that the script sets": (
        {
            "train.py": train(
                "with open_dict(cfg):\n    cfg.model.more = cfg.seed + 4\nNet(cfg.model.more, cfg.model.depth)"
            )
        },
        {"depth": 5, "width": 3},
    ),
    "instantiated": (
        {"train.py": train("hydra.utils.instantiate(cfg.model)"), **MADE},
        {"depth": 2, "width": 6, "options": {"names": ["a", "b"], "rate": 1e-3}},
    ),
    "instantiated with more": (
        {
            "train.py": train("from hydra.utils import instantiate\ninstantiate(cfg.model, depth=1)"),
            **MADE,
        },
        {"depth": 1, "width": 6, "options": {"names": ["a", "b"], "rate": 1e-3}},
    ),
    "the whole": (
        {"train.py": train("Net(cfg.model.depth, options=cfg)")},
        {
            "depth": 3,
            "options": {
                "model": {"depth": 3, "width": 6, "kind": "net"},
                "data": {"size": 6},
                "seed": 1,
                "train": {"rate": 1e-3},
            },
        },
    ),
    "an old decorator": (
        {
            "train.py": train(
                "Net(cfg.model.depth, cfg.model.width)", **{"version_base=None, ": "", '"config"': '"config.yaml"'}
            ),
        },
        {"depth": 3, "width": 6},
    ),
    "a file in a folder": (
        {
            "src/train.py": "import sys\nsys.path.insert(0, 'src/..')\n"
            + train("Net(cfg.model.depth, cfg.model.width)", **{'"conf"': '"../conf"'}),
        },
        {"depth": 3, "width": 6},
    ),
}


def plain(value: object) -> object:
    """An argument that was found, without the objects of OmegaConf."""
    return value.positional[0] if isinstance(value, Built) else value


def first_found(folder: Path, files: dict[str, str]):
    projects.write(folder, {"net.py": NET, **CONFIGS, **files})
    found = candidates(parse_target(f"{folder}/net.py:Net"), assume=False)
    return found[0] if found else None


def by_hydra(folder: Path, files: dict[str, str], *words: str) -> dict[str, object] | None:
    """What the class is given; None where Hydra is not installed."""
    if importlib.util.find_spec("hydra") is None:
        return None
    projects.write(folder, {**CONFIGS, **files, "net.py": STUB})
    script = "src/train.py" if "src/train.py" in files else "train.py"
    done = subprocess.run([sys.executable, script, *words], cwd=folder, capture_output=True, text=True, timeout=120)
    lines = [line for line in done.stdout.splitlines() if line.startswith("GIVEN ")]
    assert lines, done.stderr
    return ast.literal_eval(lines[0].removeprefix("GIVEN "))


@pytest.mark.parametrize("name", PROJECTS)
def test_what_the_configuration_gives_the_class(tmp_path, name):
    files, expected = PROJECTS[name]
    if "options" in expected:
        pytest.importorskip("omegaconf")
    found = first_found(tmp_path / "read", files)
    assert {parameter: plain(value) for parameter, value in found.arguments.items()} == expected
    assert found.origin.kind == "call"
    given = by_hydra(tmp_path / "run", files)
    assert given is None or given == {"width": 8, "options": None, **expected}


def test_words_of_a_command_line_change_it(tmp_path):
    required = {"conf/data/images.yaml": "size: ???\n"}
    files = {"train.py": train("Net(cfg.model.depth, cfg.data.size)"), **required}
    assert first_found(tmp_path / "alone", files) is None
    files["README.md"] = "python train.py model=large data.size=4 +more=x\n"
    found = first_found(tmp_path / "read", files)
    assert dict(found.arguments) == {"depth": 9, "width": 4}
    assert found.origin.started_by == "README.md:1"
    given = by_hydra(tmp_path / "run", files, "model=large", "data.size=4", "+more=x")
    assert given is None or given == {"depth": 9, "width": 4, "options": None}


NOT_KNOWN = {
    "a reference whose value the script changes": train("cfg.data.size = 9\nNet(1, cfg.model.width)"),
    "one that it changes beside another": train("cfg.seed, cfg.data.size = 2, 9\nNet(1, cfg.model.width)"),
    "one that it changes under a name that is not written": train(
        "for key in ['size']:\n    cfg.data[key] = 9\nNet(1, cfg.model.width)"
    ),
    "one that it changes by setattr": train("setattr(cfg.data, 'size', 9)\nNet(1, cfg.model.width)"),
    "one above which it changes something": train("cfg.data = {'size': 9}\nNet(1, cfg.model.width)"),
    "one that a loop changes": train("for cfg.data.size in [7, 9]:\n    pass\nNet(1, cfg.model.width)"),
    "a reference to the environment": train("Net(1, cfg.more)"),
    "a value that is changed by what is not known": train("import other\nother.change(cfg)\nNet(cfg.model.depth, 1)"),
    "references that stay as they are written": train(
        "given = OmegaConf.to_container(cfg.model)\nNet(1, given['width'])"
    ),
    "a folder that is computed": train("Net(cfg.model.depth)", **{'"conf"': "__import__('os').environ['A']"}),
    "a folder outside of the project": train("Net(cfg.model.depth)", **{'"conf"': '"../../conf"'}),
}


@pytest.mark.parametrize("name", NOT_KNOWN)
def test_what_is_not_known_is_not_claimed(tmp_path, name):
    config = textwrap.dedent(CONFIGS["conf/config.yaml"]) + "more: ${oc.env:HOME}\n"
    files = {"train.py": NOT_KNOWN[name], "conf/config.yaml": config, "conf/model/made.yaml": "depth: 1\n"}
    projects.write(tmp_path, CONFIGS)
    assert first_found(tmp_path / "a" / "b", files) is None


VALUES = {
    "a list that is set is copied": "x = [1]\ncfg.data.size = x\nx.append(2)\nNet(1, len(cfg.data.size))",
    "a list that is set is none of Python's": "cfg.data.l = [1]\nNet(1, 3 if isinstance(cfg.data.l, list) else 4)",
    "a mapping that is set is none of Python's": "cfg['data'] = {'a': 1}\nNet(1, 3 if type(cfg.data) is dict else 4)",
    "a part that is set is copied": "x = cfg.data\ncfg.model = x\nx.size = 8\nNet(1, cfg.model.size)",
    "a sum of lists": "Net(1, 3 if isinstance(cfg.data.l + [1], list) else 4)",
    "what is made inside has plain containers too": (
        "made = hydra.utils.instantiate(cfg.data.made)\nNet(1, 3 if isinstance(made['kid']['l'], list) else 4)"
    ),
    "a list that is laid over": (
        "made = hydra.utils.instantiate(cfg.data.plain, l=[1])\nNet(1, 3 if isinstance(made['l'], list) else 4)"
    ),
}
DATA = """
    size: 6
    l: [1, 2]
    plain: {_target_: builtins.dict, l: [2]}
    made:
      _target_: builtins.dict
      _convert_: all
      kid: {_target_: builtins.dict, l: [1]}
    """


@pytest.mark.parametrize("name", VALUES)
def test_containers_are_those_of_omegaconf(tmp_path, name):
    pytest.importorskip("hydra")
    files = {"train.py": train(VALUES[name]), "conf/data/images.yaml": DATA}
    real = by_hydra(tmp_path / "run", files)
    found = first_found(tmp_path / "read", files)
    is_of_the_call = found is not None and found.origin.kind == "call"
    claimed = {each: plain(value) for each, value in found.arguments.items()} if is_of_the_call else {}
    assert real is not None
    assert claimed.get("width", real["width"]) == real["width"]


def test_a_configuration_with_something_open_refuses_to_say_it(tmp_path):
    config = textwrap.dedent(CONFIGS["conf/config.yaml"]) + "more: ${oc.env:HOME}\n"
    files = {"train.py": train("Net(cfg.model.depth, options=cfg)"), "conf/config.yaml": config}
    found = first_found(tmp_path, files)
    options = dict(found.arguments["options"].attributes)
    assert isinstance(options["more"], Unsaid)
    assert options["seed"] == 1


def test_the_model_is_built_with_it(tmp_path):
    model = NET.replace("range(depth)", "range(options.model.depth if 'model' in options else 1)")
    files = {"net.py": model, "train.py": train("Net(cfg.model.depth, cfg.data.size, cfg)")}
    projects.write(tmp_path, {**CONFIGS, **files})
    pytest.importorskip("omegaconf")
    graph = modgraph.analyze(f"{tmp_path}/net.py:Net")
    assert graph.complete
    assert [node.path for node in graph.modules][2:] == ["layers.0", "layers.1", "layers.2"]
    assert all(node.predicted and node.observed for node in graph.modules)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, {"depth": 2, "width": 6}),
        ({"conf/eval.yaml": "defaults:\n  - data: images\n"}, {"depth": 2, "width": 6}),
        ({"conf/eval.yaml": "defaults:\n  - data: images\n  - _self_\ndata: {size: 7}\n"}, None),
        ({"conf/data/images.yaml": "size: ${oc.env:SIZE}\n"}, None),
    ],
)
def test_a_file_of_a_group_refers_to_the_others(tmp_path, files, expected):
    """No script is there, but the file that names the class; what it refers to stands in what it is a part of."""
    made = {"conf/model/made.yaml": "_target_: net.Net\ndepth: 2\nwidth: ${data.size}\n"}
    found = first_found(tmp_path, {**made, **files})
    assert (None if found is None else dict(found.arguments)) == expected
    if found is not None:
        assert (found.origin.kind, found.origin.file) == ("config", "conf/model/made.yaml")
