"""What the rules MG301 to MG304 share: a first look, and the one fault of `forward` where it has their code."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from modgraph.rules.plain_runs import runs_plainly
from modgraph.rules.rule import Found
from modgraph.rules.subject import Subject


def reported(subject: Subject, code: str, look: Callable[[Subject], object]) -> Iterator[Found]:
    """The fault of a class, where the first look finds something in question and the fault is of this code."""
    noted = f"first look: {look.__name__}"  # two rules ask the same
    if noted not in subject.notes:
        subject.notes[noted] = bool(look(subject))
    if subject.notes[noted] and not runs_plainly(subject):
        # The interpreter is loaded where it has something to do.
        from modgraph.rules.forward_faults import told_fault

        told = told_fault(subject)
        if told is not None and told.code == code:
            yield told.found
