"""Drawings for dark pages: ink and paper change places, and colours can be told from the page."""

import io
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from matplotlib import pyplot as plt

from scorecard import figure
from scorecard.publishing.site import INK, PAPER, darken_svg
from scorecard.saving.figures import COLOURS


def drawn(draw):
    fig, axis = figure()
    draw(axis)
    file = io.StringIO()
    fig.savefig(file, format="svg")
    plt.close(fig)
    return file.getvalue()


def luminance(rgb):
    parts = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in rgb]
    return float(np.dot(parts, [0.2126, 0.7152, 0.0722]))


def colours(svg):
    return {tuple(bytes.fromhex(c)) for c in re.findall("#([0-9a-f]{6})", svg)}


def test_paper_and_ink_change_places():
    light = drawn(lambda axis: axis.set_title("a title"))
    dark = darken_svg(light)
    assert {(0, 0, 0), (255, 255, 255)} <= colours(light)
    assert {PAPER, INK} <= colours(dark)
    assert not {(0, 0, 0), (255, 255, 255)} & colours(dark)
    assert ET.fromstring(dark).get("fill") == "#{:02x}{:02x}{:02x}".format(*INK)


@pytest.mark.parametrize("colour", COLOURS)
def test_dark_lines_have_contrast(colour):
    dark = darken_svg(drawn(lambda axis: axis.plot([0, 1], [0, 1], color=colour, linewidth=7)))
    (line,) = re.findall("stroke: #([0-9a-f]{6}); stroke-width: 7", dark)
    ratio = (luminance(bytes.fromhex(line)) + 0.05) / (luminance(PAPER) + 0.05)
    assert ratio > 4.5


def test_map_ink_stays_dark():
    def mapped(axis):
        axis.pcolormesh([[0.0, 1.0], [2.0, 3.0]], cmap="cividis", vmin=-1, vmax=9)
        axis.text(0.5, 0.5, "label", bbox={"facecolor": "#fffbe0"})
        axis.set_xlabel("axis")
        axis.set_title("title")

    light = drawn(mapped)
    dark = darken_svg(light)
    before, after = (re.findall("<!-- (.*?) -->", svg) for svg in (light, dark))
    assert before == after
    texts = re.findall(
        r'^   <g id="text_.*?^   </g>|<g id="text_[^>]*>\s*<!-- axis', dark, re.M | re.S
    )
    words = ("label", "axis", "title")
    said = {text.partition(">")[0]: w for text in texts for w in words if f"<!-- {w}" in text}
    kept = {word for tag, word in said.items() if "#000000" in tag}
    assert (kept, set(said.values())) == ({"label"}, {"label", "axis", "title"})
    cells = {c for c in colours(light) if max(c) - min(c) > 30}
    assert cells
    assert cells <= colours(dark)
