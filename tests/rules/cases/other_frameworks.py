"""The same names from elsewhere: nothing of torch, nothing to report. One class below is torch's."""

import torch
from keras import layers
from mxnet.gluon import nn as gnn
from torch import nn as tnn


class Model(layers.Layer):
    def __init__(self):
        super().__init__()
        self.blocks = [layers.Dense(8) for _ in range(3)]


class Net(gnn.Block):
    def __init__(self):
        super().__init__()
        self.blocks = [gnn.Dense(8) for _ in range(3)]


class Linear:
    def __init__(self, width):
        self.width = width


class Planner:
    def __init__(self):
        self.steps = [Linear(8), tnn.Linear(8, 8)]


class Torch(tnn.Module):
    def __init__(self):
        super().__init__()
        self.plans = [Linear(8), Planner()]
        self.blocks = [tnn.Linear(8, 8) for _ in range(3)]  # finds MG101
        self.kinds = [tnn.Linear, tnn.Conv2d]
        self.sizes = {"a": torch.Size([1])}
