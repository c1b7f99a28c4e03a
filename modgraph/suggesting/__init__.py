"""Names for other tools, proposed from a graph: layers to adapt, blocks to shard and compile, groups of parameters.

All is found by structure: classes of torch and what derives from them, sizes, repeated blocks, dataflow. A pattern is
tried on every name of the graph before it is proposed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import get_args

from modgraph.errors import ConfigError
from modgraph.graph.model import Graph
from modgraph.graph.suggestions import Kind, Suggestion
from modgraph.suggesting.blocks import Blocks
from modgraph.suggesting.fsdp import suggest_fsdp
from modgraph.suggesting.groups import suggest_groups
from modgraph.suggesting.layers import Layers
from modgraph.suggesting.lora import suggest_lora
from modgraph.suggesting.quantize import suggest_quantize
from modgraph.suggesting.regional import suggest_compile

KINDS: tuple[Kind, ...] = get_args(Kind)
ALL = "all"

_MAKERS: dict[Kind, Callable[[Layers, Blocks], Suggestion]] = {
    "lora": suggest_lora,
    "fsdp": suggest_fsdp,
    "compile": suggest_compile,
    "quantize": suggest_quantize,
    "groups": suggest_groups,
}


def kinds_of(names: str | Iterable[str]) -> tuple[Kind, ...]:
    """The kinds that these names ask for, in one order.

    Raises:
        ConfigError: a name is none, or there is none.
    """
    asked = [names] if isinstance(names, str) else list(names)
    for name in asked:
        if name != ALL and name not in KINDS:
            raise ConfigError(f"{name!r} is nothing to suggest", hint=f"there are {', '.join(KINDS)}, and {ALL}")
    if not asked:
        raise ConfigError("nothing is to be suggested", hint=f"there are {', '.join(KINDS)}, and {ALL}")
    return tuple(kind for kind in KINDS if kind in asked or ALL in asked)


def suggest(graph: Graph, kinds: str | Iterable[str] = ALL) -> tuple[Suggestion, ...]:
    """Names to paste, as far as the graph knows them.

        (lora,) = modgraph.suggest(graph, "lora")
        print(lora.paste)

    Args:
        graph: predicted, traced, merged, or read from a file.
        kinds: "lora", "fsdp", "compile", "quantize", "groups", or several of them; "all" for each.

    Returns:
        One for each kind, in that order. `dataclasses.replace(graph, suggestions=...)` puts them into what is written.

    Raises:
        ConfigError: there is no such kind.
    """
    asked = kinds_of(kinds)
    layers = Layers(graph)
    blocks = Blocks(layers)
    return tuple(_MAKERS[kind](layers, blocks) for kind in asked)
