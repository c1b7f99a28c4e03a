"""What a newcomer gets wrong, and what the commands say to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from modgraph.cli import main

NET = """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


@pytest.mark.parametrize("output", ["link", "link/", "link/net.json"])
def test_a_link_that_is_named_is_followed_where_it_leads_to_what_is_not_there_yet(here: Path, output: str):
    (here / "net.py").write_text(NET)
    (here / "link").symlink_to("new")
    assert main(["analyze", "net.py", "--static", "--format", "json", "-o", output]) == 0
    assert len(list((here / "new").iterdir())) == 1


def test_a_link_to_itself_is_no_file(here: Path, capsys):
    (here / "net.py").write_text(NET)
    (here / "link").symlink_to("link")
    assert main(["analyze", "net.py", "--static", "--format", "json", "-o", "link/net.json"]) == 2
    assert "is a file" not in capsys.readouterr().err


@pytest.mark.parametrize(("options", "status"), [([], 2), (["--force-exclude"], 0)])
def test_a_notebook_that_is_named_is_said_not_to_be_checked(here: Path, capsys, options: list[str], status: int):
    (here / "x.ipynb").write_text("{}")
    assert main(["check", "x.ipynb", *options]) == status
    said = capsys.readouterr().err
    assert "is not checked: it is a notebook" in said
    assert "x.ipynb" in said


def test_a_base_that_the_file_does_not_bind_is_a_missing_import(here: Path, capsys):
    (here / "net.py").write_text(NET.partition("\n")[2])
    assert main(["analyze", "net.py", "--static"]) == 2
    said = capsys.readouterr().err
    assert "nn.Module is the base of class Net, and the file binds no 'nn': is an import missing?" in said
    assert "installed" not in said


@pytest.mark.needs_torch
def test_where_a_model_cannot_be_built_it_is_said_what_works_without(here: Path, capsys):
    parser = "import argparse\n\nparser = argparse.ArgumentParser()\nparser.add_argument('--data', required=True)\n"
    net = NET.replace("super().__init__()", "super().__init__(); print(options)")
    (here / "train.py").write_text(f"{parser}options = parser.parse_args()\n{net}")
    assert main(["analyze", "train.py"]) == 1
    assert "the model was not built, so this is what is predicted" in capsys.readouterr().err
    assert main(["analyze", "train.py", "--static"]) == 0
    assert "was not built" not in capsys.readouterr().err


WANTING = """\
from torch import nn

class Plain(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.a = nn.Embedding(vocab, dim)

class Odd(nn.Module):
    def __init__(self, zork, dim, *, fizz):
        super().__init__()
        self.a = nn.Linear(zork, dim)
        self.b = nn.Linear(dim, fizz)

class Entries(nn.Module):
    def __init__(self, params):
        super().__init__()
        self.a = nn.Linear(params["a_b"], params["zork"])

class Object(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.a = nn.Linear(cfg.zork, cfg.fizz)
"""


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        (
            "Plain",
            "give the arguments, modgraph analyze 'net.py:Plain(vocab=1000, dim=64)' --static, or write a function",
        ),
        (
            "Odd",
            "give the arguments, with a value for each ..., modgraph analyze 'net.py:Odd(zork=..., dim=64, fizz=...)'"
            " --static, or write a function",
        ),
        (
            "Entries",
            "give the arguments, with a value for each ..., modgraph analyze 'net.py:Entries(params=...)' --static, or"
            " write a function",
        ),
        ("Object", "write a function"),  # what has attributes is no literal
    ],
)
def test_help_for_a_class_that_wants_arguments_begins_with_these(name: str, typed: str, here: Path, capsys):
    (here / "net.py").write_text(WANTING)
    assert main(["analyze", f"net.py:{name}", "--static", "--format", "json"]) == 1
    assert f"help: {typed}" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["Plain", "Odd"])
def test_with_values_such_a_command_works(name: str, here: Path, capsys):
    (here / "net.py").write_text(WANTING)
    main(["analyze", f"net.py:{name}", "--static", "--format", "json"])
    target = capsys.readouterr().err.partition("modgraph analyze '")[2].partition("'")[0]
    assert main(["analyze", target.replace("...", "7"), "--static", "--format", "json"]) == 0


