"""Arguments that the callers of a function say which builds the model, and those that a command line gives: each project
is run by Python, started as it is meant to be, and what it gives the class is what is found."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import textwrap
from pathlib import Path

import jsonschema
import pytest

import modgraph
from modgraph.arguments import candidates, project_files
from modgraph.arguments.calls_in_project import MAX_CALLERS_UP
from modgraph.export import render
from modgraph.export.text.summary import summary
from modgraph.graph.serial import schema
from modgraph.source.targets import parse_target
from tests.arguments import projects

NET = """
    from torch import nn

    class Net(nn.Module):
        def __init__(self, depth, width):
            super().__init__()
            self.layers = nn.Sequential(*[nn.Linear(width, width) for _ in range(depth)])

        def forward(self, x):
            return self.layers(x)
    """
STUB = """
    class Net:
        def __init__(self, depth, width):
            print(dict(depth=depth, width=width))
            raise SystemExit(0)
    """
"""What the class is where Python runs the project: it says what it is given."""
BUILD = """
    from net import Net

    def build(args):
        return Net(args.depth, args.width)
    """
OPTIONS = """
    import argparse
    parser = argparse.ArgumentParser()
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--width", type=int, default=5)
    """


def script(body: str, options: str = OPTIONS) -> str:
    return textwrap.dedent(options) + textwrap.dedent(body)


PROJECTS: dict[str, dict[str, str]] = {
    "a function of another file": {
        "build.py": BUILD,
        "train.py": script("from build import build\nnet = build(parser.parse_args())\n"),
    },
    "in the script's part": {
        "build.py": BUILD,
        "train.py": script(
            "import build as b\ndef main(args):\n    b.build(args)\nif __name__ == '__main__':\n"
            "    main(parser.parse_args())\n"
        ),
    },
    "two files between": {
        "build.py": BUILD,
        "factory.py": "from build import *\ndef make(args, verbose=False):\n    return build(args)\n",
        "train.py": script("from factory import make as made\nnet = made(parser.parse_args())\n"),
    },
    "a package": {
        "models/__init__.py": "from .build import build\ndef build_model(args):\n    return build(args)\n",
        "models/build.py": BUILD,
        "train.py": script("from models import build_model\nnet = build_model(parser.parse_args())\n"),
    },
    "a function of the model's file": {
        "net.py": textwrap.dedent(NET) + "\ndef build(args):\n    return Net(width=args.width, depth=args.depth)\n",
        "train.py": script("import net\nmodel = net.build(parser.parse_args())\n"),
    },
    "a method": {
        "trainer.py": """
            from net import Net

            class Trainer:
                def __init__(self, args):
                    self.args = args
                    self.model = self.build()

                def build(self):
                    return Net(self.args.depth, self.args.width)
            """,
        "train.py": script("from trainer import Trainer\nTrainer(parser.parse_args())\n"),
    },
    "a table of classes": {
        "build.py": """
            from net import Net

            CLASSES = {"net": Net, "none": None}

            def build(args):
                cls = CLASSES[args.model]
                return cls(args.depth, args.width)
            """,
        "train.py": script(
            "parser.add_argument('--model', default='net')\nfrom build import build\nbuild(parser.parse_args())\n"
        ),
    },
    "keywords of a dictionary": {
        "build.py": "from net import Net\ndef create(depth, size, **others):\n    return Net(depth, size // 2)\n",
        "train.py": """
            from build import create

            def defaults():
                return dict(depth=2, size=12, verbose=True)

            def main():
                given = defaults()
                create(**{name: given[name] for name in given})

            if __name__ == "__main__":
                main()
            """,
    },
}


def run_by_python(folder: Path, files: dict[str, str], *words: str) -> dict[str, int]:
    """What the class is given where the project is started; nothing where that does not call it."""
    stubbed = {
        **files,
        "net.py": textwrap.dedent(STUB) + (files.get("net.py", "").partition("return self.layers(x)\n")[2]),
    }
    projects.write(folder, stubbed)
    done = subprocess.run([sys.executable, "train.py", *words], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return ast.literal_eval(done.stdout or "{}")


def first_found(folder: Path, files: dict[str, str]):
    projects.write(folder, {"net.py": NET, **files})
    found = candidates(parse_target(f"{folder}/net.py:Net"), assume=False)
    return found[0] if found else None


@pytest.mark.parametrize("name", PROJECTS)
def test_what_the_callers_say_is_found(tmp_path, name):
    expected = run_by_python(tmp_path / "run", PROJECTS[name])
    found = first_found(tmp_path / "read", PROJECTS[name])
    assert dict(found.arguments) == expected
    assert found.origin.kind == "call"
    assert found.origin.started_by is None


def test_callers_are_followed_so_far(tmp_path):
    def chain(steps: int) -> dict[str, str]:
        files = {"f0.py": BUILD.replace("build(", "make0(")}
        for step in range(1, steps):
            files[f"f{step}.py"] = (
                f"from f{step - 1} import make{step - 1}\ndef make{step}(args):\n    return make{step - 1}(args)\n"
            )
        last = steps - 1
        files["train.py"] = script(f"from f{last} import make{last}\nmake{last}(parser.parse_args())\n")
        return files

    assert first_found(tmp_path / "near", chain(MAX_CALLERS_UP)) is not None
    assert first_found(tmp_path / "far", chain(MAX_CALLERS_UP + 1)) is None


def test_each_file_is_read_and_parsed_once_for_all_steps(tmp_path, monkeypatch):
    read: list[str] = []
    parsed: list[str] = []
    monkeypatch.setattr(project_files, "text_of", lambda path: read.append(str(path)) or Path(path).read_text())
    monkeypatch.setattr(project_files, "parse", lambda text: parsed.append(text) or ast.parse(text))
    chain = {
        "f0.py": BUILD.replace("build(", "make0("),
        "f1.py": "from f0 import make0\ndef make1(args):\n    return make0(args)\n",
        "f2.py": "from f1 import make1\nfrom net import Net\ndef make2(args):\n    return make1(args)\n",
        "train.py": script("from f2 import make2\nmake2(parser.parse_args())\n"),
    }
    assert first_found(tmp_path, chain) is not None
    assert {Path(each).name for each in read} == {"net.py", *chain}
    assert len(read) == len(set(read))
    assert len(parsed) == len(set(parsed)) == len(chain)


def test_functions_of_the_same_name_elsewhere_are_others(tmp_path):
    files = {
        "build.py": BUILD,
        "other.py": "def build(args):\n    return args\n",
        "train.py": script("from other import build\nbuild(parser.parse_args())\n"),
    }
    assert first_found(tmp_path, files) is None


def test_where_a_call_says_all_callers_are_not_looked_for(tmp_path):
    files = {
        "build.py": BUILD + "\n    net = Net(1, 2)\n",
        "train.py": script("from build import build\nbuild(parser.parse_args())\n"),
    }
    projects.write(tmp_path, {"net.py": NET, **files})
    found = candidates(parse_target(f"{tmp_path}/net.py:Net"), assume=False)
    assert [dict(each.arguments) for each in found] == [{"depth": 1, "width": 2}]


REQUIRED = """
    import argparse
    parser = argparse.ArgumentParser()
    parser.add_argument("--depth", type=int, required=True)
    parser.add_argument("--width", type=int, default=5)
    """


@pytest.mark.parametrize("body", ["from net import Net\n", "from build import build\n"])
def test_what_a_command_line_has_to_give_is_read_from_where_the_project_starts_it(tmp_path, body):
    call = "a = parser.parse_args()\n" + ("build(a)\n" if "build" in body else "Net(a.depth, a.width)\n")
    files = {"build.py": BUILD, "train.py": script(body + call, REQUIRED)}
    assert first_found(tmp_path / "alone", files) is None
    started = {**files, "README.md": "# Net\n\n    python train.py --depth 4\n"}
    expected = run_by_python(tmp_path / "run", started, "--depth", "4")
    found = first_found(tmp_path / "read", started)
    assert dict(found.arguments) == expected == {"depth": 4, "width": 5}
    assert found.origin.started_by == "README.md:3"


SET_WORDS = {
    "appended": "import sys\nsys.argv.append('--depth=6')\n",
    "added": "import sys\nsys.argv += ['--depth', '6', '--width', '9']\n",
    "replaced": "import sys\nsys.argv = ['x', '--depth', '6']\n",
    "extended": "import sys\nsys.argv.extend(['--depth', '6'])\n",
    "under another name": "import sys\nwords = sys.argv\nwords.append('--depth=6')\n",
    "by a function": "import sys\ndef add(words):\n    words.append('--depth=6')\nadd(sys.argv)\n",
    "written over": "import sys\nsys.argv[1:] = ['--depth', '6']\n",
}


@pytest.mark.parametrize("in_script", [False, True])
@pytest.mark.parametrize("name", SET_WORDS)
def test_words_that_a_script_sets_are_those_of_its_parser(tmp_path, name, in_script):
    body = "from build import build\ndef main():\n    build(parser.parse_args())\n" + SET_WORDS[name] + "main()\n"
    if in_script:
        lines = textwrap.indent(SET_WORDS[name] + "main()\n", "    ")
        body = body.partition("import sys")[0] + f"if __name__ == '__main__':\n{lines}"
    files = {"build.py": BUILD, "train.py": script(body, REQUIRED)}
    expected = run_by_python(tmp_path / "run", files)
    found = first_found(tmp_path / "read", files)
    assert dict(found.arguments) == expected
    assert expected["depth"] == 6


def test_words_that_a_script_sets_stand_behind_those_of_the_command_line(tmp_path):
    body = "import sys\nsys.argv += ['--width', '9']\nfrom build import build\nbuild(parser.parse_args())\n"
    files = {"build.py": BUILD, "train.py": script(body, REQUIRED), "README.md": "python train.py --depth 4\n"}
    expected = run_by_python(tmp_path / "run", files, "--depth", "4")
    found = first_found(tmp_path / "read", files)
    assert dict(found.arguments) == expected == {"depth": 4, "width": 9}
    assert found.origin.started_by == "README.md:1"


def test_a_script_reads_the_words_of_its_command_line_itself(tmp_path):
    body = "import sys\nfrom net import Net\nNet(int(sys.argv[1]), len(sys.argv))\n"
    files = {"train.py": body, "README.md": "python train.py 4 --fast\n"}
    expected = run_by_python(tmp_path / "run", files, "4", "--fast")
    found = first_found(tmp_path / "read", files)
    assert dict(found.arguments) == expected == {"depth": 4, "width": 3}


def test_an_open_word_of_a_command_line_leaves_the_other_options(tmp_path):
    options = REQUIRED
    body = "parser.add_argument('--data', required=True)\na = parser.parse_args()\nfrom build import build\nbuild(a)\n"
    files = {
        "build.py": BUILD,
        "train.py": script(body, options),
        "README.md": "python train.py --data $DATA/x --depth 4\n",
    }
    expected = run_by_python(tmp_path / "run", files, "--data", "anything/x", "--depth", "4")
    assert dict(first_found(tmp_path / "read", files).arguments) == expected
    files["README.md"] = "python train.py --data x --depth $DEPTH\n"
    assert first_found(tmp_path / "open", files) is None
    files["README.md"] = "python train.py --data x $OPTIONS --depth 4\n"
    assert first_found(tmp_path / "options", files) is None


def test_what_runs_without_words_is_not_started_with_any(tmp_path):
    files = {
        "build.py": BUILD,
        "train.py": script("from build import build\nbuild(parser.parse_args())\n"),
        "README.md": "python train.py --depth 4\n",
    }
    assert dict(first_found(tmp_path, files).arguments) == run_by_python(tmp_path / "run", files)


def test_a_required_option_leaves_the_others_at_their_defaults(tmp_path):
    """An option that the class does not read may be missing."""
    options = REQUIRED.replace("--depth", "--data")
    body = "parser.add_argument('--depth', type=int, default=2)\nfrom build import build\nbuild(parser.parse_args())\n"
    files = {"build.py": BUILD, "train.py": script(body, options)}
    expected = run_by_python(tmp_path / "run", files, "--data", "1")
    assert dict(first_found(tmp_path / "read", files).arguments) == expected


def test_it_is_said_how_the_script_is_started(tmp_path):
    files = {
        "net.py": NET,
        "train.py": script("from net import Net\na = parser.parse_args()\nNet(a.depth, a.width)\n", REQUIRED),
        "README.md": "python train.py --depth 4\n",
    }
    projects.write(tmp_path, files)
    graph = modgraph.analyze(f"{tmp_path}/net.py:Net", static=True)
    lines = (tmp_path / "train.py").read_text().splitlines()
    place = f"train.py:{lines.index('Net(a.depth, a.width)') + 1}"
    assert f"found in {place}, as README.md:1 starts it: depth=4, width=5" in summary(graph)
    written = json.loads(render(graph, "json"))
    jsonschema.validate(written, schema())
    assert written["model"]["arguments_from"]["started_by"] == "README.md:1"
    (tmp_path / "graph.json").write_text(render(graph, "json"))
    assert modgraph.load(tmp_path / "graph.json").model.arguments_from == graph.model.arguments_from


def test_of_an_object_only_what_the_class_reads_has_to_be_known(tmp_path):
    net = NET.replace("depth, width)", "args)").replace("(width, width)", "(args.width, args.width)")
    files = {
        "net.py": net.replace("range(depth)", "range(args.depth)"),
        "train.py": script("from net import Net\nNet(parser.parse_args())\n", REQUIRED),
        "demo.py": script(
            "parser.add_argument('--data', required=True)\nfrom net import Net\nNet(parser.parse_args())\n"
        ),
    }
    found = first_found(tmp_path, files)
    assert found.origin.file == "demo.py"


LONG = "0x" + "f" * 6_000


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("config.yaml", f"model:\n  type: Net\n  depth: 2\n  width: {LONG}\n"),
        ("config.toml", f'[model]\ntype = "Net"\ndepth = 2\nwidth = {LONG}\n'),
        ("config.py", f"model = dict(type='Net', depth=2, width={LONG})\n"),
        ("run.py", "from net import Net\nNet(2, 1 << 20000)\n"),
        ("run.py", f"from net import Net\nNet(2, {LONG})\n"),
    ],
)
def test_a_number_that_python_does_not_write_is_no_argument(tmp_path, file, text):
    projects.write(tmp_path, {"net.py": NET, file: text})
    graph = modgraph.analyze(f"{tmp_path}/net.py:Net", static=True)
    assert "layers" in [node.path for node in graph.modules]
