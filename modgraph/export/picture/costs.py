"""What a module costs, as the colour of its row: parameters, operations, time or memory."""

from __future__ import annotations

from modgraph.errors import ExportError
from modgraph.export.look.folding import Unit
from modgraph.export.look.labels import number_text
from modgraph.export.look.style import RAMP
from modgraph.export.text.run import duration, quantity
from modgraph.graph.measures import CallCost
from modgraph.graph.occurrences import Occurrence, Run
from modgraph.graph.sizes import elements
from modgraph.options import Measure

_FIELDS = {"flops": "flops", "time": "seconds", "memory": "allocated"}


class Costs:
    """Costs of what is drawn in one picture.

    Raises:
        ExportError: the graph has no such figures.
    """

    def __init__(self, run: Run, measure: Measure) -> None:
        self.run = run
        self.measure = measure
        self.top = 0.0
        self._calls: dict[int, float] = {}
        if measure in _FIELDS:
            self._calls = _figures(run, measure)

    def scale(self, units: list[Unit]) -> None:
        """Let the costliest of `units` have the strongest colour."""
        self.top = max((self.of(unit) or 0 for unit in units), default=0)

    def of(self, unit: Unit) -> float | None:
        """Of one row: a fold counts as each of its members, a row of unlike ones as all of them; None for no cost."""
        return self.of_all(unit.members, together=unit.series)

    def of_all(self, members: list[Occurrence], *, together: bool = False) -> float | None:
        """Of each of `members` on average, or of all `together`."""
        found = [cost for cost in map(self._cost, members) if cost is not None]
        return sum(found) / (1 if together else len(found)) if found else None

    def text(self, cost: float | None) -> str:
        """ "1.21 ms", "3.64 GFLOP", "9.41 K", "1.5 MB"; "" for none."""
        if cost is None:
            return ""
        if self.measure == "time":
            return duration(cost)
        if self.measure == "parameters":
            return number_text(round(cost)) if cost else ""
        unit = "FLOP" if self.measure == "flops" else "B"
        return f"{quantity(cost)}{unit}".replace("  ", " ")

    def heat(self, cost: float | None) -> int | None:
        """The step of the ramp. It follows the square root, so that one costly row does not turn all others pale."""
        if cost is None or not self.top:
            return None
        share = max(cost, 0.0) / self.top
        return min(int(share**0.5 * len(RAMP)), len(RAMP) - 1)

    def legend(self) -> tuple[str, str]:
        """What stands on the ramp's left and on its right."""
        return self.measure, self.text(self.top) or "0"

    def _cost(self, occurrence: Occurrence) -> float | None:
        if self.measure == "parameters":
            return self._parameters(occurrence)
        if occurrence.call is not None:
            return self._calls.get(occurrence.call.index)
        inner = [cost for cost in map(self._cost, occurrence.children) if cost is not None]
        return sum(inner) if inner else None

    def _parameters(self, occurrence: Occurrence) -> float | None:
        if occurrence.turn or occurrence.operation is not None or not occurrence.is_module:
            return None
        below = (node for node in self.run.index.below(occurrence.path) if node.alias_of is None)
        nodes = (self.run.index.modules[occurrence.path], *below)
        held = [parameter for node in nodes for parameter in node.parameters if parameter.alias_of is None]
        return float(sum(elements(parameter.shape) or 0 for parameter in held))


def _figures(run: Run, measure: Measure) -> dict[int, float]:
    profile = run.graph.profile
    if profile is None:
        raise ExportError(
            f"the graph has no figures to colour by {measure}",
            hint=f"analyze the model with --profile --color {measure}; --color parameters needs no run",
        )
    figures = {one.call: value for one in profile.calls if (value := _figure(one, measure)) is not None}
    if not figures:
        why = profile.problem or _WHY_NONE[measure]
        raise ExportError(f"the profile has no {measure} of any call: {why}", hint="choose another --color")
    return figures


def _figure(one: CallCost, measure: Measure) -> float | None:
    value: float | None = getattr(one, _FIELDS[measure])
    return value


_WHY_NONE = {
    "flops": "nothing was counted",
    "time": "it ran without values (--device fake)",
    "memory": "the model runs in several threads, or the graph is of an earlier version",
}
