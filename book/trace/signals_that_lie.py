"""What the page `signals-that-lie` computes, draws and says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.arrays import Bools, Floats
from analysis.ephemeral import Signals, Sources, long_run_cycle, signal_index, whittle_index
from analysis.ephemeral.policies import Policy
from analysis.ephemeral.signals.freshness import (
    ExpectedContentPolicy,
    FreshnessPolicy,
    LambdaCrawlPolicy,
    fresh_rates,
    ping_probabilities,
    play_policy,
)
from analysis.ephemeral.signals.guarantees import even_crawls_reward
from analysis.ephemeral.signals.index import one_ping_index, one_ping_reach, signal_law
from analysis.ephemeral.signals.simulation import ANNOUNCED, FALSE, SILENT, Trust
from analysis.ephemeral.stochastic.index import lattice_chain, lattice_index
from analysis.trace.experiment import Experiment, block_weights
from analysis.trace.policies import FrequencyPolicy, lambdacrawl_rates
from analysis.trace.signals import Hub, play_pings, read_pings, recorded_pings, simulated_pings
from analysis.trace.trace import HOUR, WEEK, Repair
from book.trace.shared import (
    check_files,
    load_trace,
    make_experiment,
    measure_ratio,
    tabulate_repairs,
)
from scorecard import COLOURS, add_legend, add_panels, ink, save_figure, save_value, save_values

__all__ = ["check_files", "load_trace", "make_experiment"]

#: Step, chain when waiting, law after a crawl, and index of each source of a pair.
Lattices = Sequence[tuple[float, Floats, Floats, Floats]]
RIVALS = {
    "fresh": "crawl values, all copies alike",
    "fresh by rate": "crawl values, weighted by items",
    "lambda": "LambdaCrawl, pings as changes",
    "polite": "fresh at random times, no pings",
}
POLICIES = {
    "blind": "ages alone",
    "worth": "largest expected worth",
    "closed": "closed form at the expected worth",
    "index": "index of the pings' law",
}


# Index curves ------------------------------------------------------------------------------------


def compute_index_curves(
    items: float, decay: float, precision: float, recalls: Sequence[float], tolerance: float
) -> pd.DataFrame:
    """Return the index by recall and expected worth, both in u*, and the closed form below it."""
    source, rows = Sources(np.array([items]), np.ones(1), np.array([decay])), []
    for recall in recalls:
        signals = Signals(source, recall, precision)
        coarse = max(1.0, float(signals.jump[0] / source.u_star[0]))
        curve = signal_index(signals, 0, tolerance=tolerance * coarse, points=100, max_points=3200)
        inside = curve.state <= 1.5 * source.u_star[0]
        state, closed = curve.state[inside], np.full(int(inside.sum()), np.nan)
        reached = state <= one_ping_reach(signals)[0]
        closed[reached] = one_ping_index(signals, state[reached][None, :])[0]
        scaled = {"worth": state, "index": curve.index[inside], "one ping": closed}
        frame = pd.DataFrame({name: v / source.u_star[0] for name, v in scaled.items()})
        frame.insert(0, "recall", recall)
        rows.append(frame)
    return pd.concat(rows, ignore_index=True)


def draw_index(curves: pd.DataFrame, precision: float) -> None:
    """Draw the curves with the closed form where one ping is enough, and that of expectation."""

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for colour, (recall, rows) in zip(COLOURS, curves.groupby("recall"), strict=False):
            axis.plot(rows["worth"], rows["index"], color=colour, label=f"recall {recall:g}")
            axis.plot(rows["worth"], rows["one ping"], color=colour, linewidth=4, alpha=0.3)
        axis.plot(
            [0, 1.5], [0, 1.5], color=ink(), linewidth=0.8, linestyle=":", label="index = worth"
        )
        axis.set(
            xlabel="expected worth ($u^*$)", ylabel="index ($u^*$)", xlim=(0, 1.5), ylim=(0, None)
        )
        add_legend(figure)
        return curves

    save_figure(
        "signals-that-lie-index",
        draw,
        caption="Index by expected worth, one curve a recall, at a precision of "
        f"{precision:g}. Wide bands: the closed form, as far as one ping is enough.",
        alt="Curves that rise with the expected worth and stay below it. The bands of the closed "
        "form lie on the curves where they begin.",
        height=3.8,
    )


# Small systems, exactly --------------------------------------------------------------------------


def draw_pair(rng: np.random.Generator) -> Signals:
    """Draw two sources with pings: decay, items, recall and precision over a wide range."""
    decay = 10.0 ** rng.uniform(-1.5, 0.0, 2)
    items = decay * 10.0 ** rng.uniform(-0.3, 0.7, 2)
    worth = rng.uniform(0.5, 1.5, 2) * decay / items
    recall, precision = rng.uniform(0.1, 1.0, 2), 10.0 ** rng.uniform(-1.0, 0.0, 2)
    return Signals(Sources(items, worth, decay), recall, precision)


def compute_losses(systems: int, points: int, seed: int) -> pd.DataFrame:
    """Return what each policy loses of the optimum on pairs of sources, one crawl an epoch.

    Expected worths are put on a lattice of so many points, and all policies are evaluated there.
    """
    rng = np.random.default_rng([seed, 1])
    rows = []
    for _ in range(systems):
        signals = draw_pair(rng)
        pair = [_make_lattice(signals, arm, points) for arm in (0, 1)]
        state = [np.asarray(step * np.arange(points), np.float64) for step, *_ in pair]
        source = signals.sources
        worth = np.stack(np.meshgrid(*state, indexing="ij"), axis=-1)
        scores = {
            "worth": worth,
            "closed": whittle_index(source, worth),
            "index": np.stack(np.meshgrid(*[p[3] for p in pair], indexing="ij"), axis=-1),
        }
        best = _average_reward(pair, state, None)
        row = {"blind": long_run_cycle(source, "whittle", 1).average_reward}
        row |= {
            name: _average_reward(pair, state, score[..., 0] >= score[..., 1])
            for name, score in scores.items()
        }
        rows.append({name: 1.0 - reward / best for name, reward in row.items()})
    return pd.DataFrame(rows)


def _make_lattice(signals: Signals, arm: int, points: int) -> tuple[float, Floats, Floats, Floats]:
    """Return step, chain when waiting, law after a crawl and index on a source's lattice."""
    source = signals.sources
    u_star, alpha = float(source.u_star[arm]), float(source.alpha[arm])
    jump = float(signals.jump[arm])
    spread = jump * np.sqrt(float(signals.ping_rate[arm] / source.decay_rate[arm]) / 2)
    step = (u_star + max(4 * spread, 2 * jump)) / (points - 1)
    law = signal_law(signals, arm, step, points)
    index = lattice_index(alpha, float(source.u[arm]), law, step)[0]
    chain = lattice_chain(alpha, law)
    # What leaves the lattice stays at its end, so that every policy loses the same there.
    chain[:, -1] += 1.0 - chain.sum(axis=1)
    law[-1] += 1.0 - law.sum()
    return step, chain, law, index