@pytest.mark.parametrize(
    ("option", "meant"),
    [("--inputs", "; did you mean --input?"), ("--statics", "; did you mean --static?"), ("--zork", "")],
)
def test_an_option_that_is_not_there_is_told_with_the_one_that_is_meant(option: str, meant: str, here: Path, capsys):
    (here / "net.py").write_text(NET)
    assert main(["analyze", "net.py", option]) == 2
    said = capsys.readouterr().err
    assert said.startswith("usage: modgraph analyze ")
    assert said.splitlines()[-1] == f"modgraph analyze: error: unrecognized arguments: {option}{meant}"


def test_an_option_before_the_command_is_told_to_stand_behind_it(here: Path, capsys):
    (here / "net.py").write_text(NET)
    assert main(["--static", "analyze", "net.py"]) == 2
    told = "modgraph analyze: error: --static stands behind the command: modgraph analyze --static ..."
    assert capsys.readouterr().err.splitlines()[-1] == told


def test_a_model_beside_those_that_are_taken_is_named_once(here: Path, capsys):
    (here / "net.py").write_text(
        "import torch\nfrom torch import nn\n\nclass A(nn.Module):\n    def __init__(self, zork):\n        super().__init__()\n"
        "        self.a = nn.Linear(zork, 4)\n    def forward(self, x):\n        return self.a(x)\n\n"
        "class B(nn.Module):\n    def __init__(self, zork):\n        super().__init__()\n        self.b = nn.GRU(zork, 4)\n"
        "    def forward(self, x):\n        return self.b(x)\n\n"
        "class C(nn.Module):\n    def __init__(self, a, b):\n        super().__init__()\n        self.a, self.b = a, b\n"
        "    def forward(self, x):\n        return self.b * self.a(x)\n"
    )
    main(["analyze", "net.py", "--static", "--format", "json"])
    assert capsys.readouterr().err.count("also in net.py: C") == 1


@pytest.mark.parametrize("words", [["net.py"], ["net.py:Net"], ["-q", "net.py"], ["not there.py"]])
def test_a_model_without_a_command_is_told_what_to_type(words: list[str], here: Path, capsys):
    (here / "net.py").write_text(NET)
    assert main(words) == 2
    name = words[-1] if " " not in words[-1] else f"'{words[-1]}'"
    told = f"modgraph: error: {words[-1]} is no command; for its graph: modgraph analyze {name}"
    assert capsys.readouterr().err.splitlines()[-1] == told


def test_a_folder_with_notebooks_alone_names_the_first(here: Path, capsys):
    (here / "work" / "a b").mkdir(parents=True)
    (here / "work" / "a b" / "net.ipynb").write_text("{}")
    assert main(["analyze", "work"]) == 2
    assert "help: name the notebook in it: modgraph analyze 'work/a b/net.ipynb'" in capsys.readouterr().err
    (here / "work" / "net.py").write_text(NET)
    assert main(["analyze", "work"]) == 2
    assert "work/net.py" in capsys.readouterr().err


MISTAKES = [
    # the words, what is said, what is not
    (["analyse", "net.py"], "analyse is no command; did you mean analyze?", "invalid choice"),
    (["picture", "net.py"], "the commands are analyze, check, diff, bisect, history, render", "did you mean"),
    (["analyze", "nett.py"], "did you mean net.py?", "other.py"),
    (["analyze", "else.py"], "else.py does not exist", "did you mean"),
    (["analyze", "net.py:Net(3)", "--static"], "it takes none, and 1 is given", "1 are"),
    (["analyze", "--all", "net.py"], "for the models of a file: modgraph analyze net.py", ""),
    (["analyze", "--all", "nowhere"], "nowhere does not exist", "is no folder"),
    (["render", "nothing.json"], "there is no such file", "No such file or directory"),
    (["check", "--select", "MG999"], "the rules are MG001", "did you mean"),
    (["check", "--select", "unregistered-module"], "did you mean", "the rules are"),
]


@pytest.mark.parametrize(("words", "said", "unsaid"), MISTAKES)
def test_what_is_said_can_be_acted_on(here: Path, capsys, words: list[str], said: str, unsaid: str):
    (here / "net.py").write_text(NET)
    (here / "other.py").write_text(NET)
    try:
        status = main(words)
    except SystemExit as ended:
        status = ended.code
    assert status == 2
    told = capsys.readouterr().err
    assert said in told
    assert not unsaid or unsaid not in told
