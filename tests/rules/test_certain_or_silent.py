"""What certainly is so is reported, and what only may be so is not: classes of neighbours, one small file for each.

A line that ends in `# <-- MG101` is one with such a finding; no other has one.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from modgraph.rules.check import check_text
from modgraph.rules.names import Project
from modgraph.rules.registry import selected

_EXPECTED = re.compile(r"# <-- (MG\d+)$")


def compared(text: str, folder: Path, *codes: str) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """What is found and what should be, as (line, code)."""
    found = check_text(text, "net.py", str(folder / "net.py"), selected(codes), Project())
    marks = ((number, _EXPECTED.search(line)) for number, line in enumerate(text.splitlines(), 1))
    return [(each.line, each.code) for each in found], [(number, mark[1]) for number, mark in marks if mark]


def built(text: str) -> torch.nn.Module:
    """The class of a text, as torch makes it."""
    names: dict[str, Any] = {"__name__": "net"}
    exec(text, names)
    return names["Net"]()  # type: ignore[no-any-return]


# ---- MG105: a number of times, or a question -------------------------------------------------------------------------

TIMES = [
    ("batch_norm=True", "batch_norm", False),
    ("use: bool", "use", False),
    ("kind", 'kind == "bn"', False),
    ("kind", "(not kind)", False),
    ("kind", "bool(kind)", False),
    ("kind", "int(kind > 1)", False),
    ("kind", "isinstance(kind, int)", False),
    ("kind, use=False", "(kind and use)", False),
    ("kind", "(1 if kind else 0)", False),
    ("norm", "norm", False),
    ("use_layers", "use_layers", False),
    ("layer_norm", "layer_norm", False),
    ("cfg", "cfg.norm", False),
    ("kind", "1", False),
    ("depth", "depth", True),
    ("times=2", "times", True),
    ("repeated: int", "repeated", True),
    ("cfg", "cfg.num_layers", True),
    ("cfg", "cfg['depth']", True),
    ("sizes", "len(sizes)", True),
    ("kind", "(kind - 1)", True),
    ("num_blocks", "(num_blocks or 3)", True),
]


@pytest.mark.parametrize(("parameters", "times", "is_count"), TIMES)
def test_a_module_is_repeated_by_a_number_and_taken_or_left_by_a_question(
    parameters: str, times: str, is_count: bool, tmp_path: Path
) -> None:
    mark = "  # <-- MG105" if is_count else ""
    text = f"""\
from torch import nn

class Net(nn.Module):
    def __init__(self, {parameters}):
        super().__init__()
        layers = [nn.Linear(8, 8)]
        layers += {times} * [nn.BatchNorm1d(8)]{mark}
        self.kept = {times}
        layers += [nn.BatchNorm1d(8)] * self.kept{mark}
        self.body = nn.Sequential(*layers)
"""
    found, expected = compared(text, tmp_path, "MG105")
    assert found == expected


SHARING = [
    ("share_weights", "body", False),
    ("self.cfg.shared_parameters", "body", False),
    ("not individual", "body", False),
    ("mode == 'tied'", "body", False),
    ("independent", "orelse", False),
    ("kind == 2", "body", False),  # otherwise there is one for each place
    ("kind == 2", "alone", True),
]


@pytest.mark.parametrize(("test", "place", "is_found"), SHARING)
def test_sharing_by_an_option_is_what_was_wanted(test: str, place: str, is_found: bool, tmp_path: Path) -> None:
    shared = f"self.layers = nn.ModuleList([nn.Linear(8, 8)] * depth){'  # <-- MG105' if is_found else ''}"
    apart = "self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(depth)])"
    first, second = {"body": (shared, apart), "orelse": (apart, shared), "alone": (shared, "pass")}[place]
    text = f"""\
from torch import nn

class Net(nn.Module):
    def __init__(self, depth, cfg, kind, mode, share_weights=False, individual=True, independent=True):
        super().__init__()
        self.cfg = cfg
        if {test}:
            {first}
        else:
            {second}
