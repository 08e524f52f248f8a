"""A math renderer for Sphinx that writes MathML, which browsers lay out without a script."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from math_core import LatexError, LatexToMathML
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

logger = logging.getLogger(__name__)
_CONVERTER = LatexToMathML(fancy_error=False)
_CLASSES = "math notranslate nohighlight"
_PUNCTUATION = re.compile(r"[^\w\s(\[]+")


def convert_to_mathml(formula: str, *, display: bool) -> str:
    """Convert a LaTeX formula to an element of MathML Core.

    `display`: whether it is displayed, not inline. Raises ValueError if a command or an
    environment is not known, or braces are not closed.
    """
    try:
        return _CONVERTER.convert_with_local_state(formula, displaystyle=display)
    except LatexError as error:
        raise ValueError(f"the formula {formula!r} is not understood: {error}") from error


def _write(translator: Any, node: nodes.Element, display: bool) -> None:
    try:
        translator.body.append(convert_to_mathml(node.astext(), display=display))
    except ValueError as error:
        logger.warning("%s", error, location=node)
        translator.body.append(
            f'<span class="problematic">{translator.encode(node.astext())}</span>'
        )


def _visit_inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(translator.starttag(node, "span", "", CLASS=_CLASSES))
    _write(translator, node, display=False)
    translator.body.append("</span>")
    raise nodes.SkipNode


def _visit_block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(translator.starttag(node, "div", CLASS=_CLASSES))
    if node["number"]:
        number = get_node_equation_number(translator, node)
        translator.body.append(f'<span class="eqno">({number})')
        translator.add_permalink_ref(node, "Link to this equation")
        translator.body.append("</span>")
    _write(translator, node, display=True)
    translator.body.append("</div>\n")
    raise nodes.SkipNode


class KeepPunctuation(SphinxPostTransform):
    """Prevent a line break between an inline formula and the punctuation after it."""

    default_priority = 900

    def run(self, **kwargs: Any) -> None:
        """Put each formula and the punctuation after it into one node of class book-joined."""
        for formula in list(self.document.findall(nodes.math)):
            after = formula.next_node(descend=False, siblings=True)
            if isinstance(after, nodes.Text) and (marks := _PUNCTUATION.match(after)):
                parent, position = formula.parent, formula.parent.index(formula)
                joined = nodes.inline(
                    "", "", formula, nodes.Text(marks[0]), classes=["book-joined"]
                )
                parent[position : position + 2] = [joined, nodes.Text(after[marks.end() :])]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer ``mathml``, which ``html_math_renderer`` in the configuration names."""
    app.add_post_transform(KeepPunctuation)
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
