"""Makes all fixes of the check in a copy of public repositories, and asks Python and torch whether the files are what they were.

    python tests/oracle/fixed_files.py FOLDER [--python PROGRAM]

FOLDER holds repositories, each in a folder of its own; they are copied first. All rules look, and safe and unsafe fixes
are made. Of each file that they touch it is asked, before and after: does it parse, is it imported, or with which error
not, and which keys do the state dicts of its classes have that can be built without arguments. Keys that change have to
be those of attributes that the check says get new ones. PROGRAM is the Python that imports the files, for what they need
beside torch: their code is run, so do not give it what you would not run yourself.
"""

from __future__ import annotations

import argparse
import ast
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from modgraph.cli.fixed import _NEW_KEYS as NEW_KEYS
from modgraph.rules.options import CheckOptions
from modgraph.rules.outcomes import Change
from modgraph.rules.paths import check_paths
from modgraph.source.targets import import_name

MOST_BYTES = 1_000_000
PARTING = ("MG105",)
"""Whose fixes make of one parameter several: more keys, or the same for other tensors."""
_ASKED = """
import importlib, inspect, json, sys, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, sys.argv[1])
told = {}
try:
    import torch
    module = importlib.import_module(sys.argv[2])
except BaseException as error:
    told["error"] = f"{type(error).__name__}: {error}"[:200]
else:
    for name, each in vars(module).items():
        if inspect.isclass(each) and issubclass(each, torch.nn.Module) and each.__module__ == module.__name__:
            try:
                with torch.device("meta"):
                    told[name] = sorted(each().state_dict())
            except BaseException as error:
                told[name] = f"{type(error).__name__}: {error}"[:200]
print("\\n" + json.dumps(told))
"""


def told_of(file: Path, program: str) -> dict[str, Any]:
    """What importing a file and building its classes comes to, in a process of its own."""
    root, name = import_name(file)
    try:
        run = subprocess.run(
            [program, "-c", _ASKED, str(root), name], cwd=root, capture_output=True, text=True, timeout=120, check=False
        )
        found: dict[str, Any] = json.loads(run.stdout.rpartition("\n{")[2].join(("{", "")))
    except (subprocess.TimeoutExpired, ValueError):
        return {"error": "no answer"}
    return found


def told_names(change: Change) -> set[tuple[str, str]]:
    """(class, attribute) of which it is told that their keys change, or that parameters are no more shared."""
    return {
        (each.class_name or "", each.attribute or "") for each in change.fixed if each.code in (*NEW_KEYS, *PARTING)
    }


def differences(change: Change, before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What is not as it was, and was not told."""
    if before.get("error") != after.get("error"):
        return [f"import: {before.get('error')} -> {after.get('error')}"]
    told = told_names(change)
    attributes = {attribute for _, attribute in told}
    found = []
    for name in before.keys() | after.keys():
        one, other = before.get(name), after.get(name)
        if one == other or name == "error":
            continue
        if not isinstance(one, list) or not isinstance(other, list):
            # A class that could not be built before, as its constructor was wrong, may be built now.
            if isinstance(other, list):
                continue
            found.append(f"{name}: {one} -> {other}")
            continue
        changed = set(one) ^ set(other)
        untold = [key for key in changed if not attributes & set(key.split("."))]
        if untold and not any(each.code in PARTING for each in change.fixed):
            found.append(f"{name}: {sorted(untold)[:4]} changed, and it was not told")
    return found


def parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _no_source(folder: str, names: list[str]) -> list[str]:
    """What is not copied: history, and large files, which hold data."""
    return [name for name in names if name == ".git" or _is_large(Path(folder, name))]


def _is_large(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > MOST_BYTES


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--python", default=sys.executable, help="that imports the files")
    arguments = parser.parse_args()
    wrong = n_fixes = n_imported = n_classes = n_changed = 0
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place, "copy")
        shutil.copytree(arguments.folder, copy, symlinks=True, ignore=_no_source)
        options = CheckOptions(select=("ALL",), isolated=True, fix="unsafe", write=False, jobs=1)
        changes = check_paths([str(each) for each in sorted(copy.iterdir()) if each.is_dir()], options).changes
        for change in changes:
            file = Path(change.file).resolve()
            before = told_of(file, arguments.python)
            file.write_text(change.after, encoding="utf-8", newline="")
            after = told_of(file, arguments.python)
            n_fixes += len(change.fixed)
            n_imported += "error" not in before
            n_classes += sum(isinstance(each, list) for each in before.values())
            n_changed += sum(before.get(name) != after.get(name) for name in before)
            problems = differences(change, before, after) if parses(change.after) else ["it is no Python any more"]
            wrong += bool(problems)
            shown = file.relative_to(copy.resolve())
            codes = ", ".join(sorted({each.code for each in change.fixed}))
            print(f"{shown}: {len(change.fixed)} ({codes}); {'; '.join(problems) or before.get('error', 'as before')}")
            file.write_text(change.before, encoding="utf-8", newline="")
    print(f"{n_fixes} fixes in {len(changes)} files, of which {n_imported} can be imported; {n_classes} classes built,")
    print(f"{n_changed} with other keys, as told; {wrong} files not as they were")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
