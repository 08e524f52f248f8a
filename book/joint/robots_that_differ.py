"""The page `robots-that-differ`: two kinds of robots, prices and simple rules."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import stats

from analysis.robots import FleetControl, FleetSolution, RobotKind
from analysis.robots.fleet import LinearRule, tune_rules
from scorecard import COLOURS, add_legend, add_panels, save_figure, save_value

#: A loss below this part of the optimal cost is rounding.
ROUNDING = 1e-8

#: Rates and numbers of the fast and the slow robots of the example.
RATES, NUMBERS = (0.8, 0.3), (2, 3)


def example_system(gamma: float, capacity: int, price: float) -> FleetControl:
    """Return two fast and three slow robots, where a start of a fast one costs `price`."""
    kinds = (RobotKind(RATES[0], NUMBERS[0], RATES[0] * price), RobotKind(RATES[1], NUMBERS[1]))
    return FleetControl(kinds, 1.0, capacity, gamma)


def scan_prices(gamma: float, capacity: int, most: float, points: int) -> pd.DataFrame:
    """Return costs and mean active robots of the example by the price of a fast robot's start."""
    rows = []
    for price in np.linspace(0.0, most, points):
        model = example_system(gamma, capacity, float(price))
        best = model.solve()
        orders = [model.solve(order=order).gain for order in ((0, 1), (1, 0))]
        linear = model.evaluate(tune_rules(model)[1].policy(model)).gain
        rows.append((price, best.gain, *orders, linear, *best.mean_robots))
    names = ["price", "optimum", "fast first", "slow first", "linear", "fast", "slow"]
    return pd.DataFrame(rows, columns=names)


def sample_system(rng: np.random.Generator, *, prices: bool) -> FleetControl:
    """Return a random system, the fast kind first.

    The queue has two to four places, each kind one to three robots, mu = 1. The rate of a fast
    robot is 10^u, u uniform on (-1, 0.5); a slow one has a uniform part of it, from 0.1 to 0.9;
    gamma is 10^v, v uniform on (0, 1.3). With prices the start of a robot costs a uniform part of
    gamma, up to a quarter, drawn for each kind on its own.
    """
    capacity = int(rng.integers(2, 5))
    numbers = rng.integers(1, 4, 2).tolist()
    fast = 10.0 ** rng.uniform(-1, 0.5)
    rates = (fast, fast * rng.uniform(0.1, 0.9))
    gamma = 10.0 ** rng.uniform(0, 1.3)
    starts = gamma * rng.uniform(0, 0.25, 2) * prices
    kinds = tuple(
        RobotKind(rate, number, rate * price)
        for rate, number, price in zip(rates, numbers, starts.tolist(), strict=True)
    )
    return FleetControl(kinds, 1.0, capacity, gamma)


def compute_losses(instances: int, seed: int, *, prices: bool) -> pd.DataFrame:
    """Return losses of simple controls on random systems, as parts of the optimal cost.

    Columns fast first: the best control that starts a slow robot after a departure only where no
    fast one is idle; one order: the better of this and of its mirror image; line: the tuned rule
    with weights and one threshold; linear: with a threshold for each kind.
    """
    rng = np.random.default_rng([seed, int(prices)])
    rows = []
    for _ in range(instances):
        model = sample_system(rng, prices=prices)
        best = model.solve()
        orders = order_losses(model, best)
        tuned = [rule_loss(model, rule, best.gain) for rule in tune_rules(model)]
        rows.append((orders[0], min(orders), *tuned))
    return pd.DataFrame(rows, columns=["fast first", "one order", "line", "linear"])


def rule_loss(model: FleetControl, rule: LinearRule, optimum: float) -> float:
    """Return the excess cost of a rule over the optimum, as a share of the optimum."""
    return max(model.evaluate(rule.policy(model)).gain / optimum - 1, 0.0)


def order_losses(model: FleetControl, best: FleetSolution) -> tuple[float, float]:
    """Return the losses of the best controls that start fast robots first, and slow ones first."""
    lost = []
    for first in (0, 1):
        active = np.indices(model.shape)[1 + first]
        idle = active < model.kinds[first].available
        if ((best.start == 1 - first) & idle).any():
            lost.append(max(model.solve(order=(first, 1 - first)).gain / best.gain - 1, 0.0))
        else:
            lost.append(0.0)  # the optimum itself keeps this order
    return lost[0], lost[1]


# Values and tables


NAME = "robots-that-differ"


def save_scan_values(scan: pd.DataFrame) -> None:
    """Save what the orders and the rule lose over the prices of the example."""
    for kind, rate, number in zip(("fast", "slow"), RATES, NUMBERS, strict=True):
        save_value(f"{NAME}-{kind}-rate", rate)
        save_value(f"{NAME}-{kind}-number", number)
    for name in ("fast first", "slow first", "linear"):
        lost = scan[name] / scan["optimum"] - 1
        save_value(f"{NAME}-scan-{name.replace(' ', '-')}", max(float(lost.max()), 0.0))


