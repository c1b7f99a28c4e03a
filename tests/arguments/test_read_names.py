"""An object of which nothing says what it is, with values for all that is read from it; real torch builds and runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

import modgraph
from modgraph.arguments import candidates
from modgraph.source.targets import parse_target
from tests.arguments import projects

NET = """
    from torch import nn

    class Net(nn.Module):
        def __init__(self, config):
            super().__init__()
{body}

        def forward(self, x):
            return self.fc(x)
    """


def assumed_of(folder: Path, files: dict[str, str]) -> tuple[str, ...] | None:
    projects.write(folder, files)
    found = candidates(parse_target(str(folder / "net.py:Net")))
    return found[0].origin.assumed if found else None


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("self.fc = nn.Linear(config.in_dim, config.n_classes)", ["in_dim", "n_classes"]),
        ('self.fc = nn.Linear(config["in_dim"], config["n_classes"])', ["in_dim", "n_classes"]),
        ("self.fc = nn.Linear(config.model.dim, config.data.n_classes)", ["data.n_classes", "model.dim"]),
        ("self.config = config; self.fc = nn.Linear(self.config.dim, 2)", ["dim"]),
        ("c = config; d = c; self.fc = nn.Linear(d.dim, 2)", ["dim"]),
        ("self.fc = nn.Linear(config.dim, 2, bias=config.bias)", ["bias", "dim"]),
        ("self.fc = nn.Linear(config.dim if config.wide else 3, 2)", ["dim", "wide"]),
        ("self.fc = nn.Linear(config.dim, 2)\n            if not config.tied: self.more = nn.ReLU()", ["dim", "tied"]),
    ],
)  # fmt: skip
def test_what_is_read_is_assumed_and_the_model_runs(tmp_path: Path, body: str, names: list[str]) -> None:
    text = NET.format(body=f"            {body}")
    assert assumed_of(tmp_path, {"net.py": text}) == tuple(f"config.{name}" for name in names)
    graph = modgraph.analyze(str(tmp_path / "net.py:Net"))
    assert graph.traced
    assert [problem.stage for problem in graph.problems] == ["predict"]
    assert "assumed" in graph.problems[0].message
    assert modgraph.analyze(str(tmp_path / "net.py:Net"), static=True, assume=False).model.arguments_from is None


@pytest.mark.parametrize(
    "body",
    [
        "self.fc = nn.Linear(config.frobnicate, 2)",
        'self.fc = nn.Linear(config.get("dim"), 2)',
        'self.fc = nn.Linear(config.dim, config["dim"])',
        "self.fc = nn.Linear(*config)",
    ],
)
def test_what_no_name_says_is_not_assumed(tmp_path: Path, body: str) -> None:
    assert assumed_of(tmp_path, {"net.py": NET.format(body=f"            {body}")}) is None


def test_an_object_with_which_the_model_is_predicted_to_fail_is_not_taken(tmp_path: Path) -> None:
    projects.write(tmp_path, {"net.py": NET.format(body="            self.fc = nn.Linear(config.layers[0], 2)")})
    assert modgraph.analyze(str(tmp_path / "net.py:Net"), static=True).model.arguments_from is None


PARTS = """
    from torch import nn

    def head(cfg):
        return nn.Linear(cfg.hidden_size, cfg.num_labels)

    class Base(nn.Module):
        def __init__(self, settings):
            super().__init__()
            self.embed = nn.Linear(settings.num_features, settings.hidden_size)
    """
FOLLOWED = """
    from torch import nn
    from parts import Base, head

    class Block(nn.Module):
        def __init__(self, dim, *, options):
            super().__init__()
            self.fc = nn.Linear(dim, options.hidden_size)

        def forward(self, x):
            return self.fc(x)

    class Net(Base):
        def __init__(self, config):
            super().__init__(config)
            self.config = config
            self._build(config)

        def _build(self, c):
            self.blocks = nn.Sequential(*[Block(c.hidden_size, options=self.config) for _ in range(c.num_layers)])
            self.head = head(c)

        def forward(self, x):
            if self.config.verbosity_of_nothing_known:
                print(x)
            return self.head(self.blocks(self.embed(x)))
    """


def test_the_object_is_followed_into_what_it_is_given_to(tmp_path: Path) -> None:
    names = assumed_of(tmp_path, {"net.py": FOLLOWED, "parts.py": PARTS})
    read = ["hidden_size", "num_features", "num_labels", "num_layers", "verbosity_of_nothing_known"]
    assert names == tuple(f"config.{name}" for name in read)
    graph = modgraph.analyze(str(tmp_path / "net.py:Net"))
    assert graph.traced
    assert {node.path for node in graph.modules} == {
        *("", "embed", "blocks", "blocks.0", "blocks.0.fc", "blocks.1", "blocks.1.fc", "head")
    }


def test_many_assumed_names_are_told_shortly(tmp_path: Path) -> None:
    names = ["in_dim", "out_dim", "d_ff", "d_k", "d_v", "n_heads", "n_layers", "dropout"]
    body = "\n".join(f"            self.{name} = config.{name}" for name in names)
    body += "\n            self.fc = nn.Linear(config.in_dim, config.out_dim)"
    projects.write(tmp_path, {"net.py": NET.format(body=body)})
    graph = modgraph.analyze(str(tmp_path / "net.py:Net"), static=True)
    assert graph.model.arguments_from is not None
    assert len(graph.model.arguments_from.assumed) == len(names)
    assert "and 2 more are assumed" in graph.problems[0].message
