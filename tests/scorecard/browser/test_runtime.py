"""Files of the runtime are taken from where they are, if their hash is the one in the list."""

import hashlib
import zipfile

import pytest

from scorecard.browser import runtime

FILES = {"core.js": b"core", "library.whl": b"library"}


@pytest.fixture
def files(monkeypatch):
    """A runtime of two files, and no network."""
    listed = [
        {"name": name, "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        for name, content in FILES.items()
    ]
    described = {"address": "http://127.0.0.1:9/", "files": listed}
    monkeypatch.setattr(runtime, "read_list", lambda: described)
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
        assert runtime.install_runtime(target, str(place)) == 2
        assert {path.name: path.read_bytes() for path in target.iterdir()} == FILES
        assert runtime.install_runtime(target) == 0


def test_wrong_hash_is_refused_by_name(files, tmp_path):
    origin = put(tmp_path / "origin")
    (origin / "inside/library.whl").write_bytes(b"other")
    with pytest.raises(runtime.RuntimeMissing, match="library"):
        runtime.install_runtime(tmp_path / "target", str(origin))
    assert [path.name for path in (tmp_path / "target").iterdir()] == ["core.js"]


def test_damaged_file_is_replaced(files, tmp_path):
    target = tmp_path / "target"
    runtime.install_runtime(target, str(put(tmp_path / "origin")))
    (target / "core.js").write_bytes(b"damaged")
    assert runtime.install_runtime(target, str(tmp_path / "origin")) == 1
    assert (target / "core.js").read_bytes() == FILES["core.js"]


def test_origin_that_is_no_archive_is_refused(files, tmp_path):
    (tmp_path / "text").write_text("text")
    with pytest.raises(ValueError, match="from"):
        runtime.install_runtime(tmp_path / "target", str(tmp_path / "text"))


def test_policy_allows_site_and_address(files):
    policy = runtime.make_policy()
    assert "connect-src 'self' http://127.0.0.1:9/" in policy
    assert "unsafe-eval'" in policy.replace("wasm-", "")
    assert "'unsafe-eval'" not in policy
