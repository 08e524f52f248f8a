"""Learning which source to crawl: the 2019 scheme as printed and corrected, and other learners."""

from analysis.learning.baselines import AgeBlindUcb, JointQ, JointQOptions
from analysis.learning.certainty_equivalence import (
    CertaintyEquivalence,
    CertaintyEquivalenceOptions,
)
from analysis.learning.comparison import (
    LearningCurves,
    band,
    compare_learners,
    median_interval,
)
from analysis.learning.environment import (
    CompiledLearner,
    Fixed,
    Learner,
    Run,
    mean_content,
    play,
)
from analysis.learning.scheme.frozen import FrozenPolicy
from analysis.learning.scheme.gradient import GradientCheck, ThresholdChain, gradient_check
from analysis.learning.scheme.lspe import GreedyThresholdPolicy, Lspe, LspeOptions
from analysis.learning.scheme.thresholds import (
    ThresholdValue,
    best_soft_thresholds,
    hard_threshold_value,
    soft_threshold_value,
    whittle_threshold,
)
from analysis.learning.studies.learners import side_by_side
from analysis.learning.studies.learning_corrected import Learned, learned
from analysis.learning.whittle_q import WhittleQ, WhittleQOptions

__all__ = [
    "AgeBlindUcb",
    "CertaintyEquivalence",
    "CertaintyEquivalenceOptions",
    "CompiledLearner",
    "Fixed",
    "FrozenPolicy",
    "GradientCheck",
    "GreedyThresholdPolicy",
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
    "WhittleQ",
    "WhittleQOptions",
    "band",
    "best_soft_thresholds",
    "compare_learners",
    "gradient_check",
    "hard_threshold_value",
    "learned",
    "mean_content",
    "median_interval",
    "play",
    "side_by_side",
    "soft_threshold_value",
    "whittle_threshold",
]
