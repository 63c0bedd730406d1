"""What is published says the same everywhere: the version, the commands, the extras."""

import re
import tomllib

import pytest

import rmgl
from rmgl.command_line.cli import cli
from tests.declared import EXTRAS, FOR_DEVELOPERS, ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def text_of(*parts):
    return ROOT.joinpath(*parts).read_text(encoding="utf-8")


def test_the_build_reads_the_version_of_the_package():
    assert "version" not in PROJECT["project"]
    assert PROJECT["project"]["dynamic"] == ["version", "readme"]
    source = text_of(PROJECT["tool"]["hatch"]["version"]["path"])
    assert re.findall(r'^__version__ = "(.*)"$', source, re.MULTILINE) == [rmgl.__version__]


def test_the_citation_names_the_version():
    assert re.findall(r"^version: (.*)$", text_of("CITATION.cff"), re.MULTILINE) == [
        rmgl.__version__
    ]


def test_the_newest_heading_of_the_changelog_is_the_version():
    first = re.search(r"^## (\S+) \((unreleased|\d{4}-\d\d-\d\d)\)$", text_of("CHANGELOG.md"), re.M)
    assert first is not None
    assert first.start() == text_of("CHANGELOG.md").index("## ")
    assert first[1] == rmgl.__version__


def test_every_command_is_listed():
    listed = text_of("docs", "api.md").split("## Command line\n")[1]
    assert set(re.findall(r"`rmgl (\w+)`", listed)) == set(cli.commands)


def test_the_page_about_the_installation_lists_what_is_installed():
    page = text_of("docs", "install.md")
    table = [row for row in page.splitlines() if row.startswith("| `")]
    named = {extra for row in table for extra in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert named == EXTRAS.keys() - FOR_DEVELOPERS
    required = re.search(r"The package depends on (.*?)\. pip installs", page, re.DOTALL)[1]
    names = {name.strip().lower() for name in re.split(r",| and ", required)}
    declared = {re.match(r"[\w-]+", one)[0] for one in PROJECT["project"]["dependencies"]}
    assert names == declared


def test_the_conda_recipe_has_the_version_and_the_dependencies_of_the_package():
    yaml = pytest.importorskip("yaml")
    recipe = yaml.safe_load(text_of("recipe", "recipe.yaml"))
    assert recipe["context"]["version"] == rmgl.__version__
    assert PROJECT["project"]["requires-python"] == f">={recipe['context']['python_min']}"
    run = [line.replace(" ", "") for line in recipe["requirements"]["run"] if "python " not in line]
    assert run == PROJECT["project"]["dependencies"]
    name, entry = next(iter(PROJECT["project"]["scripts"].items()))
    assert recipe["build"]["python"]["entry_points"] == [f"{name} = {entry}"]
    assert recipe["about"]["license"] == PROJECT["project"]["license"]
    assert recipe["about"]["homepage"] == PROJECT["project"]["urls"]["Homepage"]
