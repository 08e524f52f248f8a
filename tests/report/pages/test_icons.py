"""Icons that pages show are shipped, by any of their names, and no others."""

from pathlib import Path

import pydata_sphinx_theme

from analysis.report.pages.icons import keep_used

SCRIPTS = Path(pydata_sphinx_theme.__file__).parent / "theme/pydata_sphinx_theme/static/scripts"
SCRIPT = (
    'var a={bars:[448,512,["navicon"],"f0c9","M0 96"],"arrow-up":[384,512,[8593],"f062","M2"],'
    'duo:[1,2,[],"f1",["M1","M2"]]},b=[1,2,[3]];'
)


def test_an_icon_is_kept_by_each_of_its_names():
    for used in ({"bars"}, {"navicon"}):
        kept = keep_used(SCRIPT, used)
        assert kept == 'var a={bars:[448,512,["navicon"],"f0c9","M0 96"],},b=[1,2,[3]];'
    assert keep_used(SCRIPT, {"duo", "bars", "arrow-up"}) == SCRIPT
    assert keep_used(SCRIPT, set()) == "var a={},b=[1,2,[3]];"


def test_the_script_of_the_theme_shrinks_and_stays_a_script():
    whole = (SCRIPTS / "fontawesome.js").read_text(encoding="utf-8")
    kept = keep_used(whole, {"bars", "magnifying-glass", "moon"})
    assert len(kept) < 0.1 * len(whole)
    assert '"f0c9"' in kept
    assert '"f185"' not in kept  # the sun
    assert kept.count("{") == kept.count("}")
