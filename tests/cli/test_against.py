"""`modgraph analyze --static --against CHECKPOINT`, on files that torch itself wrote."""

from __future__ import annotations

import json
import pickle
import zipfile
from pathlib import Path

import pytest

from modgraph.cli import main

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.needs_torch

NET = """
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.fc = nn.Linear(4, 4)

class Net(nn.Module):
    def __init__(self, depth=3):
        super().__init__()
        self.stem = nn.Linear(3, 4)
        self.blocks = nn.Sequential(*[Block() for _ in range(depth)])
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "net.py").write_text(NET)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


@pytest.fixture
def model():
    namespace: dict = {"__name__": "net"}
    exec(NET, namespace)
    return namespace["Net"]


@pytest.fixture
def against(capsys):
    """against(file): status, output and errors of the command."""

    def run(file: str, target: str = "net.py:Net", output: str = "out/") -> tuple[int, str, str]:
        status = main(["analyze", target, "--static", "--against", file, "--format", "json", "-o", output])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def test_a_state_dict_fits(folder, model, against):
    torch.save(model().state_dict(), "net.pt")
    status, out, err = against("net.pt")
    assert status == 0
    assert "checkpoint net.pt · 23 of 23 keys match" in out
    assert "warning" not in err


def test_a_file_of_the_old_format_is_read(folder, model, against):
    torch.save(model().state_dict(), "net.pth", _use_new_zipfile_serialization=False)
    assert against("net.pth")[0] == 0


def test_an_entry_and_a_prefix_are_said(folder, model, against):
    state = {f"module.{key}": value for key, value in model().state_dict().items()}
    moments = {"state": {0: {"step": torch.zeros(1)}}}
    torch.save({"epoch": 3, "optimizer": moments, "net": {"weights": state}}, "net.ckpt")
    status, out, _ = against("net.ckpt")
    assert status == 0
    assert "entry 'net.weights' · 'module.' taken off its keys · 23 of 23 keys match" in out


def test_differences_are_grouped_and_the_status_is_1(folder, model, against):
    state = model(2).state_dict() | {"stem.weight": torch.zeros(4, 5), "old.a": torch.ones(1), "old.b": torch.ones(1)}
    torch.save(state, "net.bin")
    status, out, err = against("net.bin")
    assert status == 1
    said = out[out.index("checkpoint net.bin") :].splitlines()
    assert [line.strip() for line in said if line] == [
        "checkpoint net.bin · 15 of 23 keys match · 7 missing · 2 unexpected · 1 of another shape",
        "missing from the checkpoint",
        "blocks.2.* · 7 keys",
        "unexpected, not in the model",
        "old.* · 2 keys",
        "of another shape",
        "stem.weight · 4×3 in the model, 4×5 in the checkpoint",
    ]
    assert "warning: checkpoint: net.bin does not fit the model: keys 7 missing" in err
    assert len(json.loads((folder / "out/Net.json").read_text())["checkpoint"]["missing"]) == 7


def test_many_lines_are_cut(folder, model, against):
    torch.save({**model().state_dict(), **{f"k{n}": torch.ones(1) for n in range(40)}}, "net.pt")
    _, out, _ = against("net.pt")
    assert "… and 29 more lines; the JSON has all" in out


def test_shards_of_another_format_are_read(folder, model, against):
    state = list(model().state_dict().items())
    torch.save(dict(state[:10]), "a.bin")
    torch.save(dict(state[10:]), "b.bin")
    names = {key: "a.bin" if place < 10 else "b.bin" for place, (key, _) in enumerate(state)}
    Path("model.bin.index.json").write_text(json.dumps({"weight_map": names}))
    assert against("model.bin.index.json")[0] == 0


def test_plain_data_beside_the_tensors_is_read_past(folder, model, against):
    import argparse
    import collections
    import datetime
    import fractions
    import types

    numpy = pytest.importorskip("numpy")
    beside = {
        "options": argparse.Namespace(lr=0.1, where=Path("runs")),
        "more": types.SimpleNamespace(a=fractions.Fraction(1, 2)),
        "when": [datetime.datetime(2024, 1, 1), datetime.timedelta(1)],
        "scores": collections.defaultdict(list, {"best": [numpy.float64(0.5)]}),
        "last": collections.deque([1, 2], maxlen=3),
        "table": numpy.zeros(3),
        "kind": numpy.dtype("int16"),
    }
    for legacy in (False, True):
        state = {"model": model().state_dict(), **beside}
        torch.save(state, "net.pt", _use_new_zipfile_serialization=not legacy)
        status, out, err = against("net.pt")
        assert status == 0, err
        assert "entry 'model' · 23 of 23 keys match" in out


def test_a_lazy_layer_has_keys_without_shapes(folder, against):
    lazy = torch.nn.ModuleDict({"stem": torch.nn.LazyLinear(4)})
    torch.save(lazy.state_dict(), "net.pt")
    _, out, _ = against("net.pt")
    assert "2 of 23 keys match · 21 missing" in out


def test_time_and_memory_bound_the_reading(folder, model, modgraph):
    torch.save(model().state_dict(), "net.pt")
    torch.save({str(n): torch.zeros(1) for n in range(20_000)}, "long.pt")
    command = ("analyze", "net.py:Net", "--static", "--format", "json", "--memory-limit", "4G")
    run = modgraph(*command, "--against", "long.pt", "--timeout", "0.01")
    assert run.returncode == 2
    assert "cannot read the checkpoint long.pt: the time limit of 0.01 s was reached" in run.stderr
    assert modgraph(*command, "--against", "net.pt", "--timeout", "100").returncode == 0


class Runs:
    """Unpickled, it would make a directory."""

    def __reduce__(self):
        import os

        return os.mkdir, ("it_ran",)


def save_half(name: str) -> None:
    torch.save({"w": torch.ones(1000)}, name)
    content = Path(name).read_bytes()
    Path(name).write_bytes(content[: len(content) // 2])


def save_archive(name: str) -> None:
    with zipfile.ZipFile(name, "w") as archive:
        archive.writestr("a.npy", b"numbers")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: torch.save({"w": torch.ones(1), "x": Runs()}, "net.pt"),
            "mkdir), and nothing that would run code is loaded",
        ),
        (lambda: torch.save(torch.nn.Linear(1, 1), "net.pt"), "holds more than tensors (torch.nn.modules.linear"),
        (lambda: torch.jit.save(torch.jit.script(torch.nn.Linear(1, 1)), "net.pt"), "TorchScript program"),
        (lambda: torch.save([1, 2], "net.pt"), "no state dict in it"),
        (lambda: Path("net.pt").write_bytes(b"junk" * 100), "no checkpoint that torch can read"),
        (lambda: Path("net.pt").touch(), "is empty"),
        (lambda: Path("net.pt").write_text("hello\n" * 200), "it is a text"),
        (lambda: Path("net.pt").write_text("version https://git-lfs.github.com/spec/v1\n"), "Git LFS pointer"),
        (lambda: Path("net.pt").write_bytes(pickle.dumps(Runs())), "mkdir), and nothing that would run code is loaded"),
        (lambda: Path("net.pt").write_bytes(pickle.dumps({"a": 1})), "a pickle that torch.save did not write"),
        (lambda: save_half("net.pt"), "cut off, damaged"),
        (lambda: save_archive("net.pt"), "an archive of another kind"),
    ],
    ids=["code", "module", "script", "list", "junk", "empty", "text", "lfs", "raw", "plain", "half", "archive"],
)
def test_what_cannot_be_read_is_one_clear_error(folder, against, make, words):
    make()
    status, out, err = against("net.pt")
    assert status == 2
    assert words in err
    assert err.count("error:") == 1
    assert "Traceback" not in err
    assert "weights_only" not in err
    assert out == ""
    assert not (folder / "it_ran").exists()
    assert not (folder / "out").exists()


def test_a_checkpoint_is_of_one_model(folder, model, against):
    (folder / "net.py").write_text(NET + "\nclass Other(nn.Module):" + NET.partition("class Net(nn.Module):")[2])
    torch.save(model().state_dict(), "net.pt")
    status, _, err = against("net.pt", "net.py")
    assert status == 2
    assert "--against compares one model" in err
    assert "net.py:Other" in err


def test_a_run_is_compared_as_well(folder, model, modgraph):
    torch.save(model().state_dict(), "net.pt")
    body = "\n    def forward(self, x):\n        return self.blocks(self.stem(x))\n"
    (folder / "net.py").write_text(
        NET.replace("        self.norm", "        self.late = nn.Identity()\n        self.norm") + body
    )
    run = modgraph("analyze", "net.py:Net", "--input", "2x3", "--against", "net.pt", "--format", "json", "-o", "-")
    assert run.returncode in (0, 1), run.stderr
    assert json.loads(run.stdout)["checkpoint"]["fits"]
    assert "checkpoint net.pt · 23 of 23 keys match" in run.stderr


def test_a_live_model_is_compared(folder, model):
    import modgraph

    net = model()
    torch.save(net.state_dict(), "net.pt")
    assert modgraph.analyze(net, static=False, args=(torch.ones(2, 3),), against="net.pt").checkpoint.fits
