from .certainty_equivalence import CertaintyEquivalence, CertaintyEquivalenceOptions
from .comparison import LearningCurves, compare_learners
from .environment import (
    Fixed,
    ItemSums,
    Learner,
    Run,
    mean_content,
    mean_items,
    play,
    sample_items,
)
from .identification import ClosedLoop, closed_loop, index_range
from .loop import CompiledLearner
from .q_learning import JointQ, JointQOptions, WhittleQ, WhittleQOptions
from .scheme.chains import FrozenPolicy, GradientCheck, ThresholdChain, gradient_check
from .scheme.lspe import GreedyThresholdPolicy, Learned, Lspe, LspeOptions, learned
from .scheme.thresholds import (
    ThresholdValue,
    best_soft_thresholds,
    hard_threshold_value,
    soft_threshold_value,
    whittle_threshold,
)
from .ucb import AgeBlindUcb, UcWhittle, UcWhittleOptions

__all__ = [
    "AgeBlindUcb",
    "CertaintyEquivalence",
    "CertaintyEquivalenceOptions",
    "ClosedLoop",
    "CompiledLearner",
    "Fixed",
    "FrozenPolicy",
    "GradientCheck",
    "GreedyThresholdPolicy",
    "ItemSums",
    "JointQ",
    "JointQOptions",
    "Learned",
    "Learner",
    "LearningCurves",
    "Lspe",
    "LspeOptions",
    "Run",
    "ThresholdChain",
    "ThresholdValue",
    "UcWhittle",
    "UcWhittleOptions",
    "WhittleQ",
    "WhittleQOptions",
    "best_soft_thresholds",
    "closed_loop",
    "compare_learners",
    "gradient_check",
    "hard_threshold_value",
    "index_range",
    "learned",
    "mean_content",
    "mean_items",
    "play",
    "sample_items",
    "soft_threshold_value",
    "whittle_threshold",
]
