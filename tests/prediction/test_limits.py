"""Code without end or measure: each piece ends as an unknown or a clear error, in seconds and bounded memory.

What Python's own functions would make is told before they run; nothing stops them afterwards. The memory of this
process is limited while the tests run, so that an allocation that is tried all the same fails.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import modgraph
from modgraph.errors import ModgraphError
from modgraph.graph.model import Graph
from modgraph.prediction.python.bounds import too_long_to_match

SECONDS = 40
PART = 8
"""Of the limits, where it is said; an eighth says as much in an eighth of the time."""
ROOM = 6 * 2**30
"""Bytes of address space: the deep stack of the interpreter and what the suite has loaded are in it."""


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = next(
        (
            int(line.split()[1]) * 1024
            for line in Path("/proc/self/status").read_text().splitlines()
            if line.startswith("VmSize")
        ),
        0,
    )
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, before[1]))
    started = time.process_time()
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)
    assert time.process_time() - started < SECONDS


SIZES = {
    "the parts of a tensor": "len(torch.zeros(10**8).unbind())",
    "the parts of a tensor of one size": "len(torch.zeros(10**9, 2).split(1))",
    "the parts of a tensor of given sizes": "len(torch.zeros(90000).split([1] * 90000))",
    "as many parts of a tensor as it has elements": "len(torch.zeros(10**9).chunk(10**9))",
    "a list": "len([0] * 10**10)",
    "a list of lists": "len([[0] * 50000] * 10**9)",
    "a text": "len('a' * 10**10)",
    "a power": "10**10**10",
    "a power by its function": "pow(10, 10**10)",
    "a power with a modulus": "pow(3, 10**20000, 10**20000)",
    "a shift": "1 << 10**9",
    "a product": "math.prod(range(1, 10**8))",
    "a product of long numbers": "math.prod([1 << 90000] * 2000)",
    "a sum": "sum(range(10**10))",
    "a maximum": "max(range(10**10))",
    "a factorial": "math.factorial(10**9)",
    "a tuple of numbers": "len(tuple(range(10**10)))",
    "a dict of numbers": "len(dict.fromkeys(range(10**10)))",
    "the length of a range": "len(range(10**30))",
    "arguments": "count(*range(10**10))",
    "a nested comprehension": "len([1 for i in range(10**4) for j in range(10**4)])",
    "a joined text": "len(','.join(['a' * 90000] * 9000))",
    "a replaced text": "len(('a' * 90000).replace('a', 'b' * 90000))",
    "a translated text": "len(('a' * 90000).translate({97: 'b' * 90000}))",
    "a filled text": "len('a'.ljust(10**11))",
    "a format": "len('{:>100000000000}'.format(1))",
    "a format with a width": "len('{:{}}'.format(1, 10**10))",
    "a format by its function": "len(format(1, '10000000000d'))",
    "an f-string": "len(f'{1:{10**11}}')",
    "the digits of an f-string": "len(f'{1.0:.999999999f}')",
    "a percent format": "len('%1000000000d' % 1)",
    "a percent format with a width": "len('%*d' % (10**9, 1))",
    "the text of a list": "len(str(shared))",
    "a pattern": "3 if re.match('(a+)+$', 'a' * 60 + 'b') else 4",
    "a pattern of alternatives": "3 if re.match('(a|a)*$', 'a' * 60 + 'b') else 4",
    "a pattern of several repetitions": "3 if re.search(r'\\s+x?\\s+$', ' ' * 90000 + 'x') else 4",
    "a pattern in a pattern": "3 if re.match('(' * 5000 + 'a' + ')' * 5000, 'b') else 4",
    "a substitution": "len(re.sub('a', 'b' * 90000, 'a' * 90000))",
    "products of iterables": "len(list(itertools.product(range(1000), repeat=5)))",
    "permutations": "len(list(itertools.permutations(range(20))))",
    "a cycle": "len(list(itertools.cycle([1])))",
    "a generator": "sum(endless())",
    "an order by what is not known": "sorted([3, 2, 1], key=os.environ.get)[0]",
    "an array": "int(np.prod(np.arange(10**10)))",
    "a function that calls itself deeply": "ackermann(4, 2)",
    "a property of itself": "Odd().y",
    "an attribute of another": "Odd().z",
}
LANGUAGE = """
import itertools, math, os, re
import numpy as np
def count(*items): return len(items)
def endless():
    while True: yield 1
def ackermann(m, n):
    return n + 1 if m == 0 else (ackermann(m - 1, 1) if n == 0 else ackermann(m - 1, ackermann(m, n - 1)))
class Odd:
    @property
    def y(self): return self.y
    def __getattr__(self, name): return getattr(self, name + 'x')
