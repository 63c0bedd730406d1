"""Hostile surroundings: limits of memory, many threads; tests/robustness has those that need new
processes.
"""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import cpu_count
from scipy import sparse
from threadpoolctl import threadpool_info, threadpool_limits

from rmgl import RMGL, learn_layer
from rmgl.baselines import SCML
from rmgl.edges.space import Rows
from rmgl.embedding.common_graph import weighted_sum
from rmgl.embedding.eigenvectors import smallest_eigenvectors
from rmgl.placing.new_edges import near
from rmgl.running import threads
from rmgl.running.threads import single_threaded, team_of
from tests.processes import HANGING, python


def test_nearest_rows_of_others_are_the_nearest(rng):
    X, asking = rng.normal(size=(1300, 3)), rng.normal(size=(600, 3))
    X[7], asking[:5] = X[8], X[5:10]
    distances = np.square(asking[:, None] - X).sum(axis=2)
    for left, right in ((X, asking), (sparse.csr_array(X), sparse.csr_array(asking))):
        for length in (1, 40, 1300):
            found, squares = near(Rows.of(left), left, right, length)
            assert all(len(set(row)) == length for row in found.tolist())
            np.testing.assert_allclose(
                np.sort(squares, axis=1), np.sort(distances, axis=1)[:, :length], atol=1e-14
            )
            np.testing.assert_allclose(
                squares, np.take_along_axis(distances, found, axis=1), atol=1e-14
            )


def test_rows_near_to_others_are_found_where_single_precision_is_too_coarse(rng):
    X, asking = rng.normal(size=(700, 3)), rng.normal(size=(40, 3))
    X[:350], asking[:20] = X[:350] + 1e7, asking[:20] + 1e7
    distances = np.square(asking[:, None] - X).sum(axis=2)
    _, squares = near(Rows.of(X), X, asking, 9)
    np.testing.assert_allclose(
        np.sort(squares, axis=1), np.sort(distances, axis=1)[:, :9], rtol=1e-12
    )


# Limits of memory


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="limits and counts address space as Linux does"
)
def test_limits_of_the_process_count(tmp_path, monkeypatch):
    import resource

    page = resource.getpagesize()
    (tmp_path / "statm").write_text("1000 500 100 10 0 300 0\n")
    monkeypatch.setattr(threads, "PROCESS", tmp_path)
    limits = {
        resource.RLIMIT_AS: resource.RLIM_INFINITY,
        resource.RLIMIT_DATA: resource.RLIM_INFINITY,
    }
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (limits[kind], resource.RLIM_INFINITY))
    assert threads.address_space() is None
    assert threads.room_for_threads() is None
    limits[resource.RLIMIT_AS] = 1500 * page
    assert threads.address_space() == 500 * page
    limits[resource.RLIMIT_DATA] = 400 * page
    assert threads.address_space() == 100 * page
    assert threads.available_memory() <= 100 * page
    assert threads.room_for_threads() == 1
    limits[resource.RLIMIT_DATA] = limits[resource.RLIMIT_AS] = 10 * 2**30 + 1000 * page
    assert threads.room_for_threads() == 10 * 2**30 // 2 // (threads.BUFFERS + threads.THREAD)
    (tmp_path / "statm").unlink()
    assert threads.address_space() is None


GROUPS = {
    "0::/": {"": ("memory.max", "memory.current")},
    "0::/slurm/job": {"slurm/job": ("memory.max", "memory.current")},
    "0::/slurm/job/step": {"slurm/job": ("memory.max", "memory.current")},
    "0::/../elsewhere": {"": ("memory.max", "memory.current")},
    "0::/in/hybrid": {"unified/in": ("memory.max", "memory.current")},
    "4:memory:/docker/name\n0::/": {
        "memory/docker/name": ("memory.limit_in_bytes", "memory.usage_in_bytes")
    },
    "5:cpu,cpuacct:/cpu\n4:hugetlb,memory:/docker/name\n": {
        "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes")
    },
}


