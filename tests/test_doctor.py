"""`rmgl doctor` describes an installation, also a broken one, and notices wrong results."""

import re
from importlib import metadata
from pathlib import Path

import pytest

import rmgl
from rmgl.command_line import doctor
from rmgl.layer import Layer
from tests.commands import run
from tests.declared import EXTRAS, FOR_DEVELOPERS
from tests.processes import python


def test_a_sound_installation_passes(capsys):
    assert run("doctor") == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"rmgl {rmgl.__version__}, ")
    described, tested = printed.split("\nSelf-test\n")
    for title in doctor.SECTIONS:
        assert f"\n{title}\n" in described
    assert re.findall(r"^  (ok|FAILED) +(.*?) \(", tested, re.MULTILINE) == [
        ("ok", name) for name in doctor.CHECKS
    ]
    assert "\n  unknown: " not in described


def test_the_self_test_can_be_left_out(capsys, monkeypatch):
    monkeypatch.setattr(doctor, "CHECKS", {"never": lambda: 1 / 0})
    assert run("doctor", "--no-test") == 0
    assert "Self-test" not in capsys.readouterr().out


def test_optional_packages_are_those_of_the_extras_of_users():
    listed = {line.split()[0] for line in doctor.optional()}
    declared = {
        re.match(r"[\w-]+", requirement)[0]
        for extra in EXTRAS.keys() - FOR_DEVELOPERS
        for requirement in EXTRAS[extra]
    }
    assert listed == declared
    assert [line.split()[1] for line in doctor.required() if line.startswith("numpy ")] == [
        metadata.version("numpy")
    ]


def test_a_package_that_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(metadata, "requires", lambda name: ['nosuch>=1; extra == "plot"'])
    assert list(doctor.optional()) == ["nosuch           not installed    (plot)"]


def test_a_section_that_fails_says_so_and_the_others_follow(monkeypatch):
    def broken():
        raise OSError("no\nsuch file")
        yield

    monkeypatch.setattr(doctor, "SECTIONS", {"Threads": broken, "Memory": doctor.memory})
    lines = list(doctor.description())
    assert lines[2:6] == ["", "Threads", "  unknown: OSError: no such file", ""]
    assert lines[7].startswith("  available ")


def test_a_wrong_result_fails_with_exit_code_one(capsys, monkeypatch):
    monkeypatch.setattr(Layer, "gap", property(lambda self: 0.5))
    monkeypatch.setattr(doctor, "CHECKS", {"layer": doctor.one_layer, "other": lambda: "fine"})
    assert run("doctor") == 1
    first, second = capsys.readouterr().out.splitlines()[-2:]
    assert first.startswith("  FAILED layer (")
    assert first.endswith("RuntimeError: relative gap 5.0e-01")
    assert second.startswith("  ok     other (")


def test_it_loads_nothing_that_may_be_broken():
    found = python(
        """
        import sys
        import rmgl.command_line.doctor
        print(sorted({"numpy", "scipy", "sklearn", "numba", "pandas"} & set(sys.modules)))
        """
    )
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("place", ["", "made/later"])
def test_whether_a_folder_can_be_written(place, tmp_path, monkeypatch):
    assert doctor.can_write(tmp_path / place)
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != tmp_path)
    assert not doctor.can_write(tmp_path / place)


def test_paths_do_not_name_the_user():
    assert doctor.short(Path.home() / "cache") == str(Path("~") / "cache")
