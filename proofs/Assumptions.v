(** What is proved, and what it rests on. *)
From Curve Require Import Statement Optimal SwitchingCurve Draft Example Large First LeastCost Concave Rivals.
From Timetable Require Import Packing.
From Lagrangian Require Import Identity AllButOne Lockstep.

Print theorem.
Check the_switching_curve.
Print Assumptions the_switching_curve.

(* all that is proved *)
Definition all_theorems := (draft, greedy_costs_theta, rivals, curve_of_example, large_weights, saturated_least_cost,
  first_box, first_tie, lossless_least_cost, lossless_least_cost_few_places, concave_no_curve, powers_fit,
  loss_identity, closed_form, earns_the_bound, index_loses_a_tenth, lagrangian_index_loses).
Print Assumptions all_theorems.
