"""pyproject.toml says what is needed and why, constraints.txt which version, environment.yml the same for conda."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import axenat

ROOT = Path(__file__).parents[1]
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
PROJECT = tomllib.loads(PYPROJECT)["project"]
EXTRAS = [name for extra in PROJECT["optional-dependencies"].values() for name in extra]
CONSTRAINTS = [
    line
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    if line.strip() and not line.startswith("#")
]
ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
PIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([0-9][A-Za-z0-9.!]*)")


def normal(name: str) -> str:
    """One spelling of a package: types-PyYAML and types_pyyaml are the same."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(lines: list[str]) -> dict[str, str]:
    matches = [PIN.fullmatch(line) for line in lines]
    return {normal(match[1]): match[2] for match in matches if match}


def pip_section() -> list[str]:
    return next(item["pip"] for item in ENVIRONMENT["dependencies"] if isinstance(item, dict))


@pytest.mark.parametrize("line", CONSTRAINTS)
def test_a_constraint_is_one_exact_version_and_names_no_place(line: str) -> None:
    # No URL, no file, no local build such as 2.13.0+cpu: each machine finds its own.
    assert PIN.fullmatch(line)


def test_no_package_is_constrained_twice() -> None:
    assert len(pins(CONSTRAINTS)) == len(CONSTRAINTS)


@pytest.mark.parametrize("name", PROJECT["dependencies"] + EXTRAS)
def test_every_dependency_is_a_plain_name_pinned_in_constraints(name: str) -> None:
    package, *systems = name.split("; ")
    assert normal(package) in pins(CONSTRAINTS)
    assert systems in ([], ["platform_system == 'Linux'"])


def test_torch_is_the_version_that_the_numbers_were_made_with() -> None:
    assert pins(CONSTRAINTS)["torch"] == "2.13.0"


def test_environment_has_the_same_packages_in_the_same_versions() -> None:
    constraints = pins(CONSTRAINTS)
    needed = {normal(name): constraints[normal(name)] for name in PROJECT["dependencies"]}
    assert pins(pip_section()) == needed
    assert len(pip_section()) == len(needed)


def test_environment_has_the_python_of_the_project() -> None:
    lowest = PROJECT["requires-python"].removeprefix(">=")
    assert f"python={lowest}" in ENVIRONMENT["dependencies"]


def test_environment_works_as_a_copy_elsewhere() -> None:
    # Snakemake copies it to .snakemake/conda, so an option or a relative path would point to nothing there.
    assert all(PIN.fullmatch(line) for line in pip_section())


def test_every_dependency_says_why_it_is_needed() -> None:
    for name in PROJECT["dependencies"] + EXTRAS:
        assert re.search(rf'^ +"{re.escape(name)}", +# \w.+$', PYPROJECT, re.MULTILINE), name


def test_one_version_in_package_citation_and_changelog() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    newest = re.search(r"^## \[(\d[^\]]*)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest and citation["version"] == newest[1] == axenat.__version__


def test_one_licence_in_package_citation_and_text() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert citation["license"] == PROJECT["license"] == "Apache-2.0"
    assert "Apache License" in text and "Version 2.0" in text
