"""Containers that one class makes and another fills; helpers that are called by way of the class."""

from torch import nn


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = []
        self.kept = nn.ModuleList()
        self.loose = []

    def close(self):
        self.loose = nn.ModuleList(self.loose)


class Appending(Base):
    def __init__(self):
        super().__init__()
        self.layers.append(nn.Linear(2, 2))  # finds MG101
        self.layers += [nn.Linear(2, 2)]
        self.kept.append(nn.Linear(2, 2))


class Closing(Base):
    def __init__(self):
        super().__init__()
        self.loose.append(nn.Linear(2, 2))
        self.close()


class Registering(Base):
    def __init__(self):
        super().__init__()
        self.layers.append(nn.Linear(2, 2))
        self.add_module("first", self.layers[0])


class ByTheClass(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.named = ByTheClass.build(depth)  # finds MG101
        self.typed = type(self).build(depth)  # finds MG101
        self.own = self.__class__.build(depth)  # finds MG101
        self.body = nn.Sequential(*ByTheClass.build(depth))

    @staticmethod
    def build(depth):
        return [nn.Linear(2, 2) for _ in range(depth)]


class Maybe(nn.Module):
    def __init__(self, wanted):
        super().__init__()
        self.maybe = []
        if wanted:
            self.maybe = [nn.Linear(2, 2)]  # finds MG101


class Template(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.steps = self.build_steps(width)
        self.kept = nn.ModuleList(self.build_kept(width))
        self.table = self.build_table(width)
        for name, step in self.table.items():
            self.add_module(name, step)

    def build_steps(self, width):
        raise NotImplementedError

    def build_kept(self, width):
        return []

    def build_table(self, width):
        return {}


class Filled(Template):
    def build_steps(self, width):
        return [nn.Linear(width, width), nn.ReLU()]  # finds MG101

    def build_kept(self, width):
        return [nn.Linear(width, width)]

    def build_table(self, width):
        return {"first": nn.Linear(width, width)}


class FilledAgain(Filled):
    def build_kept(self, width):
        return [nn.Conv2d(width, width, 3)]
