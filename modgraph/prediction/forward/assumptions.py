"""What is taken for granted of the one run that is followed, as data; a tree is claimed for all surroundings.

They hold while the constructor runs, too, which asks for some of them (`self.fused = os.environ.get(...)`): a second
interpretation, whose tree is not claimed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from modgraph.graph.model import Surroundings
from modgraph.prediction.domain.assumed import CAST, DEFAULT_PLACE, ENVIRONMENT, PLACED, SET_ORDER, Assumed, Plain

_DEVICES = ("cuda", "mps", "xpu", "mtia")
_QUESTIONS: Mapping[str, tuple[str, ...]] = {
    "cuda": (
        *(f"torch.{device}.is_available" for device in (*_DEVICES, "accelerator")),
        *("torch.backends.mps.is_available", "torch.backends.mps.is_built", "torch.backends.cudnn.is_available"),
        *("torch.cuda.is_bf16_supported", "torch.cuda.is_initialized", "torch.cuda.is_current_stream_capturing"),
        *("torch.xpu.is_current_stream_capturing", "torch.mtia.is_current_stream_capturing"),
        *("torch.accelerator.current_accelerator", "torch._C._accelerator_getAccelerator"),
        "torch._utils._get_available_device_type",
    ),
    "tracing": (
        *("torch.jit.is_tracing", "torch.jit._trace.is_tracing", "torch._C._get_tracing_state"),
        "torch.onnx.is_in_onnx_export",
    ),
    "scripting": ("torch.jit.is_scripting", "torch._jit_internal.is_scripting"),
    "compiling": (
        *("torch.compiler.is_compiling", "torch.compiler.is_dynamo_compiling", "torch.compiler.is_exporting"),
        *("torch._dynamo.is_compiling", "torch._dynamo.external_utils.is_compiling", "torch._utils.is_compiling"),
    ),
    "distributed": (
        *("torch.distributed.is_initialized", "torch.distributed.distributed_c10d.is_initialized"),
        "torch.distributed.is_torchelastic_launched",
    ),
}
"""By assumption: the functions that ask for it, and say yes or no."""
_NUMBERS: Mapping[str, tuple[str, ...]] = {"cuda": ("torch.cuda.device_count", "torch.accelerator.device_count")}
"""Those that say how many, which is none."""
_OF_STATE: Mapping[str, tuple[str, ...]] = {
    "autocast": ("torch.is_autocast_enabled", "torch.is_autocast_cpu_enabled", CAST),
    "placed": (PLACED,),
    "default": (DEFAULT_PLACE,),
}
"""Those that the program itself may answer otherwise, by a `with` (`knowledge/torch/autocasting.py`) or a device."""
_FIELDS: Mapping[str, str] = {"placed": "cuda", "default": "cuda"}
"""The fields of `Surroundings` that have another name."""
_NO_DEVICE = frozenset(
    {
        *("torch.accelerator.current_accelerator", "torch._C._accelerator_getAccelerator"),
        *("torch._utils._get_available_device_type", "torch._C._get_tracing_state"),
    }
)
"""Those that say None."""


_SAID: Mapping[str, str] = {
    "cuda": "there is no GPU",
    "placed": "the model and its inputs are on the CPU",
    "default": "tensors are made on the CPU",
    **dict.fromkeys(("tracing", "scripting", "compiling"), "nothing traces, scripts or compiles it"),
    "distributed": "there is no process group",
    "autocast": "no autocast is around it",
}
"""In words, what each of them is without."""


USUAL = Surroundings(text="")
"""Of a run in eval mode on a processor, with nothing set in the environment."""
IN_ORDER = replace(USUAL, sets_in_order=True)
"""The same, in a run that walks each set in the order in which it was filled."""


def assumed_in(surroundings: Surroundings) -> Assumed:
    """As the interpretation asks for it. What is there is not known further: only that something is not there has one
    answer."""
    answers: dict[str, Plain] = {}
    for name, functions in _QUESTIONS.items():
        if not getattr(surroundings, name):
            answers.update((each, None if each in _NO_DEVICE else False) for each in functions)
    for name, functions in _NUMBERS.items():
        if not getattr(surroundings, name):
            answers.update(dict.fromkeys(functions, 0))
    return Assumed(surroundings.environment, answers, surroundings.sets_in_order)


def with_words(surroundings: Surroundings, asked: Iterable[str]) -> Surroundings:
    """The same, with what the code asked for in words."""
    return replace(surroundings, text=", ".join(_said(surroundings, frozenset(asked))))


ASKED_IN_RUN: tuple[frozenset[str], ...] = (
    frozenset({PLACED}),
    frozenset({DEFAULT_PLACE}),
    frozenset({CAST}),
    frozenset(name for each in ("tracing", "scripting", "compiling") for name in _QUESTIONS[each]),
)
"""What `forward` may ask that is answered as usual in each run, also where nothing else is taken for granted: by what
is told in the same words."""


def _said(surroundings: Surroundings, asked: frozenset[str]) -> list[str]:
    said: list[str] = []
    if ENVIRONMENT in asked:
        variables = " ".join(f"{name}={value}" for name, value in surroundings.environment.items())
        said.append(f"the environment is {variables}" if variables else "no environment variable is set")
    for name, text in _SAID.items():
        functions = (*_QUESTIONS.get(name, ()), *_NUMBERS.get(name, ()), *_OF_STATE.get(name, ()))
        if not getattr(surroundings, _FIELDS.get(name, name)) and text not in said and not asked.isdisjoint(functions):
            said.append(text)
    if surroundings.sets_in_order and SET_ORDER in asked:
        said.append("sets are walked in the order in which they were filled")
    return said or ["the surroundings are usual"]
