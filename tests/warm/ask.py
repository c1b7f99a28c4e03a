"""`python -I -S ask.py FOLDER -m modgraph ...`, or `... FOLDER script.py ...`: a command that is forked by the server in FOLDER, for shells and other
programs that are to start one. It has the streams that this program has, also where they are closed."""

from __future__ import annotations

import os
import sys

closed: list[int] = []
while (number := os.open(os.devnull, os.O_RDWR)) < 3:  # the lowest that is free
    closed.append(number)
os.close(number)

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import asking  # noqa: E402

if __name__ == "__main__":
    connection, _ = asking.asked_for(
        sys.argv[1], "all", sys.argv[2:], numbers=[0, 1, 2], closed=closed, where=os.getcwd(), tied=True
    )
    status = asking.told(connection)
    os._exit(status if status >= 0 else 128 - status)
