"""Processes that are killed, and two that want the same: nothing is lost, nothing half-written
stays.
"""

import shutil
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from rmgl import RMGL
from rmgl.archive.archive import write_archive
from tests.commands import cluster, listing, refusal
from tests.conftest import planted_views
from tests.processes import HANGING, python

pytestmark = pytest.mark.extended


# Drafts of dead processes


def killed_writer(folder, ending="os.kill(os.getpid(), 9)"):
    """A process that dies while it writes."""
    code = f"""
        import os, sys, time
        from rmgl.archive.atomic import new_folder
        with new_folder(sys.argv[1], replace=True) as draft:
            (draft / "half.txt").write_text("half")
            print("writing", flush=True)
            {ending}
    """
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), str(folder)],
        stdout=subprocess.PIPE,
        text=True,
    )


def test_what_a_killed_process_left_is_removed_by_the_next_run(data_file, tmp_path):
    out = tmp_path / "out"
    assert killed_writer(out).wait(HANGING) == -signal.SIGKILL
    assert len([path for path in tmp_path.iterdir() if path.name.startswith(".out")]) == 1
    assert cluster(data_file, "-o", out) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.npz", "out"]


def test_the_draft_of_a_live_process_is_left_alone(data_file, tmp_path):
    out = tmp_path / "out"
    process = killed_writer(out, "time.sleep(1000)")
    try:
        assert process.stdout.readline() == "writing\n"
        (draft,) = [path for path in tmp_path.iterdir() if path.name.startswith(".out")]
        assert cluster(data_file, "-o", out) == 0
        assert (draft / "new" / "half.txt").read_text() == "half"
    finally:
        process.kill()
        process.wait(HANGING)
    assert cluster(data_file, "-o", out, "--force") == 0
    assert not draft.exists()


def test_a_kill_between_the_two_renames_is_put_right_by_the_next_run(data_file, tmp_path, capsys):
    out = tmp_path / "out"
    assert cluster(data_file, "-o", out) == 0
    before = (out / "labels.csv").read_bytes()
    code = """
        import os, sys
        from pathlib import Path
        from rmgl.archive.atomic import new_folder
        rename = Path.rename
        Path.rename = lambda self, target: os.kill(os.getpid(), 9) if self.name == "new" else rename(self, target)
        with new_folder(sys.argv[1], replace=True) as draft:
            pass
    """
    assert python(code, out, check=False).returncode == -signal.SIGKILL
    assert not out.exists()
    capsys.readouterr()
    assert cluster(data_file, "-o", out) == 2
    refusal(capsys, "already exists")
    assert (out / "labels.csv").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.npz", "out"]


def test_a_killed_step_of_a_checkpoint_is_cleared_with_it(tmp_path):
    from rmgl.model.run import remove_checkpoint

    steps = tmp_path / "steps"
    steps.mkdir()
    write_archive(steps / "a.step", [1], format="test")
    assert killed_writer(steps / "b.step").wait(HANGING) == -signal.SIGKILL
    remove_checkpoint(steps)
    assert listing(tmp_path) == []


# Fits


