"""The index policy for millions of sources."""

from analysis.ephemeral.scheduler.core import Scheduler

__all__ = ["Scheduler"]
