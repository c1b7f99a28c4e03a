"""What comes of a check: of one file an `Outcome`, of all of them a `Report`."""

from __future__ import annotations

from dataclasses import dataclass, field

from modgraph.findings import Finding


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that could not be checked or written, through no fault that a finding could name."""

    file: str
    message: str
    hint: str | None = None
    trace: str | None = None
    """Of a defect of modgraph's own."""


@dataclass(frozen=True, slots=True)
class Change:
    """What fixes make of a file."""

    file: str
    before: str
    after: str
    fixed: tuple[Finding, ...]


@dataclass(slots=True)
class Outcome:
    """Of one file."""

    findings: list[Finding] = field(default_factory=list)
    failure: Failure | None = None
    change: Change | None = None
    text: str | None = None
    """As it is after fixes, where a text was checked and no file."""
    depends: tuple[str, ...] | None = None
    """Files that the findings depend on, beside the file itself; None where they are not to be kept."""


@dataclass(slots=True)
class Report:
    """Of all files, findings in the order of file and place."""

    findings: list[Finding] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    """That were looked at, as they are shown."""
    notices: list[str] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)

    def add(self, file: str, outcome: Outcome) -> None:
        """The outcome of one file."""
        self.files.append(file)
        self.findings.extend(outcome.findings)
        if outcome.failure is not None:
            self.failures.append(outcome.failure)
        if outcome.change is not None:
            self.changes.append(outcome.change)
