"""A piece of work in a process of its own that is killed at one of its touches of the disk."""

import os
import signal
import sys

TOUCHES = {"open", "os.rename", "os.mkdir", "os.rmdir", "os.remove"}


def killed_at(moment, work):
    """Do some work in a process that is killed at its n-th open, rename, mkdir or removal.

    Return whether it was killed; work with fewer of them runs to its end.
    """
    child = os.fork()
    if child == 0:
        seen = 0

        def count(event, _):
            nonlocal seen
            if event in TOUCHES:
                seen += 1
                if seen == moment:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
        sys.addaudithook(count)
        work()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)
