"""What `modgraph analyze FILE` gives for model files that strangers wrote, and `analyze --all` for whole repositories.

    python tests/oracle/public_files.py --mirrors FOLDER --json rows.jsonl -o docs/coverage.md

The files are those of `public_files.txt`, which was fixed before the first run. FOLDER holds a git directory for each
repository, as `owner+name`, `owner+name/repo` or either with `/.git`. Each revision is unpacked by `git archive` into a
repository of its own, where the command is run as its authors would run it, in a process group with a limit of time and
without a network proxy. The models' code is executed: run this only where that is acceptable. It goes on where it was
interrupted. `--first FILE` holds the rows of the first run, which the page keeps.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve()
LIST = HERE.with_name("public_files.txt")
FIRST = HERE.with_name("public_files_first.jsonl")
SECONDS = 300
"""That one file may take, all of its models together."""
SECONDS_OF_TREE = 900
HEADING = "## Files of research groups"
"""The part of the page from here on belongs to this command."""


class Entry(NamedTuple):
    repository: str
    commit: str
    path: str
    """Of the file; "." for the whole repository."""
    model: str
    """The class that its authors mean; "-" for the whole repository."""

    @property
    def name(self) -> str:
        return f"{self.repository} {self.path}"


def entries() -> list[Entry]:
    lines = LIST.read_text(encoding="utf-8").splitlines()
    return [Entry(*line.split()) for line in lines if line and not line.startswith("#")]


# ---- running ---------------------------------------------------------------------------------------------------------


def git_directory(mirrors: Path, repository: str) -> Path | None:
    folder = mirrors / repository.replace("/", "+")
    places = [folder / "repo" / ".git", folder / "repo", folder / ".git", folder]
    return next((place for place in places if (place / "HEAD").exists()), None)


def unpack(git: Path, commit: str, folder: Path) -> None:
    """The files of that revision, no others; those that the snapshot lacks, as it lacks the largest, are left out."""
    without = [f":(exclude,literal){name}" for name in lacking(git, commit)]
    command = ["git", "-C", str(git), "archive", "--format=tar", commit, "--", ".", *without]
    archive = subprocess.Popen(command, stdout=subprocess.PIPE)
    subprocess.run(["tar", "-x", "-C", str(folder), "--no-same-owner"], stdin=archive.stdout, check=True)
    if archive.wait():
        raise SystemExit(f"{git}: git archive {commit} failed")


def lacking(git: Path, commit: str) -> list[str]:
    """Files of the revision whose content is not in the snapshot."""
    listed = subprocess.check_output(["git", "-C", str(git), "ls-tree", "-r", "-z", commit], text=True)
    files = [each.partition("\t") for each in listed.split("\0") if each]
    names = {about.split()[2]: name for about, _, name in files if about.split()[1] == "blob"}
    told = subprocess.run(
        ["git", "-C", str(git), "cat-file", "--batch-check"],
        input="".join(f"{each}\n" for each in names),
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    ).stdout
    return [names[line.split()[0]] for line in told.splitlines() if line.endswith(" missing")]


def environment(home: Path) -> dict[str, str]:
    """No proxy, no hub, no home of this user; the cache of lowered sources is shared."""
    cache = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    blocked = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    hubs = {
        "HF_HUB_OFFLINE": "1",
        "WANDB_MODE": "disabled",
        "XDG_CACHE_HOME": cache,
        "HOME": str(home),
        "COLUMNS": "200",
    }
    return {**os.environ, **blocked, **hubs}


def run(command: list[str], folder: Path, seconds: float) -> dict[str, Any]:
    """The command's end: its status (None where time ended), both streams, seconds."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as home:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment(Path(home)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        status: int | None
        try:
            out, err = process.communicate(timeout=seconds)
            status = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            status = None
    return {"status": status, "seconds": round(time.monotonic() - started, 1), "out": out, "err": err}


