"""Write the software bill of materials: what an installation of yakusu with its extras consists of.

    python -m scripts.sbom > yakusu.cdx.json     CycloneDX 1.6, JSON
    python -m scripts.sbom --licences            table of the licences that are not permissive
    python -m scripts.sbom --record [REPORT...]  renew scripts/packages.json

The bill follows from constraints.txt, pyproject.toml and scripts/packages.json only: equal files
give equal bytes on any machine, because it contains neither the time nor a random serial number.

packages.json holds the licence of each package, as its metadata declares it, and what it requires
on Linux with Python 3.11. It is renewed after constraints.txt, from the installed packages, and for
others from reports of `pip install --dry-run --ignore-installed --report REPORT PACKAGE...`.
"""

import argparse
import json
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
CONSTRAINTS, PACKAGES = ROOT / "constraints.txt", ROOT / "scripts" / "packages.json"
BASE = "yakusu"  # what is installed without an extra
BUILD = "build"  # what builds wheels
UNDECLARED = "none declared"
_PLATFORM = {
    "implementation_name": "cpython",
    "os_name": "posix",
    "platform_machine": "x86_64",
    "platform_python_implementation": "CPython",
    "platform_system": "Linux",
    "python_full_version": "3.11.0",
    "python_version": "3.11",
    "sys_platform": "linux",
}
_CUDA = ("nvidia-", "cuda-", "triton")  # required by torch's build for CUDA only
_NAMED = {  # licences that metadata names in other words than SPDX
    "Apache 2.0": "Apache-2.0",
    "Apache 2.0 License": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
_PERMISSIVE = re.compile(
    r"(0BSD|Apache-2\.0( WITH LLVM-exception)?|BSD-[23]-Clause|BSL-1\.0|CC0-1\.0|CNRI-Python|ISC|"
    r"MIT(-CMU)?|PSF-2\.0|Zlib|BSD License|3-Clause BSD License|Python Software Foundation License)"
)


@dataclass(frozen=True)
class Component:
    """A package of the bill.

    Attributes:
        name: Canonical name.
        version: Pinned version; None: not pinned.
        licence: SPDX expression, or the words of its metadata, or `UNDECLARED`.
        extras: What it belongs to: extras, `BASE` or `BUILD`.
        requires: Names of the packages that it requires itself.
    """

    name: str
    version: str | None
    licence: str
    extras: tuple[str, ...]
    requires: tuple[str, ...]

    @property
    def purl(self) -> str:
        """Its package URL."""
        return f"pkg:pypi/{self.name}" + (f"@{self.version}" if self.version else "")

    def as_json(self) -> dict[str, Any]:
        """Return it as CycloneDX describes a component."""
        licences = {} if self.licence == UNDECLARED else {"licenses": [_licence(self.licence)]}
        return {
            "type": "library",
            "bom-ref": self.purl,
            "name": self.name,
            **({"version": self.version} if self.version else {}),
            "scope": "required" if BASE in self.extras else "optional",
            **licences,
            "purl": self.purl,
            "properties": [{"name": "yakusu:extra", "value": extra} for extra in self.extras],
        }


def pinned(constraints: Path = CONSTRAINTS) -> dict[str, str]:
    """Return the version of each package of constraints.txt, by its canonical name."""
    lines = constraints.read_text(encoding="utf-8").splitlines()
    pins = [line.partition("==") for line in lines if not line.startswith("#")]
    return {canonicalize_name(name): version.strip() for name, _, version in pins if version}


def components(pins: Mapping[str, str], packages: Mapping[str, Any]) -> list[Component]:
    """Return all packages of the bill, sorted by name.

    Args:
        pins: Versions by name.
        packages: Content of packages.json.
    """
    members = {extra: set(_closure(wanted, packages)) for extra, wanted in _wanted().items()}
    names = {name.partition("[")[0] for each in members.values() for name in each} | {*pins}
    return [
        Component(
            name,
            version=pins.get(name),
            licence=packages[name]["licence"],
            extras=tuple(extra for extra in sorted(members) if name in members[extra]),
            requires=tuple(sorted({*_required(name, packages)} & names)),
        )
        for name in sorted(names)
    ]


def bill(found: Iterable[Component]) -> dict[str, Any]:
    """Return the bill of materials in CycloneDX 1.6."""
    found = list(found)
    of_name = {each.name: each.purl for each in found}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    source = (ROOT / "src" / "yakusu" / "version.py").read_text(encoding="utf-8")
    version = re.search(r'^__version__ = "(.+)"$', source, re.MULTILINE)
    assert version
    own = f"pkg:pypi/yakusu@{version[1]}"
    direct = {*_nodes(project["dependencies"])} & of_name.keys()
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": own,
                "name": "yakusu",
                "version": version[1],
                "licenses": [_licence(project["license"])],
                "purl": own,
            }
        },
        "components": [each.as_json() for each in found],
        "dependencies": [
            {"ref": own, "dependsOn": [of_name[name] for name in sorted(direct)]},
            *(
                {"ref": each.purl, "dependsOn": [of_name[name] for name in each.requires]}
                for each in found
            ),
        ],
    }


