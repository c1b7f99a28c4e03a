"""`check` in proportion: what it does grows as the file does, and what is left undone is told.

Work is counted, in calls of Python functions, in classes that are interpreted and in texts that are looked at: never in
seconds.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from modgraph.cli import main
from modgraph.config import MAX_PATTERN, MAX_PATTERNS
from modgraph.prediction.code import whole_modules
from modgraph.prediction.domain import budget
from modgraph.rules import fixing, interpretation, one_file
from modgraph.rules.names import Project
from modgraph.rules.one_file import Checker
from modgraph.rules.options import CheckOptions
from modgraph.rules.outcomes import Outcome
from modgraph.source import modules as source_modules

HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n\n\n"
LIST = "[nn.Linear(2, 2), nn.Linear(2, 2)]"


def module(name: str, body: str = "", forward: str = "        return x\n", base: str = "nn.Module") -> str:
    head = f"class {name}({base}):\n    def __init__(self):\n        super().__init__()\n"
    return f"{head}{body}\n    def forward(self, x):\n{forward}\n\n"


def looping(name: str, more: str = "") -> str:
    """A class with a list of layers that can be fixed."""
    loop = "        for each in self.layers:\n            x = each(x)\n        return x\n"
    return module(name, f"        self.layers = {LIST}\n{more}", loop)


def refused(name: str) -> str:
    """The same, but the fix does not stand: MG204 finds the registered layers unused."""
    return module(name, f"        self.rest = {LIST}\n")


def checked(text: str, fix: str = "no", path: str = "/nowhere/net.py") -> Outcome:
    options = CheckOptions(select=("ALL",), fix=fix, write=False, isolated=True)  # type: ignore[arg-type]
    return Checker(options).check_text(text, "net.py", path)


# ---- rules ------------------------------------------------------------------------------------------------------------


def lines(n: int, line: str) -> str:
    return "".join(f"        {line.replace('#', str(number))}\n" for number in range(n))


SHAPES: dict[str, Callable[[int], str]] = {
    "attributes": lambda n: module("Net", lines(n, "self.a# = nn.Linear(2, 2)"), lines(n, "x = self.a#(x)")),
    "attributes that nobody uses": lambda n: module("Net", lines(n, "self.a# = nn.Linear(2, 2)")),
    "tensors": lambda n: module("Net", lines(n, "self.t# = torch.zeros(2)"), lines(n, "x = x + self.t#")),
    "lists": lambda n: module("Net", lines(n, f"self.a# = {LIST}"), lines(n, "x = self.a#[0](x)")),
    "lists that are filled": lambda n: module("Net", lines(n, "b# = []; b#.append(nn.ReLU()); self.b# = b#")),
    "names that are computed": lambda n: module("Net", lines(n, f"self.a# = {LIST}; setattr(self, 'b#', self.a#)")),
    "one name assigned again and again": lambda n: module("Net", "        y = 0\n", lines(n, "y = y + x; self.y = y")),
    "names that lead to one another": lambda n: module("Net", lines(n, "a# = b#; b# = a# + a#; self.b# = b#")),
    "statements": lambda n: module("Net", "", lines(n, "x = F.dropout(x)")),
    "layers in forward": lambda n: module("Net", "", lines(n, "x = nn.Linear(2, 2)(x)")),
    "state dicts that are kept": lambda n: (
        "def train(model, optimizer):\n    model.eval()\n"
        + "".join(
            f"    s{k} = model.state_dict()\n    optimizer.step()\n    model.load_state_dict(s{k})\n" for k in range(n)
        )
        + module("Net")
    ),
    "generators that are used up": lambda n: (
        "def train(model):\n    model.eval()\n"
        + "".join(f"    s{k} = model.parameters()\n    list(s{k})\n    list(s{k})\n" for k in range(n))
        + module("Net")
    ),
    "losses of a softmax": lambda n: (
        module("Net", "", "        return F.softmax(x, 1)\n")
        + "net = Net()\n"
        + "".join(f"loss{k} = F.cross_entropy(net({k}), {k})\n" for k in range(n))
    ),
    "modules that are shared by an option": lambda n: module(
        "Net", "        if share:\n" + lines(n, "    self.a# = [nn.Linear(2, 2)] * depth")
    ),
    "calls of forward": lambda n: module("Net", "        self.a = nn.ReLU()\n", lines(n, "x = self.a.forward(x)")),
    "methods that call one another": lambda n: (
        module("Net", "        self.a = [self.m0()]\n")
        + "".join(f"    def m{k}(self):\n        return [self.m{k + 1}(), self.m{k + 1}()]\n" for k in range(n))
    ),
    "one method of many ends": lambda n: (
        module("Net", "        self.a = [self.m()]\n") + "    def m(self):\n" + lines(n, "if x: return self.m()")
    ),
    "classes": lambda n: "".join(
        module(f"Net{k}", "        self.a = nn.ReLU()\n", "        return self.a(x)\n") for k in range(n)
    ),
    "classes with the same attribute": lambda n: "".join(looping(f"Net{k}") for k in range(n)),
    "comments that silence": lambda n: module("Net", lines(n, f"self.a# = {LIST}  # modgraph: ignore[MG101] meant")),
    "comments in vain": lambda n: module("Net") + "x = 1  # modgraph: ignore[MG101] meant\n" * n,
    "comments above": lambda n: module("Net") + "# modgraph: ignore[MG101] meant\n" * n + "x = 1\n",
    "findings on one line": lambda n: module("Net", "        a = 'é'; " + f"self.a = {LIST}; " * n + "\n"),
    "functions that make lists": lambda n: (
        "".join(f"def make{k}():\n    return [nn.ReLU()]\n" for k in range(n))
        + module("Net", lines(n, "self.a# = make#()"))
    ),
    "bases": lambda n: (
        "".join(f"class B{k}(nn.Module):\n    pass\n" for k in range(n))
        + module("Net", f"        self.a = {LIST}\n", base=", ".join(f"B{k}" for k in range(n)))
    ),
}


def calls(text: str) -> int:
    """Calls of Python functions in this thread, in which the rules run; the interpreter has one of its own."""
    number = 0

    def count(_frame: object, event: str, _what: object) -> None:
        nonlocal number
        number += event == "call"

    outer = sys.getprofile()
    sys.setprofile(count)
    try:
        checked(text)
    finally:
        sys.setprofile(outer)
    return number


@pytest.mark.parametrize("name", SHAPES)
def test_rules_look_at_four_times_as_much_in_four_times_as_many_steps(name: str):
    make = SHAPES[name]
    checked(HEAD + make(4))  # what is imported and made once is there now
    small, large = calls(HEAD + make(15)), calls(HEAD + make(60))
    assert large < 4.6 * small


# ---- interpretations --------------------------------------------------------------------------------------------------


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The classes that are interpreted."""
    names: list[str] = []
    real = interpretation.predict_target

    def counting(target: Any, *more: Any, **named: Any) -> Any:
        names.append(target.name)
        return real(target, *more, **named)

    monkeypatch.setattr(interpretation, "predict_target", counting)
    return names