"""
    found, expected = compared(text, tmp_path, "MG105")
    assert found == expected


NAMES = [("act", False), ("act_fn", False), ("activation2", False), ("Nonlinearity", False)]
NAMES += [("factor", True), ("block", True), ("norm", True), ("contract", True)]


@pytest.mark.parametrize(("name", "is_found"), NAMES)
def test_an_activation_that_is_made_before_is_one_for_all_layers(name: str, is_found: bool, tmp_path: Path) -> None:
    mark = "  # <-- MG105" if is_found else ""
    text = f"""\
from torch import nn

class Net(nn.Module):
    def __init__(self, depth):
        super().__init__()
        {name} = nn.PReLU(8)
        self.body = nn.Sequential({name})
        for _ in range(depth):
            self.body.append(nn.Linear(8, 8))
            self.body.append({name}){mark}
        self.rest = nn.Sequential(*[{name}] * depth){mark}
        self.pairs = nn.Sequential(*[{name}, nn.Linear(8, 8)] * depth)  # <-- MG105
        self.fresh = nn.Sequential(*[nn.PReLU(8)] * depth)  # <-- MG105
"""
    found, expected = compared(text, tmp_path, "MG105")
    assert found == expected


# ---- MG101: registered through what came in as an argument -----------------------------------------------------------

ATTACHED = [
    ("given.blocks[0].qkv = layer", True),
    ("given.blocks[0] = layer", True),
    ("given.blocks[0].qkv = Wrapped(given.blocks[0].qkv, layer)", True),
    ("setattr(given, 'extra', layer)", True),
    ("given.add_module('extra', layer)", True),
    ("given.blocks.append(layer)", True),
    ("inner = given.blocks[0]; inner.extra = layer", True),
    ("print(layer)", False),
    ("given.width = 8", False),
    ("given.extra = nn.Linear(8, 8)", False),
]


@pytest.mark.parametrize(("statement", "is_attached"), ATTACHED)
@pytest.mark.parametrize("kept", [True, False])
def test_an_element_that_may_be_reached_through_an_argument_is_not_certainly_hidden(
    statement: str, is_attached: bool, kept: bool, tmp_path: Path
) -> None:
    # What a call adds is left alone even if the argument is not kept: who keeps the module then is not known.
    silent = is_attached and (kept or (statement.endswith("layer)") and "Wrapped" not in statement))
    text = f"""\
from torch import nn

class Wrapped(nn.Module):
    def __init__(self, qkv, extra):
        super().__init__()
        self.qkv, self.extra = qkv, extra

class Net(nn.Module):
    def __init__(self, given):
        super().__init__()
        self.layers = []{"" if silent else "  # <-- MG101"}
        for _ in range(2):
            layer = nn.Linear(8, 8)
            self.layers.append(layer)
            {statement}
        {"self.given = given" if kept else "pass"}
"""
    found, expected = compared(text, tmp_path, "MG101")
    assert found == expected


# ---- MG101: whether anything is lost ---------------------------------------------------------------------------------

BODIES = [
    ("self.width = given", False),
    ("self.given = given.make()", False),  # it may be a module, and may have none
    ("self.layer = given", False),
    ("self.act = nn.ReLU()", False),
    ("self.norm = nn.LayerNorm(8, elementwise_affine=given)", False),
    ("self.given, self.fc = given.make(), nn.Linear(8, 8)", True),
    ("self.rnn = nn.LSTM(8, 8, given)", True),
    ("self.drop = nn.Dropout(given)", True),
    ("self.register_buffer('table', given.make())", False),
    ("self.register_buffer('table', torch.ones(3))", True),
    ("self.scale = nn.Parameter(torch.ones(given))", True),
]


@pytest.mark.parametrize(("body", "is_lost"), BODIES)
def test_modules_of_which_nothing_is_certainly_lost_are_not_reported(body: str, is_lost: bool, tmp_path: Path) -> None:
    text = f"""\
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, given):
        super().__init__()
        {body}

class Net(nn.Module):
    def __init__(self, given):
        super().__init__()
        self.blocks = [Block(given), Block(given)]{"  # <-- MG101" if is_lost else ""}
