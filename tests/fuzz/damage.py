"""Ways to spoil a file: of its bytes, of its lines, and of what stands inside an archive or a
model, where checksums would stop the others.
"""

import io
import json
import zipfile

import numpy as np

ODD_FIELDS = (
    *(
        "",
        " ",
        "nan",
        "NaN",
        "inf",
        "-inf",
        "1e300",
        "-1e300",
        "1e400",
        "5e-324",
        "1e-200",
        "0",
        "-0",
        "1_000",
        "0x10",
        "1,5",
        "abc",
        "None",
    ),
    *(
        '"',
        '"1',
        '1"',
        "'1'",
        "NULL",
        "1.2.3",
        "--1",
        "1e",
        "\u0661",
        "\x00",
        "1\x002",
        "\ufeff1",
        "=1+1",
        "True",
        "9" * 400,
        "x" * 200_000,
    ),
)
ODD_NUMBERS = (
    0,
    -1,
    1,
    2,
    3,
    7,
    1e300,
    -1e300,
    1e-320,
    10**30,
    -(10**30),
    0.5,
    1 << 31,
    1 << 63,
    True,
    False,
    None,
    "",
    "auto",
    [],
    {},
    [[]],
)
ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "latin-1", "utf-8-sig", "cp037")


def damaged(rng, kind, content):
    """The content of a file of this kind after one kind of damage, or up to three, and their names."""
    ways = WAYS_OF_KIND.get(kind, BYTE_WAYS)
    chosen = [ways[rng.integers(len(ways))] for _ in range([1, 1, 1, 2, 3][rng.integers(5)])]
    for way in chosen:
        content = way(rng, content)
    return content, " + ".join(way.__name__ for way in chosen)


# of bytes


def truncated(rng, content):
    return content[: rng.integers(0, len(content) + 1)]


def beheaded(rng, content):
    return content[rng.integers(0, min(len(content), 200) + 1) :]


def flipped(rng, content):
    spoiled = bytearray(content)
    for _ in range(rng.integers(1, 6)):
        if spoiled:
            spoiled[rng.integers(len(spoiled))] ^= 1 << rng.integers(8)
    return bytes(spoiled)


def overwritten(rng, content):
    """Some bytes in a row are others."""
    at, length = rng.integers(0, len(content) + 1), rng.integers(1, 40)
    return content[:at] + rng.bytes(length) + content[at + length :]


def with_more(rng, content):
    at = rng.integers(0, len(content) + 1)
    return content[:at] + rng.bytes(rng.integers(1, 40)) + content[at:]


def zeroed(rng, content):
    at, length = rng.integers(0, len(content) + 1), rng.integers(1, 200)
    return content[:at] + bytes(len(content[at : at + length])) + content[at + length :]


def emptied(rng, content):
    return b""


def repeated(rng, content):
    return content[:100_000] * 2


def foreign(rng, content):
    return rng.bytes(rng.integers(1, 300))


BYTE_WAYS = (
    truncated,
    truncated,
    beheaded,
    flipped,
    flipped,
    flipped,
    overwritten,
    with_more,
    zeroed,
    emptied,
    repeated,
    foreign,
)


# of lines of text


def lines_of(content):
    return content.decode("utf-8", "surrogateescape").splitlines(keepends=True)


def text_of(lines):
    return "".join(lines).encode("utf-8", "surrogateescape")


def line_lost(rng, content):
    lines = lines_of(content)
    if lines:
        del lines[rng.integers(len(lines))]
    return text_of(lines)


def line_twice(rng, content):
    lines = lines_of(content)
    if lines:
        at = rng.integers(len(lines))
        lines.insert(at, lines[at])
    return text_of(lines)


def lines_shuffled(rng, content):
    lines = lines_of(content)
    return text_of([lines[at] for at in rng.permutation(len(lines))])


def line_blank(rng, content):
    lines = lines_of(content)
    lines.insert(rng.integers(len(lines) + 1), ["\n", "\r", "  \n", ",\n"][rng.integers(4)])
    return text_of(lines)


def field_changed(rng, content):
    lines = lines_of(content)
    for _ in range(rng.integers(1, 4)):
        if lines:
            at = rng.integers(len(lines))
            mark = "\t" if "\t" in lines[at] else ","
            fields = lines[at].rstrip("\r\n").split(mark)
            fields[rng.integers(len(fields))] = ODD_FIELDS[rng.integers(len(ODD_FIELDS))]
            lines[at] = mark.join(fields) + "\n"
    return text_of(lines)


