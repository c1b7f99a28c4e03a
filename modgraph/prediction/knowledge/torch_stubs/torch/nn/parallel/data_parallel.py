"""`DataParallel`: the attributes beside `module` depend on the devices of the machine."""

from torch.nn.modules.module import Module


class DataParallel(Module):
    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.module = module
