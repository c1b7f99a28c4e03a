"""The proof that a hierarchical ONNX model is the flat one: the same outputs from the same operators, and true shapes.

None of it needs PyTorch or a run, but for the last: where ONNX Runtime is installed, both are run and compared.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from modgraph.errors import ExportError
from modgraph.export.onnx.canon import attribute_text, digest, tensor_text
from modgraph.export.onnx.cut import inner_graphs

if TYPE_CHECKING:
    import onnx_ir as ir

CLOSE = 1e-4
"""Greatest difference of two results, relative to the greatest value in them, that is rounding."""
EPSILONS = {"FLOAT16": 2.0**-10, "BFLOAT16": 2.0**-7}
"""Distance of 1 to the next number of a type, where that is far more than `CLOSE` allows for."""
ROUNDINGS = 32
"""Such distances that the results of a model may be apart, if it computes in such a type."""
RANDOM = frozenset(
    ["RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial"]
)
"""Operators that give something else each time; so does Dropout in training."""


def prove(flat: ir.Model, grouped: ir.Model) -> None:
    """Hold `grouped` against `flat`, and its shapes against inference.

    Raises:
        ExportError: they differ; the error says where.
    """
    inlined = inlined_copy(grouped)
    _compare_operators(flat.graph, inlined.graph)
    _compare_outputs(flat.graph, inlined.graph)
    _compare_formals(grouped)
    _compare_shapes(inlined)
    _require_unique_names(grouped)
    _require_opsets(grouped)


def inlined_copy(model: ir.Model) -> ir.Model:
    """A copy of `model` without functions; the values of its tensors are shared."""
    import onnx_ir.passes.common as passes

    copy = model.clone()
    passes.InlinePass()(copy)
    return copy


def operators(nodes: Iterable[ir.Node]) -> Counter[tuple[str, str]]:
    """How often each operator stands in a graph and the graphs in it, constants aside."""
    counts: Counter[tuple[str, str]] = Counter()
    for node in nodes:
        if node.op_type != "Constant":
            counts[node.domain, node.op_type] += 1
        for graph in inner_graphs(node):
            counts += operators(graph)
    return counts


def _compare_operators(flat: ir.Graph, inlined: ir.Graph) -> None:
    wanted, got = operators(flat), operators(inlined)
    if wanted != got:
        differing = {key[1] for key in (wanted | got) if wanted[key] != got[key]}
        raise ExportError(f"the functions do not hold the operators of the model: {', '.join(sorted(differing))}")


def _compare_outputs(flat: ir.Graph, inlined: ir.Graph) -> None:
    wanted, got = _output_digests(flat), _output_digests(inlined)
    if wanted != got:
        names = [value.name for value, one, other in zip(flat.outputs, wanted, got, strict=False) if one != other]
        raise ExportError(f"the functions compute something else for {', '.join(names) or 'the outputs'}")


def _output_digests(graph: ir.Graph) -> list[str]:
    """What each output is computed from, as a digest of all that leads to it."""
    known: dict[Any, str] = {}
    for value in graph.inputs:
        known[value] = f"input:{value.name}"
    for name, value in graph.initializers.items():
        known[value] = f"initializer:{name}"
    _digest_nodes(graph, known)
    return [known[value] for value in graph.outputs]


def _digest_nodes(nodes: Iterable[ir.Node], known: dict[Any, str]) -> None:
    for node in nodes:
        if node.op_type == "Constant" and "value" in node.attributes:
            known[node.outputs[0]] = tensor_text(node.attributes["value"].value)
            continue
        parts: list[Any] = [node.domain, node.op_type, len(node.outputs)]
        parts.append(["" if value is None else known[value] for value in node.inputs])
        for name, attribute in sorted(node.attributes.items()):
            if not attribute.is_ref() and attribute.type.name in ("GRAPH", "GRAPHS"):
                graphs = [attribute.as_graph()] if attribute.type.name == "GRAPH" else attribute.as_graphs()
                parts.append([name, [_digest_inner(graph, known) for graph in graphs]])
            else:
                parts.append(attribute_text(attribute))
        text = digest(parts)
        known.update((value, f"{text}:{place}") for place, value in enumerate(node.outputs))


def _digest_inner(graph: ir.Graph, known: Mapping[Any, str]) -> list[str]:
    inside = dict(known)
    inside.update((value, f"inner:{place}") for place, value in enumerate(graph.inputs))
    _digest_nodes(graph, inside)
    return [inside[value] for value in graph.outputs]


def _compare_shapes(inlined: ir.Model) -> None:
    """Raises ExportError where a function says of a value what inference does not find."""
    import onnx
    import onnx_ir

    said: dict[str, tuple[Any, Any]] = {}
    outputs = set(inlined.graph.outputs)
    for node in inlined.graph:
        for value in node.outputs:
            if value.name and value not in outputs:
                said[value.name] = (value.type, value.shape)
                value.type = value.shape = None
    for name, value in list(inlined.graph.initializers.items()):
        # Inference needs no values of parameters, and a large one would be copied.
        del inlined.graph.initializers[name]
        value.const_value = None
        inlined.graph.inputs.append(value)
    proto = onnx_ir.to_proto(inlined)
    inferred = onnx_ir.from_proto(onnx.shape_inference.infer_shapes(proto))
    for node in inferred.graph:
        for value in node.outputs:
            _require_agreement(value, *said.get(value.name, (None, None)))


def _compare_formals(model: ir.Model) -> None:
    """Raises ExportError where a function says of what it takes in, or gives, what a call of it does not."""
    for body in (model.graph, *model.functions.values()):
        for node in body:
            called = model.functions.get(node.op_identifier())
            if called is None:
                continue
            pairs = [*zip(called.inputs, node.inputs, strict=True), *zip(called.outputs, node.outputs, strict=True)]
            for formal, value in pairs:
                if value is not None:
                    _require_agreement(value, formal.type, formal.shape)


def _require_agreement(value: ir.Value, kind: Any, shape: Any) -> None:
    """Raises ExportError where `value` is something else than is said of it; what nobody says is no difference."""
    if kind is not None and value.type is not None and kind.dtype != value.type.dtype:
        raise ExportError(f"{value.name} is said to be {kind}, and is {value.type}")
    if shape is not None and value.shape is not None and not _agree(shape, value.shape):
        raise ExportError(f"{value.name} is said to have the shape {shape}, and has {value.shape}")


def _agree(one: Any, other: Any) -> bool:
    if len(one) != len(other):
        return False
    pairs = zip(one, other, strict=True)
    return all(left == right for left, right in pairs if isinstance(left, int) and isinstance(right, int))


def _require_unique_names(model: ir.Model) -> None:
    for body in (model.graph, *model.functions.values()):
        names = Counter(node.name for node in body)
        twice = [name or "" for name, count in names.items() if count > 1]
        if twice:
            raise ExportError(f"the nodes {', '.join(twice)} of {body.name} have the same name")


def _require_opsets(model: ir.Model) -> None:
    for body in (model.graph, *model.functions.values()):
        missing = {node.domain for node in body.all_nodes()} - body.opset_imports.keys()
        if missing:
            raise ExportError(f"{body.name} uses {', '.join(sorted(missing))} and does not import it")


def check_file(path: Path) -> None:
    """Raises ExportError where the checker of onnx refuses the file."""
    import onnx

    try:
        onnx.checker.check_model(str(path), full_check=True)
    except Exception as error:  # the checker's and protobuf's errors have no common base
        raise ExportError(f"the checker refuses the file: {_first_line(error)}") from error


def without_paths(text: str) -> str:
    """`text` without paths of this machine: it goes into files. Addresses of pages stay."""
    return re.sub(
        r"https?://\S+|(?<!\w)(?:[A-Za-z]:)?(?:[/\\][\w.\-]+){2,}",
        lambda found: found[0] if found[0].startswith("http") else "...",
        text,
    )


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return without_paths(lines[0]) if lines else type(error).__name__


def is_random(graph: ir.Graph) -> bool:
    """Whether two runs of it may differ."""
    return any(
        node.op_type in RANDOM or (node.op_type == "Dropout" and len(node.inputs) > 2) for node in graph.all_nodes()
    )


def close(graph: ir.Graph) -> float:
    """Greatest relative difference of two results of `graph` that is rounding, by the types that it computes in."""
    values = [*graph.initializers.values(), *(value for node in graph.all_nodes() for value in node.outputs)]
    names = {value.dtype.name for value in values if value.dtype is not None}
    return max([CLOSE, *(ROUNDINGS * EPSILONS[name] for name in names & EPSILONS.keys())])


def run_file(path: Path, feeds: Mapping[str, Any]) -> list[Any] | None:
    """The outputs that ONNX Runtime computes; None where it is not installed, or has no kernel for a type on the CPU.

    Raises:
        ExportError: ONNX Runtime refuses the file or the run.
    """
    try:
        import onnxruntime
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        outputs: list[Any] = session.run(None, dict(feeds))
    except Exception as error:  # its errors have no base of their own
        if type(error).__name__ == "NotImplemented":
            return None  # a valid file: bfloat16 is for other devices
        raise ExportError(f"ONNX Runtime refuses the file: {_first_line(error)}") from error
    return outputs


def difference(one: Iterable[Any], other: Iterable[Any]) -> float:
    """The greatest difference of two lists of arrays, by the greatest value; infinite where they do not fit."""
    import numpy

    worst = 0.0
    lists = list(one), list(other)
    if len(lists[0]) != len(lists[1]):
        return float("inf")
    for left, right in zip(*lists, strict=True):
        left, right = numpy.asarray(left), numpy.asarray(right)
        if left.shape != right.shape or left.dtype != right.dtype:
            return float("inf")
        if left.dtype.kind not in "fc":
            worst = max(worst, 0.0 if bool((left == right).all()) else float("inf"))
            continue
        wide = numpy.complex128 if "c" in (left.dtype.kind, right.dtype.kind) else numpy.float64
        left, right = left.astype(wide), right.astype(wide)
        finite = numpy.isfinite(right)
        if not numpy.array_equal(left[~finite], right[~finite], equal_nan=True):
            return float("inf")
        if finite.any():
            scale = float(abs(right[finite]).max())
            apart = float(abs(left[finite] - right[finite]).max())
            worst = max(worst, apart / scale if scale else (float("inf") if apart else 0.0))
    return worst
