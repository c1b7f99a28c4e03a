"""How many models get inputs without a word from the user: `python tests/benchmarks/input_rates.py [--torchvision]`.

By first guess, by repair, and not at all; for the models of tests/tracing/models_inputs, or torchvision's classifiers
(built without weights).
"""

from __future__ import annotations

import importlib.util
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn

from modgraph.inputs.making import Inputs, make_inputs
from modgraph.options import TraceOptions
from modgraph.tracing.faking import fake

ROOT = Path(__file__).resolve().parent.parent / "tracing" / "models_inputs"


def written() -> Iterator[tuple[str, Callable[[], Inputs]]]:
    """The models beside the tests."""
    for file in sorted(ROOT.glob("*.py")):
        spec = importlib.util.spec_from_file_location(file.stem, file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[file.stem] = module
        spec.loader.exec_module(module)
        for kind in module.MODELS:
            yield kind.__name__, lambda kind=kind: _checked(kind())


def _checked(model: nn.Module) -> Inputs:
    inputs = make_inputs(model, [], None, TraceOptions())
    with torch.no_grad():
        model.eval()(*inputs.args, **inputs.kwargs)
    return inputs


def torchvision() -> Iterator[tuple[str, Callable[[], Inputs]]]:
    """torchvision's classifiers; the operators of its extension need only be declared."""
    library = torch.library.Library("torchvision", "DEF")
    boxes = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
    for name in ("nms", "qnms"):
        library.define(name + boxes)
    models: Any = importlib.import_module("torchvision").models
    for name in models.list_models(module=models):
        yield name, lambda name=name: _fake(lambda: models.get_model(name, weights=None))


def _fake(build: Callable[[], nn.Module]) -> Inputs:
    mode = fake.new_mode()
    return make_inputs(fake.build(build, mode), [], None, TraceOptions(device="fake"), fake_mode=mode)


def main() -> None:
    """Print one line for each model that was not guessed at once, and the rates."""
    warnings.simplefilter("ignore")
    guessed, repaired, failed, seconds = 0, 0, 0, []
    for name, infer in torchvision() if "--torchvision" in sys.argv else written():
        began = time.perf_counter()
        try:
            inputs = infer()
            done = inputs.warning is None
        except Exception as error:
            inputs, done = None, False
            print(f"{name}: {type(error).__name__}: {error}")
        seconds.append(time.perf_counter() - began)
        # Fake, and once more for real where indices or values matter.
        at_once = done and inputs is not None and inputs.tries <= 2 and not _repaired(inputs)
        guessed, repaired, failed = guessed + at_once, repaired + (done and not at_once), failed + (not done)
        if not at_once and inputs is not None:
            shapes = {info.name: [tensor.shape for tensor in info.tensors] for info in inputs.infos}
            print(f"{name}: {inputs.tries} tries, {shapes}")
    total = guessed + repaired + failed
    print(f"{total} models: {guessed} by first guess, {repaired} by repair, {failed} not;", end=" ")
    print(f"{statistics.median(seconds):.3f} s median, {max(seconds):.2f} s worst")


def _repaired(inputs: Inputs) -> bool:
    return any(len(info.rules) > 1 for info in inputs.infos)


if __name__ == "__main__":
    main()
