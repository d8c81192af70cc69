"""A limit on the time that an answer may take."""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn


class TookTooLong(BaseException):
    """The error that ends an answer. It's no Exception, so an `except Exception` of the answer doesn't catch it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TookTooLong in the body if it isn't done after some seconds.

    In the main thread of Linux and macOS a signal ends waiting too. Elsewhere the error comes between two steps of
    Python. In a browser, which has neither signals nor threads, there's no limit.
    """
    has_timer = hasattr(signal, "setitimer") and hasattr(signal, "SIGALRM")
    if has_timer and threading.current_thread() is threading.main_thread():
        limit = _by_signal(seconds)
    else:
        limit = _by_thread(seconds)
    with limit:
        yield


@contextmanager
def _by_signal(seconds: float) -> Iterator[None]:
    def end(number: int, frame: Any) -> NoReturn:
        raise TookTooLong

    handler = signal.signal(signal.SIGALRM, end)
    left, interval = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left, interval)
        signal.signal(signal.SIGALRM, handler)


@contextmanager
def _by_thread(seconds: float) -> Iterator[None]:
    here, lock = ctypes.c_ulong(threading.get_ident()), threading.Lock()
    is_over = is_due = False

    def end() -> None:
        nonlocal is_due
        with lock:
            if not is_over:
                is_due = True
                ctypes.pythonapi.PyThreadState_SetAsyncExc(here, ctypes.py_object(TookTooLong))

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    try:
        timer.start()
    except RuntimeError:  # no threads here
        yield
        return
    try:
        yield
    finally:
        with lock:
            is_over = True
        timer.cancel()
        # An error that Python hasn't raised yet comes at the end of a round. Clearing it with None isn't possible: that
        # sets a flag in Python 3.11 which nothing resets, and then a traced program hangs.
        for _ in range(2 * is_due):
            pass
