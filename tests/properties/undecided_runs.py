"""What generated functions give when they run, and what is claimed of them."""

from __future__ import annotations

import contextlib
import copy
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import modgraph

_flows = runpy.run_path(str(Path(__file__).with_name("undecided_flow.py")))
undecided_flows, source = _flows["undecided_flows"], _flows["source"]
GIVEN, NET, TOPICS = _flows["GIVEN"], _flows["NET"], _flows["TOPICS"]
NAMES = ("x", "y", "acc", "d")


class TooLong(BaseException):
    """A run that does not end."""


@contextlib.contextmanager
def _ending(most: int = 20_000) -> Iterator[None]:
    """Ends what runs more than so many lines."""
    lines = 0

    def line(*_: Any) -> Any:
        nonlocal lines
        lines += 1
        if lines > most:
            raise TooLong
        return line

    before = sys.gettrace()
    sys.settrace(lambda frame, *_: line if frame.f_code.co_filename == "net.py" else None)
    try:
        yield
    finally:
        sys.settrace(before)


def outcomes(text: str) -> list[tuple[int, ...]]:
    """The widths with which `Net` is built, of each run that raises nothing."""
    try:
        code = compile(text.removesuffix(NET), "net.py", "exec")
    except SyntaxError:  # a name that is bound before it is said to be nonlocal, a jump out of `except*`
        return []
    found = []
    for given_to in GIVEN:
        namespace: dict[str, Any] = {"__name__": "net"}
        exec(code, namespace)
        try:
            with _ending():
                values = namespace["run"](*copy.deepcopy(given_to))
        except (Exception, TooLong):
            continue
        if len(values) == len(NAMES) and all(type(each) is int and each + 1 >= 0 for each in values):
            found.append(tuple(each + 1 for each in values))
    return found


def claimed(text: str, folder: Path) -> tuple[dict[str, int | None], list[str]]:
    """The width of each child that is known to be there, None where it is not known; and the messages of problems."""
    file = folder / "net.py"
    file.write_text(text, encoding="utf-8")
    graph = modgraph.predict(f"{file}:Net", path=[str(folder)], assume=False)
    widths = {}
    for node in graph.modules:
        if node.path and node.class_name == "torch.nn.modules.linear.Linear":
            shape = next((each.shape for each in node.parameters if each.name == "weight"), None)
            widths[node.path] = shape[1] if shape is not None else None
    return widths, [problem.message for problem in graph.problems]


def false_claims(text: str, folder: Path, runs: list[tuple[int, ...]] | None = None) -> list[str]:
    """What is claimed with certainty and is not so in a run that builds the model; `runs` are its outcomes, if had."""
    return judged(outcomes(text) if runs is None else runs, *claimed(text, folder))


def judged(runs: list[tuple[int, ...]], widths: dict[str, int | None], messages: list[str]) -> list[str]:
    """Which of these claims no run, or not every run, bears out."""
    false = [f"raises: {each}" for each in messages if each.startswith("raises ")]
    for position, name in enumerate(NAMES):
        real = {run[position] for run in runs}
        if name in widths and widths[name] is not None and real != {widths[name]}:
            false.append(f"{name} is {widths[name]}, and in runs {sorted(real)}")
    return false
