"""What was left out is judged by what everything was when it was left out, and by all that is called below.

Python itself is asked, in a process of its own: with the missing file there, the same script makes another configuration.
"""

from __future__ import annotations

import io
import json
import os
import runpy
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.needs_torch, pytest.mark.skipif(not hasattr(os, "fork"), reason="each runs in a process")]

HEAD = "import argparse, codecs, functools, io, json, logging, os, sys\nfrom pathlib import Path\n"
CONFIG = 'CONFIG = {"hidden": 8}\n'
OTHER = """
def change(*_, **__):
    CONFIG["hidden"] = 12
    return True
def wrap(f):
    def mine(*a, **k):
        change()
        return f(*a, **k)
    return mine
class Tee:
    def write(self, text):
        change()
    def flush(self):
        pass
class Raw(io.RawIOBase):
    def writable(self):
        return True
    def write(self, text):
        change()
        return len(text)
"""
LOAD = 'def load(path):\n    CONFIG["hidden"] = len(open(path).read().split())\n'
LATER = {
    "a function that another module replaces": (LOAD, "lib.load('words.txt')", "lib.load = change"),
    "a function that is replaced by its dict": (LOAD, "lib.load('words.txt')", "vars(lib).update(load=change)"),
    "a function that is given other code": (
        LOAD,
        "lib.load('words.txt')",
        "def f(path): pass\nlib.load.__code__ = f.__code__",
    ),
    "defaults that are replaced": (
        "def load(path, held=[CONFIG]):\n    text = open(path).read()\n    for x in held: x['hidden'] = 12\n",
        "lib.load('words.txt')",
        "lib.load.__defaults__ = ([],)",
    ),
    "a method": (
        "class V:\n    def __init__(self, path):\n        CONFIG['hidden'] = len(open(path).read())\n",
        "lib.V('words.txt')",
        "lib.V.__init__ = lambda self, path: None",
    ),
    "what a list holds": (
        "class Shown:\n    def __repr__(self):\n        change()\n        return ''\nREG = [Shown()]\n"
        "def load(path):\n    text = open(path).read()\n    print(REG)\n",
        "lib.load('words.txt')",
        "lib.REG.clear()",
    ),
    "a function of a package that is put back": (
        "old = json.load\n",
        "json.load = lib.wrap(json.load)\nwords = json.load(open('words.txt'))",
        "json.load = lib.old",
    ),
    "a stream that is put back": (
        "",
        "sys.stdout = lib.Tee()\nprint(len(open('words.txt').read()))",
        "sys.stdout = sys.__stdout__",
    ),
    "a filter that is taken away": (
        "logging.root.addFilter(change)\n",
        "words = open('words.txt').read()\nlogging.getLogger().warning('x')",
        "logging.root.removeFilter(lib.change)",
    ),
}
BELOW = {
    "os.stat": (
        "old = os.stat\ndef mine(path, *a, **k):\n    str(path) == 'zz' and change()\n    return old(path, *a, **k)\n"
        "os.stat = mine",
        "Path('zz').exists()",
    ),
    "io.open": ("io.open = wrap(io.open)", "Path('words.txt').read_bytes()"),
    "os.scandir": ("os.scandir = wrap(os.scandir)", "import glob\nglob.glob('*')"),
    "fnmatch.filter": ("import fnmatch\nfnmatch.filter = wrap(fnmatch.filter)", "import glob\nglob.glob('*')"),
    "the width of a terminal": (
        "import shutil\nshutil.get_terminal_size = wrap(shutil.get_terminal_size)",
        "argparse.ArgumentParser().print_help()",
    ),
    "textwrap.wrap": (
        "import textwrap\ntextwrap.wrap = wrap(textwrap.wrap)",
        "argparse.ArgumentParser(description='a b').print_help()",
    ),
    "time.time": ("import time\ntime.time = wrap(time.time)", "logging.getLogger('a').warning('x')"),
    "a traceback": (
        "import traceback\ntraceback.print_exception = wrap(traceback.print_exception)",
        "try:\n    int('x')\nexcept ValueError:\n    logging.getLogger('a').exception('x')",
    ),
    "what shows a warning": (
        "import warnings\nwarnings.showwarning = change\nwarnings.simplefilter('always')",
        "import numpy as np\nnp.loadtxt(os.devnull)",
    ),
    "np.fromfile": (
        "import numpy as np\nnp.fromfile = wrap(np.fromfile)\nnp.save('a.npy', np.ones(2))",
        "import numpy as np\nnp.load('a.npy')",
    ),
    "a part of a method": (
        "logging.Logger.info = functools.partialmethod(lambda self, *a: change())",
        "logging.getLogger('a').info('x')",
    ),
    "a method that remembers": (
        "logging.Logger.info = functools.lru_cache(lambda self, *a: change())",
        "logging.getLogger('a').info('x')",
    ),
    "a method that a package has wrapped": (
        "import torch\nlogging.Logger.info = torch.no_grad()(lambda self, *a: change())",
        "logging.getLogger('a').info('x')",
    ),
    "a class in the place of another": (
        "import pathlib\nclass Mine(type(Path())):\n    exists = change\npathlib.PosixPath = Mine",
        "Path('x').exists()",
    ),
    "an object of a package": ("json._default_decoder.decode = change", "json.loads('1')"),
    "the code of a function": (
        "def mine(fp, **k):\n    import lib\n    lib.change()\njson.load.__code__ = mine.__code__",
        "json.load(open('words.txt'))",
    ),
    "a builtin that a package sees otherwise": (
        "import argparse\nargparse.len = wrap(len)",
        "argparse.ArgumentParser().print_help()",
    ),
    "what handles a text that cannot be read": (
        "codecs.register_error('backslashreplace', lambda e: (change() and '', e.end))\nopen('a.txt', 'wb').write(b'\\xff')",
        "open('a.txt', encoding='ascii', errors='backslashreplace').read()",
    ),
    "who is told of all": (
        "sys.addaudithook(lambda event, given: change() if event == 'open' and 'words' in str(given[0])\n"
        "    and sys._getframe(1).f_code.co_name == 'f' else None)",
        "len(words)",
    ),
    "an environment": (
        "class E(dict):\n    def get(self, *a):\n        return change()\nos.environ = E()",
        "os.environ.get('x')",
    ),
    "an item of an environment": (
        "class E(dict):\n    def __getitem__(self, name):\n        return change()\nos.environ = E()",
        "os.environ['x']",
    ),
    "a part of the environment": ("os.environ.encodekey = wrap(os.environ.encodekey)", "os.getenv('x')"),
    # Logs and streams.
    "a filter": ("logging.getLogger('a').addFilter(change)", "logging.getLogger('a').warning('x')"),
    "a method as a filter": (
        "class F:\n    def filter(self, record):\n        return change()\nlogging.getLogger('a').addFilter(F().filter)",
        "logging.getLogger('a').warning('x')",
    ),
    "a filter of the root": ("logging.root.addFilter(change)", "logging.getLogger().warning('x')"),
    "a method of one handler": (
        "handler = logging.StreamHandler()\nhandler.emit = change\nlogging.root.addHandler(handler)",
        "logging.getLogger('a').warning('x')",
    ),
    "a method of one log": ("logging.getLogger('a').info = change", "logging.getLogger('a').info('x')"),
    "what a formatter converts with": (
        "handler = logging.StreamHandler()\nhandler.setFormatter(logging.Formatter('%(asctime)s'))\n"
        "handler.formatter.converter = wrap(handler.formatter.converter)\nlogging.root.addHandler(handler)",
        "logging.getLogger('a').warning('x')",
    ),
    "the stream of a handler": ("logging.basicConfig(stream=Tee())", "logging.getLogger('a').warning('x')"),
    "the stream of errors": ("sys.stderr = Tee()", "logging.getLogger('a').warning('x')"),
    "the stream of errors of a parser": (
        "sys.stderr = Tee()",
        "try:\n    argparse.ArgumentParser().error('x')\nexcept SystemExit:\n    pass",
    ),
    "the stream of a parser": ("sys.stdout = Tee()", "argparse.ArgumentParser().print_help()"),
    "a stream around a stream": ("sys.stdout = codecs.getwriter('utf-8')(Tee())", "print(1)"),
    "what a stream writes to": ("sys.stdout = io.TextIOWrapper(Raw(), write_through=True)", "print(1)"),
    # What is given to a function by its place.
    "a codec by its place": (
        "codecs.register(lambda name: change() and codecs.lookup('utf-8') if name == 'mine' else None)",
        "Path('words.txt').read_text('mine')",
    ),
    **{
        f"an object of the project, {each}": (
            "import numpy as np\nclass P:\n    def __setstate__(self, state):\n        change()\n"
            "    def __getstate__(self):\n        return {'a': 1}\n"
            "a = np.empty(1, dtype=object)\na[0] = P()\nnp.save('a.npy', a, allow_pickle=True)",
            f"import numpy as np\nnp.load({each})",
        )
        for each in ("'a.npy', None, True", "*['a.npy', None, True]")
    },
    # Parsers and readers.
    "a constant of an option": (
        "parser = argparse.ArgumentParser()\nparser.add_argument('--big', action='store_const', const=CONFIG)",
        "args = lib.parser.parse_args(['--big'])\nargs.big['hidden'] = 12",
    ),
    "choices of a class": (
        "class Any(list):\n    def __contains__(self, item):\n        return change()\n"
        "parser = argparse.ArgumentParser()\nparser.add_argument('--a', choices=Any())",
        "lib.parser.parse_args(['--a', 'x'])",
    ),
    "the errors of one parser": (
        "parser = argparse.ArgumentParser()\nparser.error = change",
        "lib.parser.parse_args(['--nope'])",
    ),
    "a part as a maker": (
        "import yaml\nyaml.SafeLoader.add_constructor('!x', functools.partial(lambda *_: change()))",
        "import yaml\nyaml.safe_load('!x 1')",
    ),
    "an object that YAML makes": (
        "import yaml\nclass B(yaml.YAMLObject):\n    yaml_tag = '!x'\n    yaml_loader = yaml.SafeLoader\n"
        "    def __setstate__(self, state):\n        change()",
        "import yaml\nyaml.safe_load('!x {a: 1}')",
    ),
    "what YAML takes a text for": (
        "import yaml\nclass R:\n    def match(self, text):\n        change()\nyaml.SafeLoader.add_implicit_resolver('!y', R(), None)",
        "import yaml\nyaml.safe_load('a')",
    ),
}
LEFT_BEHIND = {
    **{
        f"kinds in {each}": f"""
        def f():
            n = len(open("words.txt").read().split())
            for kind in {each}:
                kind.hidden_n = n
        f()
        CONFIG = {{"hidden": getattr(Path, "hidden_n", 8)}}
        """
        for each in ("[Path]", "{Path: 1}", "dict(type=Path).values()", "(Path,) + ()")
    },
    "a block that is left": """
        import torch
        def g():
            for line in open("words.txt"):
                with torch.no_grad():
                    for letter in line:
                        yield letter
        rows = g()
        for each in rows:
            break
        CONFIG = {"hidden": 8 if torch.is_grad_enabled() else 12}
        """,
    "a dict that makes what is missing": """
        import collections
        KINDS = collections.defaultdict(lambda: int)
        def g(x: KINDS["new"] = open("words.txt").read()):
            pass
        CONFIG = {"hidden": len(KINDS)}
        """,
    **{
        f"a file that is open: {each}": f"""
        def f():
            words = open("words.txt").read()
            fd = 0
            open({each}).read()
        f()
        try:
            os.fstat(0)
            CONFIG = {{"hidden": 8}}
        except OSError:
            CONFIG = {{"hidden": 12}}
        """
        for each in ("0", "fd", "int('0')", "mode='r', file=0")
    },
    **{
        f"kinds that are noted: {each}": f"""
        import typing
        hidden: int = 8
        depth: int = len(open("words.txt").read())
        CONFIG = {{"hidden": len({each})}}
        """
        for each in ("__annotations__", "typing.get_type_hints(sys.modules[__name__])")
    },
    "logs that were asked for": """
        def f():
            words = open("words.txt").read()
            logging.getLogger("my.name").info("x")
        f()
        CONFIG = {"hidden": 12 if "my.name" in logging.root.manager.loggerDict else 8}
        """,
    **{
        f"a module that is imported: {each}": f"""
        def f():
            words = open("words.txt").read()
            {each}
        f()
        CONFIG = {{"hidden": 12 if "{name}" in sys.modules else 8}}
        """
        for each, name in (("import chunk", "chunk"), ("import wsgiref.util", "wsgiref"))
    },
    "an attribute of a package": """
        import xml
        def f():
            words = open("words.txt").read()
            import xml.dom.minidom
        f()
        CONFIG = {"hidden": 12 if hasattr(xml, "dom") else 8}
        """,
    "a part of a package": """
        import wsgiref
        def f():
            words = open("words.txt").read()
            from wsgiref import validate
        f()
        CONFIG = {"hidden": 12 if hasattr(wsgiref, "validate") else 8}
        """,
    "names of another module": """
        from noisy import load
        words = load("words.txt")
        from quiet import *
        import noisy
        CONFIG = noisy.CONFIG
        """,
    "a name that is set": """
        CONFIG = {"hidden": 8}
        def load(path):
            CONFIG["hidden"] = len(open(path).read().split())
        words = load("words.txt")
        def other(path):
            return None
        setattr(sys.modules[__name__], "load", other)
        """,
}
"""Each a script of its own."""


