"""The page `queue`: the index by the queue, its two limits, and admission."""

from __future__ import annotations

from itertools import cycle

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.ephemeral import Sources, whittle_index_at_age
from analysis.joint import Engine, frozen_index, frozen_reward, priced_index
from analysis.mdp import policy_iteration
from analysis.robots import RobotControl
from scorecard import COLOURS, add_legend, add_panels, save_figure


def tabulate_by_queue(
    sources: Sources, engine: Engine, age: int, price: float, points: int
) -> pd.DataFrame:
    """Return the index of each source at one age by the length of the queue."""
    ages = np.full(len(sources), age)
    rows = []
    for queue in np.unique(np.linspace(0, engine.places, points).astype(int)):
        plain = frozen_index(sources, engine, ages, int(queue))
        priced = frozen_index(sources, engine, ages, int(queue), price=price, fresh=True)
        rows += [(i + 1, int(queue), plain[i], priced[i]) for i in range(len(sources))]
    return pd.DataFrame(rows, columns=["source", "queue", "index", "priced"])


def measure_fast_engine_errors(
    sources: Sources, rates: list[float], places: int, price: float
) -> pd.DataFrame:
    """Return the error of the index without an engine, by engine speed, with and without room.

    The largest relative difference over ages 1 to 6: with `places`, at a price with as many (nan
    where no page is worth the price), and with a tenth of the pages of one crawl.
    """
    age = np.arange(1, 7)[:, None] * np.ones(len(sources))
    crowded = max(1, int(0.1 * float((sources.arrival_rate * sources.period).min())))
    free, capped = whittle_index_at_age(sources, age), priced_index(sources, age, price, True)
    rows = []
    for rate in rates:
        room, tight = Engine(rate, places), Engine(rate, crowded)
        paid = frozen_index(sources, room, age, 0, price=price, fresh=True)
        distance = float(np.abs(paid - capped).max())
        rows.append(
            (
                rate,
                float(np.abs(frozen_index(sources, room, age, 0) / free - 1).max()),
                distance / capped.max() if capped.any() else np.nan,
                float(np.abs(frozen_index(sources, tight, age, 0) / free - 1).max()),
            )
        )
    return pd.DataFrame(rows, columns=["rate", "room", "priced", "crowded"])


def measure_formula_excess(ages: int) -> tuple[float, float]:
    """Show that R(k) - k [R(k+1) - R(k)] exceeds every crawl where R falls.

    Returns the formula's largest value up to an age over the largest R, for one source whose pages
    join in random order, and the same of the index.
    """
    source, engine = Sources(np.array([2.0]), np.ones(1), np.array([0.2])), Engine(1.0, 5)
    age = np.arange(1, ages + 2)[:, None]
    worth = frozen_reward(source, engine, age, 0, order="random")[:, 0]
    formula = worth[:-1] - age[:-1, 0] * np.diff(worth)
    index = frozen_index(source, engine, age[:-1], 0, order="random")
    return float(formula.max() / worth.max()), float(index.max() / worth.max())


def compare_control_models(
    rate: float, places: int, worth: float, lost: float
) -> tuple[float, float]:
    """Return the best gain of three robots that bring equal pages, by two models.

    Each page indexed earns `worth` and each lost costs `lost`: once by the chain of events itself,
    and once by the control of part IV with gamma = rate worth / lost.
    """
    robots, bring = 3, 0.5
    events = rate + bring * robots
    shape = (places + 1, robots + 1)
    moves, reward = np.zeros((2, 2, 2, *shape, *shape)), np.zeros((2, 2, 2, *shape))
    for on_departure, on_arrival, spare in np.ndindex(2, 2, 2):
        for q, r in np.ndindex(shape):
            row = moves[on_departure, on_arrival, spare, q, r]
            active = r or (q == 0)  # an empty queue has a robot
            idle_rate = events
            if q:
                row[q - 1, min(r + on_departure, robots)] += rate
                reward[on_departure, on_arrival, spare, q, r] += rate * worth
                idle_rate -= rate
            came = bring * active
            row[min(q + 1, places), max(active - 1 + on_arrival, 0)] += came
            reward[on_departure, on_arrival, spare, q, r] -= came * lost * (q == places)
            row[q, r] += idle_rate - came
    states = shape[0] * shape[1]
    chain = moves.reshape(8, states, states) / events
    solution = policy_iteration(chain, reward.reshape(8, states) / events)
    solved = RobotControl(robots, bring, rate, places, gamma=rate * worth / lost).solve()
    return float(solution.gain * events), float(worth * rate - lost * solved.gain)


def round_error_up(error: float) -> float:
    """Return the least power of ten above an error, 1e-12 at least: rounding differs by machine."""
    return float(10.0 ** np.ceil(np.log10(max(error, 1e-12))))


# Figures


MARKS, LINES = "os^D", ("-", "--", "-.", ":")


def draw_by_queue(frame: pd.DataFrame, age: int, price: float) -> None:
    """Draw the index of each source against the length of the queue."""
    first = frame[frame["queue"] == 0]["index"]
    last = frame[frame["queue"] == frame["queue"].max()]["index"]

    def draw(figure: Figure) -> pd.DataFrame:
        axes = add_panels(figure, 2, sharey=True)
        for (source, rows), colour, style in zip(
            frame.groupby("source"), COLOURS, cycle(LINES), strict=False
        ):
            for axis, name in zip(axes, ("index", "priced"), strict=True):
                axis.plot(rows["queue"], rows[name], style, color=colour, label=f"source {source}")
        for axis, title in zip(axes, ("no price", f"price {price:.3g}, fresh only"), strict=True):
            axis.set(xlabel="pages waiting, q", title=title)
        figure.supylabel("index (content)")
        add_legend(figure)
        return frame

    save_figure(
        "queue-index",
        draw,
        caption=f"Index at age {age} against the pages that a crawl finds waiting, without a price "
        "and with one.",
        alt=f"The largest index is {first.max():.0f} at an empty queue and {last.max():.0f} at a "
        "full one. A source that decays slowly may come first at a long queue.",
        height=3.6,
    )


def draw_fast_engine(frame: pd.DataFrame) -> None:
    """Draw the distance to the index without an engine against the engine's speed."""
    labels = {"room": "with room", "priced": "with room, at a price", "crowded": "few places"}
    drawn = {name: label for name, label in labels.items() if frame[name].notna().all()}
    last = frame.iloc[-1]

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for (name, label), colour, mark in zip(drawn.items(), COLOURS, MARKS, strict=False):
            axis.loglog(frame["rate"], frame[name], marker=mark, color=colour, label=label)
        axis.set(
            xlabel="speed of the engine, s (pages per unit of time)", ylabel="relative distance"
        )
        add_legend(figure)
        return frame

    save_figure(
        "queue-limit",
        draw,
        caption="Largest relative distance of the index with a frozen queue from the index without "
        "an engine, at ages 1 to 6. Without room it stays.",
        alt=f"As the engine grows faster, the distance falls to {last['room']:.0e} with room"
        + (f" and to {last['priced']:.0e} at a price" if "priced" in drawn else "")
        + f"; with few places it stays at {last['crowded']:.2f}.",
        height=3.4,
    )
