"""The Scrapy project in `examples`: Scrapy finds its spider, and it crawls feeds."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from analysis.crawl import FeedServer
from analysis.crawl.progress import Progress
from tests.crawl.support import some_site

ROOT = Path(__file__).parents[2]


def scrapy(folder, *arguments):
    """Run Scrapy in a folder; return what it prints."""
    process = subprocess.run(
        [sys.executable, "-m", "scrapy", *arguments],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=240, check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    return process.stdout


@pytest.mark.sampled
@pytest.mark.process
def test_example_project_crawls_its_list(tmp_path):
    """Its list is replaced by feeds of this machine; all else is as it stands there."""
    folder = tmp_path / "project"
    shutil.copytree(ROOT / "examples" / "scrapy_project", folder)
    assert scrapy(folder, "list").split() == ["feeds"]
    now = int(time.time())
    with FeedServer(some_site(3, epochs=1, before=9, seconds=3600, start=now), lambda: now) as site:
        rows = (folder / "feeds.csv").read_text().splitlines()
        for place, url in enumerate(site.urls(), 1):
            cells = rows[place].split(",")
            rows[place] = ",".join([cells[0], url, *cells[2:]])
        (folder / "feeds.csv").write_text("\n".join([*rows, ""]))
        settings = ("CRAWL_PERIOD=3", "CRAWL_EPOCHS=2", "CRAWL_LOCAL_ADDRESSES=True")
        scrapy(folder, "crawl", "feeds", *(part for one in settings for part in ("-s", one)))
    items = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]
    assert {item["source"] for item in items} <= set(site.urls())
    assert len({item["source"] for item in items}) >= 2
    assert "2 of 3 s each" in Progress.read(folder / "state").text()
