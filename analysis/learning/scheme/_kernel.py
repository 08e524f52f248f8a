"""Compiled steps of the LSPE(0) scheme; see `analysis.learning.scheme.lspe` for the equations.

Reference: the 2019 paper, sections III and IV, whose equation (8) is grad log p.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.learning.environment import compiled

CHOICES: Mapping[str, tuple[str, ...]] = {
    "selection": ("independent", "one-of-n"),
    "reward": ("all", "crawled"),
    "signal": ("next value", "advantage"),
    "gradient": ("every arm", "own arm"),
    "threshold": ("constant", "shared", "quadratic"),
    "features": ("linear", "quadratic"),
    "regulariser": ("none", "ridge", "tikhonov", "sherman-morrison"),
    "averaging": ("mean", "step"),
}
"""The choices of each option of `LspeOptions`; compiled code has their places, as named below."""
Selection = IntEnum("Selection", "INDEPENDENT ONE_OF_N", start=0)
Reward = IntEnum("Reward", "ALL CRAWLED", start=0)
Signal = IntEnum("Signal", "NEXT_VALUE ADVANTAGE", start=0)
Gradient = IntEnum("Gradient", "EVERY_ARM OWN_ARM", start=0)
Threshold = IntEnum("Threshold", "CONSTANT SHARED QUADRATIC", start=0)
Features = IntEnum("Features", "LINEAR QUADRATIC", start=0)
Regulariser = IntEnum("Regulariser", "NONE RIDGE TIKHONOV SHERMAN_MORRISON", start=0)
Averaging = IntEnum("Averaging", "MEAN STEP", start=0)

STEP_BLOCK = 500
AVERAGING_BLOCK = 1000
AVERAGING_RATIO = (2, 3)
"""The example's a(n) = c/ceil(n/500) and b(n) = c/ceil(n/1000)^(2/3)."""
AVERAGING_POWER = AVERAGING_RATIO[0] / AVERAGING_RATIO[1]


class Model(NamedTuple):
    """Constants of a run; u and u_star are divided by scale, the rest is as in LspeOptions.

    From `selection` on they are places in `CHOICES`.
    """

    alpha: NDArray[np.float64]
    decay: NDArray[np.float64]
    u: NDArray[np.float64]
    u_star: NDArray[np.float64]
    scale: float
    kappa: float
    offset: float
    step: float
    value_step: float
    regularisation: float
    limit: float
    projected: bool
    selection: int
    reward: int
    signal: int
    gradient: int
    threshold: int
    features: int
    regulariser: int
    averaging: int


class State(NamedTuple):
    """What a run carries from step to step (arrays, changed in place).

    `steps` holds the number of steps taken and the step of divergence (-1 before), `grad` the
    derivative of log p by each arm's threshold, `active` the arms drawn, `inverse` B^{-1} for
    rank-one updates. From `y` on the arrays are room to compute in: the next state, features here
    and there, a move of r, what it was before B^{-1}, and a matrix.
    """

    x: NDArray[np.float64]
    q: NDArray[np.float64]
    r: NDArray[np.float64]
    eta: NDArray[np.float64]
    A: NDArray[np.float64]
    B: NDArray[np.float64]
    b: NDArray[np.float64]
    steps: NDArray[np.int64]
    grad: NDArray[np.float64]
    active: NDArray[np.bool_]
    chance: NDArray[np.float64]
    inverse: NDArray[np.float64]
    y: NDArray[np.float64]
    phi: NDArray[np.float64]
    phi_next: NDArray[np.float64]
    move: NDArray[np.float64]
    input_vector: NDArray[np.float64]
    matrix: NDArray[np.float64]


def start(model: Model, thresholds: NDArray[np.float64], initial_matrix: float) -> State:
    """Return the state before the first step."""
    size = model.u.size
    length = size if model.features == Features.LINEAR else size + size * (size + 1) // 2
    q = np.zeros((size, 3))
    q[:, 0] = thresholds
    return State(
        np.zeros(size),
        q,
        np.zeros(length),
        np.zeros(1),
        np.zeros((length, length)),
        initial_matrix * np.eye(length),
        np.zeros(length),
        np.array([0, -1]),
        np.zeros(size),
        np.zeros(size, dtype=np.bool_),
        np.zeros(size),
        np.eye(length) / initial_matrix,
        np.zeros(size),
        np.zeros(length),
        np.zeros(length),
        np.zeros(length),
        np.zeros(length),
        np.zeros((length, length)),
    )


@compiled
def total(x):  # type: ignore[no-untyped-def]
    """Sum of a vector, from its first entry to its last."""
    value = 0.0
    for i in range(x.size):
        value += x[i]
    return value


