"""Whether a run with fake tensors came to where the forward decides by values, which these do not have."""

from __future__ import annotations

from modgraph.tracing.basics.failures import said

DECIDES_BY_VALUES = (
    "DataDependentOutputException", "DynamicOutputShapeException", "UnsupportedFakeTensorException",
    "UnsupportedOperatorException", "GuardOnDataDependentSymNode", "UnsupportedMutationAliasingException",
)  # fmt: skip
"""Exceptions by which torch says that a fake tensor has no value to go by."""
_FAKE_WORDS = ("FakeTensor", "fake tensor", "data pointer", "meta tensor", "Meta tensor", "fake mode")


def decides_by_values(error: BaseException | None) -> bool:
    """The run cannot go on with fake tensors, though nothing is wrong with the shapes."""
    if error is None:
        return False
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if isinstance(error, AttributeError):
        return False
    return bool(kinds & set(DECIDES_BY_VALUES)) or any(word in said(error) for word in _FAKE_WORDS)
