"""How much an ONNX file may bring: each function counts as often as it is called, and calls inside calls may double."""

from __future__ import annotations

from collections.abc import Iterable

from modgraph.errors import GraphError
from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import TensorInfo
from modgraph.graph.parsing import MAX_RECORDS

MAX_NODES = 200_000
MAX_WORDS = 3_000_000
"""Names and facts of these nodes; a long text is one word more for each `WORD` characters."""
WORD = 100
MAX_DIMENSIONS, LONGEST_SIZE = 64, 200
"""Of a tensor whose shape is kept: it is written out again with each edge and each call."""
_EACH_CALL = "those of each function counted as often as it is called"


class Amount:
    """What was gone through so far; raises GraphError where it is too much."""

    def __init__(self) -> None:
        self._nodes = self._words = 0

    def add_nodes(self, number: int) -> None:
        """Nodes, and what takes as long."""
        self._nodes += number
        if self._nodes > MAX_NODES:
            raise _too_large(f"it has more than {MAX_NODES:,} nodes")

    def add_words(self, number: int) -> None:
        """Words; see `words`."""
        self._words += number
        if self._words > MAX_WORDS:
            raise _too_large(f"its nodes name more than {MAX_WORDS:,} values and facts")

    def add_tensors(self, tensors: Iterable[TensorInfo]) -> None:
        """Those that an edge or a call says again: nothing where their shapes are short."""
        for tensor in tensors:
            shape = tensor.shape or ()
            texts = sum(len(size) for size in shape if isinstance(size, str))
            self.add_words(len(shape) // 16 + texts // WORD)

    @staticmethod
    def require_room(builder: GraphBuilder, modules: int = 0) -> None:
        """As much as a saved graph may have, which is read again."""
        if modules + len(builder.calls) + len(builder.operations) + len(builder.edges) > MAX_RECORDS:
            raise _too_large(f"it has more than {MAX_RECORDS:,} modules, calls, operations and edges")


def words(*texts: str) -> int:
    """What so many texts count as."""
    return sum(1 + len(text) // WORD for text in texts)


def _too_large(why: str) -> GraphError:
    return GraphError(f"the model is too large to be read: {why}, {_EACH_CALL}")
