"""The page `robots-general`: costs by law of service, also simulated."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import stats

from analysis.arrays import Bools, Floats
from analysis.results import Estimate
from analysis.robots import mg1k
from analysis.robots.control import RobotControl
from analysis.robots.fleet import FleetControl, RobotKind, fleet_by_margins, optimal_fleet
from analysis.robots.mg1k import (
    GeneralQueue,
    ServiceLaw,
    general_cost,
    optimal_general_load,
    optimal_general_robots,
)
from analysis.robots.mm1k import static_cost
from analysis.robots.simulation import Sampler, simulate_queue
from scorecard import (
    COLOURS,
    Claim,
    add_legend,
    add_panels,
    claim,
    format_change,
    format_range,
    ink,
    is_narrow,
    pluralise,
    save_figure,
    save_value,
)


def gamma_law(variation: float) -> ServiceLaw:
    """Return the gamma law of a squared coefficient of variation, constant times for 0."""
    return mg1k.deterministic() if variation == 0 else mg1k.gamma_law(variation)


@dataclass(frozen=True)
class Variability:
    """Best loads and numbers of robots by weight and variability, shape (weights, variations)."""

    gammas: list[float]
    variations: list[float]
    loads: Floats
    numbers: Floats


def solve_by_variability(
    gammas: Sequence[float], variations: Sequence[float], arrival_rate: float, capacity: int
) -> Variability:
    """Return the best load and number of robots for gamma laws, in the order of variability."""
    increasing = sorted(variations)
    laws_by_variation = [gamma_law(v) for v in increasing]
    loads = [[optimal_general_load(g, capacity, law) for law in laws_by_variation] for g in gammas]
    numbers = [
        [optimal_general_robots(arrival_rate, g, capacity, law) for law in laws_by_variation]
        for g in gammas
    ]
    return Variability(list(gammas), increasing, np.array(loads), np.array(numbers))


def falls_below_critical(variability: Variability, critical: float) -> bool:
    """Whether the best load falls with the variability at every weight below the critical one."""
    steps = np.diff(variability.loads[np.array(variability.gammas) < critical])
    return bool(steps.size > 0 and (steps < 0).all())


def measure_errors(
    gammas: Sequence[float], variations: Sequence[float], capacity: int
) -> tuple[float, float]:
    """Return the errors of the chain against the closed form, and between its two loss rates.

    The first for exponential times, the second for gamma laws; both relative.
    """
    times = mg1k.exponential()
    closed = max(
        abs(general_cost(rho, g, capacity, times) / float(static_cost(rho, g, capacity)) - 1)
        for rho in np.geomspace(0.05, 5, 40).tolist()
        for g in gammas
    )
    measured = [
        (rate, *GeneralQueue(rate, capacity, gamma_law(v)).measures())
        for v in variations
        for rate in (0.7, 1.0, 1.6)
    ]
    balance = max(abs(lost / (rate - (1 - empty)) - 1) for rate, empty, lost in measured)
    return float(closed), float(balance)


def starvation_steps(variations: Sequence[float], capacity: int) -> Floats:
    """Return the change of the starvation from each variability to the next, at 25 loads."""
    loads = np.geomspace(0.1, 4, 25)
    laws_by_variation = [gamma_law(v) for v in sorted(variations)]
    empty = [
        [GeneralQueue(rho, capacity, law).measures()[0] for law in laws_by_variation]
        for rho in loads
    ]
    return np.diff(np.array(empty))


FAST_RATE, FAST, SLOW = 0.25, 6, RobotKind(0.1, 14, 0.01)


def scan_fleets(steps: Sequence[float], gamma: float, capacity: int) -> pd.DataFrame:
    """Return the best fixed and controlled fleets by the running cost of a fast robot."""
    rows = []
    for cost in steps:
        kinds = (RobotKind(FAST_RATE, FAST, float(cost)), SLOW)
        counts, fixed = optimal_fleet(kinds, gamma, capacity)
        own = FleetControl(kinds, 1.0, capacity, gamma).solve()
        idle = FleetControl(kinds, 1.0, capacity, gamma, substitution=True).solve()
        rows.append((cost, *counts, fixed, *own.mean_robots, own.gain, idle.gain))
    names = ["cost of a fast robot", "fast, fixed", "slow, fixed", "cost, fixed"]
    names += ["fast, controlled", "slow, controlled", "cost, controlled"]
    return pd.DataFrame(rows, columns=[*names, "cost, controlled, any idle robot"])


def compare_neighbouring_fleets(costs: Sequence[float], gamma: float, capacity: int) -> float:
    """Return the least saving of the best fixed fleet over fleets that differ by a robot or two."""
    gaps = []
    for cost in costs:
        kinds = (RobotKind(FAST_RATE, FAST, float(cost)), SLOW)
        counts, best = optimal_fleet(kinds, gamma, capacity)
        for shift in itertools.product((-1, 0, 1), repeat=2):
            other = [n + step for n, step in zip(counts, shift, strict=True)]
            allowed = all(0 <= n <= k.available for n, k in zip(other, kinds, strict=True))
            if allowed and any(shift) and any(other):
                load = sum(n * kind.arrival_rate for n, kind in zip(other, kinds, strict=True))
                running = sum(n * kind.running_cost for n, kind in zip(other, kinds, strict=True))
                gaps.append(float(static_cost(load, gamma, capacity)) + running - best)
    return min(gaps)


#: Three areas: how fast one robot fetches, how many there are, running cost, changing pages.
AREAS = (
    RobotKind(0.10, 12, 0.005, change_rate=0.5),
    RobotKind(0.05, 12, 0.001, change_rate=0.3),
    RobotKind(0.20, 12, 0.012, change_rate=1.0),
)


def place_robots(gamma: float, capacity: int) -> pd.DataFrame:
    """Return where robots are best placed in `AREAS`, by the search and by the rule of margins."""
    rows = [choose(AREAS, gamma, capacity) for choose in (optimal_fleet, fleet_by_margins)]
    names = [f"area {1 + number}" for number in range(len(AREAS))]
    table = pd.DataFrame([counts for counts, _ in rows], columns=names)
    table["cost"] = [cost for _, cost in rows]
    return table.set_axis(["searched whole", "by margins"]).rename_axis("placement")


def measure_margin_losses(systems: int, rng: np.random.Generator) -> Floats:
    """Return the excess cost of the rule of margins over the best placement, on random systems.

    Two or three areas of at most 8 robots; rates, running costs and changing pages uniform on a
    logarithmic scale. Parts of the best cost.
    """
    losses = []
    for _ in range(systems):
        areas = [
            RobotKind(
                10 ** rng.uniform(-1.5, 0),
                int(rng.integers(1, 9)),
                10 ** rng.uniform(-3, -1),
                change_rate=10 ** rng.uniform(-1, 0.5),
            )
            for _ in range(rng.integers(2, 4))
        ]
        gamma, capacity = 10 ** rng.uniform(-0.5, 1), int(rng.integers(2, 12))
        best = optimal_fleet(areas, gamma, capacity)[1]
        losses.append(fleet_by_margins(areas, gamma, capacity)[1] / best - 1)
    return np.array(losses)


def placement_gap(gamma: float, capacity: int) -> float:
    """Return the least cost of all placements in `AREAS`, one by one, less that of the search.

    Each placement's queue has its law by the balance of its rates: nothing of `static_cost`.
    """
    least = np.inf
    for counts in itertools.product(*(range(area.available + 1) for area in AREAS)):
        if any(counts):
            parts = zip(counts, AREAS, strict=True)
            load = sum(a.change_rate * -np.expm1(-a.arrival_rate * n / a.change_rate)
                       for n, a in parts)  # fmt: skip
            law = load ** np.arange(capacity + 1)
            law /= law.sum()
            running = sum(n * a.running_cost for n, a in zip(counts, AREAS, strict=True))
            least = min(least, gamma * law[0] + load * law[-1] + running)
    return float(least - optimal_fleet(AREAS, gamma, capacity)[1])


def alike_error() -> float:
    """Return the relative error of two equal kinds against one kind of all robots."""
    two = FleetControl((RobotKind(0.2, 4), RobotKind(0.2, 3)), 1.0, 5, 1.4).solve()
    return abs(two.gain / RobotControl(7, 0.2, 1.0, 5, 1.4).solve().gain - 1)


LAWS = ("constant", "Erlang-3", "exponential", "lognormal", "hyper-exponential")


def make_service_law(law: str, variation: float) -> ServiceLaw:
    """Return a law of mean 1; the squared variation holds for the last two of `LAWS`."""
    constructors = {
        "constant": mg1k.deterministic,
        "Erlang-3": lambda: mg1k.erlang(3),
        "exponential": mg1k.exponential,
        "lognormal": lambda: mg1k.lognormal(variation),
        "hyper-exponential": lambda: mg1k.hyperexponential(variation),
    }
    return constructors[law]()


def check_law(_: object, parameters: Mapping[str, Any]) -> None:
    """Refuse a law of the page's range at a shape at which the queue cannot be computed."""
    read_law(parameters["own_law"], parameters["own_shape"])


