"""Checks that a release must pass: `make release-check`.

Builds the source archive, and the wheel from it; checks that both contain what they should and that
the version is the same everywhere; installs the wheel into an empty environment and runs the
self-test (`rmgl doctor`) and the demo from it, first without optional dependencies, then with plots
and the report page. The packages are left in `dist`. Nothing is uploaded.

    make release-check                          # before a release
    make release-check RELEASE='--tag v1.0.0'   # at the tag: also checks its name and the date
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
IN_WHEEL = {
    "rmgl/__init__.py",
    "rmgl/py.typed",
    "rmgl/datasets/data/uci_digits.npz",
    "rmgl/page/files/page.html",
    "rmgl/page/files/page.css",
    "rmgl/page/files/page.js",
}
IN_SOURCES = {
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "CITATION.cff",
    "src/rmgl/py.typed",
    "tests/conftest.py",
}
LEAST_NMI = 0.945  # minimum for the demo


def build() -> tuple[Path, Path]:
    """Build the source archive, and the wheel from it."""
    shutil.rmtree(DIST, ignore_errors=True)
    subprocess.run(
        [sys.executable, "-m", "build", "--outdir", DIST, ROOT],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    (sources,), (wheel,) = DIST.glob("*.tar.gz"), DIST.glob("*.whl")
    return sources, wheel


def check_contents(sources: Path, wheel: Path) -> str:
    """Check that both packages contain what users need, and no compiled or stray files. Return the
    version in their names.
    """
    version = wheel.name.split("-")[1]
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        expect(not IN_WHEEL - {*names}, f"{wheel.name} lacks {sorted(IN_WHEEL - {*names})}")
        strange = [
            name
            for name in names
            if not name.startswith(("rmgl/", f"rmgl-{version}.dist-info/")) or "__pycache__" in name
        ]
        expect(not strange, f"{wheel.name} contains unexpected files: {strange}")
        expect(any(name.endswith("/LICENSE") for name in names), f"{wheel.name} lacks the license")
        about = archive.read(f"rmgl-{version}.dist-info/METADATA").decode()
        relative = re.findall(r"\]\((?!https://)[^)]*\)", about)
        expect(not relative, f"the page on PyPI has links that lead nowhere: {relative}")
    with tarfile.open(sources) as archive:
        found = {name.partition("/")[2] for name in archive.getnames()}
        expect(not IN_SOURCES - found, f"{sources.name} lacks {sorted(IN_SOURCES - found)}")
        compiled = sorted(name for name in found if name.endswith((".pyc", ".nbi", ".nbc")))
        expect(not compiled, f"{sources.name} contains compiled files: {compiled}")
    return version


def check_version(version: str, tag: str | None) -> None:
    """Check that CITATION.cff, CHANGELOG.md and any tag name the version that was built."""
    expect(tag in (None, f"v{version}"), f"the tag is {tag}, but the version is {version}")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    expect(f"\nversion: {version}\n" in citation, f"CITATION.cff does not say version: {version}")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    headings = [line for line in changes if line.startswith(f"## {version} ")]
    expect(len(headings) == 1, f"CHANGELOG.md has no heading '## {version} (date)'")
    if "unreleased" in headings[0]:
        expect(tag is None, f"CHANGELOG.md says '{headings[0]}': add the date before tagging")
        print(f"note: CHANGELOG.md says '{headings[0]}'; add the date before the release")


def check_demo(wheel: Path, folder: Path) -> None:
    """Run the self-test and the demo from the installed wheel in a separate folder, so that nothing
    is imported from the repository.
    """
    venv.create(folder / "empty", with_pip=True)
    programs = folder / "empty" / ("Scripts" if os.name == "nt" else "bin")
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    }

    def run(*command: str | Path) -> str:
        done = subprocess.run(
            command, cwd=folder, env=environment, check=False, stdout=subprocess.PIPE, text=True
        )
        said = " ".join(str(part) for part in command[:4])
        expect(done.returncode == 0, f"{said} exited with {done.returncode}:\n{done.stdout}")
        return done.stdout

    def install(what: str | Path) -> None:
        run(
            programs / "python",
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            what,
        )

    install(wheel)
    where = Path(run(programs / "python", "-c", "import rmgl; print(rmgl.__file__)").strip())
    expect(where.is_relative_to(folder), f"rmgl was imported from {where}, not from the wheel")
    expect(
        run(programs / "rmgl", "--version").split()[-1] == wheel.name.split("-")[1],
        "rmgl --version does not print the version of the wheel",
    )
    print(run(programs / "rmgl", "doctor"), end="")
    drawn = {"embedding.png", "layers.png", "report.html"}
    for extra, pictures in (("", set()), ("[plot,report]", drawn)):
        if extra:
            install(f"{wheel}{extra}")
        output = folder / f"demo{extra}"
        told = run(programs / "rmgl", "demo", "--output", output)
        print(told, end="")
        scores = [float(line.split()[1]) for line in told.splitlines() if line.startswith("NMI")]
        expect(scores[0] >= LEAST_NMI, f"the demo reached an NMI of {scores[0]}, below {LEAST_NMI}")
        expect(
            json.loads((output / "summary.json").read_text(encoding="utf-8"))["n_rows"] == 2000,
            "the demo did not cluster 2000 rows",
        )
        written = {path.name for path in output.iterdir() if path.suffix in (".png", ".html")}
        expect(
            pictures <= written and bool(pictures) == bool(written),
            f"rmgl{extra} drew {sorted(written)}, not {sorted(pictures)}",
        )


def expect(condition: bool, problem: str) -> None:
    if not condition:
        sys.exit(f"release check failed: {problem}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the packages and test the wheel.")
    parser.add_argument("--tag", help="the tag to release, such as v1.0.0")
    tag = parser.parse_args().tag
    sources, wheel = build()
    version = check_contents(sources, wheel)
    check_version(version, tag)
    with tempfile.TemporaryDirectory(prefix="rmgl-release-") as folder:
        check_demo(wheel, Path(folder).resolve())
    print(f"rmgl {version} is ready: {sources.relative_to(ROOT)}, {wheel.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
