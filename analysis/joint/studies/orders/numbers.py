"""Numbers in the prose of the page `orders`."""

from __future__ import annotations

import pandas as pd

from analysis.joint.studies.orders.experiment import Check, estimates, gain
from analysis.report import apart, save_value
from analysis.results import Estimate


def save_estimate(name: str, found: Estimate) -> None:
    """Save a mean with its interval, and the ends of this for sentences."""
    ends = (found.low, found.high)
    save_value(f"orders-{name}", found.value, interval=ends, replications=found.replications)
    for end, value in zip(("low", "high"), ends, strict=True):
        save_value(f"orders-{name}-{end}", value)


def save_bounds(phase: float, delay: float, free: float, price: float) -> None:
    """Save the bounds with and without phases, that without an engine, and the dual price."""
    for name, value in (("phase", phase), ("delay", delay), ("free", free), ("price", price)):
        save_value(f"orders-bound-{name}", value)
    save_value("orders-bound-closer", 1 - phase / delay)


def save_by_order(frame: pd.DataFrame, bound: float) -> None:
    """Save what order and awareness of the queue are worth."""
    means = estimates(frame, ["policy", "order"]).set_index(["policy", "order"])["reward"]
    first = means.xs("first come", level="order")
    aware = str(first.drop("blind").idxmax())
    blind = ("blind", "first come")
    gains = {
        "order": gain(frame, ("blind", "worth"), blind),
        "aware": gain(frame, (aware, "first come"), blind),
        "held": gain(frame, ("queue, half price", "worth"), ("blind", "worth")),
        "price": gain(frame, ("queue, dual price", "first come"), blind),
    }
    for name, found in gains.items():
        save_estimate(f"gain-{name}", found)
    runs_differ = {name: apart(found.low, found.high, "z.1f") for name, found in gains.items()}
    save_value("orders-gains-differ", runs_differ["order"] and runs_differ["aware"])
    save_value("orders-held-differs", runs_differ["held"])
    save_value("orders-price-differs", runs_differ["price"])
    priced = float(means["queue, dual price", "first come"])
    save_value("orders-priced", priced)
    save_value("orders-priced-share", priced / bound)
    save_estimate(
        "gain-preempt", gain(frame, ("blind", "last come, pre-emptive"), ("blind", "last come"))
    )
    save_estimate("gain-worth", gain(frame, ("blind", "worth"), ("blind", "last come")))
    small = [
        gain(frame, ("blind", order), ("blind", "last come"))
        for order in ("last come, pre-emptive", "worth")
    ]
    save_value("orders-gains-have-width", all(apart(g.low, g.high, "z.2f") for g in small))
    idle = frame[frame["policy"] == "queue, dual price"]["idle"].mean()
    save_value("orders-idle", float(idle))
    save_value("orders-best", float(means.max()))
    save_value("orders-best-share", float(means.max() / bound))
    save_value("orders-blind", float(means[blind]))
    save_value("orders-blind-share", float(means[blind] / bound))
    save_value("orders-worth", float(means["blind", "worth"]))
    save_value("orders-worth-share", float(means["blind", "worth"] / bound))
    ordered = means["blind", "worth"] - means[blind] > first.max() - first["blind"]
    save_value("orders-order-first", bool(ordered))


def save_by_places(frame: pd.DataFrame) -> None:
    """Save at how many places the blind index earns most, and what more of them cost it."""
    means = estimates(frame, ["policy", "order", "places"])
    blind = means[(means["policy"] == "blind") & (means["order"] == "first come")]
    top, last = blind.sort_values("reward").iloc[-1], blind.iloc[-1]
    save_value("orders-places-best", int(top["places"]))
    save_value("orders-places-most", int(last["places"]))
    save_value("orders-places-top", float(top["reward"]))
    save_value("orders-places-last", float(last["reward"]))
    save_value("orders-places-hurt", bool(last["high"] < top["low"]))
    worth = means[means["order"] == "worth"]["reward"]
    save_value("orders-places-worth", bool((worth.diff()[1:] > -1e-3 * worth.max()).all()))
    save_value("orders-places-replications", int(frame["run"].nunique()))


def save_check(found: Check) -> None:
    """Save the exact gain of a small system and that of the simulation."""
    save_value("orders-exact", found.exact)
    save_estimate("simulated", found.simulated)
