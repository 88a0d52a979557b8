"""Interrupts while tasks run in other processes."""

import signal
import threading
from concurrent.futures import Executor, Future

import pytest

from fe_data.dataset import executors


class Interrupting(threading.Condition):
    """The lock of a future, with an interrupt at the moment when the main thread has taken it."""

    def __enter__(self):
        taken = super().__enter__()
        if threading.current_thread() is threading.main_thread():
            signal.raise_signal(signal.SIGINT)
        return taken


class Manager(Executor):
    """Finishes tasks in another thread, as process pools do."""

    def submit(self, function, task):
        self.future = Future()
        self.future._condition = Interrupting()
        self.timer = threading.Timer(0.05, self.future.set_result, [function(task)])
        self.timer.daemon = True
        self.timer.start()
        return self.future


def test_an_interrupt_leaves_no_lock_of_a_future_taken():
    """The thread that manages the workers waited for the lock for ever, and the program with it."""
    manager = Manager()
    with pytest.raises(KeyboardInterrupt):
        list(executors._results(manager, abs, [-1], 1, {}))
    free = []

    def take():
        taken = manager.future._condition.acquire(timeout=5.0)
        free.append(taken)
        if taken:
            manager.future._condition.release()

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    assert free == [True]
    manager.timer.join(timeout=5.0)
    assert not manager.timer.is_alive()
