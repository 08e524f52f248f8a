"""Kernels forked from a server process that has imported the libraries already.

Importing NumPy, pandas, matplotlib and Numba takes longer than most short notebooks do. A fork
server imports them once (`preload`); each kernel is a fork of it, with its own folder, environment
and memory limit. `WarmProvisioner` implements Jupyter's interface of kernel provisioners; it is
registered as ``warm-provisioner`` in ``pyproject.toml``. The server, the kernels and their child
processes end when the process that started them ends.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing import connection, forkserver
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from threading import Lock
from typing import Any, cast

import psutil
from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning import LocalProvisioner

from scorecard.files import ROOT, child_environment
from scorecard.record import VARIABLE
from scorecard.running import preload

#: Variables that set the number of threads of linear algebra (OpenMP, OpenBLAS, MKL, Accelerate)
#: and of Numba.
_THREADED = ("OMP", "OPENBLAS", "MKL", "NUMBA")
THREADS = (*(f"{name}_NUM_THREADS" for name in _THREADED), "VECLIB_MAXIMUM_THREADS")
#: File to which a kernel writes the CPU-seconds that Numba took to compile, if it compiled.
COMPILATION = "compilation.txt"
#: File with what a kernel writes to standard error: Python's warnings, above all.
WARNINGS = "warnings.txt"
_starting = Lock()


def kernel_environment(threads: int = 1) -> dict[str, str]:
    """Return the environment variables of a notebook's kernel."""
    return {
        **dict.fromkeys(THREADS, str(threads)),
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # of ipykernel's debugger, which nobody uses here
        VARIABLE: ".",
        "PYTHONPATH": child_environment()["PYTHONPATH"],
        "MPLBACKEND": "agg",
        "TMPDIR": tempfile.gettempdir(),
    }


@contextmanager
def _with_variables(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables of this process, which the fork server inherits, for a while."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


class WarmProvisioner(LocalProvisioner):
    """Jupyter's provisioner of local processes, except that a kernel is a fork."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Fork a kernel in the folder ``cwd``, with the environment ``env``.

        Libraries read their number of threads when they are imported: the number of the first
        kernel applies to all later ones.
        """
        environment: Mapping[str, str] = kwargs["env"]
        with _starting, _with_variables({**environment, preload.BUILD: str(os.getpid())}):
            forkserver.set_forkserver_preload([preload.__name__])
            forkserver.ensure_running()
        kernel = _ForkedKernel(
            target=_run_kernel,
            args=(
                cmd[cmd.index("ipykernel_launcher") + 1 :],
                kwargs.get("cwd") or os.getcwd(),
                dict(environment),
                kwargs.get("memory"),
                str(kwargs.get("log", os.devnull)),
            ),
        )
        kernel.start()
        assert kernel.pid is not None
        self.process = cast(Any, kernel)
        self.pid = self.pgid = kernel.pid  # it is the leader of its own process group
        return self.connection_info

    def seconds(self) -> float:
        """Return the CPU-seconds of the kernel and its child processes so far."""
        used = psutil.Process(self.pid).cpu_times()
        return used.user + used.system + used.children_user + used.children_system


class _ForkedKernel(ForkServerProcess):
    """A forked process with the methods of `subprocess.Popen` that Jupyter calls."""

    stdin = stdout = stderr = None

    def poll(self) -> int | None:
        """Return the exit status, or None while the process runs."""
        return self.exitcode

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait until the process ends, and return its exit status."""
        self.join(timeout)
        return self.exitcode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.exitcode is None and self.pid is not None:
            os.kill(self.pid, number)


def _run_kernel(
    arguments: Sequence[str],
    folder: str,
    environment: Mapping[str, str],
    memory: float | None,
    log: str,
) -> None:
    """Run a kernel in this process, which is a fork of the server."""
    os.setsid()
    multiprocessing.set_start_method(None, force=True)  # Python's default for the notebook
    if memory:
        resource.setrlimit(resource.RLIMIT_AS, (int(memory * 2**30),) * 2)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(output, stream.fileno())
    parent = multiprocessing.parent_process()
    assert parent is not None
    _exit_with(parent.sentinel)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path[:0] = [ROOT.as_posix()]

    _record_compilation_time(Path(folder) / COMPILATION)
    # Imported objects are exempt from garbage collection: rescanning them took 10% of compilation.
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)

    import pandas as pd
    from ipykernel.kernelapp import IPKernelApp

    class KernelApp(IPKernelApp):
        def init_io(self) -> None:
            super().init_io()
            # On a page the text would show paths of this machine, and is not reproducible: linear
            # algebra can raise floating-point flags for values that it reads and does not use.
            sys.stderr = (Path(folder) / WARNINGS).open("a", buffering=1, encoding="utf-8")

    # pandas was imported outside IPython and chose terminal defaults: 20 is that of a notebook.
    pd.set_option("display.max_columns", 20)
    # A name with dollar signs in a table is a text: no front end sets it as mathematics.
    pd.set_option("display.html.use_mathjax", False)
    # No history file; --parent suppresses the hint for kernels that are started by hand; what
    # libraries in C and child processes write goes to the log.
    options = ("HistoryManager.enabled=False", "parent=1", "KernelApp.capture_fd_output=False")
    KernelApp.launch_instance([*arguments, *(f"--{option}" for option in options)])


def _record_compilation_time(path: Path) -> None:
    """Write the CPU-seconds of all compilations so far to a file, after each compilation."""
    from numba.core import event

    class Compilation(event.Listener):  # type: ignore[misc]
        depth, began, seconds = 0, 0.0, 0.0

        def on_start(self, event: Any) -> None:
            if self.depth == 0:
                self.began = time.process_time()
            self.depth += 1

        def on_end(self, event: Any) -> None:
            self.depth -= 1
            if self.depth == 0:
                self.seconds += time.process_time() - self.began
                path.write_text(f"{self.seconds:.1f}\n")

    event.register("numba:compile", Compilation())


def _exit_with(process: int) -> None:
    """Kill this process group within half a second after another process has ended.

    A forked process watches; a thread could not run while compiled code holds the interpreter lock.
    It kills the group also if only the kernel has ended, because joblib's workers would run on for
    minutes. joblib's clean-up processes ignore SIGTERM, and get two seconds before SIGKILL.
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
