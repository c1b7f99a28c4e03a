"""Writes docs/accuracy.md: what the prediction gets right of recorded constructor calls and whole models, and why not all.

    python tests/oracle/accuracy.py --cases FOLDER [FOLDER ...] [--beside FOLDER ...] [--path FOLDER] -o docs/accuracy.md

A folder holds files PACKAGE.class.jsonl.xz and PACKAGE.builder.jsonl.xz, as `record_cases.py` writes them. Those below
`--cases` were looked at while the prediction was built; those below `--beside` are of libraries that it was not built
with, and the gap between both is reported. `--sweep FILE` adds the figures of `robustness_sweep.py --json FILE`, and
`--drawn FILE`, `--forward FILE` and `--branches FILE` the tables of `draw_static.py`, `forward_calls.py` and
`forward_branches.py -o FILE`.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import random
import re
import runpy
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SCORER = runpy.run_path(str(HERE / "score_cases.py"))
# One package at a time, in a process whose time and memory the system counts.
MEASURED = "import resource, subprocess, sys; status = subprocess.call(sys.argv[1:]); used = resource.getrusage(resource.RUSAGE_CHILDREN); print(used.ru_utime + used.ru_stime, used.ru_maxrss // 1024); sys.exit(status)"


@dataclass
class Scored:
    """One package at one level."""

    package: str
    level: str
    total: Counter[str] = field(default_factory=Counter)
    with_children: Counter[str] = field(default_factory=Counter)
    by_class: dict[str, Counter[str]] = field(default_factory=dict)
    causes: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    megabytes: int = 0


def scored(file: Path, path: list[str], sample: int | None) -> Scored:
    """The figures of one file of cases."""
    package, level = file.name.split(".")[:2]
    rows = SCORER["read"](file)
    if sample is not None and sample < len(rows):
        rows = random.Random(0).sample(rows, sample)
    result = Scored(package, level)
    found = predicted(rows, path, result)
    for row in rows:
        answer = found.get(row["id"], {})
        one = SCORER["score"](row, answer, level)
        result.total.update(one)
        if level == "class":
            result.by_class.setdefault(row["class"], Counter()).update(one)
        if row.get("children"):
            result.with_children.update(one)
        cause = cause_of(one, answer)
        if cause:
            result.causes[cause] += 1
    return result


def predicted(rows: list[dict[str, Any]], path: list[str], result: Scored) -> dict[str, dict[str, Any]]:
    """The bridge's answers by id; its time and memory are noted."""
    asked = ("id", "class", "args", "varargs", "varkw", "entry")
    with tempfile.TemporaryDirectory() as folder:
        questions, out = Path(folder, "questions.jsonl"), Path(folder, "answers.jsonl")
        questions.write_text(
            "".join(json.dumps({k: row[k] for k in asked if k in row}) + "\n" for row in rows), "utf-8"
        )
        command = [sys.executable, str(HERE / "zoo_bridge.py"), str(questions), str(out)]
        places = [str(HERE.parents[1]), *path, *filter(None, [os.environ.get("PYTHONPATH", "")])]
        done = subprocess.run(
            [sys.executable, "-c", MEASURED, *command], check=True, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(places), "MODGRAPH_CACHE": "off"},
        )  # fmt: skip
        seconds, megabytes = done.stdout.split()[-2:]
        result.seconds, result.megabytes = float(seconds), int(megabytes)
        return {row["id"]: row for row in map(json.loads, out.read_text("utf-8").splitlines())}


# ---- causes ----------------------------------------------------------------------------------------------------------

CAUSES = (
    (r"more than .* (seconds|steps|turns|items|objects|characters)|larger than|too deep|recursi", "a limit was reached"),
    (r"not found|no source|not on the (search )?path|cannot be read|no attribute", "a module or name has no source on the path"),
    (r"registers is not known|registr|fill", "what a registry holds is not known"),
    (r"os\.environ|environ|depends on|available|version", "the answer depends on the machine it runs on"),
    (r"raises|raised", "the code raises, as far as can be told"),
    (r"not given|not recorded|given module", "the record does not say what an argument was"),
    (r"random", "a random value decides"),
    (r"tensor|element|dtype|shape|value of", "the values of a tensor decide"),
    (r"not interpreted|not followed|not modelled|is not known to", "a function or construct is not interpreted"),
    (r"internal error", "a fault of the interpreter"),
)  # fmt: skip
"""The first pattern that a reason's text meets names its cause. Names, numbers and places are no part of the patterns, so
that the same kind of reason is one cause in every library."""


