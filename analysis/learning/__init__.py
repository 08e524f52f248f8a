"""Learning which source to crawl: the 2019 scheme as printed and corrected, and other learners."""

from analysis.learning.environment import Learner, Run, mean_content, play
from analysis.learning.gradient import GradientCheck, ThresholdChain, gradient_check
from analysis.learning.lspe import GreedyThresholdPolicy, Lspe, LspeOptions
from analysis.learning.thresholds import (
    ThresholdValue,
    best_soft_thresholds,
    hard_threshold_value,
    soft_threshold_value,
    whittle_threshold,
)

__all__ = [
    "GradientCheck",
    "GreedyThresholdPolicy",
    "Learner",
    "Lspe",
    "LspeOptions",
    "Run",
    "ThresholdChain",
    "ThresholdValue",
    "best_soft_thresholds",
    "gradient_check",
    "hard_threshold_value",
    "mean_content",
    "play",
    "soft_threshold_value",
    "whittle_threshold",
]
