(** The model: the optimality equation in one line, for any increasing rates of arrival.

    With [V (K+1) r = V K r + 1] and [U (-1) r = V 0 r + gam] the equation (eq-curve-one of the
      page)
    has no cases. Lemmas take each index as a variable with an equation, such as [q1 = q + 1],
      so that
    no index has to be brought into a normal form. *)
From Curve Require Export Grid.

Class Model := {
  N : Z;            (* robots *)
  K : Z;            (* places *)
  lam : Z -> R;     (* lam r: pages per unit of time that r active robots bring *)
  gam : R;          (* weight of starvation *)
  th : R;           (* cost *)
  V : Z -> Z -> R   (* values, with V (K+1) r = V K r + 1 *)
}.

Section U.
Context {M : Model}.
Definition U (q r : Z) : R :=
  if (q =? -1)%Z then V 0 r + gam
  else if (r =? N)%Z then V q r
  else if ((q =? 0) && (r =? 0))%Z%bool then V 0 1
  else Rmin (V q r) (V q (r + 1)).
End U.

(* increasing rates, and a solution of the optimality equation *)
Class Solution {M : Model} : Prop := {
  HN : (1 <= N)%Z;
  HK : (1 <= K)%Z;
  lam0 : lam 0 = 0;
  lamS : forall r r', (0 <= r < r')%Z -> (r' <= N)%Z -> lam r < lam r';
  gam0 : 0 < gam;
  VK : forall r qk, qk = (K + 1)%Z -> V qk r = V K r + 1;
  EQ : forall q r qm qp rm, (0 <= q <= K)%Z -> (0 <= r <= N)%Z -> (0 < q + r)%Z ->
    qm = (q - 1)%Z -> qp = (q + 1)%Z -> rm = (r - 1)%Z ->
    th + (1 + lam r) * V q r = U qm r + lam r * U qp rm
}.

Section Facts.
Context {M : Model} {S : Solution}.

Lemma lam_pos r : (1 <= r <= N)%Z -> 0 < lam r.
Proof. intros. rewrite <- lam0. apply lamS; lia. Qed.

Lemma lam_nn r : (0 <= r <= N)%Z -> 0 <= lam r.
Proof.
  intros. destruct (Z.eq_dec r 0) as [->|]; [rewrite lam0; lra|].
  apply Rlt_le, lam_pos; lia.
Qed.

Lemma Um q r : q = (-1)%Z -> U q r = V 0 r + gam.
Proof. intros ->. reflexivity. Qed.

Lemma UN q r : r = N -> (0 <= q)%Z -> U q r = V q r.
Proof.
  intros -> Hq. unfold U. destruct (Z.eqb_spec q (-1)); [lia|]. now rewrite Z.eqb_refl.
Qed.

Lemma U00 q r : q = 0%Z -> r = 0%Z -> U q r = V 0 1.
Proof.
  intros -> ->. pose proof HN. unfold U. destruct (Z.eqb_spec 0 (-1)); [lia|].
  destruct (Z.eqb_spec 0 N); [lia|reflexivity].
Qed.

Lemma Umin q r r1 : r1 = (r + 1)%Z -> (0 <= q)%Z -> (0 <= r < N)%Z -> (0 < q + r)%Z ->
  U q r = Rmin (V q r) (V q r1).
Proof.
  intros -> Hq Hr Hqr. unfold U. destruct (Z.eqb_spec q (-1)); [lia|].
  destruct (Z.eqb_spec r N); [lia|].
  destruct (Z.eqb_spec q 0); destruct (Z.eqb_spec r 0); try reflexivity. lia.
Qed.

Lemma Ule q r : (0 <= q)%Z -> (0 <= r <= N)%Z -> (0 < q + r)%Z -> U q r <= V q r.
Proof.
  intros. destruct (Z.eq_dec r N).
  - rewrite UN by auto. lra.
  - rewrite (Umin q r (r + 1)) by lia. apply Rmin_l.
Qed.

Lemma Ule1 q r r1 : r1 = (r + 1)%Z -> (0 <= q)%Z -> (0 <= r < N)%Z -> U q r <= V q r1.
Proof.
  intros. destruct (Z.eq_dec (q + r) 0).
  - rewrite U00 by lia. replace q with 0%Z by lia. replace r1 with 1%Z by lia. lra.
  - rewrite (Umin q r r1) by lia. apply Rmin_r.
Qed.

(* U is the value of one of the two states *)
Lemma Ucase q r : (0 <= q)%Z -> (0 <= r <= N)%Z ->
  exists a, (r <= a <= r + 1)%Z /\ (a <= N)%Z /\ (0 < q + a)%Z /\ U q r = V q a /\
    forall q', (0 < q')%Z -> U q' r <= V q' a.
Proof.
  intros Hq Hr. pose proof HN. destruct (Z.eq_dec r N) as [->|].
  - exists N. rewrite UN by lia. repeat split; try lia; try lra. intros; apply Ule; lia.
  - destruct (Z.eq_dec (q + r) 0).
    + exists (r + 1)%Z. rewrite U00 by lia. assert (q = 0%Z) by lia. assert (r = 0%Z) by lia. subst.
      repeat split; try lia; try reflexivity. intros; apply Ule1; lia.
    + destruct (Rle_lt_dec (V q r) (V q (r + 1))) as [L|L].
      * exists r. rewrite (Umin q r (r+1)) by lia. rewrite Rmin_left by lra.
        repeat split; try lia; try lra.
        intros. apply Ule; lia.
      * exists (r + 1)%Z. rewrite (Umin q r (r+1)) by lia. rewrite Rmin_right by lra.
        repeat split; try lia; try lra.
        intros. apply Ule1; lia.
Qed.

Lemma UK r qk : qk = (K + 1)%Z -> (0 <= r <= N)%Z -> U qk r = U K r + 1.
Proof.
  intros -> Hr. pose proof HK. destruct (Z.eq_dec r N) as [->|].
  - rewrite !UN by lia. now rewrite (VK N (K + 1)).
  - rewrite (Umin _ r (r+1)), (Umin K r (r+1)) by lia. rewrite !(VK _ (K+1)) by lia.
    unfold Rmin. destruct (Rle_dec (V K r + 1) (V K (r+1) + 1));
      destruct (Rle_dec (V K r) (V K (r+1))); lra.
Qed.

End Facts.
