"""Runs under torchrun with two processes: traces models that are spread over both, and writes down what came of it.

`test_distributed.py` starts it once and looks at the files. Each model has a twin that is not spread.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

import modgraph

X = torch.linspace(-1, 1, 40).reshape(5, 8)
RANK = int(os.environ["RANK"])


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.up = nn.Linear(8, 16)
        self.down = nn.Linear(16, 8)
        self.scale = nn.Parameter(torch.ones(8))

    def forward(self, x):
        return x + self.scale * self.down(torch.relu(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(), Block())
        self.bn = nn.BatchNorm1d(8)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        x = self.blocks(x)
        if len(x) == 1:
            raise ValueError("one row is too few")
        return self.head(self.bn(x))


class Pipe(nn.Module):
    """The first process has and calls the first stage, the second the second; both have both places."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 4) if RANK == 0 else None
        self.second = nn.Linear(4, 3) if RANK == 1 else None
        self.both = nn.ReLU()

    def forward(self, x):
        if self.first is not None:
            x = self.first(x)
            dist.send(x, 1)
        else:
            x = torch.empty(5, 4)
            dist.recv(x, 0)
            x = self.second(x)
        return self.both(x)


def net() -> Net:
    torch.manual_seed(0)
    return Net()


def fully_sharded(mesh):
    model = net()
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def fsdp1(**options):
    policy = ModuleWrapPolicy({Block})
    return FullyShardedDataParallel(net(), auto_wrap_policy=policy, device_id=torch.device("cpu"), **options)


def tensor_parallel(mesh):
    up, down = ColwiseParallel(use_local_output=False), RowwiseParallel()
    return parallelize_module(net(), mesh, {"blocks.*.up": up, "blocks.*.down": down})


def result(model) -> torch.Tensor:
    with torch.no_grad():
        return model(X)


def look(name: str, model, plain: torch.Tensor, folder: Path) -> dict[str, bool]:
    """Trace it, and say whether it is as it was."""
    kinds = [type(parameter) for parameter in model.parameters()]
    graph = modgraph.merge_ranks(modgraph.trace(model, (X,)))
    if graph is not None:
        graph.save(folder / f"{name}.json")
    same = kinds == [type(parameter) for parameter in model.parameters()]
    return {"training": model.training, "parameters": same, "result": torch.allclose(result(model.eval()), plain)}


def main(folder: Path) -> None:
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (2,))
    twin = net()
    plain = result(twin.eval())
    sharded = fully_sharded(mesh)
    models = {
        "ddp": nn.parallel.DistributedDataParallel(net()),
        "fsdp2": sharded,
        "fsdp1": fsdp1(),
        "fsdp1_orig": fsdp1(use_orig_params=True),
        "tp": tensor_parallel(mesh),
    }
    told: dict[str, object] = {name: look(name, model, plain, folder) for name, model in models.items()}
    for name in ("fsdp2", "fsdp1_orig"):
        graph = modgraph.trace(models[name], (X,), mode="train", backward=True)
        told[f"{name} backward"] = [len(graph.backward), len(graph.operations), graph.complete]
    models["fsdp2"].eval()
    failed = modgraph.trace(sharded, (X[:1],))
    told["failed"] = [failed.problems[0].message, torch.allclose(result(sharded), plain)]
    piped = modgraph.merge_ranks(modgraph.trace(Pipe(), (X,)))
    torch.manual_seed(0)
    uneven = modgraph.merge_ranks(modgraph.trace(models["ddp"], (X[: 2 + RANK],)))
    if RANK == 0:
        assert piped is not None
        assert uneven is not None
        piped.save(folder / "pipe.json")
        uneven.save(folder / "uneven.json")
        modgraph.trace(net(), (X,)).save(folder / "plain.json")
        both = modgraph.trace(net(), (X,), mode="train", backward=True)
        told["plain backward"] = [len(both.backward), len(both.operations), both.complete]
        modgraph.analyze(models["ddp"], (X,)).save(folder / "analyzed.json")
        (folder / "told.json").write_text(json.dumps(told))
    dist.barrier()
    if RANK == 1:
        os._exit(0)  # gone, without a word
    alone = modgraph.merge_ranks(modgraph.trace(sharded, (X,)), timeout=1)
    assert alone is not None
    alone.save(folder / "alone.json")
    os._exit(0)  # there is nobody left to say goodbye to


if __name__ == "__main__":
    main(Path(sys.argv[1]))
