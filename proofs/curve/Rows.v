(** [curve-rows]: along a row d rises strictly where [q + r >= K]. *)
From Curve Require Export Convex.

Section Rows.
Context {M : Model} {F : CurveF} {C : Curved}.

Lemma D_pos r r1 : r1 = (r + 1)%Z -> (0 <= r < N)%Z -> 0 < lam r1 - lam r.
Proof. intros -> Hr. assert (lam r < lam (r + 1)) by (apply lamS; lia). lra. Qed.

Lemma eqS q r q1 q2 qm r1 rm : (0 <= q <= K - 1)%Z -> (0 <= r < N)%Z -> (0 < q + r)%Z ->
  q1 = (q + 1)%Z -> q2 = (q + 2)%Z -> qm = (q - 1)%Z -> r1 = (r + 1)%Z -> rm = (r - 1)%Z ->
  (1 + lam r) * (V q1 r1 - V q1 r - V q r1 + V q r) =
    ((U q r1 - U q r) - (U qm r1 - U qm r)) + lam r * ((U q2 r - U q2 rm) - (U q1 r - U q1 rm))
    + (lam r1 - lam r) * ((U q2 r - V q1 r1) - (U q1 r - V q r1)).
Proof.
  intros. feed pose proof (EQ q r qm q1 rm) as Ea. feed pose proof (EQ q1 r q q2 rm) as Eb.
  feed pose proof (EQ q r1 qm q1 r) as Ec. feed pose proof (EQ q1 r1 q q2 r) as Ed. lra.
Qed.

(* B2 where (q + 1, r) is off, given the off boxes of row r - 1 *)
Lemma B2_off q r q1 q2 rm : (0 <= q <= K - 1)%Z -> (1 <= r < N)%Z -> q1 = (q + 1)%Z ->
  q2 = (q + 2)%Z -> rm = (r - 1)%Z -> (f r < q1)%Z ->
  (forall x x1, (f rm < x <= K - 1)%Z -> x1 = (x + 1)%Z -> V x r - V x rm < V x1 r - V x1 rm) ->
  0 <= (U q2 r - U q2 rm) - (U q1 r - U q1 rm).
Proof.
  intros Hq Hr -> -> -> Hoff IH. feed pose proof (f_range r) as B.
  feed pose proof (f_range (r-1)) as B'. pose proof HK.
  destruct (Z.eq_dec (q + 1) K) as [e|].
  { replace (q + 2)%Z with (K + 1)%Z by lia. rewrite e. rewrite !(UK _ (K+1)) by lia. lra. }
  rewrite (Uoff (q + 2) r), (Uoff (q+1) r) by lia.
  destruct (Z_lt_ge_dec (f (r-1)) (q + 1)).
  - rewrite (Uoff (q + 2) (r-1)), (Uoff (q+1) (r-1)) by lia.
    feed pose proof (IH (q+1)%Z (q+2)%Z) as I. lra.
  - rewrite (Uon (q+1) (r-1) r) by lia. feed pose proof (Ule1 (q+2) (r-1) r) as L. lra.
Qed.

(* (a) off the curve *)
Lemma row_off : forall r, (0 <= r <= N - 1)%Z -> forall q q1 r1, (f r < q <= K - 1)%Z ->
  q1 = (q + 1)%Z -> r1 = (r + 1)%Z -> V q r1 - V q r < V q1 r1 - V q1 r.
