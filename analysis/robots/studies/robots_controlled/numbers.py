"""Values and tables of the page `robots-controlled`."""

from __future__ import annotations

import numpy as np

from analysis.arrays import Bools
from analysis.report import save_value
from analysis.robots.controlled.control import RobotControl
from analysis.robots.static.mm1k import static_cost
from analysis.robots.studies.robots_controlled.experiment import Results, are_curves

#: Robots and places of the process in the explorable, at most.
MOST_ROBOTS, MOST_PLACES = 20, 10


def of_view(model: RobotControl) -> dict[str, float]:
    """Return weight, robots and costs with which the explorable opens, the service rate being 1."""
    unit = model.service_rate
    robots, places = min(model.robots, MOST_ROBOTS), min(model.capacity, MOST_PLACES)
    rate, gamma = model.arrival_rate / unit, model.gamma / unit
    cost = RobotControl(robots, rate, 1.0, places, gamma).solve().gain
    always = float(static_cost(robots * rate, gamma, places))
    return {
        "view-weight": gamma,
        "view-robots": robots,
        "view-cost": cost,
        "view-always": always,
        "view-saving": 100 * (1 - cost / always),
    }


def save_predicates(found: Results, agree: Bools) -> None:
    """Save what the page's sentences depend on."""
    falls = bool((np.diff(list(found.updates.values())) < 0).all())
    save_value("robots-controlled-states", int((found.references[0].updates >= 0).sum()))
    save_value("robots-controlled-hits", int(agree.sum()))
    save_value("robots-controlled-fewer-updates", falls)
    save_value("robots-controlled-are-curves", are_curves(found.optima))