def _average_reward(pair: Lattices, state: list[Floats], first: Bools | None) -> float:
    """Return the average reward of crawling the first source where `first`, or of the optimum."""
    (_, chain, law, _), (_, other, other_law, _) = pair
    value = np.zeros((state[0].size, state[1].size))
    for _ in range(20_000):
        one = state[0][:, None] + (other @ (law @ value))[None, :]
        two = state[1][None, :] + (chain @ (value @ other_law))[:, None]
        following = np.maximum(one, two) if first is None else np.where(first, one, two)
        change = following - value
        value = following - following[0, 0]
        if change.max() - change.min() < 1e-9 * change.max():
            break
    return float((change.max() + change.min()) / 2)


def tabulate_losses(losses: pd.DataFrame) -> pd.DataFrame:
    """Return mean and worst loss by policy, and save those of the prose."""
    save_value("signals-that-lie-systems", len(losses))
    for name in ("closed", "index"):
        save_value(f"signals-that-lie-{name}-mean", float(losses[name].clip(0).mean()))
    save_value("signals-that-lie-closed-worst", float(losses["closed"].max()))
    table = pd.DataFrame(
        {"mean loss": losses.clip(lower=0).mean(), "worst loss": losses.clip(lower=0).max()}
    )
    return table.rename(index=POLICIES).rename_axis("policy")