def read_law(own_law: str, own_shape: float) -> ServiceLaw:
    """Return a continuous law of `scipy.stats` by its name and its shape, scaled to mean 1."""
    family = getattr(stats, own_law, None)
    if not isinstance(family, stats.rv_continuous) or family.numargs != 1:
        raise ValueError(
            f"own_law must be a continuous law of scipy.stats with one shape, got {own_law!r}"
        )
    with np.errstate(all="ignore"):
        scaled = family(own_shape, scale=1.0 / family(own_shape).mean())
        try:
            return mg1k.from_scipy(scaled, name=f"{own_law}({own_shape:g})")
        except ValueError as error:
            raise ValueError(
                f"own_law at own_shape = {own_shape:g} is not taken, got {own_law}: {error}"
            ) from None


def make_sampler(law: str, variation: float) -> Sampler:
    """Return a sampler of the law's indexing times."""
    sigma = float(np.sqrt(np.log1p(variation)))
    share = 0.5 * (1.0 + np.sqrt(max(variation - 1.0, 0.0) / (variation + 1.0)))
    samplers: dict[str, Sampler] = {
        "constant": lambda rng, size: np.ones(size),
        "Erlang-3": lambda rng, size: rng.gamma(3.0, 1.0 / 3.0, size),
        "exponential": lambda rng, size: rng.exponential(1.0, size),
        "lognormal": lambda rng, size: rng.lognormal(-(sigma**2) / 2.0, sigma, size),
        "hyper-exponential": lambda rng, size: (
            rng.exponential(1.0, size)
            / (2.0 * np.where(rng.random(size) < share, share, 1.0 - share))
        ),
    }
    return samplers[law]


