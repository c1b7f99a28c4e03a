"""Who is used by whom, of things that use each other: each is looked at once, however long the chains are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from typing import TypeVar

from modgraph.errors import TargetError

Thing = TypeVar("Thing", bound=Hashable)

MAX_LOOKS = 5_000_000
"""Names looked at to find the models of one file, where chains and tables of it are gone through again and again."""


class Looks:
    """Counts what is looked at to find the models of a file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.spent = 0

    def spend(self, count: int) -> None:
        """Raises TargetError where it is more than is looked at."""
        self.spent += count
        if self.spent > MAX_LOOKS:
            message = f"looking for models is given up after {MAX_LOOKS:,} names"
            raise TargetError(message, file=self.file, hint=f"name the class: {self.file}:Net")


def used_by_others(users: Collection[Thing], uses: Callable[[Thing], Iterable[Thing]]) -> set[Thing]:
    """Those of `users` that another of them uses, at once or through anything else, and that do not use it in turn."""
    home: dict[Thing, int] = {}
    circles = list(_circles(users, uses))  # what is used comes before what uses it
    for number, circle in enumerate(circles):
        home.update(dict.fromkeys(circle, number))
    behind = [False] * len(circles)
    for number in range(len(circles) - 1, -1, -1):
        reaches = behind[number] or any(thing in users for thing in circles[number])
        if reaches:
            for thing in circles[number]:
                for other in uses(thing):
                    behind[home[other]] = behind[home[other]] or home[other] != number
    return {thing for thing in users if behind[home[thing]]}


def _circles(starts: Iterable[Thing], uses: Callable[[Thing], Iterable[Thing]]) -> Iterator[list[Thing]]:
    """Things that use each other, together; each circle after those that it uses (Tarjan, without recursion)."""
    order: dict[Thing, int] = {}
    low: dict[Thing, int] = {}
    open_ones: list[Thing] = []
    is_open: set[Thing] = set()
    for start in starts:
        if start in order:
            continue
        order[start] = low[start] = len(order)
        open_ones.append(start)
        is_open.add(start)
        path = [(start, iter(uses(start)))]
        while path:
            thing, others = path[-1]
            for other in others:
                if other not in order:
                    order[other] = low[other] = len(order)
                    open_ones.append(other)
                    is_open.add(other)
                    path.append((other, iter(uses(other))))
                    break
                if other in is_open:
                    low[thing] = min(low[thing], order[other])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[thing])
                if low[thing] == order[thing]:
                    place = _place(open_ones, thing)
                    circle = open_ones[place:]
                    del open_ones[place:]
                    is_open.difference_update(circle)
                    yield circle


def _place(things: list[Thing], thing: Thing) -> int:
    """Where it stands, looked for from the end."""
    place = len(things) - 1
    while things[place] != thing:
        place -= 1
    return place
