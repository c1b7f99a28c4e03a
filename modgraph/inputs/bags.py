"""What `nn.EmbeddingBag` takes: indices in one row, and where in it each bag begins; of several tables a row each."""

from __future__ import annotations

from collections.abc import Iterator

from torch import nn

from modgraph.inputs.guesses import STEPS, Guesser
from modgraph.inputs.probe import Attempt, Failure, Seen
from modgraph.inputs.specs import Candidate, Place, Spec, TensorSpec, place_name

_INDICES = (0, "input")
_BEGINNINGS = (1, "offsets")


def bags(attempt: Attempt, guesser: Guesser) -> Iterator[Candidate]:
    """Indices and beginnings together, where such a layer refused what it got of both."""
    for failure in attempt.outcome.failures:
        if not isinstance(failure.layer, nn.EmbeddingBag):
            continue
        indices, beginnings = (_given(failure, positions, attempt) for positions in (_INDICES, _BEGINNINGS))
        if indices is None or beginnings is None:
            continue
        tables = _n_beside(failure, guesser)
        changes: dict[Place, Spec] = {
            indices[0]: TensorSpec(_rows(indices[1], tables, STEPS), "int64", high=failure.layer.num_embeddings),
            # Several that begin at one place are bags without anything in them, but for the last.
            beginnings[0]: TensorSpec(_rows(beginnings[1], tables, guesser.batch), "int64", low=0, high=1),
        }
        named = f"{place_name(indices[0])}, {place_name(beginnings[0])}"
        yield attempt.candidate.replaced(changes, f"{named}: indices, and where each bag of {failure.name} begins")
        return


def _given(failure: Failure, positions: tuple[int | str, ...], attempt: Attempt) -> tuple[Place, Seen] | None:
    """The one input that the layer was given there."""
    tensors = attempt.candidate.tensors()
    for seen in failure.seen:
        if seen.position in positions and seen.origin is not None:
            places = [place for place in seen.origin.places if place in tensors]
            return (places[0], seen) if len(places) == 1 else None
    return None


def _rows(seen: Seen, tables: int, size: int) -> tuple[int, ...]:
    """One row, or where the layer was given a part of the input, one for each table."""
    assert seen.origin is not None
    return (size,) if seen.origin.same else (tables, size)


def _n_beside(failure: Failure, guesser: Guesser) -> int:
    """Such layers in the list that holds the one that failed."""
    try:
        holder = guesser.model.get_submodule(failure.name.rpartition(".")[0])
    except AttributeError:
        return 1
    return max(1, sum(isinstance(each, nn.EmbeddingBag) for each in holder.children()))