"""
    found, expected = compared(text, tmp_path, "MG101")
    assert found == expected


# ---- names that a script sets ----------------------------------------------------------------------------------------

SETTING = [
    ("", 'if __name__ == "__main__":\n    device = "cuda"', True),
    ("", "if '__main__' == __name__ and True:\n    for device in ['cuda']:\n        pass", True),
    ("", 'if __name__ == "__main__":\n    with open("a") as device:\n        pass', True),
    ("", 'def main():\n    global device\n    device = "cuda"', True),
    ("", 'if __name__ == "__main__":\n    def device():\n        pass', True),
    ("", 'if __name__ == "__main__":\n    def main():\n        device = "cuda"', False),
    ("", "", False),
    ('device = "cpu"', "", True),
]


@pytest.mark.parametrize(("before", "after", "is_set"), SETTING)
def test_a_name_that_only_a_script_sets_silences_nothing(before: str, after: str, is_set: bool, tmp_path: Path) -> None:
    mark = "  # <-- MG101" if is_set else ""
    text = f"""\
from torch import nn
{before}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = [nn.Linear(8, 8).to(device)]{mark}
        self.second = [nn.Linear(8, 8) for _ in range(3)]{mark}

{after}
"""
    found, expected = compared(text, tmp_path, "MG101")
    assert found == expected


def test_of_two_ways_neither_number_is_told(tmp_path: Path) -> None:
    text = """\
from torch import nn

class Net(nn.Module):
    def __init__(self, given):
        super().__init__()
        if given.large:
            self.layers = [nn.Linear(8, 8) for _ in range(3)]
        else:
            self.layers = [nn.Linear(8, 8) for _ in range(2)]
"""
    (found,) = check_text(text, "net.py", str(tmp_path / "net.py"), selected(["MG101"]), Project())
    assert found.message.startswith("modules (Linear) in a plain list")


# ---- MG101, MG102: containers of every kind and spelling -------------------------------------------------------------

CONTAINERS = [
    ("tuple({0} for _ in range(n))", True),
    ("tuple([{0} for _ in range(n)])", True),
    ("tuple(map(lambda _: {0}, range(n)))", True),
    ("list({0} for _ in range(n))", True),
    ("set({0} for _ in range(n))", True),
    ("frozenset({0} for _ in range(n))", True),
    ("deque({0} for _ in range(n))", True),
    ("dict((str(i), {0}) for i in range(n))", True),
    ("dict(zip(range(n), [{0} for i in range(n)]))", True),
    ("sorted([{0} for _ in range(n)], key=id)", True),
    ("[{0} for _ in range(n)][1:]", True),
    ("[{0} for _ in range(n)].copy()", True),
    ("copy.copy([{0} for _ in range(n)])", True),
    ("[*({0} for _ in range(n))]", True),
    ("Pair({0}, {0})", True),
    ("Typed(first={0}, second=None)", True),
    ("self._made(n)", True),
    ("tuple(range(n))", False),
    ("tuple(n)", False),
    ("nn.{1}(tuple({0} for _ in range(n)))", False),
    ("[{0} for _ in range(2)][0]", False),
]


@pytest.mark.parametrize(("written", "is_plain"), CONTAINERS)
@pytest.mark.parametrize(("code", "made"), [("MG101", "nn.Linear(8, 8)"), ("MG102", "nn.Parameter(torch.ones(3))")])
@pytest.mark.parametrize("stored", ["self.kept = {}", "setattr(self, 'kept', {})", "kept = {}; self.kept = kept"])
def test_a_container_of_whatever_kind_and_length_is_seen(
    written: str, is_plain: bool, code: str, made: str, stored: str, tmp_path: Path
) -> None:
    value = written.format(made, "ModuleList" if code == "MG101" else "ParameterList")
    text = f"""\
import copy
from collections import deque, namedtuple
from typing import NamedTuple
import torch
from torch import nn

Pair = namedtuple("Pair", ["first", "second"])

class Typed(NamedTuple):
    first: object
    second: object

class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        {stored.format(value)}{f"  # <-- {code}" if is_plain else ""}

    def _made(self, n):
        made = tuple({made} for _ in range(n))
        return made
