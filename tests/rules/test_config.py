"""Where the configuration of a check comes from, and which of several counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from modgraph.config import Configs
from modgraph.errors import ConfigError


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_of_its_own_counts_beside_a_pyproject(tmp_path: Path):
    write(tmp_path, "pyproject.toml", '[tool.modgraph]\nselect = ["MG1"]\n')
    own = write(tmp_path, "modgraph.toml", 'select = ["MG2"]\nper-file-ignores = { "a.py" = ["MG201"] }\n')
    write(tmp_path, "inner/pyproject.toml", '[tool.modgraph]\nignore = ["MG101"]\n')
    configs = Configs()
    found = configs.of(str(tmp_path / "deep" / "er" / "a.py"))
    assert (found.select, found.file, found.folder) == (("MG2",), str(own), str(tmp_path))
    assert found.per_file_ignores == {"a.py": ("MG201",)}
    assert configs.of(str(tmp_path / "inner" / "a.py")).ignore == ("MG101",)
    assert configs.of(str(tmp_path / "inner" / "a.py")).select is None


def test_what_is_given_counts_above_what_is_found(tmp_path: Path):
    write(tmp_path, "pyproject.toml", '[tool.modgraph]\nselect = ["MG1"]\nignore = ["MG105"]\n')
    other = write(tmp_path, "other/check.toml", 'ignore = ["MG104"]\nbaseline = "b.json"\n')
    path = str(tmp_path / "a.py")
    above = Configs(given=['select=["MG2"]', "force-exclude = true"]).of(path)
    assert (above.select, above.ignore, above.force_exclude) == (("MG2",), ("MG105",), True)
    fixed = Configs(given=[str(other), 'hidden-names=["shadow"]']).of(path)
    assert (fixed.select, fixed.ignore, fixed.hidden_names) == (None, ("MG104",), ("shadow",))
    assert fixed.folder == str(tmp_path / "other")
    alone = Configs(isolated=True, given=['ignore=["MG101"]']).of(path)
    assert (alone.select, alone.ignore) == (None, ("MG101",))
    assert Configs(given=[str(tmp_path / "pyproject.toml")]).of("/elsewhere/a.py").ignore == ("MG105",)


@pytest.mark.parametrize(
    ("given", "isolated", "message"),
    [
        (["nowhere.toml"], False, "no such file"),
        (["{folder}/pyproject.toml"], False, r"no \[tool.modgraph\]"),
        (["{folder}/check.toml", "{folder}/check.toml"], False, "several files"),
        (["{folder}/check.toml"], True, "--isolated reads no file"),
        (["select=MG1"], False, "select=MG1 is no TOML"),
        (["selekt=[]"], False, "no key 'selekt'"),
        (["select=1"], False, "select must be a list"),
    ],
)
def test_what_cannot_be_used_is_said(tmp_path: Path, given: list[str], isolated: bool, message: str):
    write(tmp_path, "pyproject.toml", "[project]\nname = 'modgraph'\n")
    write(tmp_path, "check.toml", "")
    with pytest.raises(ConfigError, match=message):
        Configs(isolated, [each.format(folder=tmp_path) for each in given])


def test_a_mistake_in_a_file_of_its_own_is_told_with_its_place(tmp_path: Path):
    own = write(tmp_path, "modgraph.toml", "[tool.modgraph]\nselect = []\n")
    with pytest.raises(ConfigError, match="the configuration has no key 'tool'") as told:
        Configs().of(str(tmp_path / "a.py"))
    assert told.value.file == str(own)