def analyzed(entry: Entry, mirrors: Path) -> dict[str, Any]:
    """The row of one entry."""
    row: dict[str, Any] = entry._asdict()
    git = git_directory(mirrors, entry.repository)
    if git is None:
        return {**row, "missing": f"no git directory of {entry.repository} below {mirrors}"}
    with tempfile.TemporaryDirectory(prefix="public-") as made:
        folder = Path(made) / entry.repository.rpartition("/")[2]
        folder.mkdir()
        unpack(git, entry.commit, folder)
        subprocess.run(["git", "init", "-q", str(folder)], check=True)  # it is a project of its own, as a clone is
        output = Path(made) / "out"
        whole = entry.path == "."
        target = ["--all", "."] if whole else [entry.path]
        command = [sys.executable, "-m", "modgraph", "analyze", *target, "--format", "json", "-o", str(output)]
        ended = run(command, folder, SECONDS_OF_TREE if whole else SECONDS)
        found = [root(file, made) for file in sorted(output.rglob("*.json"))]
        text = (ended["out"] + ended["err"]).replace(made, "")
    return {
        **row,
        "status": ended["status"],
        "seconds": ended["seconds"],
        "traceback": "Traceback (most recent call last)" in text,
        "models": found,
        "err": ended["err"].replace(made, "")[-6_000:],
        **({"out": ended["out"].replace(made, "")[-6_000:]} if whole else {}),
    }


def root(file: Path, made: str) -> dict[str, Any]:
    """What the JSON of one model says, without the name of the folder that was made for it."""
    graph = json.loads(file.read_text(encoding="utf-8").replace(made, ""))
    model = graph["model"]
    arguments = model.get("arguments_from") or {}
    return {
        "target": model.get("target"),
        "class": model.get("class"),
        "complete": graph["complete"],
        "modules": len(graph["modules"]),
        "calls": len(graph["calls"]),
        "arguments": arguments.get("kind"),
        "arguments_text": arguments.get("text"),
        "problems": [problem.get("message") or problem.get("text") or str(problem) for problem in graph["problems"]],
    }


# ---- what is told ----------------------------------------------------------------------------------------------------


def meant(row: dict[str, Any]) -> dict[str, Any] | None:
    """The graph of the class that the authors mean, if it is there."""
    return next((each for each in row.get("models", ()) if _is_of(each, row["model"])), None)


def _is_of(model: dict[str, Any], name: str) -> bool:
    target = re.sub(r"\(.*", "", (model["target"] or "").rpartition(":")[2])
    return name in (target, (model["class"] or "").rpartition(".")[2])


def verdict(row: dict[str, Any]) -> str:
    """One of: complete, assumed (that is all that is amiss), partial, other (graphs, but none of the class), none."""
    model = meant(row)
    if model is None:
        return "other" if row.get("models") else "none"
    if model["arguments"] == "assumed" and model["calls"] and len(model["problems"]) == 1:
        return "assumed"
    return "complete" if model["complete"] else "partial"


def cause(row: dict[str, Any]) -> str:
    """Why it is not complete, in a line."""
    if "missing" in row:
        return str(row["missing"])
    if row["status"] is None:
        return f"did not end within {SECONDS} s"
    model = meant(row)
    if model is None and row["models"]:
        return f"its graphs are of {', '.join(each['class'] for each in row['models'])}"
    if model and model["problems"]:
        # What is assumed is said first, and the run's own end last.
        return first_line(model["problems"][0 if verdict(row) == "assumed" else -1])
    said = [line for line in row["err"].splitlines() if line.strip() and not line.startswith("wrote ")]
    return first_line(said[0]) if said else ""


def first_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 200 else line[:197] + "..."


def figures(rows: list[dict[str, Any]]) -> dict[str, str]:
    """The line of the table that one run gives."""
    files = [row for row in rows if row["path"] != "."]
    verdicts = Counter(map(verdict, files))
    return {
        "files": str(len(files)),
        "with a graph": str(sum(bool(row.get("models")) for row in files)),
        "without a traceback": str(sum(not row.get("traceback") for row in files)),
        "the class that is meant": str(sum(meant(row) is not None for row in files)),
        "it is complete": share(verdicts["complete"], len(files)),
        "complete but for assumed arguments": str(verdicts["assumed"]),
        "all models of the file complete (status 0)": share(sum(row.get("status") == 0 for row in files), len(files)),
    }


def share(part: int, whole: int) -> str:
    return f"{part} ({100 * part / max(1, whole):.1f} %)"


