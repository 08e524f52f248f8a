"""Where things are in a checkout."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"
BUILD = BOOK / "_build"
PROFILES = ("quick", "paper", "full")


def build_folder(profile: str) -> Path:
    """Return where a profile's book is built; the quick one never touches the published one."""
    return BUILD / "quick" if profile == "quick" else BUILD
