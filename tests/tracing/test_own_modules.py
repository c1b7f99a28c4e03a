"""A module that is missing though its package is there is no package to install."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from modgraph.errors import TraceError
from modgraph.source.targets import parse_target
from modgraph.tracing.loading.importing import import_target

pytestmark = pytest.mark.needs_torch


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package `madelater`, which needs its `version`; imported from its folder, and forgotten again."""
    package = tmp_path / "madelater"
    package.mkdir()
    (package / "__init__.py").write_text("from .version import __version__\n")
    (package / "net.py").write_text("class Net: pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] == "madelater"]:
        del sys.modules[name]


def said(project: Path, file: str = "madelater/net.py") -> str:
    with pytest.raises(TraceError) as caught:
        import_target(parse_target(f"{file}:Net", cwd=project))
    return f"{caught.value.message}; {caught.value.hint}"


@pytest.mark.parametrize(
    ("file", "line", "place"),
    [
        (".gitignore", "# made\nmadelater/version.py", ".gitignore:2"),
        (".gitignore", "/madelater/version.py", ".gitignore:1"),
        (".gitignore", "version.py", ".gitignore:1"),
        ("madelater/.gitignore", "version.py", "madelater/.gitignore:1"),
        ("setup.py", "write('madelater/version.py')", "setup.py:1"),
        ("pyproject.toml", '[tool.setuptools_scm]\nwrite_to = "madelater/version.py"', "pyproject.toml:2"),
    ],
)
@pytest.mark.parametrize("repository", [True, False])
def test_a_file_that_the_project_makes_itself(
    project: Path, file: str, line: str, place: str, repository: bool
) -> None:
    (project / file).write_text(line)
    if repository:
        (project / ".git").mkdir()
    told = said(project)
    assert f"needs madelater.version, a module of the project itself that is not in this checkout: {place}" in told
    assert "not installed" not in told
    assert "pip install -e ." in told


def test_a_file_of_which_nothing_is_said(project: Path) -> None:
    (project / ".gitignore").write_text("*.py\n*.pyc\n!madelater/version.py\nbuild/")
    told = said(project)
    assert "needs madelater.version, and the package madelater, which is here (" in told
    assert "has no such module" in told


def test_a_module_beside_the_file_that_git_ignores(project: Path) -> None:
    (project / "net.py").write_text("import secrets_of_tests\nclass Net: pass\n")
    (project / ".gitignore").write_text("secrets_of_tests.py\n")
    assert "a module of the project itself that is not in this checkout: .gitignore:1" in said(project, "net.py")


def test_a_package_that_is_not_there_is_to_be_installed(project: Path) -> None:
    (project / "net.py").write_text("import missing_of_tests.sub\nmissing_of_tests.sub.use()\nclass Net: pass\n")
    assert "needs missing_of_tests, which is not installed here; install missing_of_tests" in said(project, "net.py")


@pytest.mark.parametrize(
    ("file", "text", "is_own"),
    [
        ("pyproject.toml", '[project]\nname = "x"\ndependencies = [\n  "notinstalledhere",\n]\n', False),
        ("setup.py", "setup(install_requires=['notinstalledhere'])\n", False),
        ("setup.py", "setup(ext_modules=[CUDAExtension('notinstalledhere', ['a.cu'])])\n", True),
    ],
)
def test_a_dependency_is_no_module_that_the_project_makes(project: Path, file: str, text: str, is_own: bool) -> None:
    (project / file).write_text(text)
    (project / "alone.py").write_text("import notinstalledhere as n\nclass Net(n.Net): pass\n")
    told = said(project, "alone.py")
    assert ("a module of the project itself" in told) == is_own
    assert ("which is not installed here" in told) == (not is_own)
