"""Draws the pictures of docs/concepts.md from the texts beside this file: draw.py [--check] writes NAME.svg of each NAME.txt.

A line of a text is one of

    size WIDTH HEIGHT
    box NAME X Y WIDTH HEIGHT TITLE | more lines      a box, its title in bold
    group X Y WIDTH HEIGHT TITLE                      a dashed frame around boxes, its title above; `foot`: below
    arrow FROM TO WORDS                               from box to box, from side to side; `both` for `arrow`: both ways

Colours follow the reader's light or dark theme.
"""
import glob
import html
import os
import sys

STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.title { font-weight: 600 }
.words, .frame-title { font-size: 12px; fill: #57606a }
.box { fill: #ddf4ff; stroke: #0969da }
.frame { fill: none; stroke: #8c959f; stroke-dasharray: 5 4 }
.line { stroke: #57606a; stroke-width: 1.3; fill: none }
.head { fill: #57606a }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .words, .frame-title { fill: #9ea7b3 }
  .box { fill: #12293f; stroke: #4493f8 }
  .line { stroke: #9ea7b3 }
  .head { fill: #9ea7b3 }
}
"""


def side(box, other):
    """Where a line from a box to another one leaves it: below or above, unless they stand beside each other."""
    x, y, width, height = box
    if other[1] >= y + height or other[1] + other[3] <= y:
        return (x + width / 2, y + height if other[1] > y else y)
    return (x + width if other[0] > x else x, y + height / 2)


def line_between(one, other):
    """The ends of a line between two boxes: straight where they lie beside or above each other."""
    start, end = side(one, other), side(other, one)
    if start[1] in (one[1], one[1] + one[3]) and other[0] <= start[0] <= other[0] + other[2]:
        end = (start[0], end[1])
    elif start[1] in (one[1], one[1] + one[3]) and one[0] <= end[0] <= one[0] + one[2]:
        start = (end[0], start[1])
    return start, end


def draw(text):
    boxes, shapes, size = {}, [], (0, 0)
    for row in text.splitlines():
        kind, *words = row.split() or [""]
        if kind == "size":
            size = [int(word) for word in words[:2]]
        elif kind == "box":
            place = [int(word) for word in words[1:5]]
            boxes[words[0]] = place
            lines = [html.escape(part.strip()) for part in " ".join(words[5:]).split("|")]
            shapes.append('<rect class="box" x="{}" y="{}" width="{}" height="{}" rx="6"/>'.format(*place))
            top = place[1] + place[3] / 2 - 8.5 * (len(lines) - 1) + 4.5
            for number, line in enumerate(lines):
                shapes.append(f'<text class="{"words" if number else "title"}" x="{place[0] + place[2] / 2:g}" '
                              f'y="{top + 17 * number:g}" text-anchor="middle">{line}</text>')
        elif kind in ("group", "foot"):
            place = [int(word) for word in words[:4]]
            shapes.append('<rect class="frame" x="{}" y="{}" width="{}" height="{}" rx="8"/>'.format(*place))
            shapes.append(f'<text class="frame-title" x="{place[0] + 10}" y="{place[1] + (18 if kind == "group" else place[3] - 10)}">'
                          f'{html.escape(" ".join(words[4:]))}</text>')
        elif kind in ("arrow", "both"):
            start, end = line_between(boxes[words[0]], boxes[words[1]])
            ends = ' marker-start="url(#head)"' if kind == "both" else ""
            shapes.append(f'<path class="line" d="M{start[0]:g} {start[1]:g} L{end[0]:g} {end[1]:g}" '
                          f'marker-end="url(#head)"{ends}/>')
            if len(words) > 2:
                upright = abs(end[0] - start[0]) < abs(end[1] - start[1])
                at = ((start[0] + end[0]) / 2 + (8 if upright else 0), (start[1] + end[1]) / 2 + (4 if upright else -7))
                shapes.append(f'<text class="words" x="{at[0]:g}" y="{at[1]:g}" '
                              f'text-anchor="{"start" if upright else "middle"}">{html.escape(" ".join(words[2:]))}</text>')
        elif kind:
            raise SystemExit(f"a line begins with {kind!r}")
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" width="{size[0]}" height="{size[1]}">\n'
            f'<style>{STYLE}</style>\n<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
            'markerHeight="8" orient="auto-start-reverse"><path class="head" d="M0 0 L8 4 L0 8 Z"/></marker></defs>\n'
            + "\n".join(shapes) + "\n</svg>\n")


def main():
    old = []
    for source in sorted(glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "*.txt"))):
        picture = source[:-4] + ".svg"
        with open(source) as f:
            drawn = draw(f.read())
        if "--check" in sys.argv:
            if not os.path.exists(picture) or open(picture).read() != drawn:
                old.append(os.path.basename(picture))
        else:
            with open(picture, "w") as f:
                f.write(drawn)
    if old:
        sys.exit(f"not what their texts say, run {sys.argv[0]}: {' '.join(old)}")


if __name__ == "__main__":
    main()
