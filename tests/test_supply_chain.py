"""The bill of materials, the licences, and the comparison with a database of advisories."""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from scripts.advisories import DatabaseError, entries, findings
from scripts.sbom import (
    CONSTRAINTS,
    PACKAGES,
    ROOT,
    UNDECLARED,
    Metadata,
    bill,
    components,
    installed,
    is_permissive,
    pinned,
    restricted,
)

FOUND = components(pinned(), json.loads(PACKAGES.read_text(encoding="utf-8")))
BY_NAME = {each.name: each for each in FOUND}


def run(
    module: str, *arguments: str | Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", module, *map(str, arguments)],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        encoding="utf-8",
    )


# ---- bill of materials ---------------------------------------------------------------------------


def test_the_bill_is_equal_on_another_day_and_in_another_locale_and_time_zone() -> None:
    one = run("scripts.sbom", PYTHONHASHSEED="1", TZ="Asia/Tokyo", LC_ALL="C")
    other = run("scripts.sbom", PYTHONHASHSEED="2", SOURCE_DATE_EPOCH="1")
    assert one.returncode == other.returncode == 0
    assert one.stdout == other.stdout == json.dumps(bill(FOUND), indent=2) + "\n"
    assert not {"serialNumber", "timestamp"} & {*json.loads(one.stdout)["metadata"], *bill(FOUND)}


def test_the_bill_lists_each_pinned_package_once_with_its_extras() -> None:
    listed = bill(FOUND)
    found = {each["name"]: each.get("version") for each in listed["components"]}
    assert len(found) == len(listed["components"])
    assert pinned().items() <= found.items()
    references = {each["bom-ref"] for each in listed["components"]}
    assert all({*each["dependsOn"]} <= references for each in listed["dependencies"])
    assert BY_NAME["numpy"].extras[-1] == "yakusu" and BY_NAME["ziglang"].extras == ("build",)
    assert BY_NAME["ipadic"].extras == (
        *("compress", "ctranslate2", "demo", "dev", "hf", "import", "mecab", "onnx", "train"),
    )
    assert all(each.extras for each in FOUND)


def test_another_version_changes_only_its_package() -> None:
    packages = json.loads(PACKAGES.read_text(encoding="utf-8"))
    other = components(pinned() | {"numpy": "9.9"}, packages)
    changed = [new for old, new in zip(FOUND, other, strict=True) if old != new]
    assert [each.purl for each in changed] == ["pkg:pypi/numpy@9.9"]


def test_licences_are_those_that_the_installed_packages_declare() -> None:
    pins = pinned()
    metadata = {name: each for name, each in installed().items() if pins.get(name) == version(name)}
    assert len(metadata) > 50
    differing = {
        name: (each.licence, BY_NAME[name].licence)
        for name, each in metadata.items()
        if each.licence != BY_NAME[name].licence
    }
    assert not differing, "run python -m scripts.sbom --record"


@pytest.mark.parametrize(
    ("expression", "text", "classifier", "licence"),
    [
        ("MIT", "", "", "MIT"),
        ("", "apache-2.0", "", "Apache-2.0"),
        ("", "Apache 2.0", "", "Apache-2.0"),
        ("", "UNKNOWN", "MIT License", "MIT"),
        ("", "Copyright 2020\nPermission is", "BSD License", "BSD License"),
        ("", "my own terms", "", "my own terms"),
        ("", "", "", UNDECLARED),
    ],
)
def test_a_licence_is_read_from_each_field_of_the_metadata(
    expression: str, text: str, classifier: str, licence: str
) -> None:
    classifiers = (f"License :: OSI Approved :: {classifier}",) if classifier else ()
    assert Metadata("a", expression, text, classifiers, ()).licence == licence


@pytest.mark.parametrize(
    ("licence", "permissive"),
    [
        ("MIT", True),
        ("Apache-2.0 AND CNRI-Python", True),
        ("MIT AND (BSD-2-Clause OR LGPL-2.1-or-later)", True),
        ("GPL-2.0-only OR MIT", True),
        ("MPL-2.0 AND MIT", False),
        ("LicenseRef-NVIDIA-Proprietary", False),
        (UNDECLARED, False),
    ],
)
def test_a_licence_is_permissive_if_one_that_may_be_chosen_is(
    licence: str, permissive: bool
) -> None:
    assert is_permissive(licence) == permissive


def test_the_installation_page_lists_the_licences_that_are_not_permissive() -> None:
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert "\n".join(restricted(FOUND)) in page, "run python -m scripts.sbom --licences"


# ---- advisories ----------------------------------------------------------------------------------


def entry(
    name: str = "Some_Package", *events: dict[str, str], versions: tuple[str, ...] = (), **more: Any
) -> dict[str, Any]:
    ranges = [{"type": "ECOSYSTEM", "events": [*events]}] if events else []
    package = {"ecosystem": "PyPI", "name": name}
    affected = [{"package": package, "ranges": ranges, "versions": [*versions]}]
    return {"id": "PYSEC-1", "affected": affected, **more}


