r"""Entries of a timetable as lines of a crontab.

Each line computes the number of the epoch from 1970-01-01 00:00 UTC on, since the fields of
cron know no gap that does not divide an hour or a day.
"""

from __future__ import annotations

from shlex import quote


def cron_line(name: str, gap: int, phase: int, command: str, minutes: int) -> str:
    r"""Return the line of an entry: epochs of some minutes; `name` follows `command`, quoted.

    >>> cron_line("1", 2, 0, "fetch", 60)
    '0 * * * * [ $(( $(date +\\%s) / 3600 \\% 2 )) -eq 0 ] && fetch 1\n'
    """
    field = "0" if minutes % 60 == 0 else f"*/{minutes}" if 60 % minutes == 0 else "*"
    seconds, step = (60 * minutes, 1) if field != "*" or minutes == 1 else (60, minutes)
    if minutes > 60 and field == "0":
        seconds, step = 3600, minutes // 60
    test = f"$(( $(date +\\%s) / {seconds} \\% {gap * step} )) -eq {phase * step}"
    return f"{field} * * * * [ {test} ] && {command} {quote(name)}\n"