@dataclass(frozen=True)
class SimulatedCase:
    """A queue to simulate, with indexing times of mean 1, and its exact cost."""

    law: str  # one of `LAWS`
    robots: int  # robots; all active at all times, unless a policy starts and stops them
    arrival_rate: float  # pages that one active robot brings per unit of time
    capacity: int  # places in the queue
    gamma: float  # weight of starvation
    exact: float  # exact cost per unit of time
    variation: float = 1.0  # squared coefficient of variation of the last two of `LAWS`
    # Where robots are started, as `analysis.robots.RobotControl` has it.
    policy: Bools | None = None
    # Length of a run, and of the part at its start that is not counted.
    horizon: float = 2500.0
    warmup: float = 100.0


def make_fixed_case(
    law: str, arrival_rate: float, capacity: int, gamma: float, **options: Any
) -> SimulatedCase:
    """Return the queue with the best fixed number of robots for a law."""
    service = make_service_law(law, options.get("variation", 1.0))
    robots = optimal_general_robots(arrival_rate, gamma, capacity, service)
    exact = general_cost(robots * arrival_rate, gamma, capacity, service)
    return SimulatedCase(law, robots, arrival_rate, capacity, gamma, exact, **options)


def make_controlled_case(
    robots: int, arrival_rate: float, capacity: int, gamma: float, **options: Any
) -> SimulatedCase:
    """Return the optimally controlled queue, with exponential indexing times."""
    optimum = RobotControl(robots, arrival_rate, 1.0, capacity, gamma).solve()
    model = "exponential", robots, arrival_rate, capacity, gamma, optimum.gain
    return SimulatedCase(*model, policy=optimum.policy, **options)


