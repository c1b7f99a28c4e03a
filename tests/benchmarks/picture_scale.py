"""How long a picture of a large model takes, and how much memory: layers that are alike or not, and one mask for all.

    python tests/benchmarks/picture_scale.py [1000 5000 20000] [--formats svg,mermaid,text]

Each is drawn in a process of its own; memory is the largest of it and of the layout engine in it.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

from modgraph.export import render
from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import Call, Edge, Graph, ModelInfo, ModuleNode, Operation, ParameterInfo, TensorInfo

LAYER = ("norm", "query", "key", "value", "out", "up", "down")
KINDS = ("alike", "unlike", "flat", "dense")


class Model:
    """A graph that grows call by call."""

    def __init__(self) -> None:
        self.modules = [ModuleNode(path="", class_name="m.Net", predicted=True, observed=True, calls=(0,))]
        self.calls = [Call(index=0, module="", parent=None)]
        self.operations: list[Operation] = []
        self.edges: list[Edge] = []
        self.open = [0]

    def module(self, path: str, kind: str, width: int | None = None, *, feeds: tuple[str, ...] = ()) -> str:
        """A module, and its call where it is fed by something."""
        held = () if width is None else (ParameterInfo(name="weight", shape=(width, 8), dtype="float32"),)
        name = f"torch.nn.modules.{kind}" if "." in kind else f"m.{kind}"
        calls = (len(self.calls),) if feeds or kind == "Layer" else ()
        self.modules.append(
            ModuleNode(path=path, class_name=name, predicted=True, observed=True, parameters=held, calls=calls)
        )
        if calls:
            self.calls.append(Call(index=calls[0], module=path, parent=self.open[-1]))
        for feed in feeds:
            self.link(feed, f"call:{calls[0]}")
        return f"call:{calls[0]}" if calls else ""

    def operation(self, name: str, *feeds: str) -> str:
        end = f"op:{len(self.operations)}"
        self.operations.append(Operation(id=end, name=name, call=self.open[-1]))
        for feed in feeds:
            self.link(feed, end)
        return end

    def link(self, tail: str, head: str) -> None:
        tensor = TensorInfo(name="x", shape=(1, 16, 8), dtype="float32")
        self.edges.append(Edge(producer=tail, consumer=head, tensor=tensor))

    def graph(self) -> Graph:
        builder = GraphBuilder(ModelInfo(name="Net", class_name="m.Net", target="m.py:Net"))
        builder.modules[:] = self.modules
        builder.calls[:] = self.calls
        builder.operations[:] = self.operations
        builder.edges[:] = self.edges
        return builder.build()


def model_of(modules: int, kind: str) -> Graph:
    """A graph of about so many modules."""
    model = Model()
    x, mask = "input:x", model.operation("torch.full")
    if kind in ("flat", "dense"):
        made = [x]
        for number in range(modules):
            feeds = tuple(dict.fromkeys([x, *made[-8:]])) if kind == "dense" else (x, mask)
            x = model.module(f"fc{number}", "linear.Linear", 4 + number % 7, feeds=feeds)
            made.append(x)
    else:
        model.module("layers", "container.ModuleList")
        for number in range(modules // (len(LAYER) + 1)):
            x = _layer(model, f"layers.{number}", x, mask, 8 if kind == "alike" else 8 + number)
    model.link(x, "output:0")
    return model.graph()


def _layer(model: Model, path: str, x: str, mask: str, width: int) -> str:
    model.module(path, "Layer")
    model.open.append(len(model.calls) - 1)
    normed = model.module(f"{path}.norm", "normalization.LayerNorm", width, feeds=(x,))
    parts = [model.module(f"{path}.{name}", "linear.Linear", width, feeds=(normed,)) for name in LAYER[1:4]]
    mixed = model.operation("torch.nn.functional.scaled_dot_product_attention", *parts, mask)
    x = model.operation("torch.add", x, model.module(f"{path}.out", "linear.Linear", width, feeds=(mixed,)))
    up = model.module(f"{path}.up", "linear.Linear", width, feeds=(x,))
    x = model.operation("torch.add", x, model.module(f"{path}.down", "linear.Linear", width, feeds=(up,)))
    model.open.pop()
    return x


def measure(modules: int, kind: str, form: str) -> None:
    """Draw one, and print a line of the table."""
    graph = model_of(modules, kind)
    began = time.perf_counter()
    content = render(graph, form)
    seconds = time.perf_counter() - began
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024
    print(
        f"| {kind} | {len(graph.modules):,} | {form} | {seconds:.1f} s | {peak:,.0f} MB | {len(content) / 1000:,.0f} KB |"
    )


def main() -> int:
    """Measure every kind and size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", type=int, default=[1000, 5000, 20_000])
    parser.add_argument("--formats", default="svg")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        measure(arguments.modules[0], arguments.one, arguments.formats)
        return 0
    print("| layers | modules | format | time | memory | size |\n| --- | --: | --- | --: | --: | --: |", flush=True)
    for form in arguments.formats.split(","):
        for modules in arguments.modules:
            for kind in KINDS:
                command = [sys.executable, __file__, str(modules), "--one", kind, "--formats", form]
                subprocess.run(command, check=False)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