def cause_of(one: Counter[str], answer: dict[str, Any]) -> str:
    """Why a case is not right in all that was scored; "" where it is."""
    if one["wrong"]:
        return "**wrong**: something claimed is false"
    if one["exact"]:
        state = one["answered"] and not (one["parameters"] and one["buffers"])
        return "children exact, a parameter or buffer not" if state else ""
    reason = answer.get("why") or "nothing is said"
    return next((name for pattern, name in CAUSES if re.search(pattern, reason)), f"other: {nameless(reason)}")


def nameless(reason: str) -> str:
    """The text of a reason with an ellipsis for every name, number, path and piece of code in it."""
    text = re.sub(r"'[^']*'|`[^`]*`|\"[^\"]*\"|\S*[/.]\w\S*|\S*\d\S*|\w*_\w*|\b\w+[A-Z]\w*", "…", reason)
    return re.sub(r"…([\s,]*…)+", "…", text)[:80]


# ---- the page --------------------------------------------------------------------------------------------------------


def percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.2f}" if whole else ""


def figures(found: Counter[str]) -> list[str]:
    cases = found["cases"]
    shares = [percent(found[key], cases) for key in ("exact", "names", "wrong", "unknown")]
    return [f"{cases:,}", *shares, percent(found["right"], found["claimed"]), percent(found["right"], found["nodes"])]


def line(*cells: object) -> str:
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def class_table(results: list[Scored]) -> list[str]:
    lines = [
        line("package", "cases", "exact", "names", "wrong", "unknown", "precision", "recall", "exact, with children",
             "exact, each class alike", "parameters", "buffers", "seconds", "MB"),
        "|---|" + "--:|" * 13,
    ]  # fmt: skip
    lines += [
        line(one.package, *figures(one.total), *class_extras(one), f"{one.seconds:.1f}", one.megabytes)
        for one in results
    ]
    lines.append(line("**all**", *figures(joined(results).total), *class_extras(joined(results)), *cost(results)))
    return lines


def class_extras(one: Scored) -> list[str]:
    alike = sum(found["exact"] / found["cases"] for found in one.by_class.values())
    answered = one.total["answered"]
    return [
        percent(one.with_children["exact"], one.with_children["cases"]),
        percent(alike, len(one.by_class)),
        percent(one.total["parameters"], answered),
        percent(one.total["buffers"], answered),
    ]


def builder_table(results: list[Scored]) -> list[str]:
    titles = ("package", "cases", "exact", "names", "wrong", "unknown", "precision", "recall", "seconds", "MB")
    lines = [line(*titles), "|---|" + "--:|" * (len(titles) - 1)]
    lines += [line(one.package, *figures(one.total), f"{one.seconds:.1f}", one.megabytes) for one in results]
    return [*lines, line("**all**", *figures(joined(results).total), *cost(results))]


def joined(results: list[Scored]) -> Scored:
    """All packages as one."""
    total = Scored("all", results[0].level if results else "class")
    for one in results:
        total.total.update(one.total)
        total.with_children.update(one.with_children)
        total.causes.update(one.causes)
        total.by_class.update(one.by_class)
    return total


def cost(results: list[Scored]) -> tuple[str, int]:
    return f"{sum(one.seconds for one in results):.1f}", max((one.megabytes for one in results), default=0)


def gap(dev: list[Scored], beside: list[Scored]) -> list[str]:
    lines = ["| level | exact, looked at | exact, beside | gap in points | wrong, beside |", "|---|--:|--:|--:|--:|"]
    for level in ("class", "builder"):
        ours = joined([one for one in dev if one.level == level]).total
        theirs = joined([one for one in beside if one.level == level]).total
        if ours["cases"] and theirs["cases"]:
            shares = [100 * found["exact"] / found["cases"] for found in (ours, theirs)]
            lines.append(
                line(
                    level,
                    *(f"{share:.2f}" for share in shares),
                    f"{shares[0] - shares[1]:.2f}",
                    percent(theirs["wrong"], theirs["cases"]),
                )
            )
    return lines


