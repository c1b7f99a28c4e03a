"""Files of data that mean much more than their text, or more than Python can hold: they are left."""

from __future__ import annotations

from pathlib import Path

import pytest

from modgraph.arguments import config_files
from modgraph.arguments.candidates import candidates
from modgraph.doors import yaml_texts
from modgraph.source.targets import parse_target

MODEL = """
from torch import nn
class Net(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.l = nn.Linear(4, config["hidden"])
        self.z = config["z"]
"""


def references(sign: str, part: str = "[{0}, {0}, {0}, {0}]", levels: int = 9) -> str:
    names = [f"{sign}a{level}" for level in range(levels)]
    lines = [f"a0: &{names[0]} {{k: 1}}"]
    lines += [f"a{n}: &{names[n]} {part.format('*' + names[n - 1])}" for n in range(1, levels)]
    return "\n".join(["hidden: 8", *lines, f"z: *{names[-1]}"])


FILES = {
    **{f"cfg{n}.yaml": references(sign) for n, sign in enumerate(["", "-", "--", "_", "9"])},
    "merged.yaml": references("-", "{{<<: [{0}, {0}, {0}]}}"),
    "tagged.yaml": "hidden: 8\nz: !-a [1]\n",
    "named.yaml": "hidden: 8\nz: !<tag:yaml.org,2002:set> {a, b}\n",
    "deep.yaml": "hidden: 8\nz:\n  " + "- " * 5_000 + "1\n",
    "base_60.yaml": "hidden: 8\nz: 1" + ":00" * 30_000 + ".5\n",
    "date.yaml": "hidden: 8\nz: 0001-01-01T00:00:00+23:59\n",
    "hex.yaml": "hidden: 8\nz: 0x" + "f" * 90_000 + "\n",
    "deep.json": '{"hidden": 8, "z": ' + "[" * 40_000 + "]" * 40_000 + "}",
    "digits.json": '{"hidden": 8, "z": ' + "9" * 5_000 + "}",
    "deep.toml": "hidden = 8\nz = " + "[" * 40_000 + "]" * 40_000,
    "hex.toml": "hidden = 8\nz = 0x" + "f" * 90_000,
}


@pytest.mark.parametrize("name", FILES)
def test_it_is_left(name: str, tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    (tmp_path / ".git").mkdir()
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / name).write_text(FILES[name])
    assert candidates(parse_target(f"{tmp_path / 'model.py'}:Net"), assume=False) == ()


def test_what_is_plain_is_read(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    (tmp_path / ".git").mkdir()
    (tmp_path / "model.py").write_text(MODEL)
    text = """hidden: !!int 8\nz: "*a &b !c <<"  # *d\nlr: !!float 2e-4\nname: !!str 1\n"""
    (tmp_path / "cfg.yaml").write_text(text)
    (found,) = candidates(parse_target(f"{tmp_path / 'model.py'}:Net"), assume=False)
    held = {"hidden": 8, "z": "*a &b !c <<", "lr": 0.0002, "name": "1"}
    assert found.arguments == {"config": held}


def test_each_value_counts_at_all_its_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config_files, "MAX_VALUES", 1_000)
    shared: list[object] = [1]
    for _ in range(5):
        shared = [shared] * 4
    with pytest.raises(ValueError, match="holds too much"):
        config_files.read_as({"x": lambda _: shared}, "a.x", "")
    assert config_files.read_as({"x": lambda _: shared[0]}, "a.x", "") == shared[0]


@pytest.mark.parametrize("text", ["[1, [2, 3], {a: 4}]", "a: &x [1, 2]\nb: *x\nc: [*x, *x]\n", "a: &b 1\nc: *b\n"])
def test_the_events_of_a_text_count_what_is_made_of_it(text: str) -> None:
    yaml = pytest.importorskip("yaml")

    def size(value: object) -> int:
        if isinstance(value, dict):
            return 1 + sum(map(size, (*value, *value.values())))
        return 1 + sum(map(size, value)) if isinstance(value, list) else 1

    assert yaml_texts.nodes_with_references(yaml.parse(text)) == size(yaml.safe_load(text))