"""
    found, expected = compared(text, tmp_path, "MG101", "MG102")
    assert found == expected


REGISTERED_LATER = [
    "self.body = nn.Sequential(*self.kept)",
    "self.body = nn.ModuleList(self.kept)",
    "for i, each in enumerate(self.kept): self.add_module(str(i), each)",
    "self.kept = nn.ModuleList(self.kept)",
]


@pytest.mark.parametrize("later", REGISTERED_LATER)
@pytest.mark.parametrize("kept", ["tuple(nn.Linear(8, 8) for _ in range(n))", "sorted([nn.Linear(8, 8)] * n, key=id)"])
def test_what_is_registered_in_another_way_is_not_reported(later: str, kept: str, tmp_path: Path) -> None:
    text = f"""\
from torch import nn

class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.kept = {kept}
        {later}
"""
    found, expected = compared(text, tmp_path, "MG101")
    assert found == expected


@pytest.mark.parametrize("how", ["torch.jit.ScriptModule", "jit.ScriptModule", "ScriptModule"])
def test_a_script_module_keeps_its_modules_as_any_other(how: str, tmp_path: Path) -> None:
    text = f"""\
import torch
import torch.jit as jit
from torch import nn
from torch.jit import ScriptModule

class Net({how}):
    def __init__(self, n):
        super().__init__()
        self.seen = nn.ModuleList([nn.Linear(8, 8) for _ in range(n)])
        self.hidden = [nn.Linear(8, 8) for _ in range(n)]  # <-- MG101
"""
    found, expected = compared(text, tmp_path, "MG101")
    assert found == expected


# ---- MG103: what gives a plain tensor, torch is asked ----------------------------------------------------------------

OPERATIONS = [
    *("F.normalize({})", "torch.stack([{}, {}])", "torch.cat(({}, {}))", "torch.sigmoid({})", "F.softplus({})"),
    *("torch.mul({}, 0.1)", "F.pad({}, (1, 1))", "torch.einsum('ij->ji', {})", "torch.stack([{} for _ in range(2)])"),
    *("{}.mean()", "{}.pow(2)", "{}.t()", "{}.view(-1)", "{}.clone()", "-{}", "{} * 0.1", "{}[0]", "{}.T"),
    *("{}.contiguous()", "{}.flatten()", "{}.float()", "{}.cpu()", "{}.to('cpu')", "{}.requires_grad_()", "{}"),
    *("nn.init.xavier_uniform_({})", "nn.init.xavier_uniform_({}).mean()", "F.dropout({}, training=False)"),
    *("torch.flatten({})", "torch.as_tensor({})", "copy.deepcopy({})", "torch.clone({}).requires_grad_()"),
]


@pytest.mark.needs_torch
@pytest.mark.parametrize("shape", ["(3, 3)", "(9,)"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_is_said_to_be_no_parameter_is_none_for_torch(operation: str, shape: str, tmp_path: Path) -> None:
    made = f"nn.Parameter(torch.ones{shape if shape != '(9,)' else '(9)'})"
    text = f"""\
import copy
import torch
import torch.nn.functional as F
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = {operation.replace("{}", made)}
"""
    namespace: dict[str, object] = {"__name__": "net"}
    exec(compile(text, "net.py", "exec"), namespace)
    found, _ = compared(text, tmp_path, "MG103")
    try:
        is_registered = "kept" in dict(namespace["Net"]().named_parameters())  # type: ignore[operator]
    except (RuntimeError, IndexError, ValueError):  # not of a tensor of so many dimensions
        return
    assert not (found and is_registered)
    assert found or is_registered or any(each in operation for each in ("nn.init", "F.dropout", "flatten"))


# ---- MG108: what torch says of it ------------------------------------------------------------------------------------

BEGINNINGS = [
    ("super(nn.Module, self).__init__()", True),
    ("super(Net).__init__()", True),
    ("super(Other, self).__init__()", True),
    ("super(Nowhere, self).__init__()", True),
    ("super(Net, self)._init_()", True),
    ("super().__int__()", True),
    ("super()", True),
    ("super().__init__", True),
    ("pass", True),
    ("super(Net, self).__init__()", False),
    ("super(Base, self).__init__()", False),
    ("super().__init__()", False),
    ("nn.Module.__init__(self)", False),
]


@pytest.mark.needs_torch
@pytest.mark.parametrize(("beginning", "is_wrong"), BEGINNINGS)
@pytest.mark.parametrize("rest", ["self.layer = nn.Linear(8, 8)", "self.layer = abs"])
@pytest.mark.parametrize("base", ["nn.Module", "Base"])
def test_a_constructor_that_sets_nothing_up_is_found(
    beginning: str, is_wrong: bool, rest: str, base: str, tmp_path: Path
) -> None:
    import torch

    text = f"""\
