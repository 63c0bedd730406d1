"""The workflows use pinned actions and targets that exist, and test what pyproject.toml promises."""

import re

import pytest

from tests.declared import ROOT

yaml = pytest.importorskip("yaml")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PINNED = re.compile(r"[\w-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


def parsed(name):
    return yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_digest_and_name_their_version(path):
    used = re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))
    assert used
    assert [action for action in used if not PINNED.fullmatch(action)] == []


def test_one_action_has_one_digest():
    text = "".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)
    pins = set(re.findall(r"uses: (\S+?)@(.*)", text))
    assert len(pins) == len({action for action, _ in pins})


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_jobs_may_read_and_nothing_else_unless_they_say_so(path):
    assert yaml.safe_load(path.read_text(encoding="utf-8"))["permissions"] == {"contents": "read"}


def test_only_the_job_that_publishes_gets_a_token_of_pypi():
    jobs = parsed("release.yml")["jobs"]
    assert {name: job.get("permissions") for name, job in jobs.items()} == {
        "build": None,
        "publish": {"id-token": "write"},
        "attach": {"contents": "write"},
    }
    assert "build" in jobs["publish"]["needs"]


def test_targets_exist():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    jobs = parsed("ci.yml")["jobs"]["make"]["strategy"]["matrix"]["include"]
    called = {job["target"] for job in jobs}
    assert called == {"test-all", "lint", "docs", "test-lowest", "release-check"}
    assert called <= targets


def test_every_system_and_version_of_python_is_tested():
    matrix = parsed("ci.yml")["jobs"]["test"]["strategy"]["matrix"]
    assert matrix == {
        "system": ["ubuntu-latest", "macos-latest", "windows-latest"],
        "python": ["3.11", "3.12", "3.13", "3.14"],
    }
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.findall(r"Python :: (3\.\d+)", text) == matrix["python"]
    assert 'requires-python = ">=3.11"' in text