@pytest.mark.parametrize("where", GROUPS)
def test_control_groups_around_the_process_count(where, tmp_path, monkeypatch):
    """The group of the process may be deep in a tree, any of them may have a limit, and a container
    may see its own group as the root.
    """
    monkeypatch.setattr(threads, "PROCESS", tmp_path)
    monkeypatch.setattr(threads, "CONTROL_GROUPS", tmp_path / "groups")
    (tmp_path / "cgroup").write_text(where)
    assert threads._control_group_memory() is None
    (folder, (limit, used)) = next(iter(GROUPS[where].items()))
    group = tmp_path / "groups" / folder
    group.mkdir(parents=True)
    (group / used).write_text("700\n")
    (group / "memory.stat").write_text("anon 600\ninactive_file 50\ntotal_inactive_file 50\n")
    (group / limit).write_text("max\n")
    assert threads._control_group_memory() is None
    (group / limit).write_text("1000\n")
    assert threads._control_group_memory() == 350


def test_the_smallest_of_several_limits_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(threads, "PROCESS", tmp_path)
    monkeypatch.setattr(threads, "CONTROL_GROUPS", tmp_path)
    (tmp_path / "cgroup").write_text("0::/outer/inner\n")
    for name, limit in (("outer", 500), ("outer/inner", 900)):
        (tmp_path / name).mkdir()
        for file, text in (
            ("memory.max", limit),
            ("memory.current", 100),
            ("memory.stat", "inactive_file 0"),
        ):
            (tmp_path / name / file).write_text(f"{text}\n")
    assert threads._control_group_memory() == 400
    monkeypatch.setattr(threads, "_system_memory", lambda: None)
    assert threads.available_memory() == 400


def test_dense_sums_and_eigenvectors_beyond_memory_are_refused(monkeypatch):
    layer = sparse.csr_array(np.ones((600, 600)) - np.eye(600))
    monkeypatch.setattr(threads, "available_memory", lambda: 10**6)
    with pytest.raises(
        MemoryError,
        match=r"layers of 600 nodes .* need at least 5.5 MiB of memory, but only 1.0 MiB is available",
    ):
        weighted_sum([layer, layer], [1.0, 1.0])
    with pytest.raises(
        MemoryError, match=r"eigenvectors of a graph of 600 nodes need at least 13.7 MiB"
    ):
        smallest_eigenvectors(layer, 100)


# Threads


def numbers_of_blas_threads():
    """Of the libraries that can have several; one built without threads may come with another
    package.
    """
    found = [library for library in threadpool_info() if library["user_api"] == "blas"]
    return [
        library["num_threads"] for library in found if library.get("threading_layer") != "disabled"
    ]


@pytest.fixture
def two_blas_threads():
    with threadpool_limits(limits=2, user_api="blas"):
        if set(numbers_of_blas_threads()) != {2}:
            pytest.skip("the linear algebra library has one thread only")
        yield


def test_blas_has_its_threads_back_after_blocks_that_overlap(two_blas_threads):
    """Entered first and left first: each one would restore what it found."""
    first_is_in, second_is_in, first_is_out = (threading.Event() for _ in range(3))
    seen = []

    def second():
        first_is_in.wait(HANGING)
        with team_of(1):
            second_is_in.set()
            first_is_out.wait(HANGING)
            seen.append(numbers_of_blas_threads())

    thread = threading.Thread(target=second)
    thread.start()
    with team_of(1):
        first_is_in.set()
        second_is_in.wait(HANGING)
        seen.append(numbers_of_blas_threads())
    first_is_out.set()
    thread.join()
    assert [set(numbers) for numbers in seen] == [{1}, {1}]
    assert set(numbers_of_blas_threads()) == {2}


