from .index import Arm, Indexability, Witness, certify_indexability, whittle_index
from .relaxed import Relaxation, index_scores, relaxed_problem, simulate

__all__ = [
    "Arm",
    "Indexability",
    "Relaxation",
    "Witness",
    "certify_indexability",
    "index_scores",
    "relaxed_problem",
    "simulate",
    "whittle_index",
]
