"""The figures of the house: `python tests/tools/house_figures.py` prints them as a table for docs/architecture.md.

Lines, circles and arrows are counted in the sources; the models with one flag that nobody can tell are those of
`tests/prediction/test_undecided_*.py`, of which the false ones stand there by name. What takes long is measured by
commands of its own: `tests/oracle/accuracy.py`, `tests/benchmarks/`.
"""

from __future__ import annotations

import runpy
import sys
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


def main() -> None:
    found = imports()
    models, false = undecided()
    rows = [
        ("Python lines in `modgraph/` without stubs", f"{lines():,}"),
        ("modules of the prediction that import each other in circles", len(in_circles(found))),
        ("imports of the prediction that run up, of all", f"{upwards(found)} of {sum(map(len, found.values())):,}"),
        ("models with one flag nobody can tell, answered falsely", f"{false} of {models}"),
    ]
    print("| | |\n| --- | --: |")
    for name, figure in rows:
        print(f"| {name} | {figure} |")


if __name__ == "__main__":
    main()
