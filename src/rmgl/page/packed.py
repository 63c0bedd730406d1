"""Arrays and texts in one compressed block of base64, which the page unpacks."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

UNKNOWN = 255
"""Stands for NaN among shares in bytes."""
KINDS = {"uint8": "Uint8Array", "uint16": "Uint16Array", "uint32": "Uint32Array", "float32": "Float32Array"}


def packed(facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """Pack facts (JSON) and arrays into text: a line of JSON with the places of the arrays, then the arrays themselves.

    Before compression the block is: the length of the JSON (8 bytes, little-endian), the JSON, padding to a multiple of 8 bytes, and the
    arrays, each padded likewise.
    """
    places: dict[str, list[Any]] = {}
    content = bytearray()
    for name, values in arrays.items():
        places[name] = [KINDS[values.dtype.name], len(content), int(values.size)]
        content += values.astype(values.dtype.newbyteorder("<")).tobytes()
        content += bytes(-len(content) % 8)
    text = json.dumps({**facts, "arrays": places}, allow_nan=False).encode("utf-8")
    text += b" " * (-len(text) % 8)
    block = len(text).to_bytes(8, "little") + text + bytes(content)
    return base64.b64encode(zlib.compress(block, 9)).decode("ascii")


def unpacked(text: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Undo `packed`, as the page does.

    Examples
    --------
    >>> import numpy as np
    >>> facts, arrays = unpacked(packed({"n": 2}, {"x": np.array([0.5, 1.0], dtype=np.float32)}))
    >>> facts["n"], arrays["x"].tolist()
    (2, [0.5, 1.0])
    """
    block = zlib.decompress(base64.b64decode(text))
    length = int.from_bytes(block[:8], "little")
    facts = json.loads(block[8 : 8 + length])
    dtypes = {kind: np.dtype(name).newbyteorder("<") for name, kind in KINDS.items()}
    arrays = {
        name: np.frombuffer(block, dtype=dtypes[kind], count=size, offset=8 + length + at)
        for name, (kind, at, size) in facts.pop("arrays").items()
    }
    return facts, arrays


def as_bytes(shares: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Shares from 0 to 1 in steps of 1/254; `UNKNOWN` where they are not known."""
    known = np.isfinite(shares)
    return np.where(known, np.rint(np.clip(np.where(known, shares, 0.0), 0.0, 1.0) * 254), UNKNOWN).astype(np.uint8)
