"""`modgraph diff --fail-on checkpoint` and `--emit-map`: what a job in CI, and whoever loads an old checkpoint, is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import modgraph
from modgraph.cli import main

NET = (
    "import os\nfrom torch import nn\n\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
)


def net(*lines: str) -> str:
    return NET + "".join(f"        {line}\n" for line in lines)


BASE = net("self.a = nn.Linear(2, 3)", "self.b = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))")
SIDES = {
    "the same": (BASE, 0),
    "an argument": (BASE + "        self.d = nn.Dropout(0.3)\n", 0),
    "a rename": (BASE.replace("self.a", "self.x"), 1),
    "a key more": (BASE + "        self.c = nn.Linear(5, 5)\n", 1),
    "a width": (BASE.replace("2, 3", "2, 4").replace("(3, 3)", "(4, 4)"), 1),
    "open keys": (BASE + "        self.c = getattr(nn, os.environ['X'])(2, 2)\n", 0),
    "open keys beside a break": (
        BASE.replace("self.a", "self.x") + "        self.c = getattr(nn, os.environ['X'])(2)\n",
        1,
    ),
    "nothing": ("class (\n", 2),
}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> Callable[..., Any]:
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        status = main(["diff", *arguments])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


@pytest.mark.parametrize("name", SIDES)
def test_the_status_is_that_of_the_keys(tmp_path: Path, run, name: str):
    new, expected = SIDES[name]
    (tmp_path / "old.py").write_text(BASE, "utf-8")
    (tmp_path / "new.py").write_text(new, "utf-8")
    status, out, err = run("old.py:Net", "new.py:Net", "--fail-on", "checkpoint")
    assert status == expected, out + err
    assert ("is not known" in err) == (name == "open keys")
    if name == "a rename":
        assert [line for line in out.splitlines() if "→" in line] == ["  a.bias → x.bias", "  a.weight → x.weight"]


def test_a_key_that_loads_into_another_layer_is_a_warning(tmp_path: Path, run):
    (tmp_path / "old.py").write_text(
        net("self.b = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3))"), "utf-8"
    )
    new = net("self.b = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3))", "self.b[2] = nn.Bilinear(3, 1, 3)")
    (tmp_path / "new.py").write_text(
        new.replace("nn.Bilinear(3, 1, 3)", "Other(3)")
        .replace(
            "\n\nclass Net",
            """

class Other(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size, size))
        self.bias = nn.Parameter(torch.ones(size))


