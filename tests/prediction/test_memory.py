"""Constructions and calls that are remembered: equal contents give the same, changed ones do not."""

from __future__ import annotations

from collections.abc import Callable

from modgraph.graph.model import Graph

CONFIG = """
class Config:
    def __init__(self, width):
        self.width = width
        self.sizes = [width, width]

    def total(self):
        total = 0
        for size in self.sizes:
            total = total + size
            total = total + 0
            total = total + 0
            total = total + 0
            total = total + 0
            total = total + 0
            total = total + 0
        return total

class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.inner = nn.Linear(config.total(), config.width)
"""


def shapes(graph: Graph) -> list[tuple[str, tuple[int | None, ...] | None]]:
    return [
        (node.path, node.parameters[0].shape) for node in graph.modules if (node.class_name or "").endswith(".Linear")
    ]


def test_equal_configs_give_equal_blocks_that_are_not_shared(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(
        CONFIG
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(Config(4)) for _ in range(4)])
"""
    )
    assert shapes(graph) == [(f"blocks.{index}.inner", (4, 8)) for index in range(4)]
    assert not any(node.alias_of for node in graph.modules)


def test_a_config_that_changes_in_between_gives_other_blocks(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(
        CONFIG
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        config = Config(4)
        for index in range(4):
            self.add_module(f"before{index}", Block(config))
        config.sizes.append(1)
        for index in range(3):
            self.add_module(f"after{index}", Block(config))
        config.width = 5
        self.last = Block(config)
"""
    )
    expected = [(f"before{index}.inner", (4, 8)) for index in range(4)]
    expected += [(f"after{index}.inner", (4, 9)) for index in range(3)]
    assert shapes(graph) == [*expected, ("last.inner", (5, 9))]


def test_a_constructor_that_changes_its_argument_is_run_each_time(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(
        CONFIG
        + """
class Growing(nn.Module):
    def __init__(self, config):
        super().__init__()
        config.width = config.width + 1
        self.inner = nn.Linear(config.width, 1)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        config = Config(4)
        self.blocks = nn.Sequential(Growing(config), Growing(config), Growing(config), Growing(config))
"""
    )
    assert shapes(graph) == [(f"blocks.{index}.inner", (1, 5 + index)) for index in range(4)]


def test_a_remembered_block_holds_the_config_it_was_given(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(
        CONFIG
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        blocks = [Block(Config(4)) for _ in range(4)]
        blocks[3].config.width = 9
        self.first = nn.Linear(blocks[0].config.width, 1)
        self.last = nn.Linear(blocks[3].config.width, 1)
"""
    )
    assert [shape for path, shape in shapes(graph) if path in ("first", "last")] == [(1, 4), (1, 9)]


def test_names_of_a_dict_view_are_seen(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(
        """
class Config:
    def __init__(self, width):
        self.__dict__["width"] = width
        self.depth = self.__dict__.get("width", 0) + ("other" in self.__dict__)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        config = Config(3)
        self.inner = nn.Linear(config.depth, len(vars(config)))
"""
    )
    assert shapes(graph) == [("inner", (2, 3))]


def test_what_looked_at_something_shared_is_not_repeated_after_that_has_changed(
    agrees: Callable[[str], Graph],
) -> None:
    agrees("""
        SIZES = {"width": 4}
        OTHER = {"used": 0}
        class Shared:
            depth = 2
        def width():
            total = 0
            for _ in range(8):
                total = total + 0
            return total + SIZES["width"] + Shared.depth
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList()
                for turn in range(3):
                    OTHER["used"] = turn
                    self.layers.append(nn.Linear(width(), width()))
                SIZES["width"] = 5
                self.after = nn.Linear(width(), width())
                Shared.depth = 7
                self.last = nn.Linear(width(), width())
                SIZES["width"] = 4
                Shared.depth = 2
    """)
