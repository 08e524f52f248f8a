(** Curved solutions: the signs of d are, weakly, those of a curve f; and U on and off the curve
    (the two tables of the page). *)
From Curve Require Export Last.

Class CurveF := { f : Z -> Z }.

(* a box (q, r) is on if q <= f r *)
Class Curved {M : Model} {F : CurveF} : Prop := {
  sol : Solution;
  f_range : forall r, (0 <= r <= N)%Z -> (-1 <= f r <= K)%Z;
  fN : forall r, r = N -> f r = (-1)%Z;
  f_mono : forall r r', (0 <= r <= r')%Z -> (r' <= N)%Z -> (f r' <= f r)%Z;
  f_low : forall r, (0 <= r < N)%Z -> (K - 1 - r <= f r)%Z;
  d_on : forall q r r1, r1 = (r + 1)%Z -> (0 <= q <= K)%Z -> (0 <= r < N)%Z -> (0 < q + r)%Z ->
    (q <= f r)%Z -> V q r1 <= V q r;
  d_off : forall q r r1, r1 = (r + 1)%Z -> (0 <= q <= K)%Z -> (0 <= r < N)%Z -> (f r < q)%Z ->
    V q r <= V q r1;
  star : forall r r1 r2, r1 = (r + 1)%Z -> r2 = (r + 2)%Z -> (K <= r <= N - 2)%Z -> (0 <= f r1)%Z ->
    V 0 r1 - V 0 r <= V 0 r2 - V 0 r1
}.

#[global] Existing Instance sol.

Section Along.
Context {M : Model} {F : CurveF} {C : Curved}.

Lemma f_lt_N r : (0 <= r <= N)%Z -> (0 <= f r)%Z -> (r < N)%Z.
Proof. intros. destruct (Z.eq_dec r N); [|lia]. rewrite fN in H0 by auto. lia. Qed.

Lemma f_0 : (K - 1 <= f 0)%Z.
Proof. pose proof HN. pose proof (f_low 0). lia. Qed.

Lemma Uon q r r1 : r1 = (r + 1)%Z -> (0 <= q <= K + 1)%Z -> (0 <= r <= N)%Z ->
  (q <= f r \/ (q = K + 1 /\ f r = K))%Z -> U q r = V q r1.
Proof.
  intros -> Hq Hr Hf. pose proof HK. assert (r < N)%Z by (apply f_lt_N; lia).
  feed pose proof (f_range r) as B.
  destruct (Z.eq_dec q (K + 1)) as [->|].
  - rewrite (UK r) by lia. rewrite (VK (r + 1) (K+1)) by lia. rewrite (Umin _ _ (r+1)) by lia.
    feed pose proof (d_on K r (r+1)) as D. rewrite Rmin_right; lra.
  - destruct (Z.eq_dec (q + r) 0).
    + rewrite U00 by lia. replace q with 0%Z by lia. replace r with 0%Z by lia. reflexivity.
    + rewrite (Umin _ _ (r+1)) by lia. feed pose proof (d_on q r (r+1)) as D. apply Rmin_right; lra.
Qed.

Lemma Uoff q r : (0 <= q <= K + 1)%Z -> (0 <= r <= N)%Z -> (f r < q)%Z -> (q = K + 1 ->
  f r < K)%Z -> U q r = V q r.
Proof.
  intros Hq Hr Hf Hf'. pose proof HK. destruct (Z.eq_dec r N).
  - apply UN; lia.
  - feed pose proof (f_low r) as L. assert (0 < q + r)%Z by lia.
    destruct (Z.eq_dec q (K + 1)) as [->|].
    + specialize (Hf' eq_refl). rewrite (UK r) by lia. rewrite (VK r (K+1)) by lia.
      rewrite (Umin _ _ (r+1)) by lia.
      feed pose proof (d_off K r (r+1)) as D. rewrite Rmin_left; lra.
    + rewrite (Umin _ _ (r+1)) by lia. feed pose proof (d_off q r (r+1)) as D. apply Rmin_left; lra.
Qed.

End Along.
