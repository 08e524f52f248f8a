(** [curve-gentle]: from row to row the curve falls by 0 or 1, for any increasing rates. *)
From Curve Require Export Rows.

Section Gentle.
Context {M : Model} {F : CurveF} {C : Curved}.

(* curve-gentle, for any increasing rates *)
Lemma gentle r r1 : (0 <= r <= N - 2)%Z -> r1 = (r + 1)%Z -> (f r - 1 <= f r1)%Z.
Proof.
  intros Hr ->. apply Z.nlt_ge. intros L. pose proof HK. pose proof theta_pos.
  feed pose proof (f_range r) as B. feed pose proof (f_range (r+1)) as B1.
  pose proof (f_mono (r-1) r) as Fm. feed pose proof (f_mono (r+1) (r+2)) as Fm2.
  feed pose proof (D_pos r (r+1)) as Dp. feed pose proof (D_pos (r+1) (r+2)) as Dp2.
  feed pose proof (lam_nn r) as Ln. feed pose proof (lam_nn (r+1)) as Ln1.
  feed pose proof (d_on (f r) r (r+1)) as Don.
  feed pose proof (EQ (f r) r (f r - 1) (f r + 1) (r-1)) as E0.
  feed pose proof (EQ (f r) (r+1) (f r - 1) (f r + 1) r) as E1.
  rewrite (Uon (f r - 1) r (r+1)) in E0 by lia. rewrite (Uoff (f r - 1) (r+1)) in E1 by lia.
  destruct (Z.eq_dec (f r) K) as [e|].
  - rewrite e in *. rewrite (Uon (K+1) r (r+1)) in E1 by lia. rewrite (VK (r+1) (K+1)) in E1 by lia.
    assert (lam r * U (K+1) (r-1) = lam r * (V K r + 1)).
    { destruct (Z.eq_dec r 0) as [->|]; [rewrite lam0; ring|]. feed specialize Fm.
      rewrite (Uon (K+1) (r-1) r) by lia. rewrite (VK r (K+1)) by lia. reflexivity. }
    lra.
  - assert (Hu : lam r * U (f r + 1) (r-1) <= lam r * V (f r + 1) r).
    { destruct (Z.eq_dec r 0) as [->|]; [rewrite lam0; lra|]. apply Rmult_le_compat_l; [auto|].
      apply Ule1; lia. }
    rewrite (Uoff (f r + 1) r) in E1 by lia.
    assert (EA : A r = V (f r + 1) r - V (f r) (r+1)) by (unfold A;
      rewrite (Uoff (f r + 1) r), (Uon (f r) r (r+1)) by lia; reflexivity).
    assert (LA : A r <= 0).
    { apply Rnot_lt_le. intros P. assert (0 < (lam (r+1) - lam r) * A r)
        by (apply Rmult_lt_0_compat; lra).
      assert (0 <= (1 + lam r) * (V (f r) r - V (f r) (r+1))) by (apply Rmult_le_pos; lra).
      rewrite EA in *. lra. }
    feed pose proof (along_start (r+1) r (f r) (f r - 1)) as St. unfold Fs in St.
    rewrite (Uoff (f r - 1) (r+1)) in St by lia.
    assert (lam (r+1) * A r <= 0) by nra.
    feed pose proof (EQ (f r - 1) (r+1) (f r - 2) (f r) r) as E2.
    feed pose proof (EQ (f r - 1) (r+2) (f r - 2) (f r) (r+1)) as E3.
    rewrite (Uon (f r) r (r+1)) in E2 by lia. rewrite (Uoff (f r) (r+1)) in E3 by lia.
    feed pose proof (d_off (f r - 1) (r+1) (r+2)) as Doff.
    assert (HD : U (f r - 2) (r+2) - U (f r - 2) (r+1) <= V (f r - 1) (r+2) - V (f r - 1) (r+1)).
    { destruct (Z.eq_dec (f r) 1) as [e|].
      - rewrite e. rewrite !(Um (1-2)) by lia. replace (1 - 1)%Z with 0%Z by lia. lra.
      - destruct (Z_lt_ge_dec (f (r+1)) (f r - 2)).
        + feed pose proof (f_low (r+1)) as Fl1. rewrite !Uoff by lia.
          feed pose proof (rows (f r - 2) (r+1) (f r - 1) (r+2)) as Rw. lra.
        + rewrite (Uon (f r - 2) (r+1) (r+2)) by lia. feed pose proof (Ule (f r - 2) (r+2)) as Lu.
          lra. }
    assert (0 < (lam (r+2) - lam (r+1)) * th) by (apply Rmult_lt_0_compat; lra).
    assert ((lam (r+2) - lam (r+1)) * (V (f r) (r+1) - V (f r - 1) (r+1)) <= - ((lam (r+2)
      - lam (r+1)) * th)) by nra.
    assert (0 <= lam (r+2) * (V (f r - 1) (r+2) - V (f r - 1) (r+1))) by (apply Rmult_le_pos; lra).
    lra.
Qed.
End Gentle.
