"""Every code block of the README and of the site runs, and every link between pages leads
somewhere.

Blocks of one page share a namespace and a temporary folder. They run on every tenth of the embedded
digits, which takes a fraction of the time.
"""

import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.utils import Bunch
from threadpoolctl import threadpool_limits

from rmgl import datasets
from rmgl.__main__ import main
from rmgl.datasets import uci_digits
from tests.declared import EXTRAS, extras_of_demo, missing_with, packages

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    *sorted(
        path
        for path in DOCS.rglob("*.md")
        if not {"_build", "built"} & set(path.relative_to(DOCS).parts)
    ),
]
SCRIPTS = sorted((DOCS / "explained").glob("*.py"))
BLOCK = re.compile(r"^```(?P<kind>python|console)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?P<file>[^)#:\s]*)(#(?P<anchor>[^)\s]*))?\)")
STEP = 10
pytestmark = pytest.mark.extended
BUILDERS = {requirement.split(">=")[0] for requirement in EXTRAS["docs"]}
"""What builds the site, and is not needed to run its code."""


def named(path):
    return str(path.relative_to(ROOT))


def blocks(path):
    return [
        (found["kind"], found["text"]) for found in BLOCK.finditer(path.read_text(encoding="utf-8"))
    ]


@pytest.fixture(scope="module")
def some(digits):
    """Every tenth digit."""
    return Bunch(
        views={name: X[::STEP] for name, X in digits.views.items()},
        target=digits.target[::STEP],
        DESCR=digits.DESCR,
    )


@pytest.fixture
def fewer_digits(some, monkeypatch, tmp_path):
    """Fewer digits in place of all, pictures without a screen, and an empty folder."""
    for module in (uci_digits, datasets):
        monkeypatch.setattr(module, "load_uci_digits", lambda: some)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)
    # on a busy machine, threads that wait for one another take many times as long
    with threadpool_limits(1):
        yield some


def run_console(text):
    """Run the commands of rmgl; pip and make are left to their users."""
    commands = [line[2:] for line in text.splitlines() if line.startswith("$ rmgl ")]
    for command in commands:
        with pytest.raises(SystemExit) as stop:
            main(shlex.split(command, comments=True)[1:])
        assert stop.value.code == 0, command


def write_example_files(data):
    """The files that the commands of the README name."""
    np.savez("views.npz", **{name: data.views[name] for name in ("fou", "zer")})
    Path("new").mkdir()
    for place, rows in (("", range(150)), ("new/", range(150, 160))):
        for name, view in (("rna", "fou"), ("protein", "zer")):
            lines = [
                f"cell {row}," + ",".join(map(repr, data.views[view][row].tolist())) for row in rows
            ]
            head = "cell," + ",".join(
                f"{name} {column}" for column in range(data.views[view].shape[1])
            )
            Path(f"{place}{name}.csv").write_text("\n".join([head, *lines]) + "\n")
    genes = [
        f"p{row}," + ",".join(map(repr, data.views["kar"][row].tolist())) for row in range(100)
    ]
    Path("genes.csv").write_text(
        "\n".join(["patient," + ",".join(f"gene {at}" for at in range(64)), *genes]) + "\n"
    )
    clinical = [f"p{row},{'FM'[row % 2]},{'' if row == 7 else 30 + row % 40}" for row in range(100)]
    Path("clinical.csv").write_text("\n".join(["patient,sex,age", *clinical]) + "\n")
    words = [
        f"paper {row}," + ",".join(map(repr, data.views["pix"][row].tolist())) for row in range(150)
    ]
    Path("words.csv").write_text(
        "\n".join(["paper," + ",".join(f"word {at}" for at in range(240)), *words]) + "\n"
    )
    Path("citations.csv").write_text(
        "".join(
            f"paper {row},paper {(row + step) % 150}\n" for row in range(150) for step in (1, 15)
        )
    )


@pytest.mark.parametrize("path", [path for path in PAGES if blocks(path)], ids=named)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_code_blocks_of_a_page_run(path, fewer_digits, capsys, monkeypatch):
    """What the README shows runs in the environment that `make demo` makes, and the pages of the
    site in that of `make docs`.
    """
    extras = extras_of_demo() if path.name == "README.md" else ["docs"]
    for package in {package for extra in extras for package in packages(extra)} - BUILDERS:
        pytest.importorskip(package)
    # pandas may use pyarrow, if it was there when pandas was imported
    for package in missing_with(*extras, "tables"):
        monkeypatch.setitem(sys.modules, package, None)
    if path.name == "README.md":
        write_example_files(fewer_digits)
    namespace = {"__name__": "__main__"}
    for kind, text in blocks(path):
        if kind == "console":
            run_console(text)
        else:
            exec(compile(text, named(path), "exec"), namespace)


@pytest.mark.parametrize("path", SCRIPTS, ids=named)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_script_of_the_site_runs(path, fewer_digits, capsys):
    plt = pytest.importorskip("matplotlib.pyplot")
    exec(compile(path.read_text(encoding="utf-8"), named(path), "exec"), {"__name__": "__main__"})
    plt.close("all")


def source_of(path):
    """What a page that the build makes is made of."""
    parts = path.relative_to(DOCS).parts if path.is_relative_to(DOCS) else ()
    if parts[:1] != ("built",):
        return path
    if parts[1] == "notebooks":
        return ROOT / "examples" / "notebooks" / path.name
    folder = ROOT / "examples" if parts[1] == "gallery" else DOCS / "explained"
    return folder / ("GALLERY_HEADER.txt" if path.stem == "index" else f"{path.stem}.py")


def anchors(path):
    """The anchors of the headings of a page, as GitHub and the site make them."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(
    "path",
    [
        *PAGES,
        *(
            ROOT / f"{name}.md"
            for name in (
                "CONTRIBUTING",
                "CHANGELOG",
                "ARCHITECTURE",
                "SECURITY",
                "CODE_OF_CONDUCT",
                "RELEASING",
            )
        ),
    ],
    ids=named,
)
def test_links_between_pages_lead_somewhere(path):
    for found in LINK.finditer(path.read_text(encoding="utf-8")):
        target = source_of((path.parent / found["file"]).resolve()) if found["file"] else path
        assert target.exists(), f"{found['file']} does not exist"
        if found["anchor"]:
            assert found["anchor"] in anchors(target), (
                f"{found['file']} has no heading #{found['anchor']}"
            )


def test_every_page_is_in_a_table_of_contents():
    """Sphinx would warn; this notices it without a build."""
    listed = set()
    for path in PAGES[1:]:
        for table in re.findall(
            r"```\{toctree\}\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL
        ):
            for line in table.splitlines():
                entry = re.sub(r".*<(.*)>", r"\1", line.strip())
                if entry and not entry.startswith(":"):
                    target = (path.parent / entry).resolve()
                    page = target.with_name(f"{target.name}.md")
                    listed.add(page)
                    assert page.exists() or source_of(target).exists(), (
                        f"{named(path)} lists {entry}, which does not exist"
                    )
    assert {named(path) for path in PAGES[1:] if path not in listed} == {"docs/index.md"}
