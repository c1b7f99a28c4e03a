"""MG301 to MG304 and the rest of a file: what other code of it mends runs in torch, and nothing is said; what leaves the
class alone takes no finding away."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

from modgraph.findings import Finding
from modgraph.rules.check import check_text
from modgraph.rules.names import Project
from modgraph.rules.registry import selected

RULES = selected(["MG301", "MG302", "MG303", "MG304"])
HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\n"
TWO = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 32)
        self.b = nn.Linear({size}, 10)

    def forward(self, x):
        return self.b(self.a(x))
"""
PAIR = TWO.format(size=64)
CHAIN = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 32), nn.Linear(64, 10))

    def forward(self, x):
        return self.net(x)
"""
NONE = PAIR.replace("nn.Linear(64, 10)", "None")
HEADLESS = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 32)

    def forward(self, x):
        return self.head(self.a(x))
"""
WIDTH = """
class Net(nn.Module):
    width = 64

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 32)
        self.b = self.make()

    def make(self):
        return nn.Linear(self.width, 10)

    def forward(self, x):
        return self.b(self.a(x))
"""
BLOCK = """
class Block(nn.Module):
    def forward(self, x):
        return x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 8)
        self.b = Block()

    def forward(self, x, mask=None):
        return self.b(self.a(x), mask)
"""


def on(model: str, body: str, parameter: str = "n") -> str:
    """A function that changes an instance, and one that builds such."""
    change = f"\n\ndef change({parameter}):\n{textwrap.indent(textwrap.dedent(body).strip(), '    ')}\n"
    return model + change + "\n\ndef build():\n    net = Net()\n    change(net)\n    return net\n"


def configured(before: str, size: str, change: str) -> str:
    body = textwrap.indent(textwrap.dedent(change).strip(), "    ")
    return f"{before}\n\n{TWO.format(size=size)}\n\ndef main():\n{body}\n"


