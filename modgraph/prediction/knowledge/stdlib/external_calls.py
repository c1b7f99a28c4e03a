"""Calls whose success depends on what is outside the program: files, devices, the environment, a network.

A `try` around one of them may go either way. What is imported of a package that is not interpreted (`subprocess`,
`torch.cuda`) is such a call too, unless it is there to inform; that needs no list.
"""

from __future__ import annotations

from modgraph.prediction.domain.registry import outside
from modgraph.prediction.domain.values import MODULE
from modgraph.prediction.knowledge.torch.parameters import TENSOR

outside(
    *("builtins.open", "builtins.input"),
    *(f"os.{name}" for name in ("getcwd", "listdir", "makedirs", "walk", "mkdir", "stat", "chdir", "remove", "rename")),
    *(f"{owner}.{name}" for owner in ("os.path", "posixpath") for name in ("getsize", "getmtime")),
    *("socket.gethostname", "getpass.getuser"),
    *("torch.load", "torch.save", "torch.hub.load", "torch.hub.load_state_dict_from_url"),
    *("torch.utils.model_zoo.load_url", "torch.from_file", "torch.jit.load"),
    *(f"torch.cuda.{name}" for name in ("current_device", "get_device_capability", "get_device_properties")),
    *(f"torch.cuda.{name}" for name in ("get_device_name", "synchronize", "set_device", "memory_allocated")),
    *("torch.distributed.get_world_size", "torch.distributed.get_rank"),
    *(f"{MODULE}.{name}" for name in ("cuda", "xpu", "ipu", "mtia")),
    *(f"{TENSOR}.cuda", f"{TENSOR}.pin_memory"),
)
