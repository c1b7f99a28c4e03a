"""Calls under a condition: the words that lead to one are found, and with them Python comes to it, and gives the class
the same."""

from __future__ import annotations

import shlex

import pytest

from modgraph.arguments import candidates
from modgraph.source.targets import parse_target
from tests.arguments.test_callers import first_found, run_by_python, script

OPTIONS = """
    import argparse
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="other", choices=["other", "Net", "third"])
    parser.add_argument("--width", type=int, default=5)
    parser.add_argument("--layers", type=int, default=0)
    parser.add_argument("--name", default="x")
    parser.add_argument("--simple", action="store_true")
    parser.add_argument("--no-deep", dest="deep", action="store_false")
    parser.add_argument("--pre", action=argparse.BooleanOptionalAction, default=True)
    args = parser.parse_args()
    """
START = "from net import Net\n"
BUILD = "def build(args):\n    if args.model == 'other':\n        return None\n    return Net(2, args.width)\n"
TRAINER = """
    from net import Net
    class Trainer:
        def __init__(self, opt):
            self.opt = opt
            if self.opt.model == "Net":
                self.net = Net(3 if self.opt.simple else 4, self.opt.width)
    """
BODIES = {
    "equal": "if args.model == 'Net':\n    Net(3, args.width)\n",
    "the other way round": "if 'Net' == args.model:\n    Net(3, args.width)\n",
    "elif": "if args.model == 'other':\n    pass\nelif args.model == 'Net':\n    Net(3, args.width)\n",
    "else": "if args.model == 'other':\n    pass\nelse:\n    Net(3, args.width)\n",
    "unequal": "if args.model != 'other':\n    Net(3, args.width)\n",
    "one of several": "if args.model in ('Net', 'third'):\n    Net(3, args.width)\n",
    "none of several": "if args.model not in ['other', 'third']:\n    Net(3, args.width)\n",
    "a part of the text": "if 'Net' in args.model:\n    Net(3, args.width)\n",
    "begins with": "if args.model.startswith('Net'):\n    Net(3, args.width)\n",
    "in small letters": "if args.model.lower() == 'net':\n    Net(3, args.width)\n",
    "a flag": "if args.simple:\n    Net(3, args.width)\n",
    "a flag that switches off": "if not args.deep:\n    Net(3, args.width)\n",
    "a flag both ways": "if args.pre:\n    pass\nelse:\n    Net(3, args.width)\n",
    "a number": "if args.layers == 7:\n    Net(args.layers, args.width)\n",
    "two at once": "if args.model == 'Net' and args.simple:\n    Net(3, args.width)\n",
    "one in the other": "if args.model == 'Net':\n    if not args.deep:\n        Net(3, args.width)\n",
    "an expression": "net = Net(3, args.width) if args.model == 'Net' else None\n",
    "a return before": BUILD + "build(args)\n",
    "a dict of options": "c = vars(args)\nif c['model'] == 'Net':\n    Net(3, c['width'])\n",
    "a table": "NETS = {'other': dict, 'Net': Net}\nnet = NETS[args.model]\nif net is not dict:\n    net(3, args.width)\n",
    "a table of functions": "net = {'other': lambda: 0, 'Net': lambda: Net(3, args.width)}[args.model]()\n",
    "under another name": "model_name = args.model\nif model_name == 'Net':\n    Net(3, args.width)\n",
    "as the file is the script": "if __name__ == '__main__':\n    if args.simple:\n        Net(3, args.width)\n",
}


@pytest.mark.parametrize("name", BODIES)
def test_the_words_lead_python_to_the_same_call(tmp_path, name):
    files = {"train.py": script(START + BODIES[name], OPTIONS)}
    agrees(tmp_path, files)


def test_a_condition_in_another_file_than_the_options(tmp_path):
    body = "from trainer import Trainer\nTrainer(args)\n"
    agrees(tmp_path, {"trainer.py": TRAINER, "train.py": script(body, OPTIONS)})
    both = "from trainer import Trainer\nif args.simple:\n    Trainer(args)\n"
    agrees(tmp_path / "both", {"trainer.py": TRAINER, "train.py": script(both, OPTIONS)})


def agrees(folder, files):
    found = first_found(folder / "read", files)
    program, *words = shlex.split(found.origin.started_by)
    assert program == "train.py"
    expected = run_by_python(folder / "run", files, *words)
    assert dict(found.arguments) == expected
    assert not run_by_python(folder / "bare", files)


def test_with_what_the_project_starts_it_where_that_is_wanted_too(tmp_path):
    options = OPTIONS.replace("args = parser", "parser.add_argument('--data', required=True)\n    args = parser")
    files = {"train.py": script(START + BODIES["equal"], options), "README.md": "python train.py --data x --width 8\n"}
    found = first_found(tmp_path / "read", files)
    assert found.origin.started_by == "train.py --data x --width 8 --model Net"
    assert dict(found.arguments) == run_by_python(tmp_path / "run", files, *found.origin.started_by.split()[1:])


@pytest.mark.parametrize(
    "body",
    [
        "if args.layers:\n    Net(args.layers, args.width)\n",
        "if args.name.startswith('Net'):\n    Net(3, len(args.name))\n",
        "if args.model == 'fourth':\n    Net(3, args.width)\n",
        "if args.model == 'Net' and args.model == 'third':\n    Net(3, args.width)\n",
        "if False:\n    Net(3, args.width)\n",
        "if args.simple and not args.simple:\n    Net(3, args.width)\n",
    ],
)
def test_what_no_option_decides_is_not_found(tmp_path, body):
    assert first_found(tmp_path, {"train.py": script(START + body, OPTIONS)}) is None


def test_further_branches_are_named_with_what_they_give(tmp_path):
    body = "if args.model == 'Net':\n    Net(3, args.width)\nelif args.model == 'third':\n    Net(6, args.width)\n"
    found = first_found(tmp_path, {"train.py": script(START + body, OPTIONS)})
    assert dict(found.arguments) == {"depth": 3, "width": 5}
    found = candidates(parse_target(f"{tmp_path}/net.py:Net"), assume=False)
    assert [dict(each.arguments) for each in found] == [{"depth": 3, "width": 5}, {"depth": 6, "width": 5}]
    assert [each.text for each in found[0].beside(found).others] == ["depth=6"]