from torch import nn

class Base(nn.Module):
    pass

class Other(nn.Module):
    pass

class Net({base}):
    def __init__(self):
        {beginning}
        {rest}

    def forward(self, x):
        return self.layer(x)
"""
    namespace: dict[str, object] = {"__name__": "net"}
    exec(compile(text, "net.py", "exec"), namespace)
    found, _ = compared(text, tmp_path, "MG108")
    try:
        namespace["Net"]()(torch.ones(2, 8))  # type: ignore[operator]
    except (AttributeError, TypeError, NameError):
        assert is_wrong or (base == "nn.Module" and "Base" in beginning)
        # Whether another base needs no call of its own, is not asked where nothing is registered.
        assert len(found) == 1 or (base == "Base" and ("abs" in rest or "._" in beginning))
    else:
        assert not is_wrong
        assert found == []


# ---- MG104: kept on the module, and made in each call ----------------------------------------------------------------

KEPT = [
    ("self.norm = nn.LayerNorm(8)", "return self.norm(x)", True),
    ("self.norm = nn.LayerNorm(8).to(x.device)", "return self.norm(x) + self.norm(x)", True),
    ("if self.norm is None: self.norm = nn.LayerNorm(8)", "return self.norm(x)", False),
    ("if x is None: return x", "self.norm = nn.LayerNorm(8); return self.norm(x)", False),
    ("self.norm = nn.LayerNorm(8)", "self.norm.weight = self.weight; return self.norm(x)", False),
    ("self.norm = nn.LayerNorm(8)", "return x", False),
    ("self.norm = nn.ReLU()", "return self.norm(x)", False),
]


@pytest.mark.parametrize(("first", "second", "is_found"), KEPT)
def test_a_layer_that_forward_stores_anew_is_made_in_each_call(
    first: str, second: str, is_found: bool, tmp_path: Path
) -> None:
    text = f"""\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = None

    def forward(self, x):
        {first}{"  # <-- MG104" if is_found else ""}
        {second}
"""
    found, expected = compared(text, tmp_path, "MG104")
    assert found == expected


ARMS = [
    ("nn.MaxPool1d(2)", "nn.Conv1d(3, 3, 3)", "pool(x)", True),
    ("nn.BatchNorm1d(3)", "nn.Conv1d(3, 3, 3)", "pool(x)", True),
    ("nn.MaxPool1d(2)", "nn.AvgPool1d(2)", "pool(x)", False),
    ("self.pool", "nn.Conv1d(3, 3, 3)", "pool(x)", False),
    ("nn.MaxPool1d(2)", "nn.Conv1d(3, 3, 3)", "self.put(pool)(x)", False),  # weights may be put into it
]


@pytest.mark.parametrize(("first", "second", "use", "is_found"), ARMS)
def test_a_layer_of_one_arm_is_made_in_each_call(
    first: str, second: str, use: str, is_found: bool, tmp_path: Path
) -> None:
    learns = ("Conv1d", "BatchNorm1d")
    marks = ["  # <-- MG104" if is_found and any(word in made for word in learns) else "" for made in (first, second)]
    text = f"""\
from torch import nn

class Net(nn.Module):
    def forward(self, x, kind):
        return self.__reduced(x, kind)

    def __reduced(self, x, kind):
        if kind == 1:
            pool = {first}{marks[0]}
        elif kind == 2:
            pool = {second}{marks[1]}
        else:
            return x
        return {use}
