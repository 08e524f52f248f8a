"""One right call of everything that the faces of the parts offer, as small as it can be."""

from functools import cache, partial

import numpy as np
import pandas as pd
from scipy import sparse

from analysis import bandits, crawl, ephemeral, joint, learning, mdp, restarts, robots, trace
from analysis.robots.mg1k import exponential

FACES = {
    "ephemeral": ephemeral.__all__,
    "restarts": restarts.__all__,
    "bandits": bandits.__all__,
    "learning": learning.__all__,
    "robots": robots.__all__,
    "joint": joint.__all__,
    "mdp": mdp.__all__,
    "trace": trace.__all__,
    "crawl": crawl.__all__,
    "sweep": ["sweep"],
}
#: Results and protocols: made by the package, not called by its users.
NOT_CALLED = {
    "ephemeral": {"POLICIES", "Observation", "Policy", "Timetable"},
    "restarts": {"Indexability", "Paths", "Thresholds", "WhittleIndex"},
    "bandits": {"Indexability", "Relaxation", "Witness"},
    "learning": {
        "ClosedLoop", "CompiledLearner", "GradientCheck", "Learned", "Learner", "LearningCurves",
        "Run", "ThresholdValue",
    },
    "robots": {
        "ControlSolution", "FleetSolution", "FleetValue", "FullChain", "PrintedRun", "ServiceLaw",
    },
    "joint": {"JointRun", "PhaseBound", "PricedSolution", "QueuedIndex"},
    "mdp": set(),
    "trace": {"Outcome", "Repair"},
    "crawl": {"CrawlState", "Reading", "SourceState", "Unreadable"},
    "sweep": set(),
}  # fmt: skip


@cache
def right_calls(face):
    """The arguments of one right call of everything on a face, by name."""
    return {
        "ephemeral": ephemeral_calls,
        "restarts": restart_calls,
        "bandits": bandit_calls,
        "learning": learning_calls,
        "robots": robot_calls,
        "joint": joint_calls,
        "mdp": mdp_calls,
        "trace": trace_calls,
        "crawl": crawl_calls,
        "sweep": sweep_calls,
    }[face]()


def two_sources():
    return ephemeral.Sources([1.0, 2.0], [1.0, 0.5], [0.5, 0.7])


def ephemeral_calls():
    sources, rng = two_sources(), np.random.default_rng(0)
    two, utility = {"sources": sources}, ephemeral.Utility()
    pair = {**two, "budget": 1}
    content = np.ones((2, 6))
    law = {"tolerance": 0.05, "points": 50, "max_points": 200}
    signals = ephemeral.Signals(sources, 0.9, [0.5, 0.2])
    curves = [ephemeral.stochastic_index(sources, arm, utility, **law) for arm in (0, 1)]
    return {
        "Arrivals": {**two, "utility": utility},
        "Environment": {**two, "content": content},
        "FTVAPolicy": pair,
        "IDPolicy": pair,
        "LPUpdatePolicy": {**two, "epochs": 3},
        "LagrangianPolicy": {**two, "price": 0.5},
        "MyopicPolicy": two,
        "PingedScheduler": {**pair, "recall": [0.5, 0.9]},
        "PrintedPolicy": two,
        "Reliability": {"memory": 60.0, "weight": 5.0, "death_rate": 0.1},
        "RolloutPolicy": {**two, "epochs": 3, "price": 0.5},
        "RoundRobinPolicy": {},
        "SchedulePolicy": {"schedule": np.ones((2, 2), dtype=bool)},
        "Scheduler": {**pair, "price": 0.1, "index_rate": 2.0, "queue": 3, "tune_price": False},
        "SignalBelief": {"signals": signals, "time": 1.0},
        "Signals": {**two, "recall": 0.9, "precision": [0.5, 0.2]},
        "Sources": {"arrival_rate": [1.0], "mean_utility": [1.0], "decay_rate": [1.0]},
        "TunedLagrangianPolicy": {**two, "every": 5, "step": 0.5},
        "Utility": {},
        "WhittlePolicy": two,
        "bound_at_price": {**pair, "price": 0.5},
        "compare": {
            "arrivals": ephemeral.Arrivals(sources), "policies": ["whittle"], "budget": 1,
            "horizon": 5, "replications": 2, "rng": rng,
        },
        "crawl_price": pair,
        "dual_descent": {**pair, "horizon": 5},
        "four_sources": {},
        "index_by_definition": {**two, "state": [0.1, 0.2], "digits": 40},
        "lagrangian_index": {**two, "age": [1, 2], "price": 0.5},
        "losses": {**pair, "crawls": [(0,), (1,)], "ages": [1, 2], "price": 0.5},
        "long_run_cycle": {**pair, "policy": "whittle"},
        "optimal_average_reward": pair,
        "optimal_cycle": {**pair, "max_states": 10_000},
        "relaxed_bound": pair,
        "relaxed_problem": pair,
        "signal_index": {"signals": signals, "arm": 0, **law},
        "simulate": {**pair, "policy": "whittle", "horizon": 5},
        "simulate_random": {**pair, "policy": "whittle", "content": content},
        "stochastic_bound": {**pair, "indices": curves},
        "stochastic_index": {**two, "arm": 0, "utility": utility, **law},
        "timetable": {**pair, "odd_parts": (1, 3)},
        "whittle_index": {**two, "state": [0.1, 0.2]},
        "whittle_index_at_age": {**two, "age": [1, 2]},
    }  # fmt: skip


