"""Execution of one notebook with papermill, in a kernel of its own."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

import nbformat
import papermill
from jupyter_client.manager import AsyncKernelManager
from nbclient.exceptions import DeadKernelError
from papermill.exceptions import PapermillExecutionError

from scorecard.running.kernels import WARNINGS, WarmProvisioner, kernel_environment

# papermill warns of parameter lines that it cannot parse; `notebooks` has checked them.
logging.getLogger("papermill").setLevel(logging.ERROR)

#: Number of times that a kernel is started while other processes take its ports.
STARTS = 3
NO_KERNEL, PORT_TAKEN = "its kernel:", "Address already in use"


@dataclass
class Kernels:
    """The kernels of a build; each thread of the runner executes one notebook at a time."""

    memory: float | None = None  # limit of the address space of each kernel, in GiB
    threads: int = 1  # number of threads of each kernel
    started: list[WarmProvisioner] = field(default_factory=list)
    stopped: Event = field(default_factory=Event)

    def execute(self, folder: Path) -> str:
        """Execute the notebook prepared in a folder: ``input.ipynb``, with ``run.json`` beside it.

        It writes ``notebook.ipynb``, without timestamps so that runs of the same inputs give the
        same bytes, and ``cpu.txt``, the CPU-seconds of the kernel.

        Returns the error, with the cell and the traceback; empty on success. A kernel whose port
        another process has taken since it was chosen is started again.
        """
        for _ in range(STARTS):
            error = self._execute_once(folder)
            if not (error.startswith(NO_KERNEL) and PORT_TAKEN in error):
                break
        return error

    def _execute_once(self, folder: Path) -> str:
        parameters = json.loads((folder / "run.json").read_text(encoding="utf-8"))["given"]
        manager = AsyncKernelManager(kernel_name="python3")
        warm = WarmProvisioner(parent=manager, kernel_spec=manager.kernel_spec)
        manager.provisioner = warm
        # Kernel output goes to the folder for temporary files: the disk of the build may be full.
        with tempfile.NamedTemporaryFile() as log:
            start: Any = manager.start_kernel(
                cwd=str(folder),
                env=kernel_environment(self.threads),
                memory=self.memory,
                log=log.name,
            )
            asyncio.run(start)
            self.started.append(warm)
            try:
                if self.stopped.is_set():
                    return "interrupted"
                notebook = papermill.execute_notebook(
                    folder / "input.ipynb",
                    None,
                    parameters=parameters,
                    km=manager,
                    kernel_name="python3",
                    progress_bar=False,
                    log_output=False,
                    request_save_on_cell_execute=False,
                )
                (folder / "cpu.txt").write_text(f"{warm.seconds():.1f}\n")
            except PapermillExecutionError as error:
                trace = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(error.traceback))
                return f"cell {error.cell_index}: {error.ename}: {error.evalue}\n{trace}"
            except (DeadKernelError, RuntimeError) as error:
                output = Path(log.name).read_text().strip()
                return "\n".join(filter(None, [f"{NO_KERNEL} {error}", output]))
            finally:
                # Send no shutdown request to a kernel that has ended: its sockets may be closed.
                ended = warm.process is None or warm.process.poll() is not None
                ending: Any = manager.shutdown_kernel(now=ended)
                asyncio.run(ending)
        _strip_timestamps(notebook)
        nbformat.write(notebook, folder / "notebook.ipynb")
        if not (folder / WARNINGS).stat().st_size:
            (folder / WARNINGS).unlink()
        return ""

    def stop(self) -> None:
        """Kill the running kernels; the waiting threads then fail and remove their folders."""
        self.stopped.set()
        for warm in self.started:
            if warm.process is not None:
                warm.process.kill()


def _strip_timestamps(notebook: nbformat.NotebookNode) -> None:
    notebook.metadata.pop("papermill", None)
    notebook.metadata["language_info"] = {"name": "python"}
    for cell in notebook.cells:
        cell.metadata.pop("papermill", None)
        cell.metadata.pop("execution", None)
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell["id"] = "injected-parameters"
