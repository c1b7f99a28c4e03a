"""torch beside tensors: dtypes, devices, contexts, decorators, initialisers, nn.utils, questions about the machine."""

from __future__ import annotations

from collections.abc import Container

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import ModuleObject, TensorObject
from modgraph.prediction.domain.registry import Model, constant, inert, known_class, models
from modgraph.prediction.domain.values import (
    FALSE,
    NONE,
    OPEN,
    Address,
    Constant,
    Device,
    Dtype,
    KnownFunction,
    Unknown,
    Value,
)
from modgraph.prediction.knowledge.tensors.elements import Shape
from modgraph.prediction.knowledge.tensors.tensor_math import needs_any
from modgraph.prediction.knowledge.tensors.tensor_memory import overwrite
from modgraph.prediction.knowledge.tensors.tensor_values import dimension, made, tensor_of
from modgraph.prediction.knowledge.torch.parameters import as_parameter
from modgraph.prediction.paths import partial_texts, recording
from modgraph.prediction.python.plain import number_unknown
from modgraph.prediction.python.registration import assign, class_name, delete

_DTYPES = {
    "float32": ("float",),
    "float64": ("double",),
    "float16": ("half",),
    "bfloat16": (),
    "int64": ("long",),
    "int32": ("int",),
    "int16": ("short",),
    "int8": (),
    "uint8": (),
    "uint16": (),
    "uint32": (),
    "uint64": (),
    "bool": (),
    "complex32": ("chalf",),
    "complex64": ("cfloat",),
    "complex128": ("cdouble",),
    "float8_e4m3fn": (),
    "float8_e5m2": (),
    "quint8": (),
    "qint8": (),
    "qint32": (),
}
for _name, _aliases in _DTYPES.items():
    for _each in (_name, *_aliases):
        constant(f"torch.{_each}", Dtype(_name))
constant("torch.ops", Unknown("torch.ops is not interpreted", None, inert=True, library="torch.ops"))
known_class("torch.dtype")
known_class("torch.device")
known_class("torch.Generator")
known_class("torch.layout")
known_class("torch.memory_format")
for _name in ("strided", "contiguous_format", "channels_last", "channels_last_3d", "preserve_format", "sparse_coo"):
    constant(f"torch.{_name}", Unknown(f"torch.{_name}", None, inert=True))
for _name in ("cuda", "hip", "rocm", "xpu"):
    constant(f"torch.version.{_name}", Unknown("depends on how torch was built", None, inert=True))
constant("torch.pi", Constant(3.141592653589793))
constant("torch.e", Constant(2.718281828459045))
constant("torch.inf", Constant(float("inf")))
constant("torch.nan", Constant(float("nan")))
constant("torch.newaxis", NONE)


@models("torch.Generator", "torch.manual_seed", "torch.seed", "torch.initial_seed", "torch.get_rng_state")
def generator(arguments: Arguments, machine: Machine) -> Value:
    return Unknown("random numbers are not followed", machine.where, inert=True)


@models("torch.dtype.@is_floating_point", "torch.dtype.@is_complex", "torch.dtype.@itemsize")
def dtype_part(arguments: Arguments, machine: Machine) -> Value:
    value = arguments.positional[0]
    if not isinstance(value, Dtype) or arguments.function.endswith("itemsize"):
        return number_unknown(machine, "the dtype is not known", value)
    is_complex = arguments.function.endswith("is_complex")
    return Constant(value.name.startswith("complex") if is_complex else "float" in value.name)


# ---- the machine -----------------------------------------------------------------------------------------------------


def _environment(name: str) -> Model:
    def answer(arguments: Arguments, machine: Machine) -> Value:
        return Unknown(f"depends on {name}", machine.where, inert=True)

    return answer


for _name in (
    *(
        "torch.cuda.is_available",
        "torch.cuda.device_count",
        "torch.cuda.current_device",
        "torch.cuda.is_bf16_supported",
    ),
    *("torch.cuda.get_device_capability", "torch.cuda.get_device_properties", "torch.cuda.get_device_name"),
    *("torch.backends.mps.is_available", "torch.backends.cudnn.is_available", "torch.backends.mps.is_built"),
    *("torch.distributed.is_available", "torch.distributed.is_initialized", "torch.distributed.get_world_size"),
    *("torch.distributed.get_rank", "torch.get_num_threads", "torch.xpu.is_available", "torch.cuda.memory_allocated"),
):
    models(_name)(_environment(_name))