def ragged(rng, content):
    lines = lines_of(content)
    if lines:
        at = rng.integers(len(lines))
        mark = "\t" if "\t" in lines[at] else ","
        fields = lines[at].rstrip("\r\n").split(mark)
        fields = fields[:-1] if rng.integers(2) else [*fields, "1"]
        lines[at] = mark.join(fields) + "\n"
    return text_of(lines)


def column_constant(rng, content):
    """One column holds the same in all lines but the first."""
    lines = lines_of(content)
    place, value = rng.integers(4), ODD_FIELDS[rng.integers(len(ODD_FIELDS) - 2)]
    for at, line in enumerate(lines[1:], start=1):
        mark = "\t" if "\t" in line else ","
        fields = line.rstrip("\r\n").split(mark)
        fields[place % len(fields)] = value
        lines[at] = mark.join(fields) + "\n"
    return text_of(lines)


def other_mark(rng, content):
    return content.replace(b",", [b"\t", b";", b" ", b",,"][rng.integers(4)])


def other_line_ends(rng, content):
    return content.replace(b"\n", [b"\r", b"\r\n", b"\n\n", b"\x0b"][rng.integers(4)])


def other_encoding(rng, content):
    text = content.decode("utf-8", "replace").replace("c1", "\u00e91")
    return text.encode(ENCODINGS[rng.integers(len(ENCODINGS))], "replace")


def numbers_changed(rng, content):
    """Digits are others: still a table of numbers."""
    return bytes(
        int(rng.integers(48, 58)) if 48 <= byte < 58 and rng.random() < 0.02 else byte
        for byte in content
    )


TEXT_WAYS = (
    *(numbers_changed, numbers_changed, numbers_changed),
    *(
        line_lost,
        line_twice,
        lines_shuffled,
        line_blank,
        field_changed,
        field_changed,
        field_changed,
        ragged,
        column_constant,
        other_mark,
    ),
    *(
        other_line_ends,
        other_encoding,
        truncated,
        flipped,
        overwritten,
        with_more,
        emptied,
        repeated,
        foreign,
    ),
)


# of arrays


def odd_array(rng, array):
    """The array with odd values, or of another shape or type."""
    array = np.array(array)
    way = rng.integers(8)
    with np.errstate(all="ignore"):
        if way == 0 and array.size and array.dtype.kind == "f":
            array.flat[rng.integers(array.size)] = [
                np.nan,
                np.inf,
                -np.inf,
                1e300,
                5e-324,
                0.0,
                -1.0,
            ][rng.integers(7)]
        elif way == 1 and array.size and array.dtype.kind in "iu":
            array.flat[rng.integers(array.size)] = np.array([-1, 0, 1, 10**6, -(2**31)])[
                rng.integers(5)
            ].astype(array.dtype)
        elif way == 2:
            array = array[: rng.integers(0, len(array) + 1)] if array.ndim else array
        elif way == 3:
            array = array.astype(
                ["i1", "f4", "f2", "?", "c16", "S8", "U8", ">f8", "f8", "u8"][rng.integers(10)]
            )
        elif way == 4:
            array = array.reshape((*array.shape, 1)) if rng.integers(2) else array.ravel()
        elif way == 5:
            array = np.zeros_like(array)
        elif way == 6:
            array = array.T if array.ndim > 1 else np.concatenate([array, array])
        elif array.dtype.kind == "f":
            array = array * [np.nan, 1e200, 1e-200, -1.0, np.inf][rng.integers(5)]
    return array


def array_changed(rng, content):
    """An .npy file with other values, or another shape or type."""
    try:
        array = np.load(io.BytesIO(content), allow_pickle=False)
    except Exception:  # damaged already
        return flipped(rng, content)
    out = io.BytesIO()
    np.save(out, odd_array(rng, array), allow_pickle=False)
    return out.getvalue()


def header_changed(rng, content):
    """Bytes of the text that begins an .npy file."""
    return flipped(rng, content[:128]) + content[128:]


def member_changed(change):
    """Damage a file inside a ZIP archive, with its checksum put right."""

    def member(rng, content):
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                members = {name: archive.read(name) for name in archive.namelist()}
        except Exception:  # damaged already
            return flipped(rng, content)
        if not members:
            return content
        names = sorted(members)
        name = names[rng.integers(len(names))]
        change(rng, members, name)
        out = io.BytesIO()
        with zipfile.ZipFile(
            out, "w", zipfile.ZIP_DEFLATED if rng.integers(12) == 0 else zipfile.ZIP_STORED
        ) as archive:
            for each, data in members.items():
                archive.writestr(each, data)
        return out.getvalue()

    member.__name__ = change.__name__
    return member