shared = [1]
for _ in range(40): shared = [shared, shared]
"""


def net(*lines: str) -> str:
    body = "".join(f"        {line}\n" for part in lines for line in part.splitlines())
    return f"{LANGUAGE}\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n{body}"


@pytest.mark.parametrize("name", SIZES)
def test_a_size_without_measure_is_unknown(name: str, predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(net(f"self.a = nn.Linear({SIZES[name]}, 1)", "self.last = nn.ReLU()"), with_torch=False)
    assert graph.problems
    assert not any("internal error" in problem.message for problem in graph.problems)
    weights = [p for node in graph.modules for p in node.parameters if p.name == "weight"]
    assert all(weight.shape in (None, (1, None)) for weight in weights)


BODIES = {
    "a tuple that is doubled": "x = (1,)\nfor _ in range(60): x = (x, x)\nself.a = nn.Linear(len(x), 1)",
    "lists of lists that are compared": "x, y = [1], [1]\nfor _ in range(60): x, y = [x, x], [y, y]\n"
    "self.a = nn.Linear(3 if x == y else 4, 1)",
    "lists that hold themselves": "x, y = [], []\nx.append(x); y.append(y)\nself.a = nn.Linear(3 if x == y else 4, 1)",
    "texts that are kept": "t = []\nfor i in range(20000): t.append(str(i) * 20000)\nself.a = nn.ReLU()",
    "lists that are kept": "t = []\nfor i in range(20000): t.append([i] * 90000)\nself.a = nn.ReLU()",
    "loops inside loops": "for i in range(10**4):\n    for j in range(10**4): self.n = i\nself.a = nn.ReLU()",
    "elements of a tensor": "self.l = nn.ModuleList([nn.ReLU() for x in torch.linspace(0, 1, 10**9)])",
    "the same module over and over": "self.l = nn.Sequential(*([nn.ReLU()] * 90000))",
    "branches inside branches": "".join(f"{'    ' * n}if os.environ.get('{n}'):\n" for n in range(60))
    + "    " * 60 + "self.a = nn.ReLU()",
    "branches after branches": "".join(f"if os.environ.get('{n}'): self.a{n} = nn.ReLU()\n" for n in range(60)),
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_a_body_without_measure_ends_with_what_is_known(
    name: str, predict_source: Callable[..., Graph], lower_limits: Callable[[int], None]
) -> None:
    lower_limits(PART)
    started = time.process_time()
    graph = predict_source(net(BODIES[name]), with_torch=False)
    assert time.process_time() - started < SECONDS / PART
    assert graph.problems
    assert not any("internal error" in problem.message for problem in graph.problems)


BYTES = {
    "NUL bytes": b"from torch import nn\n\0class Net(nn.Module): pass\n",
    "no encoding": b"from torch import nn\n# \xff\xfe\nclass Net(nn.Module): pass\n",
    "an encoding that there is not": b"# -*- coding: nonsense -*-\nclass Net: pass\n",
    "an encoding that is declared": "# -*- coding: latin-1 -*-\nfrom torch import nn\nclass Net(nn.Module):\n    n = 'é'\n".encode("latin-1"),
    "another encoding": "from torch import nn\nclass Net(nn.Module): pass\n".encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbffrom torch import nn\nclass Net(nn.Module): pass\n",
    "line ends of Windows": b"from torch import nn\r\nclass Net(nn.Module):\r\n    pass\r\n",
    "line ends of old": b"from torch import nn\rclass Net(nn.Module):\r    pass\r",
    "tabs": b"from torch import nn\nclass Net(nn.Module):\n\tdef __init__(self):\n\t\tsuper().__init__()\n\t\tself.a = nn.ReLU()\n",
    "tabs and spaces": b"from torch import nn\nclass Net(nn.Module):\n\tdef __init__(self):\n        super().__init__()\n",
    "a form feed": b"from torch import nn\n\x0c\nclass Net(nn.Module): pass\n",
    "nothing": b"",
    "2,000 blocks": b"class Net:\n" + b"".join(b" " * n + b"if 1:\n" for n in range(1, 2000)) + b" " * 2000 + b"x = 1\n",
    "5,000 parentheses": b"from torch import nn\nclass Net(nn.Module):\n    x = " + b"(" * 5000 + b"1" + b")" * 5000 + b"\n",
    "3,000 terms": b"from torch import nn\nclass Net(nn.Module):\n    x = " + b"1 + " * 3000 + b"1\n",
    "a huge literal": b"from torch import nn\nclass Net(nn.Module):\n    x = [" + b"1, " * 20_000 + b"]\n",
}  # fmt: skip
READABLE = {"an encoding that is declared", "a byte order mark", "line ends of Windows", "tabs", "a form feed",
            "3,000 terms", "a huge literal"}  # fmt: skip


@pytest.mark.parametrize("name", BYTES)
def test_any_file_ends_as_a_graph_or_one_error(name: str, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_bytes(BYTES[name])
    try:
        graph = modgraph.predict(f"{tmp_path / 'net.py'}:Net", path=[str(tmp_path)])
    except ModgraphError:
        if name in READABLE:
            raise
        return
    assert not any("internal error" in problem.message for problem in graph.problems)
    assert name not in READABLE or graph.modules[0].class_name == "net.Net"


@pytest.mark.parametrize("kind", ["directory", "link to nothing", "link to itself"])
def test_what_is_no_file_is_one_error(kind: str, tmp_path: Path) -> None:
    place = tmp_path / "net.py"
    if kind == "directory":
        place.mkdir()
    else:
        place.symlink_to(place if kind == "link to itself" else tmp_path / "nowhere")
    with pytest.raises(ModgraphError):
        modgraph.predict(f"{place}:Net")


def test_a_decorator_that_decorates_itself_ends(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(
        "def again(cls): return again(cls)\n@again\nclass Net(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.a = nn.ReLU()\n",
        with_torch=False,
    )
    assert graph.modules


def test_a_method_that_may_be_given_its_receiver_is_unknown(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(net("self.a = nn.Linear(len(set.union(*[{n} for n in os.environ])), 1)"), with_torch=False)
    assert graph.problems
    assert not any("internal error" in problem.message for problem in graph.problems)


def test_a_method_without_its_receiver_raises(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(
        "class Net(nn.Module):\n    def __init__(self):\n        nn.Module.__init__()\n", with_torch=False
    )
    assert any("TypeError" in problem.message for problem in graph.problems)


def test_a_class_whose_module_does_not_come_to_its_end_is_unknown(predict_source: Callable[..., Graph]) -> None:
    """Its base is imported only where something is installed, say."""
    graph = predict_source(
        "try:\n    from nowhere.at_all import Base\nexcept ImportError:\n    pass\nclass Net(Base): pass\n",
        with_torch=False,
    )
    (root, *_) = graph.modules
    assert graph.problems
    assert root.path == ""


def test_a_prediction_that_used_up_its_steps_still_gives_a_graph(
    predict_source: Callable[..., Graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is looked up for the graph afterwards costs steps as well."""
    monkeypatch.setattr("modgraph.prediction.domain.budget.MAX_STEPS", 300)
    graph = predict_source(
        "def table(): return [nn.ReLU() for _ in range(3)]\n"
        "class Net(nn.Module):\n    kept = table()\n    other = table()\n    def __init__(self):\n"
        "        super().__init__()\n        self.a = nn.ReLU()\n        for i in range(2000): self.n = i\n",
        with_torch=False,
    )
    assert [node.path for node in graph.modules][:2] == ["", "a"]
    assert any("steps" in problem.message for problem in graph.problems)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [(r"layers\.(\d+)\.(\w+)", "layers.12.attention.query"), (r"^(.*?)_(\d+)x(\d+)$", "stage_3_224x224"), ("a|b", "b"),
     (r"(\w+\.)*weight", "a.b.weight"), ("[aeiou]", "x" * 5000)],
)  # fmt: skip
def test_ordinary_patterns_are_matched(pattern: str, text: str) -> None:
    assert not too_long_to_match(pattern, text)