def restricted(found: Iterable[Component]) -> list[str]:
    """Return a Markdown table of the packages whose licence is not permissive.

    Of the extras, it lists the smallest: an extra that includes another one is left out. Packages
    that only developers install are left out, too.
    """
    within = _included()
    rows: dict[tuple[str, str], list[str]] = {}
    for each in found:
        extras = {*each.extras} - {"dev", "docs", BUILD}
        if extras and not is_permissive(each.licence):
            smallest = [extra for extra in sorted(extras) if not within.get(extra, set()) & extras]
            named = ", ".join(f"`{extra}`" for extra in smallest if extra != BASE)
            where = "all installations" if BASE in extras else named
            rows.setdefault((each.licence, where), []).append(f"`{each.name}`")
    lines = [f"| {', '.join(names)} | {licence} | {x} |" for (licence, x), names in rows.items()]
    return ["| packages | licence | extra |", "| --- | --- | --- |", *lines]


def is_permissive(licence: str) -> bool:
    """Return whether a licence, or one that may be chosen, is permissive."""
    return any(
        all(_PERMISSIVE.fullmatch(part) for part in re.split(r" AND |[()]+", choice) if part)
        for choice in _choices(licence)
    )


def _choices(licence: str) -> Iterator[str]:
    """Yield the licences among which one may choose: "A AND (B OR C)" -> "A AND B", "A AND C"."""
    inner = re.search(r"\(([^()]*)\)", licence)
    if inner and " OR " in inner[1]:
        for part in inner[1].split(" OR "):
            yield from _choices(licence[: inner.start()] + part + licence[inner.end() :])
    else:
        yield from licence.split(" OR ")


def _licence(licence: str) -> dict[str, Any]:
    try:
        canonicalize_license_expression(licence)
    except InvalidLicenseExpression:
        return {"license": {"name": licence, "acknowledgement": "declared"}}
    if " " in licence or licence.startswith("LicenseRef-"):
        return {"expression": licence, "acknowledgement": "declared"}
    return {"license": {"id": licence, "acknowledgement": "declared"}}


# ---- what requires what --------------------------------------------------------------------------


def _wanted() -> dict[str, list[str]]:
    """Return the requirements of each extra, of the base and of building."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = pyproject["project"]
    base, extras = project["dependencies"], project["optional-dependencies"]
    build = [*pyproject["build-system"]["requires"], "ziglang"]  # see hatch_build.py

    def own(requirements: Iterable[str]) -> Iterator[str]:
        for each in requirements:
            requirement = Requirement(each)
            if requirement.name == "yakusu":
                for extra in sorted(requirement.extras):
                    yield from own(extras[extra])
            else:
                yield each

    return {BASE: base, BUILD: build} | {name: [*own(needs)] for name, needs in extras.items()}


def _included() -> dict[str, set[str]]:
    """Return the extras that each extra includes."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = pyproject["project"]["optional-dependencies"]

    def inner(name: str) -> Iterator[str]:
        for requirement in map(Requirement, extras[name]):
            if requirement.name == "yakusu":
                for extra in requirement.extras:
                    yield extra
                    yield from inner(extra)

    return {name: {*inner(name)} for name in extras}


def _nodes(requirements: Iterable[str]) -> Iterator[str]:
    """Yield the keys in packages.json of requirements: names, and names with an extra."""
    for requirement in map(Requirement, requirements):
        if requirement.marker and not requirement.marker.evaluate({**_PLATFORM, "extra": ""}):
            continue
        name = canonicalize_name(requirement.name)
        yield name
        yield from (f"{name}[{extra}]" for extra in sorted(requirement.extras))


def _required(node: str, packages: Mapping[str, Any]) -> Iterator[str]:
    yield from packages.get(node, {}).get("requires", ())
    if node == "torch":
        yield from (name for name in packages if name.startswith(_CUDA))


