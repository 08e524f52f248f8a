"""Drawings for dark pages: the light ones in other colours.

Paper and ink change places, and so do the greys between them; the colours of lines that are dim on
a dark page get lighter. Ink on a map of colours stays as it is, and so does the map; what is
written beside it, a title or a label, is ink of the page.
"""

from __future__ import annotations

import re
from pathlib import Path

#: Colours of paper and ink in the theme's dark dress, and lighter twins of dark line colours.
PAPER, INK = (0x12, 0x12, 0x12), (0xCE, 0xD6, 0xDD)
LIGHTER = {"#0072b2": "#3d9fdb", "#d55e00": "#f07a28", "#009e73": "#1fb88d"}
_COLOUR = re.compile(r"#[0-9a-f]{6}")
_MAP = re.compile(r'<g id="QuadMesh|<image')
_AXES = re.compile(r'(?=<g id="(?:axes|legend|figure)_\d+">)')
#: The frame of a panel: its first path goes once around it.
_FRAME = re.compile(r'<path d="M ([\d.]+) ([\d.]+)\s+L ([\d.]+) [\d.]+\s+L [\d.]+ ([\d.]+)')
#: A text of a panel, perhaps in a box, up to its place.
_TEXT = re.compile(
    r'^(   <g id="text_\d+")((?:(?!^   </g>).)*?<g transform="translate\((\S+) (\S+)\))',
    re.MULTILINE | re.DOTALL,
)


def darkened(svg: str) -> str:
    """Return a light drawing in colours for a dark page.

    Parameters
    ----------
    svg : str
        An SVG file of Matplotlib, whose paper is white and whose ink is black.
    """
    ink = "#{:02x}{:02x}{:02x}".format(*INK)
    svg = svg.replace("<svg ", f'<svg fill="{ink}" ', 1)
    return "".join(map(_darkened_axes, _AXES.split(svg)))


def _darkened_axes(part: str) -> str:
    """Darken one panel; letters on a map of colours stay as they are."""
    if not _MAP.search(part):
        return _COLOUR.sub(_dark, part)
    frame = _FRAME.search(part)
    assert frame is not None
    left, bottom, right, top = map(float, frame.groups())

    def kept(text: re.Match[str]) -> str:
        x, y = float(text[3]), float(text[4])
        on_the_map = left <= x <= right and top <= y <= bottom
        return f'{text[1]} fill="#000000"{text[2]}' if on_the_map else text[0]

    return _TEXT.sub(kept, _COLOUR.sub(_dark, part))


def _dark(match: re.Match[str]) -> str:
    colour = match[0]
    rgb = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    if max(rgb) - min(rgb) > 12:
        return LIGHTER.get(colour, colour)
    share = sum(rgb) / 765
    mixed = (round(ink + share * (paper - ink)) for ink, paper in zip(INK, PAPER, strict=True))
    return "#{:02x}{:02x}{:02x}".format(*mixed)


def write_dark(figures: Path) -> None:
    """Write the dark variant of every drawing in a folder beside it."""
    for path in [*figures.glob("*.svg")]:
        dark = path.with_name(path.name.removesuffix("svg") + "dark.svg")
        dark.write_text(darkened(path.read_text(encoding="utf-8")), encoding="utf-8")
