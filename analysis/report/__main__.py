"""``python -m analysis.report COMMAND --help``: the commands behind the Makefile.

The libraries take seconds to load. An interrupt in these seconds is told in one sentence too, and
nothing has been begun that would have to be cleared away.
"""

import os
import signal
import sys

INTERRUPTED = "interrupted: the last good book is as it was"


def _leave(*_: object) -> None:
    os.write(2, f"{INTERRUPTED}\n".encode())
    os._exit(130)


if __name__ == "__main__":
    # A polite kill is an interrupt. What a shell lets its background jobs ignore stays ignored.
    asked = [signal.SIGTERM, signal.SIGINT]
    asked = [number for number in asked if signal.getsignal(number) != signal.SIG_IGN]
    for number in asked:
        signal.signal(number, _leave)
    from analysis.report.commands import main

    # Notebooks are stopped, and nothing half-made is left.
    for number in asked:
        signal.signal(number, signal.default_int_handler)
    sys.exit(main())
