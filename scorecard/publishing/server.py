"""A server of the built book on this machine, with the site's Content-Security-Policy."""

from __future__ import annotations

import http.server
from pathlib import Path
from typing import Any

from scorecard.pages.theme.policy import POLICY


class SiteHandler(http.server.SimpleHTTPRequestHandler):
    """Answers requests for files of one folder; a link that leads out of it is not there."""

    def send_head(self) -> Any:
        """Send the header of the answer, and return the file; 404 for what is out of the folder."""
        path = Path(self.translate_path(self.path))
        try:
            folder = Path(self.directory).resolve()
            opened = (path, path / "index.html", path / "index.htm")
            is_inside = all(file.resolve().is_relative_to(folder) for file in opened)
        except (OSError, RuntimeError, ValueError):  # a loop of links; a zero in the name
            is_inside = False
        if not is_inside:
            self.send_error(404, "File not found")
            return None
        return super().send_head()

    def end_headers(self) -> None:
        """Add the policy of the site, if it has one."""
        policy = Path(self.directory, POLICY)
        if policy.is_file():
            self.send_header("Content-Security-Policy", policy.read_text(encoding="utf-8").strip())
        super().end_headers()