inert(
    "torch._C",
    "torch.backends",
    "torch.cuda",
    "torch.distributed",
    "torch.profiler",
    "torch.utils.tensorboard",
    "torch.mps",
)


# ---- contexts and decorators -----------------------------------------------------------------------------------------

_CONTEXTS = (
    *("torch.autograd.profiler.record_function", "torch.autograd.set_detect_anomaly", "torch.random.fork_rng"),
    *("torch.cuda.amp.custom_bwd", "torch.amp.custom_bwd"),
)


@models(*_CONTEXTS)
def context(arguments: Arguments, machine: Machine) -> Value:
    """As a decorator without arguments, the function itself; called, something that is a context and a decorator."""
    given = arguments.positional
    if given and not isinstance(given[0], (Constant, Unknown, Device)):
        return given[0]
    return KnownFunction("torch._transparent")


@models(
    "torch._transparent",
    *("torch.jit.ignore", "torch.jit.export", "torch.jit.unused", "torch.jit.script_if_tracing"),
    *("torch.jit.script_method", "torch.jit.interface"),
    *("torch._jit_internal.ignore", "torch._jit_internal.export", "torch._jit_internal.unused"),
    *("torch._jit_internal._copy_to_script_wrapper", "torch._jit_internal._overload_method"),
    *("torch.compiler.disable", "torch.compiler.allow_in_graph", "torch._dynamo.disable", "torch._disable_dynamo"),
    *("torch.fx.wrap", "torch.fx._symbolic_trace.wrap", "torch.autograd.function.once_differentiable"),
    *("torch._compile._disable_dynamo", "torch._jit_internal.boolean_dispatch"),
)
def transparent(arguments: Arguments, machine: Machine) -> Value:
    """What is decorated stays what it is; with options only, a decorator that does so."""
    for value in (
        *arguments.positional,
        *(arguments.keywords[k] for k in ("fn", "obj", "model") if k in arguments.keywords),
    ):
        if not isinstance(value, Constant):
            return value
    return KnownFunction("torch._transparent")


@models("torch._transparent.__enter__", "torch._transparent.__exit__")
def entered(arguments: Arguments, machine: Machine) -> Value:
    return NONE


_NEVER = (
    *("torch.overrides.has_torch_function", "torch.overrides.has_torch_function_unary"),
    *("torch.overrides.has_torch_function_variadic", "torch._C._has_torch_function"),
)
_COMPILED = (
    *("torch.jit.is_scripting", "torch._jit_internal.is_scripting"),
    *("torch.jit.is_tracing", "torch.jit._trace.is_tracing", "torch.onnx.is_in_onnx_export"),
    *("torch.compiler.is_compiling", "torch.compiler.is_dynamo_compiling", "torch.compiler.is_exporting"),
    *("torch._dynamo.is_compiling", "torch._dynamo.external_utils.is_compiling", "torch._utils.is_compiling"),
)


@models(*_NEVER)
def never(arguments: Arguments, machine: Machine) -> Value:
    return FALSE


@models(*_COMPILED)
def compiled(arguments: Arguments, machine: Machine) -> Value:
    """False while plain Python runs, which is taken for granted of `forward`."""
    if machine.asks(arguments.function):
        return Unknown("depends on whether something traces, scripts or compiles the model", machine.where, inert=True)
    return FALSE


@models("torch._C._get_tracing_state")
def not_traced(arguments: Arguments, machine: Machine) -> Value:
    """There is no trace in which plain Python runs."""
    if machine.asks(arguments.function):
        return Unknown("depends on whether something traces the model", machine.where, inert=True)
    return NONE


@models("torch._C._add_docstr")
def documented(arguments: Arguments, machine: Machine) -> Value:
    """The function that is given a docstring."""
    return arguments.positional[0]


