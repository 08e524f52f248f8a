"""environment.yml, pyproject.toml, requirements.lock and what Binder installs say the same."""

import os
import re
import shutil
import subprocess
import tomllib
from functools import cache
from importlib.metadata import version

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import analysis
from scorecard.commands import main
from scorecard.files import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCK, *SMALL_LOCKS = (
    (ROOT / folder / "requirements.lock").read_text(encoding="utf-8")
    for folder in ("", "benchmarks", "mutants")
)
SUPPORTED = ("3.11", "3.12", "3.13", "3.14")


@cache
def locked(text=LOCK):
    """Return the requirements of a lock by name; a name may stand there once a Python."""
    found = {}
    for line in re.findall(r"^([A-Za-z0-9._-]+==[^\\\n]+?) *\\?$", text, re.MULTILINE):
        requirement = Requirement(line)
        found.setdefault(canonicalize_name(requirement.name), []).append(requirement)
    return found


def wanted():
    """Return every direct dependency: of the package, its extras, and the build.

    An extra that takes in another names the package itself.
    """
    texts = list(PROJECT["dependencies"])
    for name, extra in PROJECT["optional-dependencies"].items():
        if name not in ("bench", "mutants"):
            texts += extra
    texts += (ROOT / "build.in").read_text(encoding="utf-8").split()
    requirements = [Requirement(text) for text in texts]
    return [requirement for requirement in requirements if requirement.name != PROJECT["name"]]


@pytest.mark.parametrize("requirement", wanted(), ids=str)
def test_dependencies_are_locked(requirement):
    entries = locked()[canonicalize_name(requirement.name)]
    for python in SUPPORTED:
        environment = {"python_version": python, "python_full_version": f"{python}.5"}
        (entry,) = [e for e in entries if e.marker is None or e.marker.evaluate(environment)]
        (pin,) = entry.specifier
        assert requirement.specifier.contains(pin.version, prereleases=True), f"Python {python}"


@pytest.mark.parametrize(
    ("extra", "lock"), list(zip(("bench", "mutants"), SMALL_LOCKS, strict=True))
)
def test_small_locks_agree(extra, lock):
    for text in PROJECT["optional-dependencies"][extra]:
        assert canonicalize_name(Requirement(text).name) in locked(lock)
    both = locked(lock).keys() & locked().keys()
    assert [name for name in both if set(locked(lock)[name]) != set(locked()[name])] == []
    assert lock.count("--hash=sha256:") > len(locked(lock))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("uv") is None, reason="needs uv and a package registry")
@pytest.mark.parametrize("python", SUPPORTED)
@pytest.mark.parametrize(
    "platform", ["x86_64-manylinux_2_28", "aarch64-manylinux_2_28", "aarch64-apple-darwin"]
)
def test_lock_has_wheels_for_platform(platform, python, tmp_path):
    command = ["uv", "pip", "install", "--dry-run", "--no-build", "--require-hashes"]
    command += ["--python-platform", platform, "--python-version", python]
    command += ["--target", tmp_path, "-r", ROOT / "requirements.lock"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("system", "reason"), [("MINGW64_NT-10.0 x86_64", "WSL"), ("Darwin x86_64", "Intel")]
)
def test_unsupported_platform_is_refused(system, reason, tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "uname").write_text(f"#!/bin/sh\necho {system}\n")
    (tmp_path / "uname").chmod(0o755)
    for name in ("requirements.lock", "pyproject.toml"):
        (tmp_path / name).touch()
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    if "MINGW" in system:
        environment["OS"] = "Windows_NT"
    done = subprocess.run(["make", "book"], cwd=tmp_path, env=environment, capture_output=True,
                          text=True)  # fmt: skip
    assert done.returncode != 0
    assert reason in done.stdout
    assert not (tmp_path / ".venv").exists()


def test_lock_entries_have_hashes():
    entries = re.split(r"^(?=[A-Za-z0-9])", LOCK, flags=re.MULTILINE)[1:]
    assert len(entries) > 100
    bare = [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry]
    assert bare == []


def test_the_lock_names_no_index():
    """It installs from whatever registry a machine has."""
    assert "index-url" not in LOCK
    assert "://" not in re.sub(r"^\s*#.*$", "", LOCK, flags=re.MULTILINE)


def test_environment_points_to_lock():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    (pip,) = [entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict)]
    assert pip == ["--require-hashes", "-r requirements.lock"]
    others = [entry for entry in environment["dependencies"] if isinstance(entry, str)]
    (python,) = [entry.removeprefix("python=") for entry in others if entry.startswith("python=")]
    assert set(others) == {f"python={python}", "pip"}  # every package comes from the lock
    assert SpecifierSet(PROJECT["requires-python"]).contains(f"{python}.5")


def test_supported_pythons_agree():
    allowed = SpecifierSet(PROJECT["requires-python"])
    assert [f"3.{minor}" for minor in range(8, 20) if allowed.contains(f"3.{minor}.5")] == [
        *SUPPORTED
    ]
    for name in ("Makefile", "README.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert re.search(r"Python 3\.11 to 3\.14", text), name


def test_the_version_is_one_everywhere():
    assert PROJECT["version"] == analysis.__version__
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert str(citation["version"]) == analysis.__version__
    assert analysis.__version__ in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_installed_equals_locked():
    """On the versions that shape results and pages."""
    for name in ("numpy", "scipy", "numba", "matplotlib", "pandas", "jupyter-book", "sphinx"):
        pins = {str(next(iter(entry.specifier)).version) for entry in locked()[name]}
        assert version(name) in pins, name


# Binder

BINDER = ROOT / "binder"


def test_binder_python_is_allowed():
    (line,) = (BINDER / "requirements.txt").read_text().splitlines()
    assert (BINDER / line.removeprefix("-r ")).resolve() == ROOT / "requirements.lock"
    name, version = (BINDER / "runtime.txt").read_text().strip().split("-")
    assert name == "python"
    assert version in SpecifierSet(PROJECT["requires-python"])


def test_binder_command_exists(monkeypatch):
    script = BINDER / "postBuild"
    assert os.access(script, os.X_OK)
    (command,) = re.findall(r"python -m scorecard (.*)", script.read_text())
    asked = []
    monkeypatch.setattr(
        "scorecard.commands.make_book", lambda **given: asked.append(given["profile"])
    )
    assert main(command.split()) == 0
    assert asked == ["quick"]
