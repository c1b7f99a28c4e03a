"""Modules that are arguments, and were changed after they were made: Python runs each project, and the model that it makes
is the one that is predicted, and built."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import modgraph
from modgraph.arguments import candidates
from modgraph.source.targets import Built, parse_target
from modgraph.source.wire import decode, encode
from tests.arguments import projects

NET = """
    import copy

    import torch
    from torch import nn

    class Part(nn.Module):
        def __init__(self, width=4):
            super().__init__()
            self.first = nn.Linear(width, width)
            self.fc = nn.Linear(width, 2)
            self.act = lambda x: x * width
            self.sizes = [width]

        def forward(self, x):
            return self.act(self.fc(self.first(x)))

    class Tower(nn.Sequential):
        def __init__(self, part):
            super().__init__(part, nn.Linear(part.fc.out_features, 3))

    class Changing(nn.Module):
        def __init__(self, part):
            super().__init__()
            part.fc = nn.Identity()
            self.part = part

        def forward(self, x):
            return self.part(x)

    class Net(nn.Module):
        def __init__(self, part, other=None):
            super().__init__()
            self.part = part
            self.other = other
            self.wide = nn.Linear(getattr(part, "n_wide", 7), sum(getattr(part, "sizes", [1])))

        def forward(self, x):
            return self.part(x)
    """
SHOWN = """
    def described(net):
        import json
        print(json.dumps([
            [name, type(each).__name__, [[n, list(p.shape), p.requires_grad] for n, p in each._parameters.items() if p is not None]]
            for name, each in net.named_modules()
        ]))
    """
CARRIED = {
    "as it was made": "net = Net(Part(5))",
    "an attribute": "part = Part()\npart.n_wide = part.first.in_features + 1\nnet = Net(part)",
    "in a function": (
        "def build():\n    tower = Tower(Part())\n    tower.n_wide = 9\n    return tower\nnet = Net(build())"
    ),
    "a layer": "part = Part()\npart.fc = nn.Identity()\nnet = Net(part)",
    "a layer below": "tower = Tower(Part())\ntower[0].fc = nn.Linear(4, 6)\nnet = Net(tower)",
    "another layer": "part = Part()\npart.add_module('more', nn.Linear(3, 3))\nnet = Net(part)",
    "frozen": "part = Part()\nfor p in part.first.parameters():\n    p.requires_grad = False\nnet = Net(part)",
    "frozen at once": "part = Part().requires_grad_(False)\nnet = Net(part)",
    "evaluated": "part = Part().eval()\nnet = Net(part)",
    "a list": "part = Part()\npart.sizes.append(5)\nnet = Net(part)",
    "layers behind one another": "net = Net(nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Sequential(nn.Linear(4, 3))))",
    "a list of layers": "layers = nn.ModuleList([nn.Linear(2, 2)])\nlayers.append(nn.Linear(2, 3))\nnet = Net(layers)",
    "changed by what it is given to": "part = Part()\nwhole = Changing(part)\nnet = Net(whole)",
    "a copy": (
        "part = nn.Sequential(nn.Linear(4, 4), nn.ReLU())\nother = copy.deepcopy(part)\nother[1] = nn.Linear(4, 8)\n"
        "net = Net(part, other)"
    ),
    "None in place of a layer": "part = Part()\npart.fc = None\nnet = Net(part)",
}
NOT_CARRIED = {
    "taken out": "part = Part()\ndel part.fc\nnet = Net(part)",
    "taken out of a row": "part = Part()\nnet = Net(nn.Sequential(*list(Tower(part).children())[:0], part), part)",
    "taken out below": "tower = Tower(Part())\ndel tower[1].bias\ntower[1].bias = None\nnet = Net(tower)",
    "weights of another size": "part = Part()\npart.fc.weight.data = torch.zeros(3, 4)\nnet = Net(part)",
    "shared": "part = Part()\npart.fc = part.first\nnet = Net(part)",
    "in two places": "part = Part()\nnet = Net(part, part)",
    "a weight that is shared": "part = Part(2)\npart.fc.weight = part.first.weight\nnet = Net(part)",
    "a layer of itself in a new one": "part = Part()\npart.more = nn.Sequential(part.fc)\nnet = Net(part)",
    "a layer of what it was given": "tower = Tower(Part())\npart = Part()\npart.a = tower\npart.b = tower[1]\nnet = Net(part)",
    "what may do anything": "import something\npart = Part()\nsomething.change(part)\nnet = Net(part)",
    "a function of its own": "part = Part()\npart.act = lambda x: x\nnet = Net(part)",
    "something that nobody knows": "import os\npart = Part()\npart.n_wide = os.getpid()\nnet = Net(part)",
}


def project(folder: Path, body: str) -> Path:
    text = f"import copy\nimport torch\nfrom torch import nn\nfrom net import Changing, Net, Part, Tower\n{body}\n"
    return projects.write(folder, {"net.py": NET, "train.py": text})


@pytest.fixture
def made_by_python(run_code) -> Callable[[Path], list[list[object]]]:
    def made_by_python(folder: Path) -> list[list[object]]:
        (folder / "shown.py").write_text(projects.textwrap.dedent(SHOWN))
        code = "from train import net; from shown import described; described(net)"
        done = run_code(code, cwd=folder, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        (folder / "shown.py").unlink()
        return json.loads(done.stdout)

    return made_by_python


def described(graph: modgraph.Graph) -> list[list[object]]:
    return [
        [
            node.path,
            node.class_name.rpartition(".")[2],
            [[each.name, list(each.shape), each.trainable] for each in node.parameters],
        ]
        for node in graph.modules
        if not node.class_name.endswith("NoneType")
    ]


@pytest.mark.parametrize("name", CARRIED)
def test_what_was_done_to_a_module_is_done_again(tmp_path, made_by_python, name):
    folder = project(tmp_path, CARRIED[name])
    expected = made_by_python(folder)
    predicted = modgraph.analyze(f"{folder}/net.py:Net", static=True)
    assert (predicted.model.arguments_from.kind, predicted.model.arguments_from.file) == ("call", "train.py")
    assert described(predicted) == expected


@pytest.mark.parametrize("name", ["an attribute", "a layer below", "frozen", "layers behind one another"])
def test_the_live_model_is_the_same(tmp_path, made_by_python, name):
    folder = project(tmp_path, CARRIED[name])
    graph = modgraph.analyze(f"{folder}/net.py:Net")
    assert graph.traced
    assert all(node.predicted and node.observed for node in graph.modules)
    assert described(graph) == made_by_python(folder)


@pytest.mark.parametrize("name", NOT_CARRIED)
def test_what_cannot_be_done_again_is_no_argument(tmp_path, name):
    folder = project(tmp_path, NOT_CARRIED[name])
    assert candidates(parse_target(f"{folder}/net.py:Net"), assume=False) == ()


SHARED = {
    "a layer of the other": "part = Part()\nnet = Net(part, part.fc)",
    "layers of the other": "part = Part()\nnet = Net(part, nn.Sequential(part.first, part.fc))",
    "the other's layer": "part = Part()\nother = Part()\nother.fc = part.fc\nnet = Net(part, other)",
    "the other's weight": "part = Part()\nother = Part()\nother.fc.weight = part.fc.weight\nnet = Net(part, other)",
    "in a list": "part = Part()\nnet = Net(part, [part.fc])",
}


@pytest.mark.parametrize("name", SHARED)
def test_what_two_arguments_share_is_not_made_twice(tmp_path, run_code, name):
    """Python has fewer parameters than two of each; the second argument is said to be unknown."""
    folder = project(tmp_path, SHARED[name])
    code = (
        "from train import net; from torch import nn; other = nn.ModuleList(net.other) if isinstance(net.other, list) else "
        "net.other; print(len({*net.part.parameters()} & {*other.parameters()}))"
    )
    done = run_code(code, cwd=folder, capture_output=True, text=True, timeout=120)
    assert int(done.stdout) > 0, done.stderr
    for candidate in candidates(parse_target(f"{folder}/net.py:Net"), assume=False):
        assert not isinstance(candidate.arguments.get("other"), Built | list)


def test_it_travels():
    built = Built("net.Part", keywords=(("width", 4),), later=(("fc", Built("torch.nn.Identity")), ("n", (1, 2))))
    assert decode(encode(built)) == built
    assert repr(built) == "Part(width=4, fc=Identity(), n=(1, 2))"


NUMBERS = {
    "a row of numpy": 'np.fromstring("4-3-2", dtype=int, sep="-")',
    "rows of numpy": "np.array([[4, 3], [2, 1]], dtype=np.float32)",
    "a tensor": "torch.tensor([[1, 2], [3, 4]])",
    "numbers of single precision": "torch.tensor([0.1, 0.5])",
    "a view": "torch.arange(6)[2:4]",
    "written to": "t = torch.zeros(3)\nt[1] = 2\nsizes = t",
}
SIZES = """
    from torch import nn

    class Net(nn.Module):
        def __init__(self, sizes):
            super().__init__()
            self.sizes = sizes
            self.layers = nn.Linear(int(sizes.sum()), int(sizes.max()))

        def forward(self, x):
            return self.layers(x)
    """


@pytest.mark.parametrize("name", NUMBERS)
def test_arrays_of_known_numbers_travel(tmp_path, run_code, name):
    """The live one is held against that of the project itself."""
    *before, last = NUMBERS[name].split("\n")
    last = last if before else f"sizes = {last}"
    body = "\n".join(["import numpy as np", "import torch", "from net import Net", *before, last, "net = Net(sizes)"])
    folder = projects.write(tmp_path, {"net.py": SIZES, "train.py": body + "\n"})
    (candidate,) = candidates(parse_target(f"{folder}/net.py:Net"), assume=False)
    (given,) = candidate.arguments.values()
    code = (
        "import sys; from train import net; from modgraph.source.wire import decode; import json\n"
        "from modgraph.tracing.loading.target_arguments import resolve\n"
        "made = resolve(decode(json.loads(sys.argv[1])))\n"
        "assert type(made) is type(net.sizes) and made.dtype == net.sizes.dtype and made.shape == net.sizes.shape\n"
        "assert made.tolist() == net.sizes.tolist()\n"
    )
    done = run_code(code, json.dumps(encode(given)), cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    graph = modgraph.analyze(f"{folder}/net.py:Net")
    assert graph.traced
    assert all(node.predicted and node.observed for node in graph.modules)
