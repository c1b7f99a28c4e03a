"""Wrappers that run a module on several devices; each keeps the wrapped one as its child `module`."""

from torch.nn.parallel.data_parallel import DataParallel as DataParallel
from torch.nn.parallel.distributed import DistributedDataParallel as DistributedDataParallel
