"""Statistics of a tensor's values: at once, or, where each look would stop the device, all of them at the end."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch

from modgraph.graph.model import Statistics
from modgraph.tracing.basics.tensors import is_fake


class Pending:
    """Statistics that are computed on a device and not read yet."""

    __slots__ = ("numbers", "numel", "settled")

    def __init__(self, numbers: torch.Tensor, numel: int) -> None:
        self.numbers: torch.Tensor | None = numbers
        """Mean, standard deviation, minimum, maximum, how many NaN, how many infinite, how many finite."""
        self.numel = numel
        self.settled: Statistics | None = None


Measured = Statistics | Pending | None
"""What is known of a tensor's values, now or soon; None where there are none to read."""


def measured(tensor: torch.Tensor) -> Measured:
    """`statistics_of`, or, on a device that computes while Python goes on, what becomes them by `settle`."""
    if not computes_meanwhile(tensor):
        return statistics_of(tensor)
    try:
        with torch.no_grad():
            return _pending(tensor.detach())
    except (RuntimeError, NotImplementedError, TypeError):
        return None


def computes_meanwhile(tensor: torch.Tensor) -> bool:
    """Whether reading a value of `tensor` waits for all that its device was asked to do before."""
    return tensor.device.type == "cuda" and not is_fake(tensor)


def settle(pending: Iterable[Pending]) -> None:
    """Read all that is not read yet: in one transfer from each device."""
    by_device: dict[torch.device, list[Pending]] = {}
    for one in pending:
        if one.numbers is not None:
            by_device.setdefault(one.numbers.device, []).append(one)
    for group in by_device.values():
        rows = _read([one.numbers for one in group if one.numbers is not None])
        for one, row in zip(group, rows, strict=True):
            one.numbers = None
            one.settled = _of_row(row, one.numel)


def _read(numbers: list[torch.Tensor]) -> list[list[float]]:
    rows: list[list[float]] = torch.stack(numbers).tolist()
    return rows


def _of_row(row: list[float], numel: int) -> Statistics:
    mean, std, low, high, nan, inf, finite = row
    if not finite:
        return Statistics(numel=numel, nan=int(nan), inf=int(inf))
    return Statistics(mean=mean, std=std, min=low, max=high, numel=numel, nan=int(nan), inf=int(inf))


def _pending(tensor: torch.Tensor) -> Pending | Statistics:
    """Without any step whose result's size depends on values: such a step waits for the device."""
    numel = tensor.numel()
    values = _readable(tensor)
    if values.numel() == 0:
        return Statistics(numel=numel)
    values = values.to(_wide(values))
    finite = values.isfinite()
    n_finite = finite.sum(dtype=torch.float64)
    mean = values.where(finite, 0).sum(dtype=torch.float64) / n_finite
    off = (values - mean.to(values.dtype)).square().where(finite, 0)
    variance = off.sum(dtype=torch.float64) / n_finite
    low, high = values.where(finite, math.inf).amin(), values.where(finite, -math.inf).amax()
    counts = (values.isnan().sum(), values.isinf().sum(), n_finite)
    numbers = [number.to(torch.float64) for number in (mean, variance.sqrt(), low, high, *counts)]
    return Pending(torch.stack(numbers), numel)


def statistics_of(tensor: torch.Tensor) -> Statistics | None:
    """Mean, population standard deviation, minimum and maximum of the finite values, and how many others there are.

    None where there are no values to read. Low precisions are accumulated in float32, others in float64. Complex
    numbers count by magnitude, sparse ones by their stored values, quantised ones as what they stand for. Of empty
    tensors only the number of elements is known.
    """
    if tensor.device.type == "meta" or is_fake(tensor):
        return None
    try:
        with torch.no_grad():
            return _statistics(tensor.detach())
    except (RuntimeError, NotImplementedError, TypeError):
        return None


def _statistics(tensor: torch.Tensor) -> Statistics:
    numel = tensor.numel()
    tensor = _readable(tensor)
    if tensor.numel() == 0:
        return Statistics(numel=numel)
    values = tensor.to(_wide(tensor))
    numbers = _moments(values)
    nan = inf = 0
    if not all(map(math.isfinite, numbers)):
        nan, inf = int(values.isnan().sum()), int(values.isinf().sum())
        values = values[values.isfinite()]
        numbers = _moments(values) if values.numel() else []
    mean, std, low, high = (value if math.isfinite(value) else None for value in numbers or [math.nan] * 4)
    return Statistics(mean=mean, std=std, min=low, max=high, numel=numel, nan=nan, inf=inf)


def _moments(values: torch.Tensor) -> list[float]:
    """Mean, standard deviation, minimum and maximum, read in one step."""
    std, mean = torch.std_mean(values, correction=0)
    low, high = torch.aminmax(values)
    numbers: list[float] = torch.stack([mean, std, low, high]).tolist()
    return numbers


def _readable(tensor: torch.Tensor) -> torch.Tensor:
    """The numbers that a tensor of any layout and dtype stands for, as a dense real one."""
    if tensor.layout in (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc):
        tensor = tensor.values()
    elif tensor.is_sparse:
        tensor = tensor.coalesce().values()
    elif tensor.is_nested:
        tensor = torch.cat([part.reshape(-1) for part in tensor.unbind()])
    if tensor.is_quantized:
        tensor = tensor.dequantize()
    return tensor.abs() if tensor.is_complex() else tensor


def _wide(tensor: torch.Tensor) -> torch.dtype:
    """The dtype in which its values are added up."""
    narrow = tensor.dtype in (torch.float16, torch.bfloat16, torch.float32)
    return torch.float32 if narrow or tensor.device.type == "mps" else torch.float64