def programs() -> Iterator[tuple[str, dict[str, str]]]:
    for name, (first, left_out, after) in LATER.items():
        lib = HEAD + CONFIG + OTHER + first
        net = HEAD + "import lib\nCONFIG = lib.CONFIG\n" + left_out + "\nimport late\n"
        yield name, {"lib": lib, "net": net, "late": HEAD + "import lib\nfrom lib import change\n" + after + "\n"}
    for name, (patch, use) in BELOW.items():
        lib = HEAD + CONFIG + OTHER + patch + "\n"
        left_out = f"def f():\n    words = open('words.txt', 'rb').read()\n{textwrap.indent(use, '    ')}\nf()\n"
        yield name, {"lib": lib, "net": HEAD + "import lib\nCONFIG = lib.CONFIG\n" + left_out}
    for name, text in LEFT_BEHIND.items():
        quiet = "def load(path):\n    return None\n"
        yield name, {"net": HEAD + CONFIG + textwrap.dedent(text), "noisy": CONFIG + LOAD, "quiet": quiet}


PROGRAMS = dict(programs())
ORDINARY = {
    "kinds of a reader and of options": """
        import numpy as np
        data = np.loadtxt("words.txt", dtype=float, delimiter=",")
        data[0] = 1
        parser = argparse.ArgumentParser()
        parser.add_argument("--lr", type=float, default=1e-3, help="rate")
        args = parser.parse_args()
        if isinstance(args.lr, (int, float)):
            print(str(args.lr))
        """,
    "options that others have": """
        parser = argparse.ArgumentParser()
        parser.add_argument("--n", type=int, choices=[1, 2], default=1)
        parser.add_argument("--half", action="store_const", const=16, default=32)
        parser.add_argument("--debug", action="store_true")
        parser.add_argument("data")
        args = parser.parse_args()
        print(args.data, args.n)
        """,
    "a log": """
        logger = logging.getLogger("train")
        words = open("words.txt").read().split()
        logger.warning("read %d words", len(words))
        """,
    "what is read by its place": """
        text = (Path(".") / "words.txt").read_text("utf-8")
        import json
        words = json.load(open("words.txt", "r", 1))
        """,
    "modules that nobody asks for": """
        import os.path
        me = sys.modules[__name__]
        def read():
            import chunk
            import json
            import os.path as osp
            return open(osp.join("a", "words.txt")).read()
        n = read()
        """,
    "a function that a package has in its place": """
        import warnings
        warnings.filterwarnings("ignore")
        json.loads, old = json.loads, json.loads
        words = open("words.txt").read().split()
        """,
    "a reader of numpy that the project replaces": """
        import numpy as np
        old = np.load
        np.load = lambda *a, **k: old(*a, allow_pickle=True, **k)
        words = open("words.txt").read().split()
        print(len(words))
        """,
    "rows of a file": """
        def rows(path):
            with open(path) as file:
                for line in file:
                    yield line.strip()
        words: list[str] = [each for each in rows("words.txt")]
        """,
}


