"""The figures of the house: `python tests/tools/house_figures.py` prints them as a table for docs/architecture.md.

    python tests/tools/house_figures.py [--cases FOLDER] [--path FOLDER]

Lines, circles and arrows are counted in the sources; the models with one flag that nobody can tell are those of
`tests/prediction/test_undecided_*.py`, of which the false ones stand there by name. The recorded constructor calls in
files `*.class.jsonl.xz` below `--cases`, whose packages lie below `--path`, are predicted with an empty cache: minutes.
"""

from __future__ import annotations

import argparse
import os
import resource
import runpy
import subprocess
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
        false += sum(map(len, held.get("FALSE", {}).values()))
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


def libcst_importers() -> list[str]:
    """Modules of the package that import libcst."""
    graph = grimp.build_graph("modgraph", include_external_packages=True, cache_dir=None)
    return sorted(graph.find_modules_that_directly_import("libcst"))


def of_children(command: list[str], folder: Path, **environment: str) -> float:
    """Seconds of CPU of a command and all that it starts."""

    def used() -> float:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return children.ru_utime + children.ru_stime

    before = used()
    search = os.pathsep.join(filter(None, [str(ROOT), environment.pop("PYTHONPATH", "")]))
    subprocess.run(
        command, cwd=folder, env={**os.environ, "PYTHONPATH": search, **environment}, check=True, capture_output=True
    )
    return used() - before


def small_prediction() -> tuple[float, float]:
    """Seconds of CPU of a process that predicts a model of one file: with nothing kept, and once it is."""
    command = [sys.executable, "-c", "import modgraph; assert modgraph.predict('walked.py:Net').complete"]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "walked.py").write_text(WALKED, encoding="utf-8")
        cold, *warm = (of_children(command, Path(folder), MODGRAPH_CACHE=f"{folder}/kept") for _ in range(6))
    return cold, min(warm)


def recorded_calls(cases: Path, path: list[str]) -> float:
    """Seconds of CPU of predicting each recorded constructor call."""
    command = [sys.executable, str(ROOT / "tests" / "oracle" / "score_cases.py"), "class"]
    command += [str(file.resolve()) for file in sorted(cases.glob("*.class.jsonl.xz"))]
    for each in path:
        command += ["--path", each]
    return of_children(command, ROOT, MODGRAPH_CACHE="off")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=Path, help="a folder of recorded constructor calls")
    parser.add_argument("--path", action="append", default=[], help="a folder on which packages are found")
    options = parser.parse_args()
    found = imports()
    cold, warm = files_passed()
    models, false = undecided()
    rows = [
        ("Python lines in `modgraph/` without stubs", f"{lines():,}"),
        ("modules of the prediction that import each other in circles", len(in_circles(found))),
        ("imports of the prediction that run up, of all", f"{upwards(found)} of {sum(map(len, found.values())):,}"),
        ("files passed by `self.conv = nn.Conv2d(cfg.width, 8, 3)`, the first time and the second", f"{cold}, {warm}"),
        ("files that import libcst", f"{len(libcst_importers())}"),
        ("models with one flag nobody can tell, answered falsely", f"{false} of {models}"),
        (
            "a process that predicts a small file, s of CPU: nothing kept, and kept",
            "{:.2f}, {:.2f}".format(*small_prediction()),
        ),
    ]
    if options.cases:
        rows.append(("recorded constructor calls, s of CPU", f"{recorded_calls(options.cases, options.path):.0f}"))
    print("| | |\n| --- | --: |")
    for name, figure in rows:
        print(f"| {name} | {figure} |")


if __name__ == "__main__":
    main()
