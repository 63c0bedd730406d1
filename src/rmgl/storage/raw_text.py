"""Text of files that may be compressed, in any common encoding."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from rmgl.archive.array_file import WAY_OUT
from rmgl.running.memory import require_memory

BLOCK = 1 << 22
MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
"""The first bytes of files that state their encoding."""
NOT_TEXT = bytes([*range(9), 11, 12, *range(14, 32), 127])
"""Control characters, which no text file holds; tabs and ends of lines are not among them."""
NOT_ASCII = bytes(range(128, 256))
MOSTLY_ASCII = 0.7
COMPRESSED = (".gz", ".bz2", ".xz", ".zip")


def kind_of(path: Path) -> str:
    """The suffix that says what a file holds, in lower case, without that of its compression.

    Examples
    --------
    >>> kind_of(Path("Data.CSV.gz")), kind_of(Path("x.npy"))
    ('.csv', '.npy')
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return suffixes[-2] if len(suffixes) > 1 and suffixes[-1] in COMPRESSED else suffixes[-1] if suffixes else ""


def view_name(path: Path) -> str:
    """The name of a file without its suffix and that of its compression."""
    name = path.stem if path.suffix.lower() in COMPRESSED else path.name
    return Path(name).stem


def read_bytes(path: Path) -> bytes:
    """Read a file, and decompress it by its suffix; a file that would not fit into memory is refused."""
    suffix = path.suffix.lower()
    if suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            members = [info for info in archive.infolist() if not info.is_dir()]
            if len(members) != 1:
                raise ValueError(f"the archive holds {len(members)} files: it must hold one")
            with archive.open(members[0]) as file:
                return _read(path, file)
    known: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    open_file = known.get(suffix, open)
    with open_file(path, "rb") as file:
        return _read(path, file)


def _read(path: Path, file: Any) -> bytes:
    """Read to the end; a few bytes on disk may become any number, so the memory is checked as they are read."""
    content, checked = io.BytesIO(), BLOCK
    while block := file.read(BLOCK):
        content.write(block)
        if content.tell() > checked:
            checked = 2 * content.tell()
            require_memory(2 * checked, f"{path}: its text", WAY_OUT)
    return content.getvalue()


def read_characters(path: Path) -> tuple[str, str]:
    """Read the text of a file, and say in which encoding: UTF-8, UTF-16 with a mark, or else Windows-1252, if most of it is ASCII."""
    content = read_bytes(path)
    mark = next((encoding for first, encoding in MARKS.items() if content.startswith(first)), "utf-8")
    try:
        return content.decode(mark), mark.removesuffix("-sig").upper()
    except UnicodeDecodeError as error:
        n_plain = len(content.translate(None, NOT_ASCII))
        if mark == "utf-8" and content.translate(None, NOT_TEXT) == content and n_plain >= MOSTLY_ASCII * len(content):
            with suppress(UnicodeDecodeError):
                return content.decode("cp1252"), "Windows-1252"
        raise ValueError(f"byte {error.start} is not text in {mark.upper()}: save the file in UTF-8") from error