@pytest.mark.parametrize(
    ("events", "affected"),
    [
        ([{"introduced": "0"}, {"fixed": "1.10"}], True),  # 1.9 < 1.10
        ([{"introduced": "0"}, {"fixed": "1.9"}], False),
        ([{"introduced": "0"}, {"fixed": "1.9.post1"}], True),
        ([{"introduced": "1.9rc1"}, {"last_affected": "1.9"}], True),
        ([{"introduced": "0"}, {"last_affected": "1.8"}], False),
        ([{"introduced": "1.10"}], False),
        ([{"introduced": "0"}], True),
        ([{"fixed": "1.5"}, {"introduced": "0"}, {"introduced": "1.7"}, {"fixed": "2"}], True),
        ([{"introduced": "0"}, {"fixed": "1.5"}, {"introduced": "2"}, {"fixed": "2.1"}], False),
        ([{"introduced": "0"}, {"limit": "1.5"}], False),
        ([{"introduced": "0"}, {"limit": "*"}], True),
    ],
)
def test_a_version_is_compared_with_the_events_of_a_range(
    events: list[dict[str, str]], affected: bool
) -> None:
    found = findings({"some-package": "1.9"}, [entry("Some_Package", *events)])
    assert bool(list(found)) == affected


def test_listed_versions_withdrawn_entries_and_other_ecosystems() -> None:
    listed = entry(versions=("1.8", "1.9.0"))
    other = entry(versions=("1.9",))
    other["affected"][0]["package"]["ecosystem"] = "npm"
    withdrawn = entry(versions=("1.9",), withdrawn="2026-01-01T00:00:00Z")
    found = [list(findings({"some-package": "1.9"}, [each])) for each in (listed, other, withdrawn)]
    assert [len(each) for each in found] == [1, 0, 0]


def test_a_range_that_cannot_be_read_counts_as_affected_and_says_so() -> None:
    (found,) = findings({"some-package": "1.9"}, [entry("some.package", {"introduced": "a b"})])
    assert "a range cannot be read, so check it yourself" in str(found)


def as_file(folder: Path, content: list[dict[str, Any]]) -> Path:
    (folder / "all.json").write_text(json.dumps(content))
    return folder / "all.json"


def as_folder(folder: Path, content: list[dict[str, Any]]) -> Path:
    (folder / "all" / "deep").mkdir(parents=True)
    for i, each in enumerate(content):
        (folder / "all" / "deep" / f"{i}.json").write_text(json.dumps(each))
    return folder / "all"


def as_zip(folder: Path, content: list[dict[str, Any]]) -> Path:
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        for i, each in enumerate(content):
            archive.writestr(f"{i}.json", json.dumps(each))
    return folder / "all.zip"


@pytest.mark.parametrize("store", [as_file, as_folder, as_zip])
def test_a_database_is_a_file_a_folder_or_an_archive(
    tmp_path: Path, store: Callable[[Path, list[dict[str, Any]]], Path]
) -> None:
    content = [entry("a", {"introduced": "0"}), entry("b", versions=("1",))]
    assert list(entries(store(tmp_path, content))) == content


def test_a_database_that_is_nested_or_unpacks_too_far_is_refused(tmp_path: Path) -> None:
    deep, bomb = tmp_path / "deep.json", tmp_path / "bomb.zip"
    deep.write_text("[" * 200_000)
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.json", bytes(100_000_001))
    with pytest.raises(DatabaseError, match=f"^{deep} is not valid JSON"):
        list(entries(deep))
    with pytest.raises(DatabaseError, match=r"bomb\.zip, a\.json has 100,000,001 bytes, more than"):
        list(entries(bomb))


def test_the_program_also_runs_as_a_file(tmp_path: Path) -> None:
    program = [sys.executable, str(ROOT / "scripts" / "advisories.py"), str(tmp_path / "missing")]
    said = subprocess.run(program, cwd=tmp_path, capture_output=True, encoding="utf-8")
    assert (said.returncode, said.stderr.count("\n")) == (2, 1)
    assert said.stderr.startswith(f"error: {tmp_path / 'missing'} cannot be read")


def test_the_program_names_packages_advisories_and_fixes(tmp_path: Path) -> None:
    fixes = {"introduced": "0"}, {"fixed": "1.10"}, {"introduced": "2"}, {"fixed": "2.0.1"}
    content = [
        entry("some-package", *fixes, aliases=["CVE-2"], summary="It leaks"),
        entry("unused", {"introduced": "0"}),
    ]
    constraints = tmp_path / "constraints.txt"
    constraints.write_text("# pins\nSome_Package==1.9\nother==2\n")
    database = as_zip(tmp_path, content)
    said = run("scripts.advisories", database, constraints)
    assert said.stdout == (
        "some-package 1.9: PYSEC-1 = CVE-2 (fixed in 1.10, 2.0.1): It leaks\n"
        "1 of 2 packages are affected\n"
    )
    assert said.returncode == 1
    constraints.write_text("some-package==1.10\n")
    assert run("scripts.advisories", database, constraints).returncode == 0


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "is not valid JSON"),
        ('{"name": 3}', "is not an entry in the OSV format: it has no id"),
        ("[]", "contains no entries: check the path"),
    ],
)
def test_a_database_that_cannot_be_read_is_named(tmp_path: Path, content: str, told: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(content)
    with pytest.raises(DatabaseError, match=told):
        list(entries(path))
    with pytest.raises(DatabaseError, match="cannot be read"):
        list(entries(tmp_path / "none.json"))


def test_the_constraints_are_read_as_pins() -> None:
    assert CONSTRAINTS.name == "constraints.txt"
    assert {"numpy", "torch", "ziglang"} <= pinned().keys()
