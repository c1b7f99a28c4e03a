"""Classes that a project registers under another name, by which its configurations call them: Python runs each project,
which looks the name up in its own table, and what the class is given there is what is found."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest

from modgraph.arguments import candidates
from modgraph.source.targets import parse_target
from tests.arguments import projects

NET = """
    class Net(Base):
        def __init__(self, depth, width=8):
            super().__init__()
            shown(depth=depth, width=width)
            self.layers = nn.Sequential(*[nn.Linear(width, width) for _ in range(depth)])
    """
IMPORTS = """
    from torch import nn

    Base = nn.Module

    def shown(**given):
        print(given)
    """
FUNCTION = """
    TABLE = {}

    def register(name):
        def add(cls):
            assert name not in TABLE
            TABLE[name] = cls
            return cls
        return add
    """
REGISTRY = """
    class Registry:
        def __init__(self, name):
            self._name = name
            self._modules = dict()

        def get(self, key):
            return self._modules.get(key)

        def _register(self, module, name=None, force=False):
            names = [name or module.__name__] if not isinstance(name, list) else name
            for each in names:
                if not force and each in self._modules:
                    raise KeyError(f"{each} is already registered in {self._name}")
                self._modules[each] = module

        def register_module(self, name=None, force=False, module=None):
            if module is not None:
                self._register(module, name, force)
                return module

            def add(module):
                self._register(module, name, force)
                return module
            return add

    MODELS = Registry("models")
    """
LOOKED_UP = """
    import sys
    import yaml

    def main():
        given = yaml.safe_load(open(sys.argv[1]))["model"]
        {get}(**given)

    if __name__ == "__main__":
        main()
    """


def train(get: str) -> str:
    return textwrap.dedent(LOOKED_UP).replace("{get}", get)


def joined(*parts: str) -> str:
    return "\n".join(textwrap.dedent(part).strip("\n") for part in parts) + "\n"


def net(*before: str, decorator: str = "", after: str = "") -> str:
    body = textwrap.dedent(NET).strip("\n")
    return joined(IMPORTS, *before, f"{decorator}\n{body}", after)


CONFIG = "model: {type: vit-small, depth: 3, width: 5}\n"
PROJECTS: dict[str, dict[str, str]] = {
    "a function": {
        "net.py": net(FUNCTION, decorator='@register("vit-small")'),
        "train.py": "from net import TABLE\n" + train('TABLE[given.pop("type")]'),
    },
    "a function of another file": {
        "tables.py": joined(FUNCTION),
        "net.py": net("from tables import register", decorator='@register(name="vit-small")'),
        "train.py": "import net\nfrom tables import TABLE\n" + train('TABLE[given.pop("type")]'),
    },
    "a registry": {
        "tables.py": joined(REGISTRY),
        "net.py": net("from tables import MODELS", decorator='@MODELS.register_module(name="vit-small")'),
        "train.py": "import net\nfrom tables import MODELS\n" + train('MODELS.get(given.pop("type"))'),
    },
    "several names": {
        "net.py": net(REGISTRY, decorator='@MODELS.register_module(name=["vit", "vit-small"])'),
        "train.py": "from net import MODELS\n" + train('MODELS.get(given.pop("type"))'),
    },
    "a call": {
        "net.py": net(REGISTRY, after='MODELS.register_module(name="vit-small", module=Net)'),
        "train.py": "from net import MODELS\n" + train('MODELS.get(given.pop("type"))'),
    },
    "an item": {
        "net.py": net("TABLE = {}", after='TABLE["vit" + "-small"] = Net'),
        "train.py": "from net import TABLE\n" + train('TABLE[given.pop("type")]'),
    },
    "a dict of another file": {
        "net.py": net(),
        "tables.py": 'from net import Net as N\nfrom net import Net\nTABLE = {"vit-small": Net, "other": print}\n',
        "train.py": "from tables import TABLE\n" + train('TABLE[given.pop("type")]'),
    },
    "a name that is computed": {
        "net.py": net(
            "TABLE = {}",
            "def register(cls):\n    TABLE[f'vit-{cls.size}'] = cls\n    return cls",
            decorator="@register",
            after="",
        ).replace("class Net(Base):\n", 'class Net(Base):\n    size = "small"\n'),
        "train.py": "from net import TABLE\n" + train('TABLE[given.pop("type")]'),
    },
    "arguments below": {
        "net.py": net(FUNCTION, decorator='@register("vit-small")'),
        "config.yaml": "model:\n  name: vit-small\n  params: {depth: 3, width: 5}\n",
        "train.py": "from net import TABLE\n" + train("(lambda name, params: TABLE[name](**params))"),
    },
}
OTHERS: dict[str, dict[str, str]] = {
    "registered as something else": {"net.py": net(FUNCTION, decorator='@register("vit-large")')},
    "not registered at all": {"net.py": net(FUNCTION, decorator='@(lambda cls: cls if "vit-small" else None)')},
    "a configuration with classes in it": {"net.py": net(after='CONFIG = {"vit-small": Net, "depth": 3}')},
    "two tables of one file": {
        "net.py": net(after='TABLE = {"vit-small": Net}\nHEADS = {"vit-small": nn.Linear}'),
    },
    "registered twice, the last time another one": {
        "net.py": net("TABLE = {}", after='TABLE["vit-small"] = Net\nTABLE["vit-small"] = nn.Linear'),
    },
    "another file registers it too": {
        "net.py": net(FUNCTION, decorator='@register("vit-small")'),
        "other.py": 'from somewhere import register\n\n@register("vit-small")\nclass Other:\n    pass\n',
    },
    "only under a condition": {
        "net.py": net("import os\nTABLE = {}", after='if os.environ.get("A"):\n    TABLE["vit-small"] = Net'),
    },
}


def first_found(folder: Path, files: dict[str, str]):
    projects.write(folder, {"config.yaml": CONFIG, **files})
    found = candidates(parse_target(f"{folder}/net.py:Net"), assume=False)
    return found[0] if found else None


@pytest.mark.parametrize("name", PROJECTS)
def test_what_a_configuration_gives_a_class_that_it_calls_by_a_name_of_the_table(tmp_path, run_code, name):
    found = first_found(tmp_path, PROJECTS[name])
    done = run_code(projects.RUN, "train.py", "config.yaml", cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert dict(found.arguments) == ast.literal_eval(done.stdout) == {"depth": 3, "width": 5}
    assert (found.origin.kind, found.origin.file) == ("config", "config.yaml")
    assert found.origin.line in (1, 2)


@pytest.mark.parametrize("name", OTHERS)
def test_what_no_table_says_for_sure_is_not_found(tmp_path, name):
    assert first_found(tmp_path, OTHERS[name]) is None
