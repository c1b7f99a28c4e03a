"""What Python warns of in a source is neither shown, where it could act on a terminal, nor an error."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest

from modgraph.source.quiet import literal_value, python_tree

PACKAGE = Path(__file__).parents[2] / "modgraph"
WARNED = '''from torch import nn
X = "\\d \x1b[31mred"
Y = 1if X else 2
class Net(nn.Module):
    """\\d \x1b[31mred"""
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, len("\\d \x1b[31mred"))
'''


@pytest.mark.parametrize("action", ["default", "error", "always"])
def test_a_prediction_in_a_live_python_shows_no_warning(tmp_path: Path, action: str) -> None:
    (tmp_path / "model.py").write_text(WARNED)
    with pytest.warns((SyntaxWarning, DeprecationWarning)):
        compile(WARNED, "model.py", "exec")
    asked = (
        "import warnings; warnings.resetwarnings(); warnings.simplefilter('ignore'); import modgraph; "
        f"warnings.resetwarnings(); warnings.simplefilter({action!r}); "
        "graph = modgraph.predict('model.py:Net'); print(graph.complete, graph.modules[1].parameters[0].shape)"
    )
    done = subprocess.run(
        [sys.executable, "-c", asked],
        cwd=tmp_path,
        env={"PYTHONPATH": str(PACKAGE.parent)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    width = len("\\d \x1b[31mred")
    assert (done.stdout, done.stderr) == (f"True ({width}, 2)\n", "")


def test_warnings_of_others_remain() -> None:
    python_tree('x = "\\d"')
    with pytest.warns((SyntaxWarning, DeprecationWarning)):
        ast.parse('x = "\\d"')


def test_filters_do_not_grow_and_stay_first() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        python_tree('x = "\\d"')
        number = len(warnings.filters)
        threads = [threading.Thread(target=lambda: [python_tree('x = "\\d"') for _ in range(50)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(warnings.filters) == number
        warnings.simplefilter("error")
        assert literal_value('"\\d"') == "\\d"


def test_an_error_names_the_file_that_was_meant() -> None:
    with pytest.raises(SyntaxError) as told:
        python_tree("x = = 1", "model.py")
    assert told.value.filename == "model.py"


ROUND = {"ast.parse", "ast.literal_eval", "compile", "builtins.compile", "codeop.compile_command"}
WORDS = {"evaluated_value", *(name.rpartition(".")[2] for name in ROUND)}
"""One of these stands in a file that goes round."""


def called(call: ast.Call) -> str:
    return str(getattr(call.func, "attr", None) or getattr(call.func, "id", ""))


def test_nobody_goes_round() -> None:
    """`ast.literal_eval` may be given a tree; a text, or what may be one, is for `literal_value`."""
    found = []
    for file in sorted(PACKAGE.rglob("*.py")):
        if file.name == "quiet.py" or "torch_stubs" in file.parts:
            continue
        text = file.read_text(encoding="utf-8")
        if WORDS.isdisjoint(re.findall(r"\w+", text)):
            continue  # to parse all takes seconds
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Attribute) and node.attr == "evaluated_value":
                found.append(f"{file.name}:{node.lineno}")
            if isinstance(node, ast.Call) and called(node) in WORDS and ast.unparse(node.func) in ROUND:
                of_a_tree = ast.unparse(node.args[0]) in ("statement.value", "node")
                if not (of_a_tree and ast.unparse(node.func) == "ast.literal_eval"):
                    found.append(f"{file.name}:{node.lineno}")
    assert found == []
