"""Modules of a project that are executed as far as they can be, and as far as the model needs them."""

from __future__ import annotations

import json
import random
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import modgraph
from modgraph import isolation
from modgraph.export import render
from modgraph.export.text.summary import summary
from modgraph.graph.events import DoneEvent, StartEvent
from modgraph.graph.model import LeftOut
from modgraph.graph.serial import schema
from modgraph.heard import Heard
from modgraph.options import TraceOptions
from modgraph.source.needed_statements import names_of
from modgraph.source.targets import parse_target
from modgraph.tracing.loading.importing import import_target
from modgraph.tracing.loading.left_out import LeftOutCode

pytestmark = pytest.mark.needs_torch

HEAD = """
    import argparse, json, logging, os, random, sys, time
    import torch
    import torch.nn.functional as F
    from torch import nn, optim

    SIZES = [8, 4]
    REGISTRY = {}

    def register(kind):
        REGISTRY[kind.__name__] = kind
        return kind

    def seed(number):
        random.seed(number)
        torch.manual_seed(number)
        torch.backends.cudnn.deterministic = True
        os.environ["PYTHONHASHSEED"] = str(number)

    def widen(sizes):
        sizes.append(2)

    def double():
        torch.set_default_dtype(torch.float64)

    def patch():
        Net.extra = 3

    def swap_method():
        nn.Linear.forward = lambda self, x: x

    def swap_function():
        F.relu = F.gelu

    def ask_for_width():
        os.environ["WIDTH"] = "3"

    def deeper():
        patch()

    def kind():
        return Net

    def read(path):
        with open(path) as file:
            return json.load(file)

    def train(model, loader):
        model.train()
        for x in loader:
            model(x).sum().backward()

    def freeze(model):
        for parameter in model.parameters():
            parameter.requires_grad = False

    class Data:
        def __init__(self, path):
            self.rows = read(path)

    class Net(nn.Module):
        made = 0

        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(SIZES[0], SIZES[1])

        def forward(self, x):
            return F.relu(self.fc(x))

    class Counting(Net):
        def __init__(self):
            super().__init__()
            type(self).made += 1
    """


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder whose modules are forgotten afterwards."""
    before = dict(sys.modules)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in set(sys.modules) - set(before):
        file = getattr(sys.modules[name], "__file__", None) or ""
        if file.startswith(str(tmp_path)):
            del sys.modules[name]


def written(folder: Path, tail: str = "", *, head: str = HEAD, **others: str) -> str:
    """The target; its file has a name of its own, as the process keeps what it has read of a file."""
    for name, text in others.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text).lstrip())
    name = f"net_{abs(hash((str(folder), head, tail)))}"
    (folder / f"{name}.py").write_text(textwrap.dedent(head).lstrip() + "\n" + textwrap.dedent(tail).lstrip())
    return f"{folder / name}.py:Net"


def imported(text: str, **options: Any) -> tuple[Any, list[str], LeftOutCode]:
    """The module, and what makes a graph of its model less than complete."""
    target = parse_target(text)
    sys.path.insert(0, str(target.root))
    with LeftOutCode(target, **options) as code:
        module = import_target(target, code)
    return module, [doubt.message for doubt in code.doubts()], code


HARMLESS = {
    "a file that is not there": "words = open('no-vocabulary.txt').read()",
    "an option that is not given": "parser = argparse.ArgumentParser()\nparser.add_argument('--data', required=True)\n"
    "args = parser.parse_args()\nprint(args.data)",
    "the end": "if len(sys.argv) < 99:\n    print('usage')\n    sys.exit()",
    "a loop without end": "while True:\n    time.sleep(1)",
    "data": "data = Data('no-data.json')",
    "rows": "for row in read('no-data.json'):\n    print(row)",
    "a log": "logging.getLogger('x').info('begins')",
    "a class with a default that opens a file": "class Rows:\n    def __init__(self, rows=read('rows.json')):\n"
    "        self.rows = rows",
    "a class with a default that is an object": "class Rows:\n    def __init__(self, rows=Data('rows.json')):\n"
    "        self.rows = rows",
    "a folder of the environment": "from pathlib import Path\n"
    "HOME = Path(os.environ['NO_SUCH_VARIABLE']).absolute().resolve()\nDATA = HOME / 'data'\nprint(f'{DATA}')",
    "a kernel": "import torch.utils.cpp_extension\nfrom torch.utils.cpp_extension import load\n"
    "here = os.path.dirname(__file__)\nfused = load('fused', sources=[os.path.join(here, 'no-fused.cpp')])",
    "a table of a file": "def table(path):\n    words = {}\n    for line in open(path, encoding='utf-8'):\n"
    "        word, number = line.strip().split(',')\n        words[word] = int(number)\n    return words\n"
    "sizes = [len(each) for each in table('no-words.txt')]",
}
HARMFUL = {
    "a seed in a function": "seed(0)",
    "a run": "with torch.no_grad():\n    print(Net()(torch.rand(1, 8)))",
    "a training": "train(Net(), [torch.rand(1, 8)])",
    "a folder": "os.makedirs(os.path.join('no', 'such', 'folder'), exist_ok=True)",
    "a file that is written": "print('8', file=open('width.txt', 'w'))",
    "Python's own by another name": "size = len\nprint(size('ab'), setattr(Net, 'extra', 3))",
    "a module's attribute": "def __getattr__(name, default=read('x.json')):\n    return 3",
    "a condition on its name": "if __name__ != 'Net':\n    print(REGISTRY.update(extra=3))",
    "an attribute of the class": "print(setattr(Net, 'extra', 3))",
    "an attribute by another name": "if len(sys.argv) > 0:\n    other = Net\n    other.extra = 3",
    "an attribute of what a function gives": "found = kind()\nfound.extra = 3",
    "an attribute of its class": "model = Net()\nmodel.__class__.extra = 3",
    "a method of torch": "swap_method()",
    "a function of torch": "swap_function()",
    "the default type": "double()",
    "the default type, at once": "print(torch.set_default_dtype(torch.float64))",
    "a list that it uses": "widen(SIZES)",
    "a patch": "patch()",
    "a patch further on": "deeper()",
    "a registry": "print(register(Net))",
    "a class in a registry": "@register\nclass Rows:\n    rows = read('rows.json')",
    "a count in its class": "model = Counting()",
    "text that is run": "exec('Net.extra = 3')",
    "a module that is not there": "import no_such_module_of_the_project",
    "a module of the project": "def begin():\n    import patches\nprint(begin())",
    "the environment": "ask_for_width()",
    "a module by its name": "there = sys.modules[__name__]\nthere.SIZES = [2, 2]",
    "all names": "print(globals())",
    "given away": "print(F.has_torch_function((Net,)))",
}


@pytest.mark.parametrize("case", HARMLESS)
def test_what_changes_nothing_of_the_model_may_be_left_out(project: Path, case: str):
    module, doubts, code = imported(written(project, HARMLESS[case]))
    assert [name for name, _ in module.Net().named_modules()] == ["", "fc"]
    assert doubts == []
    assert code.told()


@pytest.mark.parametrize("case", HARMFUL)
def test_what_may_change_the_model_is_a_doubt_where_it_is_left_out(project: Path, case: str):
    (project / "patches.py").write_text("import torch\n")
    _, doubts, code = imported(written(project, HARMFUL[case]))
    assert doubts, code.told()
    assert all("the model may be another" in doubt for doubt in doubts)


CHANGES = {
    "a parameter": "def grow(ws):\n    ws += [56]\ngrow(cfg.WIDTHS)",
    "a module that is imported there": "def main():\n    import cfg as c\n    c.W = 64\nmain()",
    "a name that is imported there": "def main():\n    from cfg import WIDTHS as W\n    W.append(56)\nmain()",
    "a list of a module": "def main():\n    cfg.WIDTHS.append(56)\nmain()",
    "an inherited constructor": "class B:\n    def __init__(self):\n        cfg.W = 64\nclass A(B):\n    pass\nA()",
    "an inherited method": "class B:\n    def up(self):\n        cfg.W = 64\nclass A(B):\n    pass\nA().up()",
    "what an object holds": "class A:\n    def __init__(self):\n        self.c = cfg\n        self.c.W = 64\nA()",
    "what its class holds": "class A:\n    w = cfg.WIDTHS\n    def __init__(self):\n        self.w.append(56)\nA()",
    "a step": "class A:\n    def __init__(self, c):\n        self.c = c\n    def step(self):\n        self.c.W = 64\n"
    "def main():\n    a = A(cfg)\n    a.step()\nmain()",
    "a method of a type": "list.append(cfg.WIDTHS, 56)",
    "a function that is handed on": "def up(c):\n    c.W = 64\nlist(map(up, [cfg]))",
    "a lambda": "list(map(lambda c: c.append(56), [cfg.WIDTHS]))",
    "a comprehension": "[w.append(56) for w in [cfg.WIDTHS]]",
    "an alias in a list": "def main():\n    held = []\n    held.append(cfg)\n    held[0].W = 64\nmain()",
    "an alias in a dict": "def main():\n    held = {}\n    held['c'] = cfg\n    held['c'].W = 64\nmain()",
    "an alias in an object": "class Box:\n    pass\ndef main():\n    b = Box()\n    b.c = cfg\n    b.c.W = 64\nmain()",
    "a table of functions": "def up():\n    cfg.W = 64\nTABLE = {'a': up}\nTABLE['a']()",
    "a function that is a parameter": "def up():\n    cfg.W = 64\ndef main(f):\n    f()\nmain(up)",
    "a default": "def f(c=cfg):\n    c.W = 64\ndef main():\n    f()\nmain()",
    "named arguments": "def f(**k):\n    k['c'].W = 64\ndef main():\n    f(c=cfg)\nmain()",
    "a closure": "def outer():\n    c = cfg\n    def inner():\n        c.W = 64\n    return inner\nouter()()",
    "a generator": "def conf():\n    yield cfg\ndef main():\n    for c in conf():\n        c.W = 64\nmain()",
    "a with": "class Ctx:\n    def __enter__(self):\n        cfg.W = 64\n    def __exit__(self, *a):\n        pass\n"
    "def main():\n    with Ctx():\n        pass\nmain()",
    "an operator": "class Op:\n    def __lshift__(self, c):\n        c.W = 64\ndef main():\n    Op() << cfg\nmain()",
    "an operator function": "import operator\ndef main():\n    operator.iadd(cfg.WIDTHS, [56])\nmain()",
    "a property": "class A:\n    @property\n    def go(self):\n        cfg.W = 64\nA().go",
    "an exception": "def main():\n    try:\n        raise ValueError(cfg)\n    except ValueError as e:\n"
    "        e.args[0].W = 64\nmain()",
    "a wrapper": "import functools\n@functools.lru_cache\ndef up():\n    cfg.W = 64\ndef main():\n    up()\nmain()",
    "a partial": "import functools\ndef up():\n    cfg.W = 64\nfunctools.partial(up)()",
    "a thread": "import threading\ndef up():\n    cfg.W = 64\ndef main():\n    t = threading.Thread(target=up)\n"
    "    t.start()\n    t.join()\nmain()",
    "a match": "def main():\n    match [cfg]:\n        case [c]:\n            c.W = 64\nmain()",
    "setattr by another name": "def main():\n    s = setattr\n    s(cfg, 'W', 64)\nmain()",
    "an attribute by its name": "import plug\ndef main():\n    getattr(plug, 'up')()\nmain()",
    "a module by its name": "import importlib\nfor name in ['plug_at_once']:\n    importlib.import_module(name)",
    "a module that is run": "import runpy\nrunpy.run_path('plug_at_once.py')",
    "an option's type": "import argparse\ndef kind(x):\n    cfg.W = 64\ndef main():\n    p = argparse.ArgumentParser()\n"
    "    p.add_argument('--w', type=kind)\n    p.parse_args(['--w', '3'])\nmain()",
    "a file": "def main():\n    with open('width.txt', 'w') as f:\n        f.write('64')\nmain()",
    "a folder": "def main():\n    os.chdir('sub')\nmain()",
    "a rebound function": "f = lambda: setattr(cfg, 'W', 64)\nfor _ in range(1):\n    f()\nf = str",
    "the default type, by another name": "from torch import set_default_dtype as sdt\n"
    "def main():\n    sdt(torch.float64)\nmain()",
    "gradients": "def main():\n    torch.set_grad_enabled(False)\nmain()",
    "a layer in a class": "def patch():\n    from torch import nn as n\n    n.Linear.extra_of_test = 3\npatch()",
    "names by a function": "WORDS = len(data)\ndef width():\n    return 64 if 'WORDS' in width.__globals__ else 8",
}
"""What may follow `data = open(...)` and changes something: each is left out where the file is not there."""
CFG = "W = 8\nWIDTHS = [8]\n"
PLUGS = {"plug": "import cfg\n\ndef up():\n    cfg.W = 64\n", "plug_at_once": "import cfg\ncfg.W = 64\n"}


@pytest.mark.parametrize("case", CHANGES)
def test_what_python_says_is_changed_is_a_doubt_where_it_is_left_out(
    project: Path, monkeypatch: pytest.MonkeyPatch, case: str
):
    import torch

    head = "import os, sys, torch\nfrom torch import nn\nimport cfg\ndata = open('data.txt').read()\n"
    name = f"changed_{list(CHANGES).index(case)}"
    for file, text in {
        **PLUGS,
        "cfg": CFG,
        name: head + CHANGES[case] + "\n\nclass Net(nn.Module):\n    pass\n",
    }.items():
        (project / f"{file}.py").write_text(text)
    (project / "sub").mkdir()
    monkeypatch.chdir(project)
    dtype = torch.get_default_dtype()
    try:
        _, doubts, code = imported(f"{project / name}.py:Net")
    finally:
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(True)
        vars(torch.nn.Linear).get("extra_of_test") and delattr(torch.nn.Linear, "extra_of_test")
    assert doubts, code.told()


KEPT = {
    "a patch of torch": ("F.relu = kept = lambda x: x", "F.relu is kept"),
    "a patch of the class": ("Net.extra = 3", "Net.extra == 3"),
    "a list that it uses": ("SIZES[1] = 2", "Net().fc.out_features == 2"),
    "a list that is changed in a loop": ("for n in [1]:\n    SIZES[n] = len('ab')", "Net().fc.out_features == 2"),
    "a patch on a condition": ("if len(sys.argv) > 0:\n    F.relu = kept = len", "F.relu is len"),
    "options": (
        "parser = argparse.ArgumentParser()\ngroup = parser.add_argument_group()\n"
        "group.add_argument('--width', type=int, default=6)\nSIZES = [8, parser.parse_args([]).width]",
        "Net().fc.out_features == 6",
    ),
    "a class by another name": ("Net = register(Net)", "REGISTRY['Net'] is Net"),
}


@pytest.mark.parametrize("case", KEPT)
def test_what_the_model_needs_is_run(project: Path, monkeypatch: pytest.MonkeyPatch, case: str):
    import torch.nn.functional

    monkeypatch.setattr(torch.nn.functional, "relu", torch.nn.functional.relu)
    text, holds = KEPT[case]
    module, doubts, _ = imported(written(project, f"{text}\nwords = open('no-vocabulary.txt')"))
    assert eval(holds, vars(module))
    assert doubts == []


LOOKS = {
    "it is caught": "try:\n    width = WIDTH\nexcept Exception:\n    width = 8",
    "it is asked for": "import sys\nwidth = 4 if hasattr(sys.modules[__name__], 'WIDTH') else 8",
    "it is asked for with another value": "import sys\nwidth = getattr(sys.modules[__name__], 'WIDTH', 8)",
    "all names are asked for": "width = 4 if 'WIDTH' in globals() else 8",
    "all names are listed": "import sys\nwidth = 4 if 'WIDTH' in dir(sys.modules[__name__]) else 8",
    "its module is asked for": "import sys\nwidth = vars(sys.modules[__name__]).get('WIDTH', 8)",
}


@pytest.mark.parametrize("case", LOOKS)
def test_whoever_looks_for_a_name_that_is_not_bound_is_noted(project: Path, case: str):
    head = """
    from torch import nn
    WIDTH = int(open("no-width.txt").read())

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
    """
    body = textwrap.indent(LOOKS[case] + "\nself.fc = nn.Linear(width, 4)\n", " " * 8)
    target = parse_target(written(project, head=textwrap.dedent(head) + body))
    with LeftOutCode(target, ended_at=(str(target.file), 2, "FileNotFoundError: no-width.txt")) as code:
        module = import_target(target, code)
        assert list(code.doubts()) == []
        module.Net()
        (doubt,) = list(code.doubts())
    assert "no-width.txt" in doubt.message
    assert doubt.line is not None


def test_a_name_that_is_asked_for_where_an_import_fails_of_it_is_no_look(project: Path):
    text = """
    from torch import nn
    from settings import *
    from paths import DATA
    import tools

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(WIDTH, 4)
    """
    settings = """
    import os
    HOME = os.environ["NO_SUCH_VARIABLE_OF_A_PROJECT"]
    WIDTH = 8
    LATER = HOME + "/later"
    """
    paths = "from settings import HOME, WIDTH\nDATA = HOME + '/data'\n"
    tools = "import settings\n\ndef path():\n    return settings.HOME\n"
    module, doubts, code = imported(written(project, head=text, settings=settings, paths=paths, tools=tools))
    assert module.Net().fc.in_features == 8
    assert doubts == []
    assert [(each.file, each.line) for each in code.told()][1:] == [
        ("settings.py", 2),
        ("settings.py", 4),
        ("paths.py", 1),
        ("paths.py", 2),
    ]
    with pytest.raises(NameError, match="NO_SUCH_VARIABLE_OF_A_PROJECT"):
        module.__dict__["__builtins__"]["HOME"]  # as Python looks it up


def test_a_module_that_is_imported_where_an_exception_is_handled_runs_as_it_is(project: Path):
    text = """
    from torch import nn
    try:
        from kernels import fast
    except Exception:
        fast = None

    class Net(nn.Linear):
        def __init__(self):
            super().__init__(8, 4 if fast is None else 2)
    """
    module, doubts, code = imported(written(project, head=text, kernels="fast = 1\nopen('no-kernel.so')\n"))
    assert module.fast is None
    assert module.Net().out_features == 4
    assert (doubts, code.told()) == ([], ())


def test_what_an_ordinary_import_means_is_kept(project: Path):
    text = """
    '''What it is for.'''
    from __future__ import annotations
    from torch import nn
    missing = open("no-file.txt")
    if __name__ == "__main__":
        raise SystemExit("a script")
    elif missing is None:
        width = 2
    else:
        width = 4
    for width in (8,):
        pass

    class Net(nn.Linear):
        def __init__(self, inputs: NoSuchKind = 8, *, outputs: int = width):
            super().__init__(inputs, outputs)
    """
    module, doubts, code = imported(written(project, head=text))
    assert module.__doc__ == "What it is for."
    assert module.Net.__init__.__annotations__["inputs"] == "NoSuchKind"
    assert module.Net().out_features == 8
    assert [each.line for each in code.told()] == [4, 7]
    assert len(doubts) == 0


def test_of_a_module_that_does_not_end_what_others_name_is_run(project: Path):
    text = "from torch import nn\nfrom layers import Layer\n\nclass Net(Layer):\n    pass\n"
    layers = "from torch import nn\nwidth = int('4')\nclass Layer(nn.Linear):\n    def __init__(self):\n"
    layers += "        super().__init__(8, width)\nwhile True:\n    pass\n"
    target = written(project, head=text, layers=layers)
    module, doubts, code = imported(
        target, endless=[str(project / "layers.py")], ended_at=(str(project / "layers.py"), 7, "did not end within 3 s")
    )
    assert module.Net().out_features == 4
    assert doubts == []
    assert [(each.file, each.line, each.last_line, each.error) for each in code.told()] == [
        ("layers.py", 6, 7, "did not end within 3 s")
    ]


def analyzed(folder: Path, text: str) -> modgraph.Graph:
    (folder / "net.py").write_text(textwrap.dedent(text).lstrip())
    return modgraph.analyze(f"{folder / 'net.py'}:Net")


NET = """
    import json
    from torch import nn

    words = json.load(open("no-vocabulary.json"))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear({width}, 4)

        def forward(self, x):
            return self.fc(x)

    print(len(words))
    """


def test_the_graph_of_a_model_that_needs_nothing_of_it_is_complete_and_says_so(tmp_path: Path):
    graph = analyzed(tmp_path, NET.format(width=8))
    assert graph.complete, graph.problems
    assert [call.module for call in graph.calls] == ["", "fc"]
    first, second = graph.model.left_out
    assert (first.file, first.line, second.line, second.last_line) == ("net.py", 4, 14, 14)
    assert first.error is not None
    assert first.error.startswith("FileNotFoundError")
    assert second.error is None
    written = json.loads(graph.to_json())
    jsonschema.validate(written, schema())
    for text in (summary(graph), render(graph, "markdown"), render(graph, "html")):
        assert "net.py:4 (FileNotFoundError" in text.replace("\n           ", "").replace("\\", "")


def test_a_seed_is_run_by_whatever_name(project: Path):
    head = """
    import random as r
    from random import seed as sow
    from torch import nn
    r.seed(3)
    sow(3)
    words = open("no-words.txt")
    WIDTH = 8 + r.randrange(1000)

    class Net(nn.Linear):
        def __init__(self):
            super().__init__(8, WIDTH)
    """
    module, doubts, code = imported(written(project, head=head))
    assert 8 + random.Random(3).randrange(1000) == module.WIDTH
    assert doubts == []
    assert [each.line for each in code.told()] == [6]


def test_a_name_of_pythons_own_that_was_left_out_is_not_found_in_its_place(project: Path):
    head = """
    from torch import nn
    len = open("no-words.txt").readline

    class Net(nn.Linear):
        def __init__(self):
            super().__init__(8, len("four"))
    """
    module, _, _ = imported(written(project, head=head))
    with pytest.raises(NameError, match="no-words"):
        module.Net()


@pytest.mark.parametrize("test", ["__name__ == 'other'", "'x' == __name__", "__name__ in ['__main__']"])
def test_only_the_scripts_own_part_is_passed_over(project: Path, test: str):
    tail = f"words = open('no-words.txt')\nif {test}:\n    SIZES.append(2) or print(1)\n"
    tail += "if '__main__' == __name__:\n    SIZES.append(3) or print(1)\n"
    _, doubts, code = imported(written(project, tail))
    (left,) = code.told()
    assert left.last_line - left.line == 2
    assert len(doubts) == 1


@pytest.mark.parametrize("said", ["import helper as h", "from pack import helper as h"])
def test_names_of_a_module_count_by_its_other_name(said: str):
    assert names_of(f"{said}\nprint(h.WIDTH, g.OTHER)", "helper") == {"WIDTH"}


def test_how_the_process_ended_is_said(tmp_path: Path):
    text = NET.format(width=8).replace('words = json.load(open("no-vocabulary.json"))', "import os; os._exit(3)")
    graph = analyzed(tmp_path, text.replace("print(len(words))", ""))
    assert not graph.complete
    assert any("exit status 3" in (each.error or "") for each in graph.model.left_out)


@pytest.mark.parametrize("told", [True, False])
def test_a_graph_whose_doubts_were_not_told_is_not_complete(monkeypatch: pytest.MonkeyPatch, told: bool):
    import torch

    traced = modgraph.trace(torch.nn.Linear(2, 2), (torch.rand(1, 2),))
    left = LeftOut(file="net.py", line=1, last_line=1)
    graph = replace(traced, model=replace(traced.model, left_out=(left,)))
    monkeypatch.setattr(isolation, "_replayed", lambda _: graph)
    heard = Heard()
    heard.events[:] = [StartEvent(model=graph.model, modules=graph.modules), DoneEvent()]
    heard.doubts_told = told
    result = isolation._graph(heard, isolation._End(0, ""), TraceOptions())
    assert result.complete is told
    assert any("before it was told" in each.message for each in result.problems) is not told


@pytest.mark.parametrize(("line", "wins"), [(2, False), (3, True)])
def test_an_import_is_waited_for_where_the_model_needs_what_it_stands_at(tmp_path: Path, line: int, wins: bool):
    file = tmp_path / "net.py"
    file.write_text("import time\nWIDTH = time.sleep(0) or 8\nprint(3)\nclass Net:\n    width = WIDTH\n")
    heard = Heard()
    heard.import_at = (str(file), line, "")
    assert isolation._wins(parse_target(f"{file}:Net"), heard) is wins


def test_where_the_model_needs_it_the_real_cause_is_told(tmp_path: Path):
    graph = analyzed(tmp_path, NET.format(width="len(words)"))
    assert not graph.complete
    assert graph.calls == () or not any(call.observed for call in graph.calls)
    (problem,) = [each for each in graph.problems if each.stage == "trace"]
    assert "words is not bound, as net.py:4 raised FileNotFoundError" in problem.message
    assert "no-vocabulary.json" in problem.message


def test_a_class_whose_own_statement_is_left_out_is_told_with_the_cause(tmp_path: Path):
    text = NET.format(width=8).replace("def __init__(self):", "def __init__(self, words=words[0]):")
    (problem,) = [each for each in analyzed(tmp_path, text).problems if each.stage == "trace"]
    assert "gives no Net" in problem.message
    assert "no-vocabulary.json" in problem.message


def test_nothing_is_left_out_of_what_can_be_imported(tmp_path: Path):
    text = NET.format(width=8).replace('open("no-vocabulary.json")', "open(__file__)").replace("json.load", "list")
    graph = analyzed(tmp_path, text)
    assert graph.complete
    assert graph.model.left_out == ()