@compiled
def inner(x, y):  # type: ignore[no-untyped-def]
    """Inner product, from the first entries to the last."""
    value = 0.0
    for i in range(x.size):
        value += x[i] * y[i]
    return value


@compiled
def multiply(matrix, x, out):  # type: ignore[no-untyped-def]
    """Write the product of a square matrix and a vector into `out`."""
    for i in range(x.size):
        value = 0.0
        for j in range(x.size):
            value += matrix[i, j] * x[j]
        out[i] = value


@compiled
def thresholds(model, q, x, out):  # type: ignore[no-untyped-def]
    """T_i(x_{-i}) of every arm."""
    content = total(x)
    for i in range(x.size):
        s = content - x[i]
        level = q[i, 0]
        if model.threshold == Threshold.SHARED:
            level += q[i, 1] * (s + s * s)
        elif model.threshold == Threshold.QUADRATIC:
            level += q[i, 1] * s + q[i, 2] * s * s
        if model.projected:
            level = min(max(level, model.u[i]), model.u_star[i])
        out[i] = level


@compiled
def draw(model, state, budget, rng):  # type: ignore[no-untyped-def]
    """Write the arms drawn into `state.active`, and d log p / d T_i of the draw into `grad`."""
    x, active, grad, chance, weight = state.x, state.active, state.grad, state.chance, state.y
    size, kappa = active.size, model.kappa
    thresholds(model, state.q, x, chance)
    for i in range(size):
        chance[i] = kappa * (x[i] - chance[i] - model.offset)
    if model.selection == Selection.INDEPENDENT:
        for i in range(size):
            f = 1.0 / (1.0 + np.exp(-chance[i]))
            active[i] = rng.random() < f
            grad[i] = -kappa * (1.0 - f) if active[i] else kappa * f
        return
    for i in range(size):
        active[i] = False
        grad[i] = 0.0
    for _ in range(budget):
        peak = -np.inf
        for i in range(size):
            if not active[i]:
                peak = max(peak, chance[i])
        mass = 0.0
        for i in range(size):
            if not active[i]:
                weight[i] = np.exp(chance[i] - peak)
                mass += weight[i]
        remaining = rng.random() * mass
        drawn = -1
        for i in range(size):
            if not active[i]:
                grad[i] += kappa * weight[i] / mass
                if remaining >= 0.0:
                    drawn = i
                remaining -= weight[i]
        grad[drawn] -= kappa
        active[drawn] = True


@compiled
def write_features(model, x, phi):  # type: ignore[no-untyped-def]
    """Write x_1..x_N and, on request, x_1^2, x_1 x_2, ..., x_N^2."""
    size = x.size
    m = size
    for i in range(size):
        phi[i] = x[i]
        if model.features == Features.QUADRATIC:
            for j in range(i, size):
                phi[m] = x[i] * x[j]
                m += 1


@compiled
def solve(matrix, right):  # type: ignore[no-untyped-def]
    """Solve a linear system by elimination with row pivots, in place; False if it is singular.

    Pivots on purpose, where a Cholesky factor would be cheaper: the printed scheme's matrices lose
    their definiteness to rounding, and a general solver goes on with what is left, as the paper's
    program must have done.
    """
    size = right.size
    for j in range(size):
        top = j
        for i in range(j + 1, size):
            if abs(matrix[i, j]) > abs(matrix[top, j]):
                top = i
        if matrix[top, j] == 0.0 or not np.isfinite(matrix[top, j]):
            return False
        if top != j:
            for k in range(j, size):
                matrix[j, k], matrix[top, k] = matrix[top, k], matrix[j, k]
            right[j], right[top] = right[top], right[j]
        reciprocal, pivot = 1.0 / matrix[j, j], matrix[j]
        for i in range(j + 1, size):
            row, ratio = matrix[i], matrix[i, j] * reciprocal
            for k in range(j + 1, size):
                row[k] -= ratio * pivot[k]
            right[i] -= ratio * right[j]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            right[i] -= matrix[i, k] * right[k]
        right[i] /= matrix[i, i]
    return True


@compiled
def square(matrix, out):  # type: ignore[no-untyped-def]
    """Write the product of a symmetric matrix with itself into `out`."""
    size = matrix.shape[0]
    for i in range(size):
        row = out[i]
        for j in range(i + 1):
            row[j] = 0.0
        for k in range(size):
            entry, other = matrix[i, k], matrix[k]
            for j in range(i + 1):
                row[j] += entry * other[j]
        for j in range(i):
            out[j, i] = row[j]