"""
    found, expected = compared(text, tmp_path, "MG104")
    assert found == expected


AGAIN = [
    ("nn.Parameter(torch.ones(3))", "self.scale = nn.Parameter(self.scale.softmax(0))", True),
    ("nn.Parameter(torch.ones(3))", "self.scale = nn.Parameter(data=self.scale * 0.9)", True),
    ("nn.Parameter(torch.ones(3))", "self.scale.data = self.scale.softmax(0)", False),
    ("nn.Parameter(torch.ones(3))", "scale = nn.Parameter(self.scale.softmax(0))", False),
    ("nn.Parameter(torch.ones(3), False)", "self.scale = nn.Parameter(self.scale + 1, False)", False),
    ("nn.Parameter(torch.ones(3))", "self.scale = nn.Parameter(self.scale + 1, requires_grad=False)", False),
    ("None", "self.scale = nn.Parameter(torch.ones(3))", False),  # of the first call: MG207
]


@pytest.mark.parametrize(("made", "again", "is_found"), AGAIN)
def test_a_parameter_that_forward_makes_again_is_not_trained(
    made: str, again: str, is_found: bool, tmp_path: Path
) -> None:
    text = f"""\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = {made}

    def forward(self, x):
        {again}{"  # <-- MG104" if is_found else ""}
        return x * 2 if self.scale is None else x * self.scale
"""
    found, expected = compared(text, tmp_path, "MG104")
    assert found == expected
    if is_found:
        net = built(text)
        optimizer = torch.optim.SGD(net.parameters(), lr=1.0)
        net(torch.ones(3)).sum().backward()
        assert all(each.grad is None for each in optimizer.param_groups[0]["params"])


# ---- MG109: a plain container that is called -------------------------------------------------------------------------


def test_a_plain_container_is_not_called(tmp_path: Path) -> None:
    text = """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = nn.AvgPool2d(2),
        self.acts = {"a": nn.ReLU()}
        self.both = [nn.ReLU(), nn.ReLU()]
        self.taken = nn.ReLU(),
        self.taken = self.taken[0]
        self.loss = nn.ReLU(), print
        self.size = 2, 2

    def forward(self, x):
        for each in self.both:
            x = each(x)
        return self.taken(self.acts["a"](x))

    def first(self, x):
        return self.pool(x)  # <-- MG109

    def second(self, x):
        return self.acts(x)  # <-- MG109

    def third(self, x):
        return self.both(x)  # <-- MG109

    def fourth(self, x):
        return self.loss[0](x)
"""
    found, expected = compared(text, tmp_path, "MG109")
    assert found == expected
    net = built(text)
    for name in ("first", "second", "third"):
        with pytest.raises(TypeError, match="not callable"):
            getattr(net, name)(torch.ones(1, 1, 4, 4))
    net(torch.ones(1))
    net.fourth(torch.ones(1))


# ---- MG108: a constructor that is forgotten, of a base of the file ---------------------------------------------------

BASES = [
    ("def __init__(self): super().__init__()", "self.reader = Reader(args)", True),
    ("def __init__(self): nn.Module.__init__(self)", "self.reader = Reader(args)", True),
    ("def describe(self): return 1", "self.reader = Reader(args)", True),
    ("def start(self): nn.Module.__init__(self)", "self.start(); self.reader = Reader(args)", False),
    ("def __call__(self, x): return self.forward(x)", "self.reader = Reader(args)", False),
    ("def __new__(cls, *args): return super().__new__(cls)", "self.reader = Reader(args)", False),
    ("def __init__(self): super().__init__()", "super().__init__(); self.reader = Reader(args)", False),
    ("def __init__(self): super().__init__()", "start(self); self.reader = Reader(args)", False),
]


@pytest.mark.parametrize(("base", "constructor", "is_found"), BASES)
def test_a_constructor_that_is_forgotten_below_a_base_of_the_file(
    base: str, constructor: str, is_found: bool, tmp_path: Path
) -> None:
    text = f"""\
from torch import nn
from elsewhere import Reader, start

class Base(nn.Module):
    {base}

class Middle(Base):
    pass

class Net(Middle):
    def __init__(self, args):{"  # <-- MG108" if is_found else ""}
        {constructor}

    def forward(self, x):
        return self.reader(x)
"""
    found, expected = compared(text, tmp_path, "MG108")
    assert found == expected
    if is_found:
        names: dict[str, Any] = {"__name__": "net"}
        exec(text.replace("from elsewhere import Reader, start", "Reader = lambda _: abs"), names)
        with pytest.raises(AttributeError):
            names["Net"](1)(2)