def bandit_calls():
    stay, move = [[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]]
    rewards = [[0.0, 0.0], [1.0, 2.0]]
    arm = bandits.Arm([stay, move], rewards)
    one, pair = {"arm": arm, "discount": 0.9}, {"arms": [arm, arm]}
    return {
        "Arm": {"transitions": [stay, move], "rewards": rewards},
        "certify_indexability": one,
        "index_scores": {**pair, "discount": 0.9},
        "relaxed_problem": {**pair, "budget": 1, "discount": 0.9, "initial_state": [0, 1]},
        "simulate": {
            **pair, "scores": {"index": [[0.0, 1.0], [0.0, 1.0]]}, "budget": 1, "epochs": 3,
            "paths": 2, "rng": 0, "warm_up": 1, "initial_state": [0, 1],
        },
        "whittle_index": one,
    }  # fmt: skip


def restart_calls():
    arm = restarts.RestartArm([[0.5, 0.5], [0.0, 1.0]], [1.0, 0.0], [0.0, 2.0], [1.0, 1.0])
    bandit = restarts.RestartBandit([arm, arm], 1, 0.9)
    one, scores = {"arm": arm, "discount": 0.9}, restarts.index_scores(bandit)
    return {
        "RestartArm": {
            "passive": arm.passive, "reset": arm.reset, "passive_cost": arm.passive_cost,
            "active_cost": arm.active_cost,
        },
        "RestartBandit": {"arms": [arm, arm], "budget": 1, "discount": 0.9},
        "certify_indexability": one,
        "evaluate_scores": {"bandit": bandit, "scores": scores},
        "index_scores": {"bandit": bandit},
        "myopic_scores": {"bandit": bandit},
        "optimal_threshold": {**one, "subsidy": [0.0, 1.0]},
        "relaxed_bound": {"bandit": bandit},
        "simulate": {
            "bandit": bandit, "policies": {"index": scores}, "paths": 2, "epochs": 5,
            "rng": np.random.default_rng(0),
        },
        "solve_joint": {"bandit": bandit},
        "thresholds": one,
        "whittle_index": one,
        "whittle_indices": {"arms": [arm], "discount": 0.9},
    }  # fmt: skip


def learning_calls():
    sources, options = two_sources(), learning.LspeOptions()
    two, q = {"sources": sources}, np.zeros((2, 3))
    fresh = partial(learning.AgeBlindUcb, 2)
    return {
        "AgeBlindUcb": {"arms": 2},
        "CertaintyEquivalence": {"arms": 2},
        "CertaintyEquivalenceOptions": {},
        "Fixed": {"policy": ephemeral.WhittlePolicy(sources)},
        "FrozenPolicy": {**two, "options": options, "cap": 4},
        "GreedyThresholdPolicy": {**two, "q": q, "options": options},
        "ItemSums": {"worth": [1.0, 2.0], "aged": [0.5, 3.0]},
        "JointQ": {"arms": 2, "budget": 1},
        "JointQOptions": {},
        "Lspe": two,
        "LspeOptions": {},
        "ThresholdChain": {**two, "q": q, "options": options, "cap": 4},
        "UcWhittle": {"arms": 2},
        "UcWhittleOptions": {},
        "WhittleQ": {"arms": 2},
        "WhittleQOptions": {},
        "best_soft_thresholds": {**two, "kappa": 10.0, "engaged": 0.2},
        "closed_loop": {**two, "belief": sources, "budget": 1},
        "compare_learners": {
            **two, "learners": {"age-blind": fresh}, "budget": 1, "horizon": 5, "replications": 2,
            "seed": 0,
        },
        "gradient_check": {**two, "q": q, "options": options, "cap": 4},
        "hard_threshold_value": {**two, "threshold": [0.1, 0.2]},
        "index_range": {"at": 1, "age": 2, "content": 9.9},
        "learned": {
            **two, "options": options, "budget": 1, "horizon": 5, "replications": 2, "seed": 0,
        },
        "mean_content": {**two, "horizon": 3},
        "mean_items": {**two, "horizon": 3},
        "play": {
            **two, "learner": fresh(), "content": np.ones((2, 4)), "budget": 1,
            "rng": np.random.default_rng(0),
        },
        "sample_items": {
            "arrivals": ephemeral.Arrivals(sources), "epochs": 3, "rng": np.random.default_rng(0),
        },
        "soft_threshold_value": {**two, "threshold": [0.1, 0.2], "kappa": 10.0},
        "whittle_threshold": {**two, "state": [0.1, 0.2]},
    }  # fmt: skip