def simulate_cases(cases: Sequence[SimulatedCase], replications: int, seed: int) -> pd.DataFrame:
    """Simulate each case several times, and set its mean beside the exact cost."""
    generators = np.random.default_rng(seed).spawn(len(cases))
    runs = []
    for case, rng in zip(cases, generators, strict=True):
        simulated = partial(
            simulate_queue,
            case.robots,
            case.arrival_rate,
            case.capacity,
            make_sampler(case.law, case.variation),
            horizon=case.horizon,
            warmup=case.warmup,
            policy=case.policy,
            rng=rng,
        )
        runs.append(Estimate.of([simulated().cost(case.gamma) for _ in range(replications)]))
    return pd.DataFrame(
        {
            "indexing times": [case.law for case in cases],
            "robots": [case.robots for case in cases],
            "controlled": [case.policy is not None for case in cases],
            "exact": [case.exact for case in cases],
            "simulated": [run.value for run in runs],
            "half-width": [run.high - run.value for run in runs],
        }
    )


def count_covering_intervals(check: pd.DataFrame) -> int:
    """Count the intervals of `simulate_cases` that contain the exact cost."""
    return int(((check["simulated"] - check["exact"]).abs() <= check["half-width"]).sum())


# Values and tables


def save_predicates(variability: Variability, steps: Floats, critical: float) -> None:
    """Save what the page's sentences on variability depend on."""
    low, high = int(np.argmin(variability.gammas)), int(np.argmax(variability.gammas))
    save_value("robots-general-steps", int((steps > 0).sum()))
    save_value("robots-general-all-steps", steps.size)
    save_value("robots-general-loads", len(steps))
    save_value("robots-general-low-gamma", variability.gammas[low])
    save_value("robots-general-high-gamma", variability.gammas[high])
    for name, k in (("low", low), ("high", high)):
        save_value(f"robots-general-{name}-first", int(variability.numbers[k, 0]))
        save_value(f"robots-general-{name}-last", int(variability.numbers[k, -1]))
    save_value("robots-general-several-weights", low != high)
    save_value("robots-general-several-variations", steps.size > 0)
    save_value("robots-general-starves-more", bool(steps.size > 0 and (steps > 0).all()))
    save_value("robots-general-loads-fall", falls_below_critical(variability, critical))


# Claims


@dataclass(frozen=True)
class Checks:
    """Errors of the page's models against models that they contain."""

    # As `measure_errors` returns them.
    closed: float
    balance: float
    # Simulated 95% intervals without the exact cost, of how many.
    misses: int
    cases: int
    alike: float  # as `alike_error` returns it
    neighbours: float  # as `compare_neighbouring_fleets` returns it
    placement: float  # as `placement_gap` returns it


