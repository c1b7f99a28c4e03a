"""A model trained on several processes: the same graph as on one, and what each rank did of it.

Alone it runs as it stands. `torchrun --standalone --nproc_per_node=2 samples/distributed.py fsdp` traces it in every
process as it is wrapped there ("ddp" copies it, "fsdp" spreads its parameters), and rank 0 writes one graph of all.
"""

import os
import sys

import torch
import torch.distributed as dist
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self, width=8, depth=2):
        super().__init__()
        self.blocks = nn.Sequential(*[Block(width) for _ in range(depth)])
        self.head = nn.Linear(width, 3)

    def forward(self, x):
        return self.head(self.blocks(x))


def spread(model, how):
    """The model, ready to be trained on all processes."""
    if how == "ddp":
        return nn.parallel.DistributedDataParallel(model)
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def trace_on_every_rank(how):
    import modgraph

    dist.init_process_group("gloo")
    torch.manual_seed(0)
    graph = modgraph.merge_ranks(modgraph.trace(spread(Net(), how), (torch.randn(4, 8),)))
    if graph is not None:  # on rank 0
        graph.save("net.svg")
        graph.save("net.json")
        print(f"ranks {graph.model.ranks} of {graph.model.world_size}: net.svg, net.json")
    dist.destroy_process_group()


if __name__ == "__main__":
    if "RANK" in os.environ:
        trace_on_every_rank(sys.argv[1] if len(sys.argv) > 1 else "ddp")
    else:
        print(Net()(torch.randn(4, 8)).shape)