def _closure(requirements: Iterable[str], packages: Mapping[str, Any]) -> Iterator[str]:
    """Yield all keys in packages.json that requirements need."""
    waiting, seen = [*_nodes(requirements)], set[str]()
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            yield node
            waiting.extend(_required(node, packages))


# ---- renewing packages.json ----------------------------------------------------------------------


@dataclass(frozen=True)
class Metadata:
    """What the metadata of a package says."""

    name: str
    expression: str
    text: str  # of the older field License, which may hold a whole licence
    classifiers: tuple[str, ...]
    requires: tuple[str, ...]

    @property
    def licence(self) -> str:
        """Its licence: SPDX if possible, or else in its own words."""
        text = self.text.strip()
        named = [each.rpartition(" :: ")[2] for each in self.classifiers]
        words = [] if "\n" in text or text == "UNKNOWN" else [text]
        for each in (self.expression, *words, ", ".join(named)):
            try:
                return canonicalize_license_expression(_NAMED.get(each, each))
            except InvalidLicenseExpression:
                continue
        return ", ".join(named) or next(filter(None, words), UNDECLARED)

    def requires_with(self, extra: str) -> list[str]:
        """Return the keys of what it requires with one of its extras, or "" without."""
        chosen = [
            each
            for each in self.requires
            if (marker := Requirement(each).marker) is None
            or marker.evaluate({**_PLATFORM, "extra": extra})
        ]
        return sorted({*_nodes(each.partition(";")[0] for each in chosen)})


def installed() -> dict[str, Metadata]:
    """Return the metadata of the installed packages, by their canonical names."""
    found: dict[str, Metadata] = {}
    for each in distributions():
        fields = each.metadata
        expression, text = (
            (fields.get_all(field) or [""])[0] for field in ("License-Expression", "License")
        )
        found[canonicalize_name(fields["Name"])] = Metadata(
            canonicalize_name(fields["Name"]),
            expression=expression,
            text=text,
            classifiers=_licences(fields.get_all("Classifier") or ()),
            requires=tuple(each.requires or ()),
        )
    return found


def _reported(report: Path) -> dict[str, Metadata]:
    """Return the metadata of a report of `pip install --report`."""
    all_ = [each["metadata"] for each in json.loads(report.read_text(encoding="utf-8"))["install"]]
    return {
        canonicalize_name(fields["name"]): Metadata(
            canonicalize_name(fields["name"]),
            expression=fields.get("license_expression") or "",
            text=fields.get("license") or "",
            classifiers=_licences(fields.get("classifier") or ()),
            requires=tuple(fields.get("requires_dist") or ()),
        )
        for fields in all_
    }


def _licences(classifiers: Iterable[str]) -> tuple[str, ...]:
    return tuple(each for each in classifiers if each.startswith("License :: "))


def recorded(known: Mapping[str, Metadata], old: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of packages.json for all pinned packages and all extras.

    Args:
        known: Metadata by canonical name.
        old: The present content, for packages whose metadata is not known.
    """
    waiting = [*pinned(), *(node for wanted in _wanted().values() for node in _nodes(wanted))]
    found: dict[str, Any] = {}
    while waiting:
        node = waiting.pop()
        name, _, extra = node.rstrip("]").partition("[")
        if node in found:
            continue
        if metadata := known.get(name):
            licence = {} if extra else {"licence": metadata.licence}
            base = metadata.requires_with("") if extra else []
            requires = [each for each in metadata.requires_with(extra) if each not in base]
            found[node] = {**licence, "requires": requires}
        elif node in old:
            found[node] = old[node]
        else:
            sys.exit(f"the metadata of {name} is not known: pass a report of pip that contains it")
        waiting.extend(found[node]["requires"])
    return dict(sorted(found.items()))


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--licences", action="store_true", help="print the table of licences")
    parser.add_argument("--record", nargs="*", metavar="REPORT", help="renew packages.json")
    args = parser.parse_args()
    packages = json.loads(PACKAGES.read_text(encoding="utf-8")) if PACKAGES.exists() else {}
    if args.record is not None:
        known = {key: each for path in args.record for key, each in _reported(Path(path)).items()}
        lines = [
            f"{json.dumps(key)}: {json.dumps(each)}"
            for key, each in recorded(known | installed(), packages).items()
        ]
        PACKAGES.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        return
    found = components(pinned(), packages)
    if args.licences:
        text = "\n".join(restricted(found)) + "\n"
    else:
        text = json.dumps(bill(found), indent=2) + "\n"
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
