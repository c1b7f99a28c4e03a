"""What decides beside a file's own text: other files of the project, generated files, the configuration."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from modgraph.rules.check import check_text
from modgraph.rules.names import Project
from modgraph.rules.registry import rules

DEFAULT = [rule for rule in rules() if rule.default]


def found(folder: Path, name: str, text: str, **settings: object) -> list[tuple[str, int | None]]:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    project = Project(**settings)  # type: ignore[arg-type]
    return [(each.code, each.line) for each in check_text(text, name, str(path), DEFAULT, project)]


def write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


NET = """\
from {module} import {names}

class Net(Base):
    def __init__(self):
        super().__init__()
        self.blocks = {value}
"""


def test_the_base_and_the_helper_stand_in_other_files(tmp_path: Path):
    write(tmp_path, "package/__init__.py", "from .layers import Base, make\n")
    write(
        tmp_path,
        "package/layers.py",
        "import torch.nn as nn\n\nclass Base(nn.Module):\n    pass\n\n"
        "def make(n):\n    found = []\n    for _ in range(n):\n        found.append(nn.Linear(2, 2))\n    return found\n",
    )
    text = NET.format(module="package", names="Base, make", value="make(3)")
    assert found(tmp_path, "net.py", text) == [("MG101", 6)]
    relative = NET.format(module=".layers", names="Base, make", value="make(3)")
    assert found(tmp_path, "package/net.py", relative) == [("MG101", 6)]


def test_a_helper_that_gives_a_registering_container_is_not_reported(tmp_path: Path):
    write(
        tmp_path,
        "layers.py",
        "from torch import nn\n\nclass Base(nn.Module):\n    pass\n\ndef make(n):\n"
        "    layers = [nn.Linear(2, 2) for _ in range(n)]\n    return nn.Sequential(*layers)\n",
    )
    assert found(tmp_path, "net.py", NET.format(module="layers", names="Base, make", value="make(3)")) == []


def test_a_method_of_a_base_in_another_file_hides_a_submodule(tmp_path: Path):
    write(
        tmp_path,
        "base.py",
        "from torch import nn\n\nclass Base(nn.Module):\n    def blocks(self):\n        return []\n",
    )
    text = "from torch import nn\n" + NET.format(module="base", names="Base", value="nn.Linear(2, 2)")
    assert found(tmp_path, "net.py", text) == [("MG106", 7)]


def test_a_base_that_is_not_found_is_a_module_if_the_configuration_says_so(tmp_path: Path):
    text = "from torch import nn\n" + NET.format(module="nowhere", names="Base", value="[nn.Linear(2, 2)]")
    assert found(tmp_path, "net.py", text) == []
    assert found(tmp_path, "net.py", text, module_bases=["Base"]) == [("MG101", 7)]
    assert found(tmp_path, "net.py", text, module_bases=["nowhere.Base"]) == [("MG101", 7)]


def test_a_base_that_is_not_found_is_a_module_where_the_class_has_a_forward(tmp_path: Path):
    text = "from torch import nn\n" + NET.format(module="nowhere", names="Base", value="[nn.Linear(2, 2)]")
    forward = "    def forward(self, x):\n        return x\n"
    assert found(tmp_path, "net.py", text) == []
    assert found(tmp_path, "net.py", text + forward) == [("MG101", 7)]
    assert found(tmp_path, "net.py", text + f"    @staticmethod\n{forward}") == []


def test_names_that_say_that_hiding_is_meant_can_be_added(tmp_path: Path):
    text = "from torch import nn\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    text += "        self.oracle_nets = [nn.Linear(2, 2), nn.Linear(2, 2)]\n"
    assert found(tmp_path, "net.py", text) == [("MG101", 6)]
    assert found(tmp_path, "net.py", text, hidden_names=["oracle"]) == []


def test_what_is_possible_is_told_when_asked_for(tmp_path: Path):
    text = "from torch import nn\n\nclass Net(nn.Module):\n    def __init__(self, make):\n        super().__init__()\n"
    text += "        self.blocks = [make() for _ in range(3)]\n        self.sizes = [int(x) for x in '12']\n"
    assert found(tmp_path, "net.py", text) == []
    assert found(tmp_path, "net.py", text, strict=True) == [("MG101", 6)]


def test_a_file_that_another_is_generated_from_is_not_run_as_it_is(tmp_path: Path):
    text = "from torch import nn\n\nclass Net(nn.Module):\n    def __init__(self):\n"
    text += "        self.body = nn.Linear(2, 2)\n        super().__init__()\n"
    assert found(tmp_path, "template_net.py", text) == [("MG108", 5)]
    write(tmp_path, "net.py", "# This file was generated from template_net.py.\nclass Net:\n    pass\n")
    assert found(tmp_path, "template_net.py", text) == []


def test_a_class_of_the_file_is_not_torchs_of_the_same_name(tmp_path: Path):
    text = "from torch.nn import Module\nfrom torch.nn import *\n\nclass Linear:\n    pass\n\nclass Net(Module):\n"
    text += "    def __init__(self):\n        super().__init__()\n        self.blocks = [Linear(), Linear()]\n"
    assert found(tmp_path, "net.py", text) == []


def test_columns_are_characters_and_fixes_go_where_they_belong(tmp_path: Path):
    from modgraph.rules.fixing import fix

    text = "from torch import nn\n\nclass Netz(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    text += "        self.größe, self.köpfe = 3, 1; self.blöcke = [nn.Linear(2, 2), nn.ReLU()]  # äöü\n"

    def check(new: str) -> list[object]:
        return list(check_text(new, "netz.py", str(tmp_path / "netz.py"), DEFAULT, Project()))

    outcome = fix(text, check, unsafe=True)  # type: ignore[arg-type]
    assert outcome.text == text.replace("[nn.Linear(2, 2), nn.ReLU()]", "nn.ModuleList([nn.Linear(2, 2), nn.ReLU()])")
    again = fix(text.replace("\n", "\r\n"), check, unsafe=True)  # type: ignore[arg-type]
    assert again.text == outcome.text.replace("\n", "\r\n")


def test_nothing_of_torch_need_be_on_the_path(tmp_path: Path):
    path = [folder for folder in sys.path if "site-packages" not in folder]
    chosen = {rule.code: rule for rule in DEFAULT}
    for code in ("MG101", "MG102", "MG104", "MG105"):
        for example in chosen[code].invalid:
            project = Project(path=path)
            found = check_text(example.code, "net.py", str(tmp_path / "net.py"), [chosen[code]], project)
            assert tuple(each.line for each in found) == example.lines


def test_classes_in_which_nothing_is_suspicious_are_not_interpreted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*arguments: object) -> None:
        raise AssertionError(f"interpreted: {arguments}")

    monkeypatch.setattr("modgraph.rules.subject.Subject._interpret", refuse)
    text = "from torch import nn\n\ndef make(n):\n    return nn.Sequential(*[nn.Linear(n, n) for _ in range(n)])\n\n"
    text += "class Net(nn.Module):\n    sizes = {'a': 1}\n\n    def __init__(self, n=3, act=nn.ReLU):\n        super().__init__()\n"
    text += "        layers = []\n        for _ in range(n):\n            layers += [nn.Linear(n, n), act()]\n"
    text += "        self.body = nn.Sequential(*layers)\n        self.tail = make(n)\n        self.info = [dict(n=n, kind='a')]\n"
    text += (
        "        self.names = ['body', 'tail']\n        self.blocks = []\n        self.blocks.append(nn.Linear(n, n))\n"
    )
    text += "        self.blocks = nn.ModuleList(self.blocks)\n        self.cache = {}\n\n"
    text += "    def forward(self, x):\n        self.cache['x'] = x\n        return self.tail(self.body(x))\n"
    assert found(tmp_path, "net.py", text) == []


DOUBTFUL = """\
from torch import nn
from unknown import anything

