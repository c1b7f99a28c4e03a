"""Configurations of several files: Hydra itself composes each, and what it composes is what is found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from modgraph.arguments.composed import NotComposedError, composed
from modgraph.doors.borders import border_around
from tests.arguments import projects

FILES = {
    "model/net.yaml": "_target_: net.Net\ndepth: 3\nwidth: ${sizes.width}\n",
    "model/large.yaml": "defaults:\n  - net\n  - _self_\ndepth: 9\n",
    "model/block/small.yaml": "kernel: 3\nrate: 1e-3\n",
    "model/nested.yaml": "defaults:\n  - block: small\n  - /data@source: images\nwidth: 2\n",
    "model/packages.yaml": "defaults:\n  - block@here: small\n  - /data: other\n  - /data@_global_.top: images\nx: 1\n",
    "data/images.yaml": "size: 32\nnames: [a, b]\n",
    "data/texts.yaml": "# @package _global_\ntext:\n  length: 8\nseed: 4\n",
    "data/other.yaml": "# @package elsewhere.inner\nlength: 8\n",
    "sets.yaml": "model: {depth: 3}\n",
    "model/open.yaml": "depth: ???\nwidth: ???\n",
    "model/late.yaml": "depth: 3\n# @package _global_\n",
    "model/comment.yaml": "# a comment\n# @package _global_\ndepth: 3\n",
    "model/headers.yaml": "\n  #@anything x\n#   @package top\ndepth: 3\n",
    "model/sizes.yaml": "# @package _global_\nsizes: [1, 2]\n",
    "model/grouped.yaml": "# @package _group_\ndepth: 3\n",
    "model/named.yaml": "# @package one two\ndepth: 3\n",
    "hydra/default.yaml": "defaults:\n  - override job_logging: disabled\nrun:\n  dir: x\n",
    "base.yaml": "seed: 1\nsizes:\n  width: 5\n  names: [a]\n",
    "empty.yaml": "# nothing\n",
}
COMPOSED: dict[str, tuple[str, list[str]]] = {
    "no list": ("seed: 1\nmodel: {depth: 3}\n", []),
    "a group": ("defaults:\n  - model: net\nsizes: {width: 4}\n", []),
    "itself first": ("defaults:\n  - _self_\n  - base\nseed: 7\nsizes: {names: [b, c]}\n", []),
    "itself last": ("defaults:\n  - base\n  - _self_\nseed: 7\nsizes: {names: [b, c]}\n", []),
    "itself not said": ("defaults:\n  - base\n  - model: net\nseed: 7\nmodel: {depth: 1}\n", []),
    "itself between": ("defaults:\n  - base\n  - _self_\n  - model: net\nseed: 7\nmodel: {depth: 1, more: 2}\n", []),
    "a list in a group": ("defaults:\n  - model: large\n", []),
    "groups in groups": ("defaults:\n  - model: nested\n", []),
    "another package": ("defaults:\n  - model@net.inner: net\n  - data@_global_: images\n", []),
    "this package": ("defaults:\n  - data@_here_: images\n", []),
    "packages in groups": ("defaults:\n  - model: packages\n", []),
    "another option than that of another package": ("defaults:\n  - model@a: net\n  - model: net\n", ["model=large"]),
    "a package that a file says": ("defaults:\n  - data: texts\n  - data@second: other\n", []),
    "several of a group": ("defaults:\n  - data:\n    - images\n    - texts\n", []),
    "none of a group": ("defaults:\n  - model: null\n  - optional data: nothing\nseed: 1\n", []),
    "a name with folders": ("defaults:\n  - model/block/small\n  - data/images\n", []),
    "an ending": ("defaults:\n  - model: net.yaml\n", []),
    "an empty file": ("defaults:\n  - empty\nseed: 1\n", []),
    "for Hydra itself": (
        "defaults:\n  - model: net\n  - override hydra/job_logging: disabled\nhydra:\n  run: {dir: x}\n",
        [],
    ),
    "a group for Hydra itself": ("defaults:\n  - model: net\n  - hydra: default\n", []),
    "another option": ("defaults:\n  - model: net\n  - _self_\n", ["model=large"]),
    "values": ("defaults:\n  - model: net\n  - _self_\nname: a\n", ["model.depth=7", "+model.rate=1e-3", "name=b/c.d"]),
    "a value that is added": ("seed: 1\n", ["+deep.inner.value=true", "++seed=null"]),
    "words however they are written": ("a: 1\nb: 1\nc: 1\n", ["a=TRUE", "b=False", "c=Null"]),
    "numbers": ("a: 1\nb: 1\nc: 1\nd: 1\n", ["a=-.5", "b=10.e-2", "c=+0", "d=0.0"]),
    "what is to be said yet": ("defaults:\n  - sets\n  - model: open\n", []),
    "what is to be said by itself": ("defaults:\n  - base\n  - _self_\nseed: ???\nsizes: ???\nmore: ???\n", []),
    "a package behind the head of a file": ("defaults:\n  - model: late\n", []),
    "a package behind a comment": ("defaults:\n  - model: comment\n", []),
    "what a file says of itself": ("defaults:\n  - model: headers\n", []),
}
NOT_COMPOSED: dict[str, tuple[str, list[str]]] = {
    "a file that is not there": ("defaults:\n  - model: nothing\n", []),
    "a group that is not there": ("seed: 1\n", ["model=net"]),
    "a value that is not there": ("seed: 1\n", ["width=3"]),
    "a value that is added and there": ("seed: 1\n", ["+seed=3"]),
    "a group that is added and there": ("defaults:\n  - model: net\n", ["+model=large"]),
    "a group twice": ("defaults:\n  - model: net\n  - model: large\n", []),
    "itself twice": ("defaults:\n  - _self_\n  - base\n  - _self_\n", []),
    "a list over a mapping": ("defaults:\n  - base\n  - model: sizes\n", []),
}
NOT_FOLLOWED: dict[str, tuple[str, list[str]]] = {
    "an option by reference": ("defaults:\n  - model: ${name}\nname: net\n", []),
    "an option that is missing": ("defaults:\n  - model: ???\n", []),
    "overridden": ("defaults:\n  - model: net\n  - override model: large\n", []),
    "a list of a word": ("seed: 1\n", ["seed=[1,2]"]),
    "taken away": ("seed: 1\n", ["~seed"]),
    "several runs": ("seed: 1\n", ["seed=1,2"]),
    "a number with zeros before it": ("seed: 1\n", ["seed=007"]),
    "no option of a group": ("defaults:\n  - model: net\n", ["model=null"]),
    "a package of old": ("defaults:\n  - model: grouped\n", []),
    "a package of two words": ("defaults:\n  - model: named\n", []),
    "out of the folder": ("defaults:\n  - ../other\n", []),
}


def folder_of(folder: Path, text: str) -> Path:
    projects.write(folder, {f"conf/{name}": held for name, held in FILES.items()})
    (folder / "conf" / "config.yaml").write_text(text)
    return folder / "conf"


def by_hydra(folder: Path, words: list[str]) -> dict[str, Any]:
    hydra, omegaconf = pytest.importorskip("hydra"), pytest.importorskip("omegaconf")
    with hydra.initialize_config_dir(str(folder), version_base="1.3"):
        made = hydra.compose("config", overrides=words)
    return omegaconf.OmegaConf.to_container(made, resolve=False)


@pytest.mark.parametrize("name", COMPOSED)
def test_what_hydra_composes(tmp_path, name):
    text, words = COMPOSED[name]
    folder = folder_of(tmp_path, text)
    found = composed(str(folder), "config", border_around(tmp_path), words)
    expected = by_hydra(folder, words)
    assert found == expected
    assert list(found) == list(expected)


@pytest.mark.parametrize("name", NOT_COMPOSED)
def test_what_hydra_does_not_compose(tmp_path, name):
    text, words = NOT_COMPOSED[name]
    folder = folder_of(tmp_path, text)
    with pytest.raises(NotComposedError):
        composed(str(folder), "config", border_around(tmp_path), words)
    with pytest.raises(pytest.importorskip("hydra").errors.HydraException):
        by_hydra(folder, words)


@pytest.mark.parametrize("name", NOT_FOLLOWED)
def test_of_what_is_not_followed_nothing_is_claimed(tmp_path, name):
    text, words = NOT_FOLLOWED[name]
    with pytest.raises(NotComposedError):
        composed(str(folder_of(tmp_path, text)), "config", border_around(tmp_path), words)


def test_nothing_is_read_beyond_the_border_of_the_project(tmp_path):
    folder = folder_of(tmp_path / "project", "defaults:\n  - outside\n")
    (tmp_path / "outside.yaml").write_text("seed: 1\n")
    (folder / "outside.yaml").symlink_to(tmp_path / "outside.yaml")
    with pytest.raises(NotComposedError):
        composed(str(folder), "config", border_around(folder))


def test_files_that_name_each_other_end(tmp_path):
    folder = folder_of(tmp_path, "defaults:\n  - other\n")
    (folder / "other.yaml").write_text("defaults:\n  - config\n")
    with pytest.raises(NotComposedError):
        composed(str(folder), "config", border_around(tmp_path))