@pytest.mark.parametrize("make", [looping, refused])
@pytest.mark.parametrize("fix", ["no", "unsafe"])
def test_a_class_is_interpreted_as_often_however_many_there_are(make: Any, fix: str, interpreted: list[str]):
    most: list[int] = []
    for n in (3, 12):
        interpreted.clear()
        checked(HEAD + "".join(make(f"Net{k}") for k in range(n)), fix)
        most.append(max(interpreted.count(f"Net{k}") for k in range(n)))
    assert 1 <= most[1] <= most[0] <= 3


def test_the_text_is_indexed_once_for_all_its_classes(monkeypatch: pytest.MonkeyPatch):
    texts: list[str] = []
    real = source_modules.indexed

    def counting(text: str, filename: str) -> Any:
        texts.append(text)
        return real(text, filename)

    monkeypatch.setattr(source_modules, "indexed", counting)
    text = HEAD + "".join(looping(f"Net{k}") for k in range(8))
    assert len(checked(text).findings) == 8
    assert texts.count(text) == 1


def test_what_was_parsed_of_other_files_serves_the_next_class(monkeypatch: pytest.MonkeyPatch):
    number = 0
    real = source_modules.Parsed

    def counting(*given: Any) -> Any:
        nonlocal number
        number += 1
        return real(*given)

    monkeypatch.setattr(source_modules, "Parsed", counting)
    counts = []
    for n in (2, 4, 6):
        number = 0
        checked(HEAD + "".join(looping(f"Net{k}") for k in range(n)))
        counts.append(number)
    assert counts[2] - counts[1] == counts[1] - counts[0]
    assert counts[2] - counts[1] < counts[0] / 2  # torch's own is most of what two classes need


