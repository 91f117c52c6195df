# SPDX-License-Identifier: BSD-2-Clause
#
# A plot as SVG text: values over sizes, both logarithmic; a line for each
# series, full for near and dashed for far, with a whisker from the 10th to the
# 90th percentile. With one size only, a bar for each.

import html
import math

WIDTH, HEIGHT = 860, 520
LEFT, RIGHT, TOP, BOTTOM = 70, 230, 50, 60
COLORS = ["#0b62a4", "#c8551b", "#4d8f2b", "#8a3f9e", "#7a6a1c", "#555555"]


class Line:
    def __init__(self, name, what, state, points):
        self.name = name
        self.what = what
        self.state = state
        self.points = points    # (size, median, low, high)


def size_name(n):
    for unit, shift in (("M", 20), ("K", 10)):
        if n >= 1 << shift and n % (1 << shift) == 0:
            return "%d%s" % (n >> shift, unit)
    return str(n)


def text(x, y, s, anchor="start", size=13, extra=""):
    return ('<text x="%.1f" y="%.1f" text-anchor="%s" font-size="%d"%s>%s'
            '</text>' % (x, y, anchor, size, extra, html.escape(s)))


def stroke(x1, y1, x2, y2, color, width=1.0, dash=False):
    return ('<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" '
            'stroke-width="%.1f"%s/>' % (
                x1, y1, x2, y2, color, width,
                ' stroke-dasharray="6 4"' if dash else ""))


def ticks(low, high):
    """1, 2, 5 of each power of ten, less of them over many powers."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1, 2, 5) if last - first <= 4 else (1,)
    return [s * 10 ** e for e in range(first, last + 1) for s in steps
            if low <= s * 10 ** e <= high]


def svg(title, lines, unit):
    sizes = sorted({p[0] for line in lines for p in line.points})
    values = [v for line in lines for p in line.points for v in p[1:]]
    low = min(v for v in values if v > 0) / 1.3
    high = max(values) * 1.3
    x_end, y_end = WIDTH - RIGHT, HEIGHT - BOTTOM
    colors = {}
    for line in lines:
        colors.setdefault(line.name, COLORS[len(colors) % len(COLORS)])

    def y_of(v):
        part = math.log(max(v, low) / low) / math.log(high / low)
        return y_end - part * (y_end - TOP)

    def x_of(size):
        if len(sizes) == 1:
            return (LEFT + x_end) / 2
        part = math.log(size / sizes[0]) / math.log(sizes[-1] / sizes[0])
        return LEFT + 20 + part * (x_end - LEFT - 40)

    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" '
           'font-family="sans-serif">' % (WIDTH, HEIGHT),
           '<rect width="100%" height="100%" fill="white"/>',
           text(LEFT, 28, title, size=16)]
    for v in ticks(low, high):
        out.append(stroke(LEFT, y_of(v), x_end, y_of(v), "#dddddd"))
        out.append(text(LEFT - 8, y_of(v) + 4, "%g" % v, "end"))
    out.append(text(LEFT - 8, TOP - 8, unit, "end"))
    out.append(stroke(LEFT, y_end, x_end, y_end, "black"))
    if len(sizes) == 1:
        out += bars(lines, colors, x_end, y_end, y_of)
        out.append(text((LEFT + x_end) / 2, y_end + 45,
                        "messages of %s bytes" % size_name(sizes[0]),
                        "middle"))
    else:
        for s in sizes:
            out.append(text(x_of(s), y_end + 20, size_name(s), "middle"))
        out.append(text((LEFT + x_end) / 2, y_end + 45, "bytes", "middle"))
        out += curves(lines, colors, x_of, y_of)
    out += legend(lines, colors, x_end)
    out.append("</svg>")
    return "\n".join(out) + "\n"


def curves(lines, colors, x_of, y_of):
    out = []
    for line in lines:
        color, dash = colors[line.name], line.state == "far"
        path = " ".join("%.1f,%.1f" % (x_of(p[0]), y_of(p[1]))
                        for p in line.points)
        out.append('<polyline points="%s" fill="none" stroke="%s" '
                   'stroke-width="2"%s/>' % (
                       path, color,
                       ' stroke-dasharray="6 4"' if dash else ""))
        for size, median, p10, p90 in line.points:
            x = x_of(size)
            out.append(stroke(x, y_of(p10), x, y_of(p90), color))
            out.append('<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>' %
                       (x, y_of(median), color))
    return out


def bars(lines, colors, x_end, y_end, y_of):
    out = []
    step = (x_end - LEFT) / len(lines)
    for i, line in enumerate(lines):
        _, median, p10, p90 = line.points[0]
        x, w = LEFT + i * step + step * 0.15, step * 0.7
        y = y_of(median)
        out.append('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" '
                   'fill="%s" fill-opacity="%s"/>' % (
                       x, y, w, y_end - y, colors[line.name],
                       "0.9" if line.state == "near" else "0.45"))
        out.append(stroke(x + w / 2, y_of(p10), x + w / 2, y_of(p90),
                          "black"))
        out.append(text(x + w / 2, y - 6, "%.3g" % median, "middle", 10))
    return out


def legend(lines, colors, x_end):
    out = []
    whats = {line.what for line in lines}
    single = all(len(line.points) == 1 for line in lines)
    for i, line in enumerate(lines):
        y = TOP + 20 * i
        name = "%s, %s" % (line.name, line.state)
        if len(whats) > 1:
            name += ", " + line.what
        if single:
            out.append('<rect x="%d" y="%d" width="24" height="10" fill="%s" '
                       'fill-opacity="%s"/>' % (
                           x_end + 12, y - 5, colors[line.name],
                           "0.9" if line.state == "near" else "0.45"))
        else:
            out.append(stroke(x_end + 12, y, x_end + 36, y,
                              colors[line.name], 2, line.state == "far"))
        out.append(text(x_end + 42, y + 4, name, size=11))
    return out
