"""A `Target` as a live model, built in this process, with the example inputs that stand beside it.

**Example inputs.** A function or attribute `example_inputs`, on the class (attribute, static, class or plain method) or
else at the top of the model's module. Its value is one tensor, a tuple or list of positional arguments, a dict of
keyword arguments, or a pair `(args, kwargs)` of a tuple and a dict. In a module with several models it applies to all,
or is a dict by class name; a model that such a dict does not name has none.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import inspect
import random
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from modgraph.errors import (
    ArgumentsError,
    MissingArgumentsError,
    ModgraphError,
    TargetError,
    TraceError,
    UnknownNameError,
)
from modgraph.graph.model import ModelInfo
from modgraph.names import last_name
from modgraph.options import TraceOptions
from modgraph.source.targets import NONE_KNOWN, Target
from modgraph.tracing.basics.failures import is_interruption, trace_error
from modgraph.tracing.basics.sharding import user_class
from modgraph.tracing.faking import fake
from modgraph.tracing.loading.absent_weights import AbsentWeights
from modgraph.tracing.loading.importing import import_target
from modgraph.tracing.loading.left_out import LeftOutCode
from modgraph.tracing.loading.target_arguments import resolve

EXAMPLE_NAME = "example_inputs"


@dataclass(frozen=True, slots=True)
class Example:
    """The arguments that stand beside a model."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A live model and what came with it."""

    model: nn.Module
    namespace: types.ModuleType
    """The module of the user's that the target names."""
    example: Example | None
    info: ModelInfo
    fake_mode: Any = None
    """The `FakeTensorMode` that its tensors belong to, where it was built without weights."""


def load_model(target: Target, options: TraceOptions) -> LoadedModel:
    """The model that `target` names, on the device asked for, and its example inputs if there are any.

    Raises:
        TargetError: nothing has that name, it makes no `nn.Module`, or its arguments do not fit its signature.
        TraceError: the user's code raised while it was imported, while the model was built, or in `example_inputs`.
        ModgraphError: the device is not there.
    """
    return with_example(build_model(target, options))


def build_model(
    target: Target,
    options: TraceOptions,
    absent: AbsentWeights | None = None,
    *,
    imported: Callable[[], None] = lambda: None,
    code: LeftOutCode | None = None,
) -> LoadedModel:
    """The same without its example inputs.

    Args:
        absent: weights that are not there, and without which it is built.
        imported: is called when its file has been imported.
        code: leaves out what of its project cannot be imported.
    """
    check_device(options)
    put_on_path(target)
    with contextlib.nullcontext() if absent is None else absent:
        namespace = import_target(target, code)
        imported()
        if code is not None:
            code.require(namespace, target)
        found = look_up(namespace, target)
        seed()
        build: Callable[[], nn.Module] = functools.partial(instantiate, found, target)
        if absent is not None:
            build = absent.again(build)
        mode = fake.new_mode() if options.device == "fake" else None
        model = build() if mode is None else fake.build(build, mode)
    if options.device == "cuda":
        model = model.to("cuda")
    info = model_info(model, target)
    if absent is not None:
        info = replace(info, missing_weights=absent.told())
    return LoadedModel(model, namespace, None, info, mode)


def with_example(loaded: LoadedModel) -> LoadedModel:
    """The same with the example inputs that stand beside the model.

    Raises:
        TraceError: the user's code raised in `example_inputs`, or what it gave is no set of arguments.
    """
    return replace(loaded, example=example_beside(loaded.model, loaded.namespace))


def model_info(model: nn.Module, target: Target) -> ModelInfo:
    """Name, class and target; counts and inputs are filled in by the trace."""
    kind = user_class(type(model))
    name = last_name(target.name) or kind.__name__
    return ModelInfo(name=name, class_name=f"{kind.__module__}.{kind.__qualname__}", target=target.text)


def check_device(options: TraceOptions) -> None:
    """Nothing, if the device can be used.

    Raises:
        ModgraphError: this PyTorch sees no CUDA device.
    """
    if options.device == "cuda" and not torch.cuda.is_available():
        built = "sees no CUDA device" if torch.version.cuda else "was built without CUDA"
        raise ModgraphError(f"--device cuda cannot be used: this PyTorch {built}", hint="use --device cpu or fake")


def put_on_path(target: Target) -> None:
    """`target.search_path` in front of `sys.path`, in its order."""
    entries = list(target.search_path) or ([str(target.root)] if target.root else [])
    sys.path[:] = entries + [entry for entry in sys.path if entry not in entries]


def seed() -> None:
    """The same weights in every run."""
    torch.manual_seed(0)
    random.seed(0)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(0)


