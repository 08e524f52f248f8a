(** The counter-example for concave rates: three robots that share a line bring 3, 3.1 and 3.2 pages
    together; K = 3, mu = 1, gamma = 1900.
    In the solution, in rational numbers, no box is tied; at a
    full queue a second robot is started beside one, but none where there is none. So no switching
    curve is greedy. *)
From Curve Require Import Grid.

Definition rates (r : Z) : R :=
  match r with 1 => 3%R | 2 => (31/10)%R | 3 => (16/5)%R | _ => 0%R end%Z.

(* the optimality equation for any rates *)
Definition solves_rates (N K : Z) (lam : Z -> R) (mu gamma theta : R) (V : Z -> Z -> R) : Prop :=
  let ind (b : bool) : R := if b then 1 else 0 in
  let U q r := if (r =? N)%Z then V q r
    else if ((q =? 0) && (r =? 0))%Z%bool then V 0%Z 1%Z else Rmin (V q r) (V q (r + 1)%Z) in
  forall q r, (0 <= q <= K /\ 0 <= r <= N /\ 0 < q + r)%Z ->
  theta + (mu * ind (0 <? q)%Z + lam r) * V q r
  = gamma * ind (q =? 0)%Z + lam r * ind (q =? K)%Z
    + mu * ind (0 <? q)%Z * U (q - 1)%Z r + lam r * U (Z.min (q + 1) K) (r - 1)%Z.

Definition V3 (q r : Z) : R :=
  match q, r with
  | 0, 1 => (864573904377/1025023370)%R | 0, 2 => (499074125833/615014022)%R
  | 0, 3 => (4649588/5901)%R
  | 1, 0 => (23460392779/29286382)%R | 1, 1 => (689637467243/3075070110)%R
  | 1, 2 => (4211022295/19839162)%R | 1, 3 => (1224056/5901)%R
  | 2, 0 => (559256995907/3075070110)%R | 2, 1 => (4231824851/99195810)%R
  | 2, 2 => (19468457/483882)%R | 2, 3 => (231764/5901)%R
  | 3, 0 => (5200639/19839162)%R | 3, 1 => (40202261/99195810)%R | 3, 2 => (-1/42)%R
  | _, _ => 0%R
  end%Z.

Lemma concave_solution : solves_rates 3 3 rates 1 1900 (416996/9835) V3.
Proof.
  unfold solves_rates. cbv zeta. intros q r (Hq & Hr & Hqr).
  assert (Cq : q = 0%Z \/ q = 1%Z \/ q = 2%Z \/ q = 3%Z) by lia.
  assert (Cr : r = 0%Z \/ r = 1%Z \/ r = 2%Z \/ r = 3%Z) by lia.
  destruct Cq as [-> | [-> | [-> | ->]]]; destruct Cr as [-> | [-> | [-> | ->]]]; try lia;
    unfold rates, Rmin; simpl; repeat (destruct (Rle_dec _ _)); lra.
Qed.

(* a robot more is a gain in (3, 1) and a loss in (3, 0) *)
Theorem concave_no_curve : V3 3 2 < V3 3 1 /\ V3 3 0 < V3 3 1 /\
  forall f : Z -> Z, (f 1 <= f 0)%Z ->
  ~ (forall q r, (0 <= q <= 3 /\ 0 <= r < 3 /\ 0 < q + r)%Z ->
       if (q <=? f r)%Z then V3 q (r + 1) <= V3 q r else V3 q r <= V3 q (r + 1)).
Proof.
  assert (D1 : V3 3 2 < V3 3 1) by (simpl; lra). assert (D0 : V3 3 0 < V3 3 1) by (simpl; lra).
  split; [exact D1|]. split; [exact D0|]. intros f Hf H.
  pose proof (H 3%Z 1%Z ltac:(lia)) as H1. pose proof (H 3%Z 0%Z ltac:(lia)) as H0.
  change (1 + 1)%Z with 2%Z in H1. change (0 + 1)%Z with 1%Z in H0.
  destruct (Z.leb_spec 3 (f 1%Z)); destruct (Z.leb_spec 3 (f 0%Z)); lia || lra.
Qed.
