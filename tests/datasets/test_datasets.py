"""Made and fetched data."""

import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csgraph

from rmgl.datasets import coil20, fetch_coil20, make_complementary_layers

SHARED_IMAGES = Path(__file__).parents[3] / "shared" / "data" / "coil20_images.npz"
needs_images = pytest.mark.skipif(
    not SHARED_IMAGES.is_file(), reason="the COIL-20 images are not beside the repository"
)


@pytest.mark.parametrize("seed", range(5))
def test_complementary_layers_are_as_the_paper_says(seed):
    data = make_complementary_layers(random_state=seed)
    assert np.bincount(data.target).tolist() == [25] * 4
    for m, (name, adjacency) in enumerate(data.layers.items()):
        assert data.views[name].shape == (100, 15)
        A = adjacency.toarray()
        np.testing.assert_array_equal(A, A.T)
        alone = data.target == m
        assert A[alone][:, ~alone].sum() == 0
        n, component = csgraph.connected_components(adjacency, directed=False)
        assert n == 2
        assert len(set(component[alone])) == 1
        same = data.target[:, None] == data.target
        joined = ~same & ~alone[:, None] & ~alone
        assert A[same].mean() > 2 * A[joined].mean() > 0


@pytest.mark.parametrize("unit_length", [False, True])
def test_signals_are_eigenvectors_plus_noise(unit_length):
    quiet = make_complementary_layers(noise=0.0, unit_length=unit_length, random_state=0)
    for name, X in quiet.views.items():
        A = quiet.layers[name].toarray()
        L = np.diag(A.sum(axis=1)) - A
        scale = 1.0 if unit_length else 10.0
        values = np.linalg.eigvalsh(L)[:15]
        np.testing.assert_allclose(X.T @ X, scale**2 * np.eye(15), atol=1e-9)
        np.testing.assert_allclose(np.linalg.norm(L @ X - X * values), 0, atol=1e-6)
    loud = make_complementary_layers(noise=0.01, unit_length=unit_length, random_state=0)
    # the first layer uses the same random numbers
    noise = loud.views["layer_0"] - quiet.views["layer_0"]
    assert np.var(noise) == pytest.approx(0.01, rel=0.1)