# The trace ---------------------------------------------------------------------------------------


def compute_factors(
    setting: Experiment,
    recalls: Sequence[float],
    precisions: Sequence[float],
    memory: float,
    block: int,
    seed: int,
) -> pd.DataFrame:
    """Return the reward with pings over that without, by recall and precision; memory in hours."""
    weeks = (setting.end - setting.split) // WEEK
    weights = block_weights(weeks, min(block, weeks), 1000, np.random.default_rng([seed, 2]))
    rng, rows, blind = np.random.default_rng([seed, 3]), [], None
    for recall in recalls:
        for precision in precisions:
            hub = Hub.of(recall, precision, setting.trained)
            events = simulated_pings(setting, hub, rng)
            if blind is None:
                blind, _ = play_pings(setting, events, Trust("blind"))
            known, _ = play_pings(setting, events, Trust("known", recall, precision))
            epochs = memory * HOUR / setting.period
            learnt, run = play_pings(setting, events, Trust("learnt", memory=epochs))
            ratio, low, high = measure_ratio(learnt, blind, weights)
            rows.append(
                {
                    "recall": recall, "precision": precision,
                    "known": float(known.sum() / blind.sum()), "learnt": ratio,
                    "low": low, "high": high, "pings a visit": run.pings / run.crawls.sum(),
                }
            )  # fmt: skip
    return pd.DataFrame(rows)


def compute_rivals(
    setting: Experiment,
    recall: float,
    precisions: Sequence[float],
    hours: Sequence[int],
    block: int,
    seed: int,
) -> pd.DataFrame:
    """Return what rivals with freshness as their objective earn of the index at expected worth.

    All know recall, precision and the rates of training, of which the least is given to sources
    without an item there.
    """
    weeks = (setting.end - setting.split) // WEEK
    weights = block_weights(weeks, min(block, weeks), 1000, np.random.default_rng([seed, 4]))
    positive = setting.trained[setting.trained > 0]
    rate, rng, rows = np.maximum(setting.trained, positive.min() / 2), [seed, 5], []
    for between in hours:
        trial = replace(setting, period=between * HOUR)
        clock, warm_up = trial.clock(0)
        sources, change = trial.sources(rate), rate * between
        alike = np.ones(rate.size)
        live = min(float(trial.budget), float(rate.size))
        for precision in precisions:
            events = simulated_pings(trial, Hub.of(recall, precision, trial.trained), rng)
            signals = Signals(sources, recall, precision)
            followed = ping_probabilities(signals.ping_rate * between, alike, live)
            even = FrequencyPolicy(lambdacrawl_rates(change, alike, live))
            policies: dict[str, Policy] = {
                "index": ExpectedContentPolicy(signals),
                "fresh": FreshnessPolicy(signals),
                "fresh by rate": FreshnessPolicy(signals, rate),
                "lambda": LambdaCrawlPolicy(followed, even),
                "polite": FrequencyPolicy(fresh_rates(change, alike, live)),
            }
            earned: dict[str, Floats] = {}
            for name, policy in policies.items():
                run = play_policy(
                    sources, events, policy, trial.budget, clock.horizon, rng=[seed, 6]
                )
                earned[name] = run.reward[warm_up:].reshape(weeks, -1).sum(axis=1)
                ratio = measure_ratio(earned[name], earned["index"], weights)
                fresh = 1.0 - float(run.stale[warm_up:].mean())
                rows.append((between, precision, name, *ratio, fresh))
    names = ["hours a visit", "precision", "policy", "ratio", "low", "high", "fresh"]
    return pd.DataFrame(rows, columns=names)


