"""The page `robots-and-sources`: switching curves, running costs, random systems."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.arrays import Ints
from analysis.ephemeral import Sources
from analysis.joint import Engine, RobotSystem, delay_bound
from scorecard import (
    COLOURS,
    add_legend,
    add_panels,
    format_change,
    pluralise,
    save_figure,
    save_value,
)

#: Ages of the example, and of the random systems, whose many rules are all evaluated.
AGES, DRAWN_AGES = 4, 3


def example_system(
    return_rate: float, index_rate: float, places: int, starvation: float, loss: float
) -> RobotSystem:
    """Return the system of the figures: two equal sources and a robot for each."""
    sources = Sources(np.full(2, 1.5), np.ones(2), np.full(2, 0.4))
    return RobotSystem(sources, 2, return_rate, Engine(index_rate, places), AGES, starvation, loss)


def find_switching_curves(system: RobotSystem, policy: Ints) -> pd.DataFrame:
    """Return up to which queue a robot is sent to the first source, by its age; -1 for none.

    Alone, and with a robot in flight to the other source, which has its age just after a crawl.
    """
    age, flying, queue = system.states
    rows = []
    for k in range(system.ages + 1):
        row: list[int] = [k]
        for out in (False, True):
            here = (age[:, 0] == k) & (age[:, 1] == 0) & ~flying[:, 0] & (flying[:, 1] == out)
            sent = queue[here & (policy == 1)]
            row.append(int(sent.max()) if sent.size else -1)
        rows.append(row)
    return pd.DataFrame(rows, columns=["age", "alone", "second"])


def is_switching(system: RobotSystem, policy: Ints) -> bool:
    """Return whether a robot that is sent at a queue is also sent at each shorter one."""
    sends = (policy > 0).reshape(-1, system.engine.places + 1).astype(np.int8)
    return bool((np.diff(sends, axis=1) <= 0).all())


def best_blind_gain(system: RobotSystem, *, stops: bool) -> float:
    """Return the largest gain over numbers of robots that follow the index of part I.

    With `stops` also over the length of the queue above which no robot is sent.
    """
    lengths = range(system.engine.places + 1) if stops else (None,)
    return max(
        system.operation(system.blind_policy(robots, stop)).gain
        for robots in range(system.robots + 1)
        for stop in lengths
    )


def scan_running_costs(system: RobotSystem, most: float, points: int) -> pd.DataFrame:
    """Return gains and robots in flight by the cost of a robot per unit of time.

    ``idle`` is the share of time at the optimum.
    """
    rows = []
    for running in np.linspace(0.0, most, points):
        dear = replace(system, running=float(running))
        best, rule = dear.solve(), dear.tuned_rule()
        optimal, followed = dear.operation(best.policy), dear.operation(rule.policy)
        gains = (
            optimal.gain,
            rule.gain,
            best_blind_gain(dear, stops=True),
            best_blind_gain(dear, stops=False),
        )
        rows.append((running, *gains, optimal.robots, followed.robots, optimal.idle))
    names = ["running", "optimum", "rule", "stopped", "fixed", "robots", "rule robots", "idle"]
    return pd.DataFrame(rows, columns=names)


def sample_system(rng: np.random.Generator) -> RobotSystem:
    """Return two random sources, one or two robots, an engine, and any of the three costs."""
    ranges = ((-0.7, 0.7), (-0.7, 0.7), (-1.0, 0.5))
    arrival, worth, decay = (10.0 ** rng.uniform(low, high, 2) for low, high in ranges)
    engine = Engine(10.0 ** rng.uniform(-0.5, 1), int(rng.integers(2, 6)))
    costs = rng.integers(0, 2, 3) * 10.0 ** rng.uniform([-1, -2, -2], [0.5, 0, 0])
    robots, rate = int(rng.integers(1, 3)), 10.0 ** rng.uniform(-0.7, 0.7)
    return RobotSystem(Sources(arrival, worth, decay), robots, rate, engine, DRAWN_AGES, *costs)


def compute_losses(instances: int, seed: int) -> pd.DataFrame:
    """Return losses of rules against the optimum on random systems.

    A loss is a share of the sum of the relaxed bound on rewards and the cost of a unit of
    starvation, a scale that does not vanish where costs nearly cancel the rewards.
    """
    rng = np.random.default_rng([seed, 5])
    rows = []
    for _ in range(instances):
        system = sample_system(rng)
        best = system.solve()
        optimal = system.operation(best.policy)
        period = system.sources.period
        crawls = min(system.robots * system.return_rate * period, len(system.sources))
        bound = delay_bound(system.sources, crawls, system.engine).bound / period
        unit = bound + system.starvation
        earned = (
            system.tuned_rule().gain,
            best_blind_gain(system, stops=True),
            best_blind_gain(system, stops=False),
        )
        lost = [max(optimal.gain - gain, 0.0) / unit for gain in earned]
        rows.append((*lost, is_switching(system, best.policy)))
    return pd.DataFrame(rows, columns=["rule", "stopped", "fixed", "switching"])


# Values and tables


def save_example(system: RobotSystem, scan: pd.DataFrame) -> None:
    """Save the gains of the example without a running cost, and their differences."""
    first, last = scan.iloc[0], scan.iloc[-1]
    save_value("robots-and-sources-states", len(system.states[2]))
    save_value("robots-and-sources-first-robots", first["robots"])
    save_value("robots-and-sources-last-robots", last["robots"])
    save_value("robots-and-sources-last-running", last["running"])
    save_value("robots-and-sources-scan-worst", float((scan["optimum"] - scan["rule"]).max()))
    save_value("robots-and-sources-scan-fixed", float((scan["optimum"] - scan["fixed"]).max()))


def save_loss_values(losses: pd.DataFrame) -> None:
    """Save medians, means and largest losses, and how often the optimum is a switching curve."""
    save_value("robots-and-sources-instances", len(losses))
    save_value("robots-and-sources-switching", int(losses["switching"].sum()))
    for name in ("rule", "stopped", "fixed"):
        if name != "stopped":
            save_value(f"robots-and-sources-{name}-median", losses[name].median())
        save_value(f"robots-and-sources-{name}-mean", losses[name].mean())
        save_value(f"robots-and-sources-{name}-most", losses[name].max())


# Figures


def draw_curves(optimum: pd.DataFrame, rule: pd.DataFrame) -> None:
    """Draw the switching curves of the optimum and of the rule."""
    data = optimum.merge(rule, on="age", suffixes=(", optimum", ", rule"))
    first, last = optimum.iloc[0], optimum.iloc[-1]

    def draw(figure: Figure) -> pd.DataFrame:
        axes = add_panels(figure, 2, sharey=True)
        for axis, frame, title in zip(
            axes, (optimum, rule), ("optimum", "rule of thumb"), strict=True
        ):
            for name, label, style, colour in (
                ("alone", "no other robot in flight", "o-", COLOURS[0]),
                ("second", "one in flight to the other source", "s--", COLOURS[1]),
            ):
                axis.plot(frame["age"], frame[name], style, color=colour, label=label)
            axis.set(xlabel="age of the source (epochs)", title=title)
            axis.set_xticks(frame["age"])
        figure.supylabel("longest queue (pages)")
        add_legend(figure)
        return data

    save_figure(
        "robots-and-sources-curves",
        draw,
        caption="Longest queue at which a robot is sent to a source, by the age of the source, "
        "where the other source has just been crawled; -1 where none is sent at any queue.",
        alt="Two panels, optimum and rule, with two curves of a longest queue against age. In the "
        f"optimum a robot alone is sent {_describe_queues(first['alone'])} at age 0 and "
        f"{_describe_queues(last['alone'])} at age {last['age']}; one beside another in flight "
        f"{_describe_queues(first['second'])} and {_describe_queues(last['second'])}.",
        height=3.4,
    )


def _describe_queues(longest: int) -> str:
    """Return the queues at which a robot is sent, by the longest of them; -1 for none."""
    return f"up to {pluralise(int(longest), 'page')}" if longest >= 0 else "at no queue"


def draw_scan(scan: pd.DataFrame) -> None:
    """Draw gains and robots in flight against the cost of a robot."""
    first, last = scan.iloc[0], scan.iloc[-1]

    def draw(figure: Figure) -> pd.DataFrame:
        axes = add_panels(figure, 2)
        for name, label, style, colour in (
            ("optimum", "optimum", "-", COLOURS[0]),
            ("rule", "rule of thumb", "--", COLOURS[1]),
            ("stopped", "blind index, stopped", "-.", COLOURS[2]),
            ("fixed", "blind index, best number", ":", COLOURS[3]),
        ):
            axes[0].plot(scan["running"], scan[name], style, color=colour, label=label)
        axes[0].set(ylabel="gain per unit of time")
        axes[1].plot(scan["running"], scan["robots"], "-", color=COLOURS[0])
        axes[1].plot(scan["running"], scan["rule robots"], "--", color=COLOURS[1])
        axes[1].set(ylabel="mean robots in flight", ylim=(0, None))
        for axis in axes:
            axis.set(xlabel="cost of a robot per unit of time")
        add_legend(figure)
        return scan

    save_figure(
        "robots-and-sources-scan",
        draw,
        caption="What is earned, and how many robots are in flight, by what a robot costs.",
        alt="As robots become dearer, the gain of the optimum "
        f"{format_change(first['optimum'], last['optimum'], 'z.2f')}, that of the rule "
        f"{format_change(first['rule'], last['rule'], 'z.2f')}, and the mean number of robots in "
        f"flight {format_change(first['robots'], last['robots'], 'z.2f')}.",
        height=3.6,
    )


def draw_losses(losses: pd.DataFrame) -> None:
    """Draw the losses of the rules on random systems in rising order."""
    share = (np.arange(len(losses)) + 0.5) / len(losses)
    medians = {name: losses[name].median() for name in ("rule", "stopped", "fixed")}

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        data = {"share of the systems": share}
        for name, label, style, colour in (
            ("rule", "rule of thumb", "-", COLOURS[1]),
            ("stopped", "blind index, stopped", "-.", COLOURS[2]),
            ("fixed", "blind index, best number", ":", COLOURS[3]),
        ):
            lost = np.sort(losses[name].to_numpy())
            axis.plot(share, 100 * lost, style, color=colour, label=label)
            data[label] = lost
        axis.set(xlabel="share of the systems", ylabel="loss against the optimum (%)")
        axis.set_yscale("symlog", linthresh=0.1)
        add_legend(figure)
        return pd.DataFrame(data)

    save_figure(
        "robots-and-sources-losses",
        draw,
        caption="Losses against the exact optimum on random systems, in rising order, as shares of "
        "the bound on what can be earned and the cost of a unit of starvation; linear below 0.1%.",
        alt=f"Three rising curves over {len(losses)} systems. Medians: rule of thumb "
        f"{medians['rule']:.1%}, blind index with a stop {medians['stopped']:.1%}, blind index "
        f"with the best number of robots {medians['fixed']:.1%}.",
        height=3.4,
    )
