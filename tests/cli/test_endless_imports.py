"""A file that does not come to its end while it is imported: a script that trains, for the most part."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.needs_torch

MODELS = """
    import time
    from torch import nn

    with open("imports.txt", "a") as file:
        file.write("once\\n")

    class First(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(2, 2)
            {first}

        def forward(self, x):
            return self.fc(x)

    class Second(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(2, 3)

        def forward(self, x):
            return self.fc(x)

    {last}
    """


def run(
    folder: Path, modgraph, first: str = "pass", last: str = "", status: int = 1
) -> tuple[int, dict[str, list[str]]]:
    """How often all of the file was imported, and the problems of both models."""
    (folder / "models.py").write_text(textwrap.dedent(MODELS).format(first=first, last=last))
    done = modgraph("analyze", "models.py", "--timeout", "4", "--format", "json", "-o", "out", cwd=folder)
    assert done.returncode == status, done.stderr
    texts = {name: json.loads((folder / "out" / f"{name}.json").read_text()) for name in ("First", "Second")}
    assert all([node["path"] for node in text["modules"]] == ["", "fc"] for text in texts.values())
    return len((folder / "imports.txt").read_text().splitlines()), {
        name: [problem["message"] for problem in text["problems"]] for name, text in texts.items()
    }


def test_its_models_are_traced_with_what_they_need_and_it_is_waited_for_once(tmp_path: Path, modgraph) -> None:
    imports, problems = run(tmp_path, modgraph, last="time.sleep(600)")
    assert imports == 1
    for (problem,) in problems.values():  # the file to which the imports are written is written into no more
        assert problem.startswith("left out")
        assert problem.endswith("as it calls open")
    for name in problems:
        model = json.loads((tmp_path / "out" / f"{name}.json").read_text())["model"]
        (endless,) = [each for each in model["left_out"] if each["error"] is not None]
        assert endless["error"].startswith("did not end within")
        assert (tmp_path / "models.py").read_text().splitlines()[endless["line"] - 1] == "time.sleep(600)"


def test_where_the_models_need_what_does_not_end_it_is_imported_once_for_all(tmp_path: Path, modgraph) -> None:
    imports, problems = run(tmp_path, modgraph, first="self.size = SIZE", last="SIZE = time.sleep(600)")
    assert imports == 1
    assert "while importing models.py" in problems["First"][0]
    assert "models.py is not imported once more" in problems["Second"][0]


def test_a_model_that_is_not_built_in_time_says_nothing_of_the_others(tmp_path: Path, modgraph) -> None:
    imports, problems = run(tmp_path, modgraph, first="time.sleep(600)")
    assert imports == 2
    assert len(problems["First"]) == 1
    assert problems["Second"] == []