@models(
    *("torch._C._log_api_usage_once", "torch.set_num_threads"),
    *("torch.use_deterministic_algorithms", "torch.cuda.empty_cache", "torch.cuda.manual_seed_all"),
    *("torch.set_float32_matmul_precision", "torch.cuda.synchronize"),
    *("torch.cuda.manual_seed", "torch.random.manual_seed", "torch.set_printoptions", "torch.cuda.set_device"),
)
def without_effect(arguments: Arguments, machine: Machine) -> Value:
    return NONE


@models("torch._assert")
def asserted(arguments: Arguments, machine: Machine) -> Value:
    """As the statement."""
    holds = machine.truth(arguments.get(0, "condition", NONE))
    if holds is False:
        message = arguments.get(1, "message", NONE)
        said = message.value if isinstance(message, Constant) and isinstance(message.value, str) else "torch._assert"
        raise machine.raises("AssertionError", said, (message,))
    if holds is None:
        machine.may_fail("AssertionError")
    return NONE


# ---- initialisers ----------------------------------------------------------------------------------------------------

_INITIALISERS = (
    *("uniform_", "normal_", "trunc_normal_", "constant_", "ones_", "zeros_", "eye_", "dirac_", "xavier_uniform_"),
    *(
        "xavier_normal_",
        "kaiming_uniform_",
        "kaiming_normal_",
        "orthogonal_",
        "sparse_",
        "uniform",
        "normal",
        "constant",
    ),
    *("eye", "dirac", "xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal", "orthogonal", "sparse"),
)


@models(*(f"torch.nn.init.{name}" for name in _INITIALISERS), "torch.nn.init._no_grad_normal_")
def initialiser(arguments: Arguments, machine: Machine) -> Value:
    """The tensor given; what it holds is not followed."""
    value = arguments.get(0, "tensor", NONE)
    tensor, name = tensor_of(machine, value), last_name(arguments.function).removesuffix("_")
    for names, ranks, message in _RANKS:
        if name in names and tensor is not None and tensor.shape is not None and len(tensor.shape) not in ranks:
            raise machine.raises("ValueError", message)
    if machine.is_recording and not machine.operating:
        recording.lost(machine, machine.unknown(f"{arguments.function} is not followed"))
    overwrite(machine, value)
    return value


_RANKS: tuple[tuple[tuple[str, ...], Container[int], str], ...] = (
    (
        ("xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal"),
        range(2, 1 << 31),
        "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions",
    ),
    (("orthogonal",), range(2, 1 << 31), "Only tensors with 2 or more dimensions are supported"),
    (("dirac",), (3, 4, 5), "Only tensors with 3, 4, or 5 dimensions are supported"),
    (("eye", "sparse"), (2,), "Only tensors with 2 dimensions are supported"),
)
"""How many dimensions these take, and what they say of others. Source: torch/nn/init.py."""


@models("torch.nn.init.calculate_gain", "torch.nn.init._calculate_fan_in_and_fan_out")
def gain(arguments: Arguments, machine: Machine) -> Value:
    return number_unknown(machine, "the spread of initial values is not followed")


# ---- nn.utils --------------------------------------------------------------------------------------------------------


def _parameter_to_change(arguments: Arguments, machine: Machine) -> tuple[Address, str, TensorObject | None] | None:
    """The module, the name of its parameter, and that parameter; None where one is not known."""
    module, name = arguments.get(0, "module", NONE), arguments.get(1, "name", Constant("weight"))
    if not isinstance(module, Address) or not isinstance(name, Constant):
        return None
    held = machine.state.find(module, ModuleObject)
    if held is None or name.value not in held.parameters:
        return None
    return module, str(name.value), tensor_of(machine, held.parameters[name.value])


