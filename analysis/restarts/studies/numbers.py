"""What the pages of this part share: the columns that name a system."""

from __future__ import annotations

SYSTEM = {
    "kernel": "generator of the kernels",
    "instance": "number of the system among those of its generator",
    "arms": "arms of the system, n",
    "budget": "arms active at each epoch, m",
}