class Net(nn.Module):
    def __init__(self, names):
        super().__init__()
        self.rows = [nn.Linear(2, 2)]  # modgraph: ignore[MG101] an optimizer of its own
        {line}
"""


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("self.fine = 1", []),
        ("anything(self)", []),
        ("self.broken = nn.Sequential([nn.Linear(2, 2)])", [("MG109", 8)]),
        ("for name, row in zip(names, self.rows): self.add_module(name, row)", []),
        ("self.rows = nn.ModuleList(self.rows)", [("MG002", 7)]),
    ],
)
def test_a_comment_on_what_cannot_be_judged_is_not_called_idle(
    tmp_path: Path, line: str, wanted: list[tuple[str, int]]
):
    text = DOUBTFUL.format(line=line)
    assert found(tmp_path, "net.py", text) == wanted
    whole = text.replace("# modgraph: ignore[MG101]", "# modgraph: ignore-file[MG101]")
    assert found(tmp_path, "net.py", whole) == wanted


def test_strict_tells_of_what_cannot_be_judged(tmp_path: Path):
    text = DOUBTFUL.format(line="anything(self)").replace("  # modgraph: ignore[MG101] an optimizer of its own", "")
    assert found(tmp_path, "net.py", text) == []
    assert found(tmp_path, "net.py", text, strict=True) == [("MG101", 7)]


@pytest.mark.parametrize(
    ("comment", "wanted"),
    [
        ("# modgraph: ignore", []),
        ("# modgraph: ignore the optimizer has them", []),
        ("# modgraph: ignore [MG101]", []),
        ("# modgraph: ignore MG101", ["MG002"]),
        ("# modgraph: ignore=mg101", ["MG002"]),
        ("# modgraph: ignore MG109", ["MG002", "MG101"]),
        ("# modgraph: ignore[]", ["MG002", "MG101"]),
        ("# modgraph: ignored", ["MG002", "MG101"]),
        ("# modgraph: disable=MG101", ["MG002", "MG101"]),
        ("# modgraph: MG101", ["MG002", "MG101"]),
        ("# modgraph: finds something here", ["MG101"]),
        ("# noqa", []),
    ],
)
def test_a_comment_that_is_written_wrongly_is_told_of(tmp_path: Path, comment: str, wanted: list[str]):
    text = NET.format(module="torch.nn", names="Module as Base, Linear", value=f"[Linear(2, 2)]  {comment}")
    assert sorted(code for code, _ in found(tmp_path, "net.py", text)) == wanted


@pytest.mark.parametrize("text", ["def f(:\n    pass\n", "import os\nx = (\n", "print 'from another age'\n"])
def test_a_file_without_classes_that_is_no_python_is_a_finding(tmp_path: Path, text: str):
    assert [code for code, _ in found(tmp_path, "script.py", text)] == ["MG001"]


@pytest.mark.parametrize("line", ["self.apply(anything)", "self.apply(anything.of.it)", "self.apply(lambda m: None)"])
def test_a_function_that_sets_weights_is_not_taken_to_register_anything(tmp_path: Path, line: str):
    text = DOUBTFUL.format(line=line).replace("  # modgraph: ignore[MG101] an optimizer of its own", "")
    assert found(tmp_path, "net.py", text) == [("MG101", 7)]


def test_a_function_of_the_project_that_is_applied_is_looked_into(tmp_path: Path):
    write(
        tmp_path,
        "unknown.py",
        "def anything(module):\n    if hasattr(module, 'rows'):\n        module.add_module('first', module.rows[0])\n",
    )
    text = DOUBTFUL.format(line="self.apply(anything)").replace(
        "  # modgraph: ignore[MG101] an optimizer of its own", ""
    )
    assert found(tmp_path, "net.py", text) == []
