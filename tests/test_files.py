"""Files are replaced whole, whatever interrupts the writer."""

import pytest

from analysis.files import replacing


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def write(path, content):
    with replacing(path) as file:
        file.write(content)


def test_file_is_replaced_atomically(tmp_path):
    path = tmp_path / "file"
    write(path, b"old")
    write(path, b"new")
    assert path.read_bytes() == b"new"
    assert names(tmp_path) == ["file"]


def test_failed_writer_keeps_file(tmp_path):
    path = tmp_path / "file"
    write(path, b"old")

    def fail():
        with replacing(path) as file:
            file.write(b"ne")
            raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        fail()
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]