def tabulate_rivals(rivals: pd.DataFrame) -> pd.DataFrame:
    """Lay the rivals out for the page, and save the cells that the prose names."""
    last = int(rivals["hours a visit"].max())
    for name in ("fresh", "lambda"):
        rows = rivals[rivals["policy"] == name]
        scarce = rows["ratio"][rows["hours a visit"] == last]
        save_value(f"signals-that-lie-{name}-most", float(rows["ratio"].max()))
        save_value(f"signals-that-lie-{name}-scarce-least", float(scarce.min()))
        save_value(f"signals-that-lie-{name}-scarce-most", float(scarce.max()))
    half = float(((rivals["high"] - rivals["low"]) / 2).max())
    save_values("signals-that-lie-rival", {"hours": last, "half-width": half})
    index = rivals[rivals["policy"] == "index"]["fresh"].to_numpy()
    fresh = rivals[rivals["policy"] == "fresh"]["fresh"].to_numpy()
    save_value("signals-that-lie-fresh-is-fresher", bool((fresh > index).all()))
    others = rivals[rivals["policy"] != "index"].assign(policy=rivals["policy"].map(RIVALS))
    return (
        others.rename(columns={"fresh": "up to date"})
        .set_index(["hours a visit", "precision", "policy"])
        .join(
            rivals[rivals["policy"] == "index"]
            .set_index(["hours a visit", "precision"])["fresh"]
            .rename("index up to date"),
            on=["hours a visit", "precision"],
        )
        .reset_index()
        .rename(columns={"ratio": "reward / index"})
    )