def test_what_interpretations_of_one_file_cost_is_bounded_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "net.py"
    file.write_text(HEAD + "".join(looping(f"Net{k}") for k in range(6)))
    monkeypatch.setattr(interpretation, "MAX_WORK", 15_000)  # each class takes about 5,000
    status = main(["check", "--isolated", "--no-cache", "--format", "json", str(file)])
    said = capsys.readouterr()
    document = json.loads(said.out)
    found = [each["class"] for each in document["findings"]]
    assert found == [f"Net{k}" for k in range(len(found))]
    assert 0 < len(found) < 6
    assert status == 2
    assert "is not checked to its end" in said.err
    assert "is not checked to its end" in document["not_done"][0]["message"]


def test_a_file_that_was_not_checked_to_its_end_is_not_kept_as_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "net.py"
    file.write_text(HEAD + "".join(looping(f"Net{k}") for k in range(6)))
    given = ["check", "--isolated", "--cache-dir", str(tmp_path / "cache"), "-q", str(file)]
    monkeypatch.setattr(interpretation, "MAX_WORK", -1)
    assert main(given) == 2
    monkeypatch.undo()
    assert main(given) == 1


DOUBLED = """\
        x = nn.Linear(1, 1)
        for _ in range(30):
            x = nn.Sequential(x, copy.deepcopy(x))
        self.a = [x]
"""


