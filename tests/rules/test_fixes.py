"""Which fixes are offered: after each of them real torch runs the code to the same result, and none is offered that
would break it."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from modgraph.rules import torch_containers
from modgraph.rules.one_file import Checker
from modgraph.rules.options import CheckOptions
from modgraph.rules.outcomes import Outcome
from modgraph.rules.paths import check_paths

HEAD = """\
import copy, json, random
import torch
from typing import List, Sequence
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
"""
BLOCK = """\
class Block(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner, self.last = inner, nn.Linear(2, 2)


"""
LINEARS = "self.xs = [nn.Linear(2, 2), nn.Linear(2, 2)]"
PARAMETERS = "self.xs = [nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))]"
HEADS = "self.xs = {'a': nn.Linear(2, 2), 'b': nn.Linear(2, 2)}"


def source(init: str, forward: str, rest: str = "", top: str = "") -> str:
    """A class whose constructor and `forward` are these; `rest` stands in the class, `top` behind it."""
    lines = [HEAD.rstrip("\n"), *(f"        {line}" for line in init.splitlines()), ""]
    lines += ["    def forward(self, x):", *(f"        {line}" for line in forward.splitlines())]
    lines += [f"    {line}" for line in rest.splitlines()]
    return "\n".join([*lines, "", "", top, ""])


def checked(code: str, **options: Any) -> Outcome:
    found = Checker(CheckOptions(extend_select=("MG203",), isolated=True, write=False, cache=None, **options))
    return found.check_text(code, "net.py", "/nowhere/net.py")


def result(code: str) -> Any:
    """What the last class of the code gives, and how many parameters it has."""
    import torch

    namespace: dict[str, Any] = {"__name__": "net"}
    exec(compile(code, "net.py", "exec"), namespace)
    torch.default_generator.manual_seed(0)
    net = namespace.get("Last", namespace["Net"])()
    namespace["random"].seed(0)
    given = net(torch.ones(2))
    return given, len(list(net.parameters())), len(net.state_dict()), len(list(net.buffers()))


LOOP = "for each in self.xs:\n    x = each(x)\nreturn x"
MENDED = {
    "iterated": source(LINEARS, LOOP),
    "indexed": source(LINEARS, "return self.xs[-1](x) * len(self.xs)"),
    "tested": source(LINEARS, "return self.xs[0](x) if self.xs and x is not None else x"),
    "enumerated": source(LINEARS, "return sum(each(x) * i for i, each in enumerate(self.xs))"),
    "reached by zip, map, *": source(LINEARS, "a, b = [*self.xs]\nreturn sum(f(x) for f, _ in zip(self.xs, [1, 2]))"),
    "unpacked": source(LINEARS, "first, *rest = self.xs\nfirst, second = self.xs\nreturn second(first(x))"),
    "in": source(LINEARS, "return x if self.xs[0] in self.xs else -x"),
    "filled": source("self.xs = []\nself.xs.append(nn.Linear(2, 2))\nself.xs += [nn.Linear(2, 2)]", LOOP),
    "tuple": source("self.xs = nn.Linear(2, 2), nn.Linear(2, 2)", LOOP),
    "empty tuple": source("self.xs = ()\nself.xs += (nn.Linear(2, 2),)", LOOP),
    "popped by place": source(LINEARS, "return self.xs.pop(0)(x)"),
    "dict": source(HEADS, "return sum(each(x) for each in self.xs.values()) + self.xs['a'](x)"),
    "dict items": source(HEADS, "return sum(each(x) for key, each in self.xs.items() if key in self.xs)"),
    "dict popped": source(HEADS, "return self.xs.pop('a')(x)"),
    "stacked": source(PARAMETERS, "return torch.stack(self.xs).sum(0) * x + torch.cat(tensors=self.xs).sum()"),
    "tuple stacked": source(PARAMETERS.replace("[", "(").replace("]", ")"), "return torch.stack(self.xs).sum(0)"),
    "sampled": source(LINEARS, "return random.sample(self.xs, 2)[0](x)"),
    "parameter dict": source(
        "self.xs = {'a': nn.Parameter(torch.ones(2))}", "return x * self.xs.get('a') + sum(self.xs.values())"
    ),
    "annotated": source("self.xs: List[nn.Module] = [nn.Linear(2, 2)]", LOOP),
    "two at once": source("self.xs, self.n = [nn.Linear(2, 2)], nn.Linear(2, 2)", LOOP),
    "another class has the name": source(
        LINEARS, LOOP, top="class Other(nn.Module):\n    def get(self):\n        return self.xs + [1]"
    ),
    "cast": source("self.w = nn.Parameter(torch.ones(2)).double()", "return self.w * x"),
    "cast to a type": source("self.w = nn.Parameter(torch.ones(2)).to(dtype=torch.float64)", "return self.w * x"),
    "repeated": source("self.xs = nn.ModuleList([nn.Linear(2, 2)] * 2)", "return x"),
    "repeated in a list": source("self.xs = [nn.Linear(2, 2)] * 2", "return x"),
    "repeated with _": source("self.xs = nn.Sequential(*[nn.Linear(_, _) for _ in (2,)])\n_ = 2\n"
                              "self.ys = nn.Sequential(*[nn.Linear(_, _)] * 3)", "return x"),
    "buffer": source("self.m = (\n    torch.ones(2)  # as usual\n)", "return x * self.m"),
}  # fmt: skip
LEFT = {
    "concatenated": source(LINEARS, "for each in self.xs + []:\n    x = each(x)\nreturn x"),
    "added to": source(LINEARS, "for each in [] + self.xs:\n    x = each(x)\nreturn x"),
    "sliced": source(LINEARS, "self.xs[:1] = []\nreturn x"),
    "compared": source(LINEARS, "return x if self.xs == [] else -x"),
    "popped": source(LINEARS, "return self.xs.pop()(x)"),
    "popped in the constructor": source(f"{LINEARS}\nself.last = self.xs.pop()", LOOP),
    "removed": source(LINEARS, "self.xs.remove(self.xs[0])\nreturn x"),
    "reversed": source(LINEARS, "self.xs.reverse()\nreturn x"),
    "typed": source(LINEARS, "return x if isinstance(self.xs, list) else -x"),
    "serialised": source(LINEARS, "return x if json.dumps(self.xs, default=str).startswith('[') else None"),
    "copied": source(LINEARS, "ys = copy.copy(self.xs)\nys.clear()\nreturn self.xs[0](x)"),
    "given away": source(LINEARS, "ys = self.xs\nys.reverse()\nreturn ys[0](x)"),
    "rebound": source(LINEARS, LOOP, "\ndef cut(self):\n    self.xs = []\n"),
    "rebound outside": source(LINEARS, LOOP, top="def cut(net):\n    net.xs = []"),
    "used outside": source(LINEARS, LOOP, top="def cut(net):\n    net.xs.remove(net.xs[0])"),
    "rebound in a subclass": source(
        LINEARS, LOOP, top="class Last(Net):\n    def __init__(self):\n        super().__init__()\n"
        "        self.xs = [each for each in self.xs]"),
    "used by text": source(LINEARS, "return x if type(getattr(self, 'xs')) is list else -x"),
    "used by __dict__": source(LINEARS, "return self.__dict__['xs'][0](x)"),
    "children are run": source(LINEARS, "for each in self.children():\n    x = each(x)\nreturn x"),
    "in a Sequential": source(LINEARS, "return super().forward(x)").replace("Net(nn.Module)", "Net(nn.Sequential)"),
    "hidden by the class": source(LINEARS, "return self.xs[0](x)").replace("    def __init__", "    xs = None\n\n    def __init__", 1),
    "another name for it": source("ys = self.xs = []\nys.append(nn.Linear(2, 2))\nys.sort(key=id)", LOOP),
    "filled with what is unknown": source(LINEARS, "return x", "\ndef add(self, each):\n    self.xs.append(each)\n"),
    "method of a dict": source(HEADS, "return self.xs.get('a')(x)"),
    "view is counted": source("self.xs = {'a': nn.Parameter(torch.ones(2))}", "return x * len(self.xs.values())"),
    "name of a method": source("self.xs = {'get': nn.Parameter(torch.ones(2))}", "return x * self.xs['get']"),
    "modules and parameters": source("self.xs = [nn.Linear(2, 2), nn.Parameter(torch.ones(2))]", "return self.xs[0](x)"),
    "cast to integers": source("self.w = nn.Parameter(torch.ones(2)).to(torch.int32)", "return self.w * x"),
    "type of integers": source("self.w = nn.Parameter(torch.ones(2)).type(torch.LongTensor)", "return self.w * x"),
    "chunks": source("self.w = nn.Parameter(torch.ones(2)).chunk(2)", "return self.w[0] * x"),
    "changed in place": source("self.w = nn.Parameter(torch.ones(2)) * 2", "self.w += 1\nreturn self.w * x"),
    "tuple of tensors": source("self.m, self.s = torch.zeros(2), torch.ones(2)", "return (x - self.m) / self.s"),
    "tensor and module": source("self.m, self.l = torch.ones(2), nn.Linear(2, 2)", "return self.l(x) * self.m"),
    "default in the class": source("self.m = torch.ones(2)", "return x * self.m").replace(
        "    def __init__", "    m: torch.Tensor = None\n\n    def __init__", 1),
    "to be learnt": source("self.m = torch.ones(2, requires_grad=True)", "return x * self.m"),
    "several tensors": source("self.m = torch.meshgrid(torch.ones(2))", "return x * self.m[0]"),
    "repeated twice": source("self.xs = nn.ModuleList([nn.Linear(2, 2)] * 2 * 2)", LOOP),
    "repeated with an iterator": source(
        "sizes = iter((2, 2, 2))\nself.xs = nn.ModuleList([nn.Linear(next(sizes), 2)] * 2)\n"
        "self.y = nn.Linear(2, next(sizes))", LOOP),
    "repeated around a module": source(
        "inner = nn.Linear(2, 2)\nself.xs = nn.ModuleList([Block(inner)] * 2)", "return x").replace(
        "class Net", BLOCK + "class Net", 1),
}  # fmt: skip


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", MENDED)
def test_what_is_fixed_gives_the_same_and_is_registered(name: str):
    code = MENDED[name]
    outcome = checked(code, fix="unsafe")
    assert outcome.change is not None
    assert (outcome.findings, outcome.taken_back) == ([], 0)
    (before, *held), (after, *held_after) = result(code), result(outcome.change.after)
    assert (before == after).all()
    assert any(new > old for old, new in zip(held, held_after, strict=True))


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", LEFT)
def test_no_fix_is_offered_that_would_break_the_code(name: str):
    code = LEFT[name]
    if name != "in a Sequential":
        result(code)  # as it stands it runs
    found = checked(code).findings
    assert found
    assert not any(each.fix for each in found)


def test_what_is_offered_is_what_is_fixed():
    code = source("self.xs = [nn.Linear(2, 2)]\nself.ys = [nn.Linear(2, 2)]", "return self.xs + [self.ys[0]]")
    assert [(each.attribute, bool(each.fix)) for each in checked(code).findings] == [("xs", False), ("ys", True)]
    outcome = checked(code, fix="unsafe")
    assert outcome.change is not None
    assert [each.attribute for each in outcome.change.fixed] == ["ys"]
    assert [(each.attribute, each.fix) for each in outcome.findings] == [("xs", None)]


def test_annotations_stay_true():
    change = checked(MENDED["annotated"], fix="unsafe").change
    assert change is not None
    assert "self.xs: nn.ModuleList = nn.ModuleList([nn.Linear(2, 2)])" in change.after


def test_comments_stay():
    change = checked(MENDED["buffer"], fix="unsafe").change
    assert change is not None
    assert (
        'self.register_buffer("m", (\n            torch.ones(2)  # as usual\n        ), persistent=False)'
        in change.after
    )


def test_findings_of_a_class_that_is_given_up_on_are_not_fixed():
    """A fix that makes the constructor raise would take all findings with it."""
    from modgraph.rules.fixing import Holdings, fix, offered

    code = source(f"{LINEARS}\nself.ys = [nn.Linear(1, 1), nn.Linear(1, 1)]", LOOP)
    checker = Checker(CheckOptions(isolated=True, write=False, cache=None))
    found = checker.check_text(code, "net.py", "/nowhere/net.py").findings
    assert [bool(each.fix) for each in found] == [True, True]
    for found_after in ([], found[:1]):  # both are gone; the other one is there still, but the class raises

        def check(text: str, left: Any = found_after) -> Any:
            return found if text == code else left

        def look(text: str, class_name: str) -> Holdings:
            return Holdings(frozenset(), 0, failed=text != code)

        outcome = fix(code, check, unsafe=True, look=look)
        assert (outcome.text, outcome.taken_back) == (code, 2)
        assert all(each.fix is None for each in (*outcome.left, *offered(code, check, found, look).findings))


@pytest.mark.needs_torch
@pytest.mark.parametrize(("name", "plain"), [
    ("ModuleList", list), ("ModuleDict", dict), ("ParameterList", list), ("ParameterDict", dict)
])  # fmt: skip
def test_the_table_of_containers_is_that_of_torch(name: str, plain: type):
    from torch import nn

    own = {key: each for key, each in vars(getattr(nn, name)).items() if callable(each) and key in dir(plain)}
    own = {
        key: each
        for key, each in own.items()
        if key not in torch_containers.OTHERWISE and key not in ("__repr__", "__dir__")
    }
    signatures = {}
    for key, each in own.items():
        given = list(inspect.signature(each).parameters.values())[1:]
        signatures[key] = (sum(word.default is word.empty for word in given), len(given))
    methods = {key: each for key, each in signatures.items() if not key.startswith("__")}
    assert methods == torch_containers.METHODS[name]
    assert {key for key in own if key.startswith("__")} == torch_containers.OPERATIONS[name]


def test_a_tensor_that_is_to_be_learnt_is_no_buffer(tmp_path):
    text = "import torch\nfrom torch import nn\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    text += "        self.scale = torch.ones(8, requires_grad=True)\n        self.shift = torch.ones(8)\n\n"
    text += "    def forward(self, x):\n        return x * self.scale + self.shift\n"
    (tmp_path / "net.py").write_text(text)
    options = CheckOptions(extend_select=("MG203",), isolated=True, cache=None)
    found = {
        ("scale" if "scale" in each.message else "shift"): each
        for each in check_paths([str(tmp_path)], options).findings
    }
    assert "use nn.Parameter" in found["scale"].message
    assert found["scale"].fix is None
    assert "register_buffer" in found["shift"].message
    assert found["shift"].fix is not None


@pytest.mark.parametrize(
    ("value", "comma"),
    [
        ("nn.Linear(2, 2),", True),
        ("nn.Linear(\n    2,\n    2,\n),", True),
        ("(nn.Linear(2, 2),)", False),
        ("nn.Linear(2, 2), nn.Linear(2, 2)", False),
        ("[nn.Linear(2, 2),]", False),
    ],
)
def test_a_comma_at_the_end_is_told_and_not_wrapped(value: str, comma: bool) -> None:
    (finding,) = checked(source(f"self.x = {value}", "return self.x[0](x)")).findings
    assert finding.code == "MG101"
    assert ("the comma at the end makes it a tuple: take it away" in finding.message) == comma
    assert (finding.fix is None) == comma


# ---- what a fix would break, and what it says ------------------------------------------------------------------------

FORWARDS = [
    ("return x * self.m", True),
    ("return x * self.m + torch.arange(2)", False),
    ("return x * self.m + torch.arange(2, device=x.device)", True),
    ("return x * self.m + torch.stack([x, x]).sum(0)", True),
    ("return (x.cpu() * self.m).to(x.device)", False),
]


@pytest.mark.needs_torch
@pytest.mark.parametrize(("forward", "is_offered"), FORWARDS)
def test_a_tensor_that_meets_others_of_the_cpu_is_not_made_a_buffer(forward: str, is_offered: bool):
    code = source("self.m = torch.ones(2)", forward)
    (finding,) = checked(code).findings
    assert bool(finding.fix) is is_offered
    if is_offered:
        change = checked(code, fix="unsafe").change
        assert change is not None
        assert result(change.after)[2] == result(code)[2]  # the state dict is as it was


DROPPED = [
    ("return F.dropout(x, 0.5)", True, True),
    ("return F.dropout(x, 0.5)  # always on, as in the paper", False, False),
    ("# Monte Carlo: drops in evaluation too\nreturn F.dropout(x, 0.5)", False, False),
    ("return F.dropout(x, 0.5)  # regularizes", True, True),
    ("return self.sample(x)", True, False),
]


@pytest.mark.parametrize(("forward", "is_found", "is_fixed"), DROPPED)
def test_dropout_that_is_meant_to_act_is_not_switched_off(forward: str, is_found: bool, is_fixed: bool):
    rest = "def sample(self, x):\n    return F.dropout(x, 0.5)" if "sample" in forward else ""
    code = source("pass", forward, rest, top="import torch.nn.functional as F")
    options = CheckOptions(select=("MG202",), isolated=True, write=False, cache=None)
    found = Checker(options).check_text(code, "net.py", "/nowhere/net.py").findings
    assert bool(found) is is_found
    assert any(each.fix for each in found) is is_fixed


COMMENTS = [
    ("self.xs = [nn.Linear(2, 2)]  # a plain list on purpose", True),
    ("# these are not registered\nself.xs = [nn.Linear(2, 2)]", True),
    ("self.xs = [nn.Linear(2, 2)]  # two by two", False),
    ("self.xs = [nn.Linear(2, 2)]  # pragma: list", False),
    ("self.n = 3  # in a list\nself.xs = [nn.Linear(2, 2)]", False),
]


@pytest.mark.parametrize(("constructor", "is_named"), COMMENTS)
def test_a_comment_that_a_fix_may_make_false_is_named(constructor: str, is_named: bool):
    finding = next(each for each in checked(source(constructor, LOOP)).findings if each.code == "MG101")
    assert finding.fix is not None
    assert ("the comment in line" in finding.fix.description) is is_named