def _opened(arguments: Arguments, machine: Machine, reason: str) -> Value:
    """Which parameter is changed is not known.

    Raises:
        Raised: AttributeError or KeyError, where the module certainly has no such attribute.
    """
    module, name = arguments.get(0, "module", NONE), arguments.get(1, "name", Constant("weight"))
    held = machine.state.find(module, ModuleObject)
    if (
        held is not None
        and isinstance(name, Constant)
        and OPEN not in (*held.parameters, *held.buffers, *held.modules)
        and machine.find_attribute(module, str(name.value)) is None
    ):
        if arguments.function.endswith("spectral_norm"):
            raise machine.raises("KeyError", repr(name.value))
        raise machine.raises("AttributeError", f"'{class_name(held.cls)}' object has no attribute '{name.value}'")
    if machine.state.find(module, ModuleObject) is not None and isinstance(module, Address):
        why = machine.unknown(reason)
        changed = machine.state.change(module, ModuleObject)
        partial_texts.open_store(changed.parameters, why)
    return module


@models("torch.nn.utils.weight_norm.weight_norm", "torch.nn.utils.weight_norm")
def weight_norm(arguments: Arguments, machine: Machine) -> Value:
    """The parameter gives way to `<name>_g`, its norms along `dim`, and `<name>_v`, its direction.

    Source: torch/nn/utils/weight_norm.py.
    """
    found = _parameter_to_change(arguments, machine)
    if found is None:
        return _opened(arguments, machine, "which parameter is normalised is not known")
    module, name, weight = found
    dim = arguments.get(2, "dim", Constant(0))
    shape: Shape | None = None
    if weight is not None and weight.shape is not None:
        place = None if dim in (NONE, Constant(-1)) else dimension(machine, dim, len(weight.shape))
        if dim in (NONE, Constant(-1)):
            shape = ()
        elif place is not None:
            shape = tuple(size if i == place else 1 for i, size in enumerate(weight.shape))
    dtype = weight.dtype if weight is not None else None
    direction = weight.shape if weight is not None else None
    delete(machine, module, name)
    assign(machine, module, f"{name}_g", as_parameter(machine, made(machine, shape, dtype)))
    assign(machine, module, f"{name}_v", as_parameter(machine, made(machine, direction, dtype)))
    machine.state.change(module, ModuleObject).attributes[name] = made(machine, direction, dtype, requires_grad=True)
    return module


@models("torch.nn.utils.spectral_norm.spectral_norm", "torch.nn.utils.spectral_norm")
def spectral_norm(arguments: Arguments, machine: Machine) -> Value:
    """The parameter gives way to `<name>_orig`; `<name>_u` and `<name>_v` are buffers, the singular vectors.

    Source: torch/nn/utils/spectral_norm.py.
    """
    found = _parameter_to_change(arguments, machine)
    if found is None:
        return _opened(arguments, machine, "which parameter is normalised is not known")
    module, name, weight = found
    held = machine.state.find(module, ModuleObject)
    assert held is not None
    original = held.parameters[name]
    dim = arguments.get(4, "dim", NONE)
    rows, columns = None, None
    if weight is not None and weight.shape is not None:
        place = _spectral_dimension(machine, module) if dim == NONE else dimension(machine, dim, len(weight.shape))
        sizes = list(weight.shape)
        if place is not None and all(size is not None for size in sizes):
            rows = sizes.pop(place)
            columns = 1
            for size in sizes:
                columns *= size or 0
    dtype = weight.dtype if weight is not None else None
    delete(machine, module, name)
    assign(machine, module, f"{name}_orig", original)
    for suffix, size in (("u", rows), ("v", columns)):
        buffers = machine.state.change(module, ModuleObject).buffers
        buffers[f"{name}_{suffix}"] = made(machine, (size,), dtype)
    shape = weight.shape if weight is not None else None
    machine.state.change(module, ModuleObject).attributes[name] = made(machine, shape, dtype)
    return module


def _spectral_dimension(machine: Machine, module: Address) -> int:
    """1 for transposed convolutions, else 0."""
    names = (f"torch.nn.ConvTranspose{n}d" for n in (1, 2, 3))
    return int(any(machine.is_instance(module, machine.resolve(name)) is True for name in names))


_LEFT_BY = {"weight_norm": ("v", "g"), "spectral_norm": ("orig", "u", "v")}
"""What stands in place of a normalised parameter; the first is of its shape."""


