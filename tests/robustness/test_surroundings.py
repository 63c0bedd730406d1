"""Forks and limits of memory, in processes of their own."""

import os
import sys

import pytest

from tests.processes import python

pytestmark = pytest.mark.extended

FORK = """
import os, signal, sys
import numpy as np
from sklearn.cluster import KMeans
from rmgl import RMGL

def in_a_child(work):
    child = os.fork()
    if child == 0:
        signal.alarm(1000)  # ends the child if it hangs
        np.testing.assert_array_equal(*work())
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, "the child did not end as it should"

def fitted():
    return RMGL(3, alpha=1.0, beta=1.0, scale="none", candidates=10, max_iter=1, tol=1.0, random_state=0).fit(X)

rng = np.random.default_rng(0)
centers = 20 * rng.normal(size=(3, 2))
X = centers[rng.integers(3, size=6000)] + rng.normal(size=(6000, 2))
new = centers[rng.integers(3, size=100)] + rng.normal(size=(100, 2))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.parametrize(
    "work",
    [
        (
            "model = fitted(); known = model.predict(new); in_a_child(lambda: "
            "(model.predict(new), known))"
        ),
        (
            "KMeans(3, n_init=1).fit(X); known = fitted().labels_; in_a_child(lambda: "
            "(fitted().labels_, known))"
        ),
    ],
    ids=["predict", "fit"],
)
def test_a_forked_process_goes_on(work):
    """OpenMP, once it has been used with several threads, hangs in a child."""
    python(FORK + work, environment={"OMP_NUM_THREADS": "2"})


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="limits and counts address space as Linux does"
)
@pytest.mark.parametrize("room", [40, 90])
@pytest.mark.parametrize("work", ["RMGL(3, random_state=0).fit(X)", "learn_layer(X, 1.0)"])
def test_a_limit_on_the_address_space_is_an_error_and_no_hang(room, work):
    """OpenBLAS ends the process, or never returns, where it does not get its buffers."""
    python(
        f"""
        import resource
        import numpy as np
        from rmgl import RMGL, kernels, learn_layer
        from rmgl.running import threads

        X = np.random.default_rng(0).normal(size=(300, 5))
        pages = int(open("/proc/self/statm").read().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + ({room} << 20), resource.RLIM_INFINITY))
        assert 0 < threads.available_memory() <= {room} << 20
        try:
            {work}
        except MemoryError as error:
            assert "address space" in str(error) and "ulimit -v" in str(error), error
        else:
            raise AssertionError("no error")
        """
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_fork_in_the_middle_of_fits_in_other_threads():
    """A child must not find a lock held by a thread that it does not have."""
    python(
        """
        import os, signal, threading
        from rmgl.running.threads import single_threaded

        def enter_and_leave():
            while not over.is_set():
                with single_threaded("blas"):
                    pass

        over = threading.Event()
        with single_threaded("blas"):
            pass
        threads = [threading.Thread(target=enter_and_leave) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(40):
                child = os.fork()
                if child == 0:
                    signal.alarm(1000)  # ends the child if it hangs
                    with single_threaded("blas"):
                        os._exit(0)
                assert os.waitpid(child, 0)[1] == 0
        finally:
            over.set()
        """
    )
