"""Command lines with which a project starts its scripts: bash itself says which words a script is given."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest

from modgraph.arguments.command_lines import MAX_FOUND, CommandLines

STARTED = [
    "python train.py --depth 3",
    "python3 train.py --depth=3 --name 'a b' \"c d\"",
    "CUDA_VISIBLE_DEVICES=0 python -u train.py --depth 3 --flag",
    "python ./train.py --depth 3 && echo done",
    "python train.py --depth 3 > log.txt 2>&1",
    "python train.py --depth 3 2>log.txt",
    "python train.py --depth 3 | tee log.txt",
    "python train.py --depth 3; echo done",
    "python train.py --depth 3 # the small one",
    "python train.py \\\n  --depth 3 \\\n  --width 4",
    "nohup python train.py --depth 3 &",
    "python train.py --depth -3 --lr 1e-4 --sizes 1 2 3",
]


def given_by_bash(command: str, folder: Path) -> tuple[str, ...]:
    """The words behind the script, as a program named python is given them."""
    stub = folder / "bin" / "python"
    stub.parent.mkdir()
    given = folder / "given"
    stub.write_text(f'#!/bin/bash\nprintf "%s\\0" "$@" > {given}\n')
    stub.chmod(0o755)
    shutil.copy(stub, stub.with_name("python3"))
    subprocess.run(["bash", "-c", f"PATH={stub.parent}:$PATH\n{command}\nwait"], cwd=folder, check=True, timeout=60)
    words = given.read_text().split("\0")[:-1]
    return tuple(words[next(i for i, word in enumerate(words) if word.endswith("train.py")) + 1 :])


def found(folder: Path, text: str, file: str = "README.md", script: str = "train.py") -> list[tuple[str, ...]]:
    (folder / ".git").mkdir(exist_ok=True)
    place = folder / file
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    (folder / script).parent.mkdir(parents=True, exist_ok=True)
    (folder / script).write_text("")
    return [each.words for each in CommandLines().of(folder / script)]


@pytest.mark.parametrize("command", STARTED)
def test_the_words_are_those_that_bash_gives(tmp_path, command):
    expected = given_by_bash(command, tmp_path)
    assert expected
    assert found(tmp_path, f"# A network\n\n```\n{command}\n```\n") == [expected]


@pytest.mark.parametrize("file", ["README.md", "README.rst", "scripts/train.sh", "Makefile", "docs/start.md"])
def test_files_that_start_scripts(tmp_path, file):
    assert found(tmp_path, "\tpython train.py --depth 3\n", file) == [("--depth", "3")]


def test_the_line_is_that_where_the_command_begins(tmp_path):
    text = "one\n\n    python train.py \\\n        --depth 3\n"
    found(tmp_path, text)
    (only,) = CommandLines().of(tmp_path / "train.py")
    assert (only.file, only.line) == (str(tmp_path / "README.md"), 3)


def test_in_a_sentence_it_ends_with_its_quotes(tmp_path):
    assert found(tmp_path, "Run `python train.py --depth 3` to train.\n") == [("--depth", "3")]


@pytest.mark.parametrize(
    "text",
    [
        "python train.py $OPTIONS*",
        'python train.py "$@" --depth 3',
        "python train.py --depth <the depth>",
        "python train.py --data *.txt",
        "python train.py --depth 3 ...",
        "python train.py [--depth DEPTH]",
        "python train.py --name 'open",
        "python train.py",
        "python other_train.py --depth 3",
        "python elsewhere/train.py --depth 3",
        "edit train.py to your needs",
        "mypython_train.py --depth 3",
    ],
)
def test_what_is_no_command_line_that_says_its_words_is_none(tmp_path, text):
    assert found(tmp_path, f"{text}\n") == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("python train.py --data $DATA --depth 3", ("--data", "\0", "--depth", "3")),
        ("python train.py --data=${DATA:-x}/train --depth 3", ("--data=\0/train", "--depth", "3")),
        ("python train.py --data <path/to/data> --depth 3", ("--data", "\0", "--depth", "3")),
        ('python train.py --data "$DATA" --depth 3', ("--data", "\0", "--depth", "3")),
    ],
)
def test_of_a_word_that_is_put_there_the_rest_is_said(tmp_path, text, words):
    assert found(tmp_path, f"{text}\n") == [words]


SEVERAL = [
    'D="--depth 3"\npython train.py $D\n',
    'D="3 --width 4"\npython train.py --depth $D\n',
    "D=\npython train.py --depth $D --width 3\n",
    "export D='3 4'\npython train.py --depth ${D}\n",
    'for s in "1 --depth 8"; do python train.py --seed $s; done\n',
    "IFS=,\nD=3,4\npython train.py --depth $D\n",
    'set --\nMORE="$*"\npython train.py --depth 3 $MORE\n',
    "python train.py --depth 3 $NOTHING\n",
    "python train.py --depth 3 >log --width 4\n",
    "python train.py --name $'a\\tb'\n",
]


@pytest.mark.parametrize("text", SEVERAL)
def test_what_is_said_of_words_is_what_bash_gives(tmp_path, text):
    expected = given_by_bash(text, tmp_path)
    assert expected
    assert found(tmp_path, text, "run.sh") in ([expected], [])


WORDS = [
    'D=3\nX="4 5"\npython train.py --depth $D --width "$X" > log 2>&1\n',
    'O="--depth 3"\npython train.py $O --name "a $O"\n',
    "for d in 1 2; do python train.py --depth $d; break; done\n",
    "D=${E:-3}\nF=\npython train.py --depth ${F:-4} $F --name $'' a\n".replace(" $''", ""),
    "N=2\nfor i in $(seq 1 $N); do python train.py --depth $i; break; done\n",
    "python train.py --na\\me a --depth\\\n\t3 a#b 'c # d' \"e\\f\\$\"\n",
    "python train.py 8 >log --depth 3\n",
    "python train.py 8\\\n2 --depth 3\n",
    "python train.py a\x0bb \x0c\u00a0 c\n",
    "P=python\n$P -u train.py --depth 3\n",
]


@pytest.mark.parametrize("text", WORDS)
def test_the_words_of_a_script_are_those_that_bash_gives(tmp_path, text):
    assert found(tmp_path, text, "run.sh") == [given_by_bash(text, tmp_path)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('python train.py --depth 3 --name "$1"\n', [("--depth", "3", "--name", "\0")]),
        ("D=${1:-3}\npython train.py --depth $D\n", [("--depth", "\0")]),
        ("python train.py --depth `nproc` --width $((1 + 2))\n", [("--depth", "\0", "--width", "\0")]),
        ("D=$1\npython train.py --depth $D\n", []),
        ("python train.py --depth 3 $NOTHING\n", []),
        ("python train.py --depth 3\r\n", []),
        ("python train.py --depth {1,2}\n", []),
        ("python train.py --depth 3 @(a)\n", []),
    ],
)
def test_a_word_that_is_not_known_is_one_or_none_is_said(tmp_path, text, words):
    assert found(tmp_path, text, "run.sh") == words


@pytest.mark.parametrize("word", ["${@}", "${*}", "${@:2}", "${ARGS[@]}", "${ARGS[*]}", "${ARGS[@]:1}"])
def test_what_may_be_several_words_is_not_taken_for_one(tmp_path, word):
    """They may hold `--depth 8`."""
    assert found(tmp_path, f"python train.py --depth 3 --data {word}\n") == []


def test_command_lines_that_say_all_come_first(tmp_path):
    text = "python train.py --depth $A\npython train.py --depth 2\npython train.py --depth 3\n"
    assert found(tmp_path, text) == [("--depth", "2"), ("--depth", "3")]
    text = "python train.py --depth $A\npython train.py --depth 2\n"
    assert found(tmp_path, text) == [("--depth", "2"), ("--depth", "\0")]


RUN = [
    "if true; then\n  echo\nfi\npython train.py --depth 3\n",
    "for i in 1 2; do\n  echo $i\n  python train.py --depth 3\ndone\n",
    "f() {\n  echo\n}\npython train.py --depth 3\n",
    "f () { echo; }\npython train.py --depth 3\n",
    "function g\n{\n  echo\n}\npython train.py --depth 3\n",
    "if true; then echo; elif true; then echo; else echo; fi; python train.py --depth 3\n",
    "[ -f nothing ] && echo\npython train.py --depth 3\n",
    "{\n  python train.py --depth 3\n}\n",
    "true <<< if\npython train.py --depth 3\n",
    "f() (\n  false\n)\npython train.py --depth 3\n",
    "# cat <<EOF\npython train.py --depth 3\n",
    'echo "don\'t # "\npython train.py --depth 3\n',
    "echo a # don't\npython train.py --depth 3\n",
    "x='\nif false; then\n'\npython train.py --depth 3\n",
    "for i in 1; do\n  python train.py --depth 3\n  break\ndone\n",
    "true &&\n  python train.py --depth 3\n",
    "set -e\nif false; then echo; fi\npython train.py --depth 3\n",
    "set -e\nfalse || true\npython train.py --depth 3\n",
    "false\npython train.py --depth 3\n",
    "for ((i=0;i<2;i++)); do\n  python train.py --depth 3\ndone\n",
    "for (( i = 1; i <= 1; i++ )); do python train.py --depth 3; done\n",
    "pythonic() { echo; }\npython train.py --depth 3\n",
    "false | true\npython train.py --depth 3\n",
    "X='1 2'\nfor i in $X; do\n  python train.py --depth 3\ndone\n",
    "set -e\nmkdir -p out\nx=$(date)\nexport A=1\npython train.py --depth 3\n",
    "set -euo pipefail\necho a | tee log\n! false\nfalse || echo\npython train.py --depth 3\n",
    "if [ ! -d logs ]; then\n  mkdir logs\nfi\npython train.py --depth 3 > logs/a\n",
    "cd . || exit 1\npython train.py --depth 3\n",
    "source bin/activate\nconda activate x\nmodule load cuda\npython train.py --depth 3\n",
    'eval "$(conda shell.bash hook)"\npython train.py --depth 3\n',
    "export PATH=/usr/local/cuda/bin:$PATH\npython train.py --depth 3\n",
    "A=(1 2)\npython train.py --depth 3\n",
    "#!/bin/bash -e\n#SBATCH --gres=gpu:1\npython train.py --depth 3 &\nwait\n",
    "for i in {0..2}; do for j in $(seq 1 3); do python train.py --depth 3; done; done\n",
]
MAY_RUN = [
    "cat <<EOF > /dev/null\nif false; then\nEOF\npython train.py --depth 3\n",
    "cat <<-'END' > /dev/null\n\tif false\n\tEND\npython train.py --depth 3\n",
    "case 1 in\n  1) echo ;;\nesac\npython train.py --depth 3\n",
    "while false; do\n  echo\ndone\npython train.py --depth 3\n",
    "if false; then\n  exit\nfi\npython train.py --depth 3\n",
    "(exit 1)\npython train.py --depth 3\n",
    "exec 2> /dev/null\npython train.py --depth 3\n",
    "x=$((1<<N))\npython train.py --depth 3\n",
    "set -e\nmkdir -p out\nx=$(echo 1)\nexport A=1\nsource /dev/null\npython train.py --depth 3\n",
    "set -euo pipefail\necho a | cat\n! false\nfalse || echo\npython train.py --depth 3\n",
    "trap 'echo' EXIT\nfalse\npython train.py --depth 3\n",
    "alias python=python3\npython train.py --depth 3\n",
    "while true; do\n  python train.py --depth 3\n  break\ndone\n",
    "if true; then python train.py --depth 3; fi\n",
    "#!/bin/sh -e\nfalse\npython train.py --depth 3\n",
    "#!/bin/zsh\npython train.py --depth 3\n",
    "set -e\npython none.py\npython train.py --depth 3\n",
]
"""Bash runs them, and what stands before is not read so far."""
NOT_RUN = [
    "if false; then\n  python train.py --depth 3\nfi\n",
    "if false; then python train.py --depth 3; fi\n",
    "if true; then\n  echo\nelse\n  python train.py --depth 3\nfi\n",
    "if true; then\n  if false\n  then\n    echo\n  fi\nelse\n  python train.py --depth 3\nfi\n",
    "cat <<EOF > run.txt\npython train.py --depth 3\nEOF\n",
    "cat > run.txt <<'A B'\n",
    "cat <<-END > run.txt\n\tpython train.py --depth 3\n\tEND\n",
    "cat <<A <<B > run.txt\npython train.py --depth 3\nA\npython train.py --depth 4\nB\n",
    "case 1 in\n  2)\n    python train.py --depth 3\n    ;;\nesac\n",
    "f() {\n  python train.py --depth 3\n}\n",
    "function f {\n  python train.py --depth 3\n}\n",
    "f()\n{\n  python train.py --depth 3\n}\n",
    "while false; do\n  python train.py --depth 3\ndone\n",
    "false && python train.py --depth 3\n",
    "[ -f nothing ] && echo && python train.py --depth 3\n",
    "true || python train.py --depth 3\n",
    "exit 0\npython train.py --depth 3\n",
    "exec true\npython train.py --depth 3\n",
    "(\n  exit\n  python train.py --depth 3\n)\n",
    "[ -f nothing ] && { echo; python train.py --depth 3; }\n",
    "true || {\n  echo\n  python train.py --depth 3\n}\n",
    "true || (\n  python train.py --depth 3\n)\n",
    "[ -f nothing ] && { true; } && python train.py --depth 3\n",
    "[ -f nothing ] && for i in 1; do python train.py --depth 3; done\n",
    "[ -f nothing ] &&\n  python train.py --depth 3\n",
    "true ||  # or else\n\n  python train.py --depth 3\n",
    "(( 0 )) && python train.py --depth 3\n",
    "! true && python train.py --depth 3\n",
    "grep -q a /dev/null && python train.py --depth 3\n",
    "for i in 1; do\n  continue\n  python train.py --depth 3\ndone\n",
    "cat <<\\EOF > run.txt\npython train.py --depth 3\nEOF\n",
    "set -e\nfalse\npython train.py --depth 3\n",
    "set -eu; false; python train.py --depth 3\n",
    "set -o errexit\n[ -f nothing ]\npython train.py --depth 3\n",
    "for i in; do python train.py --depth 3; done\n",
    "for i in $NOTHING; do python train.py --depth 3; done\n",
    *(
        f"set -e\n{fails}\npython train.py --depth 3\n"
        for fails in ("builtin false", "let 0", "((0))", "x=$(false)", "x=`false`", "command false", "(exit 1)")
    ),
    *(
        f"{ends}\npython train.py --depth 3\n"
        for ends in (
            "builtin exit",
            "command exit 0",
            "kill $$",
            "kill -9 $$",
            "set -n",
            "trap 'exit 0' DEBUG",
            "{ exit; }",
        )
    ),
    "set -eo pipefail\nfalse | true\npython train.py --depth 3\n",
    "set -e\nset -o pipefail\nfalse | cat | cat\npython train.py --depth 3\n",
    "set -e\ntrue | false\npython train.py --depth 3\n",
    "trap 'exit' ERR\nfalse\npython train.py --depth 3\n",
    "for ((i=0;i<0;i++)); do\n  python train.py --depth 3\ndone\n",
    "for (( i = 3; i < 1; i++ )); do python train.py --depth 3; done\n",
    "python() { echo; }\npython train.py --depth 3\n",
    "function python {\n  echo\n}\npython train.py --depth 3\n",
    "function python () { echo; }\npython train.py --depth 3\n",
    "shopt -s expand_aliases\nalias python='echo no'\npython train.py --depth 3\n",
]
ENDS = [
    *("die() { exit 1; }\ndie", "hash -p /bin/true python", "PATH=/none", "export PATH=/none:/none2", "kill $BASHPID"),
    *("set -o noexec", "shopt -s extdebug\ntrap false DEBUG", ": ${1:?usage}", "echo ${1:?usage}", "set -u\necho $1"),
    *(
        "eval exit",
        "\\exit",
        '"exit"',
        "X=1 exit",
        "if true; then exit; fi",
        "f() { exit; }\nf",
        "while :; do exit; done",
    ),
    *(
        f"set -e\n{fails}"
        for fails in ("source none.sh", "ls /nonexistent", "expr 1 - 1", "read x < /dev/null", "shift")
    ),
    *(f"set -e\n{fails}" for fails in ("mkdir /proc/x", "f() { false; }\nf", "[ -f none ] || false", "true && false")),
    *("set -o posix\n. ./none.sh", "set -e\ncd nowhere"),
    *("cat <<EOF+", 'cat <<"E F"', "cat <<.", "read -r -d '' X <<EOF", "echo \\", "CMDS=(", "true ||", "! true &&"),
]
"""Bash ends behind them, or takes what follows for something else."""
BEFORE = [
    "{ false; } && ",
    "if false; then :; fi && false && ",
    "f() { false; }\nf && ",
    "nonexistent && ",
    "let 0 && ",
]
NOT_RUN += [f"{each}\npython train.py --depth 3\n" for each in ENDS]
NOT_RUN += [f"{each}python train.py --depth 3\n" for each in [*BEFORE, "builtin test -f x && ", "X=1 test -f x && "]]
NOT_RUN += [
    "for i in 1 2; do\n  if true; then continue; fi\n  python train.py --depth 3\ndone\n",
    "for i in 1; do for j in 1; do\nbreak 2\ndone\npython train.py --depth 3\ndone\n",
    "for i\nin; do\npython train.py --depth 3\ndone\n",
    "for i in 1 2; do\n  python train.py --depth 3\n",
    "python train.py --depth 3 > nowhere/log\n",
    *(f"echo {end}python train.py --depth 3\n" for end in ("\x0b", "\x0c", "\r", "\x1c", "\x85", "\u2028")),
]


QUOTED = ['echo "usage:\npython train.py --depth 3\n"\n', ": '\npython train.py --depth 3\n'\n"]


def is_run_by_bash(text: str, folder: Path) -> bool:
    stub = folder / "bin" / "python"
    stub.parent.mkdir()
    stub.write_text(f"#!/bin/bash\ntouch {folder / 'started'}\n")
    stub.chmod(0o755)
    (folder / "run.sh").write_text(text)
    command = ["bash", "-c", f"PATH={stub.parent}:$PATH; . ./run.sh"]
    subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    return (folder / "started").exists()


@pytest.mark.parametrize("text", RUN)
def test_a_command_that_bash_runs_counts(tmp_path, text):
    assert is_run_by_bash(text, tmp_path)
    assert found(tmp_path, text, "run.sh") == [("--depth", "3")]


@pytest.mark.parametrize("text", MAY_RUN)
def test_what_is_not_sure_counts_for_none(tmp_path, text):
    assert found(tmp_path, text, "run.sh") == []


@pytest.mark.parametrize("text", QUOTED)
def test_a_text_in_quotes_is_no_command_of_a_script(tmp_path, text):
    """In other texts a quote may be an apostrophe."""
    assert not is_run_by_bash(text, tmp_path)
    assert found(tmp_path, text, "run.sh") == []


@pytest.mark.parametrize("text", NOT_RUN[:30])
def test_of_a_readme_it_does_not_count_either(tmp_path, text):
    assert found(tmp_path, f"# A network\n\n```\n{text}```\n", "README.md") == []


@pytest.mark.parametrize("text", NOT_RUN)
def test_a_command_that_bash_does_not_run_does_not_count(tmp_path, text):
    assert not is_run_by_bash(text, tmp_path)
    assert found(tmp_path, text, "run.sh") == []


def test_a_sentence_with_words_of_the_shell_opens_no_block(tmp_path):
    text = "Check if you have a GPU, in case you do:\n\n    python train.py --depth 3\n\nor `if x` and `python train.py 4`.\n"
    assert found(tmp_path, text) == [("--depth", "3"), ("4",)]


def test_a_script_in_a_folder_is_started_from_above_or_from_there(tmp_path):
    text = "python tools/train.py --depth 3\ncd tools; python train.py --depth 4\npython scripts/train.py --depth 5\n"
    assert found(tmp_path, text, script="tools/train.py") == [("--depth", "3"), ("--depth", "4")]


def test_the_nearest_file_comes_first_and_few_are_taken(tmp_path):
    (tmp_path / "README.md").write_text("python train.py --depth 1\n")
    lines = "".join(f"python train.py --depth {number}\n" for number in (2, 2, 3, 4, 5))
    words = found(tmp_path, lines, "tools/run.sh", "tools/train.py")
    assert words == [("--depth", "2"), ("--depth", "3")]
    assert len(words) == MAX_FOUND


def test_nothing_is_read_beyond_the_border_of_the_project(tmp_path):
    (tmp_path / "README.md").write_text("python train.py --depth 3\n")
    project = tmp_path / "project"
    project.mkdir()
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    (project / "train.py").write_text("")
    (project / "notes.md").symlink_to(tmp_path / "README.md")
    assert list(CommandLines().of(project / "train.py")) == []


STARTS_IT = [
    ("README.md", "$ python train.py --depth 3\n"),
    ("README.md", "1. `python train.py --depth 3`\n"),
    ("README.md", "- python train.py --depth 3\n"),
    ("README.md", "```bash\ncd tools\ncd ..\npython train.py --depth 3\n```\n"),
    ("README.md", "git clone https://x.org/a/project.git && cd project\npython train.py --depth 3\n"),
    ("README.md", "pip install torch; python train.py --depth 3\n"),
    ("README.md", "OMP_NUM_THREADS=1 nohup python -u -W ignore train.py --depth 3 > log 2>&1 &\n"),
    ("README.md", "python train.py --depth 3;echo\n"),
    ("README.md", "torchrun --standalone --nproc_per_node=4 train.py --depth 3\n"),
    ("README.md", "torchrun --nproc_per_node 4 train.py --depth 3\n"),
    ("README.md", "python -m torch.distributed.launch --nproc_per_node 4 --use_env train.py --depth 3\n"),
    ("README.md", "accelerate launch --config_file a.yaml train.py --depth 3\n"),
    ("README.md", "srun -p gpu --gres=gpu:8 python train.py --depth 3\n"),
    ("scripts/run.sh", "python ../train.py --depth 3\n"),
    ("scripts/run.sh", "python train.py --depth 3\n"),  # from the top of the project
    ("scripts/run.sh", 'cd "$(dirname "$0")/.."\npython train.py --depth 3\n'),
    ("scripts/run.sh", "for i in 1 2; do python train.py --depth 3; done\n"),
    ("Makefile", "train:\n\t@python train.py --depth 3\n"),
]
STARTS_ANOTHER = [
    ("sub/README.md", "python train.py --depth 3\n"),
    ("sub/run.sh", "python train.py --depth 3\n"),
    ("README.md", "cd sub && python train.py --depth 3\n"),
    ("README.md", "cd other && python train.py --depth 3\n"),
    ("README.md", "(cd sub; python train.py --depth 3)\n"),
    ("README.md", "```\ncd sub\npython train.py --depth 3\n```\n"),
    ("README.md", "Go there:\n\n    cd sub\n\nand start:\n\n    python train.py --depth 3\n"),
    ("README.md", "cd $PLACE && python train.py --depth 3\n"),
    ("README.md", "cd -; python train.py --depth 3\n"),
    ("run.sh", "cd sub\n\n\npython train.py --depth 3\n"),
    ("README.md", "$ python prepare.py train.py --depth 3\n"),
    ("README.md", "python -m prepare train.py --depth 3\n"),
    ("README.md", "python -c 'import x' train.py --depth 3\n"),
    ("README.md", "grep -n python train.py --depth 3\n"),
    ("README.md", "pip install x; grep -n foo train.py --depth 3\n"),
    ("README.md", "env echo python train.py --depth 3\n"),
    ("README.md", "We copy train.py 7 times\n"),
    ("README.md", "Then python train.py --depth 3\n"),
    ("README.md", "python train.py --depth 3.\n"),
    ("README.md", "python train.py --depth 3 (slow)\n"),
    ("run.sh", 'echo "now && python train.py --depth 3 && then"\n'),
    ("run.sh", "# first; python train.py --depth 3\n"),
    ("run.sh", "ls # first; python train.py --depth 3\n"),
    ("README.md", "torchrun --run-path first.py train.py --depth 3\n"),
    ("README.md", "torchrun --module train.py --depth 3\n"),
    ("README.md", "copy train.py --depth 3\n"),
    ("README.md", "launch train.py --depth 3\n"),
]


def words_beside_another(folder: Path, file: str, text: str) -> list[tuple[str, ...]]:
    """Of `train.py` at the top of a project that has `sub/train.py` too."""
    project = folder / "project"
    (project / "sub").mkdir(parents=True)
    (project / "sub/train.py").write_text("")
    return found(project, text, file)


@pytest.mark.parametrize(("file", "text"), STARTS_IT)
def test_a_command_that_starts_the_script(tmp_path, file, text):
    assert words_beside_another(tmp_path, file, text) == [("--depth", "3")]


@pytest.mark.parametrize(("file", "text"), STARTS_ANOTHER)
def test_a_command_that_starts_another_one_or_none(tmp_path, file, text):
    assert words_beside_another(tmp_path, file, text) == []


def test_texts_are_read_once_for_all_scripts(tmp_path, monkeypatch):
    read, files = [], [f"train{number}.py" for number in range(8)]
    (tmp_path / ".git").mkdir()
    for name in files:
        (tmp_path / name).write_text("")
    for number in range(20):
        (tmp_path / f"{number:02}.md").write_text("x\n" * 1000 + "".join(f"python {name} {number}\n" for name in files))
    monkeypatch.setattr(
        "modgraph.arguments.command_lines.text_of", lambda path, most: read.append(path) or Path(path).read_text()
    )
    lines = CommandLines()
    assert [[each.words for each in lines.of(tmp_path / name)] for name in files] == [[("0",), ("1",)]] * 8
    assert len(read) == len(set(read)) == 2
    list(lines.of(tmp_path / "nothing.py"))
    assert len(read) == len(set(read)) == 20


def test_of_all_texts_so_much_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("modgraph.arguments.command_lines.MAX_TEXT", 100)
    for name in "abcd":
        (tmp_path / f"{name}.md").write_text("y" * 60 + "\n")
    assert found(tmp_path, "python train.py --depth 3\n", "z.md") == []


LONG = [
    "a{" + ",{" * 50_000,
    "$(" * 50_000,
    "${" * 50_000,
    '"$(' * 30_000,
    "<" * 100_000,
    "( " * 50_000,
    "'" + "a" * 99_999,
]


@pytest.mark.parametrize(
    "text", [*LONG, "`a" * 50_000, "a=" * 50_000, "{ " * 50_000, "\\\n" * 50_000, "! " * 50_000, "a'\n" * 30_001]
)
@pytest.mark.parametrize("file", ["run.sh", "README.md"])
def test_a_text_of_100_kilobytes_is_read_at_once(tmp_path, text, file):
    """Quadratic, each would take minutes."""
    assert len(found(tmp_path, f"python train.py --name {text}\n", file)) <= 1


@pytest.mark.parametrize("text", ["python " + "- " * 1900, "`" * 100_000, "$ " * 90_000 + "\n", "> train.py " * 15_000])
def test_no_text_takes_long(tmp_path, text):
    begin = time.process_time()
    assert found(tmp_path, f"{text} train.py\n") == []
    assert time.process_time() - begin < 2