FIX = "nn.Linear(32, 10)"
CONFIGURED = {
    "an attribute of a class": configured("class C:\n    w = 64", "C.w", "C.w = 32"),
    "a name": configured("W = 64", "W", "global W\nW = 32"),
    "an item": configured("C = {'w': 64}", "C['w']", "C['w'] = 32"),
    "an item of a list": configured("C = [64]", "C[0]", "C[0] = 32"),
    "an update": configured("C = {'w': 64}", "C['w']", "C.update(w=32)"),
    "an operator": configured("C = {'w': 64}", "C['w']", "global C\nC |= {'w': 32}"),
    "an alias": configured("C = {'w': 64}", "C['w']", "c = C\nc['w'] = 32"),
    "an inner one": configured("C = {'m': {'w': 64}}", "C['m']['w']", "for each in C.values():\n    each['w'] = 32"),
    "another function": configured(
        "def over(c, **new):\n    c.update(new)\n\nC = {'w': 64}", "C['w']", "over(C, w=32)"
    ),
    "setattr of a class": configured(
        "class C:\n    w = 64", "C.w", "for k, v in {'w': 32}.items():\n    setattr(C, k, v)"
    ),
    "the names of the file": configured("W = 64", "W", "globals()['W'] = 32"),
    "a method of the configuration": configured(
        "class Config:\n    def __init__(self):\n        self.w = 64\n\n    def load(self, **new):\n"
        "        for k, v in new.items():\n            setattr(self, k, v)\n\nC = Config()",
        "C.w",
        "C.load(w=32)",
    ),
    "a loop that binds": configured("W = 64", "W", "global W\nfor W in (16, 32):\n    pass"),
    "a default": WIDTH.replace("width = 64", "")
    .replace("__init__(self)", "__init__(self, w=64)", 1)
    .replace("self.b = self.make()", "self.b = nn.Linear(w, 10)")
    + "\n\ndef main():\n    Net.__init__.__defaults__ = (32,)\n",
    "a variable around a function": configured(
        "def holder():\n    w = [64]\n\n    def put(v):\n        w[0] = v\n\n    return (lambda: w[0]), put\n\n"
        "get, put = holder()",
        "get()",
        "put(32)",
    ),
    "a helper that reads": configured("W = 64\n\ndef width():\n    return W", "width()", "global W\nW = 32"),
    "a class": BLOCK + "\n\nclass Other(nn.Module):\n    def forward(self, x, mask):\n        return x\n"
    "\n\ndef main():\n    global Block\n    Block = Other\n",
    "the forward of a class": BLOCK + "\n\ndef main():\n    Block.forward = lambda self, x, mask: x\n",
}
INSTANCES = {
    "setattr": on(PAIR, f"setattr(n, 'b', {FIX})"),
    "setattr by a name": on(NONE, f"for name in ('b',):\n    setattr(n, name, {FIX})"),
    "object.__setattr__": on(NONE, "object.__setattr__(n, 'b', F.relu)"),
    "_modules": on(PAIR, f"n._modules['b'] = {FIX}"),
    "_modules.update": on(PAIR, f"n._modules.update(b={FIX})"),
    "vars": on(NONE, f"vars(n).update(b={FIX})"),
    "set_submodule": on(PAIR, f"n.set_submodule('b', {FIX})"),
    "an element": on(CHAIN, f"n.net[1] = {FIX}"),
    "insert": on(CHAIN, "n.net.insert(1, nn.Linear(32, 64))"),
    "pop": on(CHAIN, "n.net.pop(1)"),
    "del of an alias": on(CHAIN, "body = n.net\ndel body[1]"),
    "del of what is handed over": on(CHAIN + "\n\ndef cut(layers):\n    del layers[1]\n", "cut(n.net)"),
    "an attribute of another object": on(
        CHAIN + "\n\nclass Trainer:\n    def __init__(self, model):\n        self.model = model\n\n"
        "    def cut(self):\n        layers = next(self.model.children())\n        del layers[-1]\n",
        "Trainer(n).cut()",
    ),
    "over the children": on(
        CHAIN,
        f"""
        for name, child in n.named_children():
            if isinstance(child, nn.Linear) and child.in_features == 64:
                setattr(n, name, {FIX})
            else:
                change(child)
        """,
    ),
    "a weight": on(PAIR, "n.b.weight = nn.Parameter(torch.ones(10, 32))"),
    "the data of a weight": on(PAIR, "n.b.weight.data = n.b.weight.data[:, :32]"),
    "data over the parameters": on(PAIR, "for p in n.b.parameters():\n    p.data = p.data[..., :32]"),
    "a weight over the modules": on(
        CHAIN,
        """
        for m in n.modules():
            if isinstance(m, nn.Linear) and m.in_features == 64:
                m.weight = nn.Parameter(torch.ones(10, 32))
        """,
    ),
    "apply": on(
        CHAIN + "\n\ndef fit(m):\n    if isinstance(m, nn.Sequential):\n        m[1] = nn.Linear(32, 10)\n",
        "n.apply(fit)",
    ),
    "a lambda": on(CHAIN + "\n\ncut = lambda layers: layers.pop(1)\n", "cut(n.net)"),
    "a function that is handed over": on(
        CHAIN + "\n\ndef cut(layers):\n    layers.pop(1)\n", "import functools\nfunctools.partial(cut, n.net)()"
    ),
    "a hook": on(PAIR, "n.a.register_forward_hook(lambda m, i, o: torch.cat([o, o], 1))"),
    "forward": on(PAIR, "n.b.forward = lambda x: x"),
    "a method of its own": on(
        PAIR + "\n    def widen(self):\n        self.a.weight = nn.Parameter(torch.ones(64, 8))\n"
        "        self.a.bias = None\n",
        "n.widen()",
    ),
    "a method of a part": on(
        """
class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(64, 10)

    def reset(self):
        self.fc = nn.Linear(32, 10)

    def forward(self, x):
        return self.fc(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 32)
        self.b = Part()

    def forward(self, x):
        return self.b(self.a(x))
""",
        "n.b.reset()",
    ),
    "a flag": on(
        PAIR.replace("return self.b(self.a(x))", "return self.b(self.a(x)) if self.deep else x").replace(
            "super().__init__()", "super().__init__()\n        self.deep = True"
        ),
        "n.deep = False",
    ),
}
INSTANCES["one of a table of classes"] = (
    CHAIN + "\n\nKINDS = {'net': Net}\n\n\ndef build():\n    made = KINDS['net']()\n"
    "    first = next(made.children())\n    first.pop(1)\n    return made\n"
)
CLASSES = {
    "an attribute": WIDTH + "\n\nclass Sub(Net):\n    width = 32\n",
    "a method": WIDTH + "\n\nclass Sub(Net):\n    def make(self):\n        return nn.Linear(32, 10)\n",
    "by way of another": WIDTH + "\n\nclass Mid(Net):\n    pass\n\n\nclass Sub(Mid):\n    width = 32\n",
    "a mixin": WIDTH + "\n\nclass Mix:\n    width = 32\n\n\nclass Sub(Mix, Net):\n    pass\n",
    "a constructor": CHAIN
    + "\n\nclass Sub(Net):\n    def __init__(self):\n        super().__init__()\n        self.net[1] = nn.Linear(32, 10)\n",
    "a mixin that is joined later": HEADLESS
    + "\n\nclass Mix:\n    def head(self, x):\n        return x\n\n\nSub = type('Sub', (Mix, Net), {})\n",
}