Proof.
  apply (z_up (fun r => forall q q1 r1, (f r < q <= K - 1)%Z -> q1 = (q + 1)%Z -> r1 = (r + 1)%Z ->
    V q r1 - V q r < V q1 r1 - V q1 r)).
  intros r Hr IHr. feed pose proof (f_range r) as B. pose proof HK.
  assert (HP : forall q, (f r + 1 <= q <= K - 1)%Z ->
    V q (r+1) - V q r < V (q+1) (r+1) - V (q+1) r).
  2: { intros q q1 r1 Hq -> ->. apply HP; lia. }
  apply z_up. intros q Hq IHq. feed pose proof (f_low r) as Fl.
  feed pose proof (f_mono r (r+1)) as Fm.
  assert (Hr1 : (1 <= r)%Z) by lia.
  feed pose proof (eqS q r (q+1) (q+2) (q-1) (r+1) (r-1)) as E.
  feed pose proof (D_pos r (r+1)) as Dp. feed pose proof (convex_off q r (q+1) (q+2)) as Cx.
  assert (HB2 : 0 <= lam r * ((U (q+2) r - U (q+2) (r-1)) - (U (q+1) r - U (q+1) (r-1)))).
  { apply Rmult_le_pos; [apply lam_nn; lia|]. apply (B2_off q r); try lia. intros.
    apply (IHr (r-1)%Z); lia. }
  assert (HB1 : 0 <= (U q (r+1) - U q r) - (U (q-1) (r+1) - U (q-1) r)).
  { rewrite (Uoff q r), (Uoff q (r+1)) by lia. destruct (Z.eq_dec q 0) as [->|].
    - rewrite !(Um (0-1)) by lia. lra.
    - destruct (Z_lt_ge_dec (f r) (q - 1)).
      + rewrite (Uoff (q-1) r), (Uoff (q-1) (r+1)) by lia. feed pose proof (IHq (q-1)%Z) as I.
        replace (q - 1 + 1)%Z with q in I by lia. lra.
      + rewrite (Uon (q-1) r (r+1)) by lia. feed pose proof (Ule (q-1) (r+1)) as L.
        feed pose proof (d_off q r (r+1)) as D. lra. }
  rewrite (Uoff (q+2) r), (Uoff (q+1) r) in E by lia.
  rewrite (Uoff (q+2) r), (Uoff (q+1) r) in HB2 by lia.
  assert (0 < (lam (r + 1) - lam r) * (V (q+2) r - 2 * V (q+1) r + V q r))
    by (apply Rmult_lt_0_compat; lra).
  apply Rminus_gt_0_lt. apply (Rmult_lt_reg_l (1 + lam (r+1)));
    [feed pose proof (lam_pos (r+1)) as Lp; lra|]. lra.
Qed.

(* (c) an empty queue with (1, r) on *)
Lemma row_zero r r1 : (K <= r)%Z -> (r < N)%Z -> r1 = (r + 1)%Z -> (1 <= f r)%Z ->
  V 0 r1 - V 0 r < V 1 r1 - V 1 r.
Proof.
  intros Hr HrN -> Hf. pose proof HK. pose proof theta_below_gamma.
  feed pose proof (f_mono (r-1) r) as Fm.
  feed pose proof (eq3 0 r (-1) 1 (r-1)) as E0. feed pose proof (eq3 0 (r+1) (-1) 1 r) as E1.
  rewrite !(Um (-1)) in * by lia. rewrite (Uon 1 (r-1) r) in E0 by lia.
  rewrite (Uon 1 r (r+1)) in E1 by lia.
  unfold Fs in *. feed pose proof (lam_pos r) as Lp. feed pose proof (D_pos r (r+1)) as Dp.
  pose (x := V 1 r - V 0 r). pose (y := V 1 (r+1) - V 0 (r+1)). fold x in E0. fold y in E1.
  enough (x < y) by (unfold x, y in *; lra).
  apply Rnot_le_lt. intros L.
  assert (Hx : x < 0) by (apply Rnot_le_lt; intros Lx;
    assert (0 <= lam r * x) by (apply Rmult_le_pos; lra); lra).
  assert (lam (r+1) * y <= lam (r+1) * x) by (apply Rmult_le_compat_l; lra).
  assert (0 < (lam (r+1) - lam r) * (- x)) by (apply Rmult_lt_0_compat; lra). lra.
Qed.

(* (b) on the curve *)
Lemma row_on : forall r, (0 <= r <= N - 1)%Z -> forall q q1 r1, (0 <= q <= K - 1)%Z ->
  (K <= q + r)%Z -> q1 = (q + 1)%Z -> r1 = (r + 1)%Z -> (q1 <= f r)%Z ->
  V q r1 - V q r < V q1 r1 - V q1 r.
