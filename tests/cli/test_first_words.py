"""What a new user reads: hints can be typed as they stand, files are named from where he stands, and no cause comes twice."""

from __future__ import annotations

import re
import shlex

import pytest

from modgraph.cli.places import error_seen_from_here
from modgraph.errors import ConfigError, InputError, TargetError
from modgraph.source.inputs import parse_input

HEAD = "import torch\nfrom torch import nn\n"
NET = HEAD + (
    "class Net(nn.Module):\n"
    "    def __init__(self{parameters}):\n"
    "        super().__init__()\n"
    "        self.fc = nn.Linear(3, 4)\n"
    "        {init}\n"
    "    def forward(self, x):\n"
    "        {body}\n"
)


def net(init="pass", body="return self.fc(x)", parameters="", before=""):
    return before + NET.format(init=init, body=body, parameters=parameters)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("mode=fast", "fast"),
        ("fast", "fast"),
        ("mode=two words", "two words"),
        ("batch.mode=fast", "fast"),
        ("x[0]=fast", "fast"),
        ("mode=a-b.c", "a-b.c"),
        ("flag=true", True),
        ("flag=none", None),
        ("batch.flag=False ", False),
    ],
)
def test_what_the_help_says_of_a_text_can_be_typed(text, meant):
    try:
        spec = parse_input(text)
    except InputError as error:
        typed = shlex.split(error.hint)
        spec = parse_input(typed[typed.index("--input") + 1])
    assert spec.literal == meant
    place = parse_input(f"{text.rpartition('=')[0]}=1") if "=" in text else parse_input("1")
    assert (spec.name, spec.place) == (place.name, place.place)


@pytest.mark.parametrize("text", ["x=1y3", "x=[fast", "x=BxTxfoo3", "x=(1,3"])
def test_what_is_typed_in_other_help_is_an_input(text):
    with pytest.raises(InputError) as caught:
        parse_input(text)
    named = [word.rstrip(",;") for word in shlex.split(caught.value.hint.replace("(", " ").replace(")", " "))]
    inputs = [word for word in named if re.match(r"[\w.\[\]]+=\S", word)]
    assert inputs
    for word in inputs:
        parse_input(word)


@pytest.mark.parametrize("folder", ["", "s p", "s p/it's"])
def test_a_command_in_the_help_runs_as_it_is_typed(tmp_path, modgraph, folder):
    place = tmp_path / "s p" / "it's"
    place.mkdir(parents=True)
    (place / "net.py").write_text(net(parameters=", zork").replace("nn.Linear(3", "nn.Linear(zork"))
    shown = "net.py" if folder == "s p/it's" else "it's/net.py" if folder else "s p/it's/net.py"
    first = modgraph("analyze", shown, "--static", "--format", "json", "-o", "out", cwd=tmp_path / folder)
    (command,) = re.findall(r"modgraph (analyze .*?), or write", first.stderr)
    words = shlex.split(command.replace("zork=...", "zork=3"))
    again = modgraph(*words, "--format", "json", "-o", "out", cwd=tmp_path / folder)
    assert again.returncode == 0, again.stderr


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("sub/net.py", HEAD + "class Net(nn.Module)\n", "sub/net.py:3:21"),
        ("sub/net.py", "def f(): pass\n", "sub/net.py has no nn.Module"),
        ("sub/net.py:Nets", net(), "sub/net.py has no class or function 'Nets'"),
        ("sub/net.py", net("self.k = K", before="import os\nK = os.environ['NOT_THERE']\n"), "as sub/net.py:2 raised"),
        ("sub/net.py", net("self.p = P()", before="from .parts import P\n"), "as sub/net.py:1 raised"),
    ],
)
def test_files_are_named_with_their_folder(tmp_path, modgraph, file, text, said):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "net.py").write_text(text)
    run = modgraph("analyze", file, "--format", "json", "-o", "out")
    told = run.stdout + run.stderr
    assert said in " ".join(told.split())
    assert not re.search(r"(?<![\w/])net\.py", told)


@pytest.mark.parametrize(("kind", "expected"), [(TargetError, "sub/net.py"), (ConfigError, "net.py")])
def test_a_file_of_the_configuration_stays_as_it_is(tmp_path, kind, expected, monkeypatch):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "net.py").write_text("")
    monkeypatch.chdir(tmp_path)
    assert error_seen_from_here(kind("net.py is wrong", file="net.py"), "sub/net.py:Net(3)").file == expected


@pytest.mark.parametrize(
    ("text", "once", "never"),
    [
        (net("self.g = nn.Linear(5, 2)", "return self.g(self.fc(x))"), "RuntimeError, as MG301 says", "mat1"),
        (net("self.g = nn.Sequential(nn.Linear(5, 2), nn.Linear(3, 2))", "return self.g(x.new_ones(1, 5))"),
         "RuntimeError, as MG302 says", "mat1"),
        (net().replace("        super().__init__()\n", ""), "AttributeError, as MG108 says", "cannot assign"),
        (net(body="return self.g(x)"), "has no attribute 'g'", "as MG304 says"),
    ],
)  # fmt: skip
def test_what_a_finding_says_is_not_said_again_by_the_run(tmp_path, modgraph, text, once, never):
    (tmp_path / "net.py").write_text(text)
    run = modgraph("analyze", "net.py", "--format", "json", "-o", "out")
    shown = " ".join(run.stdout.split())
    assert once in shown
    assert never not in shown


def test_a_place_is_not_said_below_a_message_that_names_it(tmp_path, modgraph):
    (tmp_path / "net.py").write_text("def f(): pass\n")
    assert "-->" not in modgraph("analyze", "net.py").stderr
