"""COIL-20: 20 objects in 72 poses each, in the three views from the RMGL paper."""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import get_data_home
from sklearn.utils import Bunch

from rmgl.extras import not_installed
from rmgl.matrix import Floats

URL = "https://www.cs.columbia.edu/CAVE/databases/SLAM_coil-20_coil-100/coil-20/coil-20-proc.zip"
ARCHIVE = "coil-20-proc.zip"
PIXELS_SHA256 = "7274cbacb79ea6c57340827c9f9301745a8e9b3173dea4aa828e00b49c42946c"
SHAPE = (20 * 72, 128, 128)
IMAGE_NAME = re.compile(r"(?:^|[/\\])obj(\d+)__(\d+)\.png$")
LARGEST_IMAGE_FILE = 1 << 20

ABOUT = """\
Columbia Object Image Library (COIL-20), processed images: 20 objects, 72 poses each, 128 x 128
gray values. S. A. Nene, S. K. Nayar and H. Murase, Columbia Object Image Library (COIL-20),
Technical Report CUCS-005-96, 1996.
Views as in the RMGL paper: lbp (59 bins of uniform local binary patterns, 8 neighbors, not
rotation-invariant), hog (36: 9 orientations in 2 x 2 cells), pixels (1024: 32 x 32 means of 4 x 4
pixels).
"""


def fetch_coil20(
    data_home: str | Path | None = None, download: bool = True, images: Any = None
) -> Bunch:
    """Load the 1440 COIL-20 images as local binary patterns, oriented gradients and pixels.

    Parameters
    ----------
    data_home : path, optional
        Cache folder. By default, scikit-learn's data folder.
    download : bool
        Whether to download the archive from Columbia University if it is not in the cache.
    images : path or array, optional
        Your own copy of the images: a folder or .zip file that contains `obj1__0.png` to
        `obj20__71.png`, an .npy or .npz file, or an array of shape (1440, 128, 128), ordered by
        object and pose.

    Returns
    -------
    sklearn.utils.Bunch
        `views`: dict lbp (1440, 59), hog (1440, 36), pixels (1440, 1024); `target`: 0 ... 19;
        `images`; `DESCR`.

    Notes
    -----
    The function requires scikit-image, and pooch for the download: `pip install scikit-image
    pooch`. It checks the decoded pixels against a SHA-256 hash.

    Examples
    --------
    >>> from rmgl import RMGL
    >>> from rmgl.datasets import fetch_coil20
    >>> data = fetch_coil20()  # doctest: +SKIP
    >>> RMGL(20, random_state=0).fit(data.views)  # doctest: +SKIP
    """
    try:
        import skimage  # noqa: F401
    except ImportError as error:
        raise ImportError(not_installed("fetch_coil20 needs", "scikit-image")) from error
    source = find_archive(data_home, download) if images is None else images
    pixels = check_pixels(read_images(source), source)
    views = {
        "lbp": local_patterns(pixels),
        "hog": oriented_gradients(pixels),
        "pixels": coarse_pixels(pixels),
    }
    return Bunch(views=views, target=np.repeat(np.arange(20), 72), images=pixels, DESCR=ABOUT)


def find_archive(data_home: str | Path | None, download: bool) -> Path:
    """Return the path to the archive in the cache folder. Download it if missing and allowed."""
    folder = Path(get_data_home(None if data_home is None else str(data_home))) / "coil20"
    archive = folder / ARCHIVE
    if archive.is_file():
        return archive
    advice = (
        f"put {ARCHIVE} (from {URL}) into {folder}, or pass images= (a folder, a .zip file or an "
        "array)"
    )
    if not download:
        raise FileNotFoundError(f"COIL-20 is not in the cache and download=False: {advice}")
    try:
        import pooch
    except ImportError as error:
        raise ImportError(not_installed("downloading COIL-20 needs", "pooch")) from error
    try:
        # the pixels are checked after decoding
        pooch.retrieve(URL, known_hash=None, fname=ARCHIVE, path=folder)
    except Exception as error:
        raise OSError(
            f"COIL-20 could not be downloaded ({type(error).__name__}): {advice}"
        ) from error
    return archive


def read_images(source: Any) -> NDArray[Any]:
    """Read images from a folder, a .zip, .npy or .npz file, or an array. Nothing is unpacked."""
    if not isinstance(source, str | Path):
        return np.asarray(source)
    path = Path(source)
    if not path.exists():
        raise FileNotFoundError(
            f"images={str(path)!r} does not exist: pass a folder, a .zip, .npy or .npz "
            "file, or an array"
        )
    try:
        if path.suffix in (".npy", ".npz"):
            return read_arrays(path)
        return stack(path, folder_files(path) if path.is_dir() else zip_files(path))
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError) as error:
        raise ValueError(
            f"{path} is not a readable .zip, .npy or .npz file ({error}): delete it and download "
            "it again"
        ) from error


