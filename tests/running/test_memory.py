"""How much memory is left, from files and limits that a test makes up."""

import sys
import threading

import pytest

from rmgl.running import threads
from rmgl.running.threads import BUFFERS, GIB, MIB, amount, require_memory


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """A system that says nothing about memory."""
    monkeypatch.setattr(threads, "PROCESS", tmp_path / "process")
    monkeypatch.setattr(threads, "CONTROL_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(threads, "_system_memory", lambda: None)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0.0 MiB"),
        (-5, "0.0 MiB"),
        (MIB, "1.0 MiB"),
        (GIB - 1, "1024.0 MiB"),
        (GIB, "1.0 GiB"),
        (5 * GIB // 2, "2.5 GiB"),
    ],
)
def test_amounts_have_units(size, text):
    assert amount(size) == text


def test_the_least_of_what_is_known_is_available(monkeypatch):
    for name, value in (
        ("_system_memory", 500),
        ("_control_group_memory", None),
        ("_address_space_beside_buffers", 300),
    ):
        monkeypatch.setattr(threads, name, lambda value=value: value)
    assert threads.available_memory() == 300
    monkeypatch.setattr(threads, "_control_group_memory", lambda: 200)
    assert threads.available_memory() == 200


def test_where_nothing_is_known_nothing_is_refused(nowhere):
    assert threads.available_memory() is None
    require_memory(10**30, "numbers")


def test_a_refusal_says_what_is_needed_what_there_is_and_what_to_do(monkeypatch):
    monkeypatch.setattr(threads, "available_memory", lambda: 2 * MIB)
    require_memory(2 * MIB, "numbers")
    with pytest.raises(
        MemoryError,
        match=r"numbers need at least 3.0 GiB of memory, but only 2.0 MiB is available: use fewer rows \(a sample\), ",
    ):
        require_memory(3 * GIB, "numbers")
    with pytest.raises(
        MemoryError,
        match=(
            "available: leave out columns, use a machine with more memory, or raise the memory "
            "limit"
        ),
    ):
        require_memory(2 * MIB + 1, "numbers", "leave out columns")


def test_the_system_says_something():
    available = threads._system_memory()
    if sys.platform.startswith("linux"):
        assert available > 0
    else:
        assert available is None or available > 0


def test_physical_memory_where_there_is_no_list(monkeypatch):
    class Unreadable:
        def __init__(self, *parts):
            pass

        def read_text(self):
            raise OSError

    monkeypatch.setattr(threads, "Path", Unreadable)
    monkeypatch.setattr(
        threads.os,
        "sysconf",
        {"SC_PHYS_PAGES": 10, "SC_PAGE_SIZE": 4096}.__getitem__,
        raising=False,
    )
    assert threads._system_memory() == 40960

    def unknown(name):
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr(threads.os, "sysconf", unknown, raising=False)
    assert threads._system_memory() is None


def test_no_limits_on_a_system_without_them(monkeypatch):
    monkeypatch.setattr(threads, "resource", None)
    assert threads.address_space() is None
    assert threads.room_for_threads() is None
    assert threads._address_space_beside_buffers() is None


def test_other_threads_may_still_need_their_buffers(monkeypatch):
    monkeypatch.setattr(threads, "address_space", lambda: 10 * GIB)
    monkeypatch.setattr(threading, "active_count", lambda: 5)
    assert threads._address_space_beside_buffers() == 10 * GIB - 4 * BUFFERS // 2


@pytest.mark.parametrize(
    ("left", "number"), [(0, 1), (BUFFERS, 1), (8 * (BUFFERS + threads.THREAD), 4)]
)
def test_threads_fit_into_half_of_what_is_left(left, number, monkeypatch):
    monkeypatch.setattr(threads, "address_space", lambda: left)
    assert threads.room_for_threads() == number


def test_too_little_address_space_for_linear_algebra_is_an_error(monkeypatch):
    take_buffers = threads.take_buffers.__wrapped__
    monkeypatch.setattr(threads, "address_space", lambda: BUFFERS - 1)
    with pytest.raises(
        MemoryError,
        match=r"linear algebra needs 96.0 MiB of address space, but .* leaves 96.0 MiB: raise the limit",
    ):
        take_buffers()
    for enough in (BUFFERS, None):
        monkeypatch.setattr(threads, "address_space", lambda enough=enough: enough)
        assert take_buffers() is None


def test_groups_without_a_list_of_them_are_the_root(nowhere):
    assert [group for group, _ in threads._control_groups()] == [
        threads.CONTROL_GROUPS,
        threads.CONTROL_GROUPS / "unified",
    ]
    assert threads._control_group_memory() is None
