"""Compiling is not interrupted in the middle."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from rmgl.kernels.compiling import compiled, uninterrupted
from tests.processes import HANGING


@pytest.fixture
def ctrl_c():
    """Ctrl-C as Python handles it; returns a function that presses it and waits until the main
    thread has heard it.
    """
    heard = threading.Event()

    def hear(number, frame):
        heard.set()
        raise KeyboardInterrupt

    def press():
        os.kill(os.getpid(), signal.SIGINT)
        assert heard.wait(HANGING)

    previous = signal.signal(signal.SIGINT, hear)
    yield press
    signal.signal(signal.SIGINT, previous)


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT to a process")
def test_an_interruption_does_not_cut_work_short(ctrl_c):
    ended = threading.Event()

    def work():
        ctrl_c()
        time.sleep(0.1)
        ended.set()

    with pytest.raises(KeyboardInterrupt):
        uninterrupted(work)()
    # it has ended, unless the interruption came while its thread was being started
    assert ended.wait(HANGING)


def test_results_and_errors_are_those_of_the_work():
    assert uninterrupted(divmod)(7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        uninterrupted(divmod)(7, 0)


def test_a_loop_is_compiled_outside_of_the_main_thread():
    """Where signals arrive; a thread that compiles for itself is not given another one."""

    def twice(x):
        return 2 * x

    loop = compiled(twice)
    found = []
    look_up = loop._cache.load_overload  # before compiling, and in the same thread
    loop._cache.load_overload = lambda *key: (
        found.append(threading.current_thread().name) or look_up(*key)
    )
    assert loop(1.5) == 3.0
    in_thread = threading.Thread(target=lambda: found.append(loop(np.int64(2))), name="its own")
    in_thread.start()
    in_thread.join()
    assert found[0] != threading.main_thread().name
    assert found[1:] == ["its own", 4]
