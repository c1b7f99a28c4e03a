"""Findings for people: `text` with the source lines and the way to fix them, `concise` a line each."""

from __future__ import annotations

from modgraph.doors import printing
from modgraph.doors.printing import excerpt, painted, printable
from modgraph.export.findings.formats import FindingView
from modgraph.findings import Finding, Related

_STYLES = {"error": "bold red", "warning": "bold yellow", "info": "bold cyan"}
_BOLD, _BLUE = "bold", "bold blue"
_CONTEXT = 2
"""Lines shown above and below."""
_MAX_LINE = 200
"""Characters shown of a line."""
_MAX_RELATED = 4


def render(view: FindingView, name: str) -> str:
    """All findings; in full one paragraph each."""
    if name == "concise":
        return "".join(f"{_concise(each, view)}\n" for each in view.findings)
    return "".join(f"{_full(each, view)}\n\n" for each in view.findings)


def place(finding: Finding) -> str:
    """ "model.py:12:9"."""
    return printing.place(finding.file, finding.line, finding.column)


def _concise(finding: Finding, view: FindingView) -> str:
    code = _paint(view, _STYLES[finding.severity], finding.code)
    return f"{_paint(view, _BOLD, place(finding))}: {finding.severity}: {code} {printable(finding.message)}"


def _full(finding: Finding, view: FindingView) -> str:
    what = _paint(view, _STYLES[finding.severity], f"{finding.severity}[{finding.code}]")
    name = f" {finding.name}:" if finding.name else ""
    lines = [f"{what}{name} {_paint(view, _BOLD, printable(finding.message))}"]
    lines.append(f"  {_paint(view, _BLUE, '-->')} {place(finding)}")
    lines.extend(_excerpt(finding, view))
    if finding.fix is not None:
        how = "--fix" if finding.fix.safe else "--fix --unsafe-fixes"
        lines.append(f"{_paint(view, _BOLD, 'help:')} {printable(finding.fix.description)} ({how})")
    return "\n".join(lines)


def _excerpt(finding: Finding, view: FindingView) -> list[str]:
    """The lines around a finding with carets below it, and the first of the places that belong to it."""
    line = finding.line
    if line is None or not view.line(finding.file, line):
        return []
    first, last = max(1, line - _CONTEXT), line + _CONTEXT
    while last > line and not view.line(finding.file, last).strip():
        last -= 1
    while first < line and not view.line(finding.file, first).strip():
        first += 1
    marks: dict[int, str] = {line: _carets(finding, view)}
    further: list[Related] = []
    for each in finding.related:
        if each.line in range(first, last + 1) and each.line not in marks:
            marks[each.line] = f"{_indent(view.line(finding.file, each.line), each.column)}- {printable(each.message)}"
        elif each.line not in marks:
            further.append(each)
    numbers = sorted({*range(first, last + 1), *(each.line for each in further[:_MAX_RELATED])})
    for each in further[:_MAX_RELATED]:
        marks[each.line] = f"{_indent(view.line(finding.file, each.line), each.column)}- {printable(each.message)}"
    width = len(str(numbers[-1]))
    bar = _paint(view, _BLUE, f"{'':{width}} |")
    shown = [bar]
    previous = numbers[0]
    for number in numbers:
        if number > previous + 1:
            shown.append(_paint(view, _BLUE, "..."))
        previous = number
        text = excerpt(view.line(finding.file, number)[:_MAX_LINE].rstrip())
        shown.append(f"{_paint(view, _BLUE, f'{number:{width}} |')} {text}".rstrip())
        if number in marks:
            style = _STYLES[finding.severity] if number == line else _BLUE
            shown.append(f"{bar} {_paint(view, style, marks[number])}")
    if len(further) > _MAX_RELATED:
        shown.append(f"{bar} and {len(further) - _MAX_RELATED} more places")
    return shown


def _carets(finding: Finding, view: FindingView) -> str:
    text = view.line(finding.file, finding.line)
    column = finding.column or 1
    same_line = finding.end_line in (None, finding.line)
    end = finding.end_column if same_line and finding.end_column else len(text.rstrip()) + 1
    return _indent(text, column) + "^" * max(1, min(end, _MAX_LINE) - column)


def _indent(text: str, column: int) -> str:
    """Tabs are kept, so that a caret stands below its character however wide a tab is shown."""
    return "".join("\t" if character == "\t" else " " for character in text[: column - 1])


def _paint(view: FindingView, style: str, text: str) -> str:
    return painted(text, style) if view.color else text