@compiled
def precondition(model, state, v):  # type: ignore[no-untyped-def]
    """Replace v by B^{-1} v, with B regularised as the options say; False if that fails."""
    size, input_vector, matrix, B = v.size, state.input_vector, state.matrix, state.B
    for i in range(size):
        input_vector[i] = v[i]
    if model.regulariser == Regulariser.SHERMAN_MORRISON:
        multiply(state.inverse, input_vector, v)
        return True
    if model.regulariser == Regulariser.TIKHONOV:
        multiply(B, input_vector, v)
        square(B, matrix)
    else:
        for i in range(size):
            for j in range(size):
                matrix[i, j] = B[i, j]
    if model.regulariser != Regulariser.NONE:
        for i in range(size):
            matrix[i, i] += model.regularisation
    return solve(matrix, v)


@compiled
def update_inverse(inverse, phi, b, image):  # type: ignore[no-untyped-def]
    """Turn the inverse of B into that of (1 - b) B + b phi phi^T (Sherman-Morrison).

    `image` is room for a vector.
    """
    multiply(inverse, phi, image)
    grow = 1.0 / (1.0 - b)
    scale = grow / ((1.0 - b) / b + inner(phi, image))
    for i in range(phi.size):
        row, factor = inverse[i], scale * image[i]
        for j in range(phi.size):
            row[j] = grow * row[j] - factor * image[j]


@compiled
def ascend(model, state, weight):  # type: ignore[no-untyped-def]
    """Add `weight` times grad log p, equation (8), to the threshold coefficients.

    Under the printed reading every component is the sum over all arms.
    """
    x, q, grad = state.x, state.q, state.grad
    size, content = x.size, total(x)
    summed = model.gradient == Gradient.EVERY_ARM
    for i in range(size):
        s = content - x[i]
        first, second, third = weight * grad[i], 0.0, 0.0
        if model.threshold == Threshold.SHARED:
            second = first * (s + s * s)
        elif model.threshold == Threshold.QUADRATIC:
            second, third = first * s, first * (s * s)
        for k in range(size):
            if k == i or summed:
                q[k, 0] += first
                q[k, 1] += second
                q[k, 2] += third


@compiled
def average(state, b, surprise):  # type: ignore[no-untyped-def]
    """Move B, A and b by the step b towards the products of this step's features."""
    phi, phi_next = state.phi, state.phi_next
    for i in range(phi.size):
        weighted, second, first = b * phi[i], state.B[i], state.A[i]
        for j in range(phi.size):
            second[j] += weighted * phi[j] - b * second[j]
            first[j] += weighted * (phi_next[j] - phi[j]) - b * first[j]
        state.b[i] += weighted * surprise - b * state.b[i]


@compiled
def step(model, state, harvest):  # type: ignore[no-untyped-def]
    """Take one step with the arms drawn; `harvest` is the content collected, not scaled."""
    state.steps[0] += 1
    n = state.steps[0]
    a = model.step / np.ceil(n / STEP_BLOCK)
    b = 1.0 / (n + 1.0)
    if model.averaging == Averaging.STEP:
        b = model.step / np.ceil(n / AVERAGING_BLOCK) ** AVERAGING_POWER
    x, y, r, move = state.x, state.y, state.r, state.move
    for i in range(x.size):
        y[i] = model.u[i] if state.active[i] else model.alpha[i] * x[i] + model.u[i]
    reward = total(x) if model.reward == Reward.ALL else harvest / model.scale
    write_features(model, x, state.phi)
    write_features(model, y, state.phi_next)

    value_next = inner(r, state.phi_next)
    signal, surprise = value_next, reward - state.eta[0]
    if model.signal == Signal.ADVANTAGE:
        signal = surprise + value_next - inner(r, state.phi)
    ascend(model, state, a * signal)

    state.eta[0] += b * surprise
    average(state, b, surprise)
    if model.regulariser == Regulariser.SHERMAN_MORRISON:
        update_inverse(state.inverse, state.phi, b, state.input_vector)
    multiply(state.A, r, move)
    for i in range(r.size):
        move[i] += state.b[i]
    fine = precondition(model, state, move)
    for i in range(r.size):
        r[i] += model.value_step * move[i]
        fine = fine and abs(r[i]) <= model.limit
    for i in range(x.size):
        for k in range(3):
            fine = fine and abs(state.q[i, k]) <= model.limit
    if not fine:
        state.steps[1] = n - 1


@compiled
def choose(model, state, age, budget, rng, values, arms):  # type: ignore[no-untyped-def]
    """Draw the arms to crawl at their expected contents, and return their number."""
    for i in range(age.size):
        state.x[i] = -np.expm1(-model.decay[i] * age[i]) * model.u_star[i]
    draw(model, state, budget, rng)
    count = 0
    for i in range(age.size):
        if state.active[i]:
            arms[count] = i
            count += 1
    return count


@compiled
def learn(model, state, arms, age, content_found, aged):  # type: ignore[no-untyped-def]
    """Take one step of the scheme; return False once it has diverged."""
    step(model, state, total(content_found))
    return state.steps[1] < 0
