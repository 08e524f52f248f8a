(** What is proved, and what it rests on. *)
From Curve Require Import Statement SwitchingCurve Draft Example Large First Rivals.

Print theorem.
Check the_switching_curve.
Print Assumptions the_switching_curve.

(* all that is proved *)
Definition all_theorems := (draft, curve_of_example, large_weights, first_box, rivals).
Print Assumptions all_theorems.
