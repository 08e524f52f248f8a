"""``python -m scorecard COMMAND --help``: the commands behind the Makefile.

Loading the libraries takes seconds. An interrupt during that time prints one sentence, too, and
needs no clean-up.
"""

import atexit
import os
import signal
import sys
from contextlib import ExitStack

from analysis import missing_extra
from scorecard.files import INTERRUPTED, own_temporary_folder


def _exit(*_: object) -> None:
    os.write(2, f"{INTERRUPTED}\n".encode())
    os._exit(130)


if __name__ == "__main__":
    # SIGTERM is handled like SIGINT. Shells make background jobs ignore SIGINT: keep that.
    handled = [signal.SIGTERM, signal.SIGINT]
    handled = [number for number in handled if signal.getsignal(number) != signal.SIG_IGN]
    for number in handled:
        signal.signal(number, _exit)
    if sys.platform == "win32":
        sys.exit("error: the book is built on Linux and macOS; on Windows use WSL")
    try:
        # At the end of the process this runs after the clean-up of libraries imported below, which
        # remove what they have in that folder.
        temporary = ExitStack()
        atexit.register(temporary.close)
        temporary.enter_context(own_temporary_folder())
        from scorecard.commands import main
    except ModuleNotFoundError as error:
        sys.exit(f"error: {missing_extra(error, 'book')}")

    # From here on KeyboardInterrupt: `main` stops the notebooks and removes temporary folders.
    for number in handled:
        signal.signal(number, signal.default_int_handler)
    sys.exit(main())
