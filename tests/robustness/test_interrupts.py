"""Ctrl-C and other signals: a fit stops at once, and the command ends with one line."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

from rmgl import RMGL
from tests.commands import cluster, listing
from tests.processes import DEFAULT_SIGNALS, HANGING

pytestmark = pytest.mark.extended


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT to a process")
def test_ctrl_c_stops_at_once_and_leaves_no_thread(n_jobs):
    """A fit of hours (dual ascent with a tiny alpha) is interrupted in the middle of a solver, and
    ends without its result.
    """
    code = f"""
    import itertools, sys, threading
    import numpy as np
    from rmgl import RMGL
    from rmgl.layer.problem import LayerProblem

    at, passes = LayerProblem.at, itertools.count(1)

    def at_and_tell(self, u):
        if next(passes) == 100:  # all loops are compiled, and all threads at work
            print("solving", flush=True)
        return at(self, u)

    LayerProblem.at = at_and_tell
    X = [np.random.default_rng(m).normal(size=(1200, 5)) for m in range(2)]
    try:
        RMGL(3, alpha=1e-4, solver="dual-ascent", scale="none", n_jobs={n_jobs}, random_state=0).fit(X)
    except KeyboardInterrupt:
        stray = [t.name for t in threading.enumerate() if t.name.startswith("rmgl")]
        print("interrupted", stray, flush=True)
        sys.exit(0)
    """
    command = [sys.executable, "-W", "ignore", "-c", DEFAULT_SIGNALS + textwrap.dedent(code)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline().strip() == "solving"
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=HANGING)
    finally:
        process.kill()
    assert output.strip() == "interrupted []"
    assert process.returncode == 0


PROGRAMS = {
    "loading": """
        import sys, time
        from rmgl.__main__ import main

        class Mark:
            def find_spec(self, name, path, target=None):
                if name == "numpy":
                    print("now", flush=True)
                    time.sleep(1000)

        sys.meta_path.insert(0, Mark())
        main(sys.argv[1:])
        """,
    "fitting": """
        import sys, time
        from rmgl.__main__ import main
        from rmgl.model.run import Run

        def tell(self, row):
            print("now", flush=True)
            time.sleep(1000)

        Run.tell = tell
        main(sys.argv[1:])
        """,
}
"""Commands that say when they are in the middle of something, and wait there."""


@pytest.mark.skipif(os.name == "nt", reason="sends signals to a process")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("moment", PROGRAMS)
def test_a_signal_ends_the_command_with_one_line_and_nothing_half_written(
    two_blocks, data_file, tmp_path, number, code, moment
):
    # so that loops are on disk, and the command does not print that it compiles them
    RMGL(2, random_state=0).fit(two_blocks)
    options = [
        "-k",
        "2",
        "--no-plots",
        "-o",
        str(tmp_path / "out"),
        "--save",
        str(tmp_path / "m.rmgl"),
    ]
    command = [
        sys.executable,
        "-c",
        DEFAULT_SIGNALS + textwrap.dedent(PROGRAMS[moment]),
        "cluster",
        str(data_file),
        *options,
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "now\n"
        process.send_signal(number)
        _, error = process.communicate(timeout=HANGING)
    finally:
        process.kill()
    assert process.returncode == code
    assert error.strip() == "rmgl: stopped"
    assert listing(tmp_path) == ["data.npz"]


@pytest.mark.skipif(os.name == "nt", reason="sends signals to a process")
def test_a_signal_while_results_are_written_leaves_the_old_ones(data_file, tmp_path):
    out = tmp_path / "out"
    assert cluster(data_file, "-o", out) == 0
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    program = """
        import os, signal, sys
        import numpy as np
        from rmgl.__main__ import main
        save = np.save
        np.save = lambda *a, **k: (save(*a, **k), os.kill(os.getpid(), signal.SIGTERM))
        main(sys.argv[1:])
    """
    options = ["-k", "2", "--no-plots", "--force", "-o", str(out)]
    command = [
        sys.executable,
        "-c",
        DEFAULT_SIGNALS + textwrap.dedent(program),
        "cluster",
        str(data_file),
        *options,
    ]
    found = subprocess.run(command, capture_output=True, text=True, timeout=HANGING)
    assert found.returncode == 143
    assert found.stderr.strip() == "rmgl: stopped"
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.npz", "out"]
