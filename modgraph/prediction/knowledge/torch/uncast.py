"""Which tensors of a run have the same dtype whether or not an autocast is around the model.

Those that torch's lists of autocast are for do not: what multiplies matrices gives the lower precision. Others hand on
what they are given. Of what no rule speaks, any dtype that is lower may come.

Source: ATen, `autocast_mode.h` (of all devices together), and functions that call those on its lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import DictObject, ListObject, TensorObject
from modgraph.prediction.domain.values import Address, Choice, Constant, Dtype, TupleValue, Unknown, Value

_LOWERED = frozenset({"float16", "bfloat16", "float32", "complex64"})
"""A number of double precision is never cast."""
_CASTING = frozenset(
    {
        *("linear", "bilinear", "matmul", "__matmul__", "__rmatmul__", "__imatmul__", "mm", "mv", "bmm", "einsum"),
        *("addmm", "addmv", "addr", "addbmm", "baddbmm", "chain_matmul", "multi_dot", "vecdot", "prelu", "inner"),
        *("addmm_", "addmv_", "addr_", "addbmm_", "baddbmm_", "dot", "vdot", "tensordot", "matrix_power"),
        "matrix_exp",
        *("conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"),
        *("convolution", "_convolution", "scaled_dot_product_attention", "multi_head_attention_forward", "lstm_cell"),
        *("gru_cell", "rnn_tanh_cell", "rnn_relu_cell", "lstm", "gru", "rnn_tanh", "rnn_relu", "cov", "corrcoef"),
        *("cdist", "pca_lowrank", "svd_lowrank", "lobpcg", "kron", "ger", "outer", "householder_product", "sspaddmm"),
        *("smm", "hspmm", "_scaled_mm", "_grouped_mm", "grouped_mm", "scaled_mm", "cosine_similarity", "spmm", "dsmm"),
        *("sparse_sampled_addmm", "sampled_addmm", "embedding_bag", "lu_solve", "pinv", "vander", "combinations"),
    }
)
"""On the lists of what is given in lower precision, or calling such."""
_FUNCTION = re.compile(r"torch(\.Tensor|\.nn\.functional|\.linalg|\.special|\.fft)?\.@?\w+")
_LAYER = re.compile(
    r"torch\.nn\.modules\.((normalization|batchnorm|instancenorm|dropout|pooling|padding|flatten|pixelshuffle|fold"
    r"|upsampling|channelshuffle|loss)\.\w+|linear\.Identity|activation\.(?!PReLU|Multihead)\w+)\.forward"
)
_TO = frozenset({"float", "double", "half", "bfloat16", "to", "type"})
_DEPTH = 4
"""Of lists in lists among the arguments."""


def note(machine: Machine, name: str, value: Value, since: int, arguments: Arguments) -> None:
    """Of a tensor made since, as the result of a function: whether an autocast around the model leaves its dtype."""
    if not machine.is_recording or not isinstance(value, Address) or value.index < since:
        return
    if not (_FUNCTION.fullmatch(name) or _LAYER.fullmatch(name)):
        return
    short = name.rpartition(".")[2]
    given = (*arguments.positional, *arguments.keywords.values())
    if short not in _CASTING and arguments.open is None:
        if any(isinstance(each, Dtype) for each in given) or _is_said(short, arguments):
            machine.base.uncast.add(value.index)
            machine.base.cast.discard(value.index)
            return
        if not any(_may_differ(machine, each, 0) for each in given) and value.index not in machine.base.cast:
            made = machine.state.find(value, TensorObject)
            if made is not None and made.dtype in ("float32", "complex64"):  # some functions raise a lower one to that
                machine.base.uncast.add(value.index)
            return
    machine.base.uncast.discard(value.index)
    machine.base.cast.add(value.index)


def _is_said(short: str, arguments: Arguments) -> bool:
    if short not in _TO:
        return False
    wanted = arguments.get(1, "dtype", Constant(None))
    is_name = short == "type" and isinstance(wanted, Constant) and isinstance(wanted.value, str)
    return short not in ("to", "type") or is_name


def is_cast(machine: Machine, value: Value) -> bool:
    """It is a tensor that this run has made, or converted, whose dtype an autocast around the model may change."""
    tensor = machine.state.find(value, TensorObject)
    if not isinstance(value, Address) or tensor is None or (tensor.dtype is not None and tensor.dtype not in _LOWERED):
        return False
    if value.handed in machine.base.uncast:
        return False
    is_made = value.index >= machine.began and value.index not in machine.base.uncast
    return is_made or value.index in machine.base.kept


def _may_differ(machine: Machine, value: Value, depth: int) -> bool:
    """It is such a tensor, or holds one, or may be one."""
    if isinstance(value, Unknown):
        return not value.inert
    if depth > _DEPTH:
        return True
    return is_cast(machine, value) or any(_may_differ(machine, each, depth + 1) for each in _parts(machine, value))


def _parts(machine: Machine, value: Value) -> Iterable[Value]:
    if isinstance(value, TupleValue):
        return value.items
    if isinstance(value, Choice):
        return value.alternatives
    listed, keyed = machine.state.find(value, ListObject), machine.state.find(value, DictObject)
    if listed is not None:
        return listed.items if listed.open is None else (*listed.items, listed.open)
    return () if keyed is None else (*keyed.entries.values(), *(() if keyed.open is None else (keyed.open,)))
