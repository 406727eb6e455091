#!/usr/bin/env python3
"""Draws the residuals of a `stiction bench` run step by step, as D20's Figure 17 does: plot_residuals.py FIGURES.json OUT.svg

Above: the largest residual after the last iteration and with the contacts of repair passes, in mm. Below: the last
over the first iteration's.
"""
import json
import math
import sys

WIDTH, HEIGHT, LEFT, TOP, GAP = 560, 150, 70, 30, 60  # of a panel, and the margins
COLOURS = ("#1f5fa8", "#c05a1c")


def panel(top, title, series, low, high):
    """Lines of (name, values) on a logarithmic axis from `low` to `high`, both powers of ten."""
    decades = math.log10(high / low)

    def y(value):
        return top + HEIGHT * (1 - math.log10(max(value, low) / low) / decades)

    count = len(series[0][1])

    def x(i):
        return LEFT + WIDTH * (i + 0.5) / count

    out = [f'<text x="{LEFT}" y="{top - 10}" font-weight="bold">{title}</text>']
    for k in range(round(decades) + 1):
        value = low * 10**k
        out.append(f'<line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#ccc"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{value:g}</text>')
    for i in range(count):
        out.append(f'<text x="{x(i):.1f}" y="{top + HEIGHT + 18}" text-anchor="middle">{i + 1}</text>')
    for index, (name, values) in enumerate(series):
        points = " ".join(f"{x(i):.1f},{y(v):.1f}" for i, v in enumerate(values))
        out.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[index]}" stroke-width="2"/>')
        out.append(
            f'<text x="{LEFT + 8}" y="{top + HEIGHT - 10 - 16 * index}" fill="{COLOURS[index]}">{name}</text>')
    return out


def main():
    source, target = sys.argv[1:3]
    with open(source) as file:
        figures = json.load(file)
    solved = [1e3 * r for r in figures["residual_solved_m"]]
    repaired = [1e3 * r for r in figures["residual_m"]]
    second = TOP + HEIGHT + GAP
    body = panel(TOP, f"{figures['hairs']:,} hairs: δ∞ in mm, by step", [("solved", solved), ("with repair", repaired)],
                 0.01, 1)
    body += panel(second, "last over first iteration", [("ratio", figures["residual_ratio"])], 0.001, 1)
    size = f'width="{LEFT + WIDTH + 20}" height="{second + HEIGHT + 30}"'
    with open(target, "w") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">\n')
        file.write('<rect width="100%" height="100%" fill="white"/>\n')
        file.write("\n".join(body) + "\n</svg>\n")


if __name__ == "__main__":
    main()
