"""Targets as the user writes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import modgraph
from modgraph.errors import ModgraphError, TargetError
from modgraph.source.roots import find_roots
from modgraph.source.targets import Ref, import_name, parse_target


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text("")
    (tmp_path / "my-model.py").write_text("")
    (tmp_path / "notes.txt").write_text("")
    (tmp_path / "notes.ipynb").write_text("{}")
    package = tmp_path / "package" / "models"
    package.mkdir(parents=True)
    (tmp_path / "package" / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    (package / "net.py").write_text("")
    (tmp_path / "empty").mkdir()
    return tmp_path


def test_file_alone(project: Path):
    target = parse_target("model.py", cwd=project)
    assert (target.text, target.module, target.name) == ("model.py", "model", "")
    assert target.file == project / "model.py"
    assert target.search_path[0] == str(project)


def test_name_in_a_file(project: Path):
    target = parse_target("model.py:Net", cwd=project)
    assert (target.text, target.name, target.called) == ("model.py:Net", "Net", False)


def test_arguments(project: Path):
    target = parse_target("model.py:Net(4, depth=2, act=torch.nn.ReLU, sizes=[1, (2, 3)])", cwd=project)
    assert target.arguments == (4,)
    assert dict(target.keywords) == {"depth": 2, "act": Ref("torch.nn.ReLU"), "sizes": [1, (2, 3)]}
    assert target.called
    assert target.text == "model.py:Net(4, depth=2, act=torch.nn.ReLU, sizes=[1, (2, 3)])"


def test_file_of_a_package_is_named_from_the_directory_above_it(project: Path):
    target = parse_target("package/models/net.py:Net", cwd=project)
    assert (target.module, target.root) == ("package.models.net", project)
    assert target.text == "package/models/net.py:Net"


def test_text_does_not_depend_on_the_working_directory(project: Path):
    inside = parse_target("net.py:Net", cwd=project / "package" / "models")
    outside = parse_target(str(project / "package/models/net.py") + ":Net", cwd=Path("/"))
    assert inside.text == outside.text == "package/models/net.py:Net"


def test_import_path():
    target = parse_target("torchvision.models:resnet18")
    assert (target.module, target.name, target.file) == ("torchvision.models", "resnet18", None)
    assert target.text == "torchvision.models:resnet18"


def test_import_name_of_a_package_itself(project: Path):
    assert import_name(project / "package" / "__init__.py") == (project, "package")


def test_file_whose_name_is_no_identifier(project: Path):
    assert parse_target("my-model.py:Net", cwd=project).module == "my-model"


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("modle.py", "modle.py does not exist", "did you mean model.py?"),
        ("no/where.py", "no/where.py does not exist", "directory no does not exist"),
        ("package", "package is a directory", "name a file"),
        ("empty", "empty is a directory", "modgraph analyze --all empty"),
        ("notes.txt", "notes.txt is not a Python file", "a target is model.py"),
        ("model.py:Net(", "'Net(' in target", "model.py:Net"),
        ("model.py:Net(depth=x)", "'x' in target", "numbers, strings"),
        ("model.py:Net(*a)", "* and ** are not possible", None),
        ("model.py:3", "'3' in target", None),
        ("", "'' is no target", "a target is"),
    ],
)
def test_bad_targets_say_what_is_wrong_and_what_to_do(project: Path, text: str, message: str, hint: str | None):
    with pytest.raises(TargetError) as caught:
        parse_target(text, cwd=project)
    assert message in caught.value.message
    if hint is not None:
        assert hint in (caught.value.hint or "")


@given(st.text(max_size=40))
def test_any_text_is_a_target_or_an_error_of_ours(text: str):
    def parse() -> str:
        try:
            return parse_target(text.replace("\0", ""), cwd=Path("/nonexistent")).module
        except ModgraphError as error:
            return error.message

    assert parse()


@pytest.mark.parametrize("text", ["x" * 5000, "x" * 5000 + ".py", "x" * 5000 + ".py:Net", "a\0b.py", "a\0b"])
def test_a_name_that_no_file_can_have_is_an_error_of_ours_and_not_repeated_in_full(project: Path, text: str):
    with pytest.raises(ModgraphError) as caught:
        find_roots(parse_target(text, cwd=project))
    assert len(caught.value.message) < 600


def test_the_ending_of_a_file_may_be_in_capitals(tmp_path: Path):
    (tmp_path / "deco.PY").write_text("")
    target = parse_target("deco.PY:Net", cwd=tmp_path)
    assert (target.file, target.module, target.name) == (tmp_path / "deco.PY", "deco", "Net")


def test_a_folder_from_which_a_file_imports_relatively_is_a_package(tmp_path):
    (tmp_path / ".git").mkdir()
    folder = tmp_path / "lib" / "nets"
    folder.mkdir(parents=True)
    near = folder / "near.py"
    near.write_text("def f():\n    from .parts import Part\n")
    assert import_name(near) == (folder.parent, "nets.near")
    far = folder / "far.py"
    far.write_text('"""\nfrom ...far import away\n"""\nfrom ..parts import Part\n')
    assert import_name(far) == (tmp_path, "lib.nets.far")
    either = folder / "either.py"
    either.write_text("try:\n    from .parts import Part\nexcept ImportError:\n    from parts import Part\n")
    assert import_name(either) == (folder, "either")
    beyond = tmp_path / "beyond.py"
    beyond.write_text("from ..outside import Part\n")
    assert import_name(beyond) == (tmp_path, "beyond")  # it cannot be imported, and what is above is another's


def test_a_folder_that_a_file_names_in_its_imports_is_a_package(tmp_path):
    (tmp_path / ".git").mkdir()
    folder = tmp_path / "src" / "nets" / "inner"
    folder.mkdir(parents=True)
    (folder / "parts.py").write_text("WIDTH = 3\n")
    net = folder / "nets.py"  # called like the package: found first where the file's own folder is the root
    net.write_text("import torch.nn\nfrom nets.inner.parts import WIDTH\n")
    assert import_name(net) == (tmp_path / "src", "nets.inner.nets")
    for text in ("from nets.other import WIDTH\n", "import nets\n", "from torch.inner import nets\n"):
        net.write_text(text)  # there is no such file in the folder
        assert import_name(net) == (folder, "nets")


def test_a_file_called_as_the_folder_from_which_it_imports_is_traced(tmp_path):
    (tmp_path / ".git").mkdir()
    folder = tmp_path / "nets" / "inner"
    folder.mkdir(parents=True)
    (folder / "parts.py").write_text("WIDTH = 3\n")
    text = (
        "from torch import nn\nfrom nets.inner.parts import WIDTH\n\n\nclass Net(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.last = nn.Linear(4, WIDTH)\n\n"
        "    def forward(self, x):\n        return self.last(x)\n"
    )
    (folder / "nets.py").write_text(text)
    graph = modgraph.analyze(str(folder / "nets.py"))
    assert graph.complete
    assert graph.model.parameters == 15


def test_a_file_of_a_package_that_imports_as_a_script_is_traced(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "__init__.py").write_text("")
    (tmp_path / "core" / "partsbeside.py").write_text("WIDTH = 3\n")
    text = (
        "from torch import nn\nfrom partsbeside import WIDTH\n\n\nclass Net(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.last = nn.Linear(4, WIDTH)\n\n"
        "    def forward(self, x):\n        return self.last(x)\n"
    )
    (tmp_path / "core" / "net.py").write_text(text)
    graph = modgraph.analyze(str(tmp_path / "core" / "net.py"))
    assert graph.complete
    assert graph.model.parameters == 15


def test_what_a_folder_around_has_is_found_where_scripts_are_started_in_it(tmp_path):
    (tmp_path / ".git").mkdir()
    for folder in ("sub/nets", "sub/parts", "other/parts"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "sub" / "parts" / "widths.py").write_text("WIDTH = 3\n")
    (tmp_path / "other" / "parts" / "widths.py").write_text("WIDTH = 4\n")
    text = (
        "from torch import nn\nfrom parts.widths import WIDTH\n\n\nclass Net(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.last = nn.Linear(4, WIDTH)\n\n"
        "    def forward(self, x):\n        return self.last(x)\n"
    )
    (tmp_path / "sub" / "nets" / "net.py").write_text(text)
    graph = modgraph.analyze(str(tmp_path / "sub" / "nets" / "net.py"))
    assert graph.complete
    assert graph.model.parameters == 15


def test_a_model_that_imports_relatively_from_a_folder_without_init_is_traced(tmp_path):
    (tmp_path / ".git").mkdir()
    folder = tmp_path / "nets"
    folder.mkdir()
    (folder / "parts.py").write_text("from torch import nn\nWIDTH = 3\n\ndef make():\n    return nn.Linear(4, WIDTH)\n")
    text = (
        "from torch import nn\nfrom .parts import make\n\n\nclass Net(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.last = make()\n\n    def forward(self, x):\n        return self.last(x)\n"
    )
    (folder / "net.py").write_text(text)
    graph = modgraph.analyze(str(folder / "net.py"))
    assert graph.complete
    assert graph.traced
    assert graph.model.parameters == 15