@member_changed
def member_spoiled(rng, members, name):
    ways = (*(array_changed,) * 8, header_changed, flipped, truncated, with_more)
    members[name] = ways[rng.integers(len(ways))](rng, members[name])


@member_changed
def member_lost_or_swapped(rng, members, name):
    other = sorted(members)[rng.integers(len(members))]
    if rng.integers(2):
        del members[name]
    else:
        members[name], members[other] = members[other], members[name]


@member_changed
def record_changed(rng, members, name):
    """One value, or one entry, of the JSON of a model."""
    name = "model.json"
    try:
        index = json.loads(members[name])
    except (KeyError, ValueError):
        return
    for _ in range(rng.integers(1, 3)):
        change_somewhere(
            rng,
            index["content"]
            if rng.integers(8) and isinstance(index.get("content"), dict)
            else index,
        )
    members[name] = json.dumps(index).encode()


def change_somewhere(rng, value):
    """Walk down at random, then replace, remove or repeat what is there."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = keys[rng.integers(len(keys))]
        if isinstance(value[key], dict | list) and rng.integers(12):
            value = value[key]
            continue
        way = rng.integers(6)
        if way == 0:
            del value[key]
        elif way == 1 and isinstance(value, list):
            value.append(value[key])
        elif way == 2:
            value[key] = value[keys[rng.integers(len(keys))]]
        elif way == 3:
            value[key] = {"float": ["nan", "inf", "-inf", "x"][rng.integers(4)]}
        elif way == 4 and isinstance(value[key], int | float):
            value[key] = value[key] + [-1, 1, 0.5, 100][rng.integers(4)]
        else:
            value[key] = ODD_NUMBERS[rng.integers(len(ODD_NUMBERS))]
        return


# of HDF5


def node_changed(rng, content):
    """One group, dataset or attribute of an HDF5 file lost or replaced.

    Single bytes are left alone: a flipped one can send the HDF5 library itself round in circles for
    ever.
    """
    import h5py

    stream = io.BytesIO(content)
    try:
        with h5py.File(stream, "r+") as file:
            names: list[str] = []
            file.visit(names.append)
            node = file[names[rng.integers(len(names))]] if names else file
            attributes, way = sorted(node.attrs), rng.integers(4)
            if way == 0 and attributes:
                del node.attrs[attributes[rng.integers(len(attributes))]]
            elif way == 1 and attributes:
                node.attrs[attributes[rng.integers(len(attributes))]] = [
                    "",
                    "array",
                    7,
                    "0.9.9",
                    "csr_matrix",
                    "dict",
                ][rng.integers(6)]
            elif way == 2 or not isinstance(node, h5py.Dataset):
                del file[node.name]
            else:
                name, array = node.name, np.asarray(node)
                kept = dict(node.attrs)
                del file[name]
                file[name] = (
                    odd_array(rng, array)
                    if array.dtype.kind in "fiu"
                    else array[: len(array) // 2]
                    if array.ndim
                    else 3
                )
                file[name].attrs.update(kept)
    except Exception:  # damaged already, or it cannot be changed that way
        return truncated(rng, content)
    return stream.getvalue()


NPY_WAYS = (
    array_changed,
    array_changed,
    header_changed,
    truncated,
    flipped,
    overwritten,
    with_more,
    zeroed,
    emptied,
    repeated,
    foreign,
)
NPZ_WAYS = (member_spoiled, member_spoiled, member_spoiled, member_lost_or_swapped, *BYTE_WAYS)
MODEL_WAYS = (
    *(record_changed,) * 10,
    *(member_spoiled,) * 12,
    member_lost_or_swapped,
    truncated,
    flipped,
    overwritten,
    emptied,
    foreign,
)
HDF5_WAYS = (*(node_changed,) * 8, truncated, beheaded, emptied, foreign)
WAYS_OF_KIND = {
    ".csv": TEXT_WAYS,
    ".tsv": TEXT_WAYS,
    ".npy": NPY_WAYS,
    ".npz": NPZ_WAYS,
    ".h5mu": HDF5_WAYS,
    ".rmgl": MODEL_WAYS,
}
