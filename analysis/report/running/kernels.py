"""Kernels that start warm: forked from one process that has already imported the libraries.

Importing NumPy, pandas, matplotlib and Numba takes longer than most short notebooks do. A fork
server imports them once; each kernel is a fork of it, with a folder, an environment and a limit of
memory of its own. To Jupyter it is a provisioner of kernels like others, named ``warm-provisioner``
in ``pyproject.toml``; a kernel, with all that it has started, ends when the process that asked for
it ends.
"""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import resource
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from multiprocessing import connection, forkserver
from pathlib import Path
from threading import Lock
from typing import Any, cast
from unittest.mock import patch

import psutil
from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning import LocalProvisioner

from analysis.report.paths import ROOT
from analysis.report.run import VARIABLE

#: What is imported before the first fork: libraries only, whose code no edit changes.
LIBRARIES = (
    "IPython.core.completer", "ipykernel.kernelapp", "joblib",
    "matplotlib.backends.backend_agg", "matplotlib.backends.backend_pdf",
    "matplotlib.backends.backend_svg", "matplotlib.pyplot", "matplotlib_inline.backend_inline",
    "numba", "numpy.testing", "pandas", "scipy.integrate", "scipy.interpolate", "scipy.linalg",
    "scipy.optimize", "scipy.signal", "scipy.sparse.linalg", "scipy.stats", "tqdm", "yaml",
)  # fmt: skip
#: One thread a kernel, for linear algebra (OpenMP, OpenBLAS, MKL, Accelerate) and for Numba:
#: notebooks run side by side, and sums keep their order.
_THREADED = ("OMP", "OPENBLAS", "MKL", "NUMBA")
THREADS = (*(f"{name}_NUM_THREADS" for name in _THREADED), "VECLIB_MAXIMUM_THREADS")
#: File in which a kernel keeps the CPU-seconds that Numba took in it, if it compiled anything.
COMPILATION = "compilation.txt"
#: File in which a kernel keeps what Python warned of in it, if it did.
WARNINGS = "warnings.txt"
_starting = Lock()


def kernel_environment(threads: int = 1) -> dict[str, str]:
    """Return the environment variables that a notebook's kernel needs."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    numbers = dict.fromkeys(THREADS, str(threads))
    return {**numbers, VARIABLE: ".", "PYTHONPATH": path, "MPLBACKEND": "agg"}


class WarmProvisioner(LocalProvisioner):
    """Starts a kernel as a fork; in all else a local process as Jupyter has them."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Fork a kernel in the folder ``cwd``, with the environment ``env``.

        Libraries read the number of their threads when they load: that of the first kernel of a
        process holds for all.
        """
        environment: Mapping[str, str] = kwargs["env"]
        with _starting, patch.dict(os.environ, environment):
            forkserver.set_forkserver_preload(list(LIBRARIES))
            forkserver.ensure_running()
        started = multiprocessing.get_context("forkserver").Process(
            target=_be_kernel,
            args=(
                cmd[cmd.index("ipykernel_launcher") + 1 :],
                kwargs.get("cwd") or os.getcwd(),
                dict(environment),
                kwargs.get("memory"),
                str(kwargs.get("log", os.devnull)),
            ),
        )
        started.start()
        assert started.pid is not None
        self.process = cast(Any, _Forked(started))
        self.pid = self.pgid = started.pid  # it leads a group of its own
        return self.connection_info

    def seconds(self) -> float:
        """Return the CPU-seconds that the kernel and its children have taken."""
        used = psutil.Process(self.pid).cpu_times()
        return used.user + used.system + used.children_user + used.children_system


class _Forked:
    """A forked process with the face of a `subprocess.Popen`, which Jupyter's code expects."""

    stdin = stdout = stderr = None

    def __init__(self, process: Any) -> None:
        self._process = process
        self.pid: int = process.pid

    def poll(self) -> int | None:
        """Return the exit status; nothing while it runs."""
        status: int | None = self._process.exitcode
        return status

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait for its end."""
        self._process.join(timeout)
        return self.poll()

    def send_signal(self, number: int) -> None:
        """Send a signal, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


def _be_kernel(
    arguments: Sequence[str],
    folder: str,
    environment: Mapping[str, str],
    memory: float | None,
    log: str,
) -> None:
    """Run a kernel in this process, a fork."""
    os.setsid()
    multiprocessing.set_start_method(None, force=True)  # what the notebook starts, as ever
    if memory:
        resource.setrlimit(resource.RLIMIT_AS, (int(memory * 2**30),) * 2)
    said = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(said, stream.fileno())
    asked = multiprocessing.parent_process()
    assert asked is not None
    _end_with(asked.sentinel)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path[:0] = [ROOT.as_posix()]

    _keep_compilation(Path(folder) / COMPILATION)
    _keep_warnings(Path(folder) / WARNINGS)
    # Imported objects are exempt from garbage collection: rescanning them took 10% of compilation.
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)

    import pandas as pd
    from ipykernel.kernelapp import launch_new_instance

    # pandas was imported outside IPython and chose terminal defaults: 20 is that of a notebook.
    pd.set_option("display.max_columns", 20)
    # No history of what notebooks ran, and no advice for those who start a kernel by hand.
    launch_new_instance([*arguments, "--HistoryManager.enabled=False", "--parent=1"])


def _keep_compilation(path: Path) -> None:
    """Write to a file, whenever Numba has compiled something here, what all of it has taken."""
    from numba.core import event

    class Compilation(event.Listener):  # type: ignore[misc]
        depth, began, taken = 0, 0.0, 0.0

        def on_start(self, event: Any) -> None:
            if self.depth == 0:
                self.began = time.process_time()
            self.depth += 1

        def on_end(self, event: Any) -> None:
            self.depth -= 1
            if self.depth == 0:
                self.taken += time.process_time() - self.began
                path.write_text(f"{self.taken:.1f}\n")

    event.register("numba:compile", Compilation())


def _keep_warnings(path: Path) -> None:
    """Write warnings to a file: on a page they would name folders of this machine.

    They need not come again either: linear algebra can raise flags of floating point for
    numbers that it reads and does not use, on some processors and in some runs.
    """
    logging.captureWarnings(True)
    said = logging.getLogger("py.warnings")
    said.addHandler(logging.FileHandler(path, delay=True, encoding="utf-8"))
    said.propagate = False


def _end_with(process: int) -> None:
    """End this process and all that it starts soon after another has ended, in whatever way.

    A process of its own watches: a thread would wait where compiled code holds the interpreter, and
    what joblib starts would live on for minutes. It ends what is left of the group, too, when the
    kernel alone is gone. Those that clear joblib's files away ignore the first signal.
    """
    kernel = os.getpid()
    if os.fork() == 0:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        while os.getppid() == kernel and not connection.wait([process], timeout=0.5):
            pass
        os.killpg(0, signal.SIGTERM)
        time.sleep(2)
        os.killpg(0, signal.SIGKILL)
