"""Words that a parser of argparse is given: what Python makes of them, or that it ends there."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from modgraph.graph.model import Graph

PARSER = textwrap.dedent("""
    import argparse
    from torch import nn
    parser = argparse.ArgumentParser()
    parser.add_argument("--depth", type=int, choices=[1, 2, 3], default=1)
    parser.add_argument("--arch", choices=("a", "b"), default="a")
    parser.add_argument("--sizes", type=int, nargs="+", choices=range(5), default=[4])
    parser.add_argument("--kind", choices={"x": 1, "y": 2}.keys(), default="x")
    parser.add_argument("--flag", nargs="?", const="none", default="other")
    """)
MODEL = textwrap.dedent("""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            for name, value in sorted(vars(arguments).items()):
                setattr(self, f"{name}_{value}".replace(" ", ""), nn.ReLU())
    """)


def by_python(parse: str) -> dict[str, Any] | None:
    """What the parser gives; None where it ends the process."""
    held: dict[str, Any] = {"__name__": "net"}
    try:
        exec(PARSER + f"arguments = {parse}\n", held)
    except SystemExit:
        return None
    return vars(held["arguments"])


FITTING = [
    "[]",
    "['--depth', '2', '--arch', 'b']",
    "['--depth=3', '--sizes', '0', '4']",
    "['--dep', '2', '--kind', 'y']",
    "['--flag']",
]
REFUSED = [
    "['--depth', '9']",
    "['--arch', 'zzz']",
    "['--sizes', '1', '7']",
    "['--kind', 'z']",
    "['--wrong', '1', '--depth', '2']",
    "['--depth', '2', 'more']",
    "['--depth']",
    "['-h']",
]


@pytest.mark.parametrize("words", FITTING)
def test_what_python_takes_is_known(predict_source: Callable[..., Graph], words: str) -> None:
    expected = by_python(f"parser.parse_args({words})")
    assert expected is not None
    graph = predict_source(PARSER + f"arguments = parser.parse_args({words})\n" + MODEL)
    names = [f"{name}_{value}".replace(" ", "") for name, value in sorted(expected.items())]
    assert [node.path for node in graph.modules if node.path] == names
    assert graph.complete


@pytest.mark.parametrize("words", REFUSED)
def test_where_python_ends_nothing_is_claimed(
    predict_source: Callable[..., Graph], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert by_python(f"parser.parse_args({words})") is None
    capsys.readouterr()
    graph = predict_source(PARSER + f"arguments = parser.parse_args({words})\n" + MODEL)
    assert not graph.complete
    assert [node.path for node in graph.modules if node.path] == ["?"]
    assert capsys.readouterr().err == ""


def test_words_that_no_option_takes_are_given_back(predict_source: Callable[..., Graph]) -> None:
    parse = "parser.parse_known_args(['--wrong', '1', '--depth', '2'])[0]"
    expected = by_python(parse)
    graph = predict_source(PARSER + f"arguments = {parse}\n" + MODEL)
    assert expected is not None
    assert f"depth_{expected['depth']}" in [node.path for node in graph.modules]


def test_an_option_of_no_name_ends_nothing(predict_source: Callable[..., Graph]) -> None:
    text = PARSER + "parser.add_argument('--x', dest=5)\narguments = parser.parse_args(['--x', '2'])\n" + MODEL
    assert not predict_source(text).complete


def test_standard_error_is_left_to_the_other_threads(
    predict_source: Callable[..., Graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    parse, before = argparse.ArgumentParser.parse_known_args, sys.stderr

    def recorded(self: argparse.ArgumentParser, *words: Any) -> Any:
        seen.append(sys.stderr)
        return parse(self, *words)

    monkeypatch.setattr(argparse.ArgumentParser, "parse_known_args", recorded)
    predict_source(PARSER + "arguments = parser.parse_args(['--depth', '2'])\n" + MODEL)
    assert seen == [before]


STATED = {
    "defaults before an option that has one": "p.set_defaults(width=3)\np.add_argument('--width', type=int, default=8)",
    "defaults before an option that has none": "p.set_defaults(width=3)\np.add_argument('--width', type=int)",
    "defaults behind an option": "p.add_argument('--width', type=int, default=8)\np.set_defaults(width=3)",
    "defaults twice": "p.set_defaults(width=3)\np.add_argument('--width', default=8)\np.set_defaults(width=4)",
    "two options with one name": "p.add_argument('--width', default=8)\np.add_argument('-w', dest='width', default=11)",
    "a conflict that is resolved": "p.add_argument('--width', default=8)\np.add_argument('--width', default=11)",
    "defaults of no option": "p.set_defaults(width=3)",
    "a group": "g = p.add_argument_group('g')\ng.add_argument('--width', default=8)\np.set_defaults(width=5)",
}


@pytest.mark.parametrize("name", STATED)
def test_defaults_are_those_that_python_has(predict_source: Callable[..., Graph], name: str) -> None:
    text = f"import argparse\nfrom torch import nn\np = argparse.ArgumentParser(conflict_handler='resolve')\n{STATED[name]}\n"
    held: dict[str, Any] = {}
    exec(text + "arguments = p.parse_args([])\n", held)
    graph = predict_source(text + "arguments = p.parse_args([])\n" + MODEL)
    assert [node.path for node in graph.modules if node.path] == [f"width_{held['arguments'].width}"]
    assert graph.complete


@pytest.mark.parametrize("words", ["['net.py', '--depth', '3']", "['net.py', '--depth=3', '--arch', 'b']"])
def test_words_that_the_script_sets_count(
    predict_source: Callable[..., Graph], monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["net.py"])
    expected = by_python(f"[sys := __import__('sys'), setattr(sys, 'argv', {words}), parser.parse_args()][-1]")
    assert expected is not None
    graph = predict_source(f"import sys\n{PARSER}sys.argv = {words}\narguments = parser.parse_args()\n{MODEL}")
    found = {node.path for node in graph.modules if node.path}
    assert f"depth_{expected['depth']}" in found
    assert "depth_1" not in found


NAMED = MODEL.replace("sorted(vars(arguments).items())", "[('depth', arguments.depth), ('kind', arguments.kind)]")


@pytest.mark.parametrize(
    "words",
    [
        "['--depth', '2', '--arch=' + str(os.environ['A'])]",
        "['--arch', str(os.environ['A']), '--depth', '2']",
        "['--arch', f\"a{os.environ['A']}\", '--kind', 'x', '--depth', '2']",
    ],
)
def test_a_word_that_is_not_known_leaves_its_own_option_open(predict_source: Callable[..., Graph], words: str) -> None:
    graph = predict_source(f"import os\n{PARSER}arguments = parser.parse_args({words})\n{NAMED}")
    assert [node.path for node in graph.modules if node.path] == ["depth_2", "kind_x"]
    graph = predict_source(f"import os\n{PARSER}arguments = parser.parse_args({words})\n{MODEL}")
    assert not graph.complete


@pytest.mark.parametrize(
    "words",
    [
        "[str(os.environ['A']), '--depth', '2']",
        "['--depth', '2', '-' + str(os.environ['A'])]",
        "['--sizes', '1', f\"{os.environ['A']}\", '--depth', '2']",
        "['--flag', str(os.environ['A']), '--depth', '2']",
    ],
)
def test_a_word_that_may_be_an_option_leaves_all_open(predict_source: Callable[..., Graph], words: str) -> None:
    graph = predict_source(f"import os\n{PARSER}arguments = parser.parse_args({words})\n{MODEL}")
    assert [node.path for node in graph.modules if node.path] == ["?"]


def test_an_option_that_is_added_twice_is_no_option(predict_source: Callable[..., Graph]) -> None:
    """Python refuses it."""
    graph = predict_source(
        f"{PARSER}parser.add_argument('--depth', default=7)\narguments = parser.parse_args([])\n{MODEL}"
    )
    assert not graph.complete
