"""Ship only the icons that pages show: a dozen of the two thousand in the theme's script."""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

SCRIPT = "_static/scripts/fontawesome.js"
_ICON = re.compile(
    r'"?(?P<name>[a-z0-9-]+)"?:\[\d+,\d+,\[(?P<others>[^\]]*)\],"[0-9a-f]+",'
    r'(?:"[^"]*"|\[[^\]]*\])\],?'
)
_CLASS = re.compile(r"\bfa-([a-z0-9-]+)")


def keep_used(script: str, used: set[str]) -> str:
    """Return the script of icons without those that have none of the used names.

    Parameters
    ----------
    script : str
        Font Awesome's icons and what draws them, as one script.
    used : set of str
        Names of icons, without ``fa-``.
    """

    def kept(icon: re.Match[str]) -> str:
        names = {icon["name"], *re.findall(r'"([a-z0-9-]+)"', icon["others"])}
        return icon[0] if names & used else ""

    return _ICON.sub(kept, script)


def ship_used_icons(app: Sphinx, problem: Exception | None) -> None:
    """Thin out the script of a site that was just built, by what its pages and scripts name."""
    script = Path(app.outdir) / SCRIPT
    if problem is None and script.exists():
        paths = [*Path(app.outdir).rglob("*.html"), *Path(app.outdir).glob("_static/**/*.js")]
        texts = (path.read_text(encoding="utf-8") for path in paths if path != script)
        used = {name for text in texts for name in _CLASS.findall(text)}
        script.write_text(keep_used(script.read_text(encoding="utf-8"), used), encoding="utf-8")