def test_sizes_and_densities_are_arguments():
    data = make_complementary_layers(
        class_sizes=(10, 20, 30), n_layers=2, within=0.9, between=0.2, n_signals=5, random_state=0
    )
    assert list(data.views) == ["layer_0", "layer_1"]
    assert data.views["layer_1"].shape == (60, 5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_layers": 5}, "n_layers=5 must be from 1 to the number of classes, 4"),
        ({"class_sizes": (5, 5), "n_layers": 2}, "at least three classes"),
        ({"within": 0.1, "between": 0.2}, "0 <= between < within <= 1"),
        ({"n_signals": 101}, "n_signals=101 from 1 to the number of nodes, 100"),
        ({"noise": -1.0}, "noise=-1.0 must be a number >= 0"),
        ({"noise": np.nan}, "noise=nan must be a number >= 0"),
        ({"class_sizes": (5.5, 5, 5)}, "at least three classes of at least two nodes"),
        ({"within": 0.01, "between": 0.0}, "do not produce connected classes"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_complementary_layers(random_state=0, **arguments)


@needs_images
@pytest.mark.extended
def test_coil20_views_from_an_array_and_a_file():
    with np.load(SHARED_IMAGES) as stored:
        images = stored["images"]
    data = fetch_coil20(images=images)
    assert {name: X.shape for name, X in data.views.items()} == {
        "lbp": (1440, 59),
        "hog": (1440, 36),
        "pixels": (1440, 1024),
    }
    np.testing.assert_allclose(data.views["lbp"].sum(axis=1), 1)
    assert np.bincount(data.target).tolist() == [72] * 20
    np.testing.assert_array_equal(data.images, images)
    changed = images.copy()
    changed[0, 0, 0] ^= 1
    with pytest.raises(ValueError, match="are not those of the 1440 processed COIL-20 images"):
        fetch_coil20(images=changed)


@needs_images
@pytest.mark.extended
def test_coil20_from_a_zip_and_a_folder_of_png_files(tmp_path):
    from skimage import io

    with np.load(SHARED_IMAGES) as stored:
        images = stored["images"]
    folder = tmp_path / "coil-20-proc"
    folder.mkdir()
    for place, image in enumerate(images):
        io.imsave(folder / f"obj{place // 72 + 1}__{place % 72}.png", image, check_contrast=False)
    np.testing.assert_array_equal(coil20.read_images(folder), images)
    with zipfile.ZipFile(tmp_path / coil20.ARCHIVE, "w") as archive:
        archive.writestr("../../evil.png", b"never written anywhere")
        for file in folder.iterdir():
            archive.write(file, f"coil-20-proc/{file.name}")
    np.testing.assert_array_equal(coil20.read_images(tmp_path / coil20.ARCHIVE), images)
    cache = tmp_path / "home" / "coil20"
    cache.mkdir(parents=True)
    (tmp_path / coil20.ARCHIVE).rename(cache / coil20.ARCHIVE)
    assert coil20.find_archive(tmp_path / "home", download=False) == cache / coil20.ARCHIVE
    (folder / "obj20__71.png").unlink()
    with pytest.raises(ValueError, match=r"missing 1 of the 1440 images, starting with obj20__71"):
        coil20.read_images(folder)


def test_coil20_absent_says_what_to_put_where(tmp_path, monkeypatch):
    with pytest.raises(
        FileNotFoundError,
        match=r"download=False: put coil-20-proc.zip .* into .*coil20, or pass images=",
    ):
        fetch_coil20(data_home=tmp_path, download=False)
    import pooch

    def fail(*arguments, **options):
        raise ConnectionError("offline")

    monkeypatch.setattr(pooch, "retrieve", fail)
    with pytest.raises(
        OSError, match=r"could not be downloaded \(ConnectionError\): put coil-20-proc.zip"
    ):
        fetch_coil20(data_home=tmp_path)


def test_coil20_refuses_other_things(tmp_path):
    with pytest.raises(
        ValueError, match=r"have shape \(1440, 128, 128\) and dtype uint8, not \(2, 3\)"
    ):
        fetch_coil20(images=np.zeros((2, 3)))
    with pytest.raises(FileNotFoundError, match="does not exist"):
        fetch_coil20(images=tmp_path / "nowhere")
    for name in ("bad.zip", "bad.npz"):
        (tmp_path / name).write_text("no")
        with pytest.raises(ValueError, match=r"is not a readable \.zip, \.npy or \.npz file"):
            fetch_coil20(images=tmp_path / name)
    np.savez(tmp_path / "other.npz", pictures=np.zeros(3))
    with pytest.raises(ValueError, match=r"other.npz contains no array named 'images'"):
        fetch_coil20(images=tmp_path / "other.npz")


@pytest.mark.parametrize("shape", [(64, 64), (9000, 9000), (128, 128, 3)])
def test_images_of_another_kind_are_refused_by_their_header(tmp_path, shape):
    from PIL import Image

    Image.fromarray(np.zeros(shape, dtype=np.uint8)).save(tmp_path / "obj1__0.png")
    with pytest.raises(
        ValueError,
        match=r"obj1__0.png is a (L|RGB) image of \d+ x \d+ pixels, not a 128 x 128 grayscale",
    ):
        coil20.read_images(tmp_path)


def test_damaged_images_and_archives_are_named(tmp_path):
    (tmp_path / "obj1__0.png").write_bytes(b"not a png")
    with pytest.raises(ValueError, match=r"obj1__0.png is not a readable PNG image"):
        coil20.read_images(tmp_path)
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("obj1__0.png", bytes(range(256)) * 40)
    content = bytearray(path.read_bytes())
    content[45:80] = bytes(35)
    path.write_bytes(content)
    with pytest.raises(
        ValueError, match=r"is not a readable (\.zip, \.npy or \.npz file|PNG image)"
    ):
        coil20.read_images(path)