def read_arrays(path: Path) -> NDArray[Any]:
    """Read the array in an .npy file, or the array `images` in an .npz file."""
    with path.open("rb") as file:
        if path.suffix == ".npy":
            return np.asarray(np.load(file, allow_pickle=False))
        with zipfile.ZipFile(file) as archive:
            if "images.npy" not in archive.namelist():
                raise ValueError(
                    f"{path} contains no array named 'images': write it with numpy.savez(path, "
                    "images=...)"
                )
            with archive.open("images.npy") as member:
                return np.lib.format.read_array(member, allow_pickle=False)


def stack(path: Path, files: Iterator[tuple[tuple[int, int], bytes]]) -> NDArray[np.uint8]:
    """Stack all 1440 images, object by object and pose by pose."""
    wanted = [(thing, pose) for thing in range(1, 21) for pose in range(72)]
    places = {key: place for place, key in enumerate(wanted)}
    images, seen = np.empty(SHAPE, dtype=np.uint8), set()
    for key, content in files:
        if key in places:
            images[places[key]] = decode(content, f"obj{key[0]}__{key[1]}.png")
            seen.add(key)
    missing = [key for key in wanted if key not in seen]
    if missing:
        thing, pose = missing[0]
        raise ValueError(
            f"images={str(path)!r} is missing {len(missing)} of the 1440 images, starting with "
            f"obj{thing}__{pose}.png: add them"
        )
    return images


def folder_files(folder: Path) -> Iterator[tuple[tuple[int, int], bytes]]:
    """Yield the object, pose and content of each image in a folder."""
    for file in sorted(folder.rglob("*.png")):
        match = IMAGE_NAME.search(file.as_posix())
        if match and file.stat().st_size <= LARGEST_IMAGE_FILE:
            yield (int(match[1]), int(match[2])), file.read_bytes()


def zip_files(path: Path) -> Iterator[tuple[tuple[int, int], bytes]]:
    """Yield the object, pose and content of each image in a .zip file."""
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            match = IMAGE_NAME.search(member.filename)
            if match and member.file_size <= LARGEST_IMAGE_FILE:
                yield (int(match[1]), int(match[2])), archive.read(member)


def decode(content: bytes, name: str) -> NDArray[np.uint8]:
    """Decode one 128 x 128 grayscale PNG, after checking its header."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(content), formats=["PNG"]) as image:
            if image.size != SHAPE[1:] or image.mode != "L":
                raise ValueError(
                    f"{name} is a {image.mode} image of {image.size[0]} x {image.size[1]} pixels, "
                    "not a 128 x 128 grayscale image: use the processed images"
                )
            return np.asarray(image)
    except (UnidentifiedImageError, OSError, SyntaxError) as error:
        raise ValueError(
            f"{name} is not a readable PNG image ({error}): download it again"
        ) from error


def check_pixels(pixels: NDArray[Any], source: Any) -> NDArray[np.uint8]:
    """Raise a ValueError unless the pixels are those of COIL-20, in the expected order."""
    if pixels.shape != SHAPE or pixels.dtype != np.uint8:
        raise ValueError(
            f"COIL-20 images have shape {SHAPE} and dtype uint8, not {pixels.shape} and "
            f"{pixels.dtype}: use the processed images"
        )
    if hashlib.sha256(np.ascontiguousarray(pixels).tobytes()).hexdigest() != PIXELS_SHA256:
        origin = f" in {source}" if isinstance(source, str | Path) else ""
        raise ValueError(
            f"the pixels{origin} are not those of the 1440 processed COIL-20 images, ordered by "
            "object and pose: put the images in that order, or delete a file in the cache to "
            "download it again"
        )
    return pixels


def local_patterns(pixels: NDArray[np.uint8]) -> Floats:
    """Compute the shares of the 59 uniform local binary patterns with 8 neighbors at distance 1."""
    local_binary_pattern = import_module("skimage.feature").local_binary_pattern
    codes = (
        local_binary_pattern(image, 8, 1, method="nri_uniform").astype(np.intp).ravel()
        for image in pixels
    )
    return np.array([np.bincount(code, minlength=59) / code.size for code in codes])


def oriented_gradients(pixels: NDArray[np.uint8]) -> Floats:
    """Compute histograms of nine gradient orientations in each of 2 x 2 cells, which form one
    block.
    """
    hog = import_module("skimage.feature").hog
    return np.array(
        [
            hog(image, orientations=9, pixels_per_cell=(64, 64), cells_per_block=(2, 2))
            for image in pixels
        ]
    )


def coarse_pixels(pixels: NDArray[np.uint8]) -> Floats:
    """Compute the means of blocks of 4 x 4 pixels, from 0 to 1."""
    means: Floats = (
        pixels.reshape(len(pixels), 32, 4, 32, 4).mean(axis=(2, 4)).reshape(len(pixels), -1) / 255
    )
    return means
