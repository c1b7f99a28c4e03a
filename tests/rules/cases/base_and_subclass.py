"""The base makes the list, subclasses fill it; or turn it into what registers."""

from torch import nn


class Pipeline(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.stages = []
        self.build()

    def build(self):
        raise NotImplementedError


class PlainPipeline(Pipeline):
    def build(self):
        self.stages = [nn.Linear(self.width, self.width), nn.Linear(self.width, 1)]  # finds MG101


class RegisteredPipeline(Pipeline):
    def build(self):
        stages = [nn.Linear(self.width, self.width), nn.Linear(self.width, 1)]
        for number, stage in enumerate(stages):
            self.add_module(str(number), stage)
        self.stages = stages


class WrappedPipeline(Pipeline):
    def build(self):
        self.stages = [nn.Linear(self.width, self.width)]
        self.stages = nn.ModuleList(self.stages)