def a_fiftieth_of_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    for owner, names in ((interpretation, ["MAX_WORK"]), (budget, ["MAX_MADE_MODULES", "MAX_MADE_ITEMS", "MAX_COPIED_OBJECTS"])):  # fmt: skip
        for name in names:
            monkeypatch.setattr(owner, name, getattr(owner, name) // 50)


def test_copies_count_as_what_they_cost_and_the_classes_of_a_file_share_it(
    interpreted: list[str], monkeypatch: pytest.MonkeyPatch
):
    """Each class ends at a limit of its own; of many, most are not begun. A fiftieth of the limits says as much."""
    a_fiftieth_of_the_limits(monkeypatch)
    text = f"import copy\n{HEAD}" + "".join(module(f"Net{k}", DOUBLED) for k in range(20))
    outcome = checked(text)
    assert len(interpreted) <= 3
    assert outcome.failure is not None
    assert "classes from 'Net1' on were not interpreted" in outcome.failure.message
    assert [name for name, _ in outcome.cut] == ["Net0"]


def test_a_class_that_is_too_much_takes_nothing_from_the_others_of_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(interpretation, "MAX_WORK_OF_A_CLASS", 20_000)
    file = tmp_path / "net.py"
    file.write_text(f"import copy\n{HEAD}{module('Large', DOUBLED)}{looping('Net')}")
    assert main(["check", "--isolated", "--no-cache", "--format", "json", str(file)]) == 1
    said = capsys.readouterr()
    document = json.loads(said.out)
    assert [each["class"] for each in document["findings"]] == ["Net"]
    assert "class 'Large' is not followed to its end" in document["not_done"][0]["message"]
    assert "note: " in said.err


WITHOUT_STATE = (
    "{'a': nn.L1Loss(), 'b': nn.CrossEntropyLoss(reduction='none')}",
    "[nn.ReLU(), nn.Softmax(dim=1)]",
    "[nn.ReLU() for _ in range(n)]",
    "tuple(map(nn.MaxPool2d, (2, 3)))",
)
WITH_STATE = (
    "[nn.CrossEntropyLoss(torch.ones(2))]",
    "[nn.BCEWithLogitsLoss(pos_weight=torch.ones(2))]",
    "[nn.ReLU(), nn.Dropout()]",
    "[nn.TripletMarginWithDistanceLoss(distance_function=nn.Linear(2, 2))]",
    "[nn.MultiLabelSoftMarginLoss(torch.ones(2))]",
)


@pytest.mark.parametrize("kept", [*WITHOUT_STATE, *WITH_STATE])
def test_what_loses_nothing_is_not_interpreted(interpreted: list[str], kept: str):
    init = f"    def __init__(self, n=2):\n        super().__init__()\n        self.kept = {kept}\n"
    options = CheckOptions(isolated=True)
    outcome = Checker(options).check_text(f"{HEAD}class Net(nn.Module):\n{init}", "net.py", "/nowhere/net.py")
    found = [each.code for each in outcome.findings]
    assert (found, bool(interpreted)) == (([], False) if kept in WITHOUT_STATE else (["MG101"], True))


def test_large_end_states_are_not_kept(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(interpretation, "MAX_KEPT_OBJECTS", 1_000)
    project = Project()
    text = HEAD + "".join(
        module(f"Net{k}", "        self.a = [nn.Linear(2, 2) for _ in range(900)]\n") for k in range(4)
    )
    for k in range(4):
        assert interpretation.interpret(project, "/nowhere/net.py", f"Net{k}", text) is not None
        assert len(project.interpreted) == 1


def test_what_a_text_holds_is_walked_over_once_for_all_its_classes(monkeypatch: pytest.MonkeyPatch):
    from modgraph.prediction.project import mutation_summaries

    walked: list[str] = []
    real = mutation_summaries._functions
    monkeypatch.setattr(mutation_summaries, "_functions", lambda text: walked.append(text) or real(text))
    text = HEAD + "A.b = 1\n" + "".join(looping(f"Net{k}") for k in range(5))
    assert len(checked(text).findings) >= 5
    assert walked.count(text) == 1


LIMITS: dict[str, tuple[str, Any, str]] = {
    "MAX_STEPS": ("domain.budget", 50, "        for i in range(100):\n            x = i\n"),
    "MAX_WORK": ("domain.budget", 1_000, ""),
    "MAX_SECONDS": ("domain.budget", 0.0, "        for i in range(100):\n            x = i\n"),
    "MAX_MADE_ITEMS": ("domain.budget", 10, ""),
    "MAX_MADE_MODULES": ("domain.budget", 3, "        x = [copy.deepcopy(self.a) for _ in range(9)]\n"),
    "MAX_COPIED_OBJECTS": (
        "domain.budget",
        0,
        "        if unknown:\n            self.b = 1\n        for i in range(100):\n            x = i\n",
    ),
    "MAX_CALL_DEPTH": ("code.calls", 5, "        self.b = deep(9)\n"),
    "MAX_LOOP_ITERATIONS": ("python.iteration", 5, "        self.b = [nn.ReLU() for _ in range(9)]\n"),
    "MAX_VALUE_SIZE": ("domain.values", 50, "        self.b = (1, 2) * 99\n"),
    "MAX_MODULE_STEPS": ("interpreter", 20, "        self.b = MADE\n"),
    "MAX_NAME_DEPTH": ("code.allowances", 1, "        self.b = SECOND\n"),
    "MAX_UNDECIDED_DEPTH": ("code.calls", 0, "        if unknown:\n            self.b = deep(1)\n"),
    "MAX_YIELDED": ("code.generators", 3, "        self.b = list(many())\n"),
    "MAX_IMPORT_WORK": ("project.import_effects", 1, ""),
    "MAX_EVALUATED_TEXT": ("knowledge.stdlib.eval_exec", 5, "        self.b = eval('nn.ReLU()')\n"),
    "MAX_EVALUATED_CHAIN": ("knowledge.stdlib.eval_exec", 2, "        self.b = eval('1 + 1 + 1 + 1 + 1 + 1')\n"),
    "MAX_PLAIN_STEPS": ("code.comprehensions", 5, "        self.b = [k + 1 for k in range(99)]\n"),
    "MAX_INHERITED": ("code.functions", 1, ""),
    "MAX_MATCHING_STEPS": ("python.bounds", 0, "        self.b = re.search('a*b', 'aaa')\n"),
    "MAX_WIDENINGS": ("code.control", 1, "        while unknown:\n            self.b = [self.b, nn.ReLU()]\n"),
}
"""The limit, the file that holds a constructor to it, a value that this class reaches, and what it does for that."""

AROUND = """\
import copy
import re
from nowhere import unknown

FIRST = nn.ReLU()
SECOND = [FIRST]
MADE = [nn.Linear(k, k) for k in range(50)]


def deep(n):
    return nn.ReLU() if n == 0 else deep(n - 1)


def many():
    for k in range(9):
        yield nn.ReLU()


class Base:
    made = 0


nn.extra = 1


class Mixed(Base, nn.Module):
    pass


"""


@pytest.mark.parametrize("limit", LIMITS)
def test_limits_that_cut_a_constructor_short_are_a_line_of_the_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], limit: str
):
    import importlib

    where, value, body = LIMITS[limit]
    file = tmp_path / "net.py"
    body = f"        self.a = [nn.Linear(2, 2)]\n        self.b = None\n{body}"
    file.write_text(HEAD + AROUND + module("Net", body, base="Mixed" if limit == "MAX_INHERITED" else "nn.Module"))
    given = ["check", "--isolated", "--no-cache", str(file)]
    monkeypatch.setattr(interpretation, "WORK_OF_A_CLASS", 0)
    assert main(given) == 1
    assert "not followed" not in capsys.readouterr().out
    monkeypatch.setattr(importlib.import_module(f"modgraph.prediction.{where}"), limit, value)
    if limit == "MAX_IMPORT_WORK":  # a module that is executed whole needs none of it
        monkeypatch.setattr(whole_modules, "MAX_EXECUTED_WORK", 1)
    main(given)
    said = capsys.readouterr()
    assert "1 class not followed to its end" in said.out
    assert "class 'Net' is not followed to its end" in said.err
    main([*given, "--format", "json"])
    assert "class 'Net' is not followed to its end" in json.loads(capsys.readouterr().out)["not_done"][0]["message"]


