"""What MG401 and MG402 say of a library's declarations, against its models, built on the meta device.

    python tests/oracle/declared_names.py transformers [--path FOLDER] [--only TEXT] [--seconds 600] [--json rows.jsonl]

Two questions. Is all that is in a model that was built in the tree that the rules go by (else "never" would be said of
something that is there)? And is each declaration that is reported one that no configuration fits? For each class that has
declarations, configurations are sampled: the default one, and those with one flag turned, one choice made otherwise, with
few layers. It needs the library and torch; the models are its own code, and are run.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import random
import re
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from modgraph.rules.declared.carriers import carriers
from modgraph.rules.declared.constants import Constants
from modgraph.rules.declared.declarations import Declaration, declarations
from modgraph.rules.declared.judging import fits
from modgraph.rules.declared.roots import Trees
from modgraph.rules.declared.sources import Sources
from modgraph.rules.declared.table import Names
from modgraph.rules.declared.tree import OpenError, Tree
from modgraph.rules.declared.values import Kind
from modgraph.rules.names import Project

FEW = 2
"""Layers of a sampled model."""
_COUNTS = re.compile(r"layers?$|depth|blocks?$|num_hidden|n_layer|stages?$")
_MOST_SECONDS = 20
_NUMBER = re.compile(r"(?<![^.])\d+(?![^.])")


class TooLongError(Exception):
    """A model takes too long to be built."""


def main() -> int:
    options = _options()
    sys.path[:0] = options.path
    warnings.simplefilter("ignore")
    package = importlib.import_module(options.package)
    root = Path(str(package.__file__)).parent
    project = Project(path=[*options.path, *sys.path])
    parsed: dict[str, Any] = {}
    end = time.monotonic() + options.seconds
    counts: Counter[str] = Counter()
    rows: list[str] = []
    for file in _files(root, options):
        if time.monotonic() > end:
            break
        trees = Trees(Sources(project, parsed))
        for row in _rows(file, root, trees, options):
            counts.update(row["counts"])
            for each in row["wrong"]:
                print("FALSE", row["class"], each, flush=True)
            rows.append(json.dumps(row) + "\n")
        print(file.stem, dict(counts), file=sys.stderr, flush=True)
    if options.json:
        Path(options.json).write_text("".join(rows), "utf-8")
    print(dict(counts))
    return 1 if counts["false"] else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("package")
    parser.add_argument("--path", action="append", default=[], help="where libraries lie")
    parser.add_argument("--only", default="", help="files whose path has this text")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--samples", type=int, default=4, help="configurations of a class")
    parser.add_argument("--seed", type=int, default=0, help="of the order of files, and of the configurations")
    parser.add_argument("--json", help="where each class becomes a line")
    return parser.parse_args()


def _files(root: Path, options: argparse.Namespace) -> list[Path]:
    """Those with declarations, in an order that depends on the seed."""
    found = [each for each in sorted(root.rglob("modeling_*.py")) if options.only in str(each)]
    random.Random(options.seed).shuffle(found)
    return found


def _rows(file: Path, root: Path, trees: Trees, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    text = trees.sources.text(str(file))
    try:
        module = importlib.import_module(".".join((root.name, *file.relative_to(root).with_suffix("").parts)))
    except Exception:
        return
    declared = _declared(str(file), trees)
    for name in text.classes if text is not None else ():
        cls = getattr(module, name, None)
        if "." not in name and isinstance(cls, type) and getattr(cls, "config_class", None) is not None:
            kind = Kind(str(file), name)
            yield _row(cls, kind, trees, declared.get(kind, []), options)


def _declared(file: str, trees: Trees) -> dict[Kind, list[Declaration]]:
    """By class: the declarations that count for it, of this file and of the configuration beside it."""
    found: dict[Kind, list[Declaration]] = {}
    files = [file, *map(str, Path(file).parent.glob("configuration_*.py"))]
    for each in files:
        text = trees.sources.text(each)
        for name, nodes in text.classes.items() if text is not None else ():
            for one in (d for node in nodes for d in declarations(node, Constants(trees.sources, each))):
                kind = Kind(each, name)
                for carrier in carriers(trees.sources, kind, one.attribute, one.declared.of_configuration, True) or ():
                    found.setdefault(carrier, []).append(one)
    return found


def _row(
    cls: Any, kind: Kind, trees: Trees, declared: list[Declaration], options: argparse.Namespace
) -> dict[str, Any]:
    """What came of one class."""
    tree = trees.tree(kind)
    counts: Counter[str] = Counter(classes=1)
    wrong: list[str] = []
    never: list[str] = []
    if tree is None:
        counts["too much"] += 1
        return {"class": kind.name, "counts": counts, "wrong": wrong, "never": never}
    answers = {id(each): _answer(tree, each) for each in declared}
    counts.update(f"declared: {each}" for each in answers.values())
    never = [f"{each.attribute} {each.text!r}" for each in declared if answers[id(each)] == "never"]
    for model in _models(cls, random.Random(options.seed), options.samples):
        counts["models"] += 1
        names = _names(model)
        missed = _missed(tree, names)
        counts["names"] += len(names)
        counts["false"] += len(missed)
        wrong += missed[:5]
        for each in declared:
            if answers[id(each)] == "never" and _really_fits(each, names, model):
                counts["false"] += 1
                wrong.append(f"{each.attribute} {each.text!r} fits")
    return {"class": kind.name, "counts": counts, "wrong": wrong, "never": never}


def _answer(tree: Tree, each: Declaration) -> str:
    try:
        return "fits" if fits(tree, each) else "never"
    except OpenError:
        return "open"


def _names(model: Any) -> dict[str, str | None]:
    """Each path of a module with its class, of a parameter or buffer with None."""
    found: dict[str, str | None] = {
        path: type(module).__name__ for path, module in model.named_modules(remove_duplicate=False) if path
    }
    found.update({path: None for path, _ in model.named_parameters(remove_duplicate=False)})
    found.update({path: None for path, _ in model.named_buffers(remove_duplicate=False)})
    return found


def _missed(tree: Tree, names: dict[str, str | None]) -> list[str]:
    """What is in the model, and not in the tree."""
    known, is_open = tree.class_names()
    found: list[str] = []
    for path in dict.fromkeys(_NUMBER.sub("0", path) for path in names):
        with contextlib.suppress(OpenError):
            if not tree.has_path(path):
                found.append(path)
    if not is_open:
        found += [f"{path}: {name}" for path, name in names.items() if name is not None and name not in known]
    return found


def _really_fits(each: Declaration, names: dict[str, str | None], model: Any) -> bool:
    """Whether the model has what is declared, told by its own names."""
    how, text = each.declared.names, each.text
    if how is Names.CLASSES:
        return text in {type(module).__name__ for module in model.modules()}
    if how is Names.PLAN and each.declared.of_configuration:
        models = [module for module in model.modules() if hasattr(module, "base_model_prefix")]
        return any(_has(each.text, _names(module)) for module in models)
    if how is Names.PLAN:
        return _has(text, names)
    tensors = [path for path, name in names.items() if name is None]
    if how is Names.KEY:
        return text in tensors
    if how is Names.TIED and each.is_dict:
        return any(re.search(f"^{text}", path) for path in tensors)
    return any(re.search(text.replace("*", ".*") if how is Names.PART else text, path) for path in tensors)


def _has(text: str, names: dict[str, str | None]) -> bool:
    """A path of a plan is there."""
    numbered = {re.sub(r"(^|\.)\d+(?=\.|$)", r"\1*", path) for path in names} | set(names)
    return text in numbered | {re.sub(r"\d+", "*", path) for path in names}


def _models(cls: Any, chance: random.Random, samples: int) -> Iterator[Any]:
    """A class built with some configurations; those that it does not take are left out."""
    import torch

    for configuration in _configurations(cls.config_class, chance, samples):
        signal.signal(signal.SIGALRM, _too_long)
        signal.alarm(_MOST_SECONDS)
        try:
            with torch.device("meta"):
                model = cls(configuration)
        except Exception:
            continue  # somebody else's code
        finally:
            signal.alarm(0)
        yield model


def _too_long(*_: object) -> None:
    raise TooLongError


def _configurations(cls: Any, chance: random.Random, samples: int) -> Iterator[Any]:
    changes: list[dict[str, Any]] = [{}]
    try:
        default = cls()
    except Exception:
        return
    held = {name: value for name, value in vars(default).items() if not name.startswith("_")}
    flags = [name for name, value in held.items() if isinstance(value, bool)]
    absent = [name for name, value in held.items() if value is None]
    changes += [{each: not held[each]} for each in flags]
    changes += [{each: chance.choice([True, 1, 8])} for each in absent]
    chosen = changes[:1] + chance.sample(changes[1:], min(samples - 1, len(changes) - 1))
    for change in chosen:
        few = {name: FEW for name, value in held.items() if _COUNTS.search(name) and type(value) is int}
        for given in ({**few, **change}, change):
            try:
                yield cls(**given)
                break
            except Exception:
                continue


if __name__ == "__main__":
    sys.exit(main())
