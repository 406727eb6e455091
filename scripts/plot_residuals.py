#!/usr/bin/env python3
"""Draws the residuals of `stiction bench` runs step by step, as D20's Figure 17 does:
plot_residuals.py OUT.svg NAME=FIGURES.json...

Above: the largest residual after the last iteration, and with the contacts of repair passes (dashed), in mm. Below: the
last over the first iteration's.
"""
import json
import math
import sys

WIDTH, HEIGHT, LEFT, RIGHT, TOP, GAP = 560, 150, 70, 160, 30, 60  # of a panel, and the margins
COLOURS = ("#1f5fa8", "#c05a1c")


def panel(top, title, series):
    """Lines of (name or None, colour, dashes, values) on a logarithmic axis over whole decades."""
    every = [v for line in series for v in line[3]]
    low, high = 10 ** math.floor(math.log10(min(every))), 10 ** math.ceil(math.log10(max(every)))
    decades = math.log10(high / low)

    def y(value):
        return top + HEIGHT * (1 - math.log10(value / low) / decades)

    count = len(series[0][3])

    def x(i):
        return LEFT + WIDTH * (i + 0.5) / count

    out = [f'<text x="{LEFT}" y="{top - 10}" font-weight="bold">{title}</text>']
    for k in range(round(decades) + 1):
        value = low * 10**k
        out.append(f'<line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#ccc"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{value:g}</text>')
    for i in range(count):
        out.append(f'<text x="{x(i):.1f}" y="{top + HEIGHT + 18}" text-anchor="middle">{i + 1}</text>')
    for name, colour, dashes, values in series:
        points = " ".join(f"{x(i):.1f},{y(v):.1f}" for i, v in enumerate(values))
        style = f'stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"'
        out.append(f'<polyline points="{points}" fill="none" {style}/>')
        if name:
            out.append(f'<text x="{LEFT + WIDTH + 8}" y="{y(values[-1]) + 4:.1f}" fill="{colour}">{name}</text>')
    return out


def main():
    target, *sources = sys.argv[1:]
    above, below = [], []
    for source, colour in zip(sources, COLOURS):
        name, path = source.split("=", 1)
        with open(path) as file:
            figures = json.load(file)
        above.append((name, colour, "none", [1e3 * r for r in figures["residual_solved_m"]]))
        above.append((None, colour, "5 4", [1e3 * r for r in figures["residual_m"]]))
        below.append((name, colour, "none", figures["residual_ratio"]))
    second = TOP + HEIGHT + GAP
    body = panel(TOP, f"{figures['hairs']:,} hairs: δ∞ in mm by step, dashed with the contacts of repair passes", above)
    body += panel(second, "last over first iteration", below)
    size = f'width="{LEFT + WIDTH + RIGHT}" height="{second + HEIGHT + 30}"'
    with open(target, "w") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">\n')
        file.write('<rect width="100%" height="100%" fill="white"/>\n')
        file.write("\n".join(body) + "\n</svg>\n")


if __name__ == "__main__":
    main()