Proof.
  apply (z_down (fun r => forall q q1 r1, (0 <= q <= K - 1)%Z -> (K <= q + r)%Z -> q1 = (q + 1)%Z ->
    r1 = (r + 1)%Z -> (q1 <= f r)%Z -> V q r1 - V q r < V q1 r1 - V q1 r)).
  intros r Hr IHr. feed pose proof (f_range r) as B. pose proof HK.
  assert (HP : forall q, (0 <= q <= K - 1)%Z -> (K <= q + r)%Z -> (q + 1 <= f r)%Z ->
    V q (r+1) - V q r < V (q+1) (r+1) - V (q+1) r).
  2: { intros q q1 r1 Hq HT -> -> Hf. apply HP; lia. }
  apply (z_down (fun q => (K <= q + r)%Z -> (q + 1 <= f r)%Z ->
    V q (r+1) - V q r < V (q+1) (r+1) - V (q+1) r)).
  intros q Hq IHq HT Hf. feed pose proof (f_mono (r-1) r) as Fm.
  assert (Hr1 : (1 <= r)%Z) by lia.
  destruct (Z.eq_dec q 0) as [->|].
  { apply row_zero; lia. }
  feed pose proof (eqS q r (q+1) (q+2) (q-1) (r+1) (r-1)) as E.
  feed pose proof (D_pos r (r+1)) as Dp. feed pose proof (f_range (r+1)) as B1.
  feed pose proof (f_range (r-1)) as Bm.
  assert (HX : 0 < (U (q+2) r - V (q+1) (r+1)) - (U (q+1) r - V q (r+1))).
  { rewrite (Uon (q+1) r (r+1)) by lia. destruct (Z.eq_dec (q + 1) (f r)) as [e|].
    - feed pose proof (along_below (r+1) r q (q+1)) as Bl.
      feed pose proof (steps_down (r+1) r) as Sd.
      assert (EA : A r = U (q+2) r - V (q+1) (r+1)).
      { unfold A. rewrite <- e. replace (q + 1 + 1)%Z with (q+2)%Z by lia.
        rewrite (Uon (q+1) r (r+1)) by lia. reflexivity. }
      lra.
    - rewrite (Uon (q+2) r (r+1)) by lia. feed pose proof (convex q (r+1) (q+1) (q+2)) as Cx. lra. }
  assert (HB1 : 0 <= (U q (r+1) - U q r) - (U (q-1) (r+1) - U (q-1) r)).
  { rewrite (Uon q r (r+1)), (Uon (q-1) r (r+1)) by lia. feed pose proof (Ule (q-1) (r+1)) as L.
    destruct (Z_lt_ge_dec (f (r+1)) q).
    - rewrite (Uoff q (r+1)) by lia. lra.
    - assert (r + 1 < N)%Z by (apply f_lt_N; lia).
      rewrite (Uon q (r+1) (r+2)), (Uon (q-1) (r+1) (r+2)) by lia.
      feed pose proof (IHr (r+1)%Z ltac:(lia) (q-1)%Z q (r+2)%Z) as I. lra. }
  assert (HB2 : 0 <= (U (q+2) r - U (q+2) (r-1)) - (U (q+1) r - U (q+1) (r-1))).
  { destruct (Z.eq_dec (q + 1) K) as [e|].
    { replace (q + 2)%Z with (K + 1)%Z by lia. rewrite e. rewrite !(UK _ (K+1)) by lia. lra. }
    rewrite (Uon (q+1) r (r+1)), (Uon (q+1) (r-1) r) by lia.
    feed pose proof (d_on (q+1) r (r+1)) as D.
    destruct (Z_lt_ge_dec (f r) (q + 2)).
    - rewrite (Uoff (q+2) r) by lia. feed pose proof (Ule1 (q+2) (r-1) r) as L. lra.
    - rewrite (Uon (q+2) r (r+1)), (Uon (q+2) (r-1) r) by lia. feed pose proof (IHq (q+1)%Z) as I.
      replace (q + 1 + 1)%Z with (q+2)%Z in I by lia. lra. }
  assert (0 < (lam (r+1) - lam r) * ((U (q+2) r - V (q+1) (r+1)) - (U (q+1) r - V q (r+1))))
    by (apply Rmult_lt_0_compat; lra).
  assert (0 <= lam r * ((U (q+2) r - U (q+2) (r-1)) - (U (q+1) r - U (q+1) (r-1))))
    by (apply Rmult_le_pos; [apply lam_nn; lia|lra]).
  apply Rminus_gt_0_lt. apply (Rmult_lt_reg_l (1 + lam r)); [feed pose proof (lam_pos r) as Lp;
    lra|]. lra.
