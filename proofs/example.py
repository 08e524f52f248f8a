"""Write ``curve/Example.v``: an exact optimum of the book's solver, for Coq to check.

``python proofs/example.py`` writes the file; `example` returns the text for any small system.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

from analysis.robots.curve.values import CurveValues, optimal_curve

EXAMPLE = Path(__file__).with_name("curve") / "Example.v"
_BY = "[unfold box; lia|unfold d; simpl; lra]"
_TEXT = """\
(** {robots} robots, {capacity} places, lambda = {rate}, mu = {speed}, gamma = {weight}:
    the solution in rational numbers and its curve {heights}. Written by proofs/example.py. *)
From Curve Require Import Grid Statement SwitchingCurve.

Definition V0 (q r : Z) : R :=
  match q, r with
{values}
  | _, _ => 0%R
  end%Z.

Lemma solution : solves {arguments} {gain} V0.
Proof.
  intros q r (Hq & Hr & Hqr).
  assert (Cq : {queues}) by lia.
  assert (Cr : {rows}) by lia.
  destruct Cq as {each_queue}; destruct Cr as {each_row}; try lia;
    unfold Ubox, ind, Rmin; simpl; repeat (destruct (Rle_dec _ _)); lra.
Qed.

Lemma curve_of_example : exists f, switching_curve {robots} {capacity} f /\\
  (forall q r, box {robots} {capacity} q r -> (d V0 q r < 0 <-> (q <= f r)%Z)) /\\
  {named}.
Proof.
  destruct (the_switching_curve {arguments}) as [_ T]; [lia|lia|lra|lra|lra|].
  destruct (T _ _ solution) as (_ & _ & _ & _ & _ & _ & f & Hs & Hf & _).
  exists f. split; [exact Hs|]. split; [exact Hf|].
  assert (On : forall q r, box {robots} {capacity} q r -> d V0 q r < 0 -> (q <= f r)%Z)
    by (intros q r Hb; apply Hf, Hb).
  assert (Off : forall q r, box {robots} {capacity} q r -> 0 <= d V0 q r -> (f r < q)%Z).
  {{ intros q r Hb Hd. apply Z.lt_nge. intros C. apply Hf in C; [lra|exact Hb]. }}
  destruct Hs as [Hr _].
{steps}
  lia.
Qed.
"""


def example(
    robots: int, capacity: int, arrival_rate: Fraction, service_rate: Fraction, weight: Fraction
) -> str:
    """Return Coq's text of an exact optimum without ties, and the proof that it is one."""
    rates = [r * arrival_rate / service_rate for r in range(robots + 1)]
    values = optimal_curve(rates, capacity, weight / service_rate).at(weight / service_rate)
    return example_of(values, service_rate)


def example_of(values: CurveValues, service_rate: Fraction) -> str:
    """Return Coq's text of relative values in the unit of a service rate."""
    robots, capacity = values.robots, values.capacity
    states = [(q, r) for q in range(capacity + 1) for r in range(robots + 1) if q + r]
    rate, weight, gain = (
        _number(service_rate * _fraction(x)) for x in (values.rates[1], values.gamma, values.gain)
    )
    table = {(q, r): _fraction(values.v(q, r)) for q, r in states}
    heights = [_number(Fraction(height)) for height in values.curve]
    steps = []
    for r, height in enumerate(values.curve):
        sides = []
        if height >= 0 and (height, r) != (0, 0):
            sides.append(f"assert ({height} <= f {r})%Z by (apply On; {_BY})")
        if height < capacity:
            sides.append(f"assert (f {r} < {height + 1})%Z by (apply Off; {_BY})")
        steps += [f"  {side}." for side in (*sides, f"pose proof (Hr {r}%Z ltac:(lia))")]
    return _TEXT.format(
        robots=robots, capacity=capacity, rate=rate, speed=_number(service_rate), weight=weight,
        gain=gain, heights=", ".join(map(str, values.curve)),
        values="\n".join(f"  | {q}, {r} => {_number(table[q, r])}%R" for q, r in states),
        arguments=f"{robots} {capacity} {rate} {_number(service_rate)} {weight}",
        each_queue=_each(capacity + 1), each_row=_each(robots + 1),
        queues=" \\/ ".join(f"q = {q}%Z" for q in range(capacity + 1)),
        rows=" \\/ ".join(f"r = {r}%Z" for r in range(robots + 1)),
        named=" /\\ ".join(f"f {r}%Z = {height}%Z" for r, height in enumerate(heights)),
        steps="\n".join(steps),
    )  # fmt: skip


def _fraction(value: Any) -> Fraction:
    return Fraction(str(value))  # of Python or of FLINT


def _number(value: Fraction) -> str:
    return str(value) if value.denominator == 1 and value >= 0 else f"({value})"


def _each(cases: int) -> str:
    """Return the pattern that takes a disjunction of equations apart."""
    return "->" if cases == 1 else f"[-> | {_each(cases - 1)}]"


if __name__ == "__main__":
    EXAMPLE.write_text(example(3, 2, Fraction(1), Fraction(1), Fraction(2)), encoding="utf-8")
