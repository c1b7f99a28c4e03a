"""Every rule finds what its invalid examples say, says nothing of the valid ones, and fixes as they show; real torch is
asked whether what is reported is so, and whether the fix changes it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from modgraph.findings import Finding
from modgraph.rules.check import check_text
from modgraph.rules.fixing import fix
from modgraph.rules.names import Project
from modgraph.rules.registry import rules
from modgraph.rules.rule import Invalid, Rule, Valid

RULES = {rule.code: rule for rule in rules()}
OF_THE_ENGINE = ("MG001", "MG002")


def found_in(text: str, chosen: list[Rule], folder: Path) -> list[Finding]:
    return check_text(text, "example.py", str(folder / "example.py"), chosen, Project())


def examples(kind: str) -> list[Any]:
    return [
        pytest.param(rule, example, id=f"{rule.code}-{number}")
        for rule in rules()
        if rule.code not in OF_THE_ENGINE
        for number, example in enumerate(getattr(rule, kind))
    ]


@pytest.mark.parametrize(("rule", "example"), examples("invalid"))
def test_what_is_wrong_is_found_on_its_lines(rule: Rule, example: Invalid, tmp_path: Path):
    assert tuple(each.line for each in found_in(example.code, [rule], tmp_path)) == example.lines


@pytest.mark.parametrize(("rule", "example"), examples("valid"))
def test_what_is_right_is_not_reported(rule: Rule, example: Valid, tmp_path: Path):
    assert found_in(example.code, [rule], tmp_path) == []


@pytest.mark.parametrize(
    ("rule", "example"), [each for each in examples("invalid") if each.values[1].fixed is not None]
)
def test_fixes_are_those_of_the_example(rule: Rule, example: Invalid, tmp_path: Path):
    def check(new: str) -> list[Finding]:
        return found_in(new, [rule], tmp_path)

    outcome = fix(example.code, check, unsafe=True)
    assert (outcome.text, list(outcome.left)) == (example.fixed, [])
    assert fix(outcome.text, check, unsafe=True).text == outcome.text


@pytest.mark.parametrize(
    "rule", [each for each in rules() if each.code not in OF_THE_ENGINE], ids=lambda rule: rule.code
)
def test_every_rule_has_examples_of_both_kinds(rule: Rule):
    assert rule.valid
    assert rule.invalid
    assert rule.summary.endswith(".")
    assert all(len(line) <= 120 for line in rule.why.splitlines())


def test_the_names_are_those_of_the_specification():
    assert {code: rule.name for code, rule in RULES.items() if code not in OF_THE_ENGINE} == {
        "MG101": "unregistered-module-container",
        "MG102": "unregistered-parameter-container",
        "MG103": "parameter-cast-drops-registration",
        "MG104": "stateful-module-in-forward",
        "MG105": "shared-by-multiplication",
        "MG106": "hidden-by-class-attribute",
        "MG107": "shadows-module-api",
        "MG108": "registration-before-super",
        "MG109": "container-misuse",
        "MG110": "bad-child-name",
        "MG121": "hidden-module",
        "MG122": "stateless-module-container",
        "MG123": "stale-buffer-alias",
        "MG124": "class-level-module",
        "MG201": "direct-forward",
        "MG202": "functional-dropout",
        "MG203": "plain-tensor",
        "MG204": "unused-submodule",
        "MG205": "forward-writes-self",
        "MG206": "deprecated-hook",
        "MG207": "layer-made-late",
        "MG208": "train-without-mode",
        "MG209": "state-dict-not-copied",
        "MG210": "parameter-overwritten",
        "MG211": "softmax-before-cross-entropy",
        "MG212": "registered-tensor",
        "MG213": "generator-used-twice",
        "MG301": "shape-mismatch",
        "MG302": "chain-mismatch",
        "MG303": "forward-arguments",
        "MG304": "missing-submodule",
        "MG401": "declared-class-not-there",
        "MG402": "declared-name-not-there",
    }
    default = [code for code, rule in RULES.items() if rule.default and code not in OF_THE_ENGINE]
    assert default == [f"MG{number}" for number in (*range(101, 111), *range(301, 305))]


def test_all_rules_together_say_nothing_new_of_examples_that_are_right(tmp_path: Path):
    """A valid example of one rule may be wrong for another, but no combination fails."""
    for rule in rules():
        for example in rule.valid:
            found_in(example.code, list(rules()), tmp_path)


# ---- real torch ------------------------------------------------------------------------------------------------------


def built(code: str, class_name: str) -> Any:
    """An instance of a class of the example; numbers for what it wants, and a device where moving changes something."""
    namespace: dict[str, Any] = {"__name__": "example"}
    exec(compile(code, "example.py", "exec"), namespace)
    cls = namespace[class_name]
    required = {
        name: "meta" if name == "device" else 3
        for name, each in inspect.signature(cls).parameters.items()
        if each.default is inspect.Parameter.empty or isinstance(each.default, bool)
    }
    return cls(**required)


def held_by(value: Any) -> Iterator[Any]:
    """Modules and parameters in plain containers."""
    from torch import nn

    if isinstance(value, (nn.Module, nn.Parameter)):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from held_by(each)
    elif isinstance(value, (list, tuple, set)):
        for each in value:
            yield from held_by(each)


def registered(model: Any) -> set[int]:
    return {id(each) for each in (*model.modules(), *model.parameters())}


def of_rules(*codes: str) -> list[Any]:
    return [each for each in examples("invalid") if each.values[0].code in codes]


@pytest.mark.needs_torch
@pytest.mark.parametrize(("rule", "example"), of_rules("MG101", "MG102", "MG122"))
def test_what_is_in_the_container_is_hidden_from_torch(rule: Rule, example: Invalid, tmp_path: Path):
    for finding in found_in(example.code, [rule], tmp_path):
        model = built(example.code, finding.class_name or "")
        held = list(held_by(getattr(model, finding.attribute or "")))
        assert held
        assert registered(model).isdisjoint(id(each) for each in held)
    if example.fixed is not None:
        for finding in found_in(example.code, [rule], tmp_path):
            model = built(example.fixed, finding.class_name or "")
            outcome = getattr(model, finding.attribute or "")
            inside = list(outcome.values() if hasattr(outcome, "values") else outcome)
            assert inside
            assert {id(each) for each in inside} <= registered(model)


@pytest.mark.needs_torch
@pytest.mark.parametrize(("rule", "example"), of_rules("MG103"))
def test_what_is_assigned_is_no_parameter_for_torch(rule: Rule, example: Invalid, tmp_path: Path):
    for finding in found_in(example.code, [rule], tmp_path):
        assert finding.attribute not in dict(built(example.code, finding.class_name or "").named_parameters())
        if example.fixed is not None:
            assert finding.attribute in dict(built(example.fixed, finding.class_name or "").named_parameters())


@pytest.mark.needs_torch
@pytest.mark.parametrize(("rule", "example"), of_rules("MG105"))
def test_repeated_modules_are_one_for_torch(rule: Rule, example: Invalid, tmp_path: Path):
    finding = found_in(example.code, [rule], tmp_path)[0]
    model = built(example.code, finding.class_name or "")
    assert len(model.state_dict()) > len(list(model.parameters()))
    if example.fixed is not None:
        model = built(example.fixed, finding.class_name or "")
        assert len(model.state_dict()) == len(list(model.parameters()))


@pytest.mark.needs_torch
@pytest.mark.parametrize(("rule", "example"), of_rules("MG106"))
def test_the_submodule_is_registered_and_cannot_be_reached(rule: Rule, example: Invalid, tmp_path: Path):
    finding = found_in(example.code, [rule], tmp_path)[0]
    if finding.severity == "error":
        with pytest.raises(KeyError, match="already exists"):
            built(example.code, finding.class_name or "")
        return
    model = built(example.code, finding.class_name or "")
    assert finding.attribute in dict(model.named_children())
    assert getattr(model, finding.attribute or "") is not dict(model.named_children())[finding.attribute or ""]


@pytest.mark.needs_torch
@pytest.mark.parametrize(("rule", "example"), [each for each in of_rules("MG108") if each.values[1].fixed is not None])
def test_torch_raises_before_super_and_not_after_the_fix(rule: Rule, example: Invalid):
    with pytest.raises(AttributeError, match=r"before Module.__init__\(\) call"):
        built(example.code, "Net")
    assert list(built(example.fixed or "", "Net").parameters())


@pytest.mark.needs_torch
def test_torch_refuses_each_misuse_of_a_container():
    code = RULES["MG109"].invalid[0]
    lines = code.code.splitlines()
    for line in code.lines:
        one = "\n".join(each for number, each in enumerate(lines, 1) if number == line or number not in code.lines)
        with pytest.raises(TypeError):
            built(one, "Net")
    with pytest.raises(NotImplementedError):
        built(RULES["MG109"].invalid[1].code, "Net")(None)


@pytest.mark.needs_torch
def test_torch_refuses_each_bad_name():
    example = RULES["MG110"].invalid[0]
    lines = example.code.splitlines()
    for line in sorted(set(example.lines) - {11}):
        kept = [each for number, each in enumerate(lines, 1) if number == line or number not in example.lines]
        if line != 7:
            kept = [each for each in kept if "for i in" not in each]
        with pytest.raises(KeyError):
            built("\n".join(kept), "Net")
    quiet = [each for number, each in enumerate(lines, 1) if number == 11 or number not in example.lines]
    model = built("\n".join(each for each in quiet if "for i in" not in each), "Net")
    assert "tail.last" in dict(model.named_children())


def test_examples_run_without_torch_being_imported_by_the_check():
    assert "torch" not in vars(sys.modules["modgraph.rules.check"])
