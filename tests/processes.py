"""Programs that tests run in processes of their own."""

import os
import subprocess
import sys
import textwrap

HANGING = 1800
"""Seconds after which something hangs, also on a machine that is busy with other work. Nothing else
depends on it.
"""

DEFAULT_SIGNALS = """\
import signal
if hasattr(signal, "pthread_sigmask"):
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.SIG_DFL)
"""
"""First lines of a program that is sent signals: a process inherits ignored ones, as in the
background of a shell script.
"""


def python(code, *arguments, check=True, environment=None):
    """Run some code in a process of its own, in which all warnings of this package are shown."""
    command = [
        sys.executable,
        "-W",
        "always::UserWarning",
        "-c",
        textwrap.dedent(code),
        *map(str, arguments),
    ]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=check,
        timeout=HANGING,
        env=os.environ | (environment or {}),
    )