def page(rows: list[dict[str, Any]], first: list[dict[str, Any]]) -> str:
    files = [row for row in rows if row["path"] != "."]
    lines = [
        HEADING,
        "",
        f"`modgraph analyze FILE` for {len(files)} model files of as many repositories of research groups and persons,"
        " each at one commit, with no word from the user. The list (`tests/oracle/public_files.txt`) names for each file"
        " the class that its authors mean, and was fixed before the first run; none was exchanged. The code is run"
        " where it lies in its repository, with torch, torchvision, timm, transformers, einops and other common packages"
        " installed, without a GPU or a network. In the first run some of the packages that the repositories name were not"
        " there yet (munch, lmdb, librosa, psutil, seaborn, tiktoken and a few more). All rows"
        " of the present figures are of one commit, of November 2026.",
        "",
        "```",
        "python tests/oracle/public_files.py --mirrors FOLDER --json rows.jsonl -o docs/coverage.md",
        "```",
        "",
    ]
    runs = [(name, figures(run)) for name, run in (("first run", first), ("now", rows)) if run]
    lines += ["| | " + " | ".join(name for name, _ in runs) + " |", "|---|" + "--:|" * len(runs)]
    lines += [f"| {key} | " + " | ".join(each[key] for _, each in runs) + " |" for key in runs[0][1]]
    kinds = Counter(((model := meant(row)) and model["arguments"]) or "none wanted, or none found" for row in files)
    lines += [
        "",
        "Where the arguments came from: " + ", ".join(f"{kind} {n}" for kind, n in sorted(kinds.items())) + ".",
    ]
    lines += ["", "What is not complete, with its cause:", ""]
    lines += [
        f"- {row['repository']} `{row['path']}:{row['model']}` ({verdict(row)}): {escaped(cause(row))}"
        for row in files
        if verdict(row) != "complete"
    ]
    lines += ["", "### Whole repositories", "", "`modgraph analyze --all .` in each:", ""]
    lines += ["| repository | models | " + " | ".join(f"complete, {name}" for name, _ in runs) + " |"]
    lines += ["|---|--:|" + "--:|" * len(runs)]
    lines += [tree_line(row, first) for row in rows if row["path"] == "."]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    return text.replace("<", "&lt;").replace("|", "\\|").replace("*", "\\*")


def tree_line(row: dict[str, Any], first: list[dict[str, Any]]) -> str:
    before = [each for each in first if each["repository"] == row["repository"] and each["path"] == "."]
    cells = [f"{sum(m['complete'] for m in each['models'])} of {len(each['models'])}" for each in (*before, row)]
    return f"| {row['repository']} | {len(row['models'])} | " + " | ".join(cells) + " |"


# ---- the command -----------------------------------------------------------------------------------------------------


def read_rows(file: Path) -> list[dict[str, Any]]:
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]


def swept(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """A row of each entry, in the order of the list; those in the file of rows are not run again."""
    file = Path(arguments.json)
    known = {(row["repository"], row["commit"], row["path"]): row for row in read_rows(file)}
    wanted = [entry for entry in entries() if not arguments.only or re.search(arguments.only, entry.name)]
    for entry in wanted:
        if entry[:3] in known or arguments.no_run:
            continue
        row = known[entry[:3]] = analyzed(entry, Path(arguments.mirrors))
        print(f"{verdict(row):8} {row.get('seconds')} s  {entry.name}: {cause(row)}", file=sys.stderr, flush=True)
        with file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(row) + "\n")
    return [known[entry[:3]] for entry in wanted if entry[:3] in known]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirrors", metavar="FOLDER", help="git directories of the repositories")
    parser.add_argument(
        "--json", metavar="FILE", required=True, help="rows, as they come; what is there is not run again"
    )
    parser.add_argument("--first", metavar="FILE", default=str(FIRST), help="rows of the first run")
    parser.add_argument("--only", metavar="PATTERN", help="entries whose repository and path match")
    parser.add_argument("--no-run", action="store_true", help="the table of what --json holds already")
    parser.add_argument("-o", metavar="FILE", help="write the table into this page, from its heading on")
    arguments = parser.parse_args()
    rows = swept(arguments)
    text = page(rows, read_rows(Path(arguments.first)))
    if arguments.o:
        whole = Path(arguments.o).read_text(encoding="utf-8") if Path(arguments.o).exists() else ""
        Path(arguments.o).write_text(whole.partition(HEADING)[0].rstrip("\n") + "\n\n" + text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