def compare_own_pings(
    setting: Experiment,
    path: str,
    recall: float,
    precision: float,
    memory: float,
    block: int,
    seed: int,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return what a reader's own pings are worth, and what had to be repaired in their file.

    Without a file pings are drawn at a recall and a precision.
    """
    repairs: list[Repair] = []
    if path:
        pings, repairs = read_pings(path, setting.trace)
        events = recorded_pings(setting, pings)
    else:
        hub = Hub.of(recall, precision, setting.trained)
        events = simulated_pings(setting, hub, [seed, 7])
    weeks = (setting.end - setting.split) // WEEK
    weights = block_weights(weeks, min(block, weeks), 1000, np.random.default_rng([seed, 8]))
    blind, _ = play_pings(setting, events, Trust("blind"))
    learnt, run = play_pings(
        setting, events, Trust("learnt", memory=memory * HOUR / setting.period)
    )
    ratio, low, high = measure_ratio(learnt, blind, weights)
    announced, false = (int((events.kind == kind).sum()) for kind in (ANNOUNCED, FALSE))
    items = announced + int((events.kind == SILENT).sum())
    save_value("signals-that-lie-own", ratio, interval=(low, high), replications=1000)
    save_values(
        "signals-that-lie-own",
        {
            "signals": bool(path), "recall": announced / max(items, 1),
            "precision": announced / max(announced + false, 1),
        },
    )  # fmt: skip
    row = {
        "items": items, "pings": announced + false, "recall": announced / max(items, 1),
        "precision": announced / max(announced + false, 1), "recall learnt": run.recall[0],
        "reward / blind": ratio, "low": low, "high": high,
    }  # fmt: skip
    return pd.DataFrame([row]), tabulate_repairs(repairs)


def draw_factors(table: pd.DataFrame, setting: Experiment, kind: str) -> None:
    """Draw the factors over precision, one curve a recall, with the knee of each."""
    items = float(setting.trained.sum()) * setting.period / HOUR

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for colour, recall in zip(COLOURS, table["recall"].unique().tolist(), strict=False):
            rows = table[table["recall"] == recall].sort_values("precision")
            half = [rows["learnt"] - rows["low"], rows["high"] - rows["learnt"]]
            look = {"color": colour, "marker": "o", "markersize": 4, "capsize": 2}
            look["label"] = f"recall {recall:g}"
            axis.errorbar(rows["precision"], rows["learnt"], np.maximum(half, 0.0), **look)
            knee = recall * items / setting.budget
            if rows["precision"].min() < knee < rows["precision"].max():
                axis.axvline(knee, color=colour, linewidth=1, linestyle=":")
        axis.axhline(1.0, color=ink(), linewidth=1)
        axis.set(
            xscale="log", xlabel="precision", ylabel="reward / reward without pings", ylim=(0, None)
        )
        add_legend(figure)
        return table

    save_figure(
        "signals-that-lie-factors",
        draw,
        caption=f"What pings are worth on {kind}: reward with learnt reliability over the "
        "reward of the blind index, with 95% intervals from blocks of weeks. Dotted: the knee, one "
        "ping a visit at the rates of training.",
        alt="One curve a recall. Each is nearly level at high precision and falls where pings "
        "exceed visits; more recall earns more at every precision.",
        height=3.8,
    )


def save_factors(table: pd.DataFrame, setting: Experiment) -> None:
    """Save the cells that the prose names."""
    order = np.argsort(table["learnt"].to_numpy(), kind="stable")
    least, most = table.iloc[int(order[0])], table.iloc[int(order[-1])]
    save_values(
        "signals-that-lie",
        {
            "most": most["learnt"], "most-recall": most["recall"], "least": least["learnt"],
            "least-recall": least["recall"], "least-precision": least["precision"],
            "learning-cost": float((1 - table["learnt"] / table["known"]).max()),
            "learning-gain": float((table["learnt"] / table["known"] - 1).max()),
            "sources": len(setting.trace),
        },
    )  # fmt: skip
    save_value("signals-that-lie-learning-costs", bool((table["learnt"] < table["known"]).any()))
    save_value("signals-that-lie-learning-gains", bool((table["learnt"] > table["known"]).any()))


# Identical sources -------------------------------------------------------------------------------


def compute_knee(
    recalls: Sequence[float], items: float, decay: float, crawls: float
) -> pd.DataFrame:
    """Return the gain by pings of identical sources, by recall and precision."""
    rows = []
    for recall in recalls:
        for precision in np.geomspace(0.01, 1.0, 81):
            gain = compute_gain(recall, float(precision), items, decay, crawls)
            rows.append((recall, precision, gain, items * recall / precision / crawls))
    return pd.DataFrame(rows, columns=["recall", "precision", "gain", "pings a visit"])


def compute_gain(
    recall: float, precision: float, items: float, decay: float, crawls: float
) -> float:
    """Return the reward with pings over that without, of identical sources in continuous time.

    It is that of the best of three policies: crawls at the next ping or at an age, where there are
    crawls for all pings; crawls at a share of the pings, where there are not; and no use of pings.
    The first is optimal where one ping is enough.
    """
    blind = -crawls / decay * float(np.expm1(-decay / crawls))
    pings = items * recall / precision
    if pings <= crawls:
        used = even_crawls_reward(recall, pings, decay, crawls)
    else:
        used = crawls * (1.0 + precision * decay / items) / (decay + crawls)
    return max(used / blind, 1.0)


def draw_knee(table: pd.DataFrame) -> None:
    """Draw the gain over precision, with the knee of each recall."""

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for colour, (recall, rows) in zip(COLOURS, table.groupby("recall"), strict=False):
            axis.plot(rows["precision"], rows["gain"], color=colour, label=f"recall {recall:g}")
            beyond = rows[rows["pings a visit"] > 1]
            if 0 < len(beyond) < len(rows):
                last = beyond.iloc[-1]
                axis.plot(last["precision"], last["gain"], "o", color=colour, markersize=5)
        axis.set(xscale="log", xlabel="precision", ylabel="reward / reward without pings")
        add_legend(figure)
        return table

    save_figure(
        "signals-that-lie-knee",
        draw,
        caption="Identical sources in continuous time: what pings are worth to the best of three "
        "simple policies. Dots: the knee, one ping a crawl.",
        alt="Curves that are level at high precision and bend down where pings exceed crawls.",
        height=3.4,
    )


def save_view(recall: float, precision: float, items: float, decay: float, crawls: float) -> None:
    """Save what the explorable opens with, and its numbers there."""
    save_values(
        "signals-that-lie-view",
        {
            "recall": recall,
            "precision": precision,
            "pings": items * recall / precision / crawls,
            "gain": compute_gain(recall, precision, items, decay, crawls),
        },
    )
