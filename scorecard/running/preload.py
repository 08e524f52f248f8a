"""Imports into the fork server of kernels: the server imports this module before its first fork.

multiprocessing's fork server notices that its build has ended only when all imports are done, which
takes half a minute on a busy machine. This module ends it within half a second.
"""

from __future__ import annotations

import importlib
import os
import signal
from typing import Any

#: Environment variable with the process number of the build that has started the server.
BUILD = "FORK_SERVER_BUILD"
#: Modules that are imported before the first fork: libraries only, since edits of the book's own
#: code would not be seen.
LIBRARIES = (
    "IPython.core.completer", "ipykernel.kernelapp", "joblib",
    "matplotlib.backends.backend_agg", "matplotlib.backends.backend_pdf",
    "matplotlib.backends.backend_svg", "matplotlib.pyplot", "matplotlib_inline.backend_inline",
    "numba", "numpy.testing", "pandas", "scipy.integrate", "scipy.interpolate", "scipy.linalg",
    "scipy.optimize", "scipy.signal", "scipy.sparse.linalg", "scipy.stats", "tqdm", "yaml",
)  # fmt: skip


def _import_libraries(build: int) -> None:
    """Import the libraries, and end this process if the build ends meanwhile.

    The handler of an interval timer runs between two steps of Python, also during an import. Forks
    do not inherit the timer.
    """

    def end_without_build(*_: Any) -> None:
        if os.getppid() != build:
            os._exit(1)

    before = signal.signal(signal.SIGALRM, end_without_build)
    signal.setitimer(signal.ITIMER_REAL, 0.5, 0.5)
    try:
        for name in LIBRARIES:
            importlib.import_module(name)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


if BUILD in os.environ:
    _import_libraries(int(os.environ[BUILD]))