def robot_calls():
    weights = {"gamma": 2.0, "service_rate": 1.0}
    queue = {**weights, "capacity": 3}
    kind = robots.RobotKind(0.5, 2)
    model = {"arrival_rate": 0.5, **queue}
    general = {"gamma": 2.0, "capacity": 3, "service": exponential()}
    control = robots.RobotControl(robots=2, **model)
    return {
        "FleetControl": {"kinds": [kind], **queue},
        "GeneralQueue": {"arrival_rate": 0.5, "capacity": 3, "service": exponential()},
        "RobotControl": {"robots": 2, **model},
        "RobotKind": {"arrival_rate": 0.5, "available": 2},
        "critical_gamma": {"capacity": 3},
        "full_chain": {"model": control},
        "full_probability": {"rho": 0.5, "capacity": 3},
        "general_cost": {"arrival_rate": 0.5, **general},
        "infinite_capacity_cost": {"rho": 0.5, **weights},
        "large_capacity_robots": {"arrival_rate": 0.5, **weights},
        "limiting_cost": {"x": 0.5, **weights},
        "limiting_drift": weights,
        "loss_rate": {"rho": 0.5, "capacity": 3},
        "optimal_fleet": {"kinds": [kind], **queue},
        "fleet_by_margins": {"kinds": [kind], **queue},
        "optimal_general_load": general,
        "optimal_general_robots": {"arrival_rate": 0.5, **general},
        "optimal_load": queue,
        "optimal_robots": model,
        "proposition_4": {"model": control, "step": 0.5, "max_updates": 2000},
        "starvation_probability": {"rho": 0.5, "capacity": 3},
        "static_cost": {"rho": 0.5, **queue},
        "turning_capacity": weights,
        "without_cap": model,
    }


def joint_calls():
    two, engine = {"sources": two_sources()}, joint.Engine(2.0, 3)
    relaxed = {**two, "budget": 1.0, "pages": 2.0, "fresh": True}
    policy = joint.queued_index(two_sources(), engine, ages=3)
    aged = {**two, "age": [1, 2], "price": 0.1, "fresh": True}
    return {
        "Engine": {"index_rate": 2.0, "places": 3},
        "JointSystem": {
            **two, "budget": 1, "engine": engine, "ages": 2, "windows": [1.0, np.inf],
        },
        "RobotSystem": {
            **two, "robots": 2, "return_rate": 1.0, "engine": engine, "ages": 2,
            "starvation": 0.3, "loss": 0.1, "running": 0.2,
        },
        "batch_value": {**two, "engine": engine, "window": [1.0, 2.0], "queue": 1},
        "best_window": {**two, "price": 0.1},
        "crawl_reward": aged,
        "delay_bound": {**two, "budget": 1.0, "engine": engine},
        "dual_value": {**relaxed, "subsidy": 0.5, "price": 0.1},
        "frozen_index": {**aged, "engine": engine, "queue": 1},
        "frozen_reward": {**aged, "engine": engine, "queue": 1},
        "phase_bound": {
            **two, "budget": 1.0, "engine": engine, "ages": 2, "parts": 2, "cells": 2,
        },
        "priced_index": aged,
        "priced_problem": relaxed,
        "queued_sources": {**two, "index_rate": 2.0, "queue": 3},
        "queued_index": {
            **two, "engine": engine, "index": "frozen", "price": 0.1, "fresh": True, "ages": 3,
            "queues": [0, 2], "stop": 2,
        },
        "simulate_engine": {
            **two, "engine": engine, "policy": policy, "budget": 1, "horizon": 5,
            "order": "worth", "preempt": True, "push_out": True, "warm_up": 1,
            "rng": np.random.default_rng(0),
        },
    }  # fmt: skip


def mdp_calls():
    moves = np.array([[[0.5, 0.5], [0.2, 0.8]], [[1.0, 0.0], [1.0, 0.0]]])
    problem = {"transitions": moves, "rewards": [[0.0, 1.0], [1.0, 2.0]]}
    return {
        "maximum_mean_cycle": {"successors": [[0, 0], [1, 0]], "rewards": [[0.0, 1.0], [1.0, 2.0]]},
        "policy_iteration": problem,
        "recurrent_classes": {"chain": sparse.csr_array(moves[0])},
        "relative_value_iteration": {**problem, "max_iterations": 500},
        "solve_discounted": {**problem, "discount": 0.9},
        "stationary_law": {"rates": sparse.csr_array(moves[0])},
    }


