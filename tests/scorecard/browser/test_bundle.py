"""What a site holds for its panels: the code, which pages a browser cannot run, the runtime."""

import hashlib
import zipfile

import pytest

from scorecard.browser import bundle
from scorecard.files import BOOK
from scorecard.running.notebooks import all_notebooks

CANNOT = {"crawler": "connections", "listing": "connections"}


def test_pages_that_cannot_run_say_why():
    trials = bundle.read_trials()
    assert {name for name, row in trials.items() if row["unavailable"]} == CANNOT.keys()
    for name, reason in CANNOT.items():
        assert reason in trials[name]["unavailable"]


def test_every_listed_page_has_seconds_or_a_reason():
    trials = bundle.read_trials()
    assert trials.keys() <= all_notebooks().keys()  # a new page has no row yet
    measured = ("profile", "seconds", "compared", "same", "differs")
    for row in trials.values():
        if row["unavailable"]:
            assert not any(row[column] for column in measured)
        else:
            assert row["profile"] == "quick"
            assert float(row["seconds"]) > 0


def test_differing_bytes_have_a_reason():
    for row in bundle.read_trials().values():
        assert bool(row["compared"]) == bool(row["same"])
        assert int(row["same"] or 0) <= int(row["compared"] or 0)
        assert bool(row["differs"]) == (row["same"] != row["compared"])


def test_code_has_its_import_graph(tmp_path):
    digests = {bundle.write_code(tmp_path / name) for name in ("one.zip", "two.zip")}
    assert len(digests) == 1
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        names = archive.namelist()
    assert {bundle.GRAPH, "scorecard/browser/stand_ins.py"} <= {*names}
    assert "analysis/learning/losses.csv" in names


def test_policy_stands_in_about():
    text = (BOOK / "back/about.md").read_text(encoding="utf-8")
    assert f"\n{bundle.make_worker_policy()}\n" in text
    for directive in bundle.make_worker_policy().split("; "):
        for allowed in directive.split()[1:]:
            assert f"`{allowed}`" in text, allowed


# The runtime: files are taken from where they are, if their hash is the one in the list


FILES = {"core.js": b"core", "library.whl": b"library"}


@pytest.fixture
def files(monkeypatch):
    """A runtime of two files, and no network."""
    listed = [
        {"name": name, "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        for name, content in FILES.items()
    ]
    described = {"address": "http://127.0.0.1:9/", "files": listed}
    monkeypatch.setattr(bundle, "read_runtime", lambda: described)
    return listed


def put(folder):
    (folder / "inside").mkdir(parents=True)
    for name, content in FILES.items():
        (folder / "inside" / name).write_bytes(content)
    return folder


def test_runtime_from_folder_and_archive(files, tmp_path):
    origin = put(tmp_path / "origin")
    with zipfile.ZipFile(tmp_path / "any.whl", "w") as archive:
        for name in FILES:
            archive.write(origin / "inside" / name, f"deep/{name}")
    for number, place in enumerate((origin, tmp_path / "any.whl")):
        target = tmp_path / f"target-{number}"
        assert bundle.install_runtime(target, str(place)) == 2
        assert {path.name: path.read_bytes() for path in target.iterdir()} == FILES
        assert bundle.install_runtime(target) == 0


def test_wrong_hash_is_refused_by_name(files, tmp_path):
    origin = put(tmp_path / "origin")
    (origin / "inside/library.whl").write_bytes(b"other")
    with pytest.raises(bundle.RuntimeMissing, match="library"):
        bundle.install_runtime(tmp_path / "target", str(origin))
    assert [path.name for path in (tmp_path / "target").iterdir()] == ["core.js"]


def test_damaged_file_is_replaced(files, tmp_path):
    target = tmp_path / "target"
    bundle.install_runtime(target, str(put(tmp_path / "origin")))
    (target / "core.js").write_bytes(b"damaged")
    assert bundle.install_runtime(target, str(tmp_path / "origin")) == 1
    assert (target / "core.js").read_bytes() == FILES["core.js"]


def test_origin_that_is_no_archive_is_refused(files, tmp_path):
    (tmp_path / "text").write_text("text")
    with pytest.raises(ValueError, match="from"):
        bundle.install_runtime(tmp_path / "target", str(tmp_path / "text"))


def test_policy_allows_site_and_address(files):
    policy = bundle.make_worker_policy()
    assert "connect-src 'self' http://127.0.0.1:9/" in policy
    assert "unsafe-eval'" in policy.replace("wasm-", "")
    assert "'unsafe-eval'" not in policy