MORTAL = """
import os, signal, sys
signal.signal(signal.SIGPROF, signal.SIG_DFL)
signal.setitimer(signal.ITIMER_PROF, float(sys.argv[1]))  # then the process ends, wherever it is; 0 for never
from rmgl.__main__ import main
try:
    main(sys.argv[2:])
finally:
    print(sum(os.times()[:2]))
"""
"""The command line with a number of seconds to live. They are seconds of work, so that it makes no
difference what else the machine does.
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that ends a process")
@pytest.mark.parametrize("most", [3, pytest.param(10, marks=pytest.mark.fuzz)])
def test_kills_at_random_moments_and_the_same_result(most, digits, tmp_path):
    np.savez(tmp_path / "digits.npz", **{name: X[::2] for name, X in digits.views.items()})

    def run(folder, *options, seconds=0.0):
        command = [
            sys.executable,
            "-W",
            "ignore",
            "-c",
            MORTAL,
            seconds,
            "cluster",
            tmp_path / "digits.npz",
            "-k",
            10,
        ]
        command += ["-o", tmp_path / folder, "--no-plots", "--neighbors", 10, *options]
        return subprocess.run(
            [*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def seconds_of(done):
        return float(done.stdout.splitlines()[-1])

    whole = run("whole")
    assert whole.returncode == 0
    whole_seconds = seconds_of(whole)
    steps = tmp_path / "steps"
    rng = np.random.default_rng()
    kills, survived, killed_late = 0, False, False
    while kills < most and not survived:
        seconds = rng.uniform(0.3, 0.9 if kills else 0.6) * whole_seconds
        done = run("pieces", "--checkpoint", steps, seconds=seconds)
        code = done.returncode
        assert code in (0, -signal.SIGPROF)
        # shorter than the first run, which may have compiled loops: it is the one to measure by
        if code == 0 and kills == 0:
            whole_seconds = seconds_of(done)
            shutil.rmtree(tmp_path / "pieces")
            continue
        kills += code != 0
        killed_late = code != 0 and (tmp_path / "pieces").exists()  # killed when all was written
        survived = code == 0 or killed_late
    if not survived:
        assert run("pieces", "--checkpoint", steps).returncode == 0
    print(f"killed {kills} times")
    assert kills >= 1
    assert (tmp_path / "pieces" / "labels.csv").read_bytes() == (
        tmp_path / "whole" / "labels.csv"
    ).read_bytes()
    np.testing.assert_array_equal(
        np.load(tmp_path / "pieces" / "embedding.npy"),
        np.load(tmp_path / "whole" / "embedding.npy"),
    )
    left = {path.name for path in tmp_path.iterdir() if not path.name.startswith(".")}
    assert left - {"steps"} == {"digits.npz", "pieces", "whole"}
    assert killed_late or "steps" not in left


# Two runs and one checkpoint


RACE = textwrap.dedent(
    """
    import sys, time
    import numpy as np
    from pathlib import Path
    from rmgl import RMGL
    folder, who, seed = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=150)
    X = [6 * np.eye(4)[y] + rng.normal(size=(150, 4)) for _ in range(2)]
    whole = RMGL(3, random_state=0).fit(X).labels_
    (folder / f"ready-{who}").touch()
    while not (folder / "go").exists():
        time.sleep(0.001)
    try:
        labels = RMGL(3, random_state=0).fit(X, checkpoint=folder / "steps").labels_
    except ValueError as error:
        print("refused", error)
    else:
        print("right" if (labels == whole).all() else "WRONG")
    """
)


@pytest.mark.parametrize("seeds", [(1, 2), (1, 1)])
def test_two_runs_at_once_never_share_a_checkpoint(seeds, tmp_path):
    """On different data, and on the same: each ends with its own result or is refused, and one at
    least ends.
    """
    for trial in range(3):
        folder = tmp_path / str(trial)
        folder.mkdir()
        command = [sys.executable, "-W", "ignore", "-c", RACE, str(folder)]
        runs = [
            subprocess.Popen([*command, who, str(seed)], stdout=subprocess.PIPE, text=True)
            for who, seed in zip("ab", seeds, strict=True)
        ]
        try:
            while not all((folder / f"ready-{who}").exists() for who in "ab"):
                assert all(run.poll() is None for run in runs)
                time.sleep(0.01)  # leaves the cores to the runs
            (folder / "go").touch()
            found = [run.communicate(timeout=HANGING)[0].strip() for run in runs]
        finally:
            for run in runs:
                run.kill()
        assert all(text == "right" or text.startswith("refused") for text in found), found
        assert "right" in found, found
        for text in found:
            assert (
                text == "right"
                or "is in use by another run" in text
                or "has a run with different data" in text
            ), found


def test_a_lock_ends_with_its_process(tmp_path):
    """A process that was killed leaves its lock file behind, and nobody in the way."""
    code = f"""
    import os, signal
    from rmgl.model.run import FolderLock
    from pathlib import Path
    FolderLock(Path({str(tmp_path)!r})).acquire()
    os.kill(os.getpid(), signal.SIGKILL)
    """
    assert python(code, check=False).returncode == -signal.SIGKILL
    assert (tmp_path / ".holder").exists()
    RMGL(3, random_state=0).fit(planted_views()[0], checkpoint=tmp_path)
