"""The figures of the house: `python tests/tools/house_figures.py` prints them as a table for docs/architecture.md.

Lines, circles and arrows are counted in the sources; the models with one flag that nobody can tell are those of
`tests/prediction/test_undecided_*.py`, of which the false ones stand there by name. What takes long is measured by
commands of its own: `tests/oracle/accuracy.py`, `tests/benchmarks/`.
"""

from __future__ import annotations

import os
import runpy
import sys
import tempfile
from pathlib import Path
from typing import Any

import grimp
import networkx

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PREDICTION = "modgraph.prediction"


def lines() -> int:
    """Of Python in the package, without the stubs of torch."""
    files = (each for each in (ROOT / "modgraph").rglob("*.py") if "torch_stubs" not in each.parts)
    return sum(len(each.read_text(encoding="utf-8").splitlines()) for each in files)


def imports() -> dict[str, set[str]]:
    """What each module of the prediction imports of it at run time."""
    graph = grimp.build_graph("modgraph", exclude_type_checking_imports=True, cache_dir=None)
    inside = {name for name in graph.modules if name.startswith(f"{PREDICTION}.")}
    return {name: graph.find_modules_directly_imported_by(name) & inside for name in inside}


def in_circles(found: dict[str, set[str]]) -> list[str]:
    """Modules that import each other, by any number of steps."""
    circles = networkx.strongly_connected_components(networkx.DiGraph(found))
    return sorted(name for circle in circles if len(circle) > 1 for name in circle)


def upwards(found: dict[str, set[str]]) -> int:
    """Imports of a floor that stands above."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts: list[dict[str, Any]] = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    (floors,) = (each["layers"] for each in contracts if each.get("containers") == [PREDICTION])
    height = {name.strip(): -place for place, line in enumerate(floors) for name in line.split("|")}

    def floor(module: str) -> int:
        return height[module.removeprefix(f"{PREDICTION}.").partition(".")[0]]

    return sum(floor(below) > floor(name) for name, all_below in found.items() for below in all_below)


def undecided() -> tuple[int, int]:
    """Models with one flag that nobody can tell, and how many of them are answered falsely."""
    sys.path.insert(0, str(ROOT / "tests" / "prediction"))
    models = false = 0
    for file in sorted((ROOT / "tests" / "prediction").glob("test_undecided_*.py")):
        held = runpy.run_path(str(file))
        models += len(held["CASES"])
        false += sum(map(len, held["FALSE"].values()))
    return models, false


WALKED = """
from torch import nn
class Config:
    width = 4
class Net(nn.Module):
    def __init__(self, cfg=Config()):
        super().__init__()
        self.first = nn.Conv2d(cfg.width, 8, 3)
        self.conv = nn.Conv2d(cfg.width, 8, 3)
"""


def files_passed() -> tuple[int, int]:
    """Files of the package in which a function runs for `self.conv = nn.Conv2d(cfg.width, 8, 3)`: where it is the first
    such statement of the process, and where it is the second."""
    sys.path.insert(0, str(ROOT))
    from modgraph.prediction import predict_graph
    from modgraph.prediction.code import statements
    from modgraph.source import nodes
    from modgraph.source.targets import parse_target

    passed: dict[str, set[str]] = {}
    execute_one = statements.execute_one

    def watched(machine: Any, frame: Any, statement: Any) -> Any:
        target = statement.targets[0] if isinstance(statement, nodes.Assign) else None
        if not isinstance(target, nodes.Attribute) or target.attr not in ("first", "conv") or frame.module != "walked":
            return execute_one(machine, frame, statement)
        files = passed.setdefault(target.attr, set())
        outer = sys.getprofile()
        sys.setprofile(lambda running, event, _: files.add(running.f_code.co_filename) if event == "call" else None)
        try:
            return execute_one(machine, frame, statement)
        finally:
            sys.setprofile(outer)

    statements.execute_one = watched
    try:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "walked.py").write_text(WALKED, encoding="utf-8")
            predict_graph(parse_target("walked.py:Net", cwd=Path(folder)))
    finally:
        statements.execute_one = execute_one
    ours = [{name for name in passed[each] if f"{os.sep}modgraph{os.sep}" in name} for each in ("first", "conv")]
    return len(ours[0]), len(ours[1])


def main() -> None:
    found = imports()
    cold, warm = files_passed()
    models, false = undecided()
    rows = [
        ("Python lines in `modgraph/` without stubs", f"{lines():,}"),
        ("modules of the prediction that import each other in circles", len(in_circles(found))),
        ("imports of the prediction that run up, of all", f"{upwards(found)} of {sum(map(len, found.values())):,}"),
        ("files passed by `self.conv = nn.Conv2d(cfg.width, 8, 3)`, the first time and the second", f"{cold}, {warm}"),
        ("models with one flag nobody can tell, answered falsely", f"{false} of {models}"),
    ]
    print("| | |\n| --- | --: |")
    for name, figure in rows:
        print(f"| {name} | {figure} |")


if __name__ == "__main__":
    main()