def test_blas_has_its_threads_back_after_fits_in_several_threads(two_blas_threads, rng):
    views = [rng.normal(size=(60, 3)), rng.normal(size=(60, 2))]
    model = RMGL(2, random_state=0).fit(views)
    with ThreadPoolExecutor(4) as threads:
        works = [lambda: RMGL(2, random_state=0).fit(views).labels_, lambda: model.predict(views)]
        labels = list(threads.map(lambda number: works[number % 2](), range(12)))
    assert set(numbers_of_blas_threads()) == {2}
    for own in labels[::2]:
        np.testing.assert_array_equal(own, model.labels_)


def test_leaving_an_openmp_block_does_not_touch_blas(two_blas_threads):
    """k-means may begin while another thread has BLAS kept to one thread, and end after that."""
    with ThreadPoolExecutor(1) as other:
        block = single_threaded("blas")
        other.submit(block.__enter__).result(HANGING)
        with single_threaded("openmp"):
            other.submit(block.__exit__, None, None, None).result(HANGING)
    assert set(numbers_of_blas_threads()) == {2}


def test_blas_has_its_threads_back_after_an_error(two_blas_threads):
    with pytest.raises(KeyError), single_threaded("blas"), single_threaded("blas"):
        raise KeyError
    assert set(numbers_of_blas_threads()) == {2}


def test_openmp_is_kept_to_one_thread_in_every_thread():
    """It has a number of threads for each thread: what another one has set does not count."""

    def inside(_):
        with single_threaded("openmp"):
            barrier.wait(HANGING)
            return [
                library["num_threads"]
                for library in threadpool_info()
                if library["user_api"] == "openmp"
            ]

    barrier = threading.Barrier(2)
    with ThreadPoolExecutor(2) as threads:
        assert all(set(numbers) <= {1} for numbers in threads.map(inside, range(2)))


def test_an_openmp_library_that_comes_later_is_kept_to_one_thread():
    """A module that is imported after the first use may bring one."""
    python(
        """
        from threadpoolctl import threadpool_info
        from rmgl.running.threads import single_threaded

        with single_threaded("openmp"):
            pass
        import sklearn.cluster
        with single_threaded("openmp"):
            assert {library["num_threads"] for library in threadpool_info() if library["user_api"] == "openmp"} <= {1}
        """,
        environment={"OMP_NUM_THREADS": "2"},
    )


# Parameters and data


def test_the_number_of_threads_is_bounded(monkeypatch):
    monkeypatch.setattr(threads, "cpu_count", lambda: 3)
    wanted = {None: 1, 1: 1, 2: 2, 3: 3, 4: 3, 10**6: 3, 2**70: 3, -(10**6): 1, np.int64(2): 2}
    assert {n_jobs: threads.number_of_workers(n_jobs) for n_jobs in wanted} == wanted
    assert threads.number_of_workers(-1) <= 3
    monkeypatch.setattr(threads, "room_for_threads", lambda: 2)
    assert threads.number_of_workers(10**6) == 2
    for wrong in (0, 1.5, "two"):
        with pytest.raises(ValueError, match="n_jobs="):
            threads.number_of_workers(wrong)


def test_a_million_jobs_and_none(rng, tmp_path):
    views = [rng.normal(size=(40, 3)), rng.normal(size=(40, 2))]
    before = threading.active_count()
    most = []
    with pytest.raises(ValueError, match="n_jobs=0 must be"):
        RMGL(2, n_jobs=0).fit(views, checkpoint=tmp_path / "steps")
    assert not (tmp_path / "steps").exists()
    with pytest.raises(ValueError, match="n_jobs=0 must be"):
        learn_layer(views[0], 1.0, n_jobs=0)
    with pytest.raises(ValueError, match="n_jobs=0 must be"):
        SCML(2, n_jobs=0).fit(views)
    model = RMGL(2, n_jobs=10**6, random_state=0).fit(
        views, callback=lambda step: most.append(threading.active_count())
    )
    assert max(most) - before <= 2 * cpu_count()
    np.testing.assert_array_equal(
        model.labels_, RMGL(2, n_jobs=-(10**6), random_state=0).fit(views).labels_
    )
