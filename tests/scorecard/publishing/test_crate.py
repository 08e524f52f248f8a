"""The research object: every file it names exists, every id resolves, every term has a meaning."""

import json
from importlib.resources import files

import pytest
from rocrate.rocrate import ROCrate

from scorecard.publishing import site as site_module
from scorecard.publishing.citation import Edition
from scorecard.publishing.metadata import make_codemeta, update_notebook_sizes
from scorecard.publishing.site import write_data
from tests.scorecard.publishing.test_site import run
from tests.scorecard.test_collate import gather, published

__all__ = ["published", "run"]  # fixtures
THERE = Edition("abc123", "2026-11-22", "https://a.example/book/")
TERMS = json.loads(files("rocrate").joinpath("data/ro-crate.jsonld").read_text())["@context"]


@pytest.fixture
def site(run, tmp_path, monkeypatch):
    monkeypatch.setattr(site_module, "read_edition", lambda: THERE)
    write_data(gather(run), tmp_path / "site")
    return tmp_path / "site"


def graph(site):
    content = json.loads((site / "ro-crate-metadata.json").read_text(encoding="utf-8"))
    return content["@context"], {entity["@id"]: entity for entity in content["@graph"]}


def references(value):
    """Yield every id that a value refers to."""
    if isinstance(value, list):
        for entry in value:
            yield from references(entry)
    elif isinstance(value, dict):
        assert set(value) == {"@id"}
        yield value["@id"]


def kinds(entity):
    return {entity["@type"]} if isinstance(entity["@type"], str) else set(entity["@type"])


def test_crate_version_is_known(site):
    context, entities = graph(site)
    assert context == "https://w3id.org/ro/crate/1.3/context"
    about = entities["ro-crate-metadata.json"]
    assert about["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.3"}
    used = {name for entity in entities.values() for name in entity if not name.startswith("@")}
    used |= {kind for entity in entities.values() for kind in kinds(entity)}
    assert used <= set(TERMS)


def test_every_id_resolves_and_every_file_exists(site):
    _, entities = graph(site)
    outside = {"https://w3id.org/ro/crate/1.3", "http://schema.org/CompletedActionStatus"}
    for entity in entities.values():
        for name, value in entity.items():
            if not name.startswith("@"):
                assert set(references(value)) <= set(entities) | outside, (entity["@id"], name)
    named = {id for id, entity in entities.items() if "File" in kinds(entity)}
    assert all((site / name).stat().st_size > 0 for name in named)
    there = {path for part in ("figures", "tables", "data") for path in site.glob(f"{part}/*")}
    assert {path.relative_to(site).as_posix() for path in there} < named
    assert {part["@id"] for part in entities["./"]["hasPart"]} == named


def test_crate_describes_run(site):
    _, entities = graph(site)
    action = entities["#run-first"]
    assert action["@type"] == "CreateAction"
    assert action["instrument"] == {"@id": "notebooks/first.ipynb"}
    (given,) = references(action["object"])
    assert (entities[given]["name"], entities[given]["value"]) == ("budget", 2)
    results = set(references(action["result"]))
    assert {
        "figures/first-curve.svg",
        "tables/first-table.csv",
        "data/first-instances.csv",
    } < results
    assert entities["figures/first-curve.svg"]["name"] == "It falls"


def test_the_package_reads_what_it_wrote(site):
    crate = ROCrate(site)
    assert crate.name.startswith("Which source next?")
    assert crate.root_dataset["url"] == THERE.address
    assert len(crate.get_by_type("CreateAction")) == 1


def test_crate_has_notebook_size(site):
    path = site / "notebooks/first.ipynb"
    path.write_text(path.read_text() + " " * 321)
    update_notebook_sizes(site)
    _, entities = graph(site)
    files = {id: e for id, e in entities.items() if "contentSize" in e}
    assert "notebooks/first.ipynb" in files
    for id, entity in files.items():
        assert entity["contentSize"] == str((site / id).stat().st_size)


def test_a_rerun_is_no_publication(run, tmp_path):
    write_data(gather(run, document=False, complete=False), tmp_path / "site")
    update_notebook_sizes(tmp_path / "site")
    assert not (tmp_path / "site/ro-crate-metadata.json").exists()


@pytest.mark.parametrize("address", ["", "https://a.example/book/"])
def test_crate_describes_code(address):
    said = make_codemeta(Edition("abc123", "2026-11-22", address))
    assert {name for name in said if name != "@context"} - {"type"} <= set(TERMS)
    assert said["license"].endswith("/MIT")
    assert any(entry.startswith("numpy") for entry in said["softwareRequirements"])
    assert said.get("url", "") == address