def save_loss_values(free: pd.DataFrame, priced: pd.DataFrame) -> None:
    """Save shares with their intervals, and medians, 90% points and largest losses."""
    save_value(f"{NAME}-instances", len(free))
    slow = pd.concat([free, priced])["fast first"] > ROUNDING
    save_value(f"{NAME}-slow-somewhere", bool(slow.any()))
    for variant, losses in (("free", free), ("priced", priced)):
        save_share(f"{NAME}-{variant}-slow", losses["fast first"] > ROUNDING)
        save_share(f"{NAME}-{variant}-mixed", losses["one order"] > ROUNDING)
        save_share(f"{NAME}-{variant}-exact", losses["linear"] <= ROUNDING)
        for name in losses:
            stem = f"{NAME}-{variant}-{str(name).replace(' ', '-')}"
            save_value(f"{stem}-median", float(losses[name].median()))
            save_value(f"{stem}-tenth", float(losses[name].quantile(0.9)))
            save_value(f"{stem}-most", float(losses[name].max()))


def save_share(name: str, holds: pd.Series) -> None:
    """Save a share of random systems, with Wilson's 95% interval and its ends."""
    count, total = int(holds.sum()), len(holds)
    low, high = stats.binomtest(count, total).proportion_ci(0.95, method="wilson")
    save_value(name, count / total, interval=(low, high), replications=total)
    save_value(f"{name}-low", float(low))
    save_value(f"{name}-high", float(high))


# Figures


LOOKS = (
    ("fast first", "fast first, at its best", ":", COLOURS[3]),
    ("one order", "better of the two orders", "-.", COLOURS[2]),
    ("line", "linear rule, one threshold", "--", COLOURS[1]),
    ("linear", "linear rule, two thresholds", "-", COLOURS[0]),
)


def draw_scan(scan: pd.DataFrame) -> None:
    """Draw costs and active robots of the example against the price of a start."""
    first, last = scan.iloc[0], scan.iloc[-1]
    worst = {n: scan[n].div(scan["optimum"]).max() - 1 for n in ("fast first", "slow first")}
    linear = scan["linear"].div(scan["optimum"]).max() - 1

    def draw(figure: Figure) -> pd.DataFrame:
        axes = add_panels(figure, 2)
        for name, style, colour in (
            ("fast first", ":", COLOURS[3]),
            ("slow first", "-.", COLOURS[2]),
            ("linear", "--", COLOURS[1]),
        ):
            lost = 100 * (scan[name] / scan["optimum"] - 1)
            axes[0].plot(scan["price"], lost, style, color=colour, label=name)
        axes[0].set(ylabel="loss against the optimum (%)")
        axes[0].legend()
        for name, style, colour in (("fast", "-", COLOURS[4]), ("slow", "--", COLOURS[5])):
            axes[1].plot(scan["price"], scan[name], style, color=colour, label=name)
        axes[1].set(ylabel="mean active robots at the optimum", ylim=(0, None))
        axes[1].legend()
        for axis in axes:
            axis.set(xlabel="price of the start of a fast robot (lost pages)")
        return scan

    save_figure(
        "robots-that-differ-price",
        draw,
        caption="What the best controls with a fixed order of the kinds, and the tuned linear rule "
        "with a threshold for each kind, lose against the optimum (first), and how many robots of "
        "each kind the optimum has active (second), by the price of the start of a fast robot.",
        alt=f"Losses reach {worst['fast first']:.1%} with the fast kind first, "
        f"{worst['slow first']:.1%} with the slow kind first, {max(linear, 0.0):.2%} by the linear "
        f"rule. At the lowest price {first['fast']:.2f} fast and {first['slow']:.2f} slow robots "
        f"are active on average, at the highest {last['fast']:.2f} and {last['slow']:.2f}.",
        height=3.8,
    )


def draw_losses(free: pd.DataFrame, priced: pd.DataFrame) -> None:
    """Draw the losses on random systems in rising order, without and with prices."""
    share = (np.arange(len(free)) + 0.5) / len(free)
    highest = 100 * max(free.to_numpy().max(), priced.to_numpy().max())
    worst = [
        f"{title}, the fast kind first loses up to {losses['fast first'].max():.1%} and the linear "
        f"rule with two thresholds up to {losses['linear'].max():.1%}"
        for title, losses in (("Without prices", free), ("With prices", priced))
    ]

    def draw(figure: Figure) -> pd.DataFrame:
        axes = add_panels(figure, 2, sharey=True)
        data = {"share of the systems": share}
        for axis, losses, title in zip(axes, (free, priced), ("no prices", "prices"), strict=True):
            for name, label, style, colour in LOOKS:
                lost = np.sort(losses[name].to_numpy())
                axis.plot(share, 100 * lost, style, color=colour, label=label)
                data[f"{name}, {title}"] = lost
            axis.set(xlabel="share of the systems", title=title)
            axis.set_yscale("symlog", linthresh=0.01)
        axes[0].set_ylim(0, max(1.5 * highest, 0.02))
        figure.supylabel("loss against the optimum (%)")
        add_legend(figure)
        return pd.DataFrame(data)

    save_figure(
        "robots-that-differ-losses",
        draw,
        caption="Losses against the exact optimum on random systems, in rising order, without "
        "prices (first) and with a price of the start of each kind (second); linear below 0.01%.",
        alt=f"Two panels of four rising curves over {len(free)} systems each. {worst[0]}. "
        f"{worst[1]}.",
        height=4.0,
    )
