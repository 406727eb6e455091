"""Panels of lines on a logarithmic axis, written as SVG."""
import math

WIDTH, HEIGHT, LEFT, RIGHT, TOP, GAP = 560, 150, 70, 200, 30, 60  # of a panel, and the margins
COLOURS = ("#1f5fa8", "#c05a1c", "#2f8f4e", "#8d3fa0", "#777777", "#b8323f", "#0f8b8d", "#a07f1a")
LINE = 14  # of text


def spread(wanted):
    """Heights of labels near those wanted, none over another."""
    placed, lowest = {}, -math.inf
    for height, key in sorted((height, key) for key, height in wanted.items()):
        placed[key] = lowest = max(height, lowest + LINE)
    return placed


def panel(top, title, series, ticks, height=HEIGHT):
    """Lines of (name or None, colour, dashes, points) over whole decades of y. ticks: {x: text}; x runs from the least
    to the largest of points and ticks."""
    ys = [y for *_, points in series for _, y in points]
    xs = [x for *_, points in series for x, _ in points] + list(ticks)
    low, high = 10 ** math.floor(math.log10(min(ys))), 10 ** math.ceil(math.log10(max(ys)))
    decades = math.log10(high / low)

    def across(x):
        return LEFT + WIDTH * (x - min(xs)) / (max(xs) - min(xs))

    def down(y):
        return top + height * (1 - math.log10(y / low) / decades)

    out = [f'<text x="{LEFT}" y="{top - 10}" font-weight="bold">{title}</text>']
    for k in range(round(decades) + 1):
        y = low * 10**k
        out.append(f'<line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{down(y):.1f}" y2="{down(y):.1f}" stroke="#ccc"/>')
        out.append(f'<text x="{LEFT - 8}" y="{down(y) + 4:.1f}" text-anchor="end">{y:g}</text>')
    for x, text in ticks.items():
        out.append(f'<text x="{across(x):.1f}" y="{top + height + 18}" text-anchor="middle">{text}</text>')
    for _, colour, dashes, points in series:
        line = " ".join(f"{across(x):.1f},{down(y):.1f}" for x, y in points)
        style = f'stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"'
        out.append(f'<polyline points="{line}" fill="none" {style}/>')
    named = [line for line in series if line[0]]
    labels = spread({i: down(line[3][-1][1]) + 4 for i, line in enumerate(named)})
    for i, (name, colour, _, _) in enumerate(named):
        out.append(f'<text x="{LEFT + WIDTH + 8}" y="{labels[i]:.1f}" fill="{colour}">{name}</text>')
    return out


def write(path, body, height):
    """The whole picture: panels that end `height` below its top."""
    size = f'width="{LEFT + WIDTH + RIGHT}" height="{height + 30}"'
    with open(path, "w") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">\n')
        file.write('<rect width="100%" height="100%" fill="white"/>\n')
        file.write("\n".join(body) + "\n</svg>\n")
