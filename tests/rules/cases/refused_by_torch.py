"""What torch refuses at once, in the forms in which it is less plain to see."""

import torch
from torch import nn
from torch.nn import functional as F


class Bodies(nn.Module):
    def __init__(self, depth, given):
        super().__init__()
        layers = [nn.Linear(2, 2), nn.ReLU()]
        layers.append(nn.Linear(2, 2))
        self.body = nn.Sequential(layers)  # finds MG109
        starred = [nn.Linear(2, 2)]
        self.starred = nn.Sequential(*starred)
        later = [nn.Linear(2, 2)]
        later = nn.ModuleList(later)
        self.later = nn.Sequential(later)
        for either in given:
            self.either = nn.Sequential(either)


class Added(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList()
        self.layers.append(nn.Linear(2, 2))
        self.layers.append(F.relu)  # finds MG109
        self.layers.append([nn.Linear(2, 2)])  # finds MG109
        self.layers.insert(0, torch.relu)  # finds MG109
        self.layers.extend([nn.Linear(2, 2), torch.tanh])  # finds MG109
        self.layers.extend([nn.Linear(2, 2), nn.Tanh()])
        self.functions = []
        self.functions.append(F.relu)


class Numbered(nn.Module):
    def __init__(self, names):
        super().__init__()
        self.by_number = nn.ModuleDict({i: nn.Linear(2, 2) for i in range(3)})  # finds MG109
        self.by_place = nn.ModuleDict({i: nn.Linear(2, 2) for i, _ in enumerate(names)})  # finds MG109
        self.by_name = nn.ModuleDict({name: nn.Linear(2, 2) for _, name in enumerate(names)})
        self.by_text = nn.ModuleDict({str(i): nn.Linear(2, 2) for i in range(3)})


class Named(nn.Module):
    def __init__(self, number):
        super().__init__()
        self.add_module("block.%d" % number, nn.Linear(2, 2))  # finds MG110
        self.add_module("block.{}".format(number), nn.Linear(2, 2))  # finds MG110
        self.add_module("block%.1d" % number, nn.Linear(2, 2))
        self.add_module("block{:.0f}".format(number), nn.Linear(2, 2))
        self.table = nn.ModuleDict()
        self.table["a"] = nn.Linear(2, 2)
        self.table["b.c"] = nn.Linear(2, 2)  # finds MG110
        self.table["keys"] = nn.Linear(2, 2)  # finds MG110
        self.plain = {}
        self.plain["d.e"] = 1


class Scaled(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.minus = -nn.Parameter(torch.ones(width))  # finds MG103
        self.row = nn.Parameter(torch.ones(3, width))[0]  # finds MG103
        self.turned = nn.Parameter(torch.ones(3, width)).T  # finds MG103
        self.gate = nn.Parameter(torch.ones(width)).sigmoid()  # finds MG103
        self.here = nn.Parameter(torch.ones(width)).to(torch.device("cpu"))
        self.width = nn.Parameter(torch.ones(width)).shape[0]
        self.size = -nn.Parameter(torch.ones(width)).numel()
