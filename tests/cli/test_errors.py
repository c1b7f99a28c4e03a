"""Bad input: one clear message, status 2, no traceback."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from modgraph.cli import main

NET = """
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x, scale=1.0):
        return self.fc(x) * scale
"""


def write(folder: Path, text: str, name: str = "model.py") -> str:
    (folder / name).write_text(text)
    return name


def said(run) -> str:
    """What was said, after checking how: status 2, one error, nothing on standard output."""
    assert run.returncode == 2, (run.returncode, run.stdout, run.stderr)
    assert "Traceback" not in run.stderr
    assert run.stderr.count("error:") == 1
    assert run.stdout == ""
    return run.stderr


def test_missing_file(modgraph, tmp_path):
    write(tmp_path, NET)
    message = said(modgraph("analyze", "modle.py"))
    assert "modle.py does not exist" in message
    assert "did you mean model.py?" in message


def test_directory(modgraph, tmp_path):
    write(tmp_path, NET)
    message = said(modgraph("analyze", "."))
    assert ". is a directory" in message
    assert "./model.py" in message


def test_syntax_error_names_file_and_line(modgraph, tmp_path):
    write(tmp_path, "import torch\n\nclass Net(:\n    pass\n")
    message = said(modgraph("analyze", "model.py"))
    assert "--> model.py:3" in message
    assert "class Net(:" in message


def test_no_module_in_the_file_says_what_is_there(modgraph, tmp_path):
    write(tmp_path, "class Config: pass\ndef train(): pass\n")
    message = said(modgraph("analyze", "model.py"))
    assert "no nn.Module" in message
    assert "class Config, function train" in message


def test_unknown_class_suggests_the_nearest(modgraph, tmp_path):
    write(tmp_path, NET)
    message = said(modgraph("analyze", "model.py:Nett"))
    assert "'Nett'" in message
    assert "Net" in message.replace("Nett", "")


@pytest.mark.needs_torch
@pytest.mark.parametrize("spec", ["y=1x4", "x=1x4,scale=2", "x=1x"])
def test_wrong_input_says_what_forward_accepts(modgraph, tmp_path, spec):
    write(tmp_path, NET)
    message = said(modgraph("analyze", "model.py", "--input", spec))
    if spec == "y=1x4":
        assert "forward" in message
        assert "x" in message
        assert "scale" in message


@pytest.mark.needs_torch
def test_too_many_inputs_says_what_forward_accepts(modgraph, tmp_path):
    write(tmp_path, NET)
    message = said(modgraph("analyze", "model.py", "--input", "1x4", "--input", "1x4", "--input", "1x4"))
    assert "forward" in message


def test_unknown_format(modgraph, tmp_path):
    write(tmp_path, NET)
    message = said(modgraph("analyze", "model.py", "--format", "svg,jpeg"))
    assert "jpeg" in message
    assert "png" in message


def test_unwritable_output_directory(modgraph, tmp_path):
    write(tmp_path, NET)
    write(tmp_path, "", "taken")
    message = said(modgraph("analyze", "model.py", "-o", "taken/out"))
    assert "taken" in message


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_output_directory_without_permission(modgraph, tmp_path):
    write(tmp_path, NET)
    (tmp_path / "locked").mkdir(mode=0o500)
    assert "permission" in said(modgraph("analyze", "model.py", "-o", "locked/out"))


def test_two_formats_into_one_file(modgraph, tmp_path):
    write(tmp_path, NET)
    assert "standard output" in said(modgraph("analyze", "model.py", "--format", "svg,json", "-o", "-"))


def test_unknown_module(modgraph):
    assert "no_such_package" in said(modgraph("analyze", "no_such_package.models:Net"))


def test_render_of_what_is_no_graph(modgraph, tmp_path):
    write(tmp_path, "{}", "graph.json")
    assert "graph.json" in said(modgraph("render", "graph.json"))


def test_render_of_a_missing_file(modgraph):
    assert "graph.json" in said(modgraph("render", "graph.json"))


@pytest.mark.parametrize(
    "arguments",
    [(), ("analyse", "model.py"), ("analyze", "m.py", "--depth", "0"), ("analyze", "m.py", "--nofold"),
     ("analyze", "m.py", "--timeout", "soon"), ("analyze", "m.py", "--memory-limit", "much")],
)  # fmt: skip
def test_bad_usage_is_status_2(modgraph, arguments):
    run = modgraph(*arguments)
    assert run.returncode == 2
    assert "usage: modgraph" in run.stderr


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--timeout", "abc", "'abc' is not a number of seconds above 0"),
        ("--timeout", "0", "'0' is not a number of seconds above 0"),
        ("--timeout", "nan", "'nan' is not a number of seconds above 0"),
        ("--timeout", "1e400", "'1e400' is not a number of seconds above 0"),
        ("--memory-limit", "inf", "'inf' is not a size such as 512M or 4G"),
        ("--memory-limit", "nan", "'nan' is not a size such as 512M or 4G"),
        ("--memory-limit", "1e400", "'1e400' is not a size such as 512M or 4G"),
        ("--memory-limit", "1e300T", "'1e300T' is not a size such as 512M or 4G"),
        ("--memory-limit", "0.1", "'0.1' is not a size such as 512M or 4G"),
        ("--memory-limit", "", "'' is not a size such as 512M or 4G"),
        ("--depth", "0", "'0' is not a whole number above 0"),
        ("--depth", "1.5", "'1.5' is not a whole number above 0"),
        ("--depth", "9" * 5000, "is not a whole number above 0"),
    ],
)
def test_a_number_that_cannot_be_used_is_named(capsys, option, value, words):
    assert main(["analyze", "model.py", option, value]) == 2
    error = capsys.readouterr().err
    assert f"error: argument {option}: " in error
    assert words in error
    assert "_seconds" not in error


def test_what_a_prediction_makes_no_use_of_is_named(modgraph, tmp_path):
    write(tmp_path, NET)
    message = said(modgraph("analyze", "model.py", "--static", "--backward", "--memory-limit", "4G"))
    assert "--backward, --memory-limit are of no use with --static" in message


def test_a_suffix_that_is_no_format(modgraph, tmp_path):
    write(tmp_path, NET)
    message = said(modgraph("analyze", "model.py", "--static", "-o", "net.bmp"))
    assert "'net.bmp': .bmp is no format" in message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.py"]


BRANCHES = """
import torch
from torch import nn

