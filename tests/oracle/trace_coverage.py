"""How many models of real libraries are traced without a word from the user, and whether what is recorded is true.

    python tests/oracle/trace_coverage.py torchvision:80 timm:100 transformers:80 --path FOLDER -o docs/coverage.md

Each model is built without weights (fake) first, in a process of its own; inputs are inferred. One below the limit of
parameters is then built for real, with random weights, and run: its calls are compared with what hooks set by this
script saw, and the recorded graph is run again from its edges (`verify`). `--path` is where libraries lie that are
installed without their dependencies.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import resource
import runpy
import select
import signal
import sys
import time
import traceback
import warnings
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

MOST_PARAMETERS = 100_000_000
"""Of a model that is run for real in any case."""
MOST_REAL_PARAMETERS = 1_000_000_000
"""Of one that is run for real, as it is, where values decide; a larger one has fewer layers then."""
MOST_MEMORY = 8 * 2**30
"""Bytes of data in the process of one model."""
SECONDS = 600
"""That one model may take, built and run twice."""
ONCE = False
"""Small models are run for real alone."""
OTHER_PART = "## Files of research groups"
"""What follows in the page is written by `public_files.py`, and stays."""
KINDS = ("fake", "real", "large")
HERE = Path(__file__).resolve()


# ---- which models ----------------------------------------------------------------------------------------------------


def evenly(names: list[str], count: int) -> list[str]:
    """`count` of the names, spread over the whole list."""
    return [names[position * len(names) // count] for position in range(min(count, len(names)))]


def names_of(library: str) -> list[str]:
    """The models of one library: all that it can name, in order."""
    if library == "torchvision":
        models = importlib.import_module("torchvision.models")
        return sorted(models.list_models(module=models))
    if library == "timm":
        return sorted(importlib.import_module("timm").list_models())
    mapping = importlib.import_module("transformers.models.auto.modeling_auto").MODEL_MAPPING_NAMES
    flat = [name for value in mapping.values() for name in ([value] if isinstance(value, str) else value)]
    return sorted(dict.fromkeys(flat))


def built(library: str, name: str, *, reduced: bool = False) -> Any:
    """The model, from its defaults; `reduced` has fewer layers and experts, for what is too large for the machine."""
    if library == "torchvision":
        options = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
        return importlib.import_module("torchvision.models").get_model(name, weights=None, **options)
    if library == "timm":
        return importlib.import_module("timm").create_model(name, pretrained=False)
    kind = getattr(importlib.import_module("transformers"), name)
    config = kind.config_class()
    if reduced:
        reduce(config)
    return kind(config)


def reduce(config: Any) -> None:
    """Counts of layers and of experts in a configuration, and in those inside it, as small as they make sense."""
    for key, value in list(vars(config).items()):
        most = 2 if re.search(r"layers$|^depth$", key) else 8 if re.search(r"experts$", key) else None
        if most is not None and type(value) is int and value > most:
            setattr(config, key, most)
        elif hasattr(value, "to_dict"):
            reduce(value)


# ---- one model -------------------------------------------------------------------------------------------------------


def seen_by_hooks(model: Any, args: Any, kwargs: Any) -> list[str]:
    """The modules in the order in which they are called, by hooks on each."""
    import torch

    calls: list[str] = []
    handles = [
        module.register_forward_pre_hook(lambda *_, path=path: calls.append(path))
        for path, module in model.named_modules()
        if not isinstance(module, torch.jit.ScriptModule)
    ]
    try:
        with torch.no_grad():
            model(*args, **kwargs)
    finally:
        for handle in handles:
            handle.remove()
    return calls


def traced_fake(library: str, name: str, *, build_only: bool = False) -> dict[str, Any]:
    """Built and traced without weights: whether it is complete, and its calls against hooks."""
    import torch

    from modgraph.inputs.making import make_inputs
    from modgraph.options import TraceOptions
    from modgraph.tracing import trace_graph
    from modgraph.tracing.faking import fake
    from modgraph.tracing.faking.caches import nothing_fake_remembered

    mode = fake.new_mode()
    try:
        model = fake.build(lambda: built(library, name), mode).eval()
    except Exception as error:
        return {"complete": False, "not_built": f"{type(error).__name__}: {error}"[:200]}
    row: dict[str, Any] = {"parameters": sum(p.numel() for p in model.parameters())}
    if build_only and row["parameters"] <= MOST_PARAMETERS:
        return row
    inputs = make_inputs(model, [], None, TraceOptions(device="fake"), fake_mode=mode)
    row["tries"] = inputs.tries
    with nothing_fake_remembered(), fake.running(mode), torch.no_grad():
        graph = trace_graph(model, inputs.args, inputs.kwargs, TraceOptions(device="fake"))
        row["complete"] = graph.complete
        row["problem"] = graph.problems[0].message if graph.problems else None
        if graph.complete:
            row["calls_agree"] = calls_of(graph) == seen_by_hooks(model, inputs.args, inputs.kwargs)
    return row


def calls_of(graph: Any) -> list[str]:
    registered = {node.path for node in graph.modules if node.registered}
    return [call.module for call in graph.calls if not call.direct and call.module in registered]


def traced_real(library: str, name: str, *, reduced: bool = False) -> dict[str, Any]:
    """Built with weights and run: complete, calls against hooks, and run again from its edges."""
    import torch

    from modgraph.inputs.making import make_inputs
    from modgraph.options import TraceOptions
    from modgraph.tracing import trace_graph

    torch.manual_seed(0)
    model = built(library, name, reduced=reduced).eval()
    inputs = make_inputs(model, [], None, TraceOptions())
    began = time.process_time()
    graph = trace_graph(model, inputs.args, inputs.kwargs, TraceOptions(verify=True))
    row: dict[str, Any] = {
        "complete": graph.complete and inputs.warning is None,
        "inputs": {info.name: [list(tensor.shape) for tensor in info.tensors] for info in inputs.infos},
        "problem": inputs.warning or (graph.problems[0].message if graph.problems else None),
        "seconds": round(time.process_time() - began, 2),
    }
    found = graph.verification
    if found is not None:
        row["calls_agree"] = calls_of(graph) == seen_by_hooks(model, inputs.args, inputs.kwargs)
        row["proven"] = found.proven
        row["verification"] = [found.steps, found.repeated, found.identical, found.unused]
        row["why"] = [one.reason for one in found.not_repeated[:1]] + [one.message for one in found.differences[:1]]
    return row


def one(library: str, name: str) -> dict[str, Any]:
    """What came of one model."""
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    row: dict[str, Any] = {"library": library, "name": name}
    row["fake"] = guarded(partial(traced_fake, build_only=ONCE), library, name)
    parameters = row["fake"].get("parameters", 0)
    if "not_built" in row["fake"]:
        return row
    if parameters <= MOST_PARAMETERS:
        row["real"] = guarded(traced_real, library, name)
    elif not row["fake"].get("complete"):
        row["reduced"] = parameters > MOST_REAL_PARAMETERS
        row["large"] = guarded(partial(traced_real, reduced=row["reduced"]), library, name)
    return row


def guarded(traced: Any, library: str, name: str) -> dict[str, Any]:
    """What `traced` says, or what it raised."""
    try:
        return traced(library, name)  # type: ignore[no-any-return]
    except BaseException as error:
        if os.environ.get("MODGRAPH_TRACEBACKS"):
            traceback.print_exc()
        return {"complete": False, "problem": f"{type(error).__name__}: {error}"[:300]}


_kept: list[Any] = []


def prepare(path: list[str]) -> None:
    """torchvision's operators, which need only be declared, are kept, as they go with what declared them."""
    sys.path.extend(path)
    warnings.simplefilter("ignore")
    os.environ["HF_HUB_OFFLINE"] = "1"
    shim = runpy.run_path(str(HERE.parent / "torchvision_shim" / "sitecustomize.py"))
    shim["declare"]()
    _kept.append(shim)


