"""Containers that are made first and filled somewhere else, and such as a class looks after itself."""

from collections import defaultdict

from torch import nn


class Slots(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.slots = [None] * depth  # finds MG101
        for place in range(depth):
            self.slots[place] = nn.Linear(2, 2)


class NamedSlots(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.slots = [None] * depth
        for place in range(depth):
            self.slots[place] = nn.Linear(2, 2)
            self.add_module(f"slot{place}", self.slots[place])


class SlotsAtLast(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.slots = [None] * depth
        for place in range(depth):
            self.slots[place] = nn.Linear(2, 2)
        self.slots = nn.ModuleList(self.slots)


class Groups(nn.Module):
    def __init__(self):
        super().__init__()
        self.groups = defaultdict(list)  # finds MG101
        for kind in ("fine", "coarse"):
            self.groups[kind].append(nn.Conv2d(2, 2, 3))


class RegisteredGroups(nn.Module):
    def __init__(self):
        super().__init__()
        self.groups = {"fine": [], "coarse": []}
        for kind in ("fine", "coarse"):
            conv = nn.Conv2d(2, 2, 3)
            self.groups[kind].append(conv)
            self.add_module(kind, conv)


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = []  # finds MG101
        self.push(nn.Linear(2, 2))
        self.push(nn.Linear(2, 2))

    def push(self, step):
        self.steps.append(step)


class NamingStack(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = []
        self.push("first", nn.Linear(2, 2))

    def push(self, name, step):
        setattr(self, name, step)
        self.steps.append(step)


class Mapped(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = list(map(nn.LayerNorm, (4, 8)))  # finds MG101
        self.sizes = list(map(lambda size: size + 1, (4, 8)))
        self.makers = [lambda: nn.Linear(2, 2)]


class OwnParameters(nn.Module):
    """It lists them itself: whoever writes that knows that they are not registered."""

    def __init__(self):
        super().__init__()
        self.members = [nn.Linear(2, 2), nn.Linear(2, 2)]
        self.scales = [nn.Parameter(nn.Linear(1, 1).weight.data)]

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        for number, member in enumerate(self.members):
            for name, parameter in member.named_parameters():
                yield f"{prefix}{number}.{name}", parameter
        yield f"{prefix}scale", self.scales[0]


class MovedOnly(nn.Module):
    """To move them is not enough: no optimizer is given their parameters."""

    def __init__(self):
        super().__init__()
        self.members = [nn.Linear(2, 2)]  # finds MG101

    def cuda(self, device=None):
        for member in self.members:
            member.cuda(device)
        return super().cuda(device)