def two_feeds():
    """Items of two sources in three weeks, one every ten hours and one a day."""
    time = np.concatenate([np.arange(0, 21 * 86_400, 36_000), np.arange(5, 21 * 86_400, 86_400)])
    source, order = np.repeat([0, 1], [51, 21]), np.argsort(time, kind="stable")
    return {
        "names": ("news", "blog"), "origin": np.datetime64("2026-01-01", "s"),
        "source": source[order], "time": time[order],
    }  # fmt: skip


def trace_calls():
    sources, feeds, week = two_sources(), trace.Trace(**two_feeds()), 7 * 86_400
    known = {"trace": feeds, "begin": 0, "end": week, "memory": 50.0, "age": np.array([1, 2])}
    period = {"begin": 0, "split": 2 * week, "end": 3 * week}
    trial = {"trace": feeds, **period, "half_life": 24.0, "budget": 1, "phases": 2, "warm_up": 1}
    return {
        "AutoTtl": {"arms": 2},
        "CommaFeed": {"arms": 2},
        "Friendica": {"arms": 2},
        "NextcloudNews": {"arms": 2},
        "EntryFrequency": {"arms": 2},
        "Experiment": trial,
        "ForgettingIndex": {
            "sources": sources, "known": trace.known_from(**known), "memory": 50.0,
            "prior": (0.5, 24.0), "begin": 0,
        },
        "FrequencyPolicy": {"frequency": [0.5, 0.25]},
        "NutchAdaptive": {"arms": 2},
        "StormCrawler": {"arms": 2},
        "Trace": two_feeds(),
        "best_fixed_frequencies": {"sources": sources, "budget": 1},
        "choose_memory": {"experiment": trace.Experiment(**trial), "memories": [20.0, 2000.0]},
        "known_from": known,
        "lambdacrawl": {"sources": sources, "budget": 1},
        "lambdacrawl_rates": {"change_rate": [0.1, 1.0], "importance": [1.0, 1.0], "budget": 0.5},
        "publications": {"kind": "commit"},
        "read_pings": {
            "path": trace.trace.DATA / "publications.csv.gz",
            "trace": trace.read_trace(trace.trace.DATA / "publications.csv.gz")[0], "window": 2.0,
        },
        "read_trace": {"path": trace.trace.DATA / "publications.csv.gz"},
    }  # fmt: skip


def crawl_calls():
    sources, rng = two_sources(), np.random.default_rng(0)
    site = {"sources": sources, "published": [[0.0, 9.0], [5.0]], "utility": [[1.0, 2.0], [0.5]]}
    feed = b"<rss><channel><item><guid>1</guid></item></channel></rss>"
    due = {
        "sources": sources, "urls": ["http://127.0.0.1/0", "http://127.0.0.1/1"], "ages": [1, 2],
        "now": pd.Timestamp("2026-01-01", tz="UTC"), "seconds": 3600.0, "budget": 1.0,
    }  # fmt: skip
    dates = crawl.due_dates(**due)
    return {
        "FeedReader": {"half_life": 3600.0},
        "FeedServer": {"site": crawl.Site(**site)},
        "Frontier": {
            "policy": crawl.IndexPolicy(sources), "hosts": ["a", "b"], "budget": 1, "rng": rng,
        },
        "IndexPolicy": {"sources": sources},
        "ListingIndex": {"size": 2, "half_life": 24.0, "seconds": 3600.0, "budget": 1},
        "Outcome": {"source": 0, "kind": "found"},
        "Reply": {"status": 200},
        "Site": site,
        "Store": {"folder": "crawl"},
        "TurnPolicy": {"size": 2},
        "check_local": {"url": "http://127.0.0.1:8000/feed"},
        "due_dates": due,
        "export": {"dates": dates, "kind": "nutch"},
        "listed_ages": {"published": [900.0, 400.0, 600.0], "now": 1000.0},
        "listing_window": {"ages": [0.5, 2.0, 4.0]},
        "random_faults": {"sources": 2, "epochs": 5, "share": 0.2, "rng": rng},
        "random_site": {"sources": sources, "epochs": 5, "rng": rng},
        "read_feed": {"reply": crawl.Reply(200, {}, feed), "memory": ""},
        "write_dates": {"dates": dates, "kind": "nutch", "path": "dates.csv"},
    }  # fmt: skip


def sweep_calls():
    return {
        "sweep": {
            "function": double, "points": [1, 2], "seed": 0, "jobs": 1, "progress": False,
        },
    }  # fmt: skip


def double(point, rng):
    return 2 * point
