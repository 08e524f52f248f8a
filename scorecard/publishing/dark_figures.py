"""Dark variants of the figures: the same SVG with other colours.

White, black and the greys between them are inverted, and line colours of low contrast on a dark
background are made lighter. Colour maps and the text on them are not changed.
"""

from __future__ import annotations

import re
from pathlib import Path

#: Background and text colour of the theme's dark mode, and replacements of dark line colours.
PAPER, INK = (0x12, 0x12, 0x12), (0xCE, 0xD6, 0xDD)
LIGHTER = {"#0072b2": "#3d9fdb", "#d55e00": "#f07a28", "#009e73": "#1fb88d"}
_COLOUR = re.compile(r"#[0-9a-f]{6}")
_MAP = re.compile(r'<g id="QuadMesh|<image')
_AXES = re.compile(r'(?=<g id="(?:axes|legend|figure)_\d+">)')
#: The first path of a panel, its background rectangle: left, bottom, right, top.
_FRAME = re.compile(r'<path d="M ([\d.]+) ([\d.]+)\s+L ([\d.]+) [\d.]+\s+L [\d.]+ ([\d.]+)')
#: A text element of a panel up to its coordinates; a box may come before these.
_TEXT = re.compile(
    r'^(   <g id="text_\d+")((?:(?!^   </g>).)*?<g transform="translate\((\S+) (\S+)\))',
    re.MULTILINE | re.DOTALL,
)


def dark_svg(svg: str) -> str:
    """Return an SVG drawing with the colours of the dark variant.

    `svg`: content of an SVG file of Matplotlib with a white background and black text.
    """
    ink = "#{:02x}{:02x}{:02x}".format(*INK)
    svg = svg.replace("<svg ", f'<svg fill="{ink}" ', 1)
    return "".join(map(_dark_axes, _AXES.split(svg)))


def _dark_axes(panel: str) -> str:
    """Change the colours of one panel; text on a colour map stays black."""
    if not _MAP.search(panel):
        return _COLOUR.sub(_dark_colour, panel)
    frame = _FRAME.search(panel)
    assert frame is not None
    x_min, y_min, x_max, y_max = map(float, frame.groups())

    def restore_black(text: re.Match[str]) -> str:
        x, y = float(text[3]), float(text[4])
        on_the_map = x_min <= x <= x_max and y_max <= y <= y_min
        return f'{text[1]} fill="#000000"{text[2]}' if on_the_map else text[0]

    return _TEXT.sub(restore_black, _COLOUR.sub(_dark_colour, panel))


def _dark_colour(match: re.Match[str]) -> str:
    colour = match[0]
    rgb = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    if max(rgb) - min(rgb) > 12:
        return LIGHTER.get(colour, colour)
    share = sum(rgb) / 765
    mixed = (round(ink + share * (paper - ink)) for ink, paper in zip(INK, PAPER, strict=True))
    return "#{:02x}{:02x}{:02x}".format(*mixed)


def write_dark_variants(figures: Path) -> None:
    """Write the dark variant of every SVG file in a folder, as ``NAME.dark.svg``."""
    for path in [*figures.glob("*.svg")]:
        dark = path.with_name(path.name.removesuffix("svg") + "dark.svg")
        dark.write_text(dark_svg(path.read_text(encoding="utf-8")), encoding="utf-8")