def claims(checks: Checks) -> list[Claim]:
    """Return the page's claims on the work that the draft announces."""
    agree = checks.closed < 1e-09 and checks.balance < 1e-06 and 3 * checks.misses <= checks.cases
    simulated = {"cases": checks.cases, "misses": checks.misses}
    return [
        claim("D-fut-general", agree, numbers=simulated),
        claim("D-fut-alike", checks.alike < 1e-9, numbers={"alike": checks.alike}),
        claim("D-fut-hetero", abs(checks.placement) < 1e-12),
        claim("D-fut-open", checks.alike < 1e-9 and abs(checks.placement) < 1e-12),
        claim("D-fut-area", checks.neighbours >= 0 and abs(checks.placement) < 1e-12),
        claim("D-concl-mg1k", False, basis="judged"),
        claim("D-concl-companion"),
    ]


# Figures


STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))
MARKERS = "os^DvP"


def _look(k: int) -> dict[str, Any]:
    return {"color": COLOURS[k % 7], "linestyle": STYLES[k % 6]}


def draw_variation(
    variability: Variability, arrival_rate: float, capacity: int, critical: float
) -> None:
    """Draw the best load and number of robots against the variability."""
    extremes = dict.fromkeys(
        (int(np.argmin(variability.gammas)), int(np.argmax(variability.gammas)))
    )
    ends = [
        f"at γ = {variability.gammas[k]:g} the best number of robots "
        + format_change(int(variability.numbers[k, 0]), int(variability.numbers[k, -1]), "d")
        for k in extremes
    ]

    def draw(figure: Figure) -> pd.DataFrame:
        axes = add_panels(figure, 2)
        data: dict[str, Any] = {"squared variation": variability.variations}
        for k, g in enumerate(variability.gammas):
            look = _look(k) | {"marker": MARKERS[k % 6], "markersize": 4}
            axes[0].plot(variability.variations, variability.loads[k], label=f"γ = {g:g}", **look)
            axes[1].plot(variability.variations, variability.numbers[k], **look)
            data[f"load, gamma = {g:g}"] = variability.loads[k]
            data[f"robots, gamma = {g:g}"] = variability.numbers[k]
        for axis, name in zip(axes, ("best load", "best number of robots"), strict=True):
            axis.axvline(1, color="grey", linewidth=0.8)
            axis.set(xlabel="squared coefficient of variation", ylabel=name)
        axes[0].set_ylim(top=1.28 * variability.loads.max())
        axes[0].legend(ncols=3)
        return pd.DataFrame(data)

    save_figure(
        "robots-general-variation",
        draw,
        caption="Best load (first) and best number of robots (second) against the variability of "
        f"indexing times with gamma law, $K = {capacity}$, $\\mu = 1$, $\\lambda = "
        f"{arrival_rate:g}$. The grey line marks exponential times, where $\\gamma(K) = "
        f"{critical:.2f}$ separates loads below one from loads above.",
        alt=f"{pluralise(len(variability.gammas), 'line')}, one a weight. From the least to the "
        f"most variable times, {'; '.join(ends)}.",
        height=3.8,
    )


def draw_laws(laws: Sequence[ServiceLaw], gamma: float, capacity: int) -> dict[str, float]:
    """Draw the cost against the load for several laws, and return their best loads."""
    rhos = np.linspace(0.03, 2.0, 80)
    best = {law.name: optimal_general_load(gamma, capacity, law) for law in laws}
    least = {law.name: general_cost(best[law.name], gamma, capacity, law) for law in laws}
    costs = {
        law.name: [general_cost(float(rho), gamma, capacity, law) for rho in rhos] for law in laws
    }
    same = [best[law.name] for law in laws[1:]]
    ends = format_range(min(same), max(same), ".2f")

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for k, (name, cost) in enumerate(costs.items()):
            axis.plot(rhos, cost, label=name, **_look(k))
            axis.plot(best[name], least[name], MARKERS[k % 6], color=COLOURS[k % 7])
        axis.set(xlabel="load ρ", ylabel="cost per unit of time\n(in lost pages)", ylim=(0, None))
        add_legend(figure)
        return pd.DataFrame({"load": rhos, **costs})

    save_figure(
        "robots-general-laws",
        draw,
        caption=f"Cost against load at $K = {capacity}$, $\\gamma = {gamma:g}$, for exponential "
        "times and for three laws with the same mean and the same variance, "
        f"{laws[1].variation:g} times that of the exponential. Marks are the best loads: {ends} "
        "for the three.",
        alt="Four curves that fall and then rise. The lowest points of the three of equal "
        f"variance lie at loads of {ends}; exponential times have theirs at "
        f"{best[laws[0].name]:.2f}.",
        height=3.8,
    )
    return best


