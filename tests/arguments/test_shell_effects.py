"""What is said of a shell script is what the shell does with it, whatever lies in its folder: bash and sh say that."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from modgraph.arguments.shell_commands import Document
from modgraph.prediction.calls_elsewhere import OPEN

OF_FOLDERS = [
    "> data",
    "2> logs",
    "> logs/",
    "> ..",
    "> .",
    "<> data",
    ">| data",
    ">> data/",
    "&> logs",
    "> nope/",
    "> data/.",
]
OF_NAMES = ['> ""', '> "$EMPTY"', "> $EMPTY", '> "$1"', "> cfg.yaml/x", "> nope/../x", "< nope", '< ""', "< cfg.yaml/"]
OF_NUMBERS = [">&3", "2>&7", "<&4", "2>& log.txt", "3>&1 >&4", "2>&- >&2", "<& cfg.yaml"]
FAILING = [
    *("X=$(date -Z)", "X=$(basename)", "X=$(dirname)", "X=$(pwd -Q)", "X=$(basename $UNSET)", "X=$(basename a b c)"),
    *(
        "X=$(whoami x)",
        "X=a$(date -Z)b",
        "A=($(false))",
        "A=(1 $(date -Z))",
        'X=$(date "+%Y" b)',
        "F=-x; X=$(basename $F)",
    ),
    *("sleep abc", "sleep", "date -Z", "pwd -Z", "whoami x", "hostname -Q", "echo a | tee data", "echo a > data"),
    *("mkdir -p cfg.yaml", "mkdir -p cfg.yaml/x", 'mkdir -p ""', "mkdir -p", "mkdir -p --foo x", "mkdir -p -m bad x"),
    *("mkdir data", "mkdir a/b", "cd cfg.yaml", "cd nope/../sub", "echo a >&9", "echo x >&-", "printf x > data"),
]
UNSET = ["A=$(echo $Y)", "A=$(date +$Y)", "for i in a $Y; do :; done", "A=(a $Y)", 'A=$(basename "$Y")']
ENDLESS = ["sleep infinity", "yes", "tail -f cfg.yaml", "X=$(sleep infinity)", "sleep 1 inf"]
NOT_RUN = [
    *(f"python train.py --a 1 {each}\n" for each in [*OF_FOLDERS, *OF_NAMES, *OF_NUMBERS]),
    *(
        f"{group} > data\n"
        for group in ("{ python train.py; }", "(python train.py)", "for i in 1; do python train.py; done")
    ),
    *(f"set -e\n{each}\npython train.py --a 1\n" for each in FAILING),
    *(f"set -eu\n{each}\npython train.py --a 1\n" for each in UNSET),
    *(f"{each}\npython train.py --a 1\n" for each in ENDLESS),
    "set -eo pipefail\necho | tee data\npython train.py --a 1\n",
    "mkdir deep/er\npython train.py --a 1 > deep/er/log\n",
    "mkdir -p cfg.yaml/x\npython train.py --a 1 > cfg.yaml/x/log\n",
    "mkdir -p zz > data\npython train.py --a 1 > zz/log\n",
    "mkdir -p zz -m 000 --bad\npython train.py --a 1 > zz/log\n",
    "for ((i=09;i<30;i++)); do python train.py --a $i; done\n",
    "for ((i=0;i<08;i++)); do python train.py --a $i; done\n",
    *(f"#!/bin/sh\n{each} > data\npython train.py --a 1\n" for each in (":", "export A=1", "set -x", "unset A")),
    "#!/bin/sh -e\nsleep abc\npython train.py --a 1\n",
    "#!/bin/sh\npython train.py >& log\n",
]
"""Of none of these the shell comes to the command."""
OTHERWISE = [
    "X=\npython train.py --a \"${X-none}\" ${X-b} '${X:-c}'\n",
    'X=\npython train.py --a ${X-none} "${X:-c}"\n',
    "python train.py --a $(date +%c) --b\n",
    "python train.py --a $(date +%n) --b\n",
    "python train.py --a $(date '+%_H') $(date +%e)\n",
    'python train.py --a ~+ --b ~- ~daemon ~"x" ~nobody_at_all/x\n',
    "for ((i=010;i<12;i++)); do python train.py --a $i; done\n",
    "#!/bin/sh\nX=1\nX=2 :\npython train.py --a $X\n",
    "cd cfg.yaml\npython train.py --a 1\n",
    "cd nope/../sub\npython train.py --a 1\n",
    "cd sub > data\npython train.py --a 1\n",
    'export A=1 > data\npython train.py --a "$A"\n',
    *(f"env {each} python train.py --a 1\n" for each in ("-C sub", "--chdir=sub", "--chdir sub", "--chd=sub")),
    "nohup env -C sub python train.py --a 1\n",
    "python train.py --a 1 > logs && python train.py --a 2\npython train.py --a 3\n",
]
"""The shell comes to one, with other words or elsewhere: nothing is said, or what is so."""
SURE = [
    "python train.py --a 1 > log 2>&1 < /dev/null\n",
    "python train.py --a 1 3>&1 1>&2 2>&3\n",
    "python train.py --a 1 &> logs/x\npython train.py --a 2 >& logs/y\npython train.py --a 3 >> logs/../z\n",
    "set -e\nmkdir -pv out/a\nN=x_$(date +%Y%m%d_%H-%M)\npython train.py --n $N > out/a/$N.log\n",
    'set -e\nDIR=$(cd "$(dirname "$0")" && pwd)\nmkdir -p "$DIR/out"\npython train.py --a 1 > "$DIR/out/log"\n',
    "set -e\nmkdir -p out\ncd out\npython ../train.py --a 1 > log\n",
    'set -e\nB=$(basename x/y.yaml .yaml)\nD=$(dirname x/y)\nH=$(pwd)\nT=$(date)\npython train.py --a $B "$D"\n',
    "set -eo pipefail\npython train.py --a 1 2>&1 | tee -a logs/x\nsleep 0.01\npwd -P\ndate -u +%F\npython train.py --a 2\n",
    "cd sub/../sub\npython train.py --a 1\ncd ..\npython train.py --a 2\n",
    "[ -d logs ] || mkdir logs\nmkdir logs/a\npython train.py --a 1 > logs/a/x\n",
    "env -u X A=1 python train.py --a 1\nnice -n 5 python train.py --a 2\nexec -a name python train.py --a 3\n",
    "set -eu\nfor i in {1..2}; do\n  echo $i\n  python train.py --a $i >> logs/all\ndone\n",
    "A=(1 $(date +%F))\nX=3\npython train.py --a ${X-4} ${X:-4} ~/x\n",
    "{ python train.py --a 1; } > logs/x 2>&1\n",
    "tail -n 1 cfg.yaml\nyes | head -1\npython train.py --a 1\n",
    "#!/bin/sh\nmkdir -p logs\ncd sub > log\npython train.py --a ~/x >> ../logs/x 2>&1\n",
    "#!/bin/sh\nX=1\nX=2 true\npython train.py --a $X\n",
]


def project(folder: Path, text: str) -> Path:
    top = folder / "top"
    for name in ("data", "logs", "sub"):
        (top / name).mkdir(parents=True)
    for name in ("train.py", "sub/train.py", "cfg.yaml"):
        (top / name).write_text("")
    (top / "run.sh").write_text(text)
    return top


def said(top: Path) -> list[tuple[str, tuple[str, ...]]]:
    found = Document((top / "run.sh").read_text(), str(top / "run.sh"), str(top)).commands()
    return [(os.path.normpath(top / each.folder), each.words) for each in found]


def done(top: Path) -> list[tuple[str, tuple[str, ...]]]:
    """What a program named python is given, and where."""
    stub, record = top.parent / "bin" / "python", top.parent / "record"
    stub.parent.mkdir()
    stub.write_text(f'#!/bin/bash\nprintf "%s\\0" "$PWD" "$@" >> {record}\nprintf "\\1\\0" >> {record}\n')
    stub.chmod(0o755)
    text = (top / "run.sh").read_text()
    shell = ["sh", *text.partition("\n")[0].split()[1:]] if text.startswith("#!/bin/sh") else ["bash"]
    surrounding = {"PATH": f"{stub.parent}:/usr/bin:/bin", "HOME": str(top.parent)}
    command = [*shell, "run.sh"]
    subprocess.run(
        command, cwd=top, env=surrounding, timeout=20, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if not record.exists():
        return []
    runs = [each.split("\0")[:-1] for each in record.read_text().split("\1\0")[:-1]]
    return [
        (run[0], tuple(run[next(i for i, word in enumerate(run) if word.endswith("train.py")) + 1 :])) for run in runs
    ]


def is_so(command: tuple[str, tuple[str, ...]], run: tuple[str, tuple[str, ...]]) -> bool:
    (folder, words), (where, given) = command, run
    if folder != where or (words and len(words) != len(given)):
        return False
    patterns = (".*".join(map(re.escape, each.split(OPEN))) for each in words)
    return all(re.fullmatch(pattern, word, re.DOTALL) for pattern, word in zip(patterns, given, strict=False))


@pytest.mark.parametrize("text", NOT_RUN)
def test_of_what_the_shell_does_not_come_to_nothing_is_said(tmp_path, text):
    top = project(tmp_path, text)
    assert said(top) == []
    if not any(each in text for each in ENDLESS):
        assert done(top) == []


@pytest.mark.parametrize("text", OTHERWISE)
def test_what_is_said_is_so(tmp_path, text):
    top = project(tmp_path, text)
    commands = said(top)
    runs = done(top)
    assert runs
    assert all(any(is_so(command, run) for run in runs) for command in commands)


@pytest.mark.parametrize("text", SURE)
def test_what_the_shell_does_for_sure_is_said(tmp_path, text):
    top = project(tmp_path, text)
    commands = said(top)
    runs = done(top)
    assert commands
    assert all(any(is_so(command, run) for run in runs) for command in commands)
    assert len(commands) == text.count("train.py")


SHOWN = [
    ("<!--\npython train.py --old 1\n-->\npython train.py --a 1\n", [("--a", "1")]),
    ("<!--\n```\npython train.py --old 1\n```\n-->\n", []),
    ("<!-- a --> `python train.py cora` <!-- `python train.py --b 1` -->\n", [("cora",)]),
    ("<!-- never closed\npython train.py --a 1\n", []),
    ("see <!-- never closed\n\npython train.py --a 1\n", [("--a", "1")]),
    ("The sign `<!--` opens it.\n\n    python train.py --a 1\n\n-->\n", [("--a", "1")]),
    ("```\n<!--\npython train.py --a 1\n```\n", [("--a", "1")]),
    (
        "```diff\n- python train.py --a 1\n+ python train.py --a 2\n python train.py --a 3\n```\n",
        [("--a", "2"), ("--a", "3")],
    ),
    ("```patch\n-python train.py --a 1\n+python train.py --a 2\n```\n", [("--a", "2")]),
    ("- python train.py --a 1\n", [("--a", "1")]),
    ("```bat\npython train.py --a %A%\npython train.py --b 1\n```\n", [("--b", "1")]),
    ("```fish\npython train.py --a $A\n```\n", []),
    ("python train.py is the script that does it\n", []),
    ("python train.py --a 1 to train, and so on\n", []),
    ("python train.py – it trains\n\npython train.py trains\n\npython train.py a, b\n", []),
    (
        "python train.py --name cat --sizes 1 2 data/x.yaml depth=3\n",
        [("--name", "cat", "--sizes", "1", "2", "data/x.yaml", "depth=3")],
    ),
    ("$ python train.py cora\n", [("cora",)]),
    ("    python train.py cora small\n", [("cora", "small")]),
    ("python train.py cora \\\n  --a 1\n", [("cora", "--a", "1")]),
]
SHOWN_OF_RST = [
    (".. comment\n\n   python train.py --old 1\n\npython train.py --a 1\n", [("--a", "1")]),
    ("..\n   python train.py --old 1\n", []),
    ("..\n\n   python train.py --a 1\n", [("--a", "1")]),
    (
        ".. code-block:: sh\n\n   python train.py cora\n\n.. _here:\n\n   python train.py --a 1\n",
        [("cora",), ("--a", "1")],
    ),
    (".. code-block:: diff\n\n   - python train.py --a 1\n   + python train.py --a 2\n", [("--a", "2")]),
]
OTHER_SHELLS = [
    "SHELL := /bin/fish",
    "all: SHELL := /bin/fish",
    "all: export SHELL = /bin/fish",
    "define SHELL\n/bin/fish\nendef",
]
OTHER_SHELLS += [
    "a b: private override SHELL ?= x",
    "all: .SHELLFLAGS = -n",
    ".ONESHELL:",
    "x .ONESHELL:",
    "  SHELL=fish",
]


@pytest.mark.parametrize(("text", "words"), SHOWN)
def test_what_a_reader_of_a_document_takes_for_a_command(text, words):
    assert [each.words for each in Document(text, "/x/README.md", "/x").commands()] == words


@pytest.mark.parametrize(("text", "words"), SHOWN_OF_RST)
def test_what_a_reader_of_restructured_text_takes_for_one(text, words):
    assert [each.words for each in Document(text, "/x/README.rst", "/x").commands()] == words


@pytest.mark.parametrize("line", OTHER_SHELLS)
def test_of_a_makefile_for_another_shell_nothing_is_said(line):
    assert not list(Document(f"{line}\nall:\n\tpython train.py --a 1\n", "/x/Makefile", "/x").commands())


@pytest.mark.parametrize("line", ["# SHELL := /bin/fish", "MY_SHELL = x", "x:\n\techo $(SHELL)\n", "A = SHELLS"])
def test_of_a_makefile_that_names_no_shell_commands_are_said(line):
    (only,) = Document(f"{line}\nall:\n\tpython train.py --a 1\n", "/x/Makefile", "/x").commands()
    assert only.words == ("--a", "1")


def test_of_a_readme_a_folder_is_not_written(tmp_path):
    top = project(tmp_path, "")
    text = "```\npython train.py --a 1 > logs\npython train.py --a 2 > logs/x\npython train.py --a 3 > nope/x\n```\n"
    found = Document(text, str(top / "README.md"), str(top)).commands()
    assert [each.words for each in found] == [("--a", "2"), ("--a", "3")]