@pytest.fixture(scope="module", autouse=True)
def imported_once() -> None:
    """So that no process has to."""
    import numpy.lib  # noqa: F401

    import modgraph.tracing.loading.importing
    import modgraph.tracing.loading.left_out  # noqa: F401


def in_process(folder: Path, do: Callable[[], Any]) -> Any:
    """What it gives, as JSON, of a process that may change whatever it likes."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            forget_modules_of_tests()
            os.chdir(folder)
            sys.path.insert(0, str(folder))
            sys.argv = ["x"]
            sys.stdout = sys.stderr = sys.__stdout__ = io.StringIO()
            os.write(writing, json.dumps(do(), default=str).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        said = file.read()
    os.waitpid(child, 0)
    assert said, "it ended"
    return json.loads(said)


def forget_modules_of_tests() -> None:
    """Each that was gathered would be read as one of the project, which may name something of the target: five hundred
    files, for each module of a project."""
    here = str(Path(__file__).parents[1]) + os.sep
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(here):
            del sys.modules[name]


def left_out(folder: Path) -> tuple[Any, list[str]]:
    from modgraph.source.targets import parse_target
    from modgraph.tracing.loading.importing import import_target
    from modgraph.tracing.loading.left_out import LeftOutCode

    target = parse_target(f"{folder / 'net.py'}:Net")
    with LeftOutCode(target) as code:
        module = import_target(target, code)
    assert code.told()
    return module.CONFIG, [each.message for each in code.doubts()]


def write(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        model = "\n\nclass Net:\n    config = CONFIG\n" if name == "net" else ""
        (folder / f"{name}.py").write_text(text + model)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("case", PROGRAMS)
def test_what_was_changed_of_all_that_is_called_is_a_doubt(tmp_path: Path, case: str):
    if "yaml" in str(PROGRAMS[case]):
        pytest.importorskip("yaml")
    write(tmp_path, PROGRAMS[case])
    said, doubts = in_process(tmp_path, lambda: left_out(tmp_path))
    assert doubts
    (tmp_path / "words.txt").write_text("1" if "json" in case or "of a package" in case else "a b c d")
    assert in_process(tmp_path, lambda: runpy.run_path("net.py")["CONFIG"]) != said


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("case", ORDINARY)
def test_what_is_as_its_packages_made_it_may_be_left_out(tmp_path: Path, case: str):
    write(tmp_path, {"net": HEAD + CONFIG + textwrap.dedent(ORDINARY[case])})
    assert in_process(tmp_path, lambda: left_out(tmp_path)) == [{"hidden": 8}, []]
