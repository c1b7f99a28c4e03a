"""A data file that a script reads says what it held before the script ran: not where the script may have changed it,
its folder, or the place up to which it was read. Nor is what stands behind the end of the process ever called.

Python is the judge: each script runs with a class that tells what it is given.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from modgraph.arguments.candidates import candidates
from modgraph.source.targets import parse_target

MODEL = """
from torch import nn
class Net(nn.Module):
    def __init__(self, hidden, depth=1):
        super().__init__()
        self.l = nn.ModuleList(nn.Linear(4, hidden) for _ in range(depth))
"""
TELLING = """
import json
class Net:
    def __init__(self, hidden, depth=1):
        print("NET", json.dumps([hidden, depth]), flush=True)
"""
HEAD = "import os, shutil, subprocess, sys, yaml\nfrom pathlib import Path\nfrom model import Net\n"
LOAD = 'c = yaml.safe_load(open("cfg.yaml"))\nNet(c["hidden"], depth=c["depth"])\n'
NEW = '"hidden: 16\\ndepth: 2\\n"'
REST = 'c = yaml.safe_load(f) or {}\nNet(c.get("hidden", 16), depth=c.get("depth", 2))\n'
CHANGING = [
    'os.chdir("sub")\n',
    'def go():\n    os.chdir("sub")\ngo()\n',
    'd = os.environ.get("NOBODY_SETS_THIS", "sub")\nos.chdir(d)\n',
    f'open("cfg.yaml", "w").write({NEW})\n',
    f'with open("cfg.yaml", "w") as f:\n    print({NEW}, file=f)\n',
    f'_ = Path("cfg.yaml").write_text({NEW})\n',
    f'p = Path("cfg.yaml")\nwith p.open("w") as f:\n    f.write({NEW})\n',
    'shutil.copy("sub/cfg.yaml", "cfg.yaml")\n',
    'os.replace("sub/cfg.yaml", "cfg.yaml")\n',
    'Path("sub/cfg.yaml").rename("cfg.yaml")\n',
    'subprocess.run(["cp", "sub/cfg.yaml", "cfg.yaml"])\n',
    'os.system("cp sub/cfg.yaml cfg.yaml")\n',
    "import runpy\nrunpy.run_path('helper.py')\n",
    "import helper\n",
]
CALLED = [
    "from concurrent.futures import ThreadPoolExecutor\nThreadPoolExecutor().submit({}).result()\n",
    "import weakref\nclass A: pass\na = A()\nweakref.finalize(a, {})\ndel a\n",
    "import sched\ns = sched.scheduler()\nf, *rest = {}\ns.enter(0, 1, f, rest)\ns.run()\n",
    "import pickle\nclass A:\n    def __reduce__(self):\n        f, *rest = {}\n        return f, tuple(rest)\n"
    "pickle.loads(pickle.dumps(A()))\n",
    "import re\nf, *rest = {}\nre.sub('a', lambda m: f(*rest) or '', 'a')\n",
    "import warnings\nf, *rest = {}\nwarnings.showwarning = lambda *a, **k: f(*rest)\nwarnings.warn('x')\n",
]
"""What calls a function that it is given with arguments."""
WRITING = [
    'import logging\nlogging.basicConfig(filename="cfg.yaml", filemode="w")\n',
    'import logging\nlogging.FileHandler("cfg.yaml", "w")\n',
    'import logging.handlers\nlogging.handlers.RotatingFileHandler("cfg.yaml", "w")\n',
    'import argparse\nargparse.FileType("w")("cfg.yaml")\n',
    'import xml.etree.ElementTree as E\nE.ElementTree(E.Element("a")).write("cfg.yaml")\n',
    "import timeit\ntimeit.timeit(\"open('cfg.yaml', 'w')\", number=1)\n",
    'import types\ntypes.FunctionType(compile("open(\'cfg.yaml\', \'w\')", "a", "exec"), {"open": open})()\n',
    'import numpy as np\nnp.savetxt(Path("cfg.yaml"), [1.0])\n',
    'import numpy as np\nnp.savetxt(Path() / "cfg.yaml", [1.0])\n',
    'import torch\ntorch.save({}, "cfg.yaml")\n',
    'open("link.yaml", "w").close()\n',
    'open("hard.yaml", "w").close()\n',
    'import builtins, io\nbuiltins.open = lambda *a: io.StringIO("")\n',
    'import builtins, io\nsetattr(builtins, "open", lambda *a: io.StringIO(""))\n',
    'from unittest import mock\nmock.patch("builtins.open", mock.mock_open(read_data="")).start()\n',
    'class W:\n    def write(self, text):\n        open("cfg.yaml", "w").close()\nprint("x", file=W())\n',
]
REPLACED = 'c = yaml.safe_load(open("cfg.yaml"))\nc = c if isinstance(c, dict) else {"hidden": 16, "depth": 2}\n' + (
    'Net(c["hidden"], depth=c["depth"])\n'
)
MOVING = ["f.readline()", "f.read(10)", "f.seek(10)", "next(f)", "list(f)", "yaml.safe_load(f)", "for each in f: break"]
ENDING = [
    "sys.exit(0)",
    "exit()",
    "os._exit(0)",
    "os.abort()",
    "raise SystemExit",
    'os.execv("/bin/true", ["true"])',
    "import signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "try:\n    sys.exit(0)\nexcept Exception:\n    pass",
    "try:\n    os._exit(0)\nexcept BaseException:\n    pass",
    "assert False",
    "import posix\nposix._exit(0)",
    "import asyncio\nasync def m():\n    sys.exit()\nasyncio.run(m())",
    "import threading\nt = threading.Thread(target=lambda: os._exit(0))\nt.start()\nt.join()",
    "import json\njson.dumps(object(), default=lambda o: sys.exit())",
    "class A:\n    def __hash__(self):\n        sys.exit()\n{A(): 1}",
    "class A:\n    def __init_subclass__(cls):\n        sys.exit()\nclass B(A):\n    pass",
    "class A:\n    def __del__(self):\n        os._exit(0)\nA()",
    "@sys.exit\ndef f():\n    pass",
    *(each.format("os._exit, 0").rstrip() for each in CALLED),
]
PARTIAL = "import functools\nmk = functools.partial(Net, depth=3)\n"
CHANGED_PARTIALS = [
    'mk.keywords["depth"] = 4\n',
    "k = mk.keywords\nk.update(depth=4)\n",
    "del mk.keywords['depth']\n",
    'mk.__setstate__((Net, (), {"depth": 4}, {}))\n',
]
SCRIPTS = [
    *(each + LOAD for each in CHANGING),
    *(each.format("os.chdir, 'sub'") + LOAD for each in CALLED),
    *(each + REPLACED for each in WRITING),
    *(f'f = open("cfg.yaml")\n{each}\n{REST}' for each in MOVING),
    *(f"{each}\nNet(8, depth=3)\n" for each in ENDING),
    "def main():\n    sys.exit(0)\n    Net(8, depth=3)\nif __name__ == '__main__':\n    main()\n",
    *(f"{PARTIAL}{each}mk(8)\n" for each in CHANGED_PARTIALS),
]
KEPT = [
    LOAD,
    'with open("log.txt", "w") as g:\n    g.write("begun")\n' + LOAD,
    'os.makedirs("out", exist_ok=True)\n' + LOAD,
    LOAD + 'open("cfg.yaml", "w").write("x")\n',
    'c = yaml.safe_load(open("cfg.yaml").read())\nNet(**c)\n',
    "try:\n    sys.exit(0)\nexcept SystemExit:\n    pass\n" + LOAD,
    "if len(sys.argv) > 5:\n    sys.exit(1)\n" + LOAD,
    f"{PARTIAL}n = mk.keywords['depth']\nmk(8)\n",
    'import logging\nlogging.basicConfig(level=logging.INFO, format="%(message)s")\nlogging.info("from cfg.yaml")\n'
    + LOAD,
    'import logging\nlogging.basicConfig(handlers=[logging.FileHandler("a.log", "w"), logging.StreamHandler()])\n'
    + LOAD,
    "import signal, atexit\nsignal.signal(signal.SIGINT, lambda *a: sys.exit(1))\natexit.register(os._exit, 0)\n"
    + LOAD,
    "def hook(*a):\n    sys.exit(1)\nsys.excepthook = hook\n" + LOAD,
    "import builtins\nold = builtins.print\nbuiltins.print = lambda *a, **k: old(*a, **k)\n" + LOAD,
    "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor() as e:\n    list(e.map(len, ['a']))\n"
    + LOAD,
    'import torch\nfrom datetime import datetime\nout = Path("out") / datetime.now().strftime("%H")\n'
    "out.mkdir(parents=True)\ntorch.save({}, out / 'a.pt')\n" + LOAD,
    'class Tee:\n    def __init__(self):\n        self.f, self.o = open("log.txt", "w"), sys.stdout\n    def write(self, text):\n'
    "        self.o.write(text)\n        self.f.write(text)\n    def flush(self):\n        pass\nsys.stdout = Tee()\n"
    + LOAD,
    'sys.stdout, old = open(os.devnull, "w"), sys.stdout\nsys.stdout = old\n' + LOAD,
]


def said(folder: Path, script: str) -> list[list[object]]:
    """What is said that the class is given by a call."""
    (folder / ".git").mkdir()
    (folder / "sub").mkdir()
    (folder / "model.py").write_text(MODEL)
    (folder / "cfg.yaml").write_text("hidden: 8\ndepth: 3\n")
    (folder / "sub" / "cfg.yaml").write_text("hidden: 16\ndepth: 2\n")
    (folder / "helper.py").write_text(f'open("cfg.yaml", "w").write({NEW})\n')
    (folder / "link.yaml").symlink_to("cfg.yaml")
    if "hard.yaml" in script:
        (folder / "hard.yaml").hardlink_to(folder / "cfg.yaml")
    (folder / "train.py").write_text(HEAD + script)
    found = candidates(parse_target(f"{folder / 'model.py'}:Net"), assume=False)
    return [[e.arguments["hidden"], e.arguments.get("depth", 1)] for e in found if e.origin.kind == "call"]


def given(folder: Path) -> list[list[object]]:
    (folder / "model.py").write_text(TELLING)
    run = subprocess.run([sys.executable, "-S", "-c", _RUN], cwd=folder, capture_output=True, text=True, check=False)
    return [json.loads(line[4:]) for line in run.stdout.splitlines() if line.startswith("NET ")]


_RUN = f"import sys; sys.path[:0] = ['.', *{[each for each in sys.path if each.endswith('site-packages')]!r}]\n" + (
    "import runpy, builtins, _sitebuiltins\n"
    "builtins.exit = _sitebuiltins.Quitter('exit', '')\n"
    "runpy.run_path('train.py', run_name='__main__')"
)


@pytest.mark.parametrize("script", SCRIPTS)
def test_what_is_said_to_be_given_is_what_python_gives(script: str, tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    found = said(tmp_path, script)
    true = given(tmp_path)
    assert [8, 3] not in true
    assert [each for each in found if each not in true] == []


@pytest.mark.parametrize("script", KEPT)
def test_what_changes_none_of_it_leaves_it_known(script: str, tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    assert said(tmp_path, script) == given(tmp_path) == [[8, 3]]


def test_a_search_that_takes_too_long_ends_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from modgraph.arguments.choosing import ways_to_build
    from modgraph.prediction import predict_graph
    from modgraph.prediction.domain import limits

    assert said(tmp_path, "Net(8, depth=3)\n") == [[8, 3]]
    monkeypatch.setattr(limits, "MAX_SECONDS", -1)
    target = parse_target(f"{tmp_path / 'model.py'}:Net")
    assert candidates(target, assume=False).is_cut
    (way,) = ways_to_build(target, predict_graph, "found")
    assert any("the search for arguments took more than" in each.message for each in way.predicted.problems)
