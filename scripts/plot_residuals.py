#!/usr/bin/env python3
"""Draws the residuals of `stiction bench` runs step by step, as D20's Figure 17 does:
plot_residuals.py OUT.svg NAME=FIGURES.json...

Above: the largest residual after the last iteration, and with the contacts of repair passes (dashed), in mm. Below: the
last over the first iteration's.
"""
import json
import sys
from itertools import cycle

from svg_plot import COLOURS, GAP, HEIGHT, TOP, panel, write


def by_step(values, factor=1):
    return [(step, factor * value) for step, value in enumerate(values, 1)]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    target, *sources = sys.argv[1:]
    above, below = [], []
    for source, colour in zip(sources, cycle(COLOURS)):
        name, path = source.split("=", 1)
        with open(path) as file:
            figures = json.load(file)
        above.append((name, colour, "none", by_step(figures["residual_solved_m"], 1e3)))
        above.append((None, colour, "5 4", by_step(figures["residual_m"], 1e3)))
        below.append((name, colour, "none", by_step(figures["residual_ratio"])))
    steps = len(figures["residual_m"])
    ticks = {0.5: "", **{step: step for step in range(1, steps + 1)}, steps + 0.5: ""}
    second = TOP + HEIGHT + GAP
    title = f"{figures['hairs']:,} hairs: δ∞ in mm by step, dashed with the contacts of repair passes"
    body = panel(TOP, title, above, ticks) + panel(second, "last over first iteration", below, ticks)
    write(target, body, second + HEIGHT)


if __name__ == "__main__":
    main()
