(** [curve-last]: the last robot is not started at a full queue,
    [d K (N-1) >= D_(N-1) / (1 + lam N) > 0]. *)
From Curve Require Export Early.

Section Facts.
Context {M : Model} {S : Solution}.

(* curve-last: the last robot *)
Lemma last_robot_pos r : r = (N - 1)%Z -> V K r < V K N.
Proof.
  intros ->. pose proof HN; pose proof HK. apply Rnot_le_lt. intros L.
  feed pose proof (EQ K (N-1) (K-1) (K+1) (N-2)) as E1.
  feed pose proof (EQ K N (K-1) (K+1) (N-1)) as E2.
  rewrite (UK _ (K+1)) in E2 by lia.
  assert (UE : U K (N-1) = V K N) by (rewrite (Umin _ _ N) by lia; apply Rmin_right; lra).
  rewrite UE in *. rewrite (UN (K-1) N) in E2 by lia.
  feed pose proof (Ule1 (K-1) (N-1) N) as L1.
  assert (lam (N-1) < lam N) by (apply lamS; lia).
  destruct (Z.eq_dec N 1) as [e|].
  - rewrite e in *. simpl in *. rewrite lam0 in *. lra.
  - feed pose proof (Ule1 K (N-2) (N-1)) as L2. rewrite (UK _ (K+1)) in E1 by lia.
    assert (lam (N-1) * U K (N-2) <= lam (N-1) * V K (N-1)) by (apply Rmult_le_compat_l;
      [apply lam_nn; lia|lra]).
    assert ((lam N - lam (N-1)) * (V K N) = lam N * V K N - lam (N-1) * V K N) by ring.
    lra.
Qed.
Lemma last_robot r : r = (N - 1)%Z -> (lam N - lam r) / (1 + lam N) <= V K N - V K r.
Proof.
  intros ->. pose proof HN; pose proof HK. feed pose proof (last_robot_pos (N-1)) as P.
  feed pose proof (EQ K (N-1) (K-1) (K+1) (N-2)) as E1.
  feed pose proof (EQ K N (K-1) (K+1) (N-1)) as E2.
  rewrite (UK _ (K+1)) in E2 by lia.
  assert (UE : U K (N-1) = V K (N-1)) by (rewrite (Umin _ _ N) by lia; apply Rmin_left; lra).
  rewrite UE in *. rewrite (UN (K-1) N) in E2 by lia.
  feed pose proof (Ule1 (K-1) (N-1) N) as L1. feed pose proof (lam_pos N) as Lp.
  assert (lam (N-1) * (U (K+1) (N-2)) <= lam (N-1) * (V K (N-1) + 1)).
  { destruct (Z.eq_dec N 1) as [e|]; [replace (N-1)%Z with 0%Z by lia; rewrite lam0; lra|].
    apply Rmult_le_compat_l; [apply lam_nn; lia|]. rewrite (UK _ (K+1)) by lia.
    feed pose proof (Ule1 K (N-2) (N-1)) as L2. lra. }
  apply (Rmult_le_reg_r (1 + lam N)); [lra|]. unfold Rdiv.
  rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. lra.
Qed.
End Facts.