# ---- all of them -----------------------------------------------------------------------------------------------------


def in_a_process(library: str, name: str) -> dict[str, Any]:
    """What came of one model, in a fork of this process, in which nothing was computed: libraries are imported once."""
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        os.close(receiving)
        quiet = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(quiet, number)
        try:
            with os.fdopen(sending, "w", encoding="utf-8") as channel:
                channel.write(json.dumps(one(library, name)))
        finally:
            os._exit(0)
    os.close(sending)
    with os.fdopen(receiving, encoding="utf-8") as channel:
        said = read_until(channel, time.monotonic() + SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    if said is None:
        why = f"more than {SECONDS} s"
    elif not said:
        why = f"ended with status {status}"
    else:
        return json.loads(said)  # type: ignore[no-any-return]
    return {"library": library, "name": name, "fake": {"complete": False, "problem": why}}


def read_until(channel: Any, end: float) -> str | None:
    """All that is written, or None where it did not end in time."""
    said = b""
    while select.select([channel], [], [], max(0.0, end - time.monotonic()))[0]:
        part = os.read(channel.fileno(), 1 << 16)
        if not part:
            return said.decode()
        said += part
    return None


def heading(arguments: argparse.Namespace, measured: int, asked: int) -> str:
    """What was measured, and by which command."""
    command = " ".join(["python tests/oracle/trace_coverage.py", *arguments.libraries, "--once" * ONCE]).strip()
    part = (
        "" if measured >= asked else f" {measured} of the {asked} were run, in an order in which a part stands for all."
    )
    return (
        "# Coverage of the trace\n\n"
        "Models of three libraries, spread evenly over all that each can name, built from their defaults and traced"
        " without a word from the user, each in a process of its own with at most"
        f" {MOST_MEMORY >> 30} GB.{part}\n\n"
        f"One with at most {MOST_PARAMETERS // 10**6} million parameters is built with random weights and run: its calls"
        " are compared with those that hooks on every module see, and the recorded graph is run again from its edges"
        " (`verify`), which proves it. A larger one is run without weights; where values decide there, for real, if"
        " need be with fewer layers and experts. The script goes on where it was interrupted.\n\n"
        f"```\n{command} --path FOLDER --json rows.jsonl -o docs/coverage.md\n```\n\n"
    )


def table(rows: list[dict[str, Any]]) -> str:
    """The figures of each library, and every model that fell short."""
    lines = [
        "| library | models | complete, inputs inferred | calls as hooks saw them | run for real | proven by running again |",
        "|---|---|---|---|---|---|",
    ]
    for library in dict.fromkeys(row["library"] for row in rows):
        each = [row for row in rows if row["library"] == library and "not_built" not in row.get("fake", {})]
        ran = [row["real"] for row in each if "proven" in row.get("real", {})]
        compared = [row[kind]["calls_agree"] for row in each for kind in KINDS if "calls_agree" in row.get(kind, {})]
        complete = sum(is_complete(row) for row in each)
        proven = sum(row["proven"] for row in ran)
        lines.append(
            f"| {library} | {len(each)} | {share(complete, len(each))} | {share(sum(compared), len(compared))} "
            f"| {len(ran)} | {share(proven, len(ran))} |"
        )
    for title, told in (
        ("What fell short", [line for row in rows for line in shortcomings(row)]),
        ("Values decide, so that a run without weights ends early; run for real, though large", decided(rows)),
        ("Left out, as their own defaults do not build them; the next after each took its place", not_built(rows)),
    ):
        lines += ["", f"{title}:", "", *([f"- {line}" for line in told] or ["- none"])]
    return "\n".join(lines) + "\n"


def decided(rows: list[dict[str, Any]]) -> list[str]:
    return [
        f"{row['library']} {row['name']}" + (", with fewer layers and experts" if row["reduced"] else "")
        for row in rows
        if row.get("large", {}).get("complete")
    ]


def not_built(rows: list[dict[str, Any]]) -> list[str]:
    return [
        f"{row['library']} {row['name']}: {first_line(row['fake']['not_built'])}"
        for row in rows
        if "not_built" in row.get("fake", {})
    ]


def first_line(text: str) -> str:
    return text.strip().splitlines()[0][:160]


def is_complete(row: dict[str, Any]) -> bool:
    """In a run without weights, or, where values decide, in a real one."""
    return any(row.get(kind, {}).get("complete", False) for kind in KINDS)


def share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({100 * part / whole:.1f} %)" if whole else "none"


def shortcomings(row: dict[str, Any]) -> list[str]:
    name = f"{row['library']} {row['name']}"
    if "not_built" in row.get("fake", {}):
        return []
    found = []
    if not is_complete(row):
        problems = [row[kind]["problem"] for kind in KINDS if row.get(kind, {}).get("problem")]
        found.append(f"{name}: not complete: {first_line((problems or ['?'])[-1])}")
    found += [
        f"{name}: other calls than hooks saw ({kind})"
        for kind in KINDS
        if not row.get(kind, {}).get("calls_agree", True)
    ]
    if not row.get("real", {}).get("proven", True):
        found.append(f"{name}: not proven: {first_line('; '.join(row['real']['why']))}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="*", metavar="LIBRARY:COUNT")
    parser.add_argument("--one", nargs=2, metavar=("LIBRARY", "NAME"), help=argparse.SUPPRESS)
    parser.add_argument("--path", action="append", default=[], help="where libraries are installed (repeatable)")
    parser.add_argument(
        "--json",
        metavar="FILE",
        help="also write every row here, as it comes; what stands there already is not run again",
    )
    parser.add_argument("-o", metavar="FILE", help="write the table here")
    parser.add_argument(
        "--once", action="store_true", help="run what is below the limit of parameters for real alone, to save time"
    )
    parser.add_argument("--no-run", action="store_true", help="the table of what --json holds already")
    arguments = parser.parse_args()
    global ONCE
    ONCE = arguments.once
    prepare(arguments.path)
    if arguments.one:
        print(json.dumps(one(*arguments.one), indent=1))
        return
    file = Path(arguments.json) if arguments.json else None
    rows = swept(arguments.libraries, file, run=not arguments.no_run)
    asked = sum(int(each.partition(":")[2] or 80) for each in arguments.libraries)
    text = heading(arguments, len([row for row in rows if "not_built" not in row.get("fake", {})]), asked) + table(rows)
    if arguments.o:
        page = Path(arguments.o)
        _, mark, others = (page.read_text(encoding="utf-8") if page.exists() else "").partition(OTHER_PART)
        page.write_text(f"{text}\n{mark}{others}" if mark else text, encoding="utf-8")
    print(text)


def swept(libraries: list[str], file: Path | None, *, run: bool = True) -> list[dict[str, Any]]:
    """A row of every model, in the order of the libraries; run in an order in which a part stands for the whole.

    One that its own defaults do not build stays in the list, and the next after it takes its place.
    """
    known: dict[tuple[str, str], dict[str, Any]] = {}
    if file and file.exists():
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        known = {(row["library"], row["name"]): row for row in rows}
    asked = [(library, int(count or 80)) for library, _, count in (each.partition(":") for each in libraries)]
    everything = {library: names_of(library) for library, _ in asked}
    wanted = [(library, name) for library, count in asked for name in evenly(everything[library], count)]
    waiting = [wanted[position] for position in sorted(range(len(wanted)), key=lambda number: f"{number:b}"[::-1])]
    for library, name in waiting:
        if (library, name) not in known and not run:
            continue
        if (library, name) not in known:
            known[library, name] = in_a_process(library, name)
            print(json.dumps(known[library, name]), file=sys.stderr, flush=True)
            if file:
                with file.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps(known[library, name]) + "\n")
        if "not_built" in known[library, name].get("fake", {}):
            names = everything[library]
            later = names[names.index(name) + 1 :] + names
            following = (library, next(other for other in later if (library, other) not in wanted))
            wanted.append(following)
            waiting.append(following)
    return sorted(
        (known[each] for each in wanted if each in known),
        key=lambda row: [library for library, _ in asked].index(row["library"]),
    )


if __name__ == "__main__":
    main()