def test_a_function_that_takes_too_long_to_be_followed_is_a_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    body = "        self.a = [nn.Linear(2, 2)]\n        threading.Thread(target=self.watch).start()\n"
    watch = "    def watch(self):\n        for number in range(19_000):\n            self.number = number\n\n"
    file = tmp_path / "net.py"
    file.write_text(f"import threading\n{HEAD}{module('Net', body + watch)}")
    main(["check", "--isolated", "--no-cache", str(file)])
    assert "1 class not followed to its end" in capsys.readouterr().out


@pytest.mark.parametrize(
    "condition",
    ['"more than 3 heads" in os.environ.get("HEADS", "")', 'os.environ.get("takes too many steps")'],
)
def test_a_source_that_says_what_a_limit_would_say_reaches_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], condition: str
):
    body = f"        self.a = nn.Linear(2, 2)\n        if {condition}:\n            self.heads = nn.Linear(2, 2)\n"
    file = tmp_path / "net.py"
    file.write_text(f"import os\n{HEAD}{module('Net', body)}")
    assert main(["check", "--isolated", "--no-cache", str(file)]) == 0
    assert "not followed" not in capsys.readouterr().out


def test_a_file_that_was_not_followed_to_its_end_is_not_kept_as_clean(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    a_fiftieth_of_the_limits(monkeypatch)
    file = tmp_path / "net.py"
    file.write_text(f"import copy\n{HEAD}{module('Net', DOUBLED)}")
    given = ["check", "--isolated", "--cache-dir", str(tmp_path / "cache"), str(file)]
    for _ in range(2):
        assert main(given) == 0
        assert "1 class not followed to its end" in capsys.readouterr().out


# ---- fixes ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are checked: the file's own first, then one for each trial."""
    seen: list[str] = []
    real = one_file.check_text

    def counting(text: str, *more: Any) -> Any:
        seen.append(text)
        return real(text, *more)

    monkeypatch.setattr(one_file, "check_text", counting)
    return seen


@pytest.mark.parametrize("fix", ["no", "unsafe"])
@pytest.mark.parametrize("n", [3, 12])
def test_fixes_that_stand_are_tried_at_once(texts: list[str], n: int, fix: str):
    outcome = checked(HEAD + "".join(looping(f"Net{k}") for k in range(n)), fix)
    assert len(texts) == 2
    if fix == "no":
        assert all(each.fix for each in outcome.findings)
    else:
        assert outcome.change is not None
        assert (len(outcome.change.fixed), outcome.findings) == (n, [])


@pytest.mark.parametrize("fix", ["no", "unsafe"])
def test_the_trials_do_not_grow_with_the_classes_whose_fixes_fail(texts: list[str], fix: str):
    trials: list[int] = []
    for n in (2, 8, 16):
        texts.clear()
        good = "".join(looping(f"Good{k}") for k in range(3))
        outcome = checked(HEAD + good + "".join(refused(f"Net{k}") for k in range(n)), fix)
        trials.append(len(texts))
        left = {each.class_name: each.fix for each in outcome.findings if each.code == "MG101"}
        assert all(left[f"Net{k}"] is None for k in range(n))
        assert all(left[f"Good{k}"] for k in range(3)) if fix == "no" else "Good0" not in left
        assert outcome.taken_back == (0 if fix == "no" else n)
    assert trials[0] == trials[1] == trials[2]


def test_fixes_beyond_the_budget_are_not_offered_and_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    text = HEAD + "".join(looping(f"Net{k}") for k in range(6))
    file = tmp_path / "net.py"
    file.write_text(text)
    monkeypatch.setattr(fixing, "MAX_WORK", 2 * len(text) + 5 * fixing.WORK_OF_A_CLASS)
    given = ["check", "--isolated", "--no-cache", str(file)]
    assert main([*given, "--format", "json"]) == 1
    said = capsys.readouterr()
    document = json.loads(said.out)
    offered = [each["class"] for each in document["findings"] if each["fix"]]
    assert 0 < len(offered) < 6
    untried = 6 - len(offered)
    assert document["not_done"] == [{"file": str(file), "message": f"{untried} fixes not tried"}]
    assert f"{untried} fixes are not offered, as trying them takes too much work" in said.err
    assert main(given) == 1
    assert f"{untried} fixes not tried" in capsys.readouterr().out


def test_a_fix_that_would_cost_too_much_to_interpret_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "net.py"
    text = HEAD + looping("Net0") + looping("Net1")
    file.write_text(text)
    real = interpretation.interpret

    def reluctant(project: Project, *given: Any) -> Any:
        monkeypatch.setattr(interpretation, "MAX_WORK", -1 if project.trying else 10**9)
        return real(project, *given)

    monkeypatch.setattr(interpretation, "interpret", reluctant)
    monkeypatch.setattr(interpretation, "MAX_WORK", 10**9)
    assert main(["check", "--isolated", "--no-cache", "--fix", "--unsafe-fixes", str(file)]) == 1
    assert file.read_text() == text
    assert "2 fixes not tried" in capsys.readouterr().out


def test_many_edits_lie_apart_or_touch_as_two_of_them_do():
    """Looked up in order instead of pair by pair, with the same answer."""
    from modgraph.findings import Edit, Finding, Fix
    from modgraph.rules.fixing import _apart

    def finding(*spans: tuple[int, int]) -> Finding:
        edits = tuple(Edit(1, first, 1, last, "x") for first, last in spans)
        return Finding(code="MG101", message=str(spans), fix=Fix("", edits))

    first, touching, within, apart = finding((3, 5), (9, 9)), finding((5, 6)), finding((4, 4)), finding((6, 7))
    shared, around = finding((9, 9), (12, 13)), finding((0, 20))
    assert _apart([first, touching, within, apart, shared, around]) == [first, apart, shared]


# ---- files and configuration ------------------------------------------------------------------------------------------


def test_star_imports_that_lead_to_one_another_are_followed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for k in range(8):
        stars = "".join(f"from m{other} import *\n" for other in range(8) if other != k)
        (tmp_path / f"m{k}.py").write_text(f"{stars}class C{k}:\n    pass\n")
    asked: list[str] = []
    real = Project.summary

    def counting(project: Project, file: str) -> Any:
        asked.append(file)
        return real(project, file)

    monkeypatch.setattr(Project, "summary", counting)
    assert Project().is_module(str(tmp_path / "m0.py"), "NotThere") is None
    assert len(asked) <= 8 * 8


def test_a_pattern_is_made_once_for_all_files(monkeypatch: pytest.MonkeyPatch):
    import fnmatch

    from modgraph.source.files import is_excluded

    made: list[str] = []
    real = fnmatch.translate
    monkeypatch.setattr(fnmatch, "translate", lambda pattern: made.append(pattern) or real(pattern))
    patterns = tuple(f"made_once_{k}*a*a*b" for k in range(600))
    for file in range(20):
        assert not is_excluded(f"folder/file{file}.py", patterns)
    assert len(made) == 600


CONFIGURATIONS = {
    "patterns": (f"exclude = {[f'a{k}' for k in range(MAX_PATTERNS + 1)]}", "patterns, more than"),
    "a pattern": (f"exclude = ['{'a' * (MAX_PATTERN + 1)}']", "a pattern of more than"),
    "files": (
        "[per-file-ignores]\n" + "".join(f'"a{k}" = ["MG101"]\n' for k in range(MAX_PATTERNS + 1)),
        "patterns, more than",
    ),
    "parts of a key": ("a." * 50_000 + "a = 1", "a key of more than"),
    "parts of a table": ("[" + "a." * 50_000 + "a]", "a key of more than"),
    "parts of a key within": ("x = {" + "a." * 50_000 + "a = 1}", "a key of more than"),
    "brackets": ("exclude = " + "[" * 100_000, "nested too deeply"),
    "digits": ("exclude = " + "9" * 5_000, "is no TOML"),
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_configuration_that_is_too_much_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    text, why = CONFIGURATIONS[name]
    (tmp_path / "modgraph.toml").write_text(text)
    (tmp_path / "net.py").write_text("x = 1\n")
    assert main(["check", "--no-cache", str(tmp_path / "net.py")]) == 2
    assert why in capsys.readouterr().err


def test_small_modules_are_kept_between_interpretations_and_large_ones_are_not() -> None:
    from modgraph.rules.interpretation import MAX_MODULES, MAX_SMALL_MODULES, MAX_SMALL_TEXT, _is_much
    from modgraph.source.modules import Shared, SourceModule

    def known(count: int, size: int) -> Shared:
        shared = Shared()
        for each in range(count):
            module = SourceModule(f"m{each}", Path(f"m{each}.py"), f"m{each}.py", False)
            module.text = "#" * size
            shared.modules[module.name, module.file] = module
        return shared

    assert not _is_much(known(MAX_MODULES, MAX_SMALL_TEXT))
    assert not _is_much(known(MAX_SMALL_MODULES, 100))
    assert _is_much(known(MAX_MODULES + 1, MAX_SMALL_TEXT // MAX_MODULES))
    assert _is_much(known(MAX_SMALL_MODULES + 1, 0))