Qed.

(* (d) across the curve *)
Lemma row_corner q r q1 r1 : (0 <= r <= N - 1)%Z -> (0 <= q <= K - 1)%Z -> (K <= q + r)%Z ->
  q = f r -> q1 = (q + 1)%Z -> r1 = (r + 1)%Z ->
  V q r1 - V q r < V q1 r1 - V q1 r.
Proof.
  intros Hr Hq HT Hf -> ->. pose proof HK. feed pose proof (f_mono (r-1) r) as Fm.
  feed pose proof (f_mono r (r+1)) as Fm'.
  feed pose proof (d_on q r (r+1)) as D1. feed pose proof (d_off (q+1) r (r+1)) as D2.
  apply Rnot_le_lt. intros L.
  assert (Z1 : V q (r+1) = V q r) by lra. assert (Z2 : V (q+1) (r+1) = V (q+1) r) by lra.
  feed pose proof (eqS q r (q+1) (q+2) (q-1) (r+1) (r-1)) as E.
  feed pose proof (D_pos r (r+1)) as Dp.
  feed pose proof (convex_gap r) as Gp. feed pose proof (Gp (q+1)%Z (q+2)%Z) as Gq.
  assert (HB2 : 0 <= lam r * ((U (q+2) r - U (q+2) (r-1)) - (U (q+1) r - U (q+1) (r-1)))).
  { apply Rmult_le_pos; [apply lam_nn; lia|]. apply (B2_off q r); try lia. intros.
    apply (row_off (r-1)%Z); lia. }
  assert (HB1 : 0 <= (U q (r+1) - U q r) - (U (q-1) (r+1) - U (q-1) r)).
  { rewrite (Uon q r (r+1)) by lia. destruct (Z.eq_dec q 0) as [e|].
    - rewrite !(Um (q-1)) by lia. rewrite e in *. destruct (Z_lt_ge_dec (f (r+1)) 0).
      + rewrite (Uoff 0 (r+1)) by lia. lra.
      + assert (r + 1 < N)%Z by (apply f_lt_N; lia). rewrite (Uon 0 (r+1) (r+2)) by lia.
        feed pose proof (star r (r+1) (r+2)) as St. lra.
    - rewrite (Uon (q-1) r (r+1)) by lia. feed pose proof (Ule (q-1) (r+1)) as L1.
      destruct (Z_lt_ge_dec (f (r+1)) q).
      + rewrite (Uoff q (r+1)) by lia. lra.
      + assert (r + 1 < N)%Z by (apply f_lt_N; lia).
        rewrite (Uon q (r+1) (r+2)), (Uon (q-1) (r+1) (r+2)) by lia.
        feed pose proof (row_on (r+1) ltac:(lia) (q-1) q (r+2)) as I. lra. }
  assert (EA : A r = U (q+1) r - V q (r+1)) by (unfold A; rewrite <- Hf;
    rewrite (Uon q r (r+1)) by lia; reflexivity).
  rewrite (Uoff (q+2) r), (Uoff (q+1) r) in * by lia.
  assert (0 < (lam (r + 1) - lam r) * ((V (q+2) r - V (q+1) (r+1)) - (V (q+1) r - V q (r+1))))
    by (apply Rmult_lt_0_compat; lra).
  assert (0 = (1 + lam r) * (V (q+1) (r+1) - V (q+1) r - V q (r+1) + V q r)) by (rewrite Z1, Z2;
    ring).
  lra.
Qed.

(* curve-rows *)
Lemma rows q r q1 r1 : (0 <= r <= N - 1)%Z -> (0 <= q <= K - 1)%Z -> (K <= q + r)%Z ->
  q1 = (q + 1)%Z -> r1 = (r + 1)%Z ->
  V q r1 - V q r < V q1 r1 - V q1 r.
Proof.
  intros. destruct (Z_lt_ge_dec (f r) q); [apply row_off; auto; lia|].
  destruct (Z.eq_dec q (f r)); [apply row_corner; auto|]. apply row_on; auto; lia.
Qed.
End Rows.
