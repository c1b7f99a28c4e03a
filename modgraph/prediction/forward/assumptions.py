"""What is taken for granted of the one run that is followed, as data; a tree is claimed for all surroundings.

They hold while the constructor runs, too, which asks for some of them (`self.fused = os.environ.get(...)`): a second
interpretation, whose tree is not claimed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields

from modgraph.graph.model import Surroundings
from modgraph.prediction.domain.assumed import ENVIRONMENT, SET_ORDER, Assumed, Plain

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
    "tracing": ("torch.jit.is_tracing", "torch.jit._trace.is_tracing", "torch._C._get_tracing_state"),
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
_NO_DEVICE = frozenset(
    {
        *("torch.accelerator.current_accelerator", "torch._C._accelerator_getAccelerator"),
        *("torch._utils._get_available_device_type", "torch._C._get_tracing_state"),
    }
)
"""Those that say None."""


_SAID: Mapping[str, str] = {
    "cuda": "there is no GPU",
    **dict.fromkeys(("tracing", "scripting", "compiling"), "nothing traces, scripts or compiles it"),
    "distributed": "there is no process group",
}
"""In words, what each of them is without."""


@dataclass(frozen=True)
class Assumptions:
    """Of one run. What is assumed to be there is not known further: only that something is not there has one answer."""

    training: bool = False
    """`follow` is told so."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Environment variables."""
    cuda: bool = False
    """A device other than the processor is there."""
    tracing: bool = False
    scripting: bool = False
    compiling: bool = False
    autocast: bool = False
    distributed: bool = False
    """A process group is there."""
    grad: bool = True
    """Operations are recorded for gradients: `follow` is told so."""

    sets_in_order: bool = True
    """The order in which sets are walked is of no matter: it is taken to be that in which they were filled."""

    @property
    def assumed(self) -> Assumed:
        """As the interpretation asks for it."""
        answers: dict[str, Plain] = {}
        for name, functions in _QUESTIONS.items():
            if not getattr(self, name):
                answers.update((each, None if each in _NO_DEVICE else False) for each in functions)
        for name, functions in _NUMBERS.items():
            if not getattr(self, name):
                answers.update(dict.fromkeys(functions, 0))
        return Assumed(self.environment, answers, self.sets_in_order)

    def surroundings(self, asked: Iterable[str]) -> Surroundings:
        """As a graph has them, with what was asked for in words."""
        given = {each.name: getattr(self, each.name) for each in fields(Surroundings) if each.name != "text"}
        return Surroundings(text=", ".join(self._said(frozenset(asked))), **given)

    def _said(self, asked: frozenset[str]) -> list[str]:
        said: list[str] = []
        if ENVIRONMENT in asked:
            variables = " ".join(f"{name}={value}" for name, value in self.environment.items())
            said.append(f"the environment is {variables}" if variables else "no environment variable is set")
        for name, text in _SAID.items():
            functions = (*_QUESTIONS[name], *_NUMBERS.get(name, ()))
            if not getattr(self, name) and text not in said and not asked.isdisjoint(functions):
                said.append(text)
        if self.sets_in_order and SET_ORDER in asked:
            said.append("sets are walked in the order in which they were filled")
        return said or ["the surroundings are usual"]


USUAL = Assumptions()
"""A run in eval mode on a processor, with nothing set in the environment."""
