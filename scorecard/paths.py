"""Paths in a checkout of the repository, and the message of an interrupted build."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"
BUILD = BOOK / "_build"
PROFILES = ("quick", "paper", "full")
INTERRUPTED = "interrupted: the previous build is unchanged"


def build_folder(profile: str) -> Path:
    """Return the build folder of a profile; the quick profile has its own."""
    return BUILD / "quick" if profile == "quick" else BUILD