def look_up(namespace: types.ModuleType, target: Target) -> Any:
    """What `target.name` (dotted for a nested class) stands for in `namespace`.

    Raises:
        UnknownNameError: there is nothing of that name; the message has the nearest names, or all.
    """
    found: Any = namespace
    owner = target.place
    for part in target.name.split("."):
        if not hasattr(found, part):
            raise UnknownNameError(f"{owner} has no {part!r}", file=_file_of(target), hint=_what_is_there(found, part))
        found, owner = getattr(found, part), part
    return found


def _file_of(target: Target) -> str | None:
    return target.relative_file if target.file is not None else None


def _what_is_there(owner: Any, missing: str) -> str | None:
    home = owner.__name__ if isinstance(owner, types.ModuleType) else getattr(owner, "__module__", None)
    names = [
        name
        for name, value in vars(owner).items()
        if not name.startswith("_") and (isinstance(value, nn.Module) or getattr(value, "__module__", None) == home)
    ]
    near = difflib.get_close_matches(missing, names, n=3, cutoff=0.5)
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"it has {', '.join(names[:12])}" if names else None


def instantiate(found: Any, target: Target) -> nn.Module:
    """The `nn.Module` that a class, a function or an instance stands for, called with the target's arguments.

    Raises:
        TargetError: it is or returns something else, or the arguments do not fit.
        TraceError: it raised.
    """
    if isinstance(found, nn.Module) and not isinstance(found, type):
        if target.called or target.arguments or target.keywords:
            raise TargetError(
                f"{target.name} in {target.place} is an instance, which takes no arguments", file=_file_of(target)
            )
        return found
    if not callable(found):
        raise TargetError(
            f"{target.name} in {target.place} is {_a(type(found).__name__)}, not an nn.Module, a class or a function",
            file=_file_of(target),
        )
    if isinstance(found, type) and not issubclass(found, nn.Module):
        raise TargetError(f"class {target.name} in {target.place} is not an nn.Module", file=_file_of(target))
    with foreign_code(f"the arguments of {target.name}"):
        args = [resolve(argument) for argument in target.arguments]
        kwargs = {name: resolve(argument) for name, argument in target.keywords}
    check_signature(found, args, kwargs, target)
    with foreign_code(f"{target.name}()"):
        made = found(*args, **kwargs)
    return _module_of(made, target)


def _module_of(made: Any, target: Target) -> nn.Module:
    first = made[0] if isinstance(made, tuple | list) and made else made
    if not isinstance(first, nn.Module):
        raise TargetError(
            f"{target.name}() in {target.place} returned {_a(type(made).__name__)}, not an nn.Module",
            file=_file_of(target),
            hint="name a class, an instance, or a function that returns the model (or a tuple that begins with it)",
        )
    return first


def _a(noun: str) -> str:
    return f"an {noun}" if noun[:1].lower() in "aeiou" else f"a {noun}"


@contextlib.contextmanager
def foreign_code(doing: str) -> Iterator[None]:
    """Turns whatever the user's code raises inside into a `TraceError` that says what was being done."""
    try:
        yield
    except ModgraphError:
        raise
    except BaseException as error:
        if is_interruption(error):
            raise
        raise trace_error(error, doing) from error


