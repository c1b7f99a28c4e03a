"""Names that are known only when the model runs: what is registered under them, and what certainly is not."""

from torch import nn
from unknown import settings


class Beside(nn.Module):
    def __init__(self, widths):
        super().__init__()
        self.hidden = [nn.Linear(2, 2), nn.Linear(2, 2)]  # finds MG101
        for name, width in widths.items():
            self.add_module(name, nn.Linear(width, width))


class AnotherList(nn.Module):
    def __init__(self, names):
        super().__init__()
        self.hidden = [nn.Linear(2, 2)]  # finds MG101
        self.seen = [nn.Linear(2, 2) for _ in names]
        for name, layer in zip(names, self.seen):
            self.add_module(name, layer)


class ByFormat(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.hidden = {"a": nn.Linear(2, 2)}  # finds MG101
        setattr(self, f"conv_{kind}", nn.Conv2d(2, 2, 3))


class Zipped(nn.Module):
    def __init__(self, names):
        super().__init__()
        self.seen = [nn.Linear(2, 2) for _ in names]
        pairs = list(zip(names, self.seen))
        for pair in reversed(pairs):
            self.add_module(pair[0], pair[1])


class Starred(nn.Module):
    def __init__(self, names):
        super().__init__()
        self.seen = [(name, nn.Linear(2, 2)) for name in names]
        for pair in self.seen:
            nn.Module.add_module(self, *pair)


class Last(nn.Module):
    def __init__(self, names):
        super().__init__()
        self.seen = []
        for name in names:
            self.seen.append(nn.Linear(2, 2))
            self.add_module(name, self.seen[-1])


class InTheStore(nn.Module):
    def __init__(self, names):
        super().__init__()
        self.seen = [nn.Linear(2, 2), nn.Linear(2, 2)]
        for name, layer in dict(zip(names, self.seen)).items():
            self._modules[name] = layer


class ByMethod(nn.Module):
    def __init__(self, names):
        super().__init__()
        self.seen = []
        for name in names:
            self.keep(name, nn.Linear(2, 2))

    def keep(self, name, layer):
        setattr(self, name, layer)
        self.seen.append(layer)


class Wrapped(nn.Module):
    def __init__(self, names):
        super().__init__()
        self.seen = []
        for name in names:
            layer = settings.wrap(nn.Linear(2, 2))
            setattr(self, name, layer)
            self.seen.append(layer)


class WithOptions(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.hidden = [nn.Linear(2, 2)]  # finds MG101
        for name, value in options.items():
            setattr(self, name, value)
