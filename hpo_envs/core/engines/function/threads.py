"""`ThreadedIterator`: an iterator in a thread of its own, so that its thread-local settings affect no other code."""

import ctypes
import os
import queue
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any


class ThreadedIterator:
    """Iterator whose steps all run in one thread, which ends with the iterator.

    Gradient mode and autocast of torch, settings of JAX, contexts of `decimal` and NumPy belong to a thread: a
    generator that is paused within `with torch.no_grad():` would change them for whatever runs next.

    Args:
        make: Function that returns the iterator; it is called in the thread.
    """

    def __init__(self, make: Callable[[], Iterator[Any]]) -> None:
        self._requests: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._replies: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()
        # The thread holds no reference to this object, so that it ends where the iterator is dropped.
        arguments = (make, self._requests, self._replies)
        self._thread, self._ended = threading.Thread(target=_serve, args=arguments, daemon=True), False
        self._thread.start()
        self._finalise = weakref.finalize(self, self._requests.put, False)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        """Return the next value, or raise the iterator's exception.

        An exception that interrupts the wait, such as KeyboardInterrupt, is also raised in the iterator's thread.
        """
        if self._ended or not self._thread.is_alive():
            raise StopIteration
        self._requests.put(True)
        try:
            value, error = self._replies.get()
        except BaseException as interruption:
            kind = ctypes.py_object(type(interruption))
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread.ident or 0), kind)
            raise
        if error is not None:
            self._ended = True
            raise error
        return value

    def close(self) -> None:
        """Close the iterator, as a generator's `close` does, and end its thread; wait for at most one second."""
        self._ended = True
        self._finalise()
        self._thread.join(1.0)


def _serve(make: Callable[[], Iterator[Any]], requests: Any, replies: Any) -> None:
    values: Iterator[Any] | None = None
    process = os.getpid()
    while requests.get():
        try:
            values = make() if values is None else values
            replies.put((next(values), None))
        except BaseException as error:
            replies.put((None, error))
            break
        if os.getpid() != process:  # a child that the iterator forked: nobody asks it for another value
            os._exit(0)
    getattr(values, "close", bool)()