if torch.__version__ > "1":
    class New(nn.Linear):
        def __init__(self):
            super().__init__(4, 4)
else:
    class Old(nn.Linear):
        def __init__(self):
            super().__init__(4, 4)
"""


@pytest.mark.needs_torch
def test_a_model_of_a_branch_that_is_not_taken_is_left_out_with_a_note(modgraph, tmp_path):
    write(tmp_path, BRANCHES)
    run = modgraph("analyze", "model.py", "--format", "json", "-o", "out/")
    assert run.returncode == 0, run.stderr
    assert "note: model.py:Old is left out" in run.stderr
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["New.json"]


@pytest.mark.needs_torch
def test_a_model_of_a_branch_that_is_not_taken_is_an_error_where_it_was_asked_for(modgraph, tmp_path):
    write(tmp_path, BRANCHES)
    assert "no 'Old'" in said(modgraph("analyze", "model.py:Old"))


@pytest.mark.needs_torch
def test_where_no_branch_has_a_model_after_all_it_is_an_error(modgraph, tmp_path):
    write(tmp_path, "from torch import nn\nclass A(nn.Module): pass\nclass B(nn.Module): pass\ndel A, B\n")
    message = said(modgraph("analyze", "model.py", "--format", "json", "-o", "out/"))
    assert "no 'B'" in message


def test_debug_shows_the_traceback(modgraph):
    assert "Traceback" in modgraph("analyze", "missing.py", "--debug").stderr


@pytest.mark.needs_torch
def test_a_class_that_needs_arguments_is_a_note_beside_one_that_was_written(modgraph, tmp_path):
    write(tmp_path, NET + "\nclass Part(nn.Module):\n    def __init__(self, width): super().__init__()\n")
    run = modgraph("analyze", "model.py", "--format", "json")
    assert run.returncode == 1, run.stderr
    assert "note: model.py:Part is left out: Part(width)" in run.stderr
    assert "error:" not in run.stderr
    assert (tmp_path / "modgraph-out" / "Net.json").is_file()


@pytest.mark.needs_torch
def test_classes_that_all_need_arguments_are_written_as_they_are_predicted(modgraph, tmp_path):
    text = "".join(f"class {n}(nn.Module):\n    def __init__(self, w): super().__init__()\n" for n in "AB")
    write(tmp_path, f"from torch import nn\n{text}")
    run = modgraph("analyze", "model.py", "--format", "json")
    assert run.returncode == 1
    assert sorted(file.name for file in (tmp_path / "modgraph-out").glob("[!.]*")) == ["A.json", "B.json"]
    assert run.stderr.count("needs arguments, and none are known") == 2


@pytest.mark.needs_torch
def test_classes_as_arguments_are_followed(modgraph, tmp_path):
    write(
        tmp_path,
        "from torch import nn\nclass Part(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.fc = nn.Linear(4, 4)\n    def forward(self, x): return self.fc(x)\n"
        "class Net(nn.Module):\n    def __init__(self, part, act):\n        super().__init__()\n"
        "        self.part, self.act = part(), act()\n    def forward(self, x): return self.act(self.part(x))\n"
        "if __name__ == '__main__':\n    net = Net(Part, nn.ReLU)\n",
    )
    run = modgraph("analyze", "model.py", "--format", "json")
    assert run.returncode == 0, run.stderr
    modules = json.loads((tmp_path / "modgraph-out" / "Net.json").read_text())["modules"]
    assert {module["path"] for module in modules} == {"", "part", "part.fc", "act"}
    assert [file.name for file in (tmp_path / "modgraph-out").glob("[!.]*")] == ["Net.json"]


@pytest.mark.needs_torch
def test_an_argument_of_another_name_is_told_the_nearest(modgraph, tmp_path):
    write(
        tmp_path, "from torch import nn\nclass Net(nn.Module):\n    def __init__(self, depth=3): super().__init__()\n"
    )
    assert "did you mean depth=?" in said(modgraph("analyze", "model.py:Net(dept=3)"))


@pytest.mark.needs_torch
@pytest.mark.parametrize(
    ("parameters", "hint"),
    [("deep: int, rate: float", "Net(deep=1, rate=0.1)'"), ("opt", "def build(): return Net(...)"),
     ("opt: dict", "modgraph analyze model.py:build")],
)  # fmt: skip
def test_missing_arguments_are_told_only_where_their_annotations_say_what_they_are(
    modgraph, tmp_path, parameters, hint
):
    text = f"from torch import nn\nclass Net(nn.Module):\n    def __init__(self, {parameters}): super().__init__()\n"
    write(tmp_path, text)
    run = modgraph("analyze", "model.py:Net", "--format", "json")
    assert run.returncode == 1
    assert hint in run.stderr


def test_a_file_that_hands_on_models_of_others_names_them(modgraph, tmp_path):
    (tmp_path / "nets").mkdir()
    write(tmp_path / "nets", NET)
    write(tmp_path / "nets", "from .model import NET, Net as Network\nfrom os import path\n", "__init__.py")
    (tmp_path / "nets" / "model.py").write_text(NET + "\nNET = 3\n")
    message = said(modgraph("analyze", "nets/__init__.py"))
    assert "it hands on Network from another file" in message
    assert "nets/__init__.py:Network" in message


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            "Net(dept=4)",
            ["Net(depth=2, *, width: int = 8)", "unexpected keyword argument 'dept'", "did you mean depth=?"],
        ),
        ("Net(zzz=4)", ["its arguments are depth, width"]),
        ("Net(1, 2)", ["too many positional arguments: it takes 1, and 2 are given"]),
        ("Net(1, depth=2)", ["multiple values for argument 'depth'"]),
        ("build(1, 2)", ["build(n, /, *rest, k=1, **more)", ""]),
    ],
)
def test_arguments_that_a_target_does_not_take(modgraph, tmp_path, call, words):
    write(
        tmp_path,
        "from torch import nn\nclass Net(nn.Module):\n    def __init__(self, depth=2, *, width: int = 8):\n"
        "        super().__init__()\ndef build(n, /, *rest, k=1, **more):\n    return Net()\n",
    )
    run = modgraph("analyze", f"model.py:{call}", "--static", "--format", "json")
    if call.startswith("build"):
        assert run.returncode == 0, run.stderr
        return
    message = said(run)
    assert all(word in message for word in words)
    assert not (tmp_path / "modgraph-out" / "Net.json").exists()


def test_a_note_says_how_a_class_that_needs_arguments_is_predicted(modgraph, tmp_path):
    (tmp_path / "train.py").write_text(
        "import argparse\nfrom torch import nn\n"
        "class Net(nn.Module):\n"
        "    def __init__(self, options):\n"
        "        super().__init__()\n"
        "        self.fc = nn.Linear(options.width, 2)\n"
        "def main():\n"
        "    parser = argparse.ArgumentParser()\n"
        "    parser.add_argument('--width', type=int, default=7)\n"
        "    net = Net(parser.parse_args())\n"
        "if __name__ == '__main__':\n"
        "    main()\n"
    )
    run = modgraph("analyze", "train.py", "--static", "--format", "json")
    assert run.returncode == 0, run.stderr
    assert "note: Net needs arguments: taking those with which the script itself calls it" in run.stderr
    assert "16 · all trainable" in run.stdout


def test_quiet_still_says_why_the_status_is_not_zero(tmp_path, modgraph):
    source = (
        "import torch.nn as nn\n\nclass Net(nn.Module):\n    def __init__(self, parts):\n        super().__init__()\n"
    )
    (tmp_path / "net.py").write_text(source + "        self.a = parts.a\n        self.b = nn.ReLU()\n")
    run = modgraph("analyze", "net.py:Net", "--static", "--quiet", "--format", "json")
    assert (run.returncode, run.stdout) == (1, "")
    loud = modgraph("analyze", "net.py:Net", "--static", "--format", "json")
    assert run.stderr.startswith("warning: Net: predict: ")
    assert len(run.stderr.splitlines()) <= 2 < len(loud.stderr.splitlines()) + len(loud.stdout.splitlines())


def test_quiet_says_nothing_of_a_whole_graph(tmp_path, modgraph):
    (tmp_path / "net.py").write_text("import torch.nn as nn\n\nnet = nn.Linear(2, 3)\n")
    run = modgraph("analyze", "net.py:net", "--static", "--quiet", "--format", "json")
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
