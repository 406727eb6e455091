#!/usr/bin/env python3
"""Draws the residual of one solve against time, for the variants of `stiction bench ablation --json FIGURES.json`:
plot_convergence.py OUT.svg FIGURES.json [VARIANT...]

Of the first step's last solve, at each iteration before a detection, whose new contacts make the residual jump; an
iteration is given the mean time of the run's iterations, detection aside. Behind each variant's name: its error in
Coulomb's law after the scene's number of iterations, since heavy weights make the residual small and the forces wrong.
"""
import json
import math
import sys
from itertools import cycle

from svg_plot import COLOURS, TOP, panel, write

HEIGHT = 320


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    target, source, *wanted = sys.argv[1:]
    with open(source) as file:
        figures = json.load(file)
    variants = [v for v in figures["variants"] if not wanted or v["name"] in wanted]
    series, interval = [], figures["ccd_interval"]
    for variant, colour in zip(variants, cycle(COLOURS)):
        name = f"{variant['name']} ({variant['coulomb_error_median']:.0e})"
        seconds = variant["t_iteration_s"]
        history = list(enumerate(variant["history_m"], 1))
        seen = [at for at in history if at[0] % interval == 0 or at is history[-1]]
        series.append((name, colour, "none", [(i * seconds, 1e3 * residual) for i, residual in seen]))
    longest = max(points[-1][0] for *_, points in series)
    tick = 10 ** math.floor(math.log10(longest / 2))
    ticks = {k * tick: f"{k * tick:g} s" for k in range(math.floor(longest / tick) + 1)}
    title = f"{figures['hairs']:,} hairs, {figures['threads']} threads: δ∞ in mm (error in Coulomb's law)"
    write(target, panel(TOP, title, series, ticks, HEIGHT), TOP + HEIGHT)


if __name__ == "__main__":
    main()