def draw_simulation(check: pd.DataFrame, covering: int, replications: int, model: str) -> None:
    """Draw simulated costs over exact ones."""
    ratio, error = check["simulated"] / check["exact"], check["half-width"] / check["exact"]
    names = [
        f"{row[1]}\nN = {row[2]}" + ",\ncontrolled" * bool(row[3]) for row in check.itertuples()
    ]

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        axis.errorbar(range(len(check)), ratio, yerr=error, fmt="o", capsize=4, color=COLOURS[0])
        axis.axhline(1, color=ink(), linewidth=1)
        axis.set(ylabel="simulated / exact cost", xlim=(-0.5, len(check) - 0.5))
        axis.set_xticks(range(len(check)), names, rotation=30 if is_narrow(figure) else 0)
        return check

    save_figure(
        "robots-general-simulation",
        draw,
        caption=f"Simulated cost over exact cost, with 95% intervals from {replications} runs; "
        f"{model}. {covering} of {len(check)} intervals contain 1.",
        alt=f"{len(check)} points with error bars around the line at 1; {covering} of the bars "
        "cross "
        f"it. The widest bar is {error.max():.1%} on either side.",
        height=3.2,
    )


def draw_fleet(scan: pd.DataFrame, gamma: float, capacity: int) -> None:
    """Draw the best fleets and their costs against the running cost of a fast robot."""
    costs = scan["cost of a fast robot"]
    most = scan[["fast, fixed", "slow, fixed"]].to_numpy().max()
    leaves = float(costs[scan["fast, fixed"] == 0].min())
    saved = 1 - scan["cost, controlled"] / scan["cost, fixed"]

    def draw(figure: Figure) -> pd.DataFrame:
        axes = add_panels(figure, 2)
        for k, name in enumerate(("fast", "slow")):
            axes[0].step(
                costs, scan[f"{name}, fixed"], where="mid", label=f"{name}, fixed", **_look(k)
            )
            mean = scan[f"{name}, controlled"]
            look = _look(k) | {"marker": MARKERS[k], "markersize": 3, "linewidth": 0.9}
            axes[0].plot(costs, mean, label=f"{name}, controlled (mean)", **look)
        for k, name in enumerate(("fixed", "controlled")):
            axes[1].plot(costs, scan[f"cost, {name}"], label=name, **_look(k + 2))
        axes[0].set(ylabel="robots", ylim=(-0.5, 1.5 * most))
        axes[1].set(ylabel="cost per unit of time (in lost pages)", ylim=(0, None))
        for axis in axes:
            axis.set_xlabel("running cost of a fast robot (per unit of time)")
            axis.legend(loc="best", ncols=1)
        return scan

    save_figure(
        "robots-general-fleet",
        draw,
        caption=f"Two kinds: fast robots (rate {FAST_RATE:g}, at most {FAST}) whose running cost "
        f"varies, slow ones (rate {SLOW.arrival_rate:g}, at most {SLOW.available}, cost "
        f"{SLOW.running_cost:g}); $K = {capacity}$, $\\gamma = {gamma:g}$, $\\mu = 1$. A fixed "
        f"fleet drops all fast robots from a cost of {leaves:g} on; control saves "
        f"{format_range(saved.min(), saved.max(), '.0%')} of the cost.",
        alt="First panel: the fixed numbers of the two kinds change by jumps as the fast kind "
        "becomes dearer, the mean numbers under control change more gradually. Second panel: the "
        "controlled fleet costs less than the fixed one throughout.",
        height=3.8,
    )