class Net""",
        )
        .replace("import os", "import os\nimport torch"),
        "utf-8",
    )
    status, _, err = run("old.py:Net", "new.py:Net", "--fail-on", "checkpoint")
    assert status == 0
    changes = modgraph.diff("old.py:Net", "new.py:Net")
    assert ("would load into another layer" in err) == bool(changes.state.misplaced)
    assert changes.checkpoint.fits is True


def test_every_key_has_a_row(tmp_path: Path, run):
    rows = [f"self.l{number} = nn.Linear(2, {number + 3})" for number in range(30)]
    (tmp_path / "old.py").write_text(net(*rows), "utf-8")
    (tmp_path / "new.py").write_text(net("self.z = nn.Linear(99, 99)"), "utf-8")
    _, out, _ = run("old.py:Net", "new.py:Net", "--fail-on", "checkpoint")
    for number in range(30):
        for kind in ("weight", "bias"):
            assert f"  the new model has no place for l{number}.{kind}\n" in out


def test_the_verdict_is_told_whole_in_a_narrow_terminal(tmp_path: Path, run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "60")
    (tmp_path / "old.py").write_text(BASE, "utf-8")
    new = (
        BASE.replace("2, 3", "2, 4").replace("(3, 3), nn.Linear(3, 3)", "(4, 4)") + "        self.c = nn.Linear(5, 5)\n"
    )
    (tmp_path / "new.py").write_text(new, "utf-8")
    _, out, _ = run("old.py:Net", "new.py:Net", "--fail-on", "checkpoint")
    told = " ".join(out.split())
    assert "does not fit: keys 2 missing, 2 unexpected, 4 of another shape" in told


def test_graphs_are_compared_as_targets_are(tmp_path: Path, run):
    (tmp_path / "old.py").write_text(BASE, "utf-8")
    (tmp_path / "new.py").write_text(BASE.replace("self.a", "self.x"), "utf-8")
    for side in ("old", "new"):
        modgraph.predict(f"{side}.py:Net").save(f"{side}.json")
    assert run("old.json", "new.json", "--fail-on", "checkpoint")[0] == 1
    assert run("old.json", "old.json", "--fail-on", "checkpoint")[0] == 0


@pytest.mark.needs_torch
def test_a_file_of_weights_and_a_model(tmp_path: Path, run):
    import torch

    names: dict[str, Any] = {"__name__": "built"}
    exec(BASE, names)
    torch.save(names["Net"]().state_dict(), tmp_path / "old.pt")
    (tmp_path / "new.py").write_text(BASE.replace("self.a", "self.x"), "utf-8")
    status, out, err = run("old.pt", "new.py:Net", "--fail-on", "checkpoint", "--emit-map", "keys.txt")
    assert status == 1, err
    assert "a.weight → x.weight" in out
    assert out.startswith("old  old · old.pt · read from a file\n")
    assert "\na.weight: x.weight\n" in (tmp_path / "keys.txt").read_text("utf-8")
    assert run("old.pt", "old.pt", "--fail-on", "checkpoint")[0] == 0
    status, _, err = run("old.pt", "new.py:Net")
    assert (status, "--against" in err) == (2, True)


ENTRIES: dict[str, tuple[Any, int]] = {
    "the first": (lambda own, other: {"model": own, "ema": other, "epoch": 3}, 0),
    "the second": (lambda own, other: {"teacher": other, "student": own}, 0),
    "behind a wrapper": (
        lambda own, other: {"model": {f"module.{key}": value for key, value in own.items()}, "ema": other},
        0,
    ),
    "deeper": (lambda own, other: {"state": {"net": own, "critic": other}, "epoch": 3}, 0),
    "parts of the model": (
        lambda own, other: {
            part: {key[2:]: value for key, value in own.items() if key.startswith(f"{part}.")} for part in "ab"
        },
        0,
    ),
    "parts of it, deeper": (
        lambda own, other: {
            "state": {part: {key[2:]: value for key, value in own.items() if key[0] == part} for part in "ab"}
        },
        0,
    ),
    "one that shares with the other": (
        lambda own, other: {"ema": {"z": own["a.bias"], "y": own["a.weight"]}, "model": own},
        0,
    ),
    "none that fits": (lambda own, other: {"model": {**own, "more": own["a.bias"]}, "ema": other}, 1),
}


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", ENTRIES)
def test_the_entry_of_a_file_is_chosen_as_with_against(tmp_path: Path, run, name: str):
    import torch

    made, expected = ENTRIES[name]
    names: dict[str, Any] = {"__name__": "built"}
    exec(BASE, names)
    own = dict(names["Net"]().state_dict())
    torch.save(made(own, {"shadow": torch.ones(2), "a.bias": torch.ones(3)}), tmp_path / "saved.pt")
    (tmp_path / "net.py").write_text(BASE, "utf-8")
    status, out, err = run("saved.pt", "net.py:Net", "--fail-on", "checkpoint", "--emit-map", "keys.txt")
    assert status == expected, out + err
    against = main(["analyze", "net.py:Net", "--static", "--against", "saved.pt", "-q", "-o", str(tmp_path / "out")])
    assert against == status
    if "parts" not in name:
        assert "is compared, which has most of the model's keys" in err
        table = next(
            each for each in _tables(torch.load(tmp_path / "saved.pt")) if any("a.weight" in key for key in each)
        )
        lines = (tmp_path / "keys.txt").read_text("utf-8").splitlines()
        assert {line.partition(": ")[0] for line in lines if line and line[0] != "#"} <= set(table)


def _tables(saved: dict[str, Any]) -> list[dict[str, Any]]:
    """The mappings that hold no further ones."""
    inner = [value for value in saved.values() if isinstance(value, dict)]
    return [each for one in inner for each in _tables(one)] if inner else [saved]


WITH_EMPTY_LAYERS = {
    "between": ("self.b = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 3), nn.GELU(), nn.Linear(3, 4))",),
    "in front": ("self.b = nn.Sequential(nn.Flatten(), nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3))",),
    "in a list": ("self.b = nn.ModuleList([nn.Identity(), nn.Linear(3, 3), nn.Identity(), nn.Linear(3, 3)])",),
    "in blocks": (
        "row = lambda: nn.Sequential(nn.Conv2d(2, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Conv2d(2, 2, 3))",
        "self.b = nn.Sequential(nn.ReLU(), row(), nn.ReLU(), row(), nn.Sequential(), row())",
    ),
    "more than ten": ("self.b = nn.Sequential(*[nn.Linear(3, 3) if i % 3 else nn.ELU() for i in range(13)])",),
}


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", WITH_EMPTY_LAYERS)
@pytest.mark.parametrize("prefix", ["", "model."])
def test_the_own_weights_of_a_model_fit_where_layers_have_none(tmp_path: Path, run, name: str, prefix: str):
    import torch

    source = net(*WITH_EMPTY_LAYERS[name])
    (tmp_path / "net.py").write_text(source, "utf-8")
    names: dict[str, Any] = {"__name__": "built"}
    exec(source, names)
    state = dict(names["Net"]().state_dict())  # the dict alone: its _metadata would name the layers without weights
    names["Net"]().load_state_dict(state, strict=True)  # torch takes it
    torch.save({f"{prefix}{key}": value for key, value in state.items()}, tmp_path / "own.pt")
    for sides in (("own.pt", "net.py:Net"), ("net.py:Net", "own.pt")):
        status, out, err = run(*sides, "--fail-on", "checkpoint")
        assert status == 0, out + err
        assert "a checkpoint of the old model fits" in out
        assert "another layer" not in out + err


@pytest.mark.needs_torch
def test_a_layer_that_has_another_number_behind_one_without_weights_is_renamed(tmp_path: Path, run):
    import torch

    old = net("self.b = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 4))")
    names: dict[str, Any] = {"__name__": "built"}
    exec(old, names)
    torch.save(dict(names["Net"]().state_dict()), tmp_path / "old.pt")
    (tmp_path / "new.py").write_text(old.replace("nn.ReLU()", "nn.ReLU(), nn.Dropout()"), "utf-8")
    status, out, err = run("old.pt", "new.py:Net", "--fail-on", "checkpoint")
    assert status == 1, out + err
    assert "b.2.weight → b.3.weight" in out


@pytest.mark.needs_torch
def test_a_tensor_under_two_names_behind_the_prefix_of_a_wrapper(tmp_path: Path, run):
    import torch

    source = BASE + "        self.b[1].bias = self.b[0].bias\n"
    names: dict[str, Any] = {"__name__": "built"}
    exec(source, names)
    torch.save({f"module.{key}": value for key, value in names["Net"]().state_dict().items()}, tmp_path / "tied.pt")
    (tmp_path / "net.py").write_text(source, "utf-8")
    status, out, err = run("tied.pt", "net.py:Net", "--fail-on", "checkpoint")
    assert status == 0, out + err


WRAPPED = {
    "a wrapper": ("module.", {}, 0),
    "a wrapper in a wrapper": ("module._orig_mod.", {}, 0),
    "none": ("", {}, 0),
    "a name of the model's own": ("", {"a.": "module."}, 1),
    "a wrapper and a rename": ("module.", {"a.": "x."}, 1),
}


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", WRAPPED)
@pytest.mark.parametrize("entry", [None, "state_dict"])
def test_the_prefix_of_a_wrapper_is_taken_off_as_with_against(tmp_path: Path, run, name: str, entry: str | None):
    import torch

    prefix, renamed, expected = WRAPPED[name]
    names: dict[str, Any] = {"__name__": "built"}
    exec(BASE, names)
    state = names["Net"]().state_dict()
    for old, new in renamed.items():
        state = {key.replace(old, new, 1): value for key, value in state.items()}
    state = {f"{prefix}{key}": value for key, value in state.items()}
    torch.save(state if entry is None else {entry: state, "epoch": 3}, tmp_path / "old.pt")
    (tmp_path / "net.py").write_text(BASE, "utf-8")
    status, out, err = run("old.pt", "net.py:Net", "--fail-on", "checkpoint", "--emit-map", "keys.txt")
    assert status == expected, out + err
    assert (f"{prefix!r} taken off" in err) == bool(prefix)
    against = main(["analyze", "net.py:Net", "--static", "--against", "old.pt", "-q", "-o", str(tmp_path / "out")])
    assert against == status
    lines = (tmp_path / "keys.txt").read_text("utf-8").splitlines()
    keys = [line.partition(": ")[0] for line in lines if line and not line.startswith("#")]
    assert not expected or not prefix or all(key in state for key in keys)
    assert expected or not prefix or keys == sorted(state)
    if prefix:
        assert run("net.py:Net", "old.pt", "--fail-on", "checkpoint")[0] == expected


def test_all_targets_of_a_project(tmp_path: Path, run, git):
    git("init", "-q", cwd=tmp_path)
    configuration = '[tool.modgraph]\ntargets = ["a.py:Net", "b.py:Net"]\n'
    git.commit("a.py", BASE, "b.py", BASE, "pyproject.toml", configuration, cwd=tmp_path)
    git.commit("a.py", BASE + "        self.d = nn.Dropout()\n", cwd=tmp_path)
    assert run("HEAD~1", "--fail-on", "checkpoint")[0] == 0
    assert run("HEAD~1")[0] == 1
    git.commit(
        "c.py",
        BASE,
        "pyproject.toml",
        configuration.replace("]", ', "c.py:Net"]', 2).replace('[tool.modgraph, "c.py:Net"]', "[tool.modgraph]"),
        cwd=tmp_path,
    )
    assert run("HEAD~1", "--fail-on", "checkpoint")[0] == 0, "a new model breaks none"
    git.commit("b.py", BASE.replace("self.a", "self.x"), cwd=tmp_path)
    status, out, err = run("HEAD~1", "--fail-on", "checkpoint")
    assert status == 1
    assert "a.weight → x.weight" in out
    status, _, err = run("HEAD~1", "--fail-on", "checkpoint", "--emit-map", "keys.txt")
    assert (status, "is of one model" in err) == (2, True)


def test_the_map_is_not_put_on_standard_output(tmp_path: Path, run):
    (tmp_path / "old.py").write_text(BASE, "utf-8")
    status, out, err = run("old.py:Net", "old.py:Net", "--emit-map", "-")
    assert (status, out, "names a file" in err) == (2, "", True)