def causes(results: list[Scored]) -> list[str]:
    lines = [
        line("cause", *(f"{one.package}, {one.level}" for one in results), "all"),
        "|---|" + "--:|" * (len(results) + 1),
    ]
    total = joined(results).causes
    for cause, count in sorted(total.items(), key=lambda entry: (-entry[1], entry[0])):
        lines.append(line(cause, *(one.causes[cause] or "" for one in results), count))
    return lines if total else ["Every case is exact."]


def versions(packages: list[str], path: list[str]) -> str:
    found = []
    for package in dict.fromkeys(["torch", *packages]):
        places = {"path": [*path, *sys.path]}
        known = next(iter(importlib.metadata.distributions(name=package, **places)), None)
        known = known or next(iter(importlib.metadata.distributions(name=package.replace("_", "-"), **places)), None)
        found.append(f"{package} {known.version if known else '(version not known)'}")
    return ", ".join(found)


def sweep_lines(file: Path) -> list[str]:
    lines = [
        "| sources | classes | graphs | no modules | faults | slowest, s | seconds | MB |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for one in json.loads(file.read_text("utf-8")):
        n_classes = one["predicted"] + one["refused"] + sum(" took " not in fault for fault in one["faults"])
        lines.append(line(one["package"], f"{n_classes:,}", f"{one['predicted']:,}", f"{one['refused']:,}",
                          len(one["faults"]), f"{one['slowest'][0]:.1f}", f"{one['seconds']:.0f}", one["megabytes"]))  # fmt: skip
    return lines


def page(dev: list[Scored], beside: list[Scored], options: argparse.Namespace) -> str:
    names = [one.package for one in (*dev, *beside)]
    parts = [
        INTRODUCTION.format(versions=versions(names, options.path), python=platform.python_version()),
        ""
        if options.sample is None
        else f"Only a sample: {options.sample} cases of each file, drawn with a fixed seed.\n",
    ]
    for title, results in (("The libraries that were looked at", dev), ("Libraries beside", beside)):
        for level, table in (("class", class_table), ("builder", builder_table)):
            chosen = [one for one in results if one.level == level and one.total["cases"]]
            if chosen:
                what = "one constructor call" if level == "class" else "a whole model, its full tree"
                parts.append(f"## {title}: {what}\n\n" + "\n".join(table(chosen)) + "\n")
    if beside and dev:
        parts.append("## The gap\n\n" + "\n".join(gap(dev, beside)) + "\n")
    parts.append(CAUSES_TEXT + "\n".join(causes(dev)) + "\n")
    if beside:
        levels = [joined([one for one in beside if one.level == level]) for level in ("class", "builder")]
        parts.append("The same of the libraries beside:\n\n" + "\n".join(causes(levels)) + "\n")
    if options.sweep:
        parts.append(SWEEP_TEXT + "\n".join(sweep_lines(options.sweep)) + "\n")
    if options.drawn:
        parts.append(DRAWN_TEXT + options.drawn.read_text("utf-8").strip() + "\n")
    if options.forward:
        parts.append(FORWARD_TEXT + options.forward.read_text("utf-8").strip() + "\n")
    if options.branches:
        parts.append(BRANCHES_TEXT + options.branches.read_text("utf-8").strip() + "\n")
    return "\n".join(part for part in parts if part)


INTRODUCTION = """# Accuracy of the prediction

What `modgraph.predict` says of published models, against what their constructors registered when they were run. This
page is written by a command; the packages' sources are read, nothing of them is imported.

```
python tests/oracle/record_cases.py --help                             # records cases: runs constructors, needs torch
python tests/oracle/robustness_sweep.py torch.nn torchvision transformers stdlib --json sweep.json
python tests/oracle/draw_static.py -o drawn.md                         # static graphs of samples and torchvision, drawn
python tests/oracle/forward_branches.py written torchvision timm transformers -o branches.md   # ways through forward; needs torch
python tests/oracle/forward_calls.py torchvision:121 timm:150 transformers:120 LIBRARY ... files -o forward.md   # calls of forward; needs torch
python tests/oracle/accuracy.py --cases DEV --beside OTHERS --sweep sweep.json --drawn drawn.md --forward forward.md --branches branches.md -o docs/accuracy.md
```

Python {python}; {versions}. Recorded cases are no part of the project: they hold nothing that recording them again
would not give.

- *exact*: every name, order and type is right. *names*: names and order are.
- *wrong*: at least one child that is not there, is missing without having been called unknown, is of another type, or
  out of order. *unknown*: less than everything, and nothing false. Unknown is an answer; wrong is a defect.
- *precision*: right nodes of those claimed with a type; *recall*: right nodes of those recorded.
- *with children*: without the cases that register none. *each class alike*: whatever its number of cases.
- *parameters*, *buffers*: of the cases answered, names, order and shapes all right (of buffers, persistence too).
- Seconds are CPU time with an empty cache, MB the peak, of one process per row.
"""
CAUSES_TEXT = """## Why not all

Every case that is not exact, by the cause of its first unknown: the text of the reason decides, by a short list of
patterns (`CAUSES` in `tests/oracle/accuracy.py`) that contain no names of libraries or classes. What meets none of them
stands as *other*, its text without names.

"""
SWEEP_TEXT = """## Robustness

Every class that can be named from outside, in the sources below, predicted without arguments. A fault is an exception
of ours, or a prediction beyond its limits.

"""
FORWARD_TEXT = """## Calls of forward

Each model is built and run by torch, with an ear on every call, and followed by the prediction, which is told the same inputs.

- *exact*: all calls, in order and nesting; *prefix*: right as far as they go, and from there on it is said why nothing is known;
  *wrong*: anything else. *no run*: torch does not build or run it here, mostly as a package is not installed.
- *shapes*: of the outputs of calls that are told. *edges*: ways of data from calls, inputs and parameters to calls and outputs,
  through any operations, of models that are exact, against a trace; *missed* are in the trace alone, *wrong* in the prediction alone.
- Those of `forward_beside.txt` are of libraries that were not looked at while `forward` was built. At first look none of
  three models of vit_pytorch was exact, all for one function: einops asks for the classes that are derived from one. With that known, the
  others had 58 of 64 models exact, 6,888 shapes right, 1,291 unknown and 0 wrong, and of 8,325 edges 99 missed and 6 wrong; the causes
  (arrays of whole numbers that are divided, `torch.jit.isinstance`, `super().forward(x)` in classes made of torch's layers, functions of
  autograd, parts of torch.linalg) were then closed as classes, and the table is of after.

"""
BRANCHES_TEXT = """## The ways through forward

Each model is predicted once, without being told its options: arguments of `forward` or of the constructor, whether it trains.
Then torch runs it under every setting, with an ear on every call.

- *covered*: some arm of each branch that is predicted, and some number of turns of each loop, gives all calls of the run, with
  path, nesting and order, and the run does all that is certain. Models are counted by the worst of their runs.
- *open*: the same only by way of something of which the prediction says that it does not know what it calls.
- *missed*: a run has a call that no arm has; *invented*: it does not make one that is certain.
- *shapes*: of the outputs of calls in covered and open runs. *faults in graphs*: calls of runs that the graph for users has not,
  where only flags and the mode are chosen, or certain ones of that graph that the usual run does not make.

"""

DRAWN_TEXT = """## Static graphs as pictures

"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--beside", nargs="*", type=Path, default=[], metavar="FOLDER")
    parser.add_argument("--path", action="append", default=[], help="a folder on which packages are found")
    parser.add_argument("--only", default="", help="regular expression on the name of the file of cases")
    parser.add_argument("--sample", type=int, help="only so many cases of each file")
    parser.add_argument("--sweep", type=Path, help="figures of the robustness sweep")
    parser.add_argument("--drawn", type=Path, help="figures of the static graphs that were drawn")
    parser.add_argument("--forward", type=Path, help="the tables of forward_calls.py")
    parser.add_argument("--branches", type=Path, help="the tables of forward_branches.py")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    groups: list[list[Scored]] = []
    for folders in (options.cases, options.beside):
        files = sorted(
            file for folder in folders for file in folder.glob("*.jsonl.xz") if re.search(options.only, file.name)
        )
        groups.append([])
        for file in files:
            groups[-1].append(scored(file, options.path, options.sample))
            print(f"{file.name}: {groups[-1][-1].seconds:.1f} s", file=sys.stderr, flush=True)
    options.output.write_text(page(*groups, options), "utf-8")


if __name__ == "__main__":
    main()