def test_a_model_made_twice_keeps_the_arguments_that_it_was_given(predict_source: Callable[..., Graph]) -> None:
    """Equal constructions are remembered; a list that only the record of the arguments holds goes with them."""
    graph = predict_source(
        "class Block(nn.Module):\n    def __init__(self, sizes):\n        super().__init__()\n"
        "        self.part = Part([*sizes, 3], 4)\n        self.a, self.b, self.c = nn.ReLU(), nn.ReLU(), nn.ReLU()\n"
        "class Part(nn.Module):\n    def __init__(self, sizes, n):\n        super().__init__()\n"
        "        self.l = nn.Linear(sum(sizes), n)\n        self.x, self.y, self.z = nn.ReLU(), nn.ReLU(), nn.ReLU()\n"
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.blocks = nn.ModuleList(Block([1, 2]) for _ in range(5))\n",
        with_torch=False,
    )
    given = [dict(node.arguments) for node in graph.modules if node.path.endswith(".part")]
    assert given == [{"sizes": [1, 2, 3], "n": 4}] * 5


MEASURED = {
    "a list that is doubled": "l = [nn.ReLU()]\nwhile True: l = l + l",
    "a tuple that is doubled and kept": "t, k = (1,) * 90000, []\nwhile True: k.append(t + (1,))",
    "slices of a tuple": "t, k = (1,) * 90000, []\nfor i in range(20000): k.append(t[i:])",
    "slices of a text": "t, k = 'a' * 90000, []\nfor i in range(20000): k.append(t[i:])",
    "f-strings": "t, k = 'a' * 90000, []\nfor i in range(20000): k.append(f'{t}{i}')",
    "copies of a list": "t, k = [1] * 90000, []\nfor i in range(20000): k.append(list(t)); k.append(t.copy())",
    "tuples of a list": "t, k = [1] * 9000, []\nfor i in range(20000): k.append(tuple(t))",
    "dicts that are kept": "d, k = dict.fromkeys(range(2000)), []\nfor i in range(20000): k.append({**d})",
    "comprehensions that are kept": "k = []\nfor i in range(20000): k.append([i for _ in range(9000)])",
    "sets of long ranges": "s = set(range(10**8)); d = dict.fromkeys(range(10**8)); z = sorted(range(10**8))\n"
    "t = torch.zeros(10**9).tolist(); self.a = nn.Linear(len(s), 1)",
    "5,000 parentheses that are evaluated": "x = eval('(' * 5000 + '1' + ')' * 5000)\nself.a = nn.Linear(x, 1)",
    "5,000 signs that are evaluated": "x = eval('-' * 5000 + '1')\nself.a = nn.Linear(x, 1)",
    "20,000 terms that are evaluated": "x = eval('+'.join(['1'] * 20000))\nself.a = nn.Linear(x, 1)",
    "a long text that is executed": "exec('self.x = 1\\n' * 9000)\nself.a = nn.ReLU()",
    "names of modules in each other": "t = nn.ReLU()\nfor i in range(40): t = nn.Sequential(t, t)\n"
    "self.n = len(list(t.named_modules(remove_duplicate=False)))",
    "two of its own class": "self.a = Net(); self.b = Net()",
    "parts of a tensor": "k = []\nfor i in range(20000): k.append(torch.zeros(10000, 2).unbind())",
    "parts of a tensor by their size": "k = []\nfor i in range(20000): k.append(torch.zeros(10000, 2).split(1))",
    "dimensions": "t = torch.zeros([1] * 90000)\nfor i in range(20000): u = t + t; u = t.sum()",
    "entries of a state dict": "t = nn.ReLU()\nfor i in range(40): t = nn.Sequential(t, t)\nself.n = len(t.state_dict())",
}  # fmt: skip
CHILD = """
import re, resource, sys
import modgraph
def bytes_of(field):
    return int(re.search(field + r":\\s*(\\d+)", open("/proc/self/status").read())[1]) * 1024
open("/proc/self/clear_refs", "w").write("5")
before = bytes_of("VmRSS")
resource.setrlimit(resource.RLIMIT_AS, (bytes_of("VmSize") + 3 * 2**30,) * 2)
resource.setrlimit(resource.RLIMIT_CPU, (90,) * 2)
limits = {"MAX_STEPS", "MAX_WORK", "MAX_MADE_ITEMS", "MAX_COPIED_OBJECTS", "MAX_MADE_MODULES"}
for module in [vars(module) for name, module in sys.modules.items() if name.startswith("modgraph.prediction.")]:
    for name in limits & module.keys():
        module[name] //= int(sys.argv[3])
graph = modgraph.predict(sys.argv[1] + ":Net", path=[sys.argv[2]])
assert graph.problems
assert not any("internal error" in problem.message for problem in graph.problems)
print(bytes_of("VmHWM") - before)
"""
"""`VmHWM` is the peak of this program alone, from where it is set back ("5", see proc(5)): a fork of a process that has
grown begins with more, and `ru_maxrss` with what that of the process that started it had. The limit of
the address space includes the stack of the interpreter, and stops what would take the machine; that of the processor's
time ends what would not end."""
IMPORTED = 2**26
"""What Python and the package take, which this process shares with others."""


IN_FULL = (
    *("tuples of a list", "two of its own class", "slices of a tuple", "slices of a text", "f-strings"),
    *("parts of a tensor", "parts of a tensor by their size"),
)
"""What is measured with the limits as they are, as what bounds the last five is no limit that is set in part; of the
others with a part of them."""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
@pytest.mark.parametrize("name", MEASURED)
def test_time_and_memory_are_bounded(name: str, tmp_path: Path) -> None:
    """In a program of its own: a fork of one that has grown has much that is not of this prediction."""
    part = 1 if name in IN_FULL else PART
    file = tmp_path / "net.py"
    file.write_text("import torch\nfrom torch import nn\n" + net(MEASURED[name]), encoding="utf-8")
    found = subprocess.run(
        [sys.executable, "-c", CHILD, str(file), str(tmp_path), str(part)], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr[-2000:]
    assert int(found.stdout) < (2**30 if part == 1 else 2**28) - IMPORTED