def check_signature(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], target: Target
) -> None:
    """Nothing, if the arguments fit.

    Raises:
        MissingArgumentsError: none are given, and some are needed; with the signature, and a command that fits it.
        TargetError: the same of arguments that do not fit.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        shown = _signature_text(signature)
        name, place = target.name, target.place
        wants = not (target.called or args or kwargs)
        kind = MissingArgumentsError if wants else ArgumentsError
        refused = NONE_KNOWN if wants else "cannot be called like that"
        raise kind(
            f"{name}{shown} in {place} {refused}: {error}",
            file=_file_of(target),
            hint=_how_to_call(signature, args, kwargs, target),
        ) from None


def _how_to_call(signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any], target: Target) -> str:
    """A command that fits the signature; where no value can be told for an argument, what to do instead."""
    name = target.name
    near, known = _other_names(signature, kwargs)
    if near:
        return f"did you mean {near}=?"
    fitting = _fitting(signature, args, kwargs)
    if fitting is not None:
        doing = f"its arguments are {', '.join(known)}" if known else "give its arguments"
        return f"{doing}, as in: modgraph analyze {target.typed(f'{name}({fitting})')}"
    return (
        f"write a function without arguments that returns it, def build(): return {name}(...),"
        f" and name that: modgraph analyze {target.typed('build')}"
    )


def _other_names(signature: inspect.Signature, kwargs: Mapping[str, Any]) -> tuple[str | None, list[str]]:
    """Where an argument was given by a name that there is not: the nearest that there is, and all of them."""
    parameters = signature.parameters
    known = [name for name, p in parameters.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    unknown = [name for name in kwargs if name not in known]
    if not unknown or any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return None, []
    near = difflib.get_close_matches(unknown[0], [name for name in known if name not in kwargs], n=1)
    return (near[0] if near else None), known[:12]


def _signature_text(signature: inspect.Signature) -> str:
    return str(signature.replace(return_annotation=inspect.Signature.empty))


_SAMPLE_VALUES = {"int": "1", "float": "0.1", "bool": "True", "str": "'...'"}


def _sample(annotation: Any) -> str | None:
    """A value of a plain number or text, as its annotation is written or is; None of anything else."""
    return _SAMPLE_VALUES.get(annotation if isinstance(annotation, str) else getattr(annotation, "__name__", ""))


def _fitting(signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
    """Arguments that the signature takes: those given that it knows, and a value for each required one missing.

    None where one is missing whose annotation does not say what a value may be.
    """
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    given = list(args)
    written = []
    for name, parameter in signature.parameters.items():
        if parameter.kind in positional and given:
            written.append(repr(given.pop(0)))
        elif name in kwargs:
            written.append(f"{name}={kwargs[name]!r}")
        elif parameter.default is parameter.empty and parameter.kind not in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        ):
            sample = _sample(parameter.annotation)
            if sample is None:
                return None
            written.append(sample if parameter.kind is parameter.POSITIONAL_ONLY else f"{name}={sample}")
    return ", ".join(written)


def example_beside(model: nn.Module, namespace: types.ModuleType | None) -> Example | None:
    """The example inputs that stand on the model's class or in its module; None where there are none.

    Args:
        namespace: the module that the model's class stands in, if it can be told.

    Raises:
        TraceError: the function raised, or what it gave is no set of arguments.
    """
    on_model = _plain_attribute(model)
    if on_model is not None:
        return _example(_called(on_model, model), model)
    beside = getattr(namespace, EXAMPLE_NAME, None)
    if namespace is None or beside is None:
        return None
    value = _called(beside, model)
    by_class = _by_class_name(value, namespace)
    if by_class is None:
        return _example(value, model)
    names = [kind.__name__ for kind in type(model).__mro__ if kind.__name__ in by_class]
    return _example(_called(by_class[names[0]], model), model) if names else None


def _plain_attribute(model: nn.Module) -> Any:
    # Not through the instance's stores: a parameter or child of that name is the model's own affair.
    found = inspect.getattr_static(model, EXAMPLE_NAME, None)
    return None if found is None else getattr(model, EXAMPLE_NAME)


def _by_class_name(value: Any, namespace: types.ModuleType) -> dict[str, Any] | None:
    if not isinstance(value, dict) or not value or not all(isinstance(key, str) for key in value):
        return None
    known = {name for name, kind in vars(namespace).items() if isinstance(kind, type) and issubclass(kind, nn.Module)}
    return value if set(value) <= known else None


def _called(value: Any, model: nn.Module) -> Any:
    if not callable(value) or isinstance(value, torch.Tensor | nn.Module):
        return value
    with foreign_code(f"{EXAMPLE_NAME}()"):
        try:
            takes_model = bool(inspect.signature(value).parameters) and not _fits_without(value)
        except (TypeError, ValueError):
            takes_model = False
        return value(model) if takes_model else value()


def _fits_without(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind()
    except TypeError:
        return False
    return True


def _example(value: Any, model: nn.Module) -> Example:
    if isinstance(value, tuple | list) and len(value) == 2 and isinstance(value[1], dict):
        args, kwargs = value
        if isinstance(args, tuple | list) and all(isinstance(key, str) for key in kwargs):
            return _bound(Example(tuple(args), dict(kwargs)), model)
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return _keywords_or_batch(value, model)
    if isinstance(value, tuple | list):
        return _bound(Example(tuple(value), {}), model)
    return _bound(Example((value,), {}), model)


def _keywords_or_batch(value: dict[str, Any], model: nn.Module) -> Example:
    """A dict is keyword arguments if `forward` takes them, else its one argument (`forward(self, batch)`)."""
    try:
        inspect.signature(model.forward).bind(**value)
    except TypeError:
        return _bound(Example((value,), {}), model)
    except ValueError:
        pass
    return Example((), dict(value))


def _bound(example: Example, model: nn.Module) -> Example:
    try:
        signature = inspect.signature(model.forward)
    except (TypeError, ValueError):
        return example
    try:
        signature.bind(*example.args, **example.kwargs)
    except TypeError as error:
        raise TraceError(
            f"{EXAMPLE_NAME} does not fit forward{_signature_text(signature)}: {error}",
            hint="a tensor, a tuple of arguments, a dict of keyword arguments, or (args, kwargs)",
        ) from None
    return example
