"""What the package promises to those who install it, held against what its documents say."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

import minisgl_tutor

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
README_ZH = ROOT / "README.zh.md"
COMMAND = re.compile(r"^```sh\n(.+)\n```$", re.MULTILINE)
IN_A_TABLE = re.compile(r"^\| `minisgl-tutor (\w+)[^`]*` \|", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#:]+)\)")


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return table


def test_the_installed_version_is_the_one_of_the_package() -> None:
    assert version("minisgl-tutor") == minisgl_tutor.__version__


def test_the_light_install_asks_for_nothing_heavy(project: dict[str, Any]) -> None:
    light = {Requirement(line).name for line in project["dependencies"]}
    engine = {Requirement(line).name for line in project["optional-dependencies"]["engine"]}
    assert {"torch", "transformers"} <= engine
    assert not light & engine


def test_what_is_pinned_is_what_an_extra_takes(project: dict[str, Any]) -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
    assert "torch==2.13.0" in map(str, pins)
    extras = project["optional-dependencies"]
    for pin in pins:
        (clause,) = pin.specifier
        asked = {req.name: req for req in map(Requirement, extras["engine"] + extras["docs"])}
        assert asked[pin.name].specifier.contains(clause.version), str(pin)


def test_every_requirement_states_the_lowest_version_and_no_highest(project: dict[str, Any]) -> None:
    for group in (project["dependencies"], *project["optional-dependencies"].values()):
        for requirement in map(Requirement, group):
            if requirement.name != project["name"]:
                assert [clause.operator for clause in requirement.specifier] == [">="], str(requirement)


def test_the_first_command_ends_with_the_trace_and_the_second_with_the_tests(project: dict[str, Any]) -> None:
    first, second, third, fourth = COMMAND.findall(README.read_text(encoding="utf-8"))
    set_up = "python3 -m venv .venv && .venv/bin/pip install -c constraints.txt -e "
    assert first == set_up + ". && .venv/bin/minisgl-tutor trace --chapter 5"
    assert second.startswith(set_up)
    assert second.endswith(" && .venv/bin/python -m pytest")
    (extras,) = re.findall(r"'\.\[(.+)\]'", second)
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    assert third == ".venv/bin/minisgl-tutor serve"
    assert fourth.startswith(".venv/bin/minisgl-tutor chat ")


def test_both_languages_give_the_same_commands() -> None:
    english, chinese = (path.read_text(encoding="utf-8") for path in (README, README_ZH))
    in_english = [command.removesuffix(" --lang zh") for command in COMMAND.findall(chinese)]
    assert COMMAND.findall(english) == in_english
    assert IN_A_TABLE.findall(english) == IN_A_TABLE.findall(chinese)


def test_the_readme_lists_the_commands_that_exist() -> None:
    from typer.main import get_command

    from minisgl_tutor.cli.main import app

    listed = IN_A_TABLE.findall(README.read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(get_command(app).commands)  # type: ignore[attr-defined]


@pytest.mark.parametrize("document", sorted(ROOT.glob("*.md")), ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    links = LINK.findall(document.read_text(encoding="utf-8"))
    assert links
    assert not [link for link in links if not (ROOT / link).exists()]
