"""What is in the execution environment that `make ee` has built, as CycloneDX: packages of the
system and of Python, and collections.

Usage: sbom.py FILE
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from cyclonedx.model import Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "lab"))
sys.path.insert(0, str(PROJECT / "tests"))

from common import LabError  # noqa: E402

from tools.ee import TAG, inside  # noqa: E402

# Each line: name, version, architecture; the distribution's name.
SYSTEM = r"""
. /etc/os-release; echo "$ID"
if command -v dpkg-query > /dev/null
then dpkg-query --show --showformat '${Package}\t${Version}\t${Architecture}\n'
else rpm --query --all --queryformat '%{NAME}\t%{VERSION}-%{RELEASE}\t%{ARCH}\n'
fi
"""
PYTHON = "python3 -m pip list --format json --disable-pip-version-check"
COLLECTIONS = "ansible-galaxy collection list --format json"
SCHEMA = SchemaVersion.V1_6


def component(kind: str, name: str, version: str, **more: str) -> Component:
    """One part, named as other tools name it."""
    url = PackageURL(kind, more.get("namespace"), name, version, more.get("qualifiers"))
    return Component(
        type=ComponentType.LIBRARY, name=name, version=version, purl=url, bom_ref=str(url)
    )


def system(text: str) -> Iterator[Component]:
    """The distribution's packages, of what SYSTEM says."""
    distribution, *rows = text.strip().splitlines()
    kind = "deb" if distribution in ("debian", "ubuntu") else "rpm"
    for row in rows:
        name, version, architecture = row.split("\t")
        yield component(
            kind, name, version, namespace=distribution, qualifiers=f"arch={architecture}"
        )


def python(text: str) -> Iterator[Component]:
    """Python's packages, of what PYTHON says."""
    for row in json.loads(text):
        yield component("pypi", re.sub(r"[-_.]+", "-", row["name"]).lower(), row["version"])


def collections(text: str) -> Iterator[Component]:
    """Ansible's collections, of what COLLECTIONS says; the first folder of one counts."""
    seen = set()
    for found in json.loads(text).values():
        for name, row in sorted(found.items()):
            if name not in seen:
                seen.add(name)
                made = component("generic", name, row["version"], namespace="ansible")
                made.properties.add(Property(name="ansible:collection", value=name))
                yield made


def document(parts: list[Component]) -> str:
    """The parts as CycloneDX.

    Raises:
        LabError: it is not as its schema has it, or a kind of part is missing.
    """
    kinds = {part.purl.type for part in parts if part.purl}
    if not {"pypi", "generic"} < kinds:
        raise LabError(f"the environment shows nothing but parts of the kinds {sorted(kinds)}")
    bom = Bom(components={part.bom_ref.value: part for part in parts}.values())
    whole = Component(type=ComponentType.CONTAINER, name=TAG, bom_ref=TAG)
    bom.metadata.component = whole
    bom.register_dependency(whole, bom.components)
    text = make_outputter(bom, OutputFormat.JSON, SCHEMA).output_as_string(indent=2)
    wrong = JsonStrictValidator(SCHEMA).validate_str(text)
    if wrong:
        raise LabError(f"what was made is no CycloneDX: {wrong}")
    return text + "\n"


def main() -> int:
    """Ask the environment, write the file."""
    path = Path(sys.argv[1])
    try:
        parts = [
            *system(inside("sh", "-c", SYSTEM)),
            *python(inside("sh", "-c", PYTHON)),
            *collections(inside("sh", "-c", COLLECTIONS)),
        ]
        text = document(parts)
    except LabError as error:
        print(f"sbom: error: {error}", file=sys.stderr)
        return 1
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    print(f"{path}: {len(parts)} parts of {TAG}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
