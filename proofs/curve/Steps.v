(** [curve-steps]: each step leads down, [Fs r (A (r-1)) < A (r-1)]; [no_climb] is the form (L). *)
From Curve Require Export Along.

Section Along.
Context {M : Model} {F : CurveF} {C : Curved}.

(* curve-steps, first case *)
Lemma A_bound : forall r, (0 <= r <= N)%Z -> lam r < 1 -> - th <= (1 - lam r) * A r.
Proof.
  apply (z_up (fun r => lam r < 1 -> - th <= (1 - lam r) * A r)). intros r Hr IH Hl.
  pose proof theta_pos.
  destruct (Z.eq_dec r 0) as [->|].
  - rewrite lam0. destruct along_first as [->|[_ ->]]; lra.
  - assert (lam (r - 1) < lam r) by (apply lamS; lia).
    assert (0 <= lam (r-1)) by (apply lam_nn; lia).
    feed pose proof (IH (r-1)%Z) as I.
    assert (I' : - th <= (1 - lam r) * A (r - 1)) by nra.
    destruct (Z.eq_dec (f r) (f (r - 1))).
    + feed pose proof (along_flat r (r-1)) as L. nra.
    + feed pose proof (f_mono (r-1) r) as L.
      apply (A_keep r (r-1) (fun x => - th <= (1 - lam r) * x)); try lia; unfold Fs; [nra|].
      intros; nra.
Qed.

(* curve-steps, second case *)
Lemma climb : forall r, (1 <= r <= N)%Z -> 1 < lam r -> (0 <= f (r - 1))%Z ->
  th <= (lam r - 1) * A (r - 1) -> False.
Proof.
  apply (z_down (fun r => 1 < lam r -> (0 <= f (r - 1))%Z -> th <= (lam r - 1) * A (r - 1) ->
    False)).
  intros r Hr IH Hl Hf HA. pose proof theta_pos; pose proof gam0.
  assert (0 < A (r - 1)) by nra.
  assert (A (r - 1) <= A r).
  { destruct (Z.eq_dec (f r) (f (r - 1))); [apply along_flat; lia|].
    feed pose proof (f_mono (r-1) r) as L.
    apply (A_keep r (r-1) (fun x => A (r - 1) <= x)); try lia; unfold Fs; [lra|]. intros; nra. }
  feed pose proof (f_range r) as B.
  destruct (Z.eq_dec (f r) (-1)); [rewrite (A_m r) in *; auto; try lia; lra|].
  assert (r < N)%Z by (apply f_lt_N; lia).
  assert (lam r < lam (r + 1)) by (apply lamS; lia).
  apply (IH (r + 1)%Z); try lia; try lra; replace (r + 1 - 1)%Z with r by lia; [lia|]. nra.
Qed.

(* curve-steps: steps lead down *)
Lemma steps_down r rm : (1 <= r <= N)%Z -> rm = (r - 1)%Z -> (0 <= f rm)%Z -> Fs r (A rm) < A rm.
Proof.
  intros Hr -> Hf. pose proof theta_pos. apply Rnot_le_lt. intros L. unfold Fs in L.
  assert (lam (r - 1) < lam r) by (apply lamS; lia).
  assert (0 <= lam (r-1)) by (apply lam_nn; lia).
  destruct (Rle_lt_dec (lam r) 1).
  - feed pose proof (A_bound (r - 1)) as B. nra.
  - apply (climb r); auto; lra.
Qed.

(* the form (L) *)
Lemma no_climb r : (0 <= r <= N)%Z -> (0 <= f r)%Z -> 1 < lam r -> th <= (lam r - 1) * A r -> False.
Proof.
  intros. pose proof theta_pos. assert (r < N)%Z by (apply f_lt_N; lia).
  assert (lam r < lam (r + 1)) by (apply lamS; lia). assert (0 < A r) by nra.
  apply (climb (r + 1)); try lia; try lra; replace (r + 1 - 1)%Z with r by lia; [lia|nra].
Qed.

(* the steps fall strictly *)
Lemma along_falls r rm : (1 <= r <= N)%Z -> rm = (r - 1)%Z -> forall q q1, q1 = (q + 1)%Z ->
  (f r < q)%Z -> (q1 <= f rm)%Z -> G r q < G r q1.
Proof.
  intros Hr -> q q1 -> Hq Hq1. feed pose proof (f_range r) as B.
  assert (forall q, (f r + 1 <= q <= f (r - 1) - 1)%Z -> G r q < G r (q + 1)) as HP; [|apply HP;
    lia].
  apply z_down. intros x Hx IH. rewrite (along_step r (r-1) x (x+1)) by lia.
  destruct (Z.eq_dec (x + 1) (f (r - 1))) as [e|].
  - rewrite e. rewrite (along_top r (r-1)) by lia. apply Fs_mono; [lia|]. apply steps_down; lia.
  - rewrite (along_step r (r-1) (x+1) (x+2)) at 2 by lia. apply Fs_mono; [lia|].
    replace (x + 2)%Z with (x + 1 + 1)%Z by lia. apply IH; lia.
Qed.
End Along.
