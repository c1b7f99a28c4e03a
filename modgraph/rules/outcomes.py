"""What comes of a check: of one file an `Outcome`, of all of them a `Report`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from modgraph.errors import ModgraphError
    from modgraph.findings import Finding


class Failure(NamedTuple):
    """A file that could not be checked or written, through no fault that a finding could name."""

    file: str
    message: str
    hint: str | None = None
    trace: str | None = None
    """Of a defect of modgraph's own."""
    is_checked: bool = False
    """The file was checked all the same, and its findings are in the report: it could not be written."""


class Change(NamedTuple):
    """What fixes make of a file."""

    file: str
    before: str
    after: str
    fixed: tuple[Finding, ...]


class Outcome(NamedTuple):
    """Of one file."""

    findings: list[Finding]
    failure: Failure | None = None
    change: Change | None = None
    text: str | None = None
    """As it is after fixes, where a text was checked and no file."""
    depends: tuple[str, ...] | None = None
    """Files that the findings depend on, beside the file itself; None where they are not to be kept."""
    taken_back: int = 0
    """Fixes that were tried and did not stand."""
    untried: int = 0
    """Fixes that were not tried, and are not offered, as that takes too much work."""
    cut: tuple[tuple[str, str], ...] = ()
    """Classes whose constructors were not followed to their end, with the limit that was reached."""
    unresolved: tuple[str, ...] = ()
    """Bases of which it is not known whether they are modules: their classes were not judged."""


class Report:
    """Of all files, findings in the order of file and place."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.files: list[str] = []
        """That were looked at, as they are shown."""
        self.unchecked: dict[str, None] = {}
        """That were not, as their configuration cannot be used."""
        self._refused: dict[str, None] = {}
        self.notices: list[str] = []
        self.failures: list[Failure] = []
        self.changes: list[Change] = []
        self.taken_back = 0
        self.untried: dict[str, int] = {}
        """By file: fixes that are not offered, as trying them takes too much work."""
        self.cut: dict[str, tuple[tuple[str, str], ...]] = {}
        """By file: classes whose constructors were not followed to their end, with the limit that was reached."""
        self.unresolved: dict[str, None] = {}
        """Bases of which it is not known whether they are modules, each once."""
        self.empty: list[str] = []
        """Folders that were named and hold no file of Python."""
        self.excluded: list[str] = []
        """Files, by their absolute paths, that are not looked at as the configuration or an option says."""
        self.not_entered: list[str] = []
        """Folders that are not looked into because of their names."""

    def refuse(self, file: str, configuration: str, error: ModgraphError) -> None:
        """A file whose configuration cannot be used; which is said once."""
        self.unchecked[file] = None
        if configuration not in self._refused:
            self._refused[configuration] = None
            hint = f"{error.hint}; " if error.hint else ""
            self.failures.append(
                Failure(configuration, error.message, f"{hint}the files below it are not checked, all others are")
            )

    def add(self, file: str, outcome: Outcome) -> None:
        """The outcome of one file."""
        self.files.append(file)
        self.findings.extend(outcome.findings)
        self.taken_back += outcome.taken_back
        if outcome.untried:
            self.untried[file] = outcome.untried
        self.unresolved.update(dict.fromkeys(outcome.unresolved))
        if outcome.cut:
            self.cut[file] = outcome.cut
        if outcome.failure is not None:
            self.failures.append(outcome.failure)
        if outcome.change is not None:
            self.changes.append(outcome.change)