def found_in(text: str, folder: Path) -> list[Finding]:
    return check_text(HEAD + text, "example.py", str(folder / "example.py"), RULES, Project())


def ran(text: str) -> dict[str, Any]:
    space: dict[str, Any] = {"__name__": "example"}
    exec(compile(HEAD + text, "example.py", "exec"), space)
    return space


def run(model: Any) -> None:
    import torch

    model(torch.ones(2, 8))


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", CONFIGURED)
def test_what_the_constructor_reads_may_be_set_by_other_code(name: str, tmp_path: Path) -> None:
    space = ran(CONFIGURED[name])
    with pytest.raises((RuntimeError, TypeError)):
        run(space["Net"]())
    space["main"]()
    run(space["Net"]())
    assert found_in(CONFIGURED[name], tmp_path) == []


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", INSTANCES)
def test_an_instance_may_be_changed_by_other_code(name: str, tmp_path: Path) -> None:
    space = ran(INSTANCES[name])
    with pytest.raises((RuntimeError, TypeError)):
        run(space["Net"]())
    run(space["build"]())
    assert found_in(INSTANCES[name], tmp_path) == []


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", CLASSES)
def test_a_class_made_of_it_may_have_what_fits(name: str, tmp_path: Path) -> None:
    space = ran(CLASSES[name])
    with pytest.raises((RuntimeError, AttributeError)):
        run(space["Net"]())
    run(space["Sub"]())
    assert found_in(CLASSES[name], tmp_path) == []


HARMLESS = {
    "training": """
        class History:
            def __init__(self):
                self.rows, self.best = [], None

            def add(self, row):
                self.rows.append(row)
                self.best = row

        def train(model, loader, epochs=3):
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            losses, history, seen = [], History(), {}
            for epoch in range(epochs):
                for x, y in loader:
                    loss = F.cross_entropy(model(x), y)
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    losses.append(loss.item())
                    seen[epoch] = loss
                optimizer.param_groups[0]["lr"] *= 0.5
                history.add(sum(losses))
            torch.save(model.state_dict(), "net.pt")
            return losses

        def main():
            torch.backends.cudnn.benchmark = True
            model = Net().to("cpu")
            state = torch.load("net.pt")
            state["a.weight"] = state.pop("weight")
            model.load_state_dict(state)
            model.train()
            for p in model.parameters():
                p.requires_grad = False
            train(model, [])

        if __name__ == "__main__":
            main()
        """,
    "another class": """
        class Other(nn.Module):
            def __init__(self, depth):
                super().__init__()
                self.b = nn.Sequential()
                self.net = nn.ModuleList()
                for n in range(depth):
                    self.net.append(nn.Linear(8, 8))
                    self.b.add_module(f"l{n}", nn.Linear(8, 8))

            def forward(self, x):
                self.last = x
                return self.b(x)
        """,
    "layers named as tools are": """
        class Patches(nn.Module):
            def __init__(self):
                super().__init__()
                self.patch = nn.Conv2d(3, 8, 4, 4)
                self.mock = nn.ModuleDict({"patch": nn.Linear(8, 8)})

            def forward(self, x):
                return self.mock.patch(self.patch(x).flatten(2).mT)
        """,
    "an own configuration": """
        OPTIONS = {"lr": 0.1}

        def main():
            global STEP
            STEP = 1
            OPTIONS["lr"] = 0.2
            OPTIONS.update(decay=0)
        """,
    "a class made of it that adds": """
        class Sub(Net):
            def loss(self, x, y):
                return F.mse_loss(self(x), y)
        """,
}


@pytest.mark.parametrize("name", HARMLESS)
@pytest.mark.parametrize("model", [PAIR, CHAIN, WIDTH], ids=["pair", "chain", "width"])
def test_code_that_leaves_the_class_alone_takes_no_finding_away(model: str, name: str, tmp_path: Path) -> None:
    alone = found_in(model, tmp_path)
    assert len(alone) == 1
    both = found_in(model + "\n\n" + textwrap.dedent(HARMLESS[name]), tmp_path)
    assert [(each.code, each.line) for each in both] == [(each.code, each.line) for each in alone]