@models(
    *(f"torch.nn.utils.{name}.remove_{name}" for name in _LEFT_BY), *(f"torch.nn.utils.remove_{n}" for n in _LEFT_BY)
)
def remove_norm(arguments: Arguments, machine: Machine) -> Value:
    """The parameter is one again, behind those that are there."""
    module, name = arguments.get(0, "module", NONE), arguments.get(1, "name", Constant("weight"))
    held, kind = machine.state.find(module, ModuleObject), arguments.function.rpartition(".remove_")[2]
    if held is None or not isinstance(module, Address) or not isinstance(name, Constant):
        return module
    suffixes = _LEFT_BY[kind]
    direction = held.parameters.get(f"{name.value}_{suffixes[0]}", NONE)
    tensor = tensor_of(machine, direction)
    if tensor is None:
        if direction != NONE or partial_texts.further(held.parameters, f"{name.value}_{suffixes[0]}") is not None:
            machine.expose((module,), machine.unknown("whether a parameter is normalised is not known", direction))
            return module
        raise machine.raises("ValueError", f"{kind} of '{name.value}' not found in module")
    restored = made(machine, tensor.shape, tensor.dtype)
    for suffix in suffixes:
        delete(machine, module, f"{name.value}_{suffix}")
    machine.state.change(module, ModuleObject).attributes.pop(name.value, None)
    assign(machine, module, name.value, as_parameter(machine, restored))
    return module


@models("torch.nn.utils.parametrize.class_made_at_run_time")
def open_module(arguments: Arguments, machine: Machine) -> Value:
    """A module that is parametrised, where torch's source is not there: its class and a part of it are not known."""
    module = arguments.get(0, "module", NONE)
    if not isinstance(module, Address) or machine.state.find(module, ModuleObject) is None:
        return module
    why = machine.unknown("a parametrised module has a class made at run time, and torch's source is not there")
    changed = machine.state.change(module, ModuleObject)
    changed.cls = why
    partial_texts.open_store(changed.modules, why)
    partial_texts.open_store(changed.parameters, why)
    return module


@models("torch.norm_except_dim")
def norm_except_dim(arguments: Arguments, machine: Machine) -> Value:
    """One norm for each index of a dimension, the others kept with size 1; of the whole tensor where dim is -1."""
    tensor, dim = tensor_of(machine, arguments.get(0, "v", NONE)), arguments.get(2, "dim", Constant(0))
    if tensor is None or tensor.shape is None or not isinstance(dim, Constant):
        return made(machine, None, tensor.dtype if tensor is not None else None, requires_grad=True)
    if dim.value == -1:
        return made(machine, (), tensor.dtype, requires_grad=tensor.requires_grad)
    place = dimension(machine, dim, len(tensor.shape))
    shape = tuple(size if position == place else 1 for position, size in enumerate(tensor.shape))
    return made(machine, shape if place is not None else None, tensor.dtype, requires_grad=tensor.requires_grad)


@models("torch._weight_norm")
def weighted(arguments: Arguments, machine: Machine) -> Value:
    """A direction times its lengths: of the shape of the direction."""
    tensor, by = tensor_of(machine, arguments.get(0, "v", NONE)), tensor_of(machine, arguments.get(1, "g", NONE))
    if tensor is None or tensor.shape is None:
        return made(machine, None, tensor.dtype if tensor is not None else None, requires_grad=None)
    needs = None if by is None else needs_any((tensor, by))
    return made(machine, tensor.shape, tensor.dtype, requires_grad=needs)


@models("torch.nn.utils.init.skip_init", "torch.nn.utils.skip_init")
def skip_init(arguments: Arguments, machine: Machine) -> Value:
    """The module itself, built as usual; its device does not matter here."""
    keywords = {name: value for name, value in arguments.keywords.items() if name != "device"}
    return machine.call(arguments.positional[0], arguments.positional[1:], keywords, arguments.where, arguments.open)


@models(
    "torch.load", "torch.save", "torch.hub.load", "torch.hub.load_state_dict_from_url", "torch.utils.model_zoo.load_url"
)
def outside(arguments: Arguments, machine: Machine) -> Value:
    name = arguments.function
    if name == "torch.save":
        return NONE
    return machine.unknown(f"{name} reads files or a network")
