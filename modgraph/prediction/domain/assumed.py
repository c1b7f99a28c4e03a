"""What an interpretation takes for granted of its surroundings: nothing, where its claim is for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Plain = bool | int | float | str | None

ENVIRONMENT = "os.environ"
SET_ORDER = "the order of a set"
PLACED = "the device of a tensor"
DEFAULT_PLACE = "the default device"
CAST = "the dtype that a function of torch gives"
"""What a run asks for that is no function; `Machine.asked` has these beside the functions' qualified names."""


@dataclass(frozen=True)
class Assumed:
    """Surroundings of one run."""

    environment: Mapping[str, str] | None = None
    """The environment variables; None where they are not known."""
    answers: Mapping[str, Plain] = field(default_factory=dict)
    """What a function gives whatever it is called with, by its qualified name: {"torch.cuda.is_available": False}."""
    sets_in_order: bool = False
    """Sets are walked in the order in which they were filled. Python's order differs from run to run; so what depends
    on it is no model that can be trained twice."""


NOTHING = Assumed()
