(** 3 robots, 2 places, lambda = 1, mu = 1, gamma = 2:
    the solution in rational numbers and its curve 1, 0, 0. Written by proofs/example.py. *)
From Curve Require Import Grid Statement SwitchingCurve.

Definition V0 (q r : Z) : R :=
  match q, r with
  | 0, 1 => (9/10)%R
  | 0, 2 => (1/10)%R
  | 0, 3 => 0%R
  | 1, 0 => (1/2)%R
  | 1, 1 => (-7/10)%R
  | 1, 2 => (-8/15)%R
  | 1, 3 => (-2/15)%R
  | 2, 0 => (-11/10)%R
  | 2, 1 => (-3/5)%R
  | 2, 2 => (-2/45)%R
  | 2, 3 => (7/12)%R
  | _, _ => 0%R
  end%Z.

Lemma solution : solves 3 2 1 1 2 (2/5) V0.
Proof.
  intros q r (Hq & Hr & Hqr).
  assert (Cq : q = 0%Z \/ q = 1%Z \/ q = 2%Z) by lia.
  assert (Cr : r = 0%Z \/ r = 1%Z \/ r = 2%Z \/ r = 3%Z) by lia.
  destruct Cq as [-> | [-> | ->]]; destruct Cr as [-> | [-> | [-> | ->]]]; try lia;
    unfold Ubox, ind, Rmin; simpl; repeat (destruct (Rle_dec _ _)); lra.
Qed.

Lemma curve_of_example : exists f, switching_curve 3 2 f /\
  (forall q r, box 3 2 q r -> (d V0 q r < 0 <-> (q <= f r)%Z)) /\
  f 0%Z = 1%Z /\ f 1%Z = 0%Z /\ f 2%Z = 0%Z.
Proof.
  destruct (the_switching_curve 3 2 1 1 2) as [_ T]; [lia|lia|lra|lra|lra|].
  destruct (T _ _ solution) as (_ & _ & _ & _ & _ & _ & f & Hs & Hf & _).
  exists f. split; [exact Hs|]. split; [exact Hf|].
  assert (On : forall q r, box 3 2 q r -> d V0 q r < 0 -> (q <= f r)%Z)
    by (intros q r Hb; apply Hf, Hb).
  assert (Off : forall q r, box 3 2 q r -> 0 <= d V0 q r -> (f r < q)%Z).
  { intros q r Hb Hd. apply Z.lt_nge. intros C. apply Hf in C; [lra|exact Hb]. }
  destruct Hs as [Hr _].
  assert (1 <= f 0)%Z by (apply On; [unfold box; lia|unfold d; simpl; lra]).
  assert (f 0 < 2)%Z by (apply Off; [unfold box; lia|unfold d; simpl; lra]).
  pose proof (Hr 0%Z ltac:(lia)).
  assert (0 <= f 1)%Z by (apply On; [unfold box; lia|unfold d; simpl; lra]).
  assert (f 1 < 1)%Z by (apply Off; [unfold box; lia|unfold d; simpl; lra]).
  pose proof (Hr 1%Z ltac:(lia)).
  assert (0 <= f 2)%Z by (apply On; [unfold box; lia|unfold d; simpl; lra]).
  assert (f 2 < 1)%Z by (apply Off; [unfold box; lia|unfold d; simpl; lra]).
  pose proof (Hr 2%Z ltac:(lia)).
  lia.
Qed.
