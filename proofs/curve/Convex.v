(** [curve-convex]: the values are convex in the queue, (i) across the curve [convex_gap], (ii)
   off it
    [convex_off], (iii) on it [convex_on]. *)
From Curve Require Export Page Steps.

Section Convex.
Context {M : Model} {F : CurveF} {C : Curved}.

(* the second difference of U in row r - 1 *)
Definition Zgap (r : Z) : R := V (f r + 2) r - V (f r + 1) r - A r.
Definition convex_off_row (r : Z) : Prop :=
  forall q q1 q2, q1 = (q + 1)%Z -> q2 = (q + 2)%Z -> (f r < q <= K - 1)%Z ->
    0 < V q2 r - 2 * V q1 r + V q r.
Definition gap_pos (r : Z) : Prop := (f r <= K - 1)%Z -> 0 < Zgap r.

(* the four cases of Q in eq-curve-convex *)
Lemma Qcases r rm q q1 q2 q3 : (1 <= r <= N)%Z -> rm = (r - 1)%Z -> (0 <= q <= K - 2)%Z ->
  q1 = (q + 1)%Z -> q2 = (q + 2)%Z -> q3 = (q + 3)%Z ->
  gap_pos rm -> convex_off_row rm ->
  0 < U q3 rm - 2 * U q2 rm + U q1 rm \/
  (q3 <= f rm)%Z /\ U q3 rm - 2 * U q2 rm + U q1 rm = V q3 r - 2 * V q2 r + V q1 r.
Proof.
  intros Hr -> Hq -> -> -> HZ HC. feed pose proof (f_range (r-1)) as B.
  destruct (Z_le_gt_dec (f (r-1)) q).
  { left. rewrite !Uoff by lia. apply HC; lia. }
  destruct (Z.eq_dec (f (r-1)) (q + 1)) as [e|].
  { left. unfold gap_pos, Zgap, A in HZ. feed specialize HZ. rewrite e in HZ.
    replace (q + 1 + 1)%Z with (q + 2)%Z in HZ by lia.
    replace (q + 1 + 2)%Z with (q + 3)%Z in HZ by lia.
    rewrite (Uoff (q + 3)), (Uoff (q+2)) in * by lia. lra. }
  destruct (Z.eq_dec (f (r-1)) (q + 2)) as [e|].
  { left. feed pose proof (along_below r (r-1) (q+1) (q+2)) as L1.
    feed pose proof (steps_down r (r-1)) as L2.
    unfold A in L1, L2. rewrite e in *. replace (q + 2 + 1)%Z with (q + 3)%Z in * by lia.
    rewrite (Uon (q + 2) (r-1) r) in *  by lia. rewrite (Uon (q + 1) (r-1) r) in *  by lia. lra. }
  right. split; [lia|]. rewrite (Uon (q+1) (r-1) r), (Uon (q+2) (r-1) r), (Uon (q+3) (r-1) r)
    by lia. reflexivity.
Qed.

(* eq-curve-convex *)
Lemma eq5 r rm q qm q1 q2 q3 : (1 <= r <= N)%Z -> rm = (r - 1)%Z -> (0 <= q <= K - 2)%Z ->
  qm = (q - 1)%Z -> q1 = (q + 1)%Z -> q2 = (q + 2)%Z -> q3 = (q + 3)%Z ->
  (1 + lam r) * (V q2 r - 2 * V q1 r + V q r) = (U q1 r - 2 * U q r + U qm r)
    + lam r * (U q3 rm - 2 * U q2 rm + U q1 rm).
Proof.
  intros. feed pose proof (EQ q r qm q1 rm) as E0. feed pose proof (EQ q1 r q q2 rm) as E1.
  feed pose proof (EQ q2 r q1 q3 rm) as E2. lra.
Qed.

Lemma gap_0 : gap_pos 0.
Proof.
  intros Hf. pose proof HN; pose proof HK; pose proof f_0. pose proof theta_pos.
  destruct along_first as [E|[E1 E]].
  - exfalso. unfold A in E. assert (Ef : f 0%Z = (K - 1)%Z) by lia. rewrite Ef in E.
    replace (K - 1 + 1)%Z with K in E by lia. rewrite (Uoff K 0), (Uon (K-1) 0 1) in E by lia.
    feed pose proof (EQ K 0 (K-1) (K+1) (-1)) as E0. rewrite (Uon (K-1) 0 1) in E0 by lia.
    rewrite lam0 in E0. lra.
  - unfold Zgap. rewrite E, E1. replace (K - 1 + 2)%Z with (K + 1)%Z by lia.
    replace (K - 1 + 1)%Z with K by lia.
    rewrite (VK 0 (K+1)) by lia. lra.
Qed.

Lemma gap_step r rm : (1 <= r <= N)%Z -> rm = (r - 1)%Z -> gap_pos rm -> convex_off_row rm ->
  gap_pos r.
Proof.
  intros Hr -> HZ HC Hf. pose proof theta_pos. feed pose proof (f_range r) as B.
  feed pose proof (f_range (r-1)) as B'.
  feed pose proof (f_mono (r-1) r) as Bm. pose proof HK.
  assert (Hl : 0 < lam r) by (apply lam_pos; lia).
  destruct (Z.eq_dec (f r) (K - 1)) as [e|].
  - (* the curve ends one below the top *)
    unfold Zgap. rewrite e. replace (K - 1 + 2)%Z with (K + 1)%Z by lia.
    replace (K - 1 + 1)%Z with K by lia.
    rewrite (VK r (K+1)) by lia. enough (A r < 1) by lra.
    destruct (Z.eq_dec (f (r-1)) K) as [e'|].
    + feed pose proof (steps_down r (r-1)) as D. rewrite (A_K (r-1)) in D by lia.
      rewrite (along_bottom r K) by lia. rewrite <- e'. rewrite (along_top r (r-1)) by lia.
      rewrite (A_K (r-1)) by lia. exact D.
    + assert (e' : f (r-1)%Z = (K - 1)%Z) by lia.
      apply Rnot_le_lt. intros L. feed pose proof (eq3 K r (K-1) (K+1) (r-1)) as E.
      unfold A in L. rewrite e in L. replace (K - 1 + 1)%Z with K in L by lia.
      rewrite (Uoff K r) in L by lia.
      rewrite (UK (r-1) (K+1)) in E by lia. rewrite (Uoff K (r-1)) in E by lia.
      feed pose proof (d_off K (r-1) r) as D.
      assert (V K r - U (K-1) r <= Fs r 1) by (rewrite E; apply Fs_mono'; [lia|lra]).
      unfold Fs in *. apply (no_climb r); try lia; try lra.
      unfold A. rewrite e. replace (K - 1 + 1)%Z with K by lia. rewrite (Uoff K r) by lia. nra.
  - (* the curve ends lower *)
    assert (Hgoal : A r < U (f r + 3) (r-1) - U (f r + 2) (r-1)).
    { destruct (Z_le_gt_dec (f r + 3) (f (r-1))).
      { (* a fall by 3 or more *)
        rewrite (Uon (f r + 3) (r-1) r), (Uon (f r + 2) (r-1) r) by lia.
        rewrite (along_bottom r (f r + 1)) by lia.
        feed pose proof (along_falls r (r-1)) as HG.
        feed pose proof (HG (f r + 1)%Z (f r + 2)%Z) as H1.
        feed pose proof (HG (f r + 2)%Z (f r + 3)%Z) as H2.
        unfold G in H2 at 2. replace (f r + 3 - 1)%Z with (f r + 2)%Z in H2 by lia.
        rewrite (Uoff (f r + 2) r) in H2 by lia. lra. }
      destruct (Z.eq_dec (f (r-1)) (f r + 2)) as [e|].
      { (* by 2 *)
        feed pose proof (steps_down r (r-1)) as D. feed pose proof (along_falls r (r-1)) as HG0.
        feed pose proof (HG0 (f r + 1)%Z (f r + 2)%Z) as HG.
        rewrite (along_bottom r (f r + 1)) by lia. replace (f r + 2)%Z with (f (r-1)) in HG by lia.
        rewrite (along_top r (r-1)) in HG by lia.
        unfold A in D, HG. rewrite e in D, HG. replace (f r + 2 + 1)%Z with (f r + 3)%Z in * by lia.
        lra. }
      destruct (Z.eq_dec (f (r-1)) (f r + 1)) as [e|].
      { (* by 1 *)
        feed pose proof (steps_down r (r-1)) as D. unfold gap_pos, Zgap in HZ. feed specialize HZ.
        rewrite e in HZ.
        replace (f r + 1 + 2)%Z with (f r + 3)%Z in HZ by lia.
        replace (f r + 1 + 1)%Z with (f r + 2)%Z in HZ by lia.
        rewrite (Uoff (f r + 3)), (Uoff (f r + 2)) by lia.
        rewrite (along_bottom r (f r + 1)) by lia. rewrite <- e. rewrite (along_top r (r-1)) by lia.
        lra. }
      assert (e : f (r-1)%Z = f r) by lia.
      unfold gap_pos, Zgap in HZ. feed specialize HZ. rewrite e in HZ.
      rewrite (Uoff (f r + 3)), (Uoff (f r + 2)) by lia.
      feed pose proof (HC (f r + 1)%Z (f r + 2)%Z (f r + 3)%Z) as HC1.
      destruct (Z.eq_dec (f r) (-1)) as [em|].
      { rewrite (A_m r) by lia. rewrite (A_m (r-1)) in HZ by lia. lra. }
      (* flat *)
      pose (a := V (f r + 2) (r-1) - V (f r + 1) (r-1)).
      enough (A r <= a) by (unfold a in *; lra).
      feed pose proof (eq3 (f r + 1) r (f r) (f r + 2) (r-1)) as E.
      rewrite (Uoff (f r + 2) (r-1)) in E by lia.
      feed pose proof (d_off (f r + 1) (r-1) r) as D.
      assert (EA : A r = V (f r + 1) r - U (f r) r) by (unfold A; rewrite (Uoff (f r + 1) r) by lia;
        reflexivity).
      assert (LA : A r <= Fs r a) by (rewrite EA, E; apply Fs_mono'; [lia|unfold a; lra]).
      apply Rnot_lt_le. intros L. fold a in HZ.
      feed pose proof (steps_down r (r-1)) as D2. unfold Fs in *.
      destruct (Rle_lt_dec (lam r) 1).
      - nra.
      - apply (no_climb r); try lia; try lra. nra. }
    feed pose proof (EQ (f r + 1) r (f r) (f r + 2) (r-1)) as E1.
    feed pose proof (EQ (f r + 2) r (f r + 1) (f r + 3) (r-1)) as E2.
    unfold Zgap. assert (EA : A r = U (f r + 1) r - U (f r) r) by reflexivity.
    assert (lam r * A r < lam r * (U (f r + 3) (r-1) - U (f r + 2) (r-1)))
      by (apply Rmult_lt_compat_l; lra).
    apply (Rmult_lt_reg_l (1 + lam r)); [lra|]. lra.
Qed.

Lemma convex_step r rm : (1 <= r <= N)%Z -> rm = (r - 1)%Z -> gap_pos r -> gap_pos rm ->
  convex_off_row rm -> convex_off_row r.
Proof.
  intros Hr -> HZ HZ' HC q0 q1 q2 -> -> Hq0. feed pose proof (f_range r) as B. pose proof HK.
  assert (Hl : 0 < lam r) by (apply lam_pos; lia).
  destruct (line_min (fun q => V (q + 2) r - 2 * V (q + 1) r + V q r) (f r + 1) (K - 1))
    as (q & Hq & Hm); [lia|].
  assert (Hm' : forall q' q1 q2, q1 = (q' + 1)%Z -> q2 = (q' + 2)%Z -> (f r < q' <= K - 1)%Z ->
    V (q + 2) r - 2 * V (q + 1) r + V q r <= V q2 r - 2 * V q1 r + V q' r).
  { intros q' q1 q2 -> -> ?. destruct (Hm q') as [?|[? ?]]; try lia; lra. }
  destruct (Rlt_le_dec 0 (V (q + 2) r - 2 * V (q + 1) r + V q r)) as [|L].
  { specialize (Hm' q0 (q0+1)%Z (q0+2)%Z); feed specialize Hm'. lra. }
  exfalso. destruct (Z.eq_dec q (K - 1)) as [e|].
  - rewrite e in L. replace (K - 1 + 2)%Z with (K + 1)%Z in L by lia.
    replace (K - 1 + 1)%Z with K in L by lia.
    rewrite (VK r (K+1)) in L by lia. feed pose proof (page_below_loss (K-1) r K) as P. lra.
  - feed pose proof (eq5 r (r-1) q (q-1) (q+1) (q+2) (q+3)) as E.
    assert (HQ : V (q + 2) r - 2 * V (q + 1) r + V q r <= U (q + 3) (r - 1) - 2 * U (q + 2) (r - 1)
      + U (q + 1) (r - 1)).
    { destruct (Qcases r (r-1) q (q+1) (q+2) (q+3)) as [?|[? ->]]; auto; try lia; [lra|].
      apply Hm'; lia. }
    assert (HP : V (q + 2) r - 2 * V (q + 1) r + V q r < U (q + 1) r - 2 * U q r + U (q - 1) r).
    { destruct (Z.eq_dec q (f r + 1)) as [e|].
      - unfold gap_pos, Zgap, A in HZ. feed specialize HZ. rewrite e in *.
        replace (f r + 1 - 1)%Z with (f r) in * by lia.
        replace (f r + 1 + 1)%Z with (f r + 2)%Z in * by lia.
        rewrite (Uoff (f r + 1)), (Uoff (f r + 2)) in * by lia. lra.
      - rewrite (Uoff (q+1)), (Uoff q), (Uoff (q-1)) by lia.
        destruct (Hm (q - 1)%Z) as [H1|[_ H1]]; try lia.
        replace (q - 1 + 2)%Z with (q + 1)%Z in H1 by lia.
        replace (q - 1 + 1)%Z with q in H1 by lia. lra. }
    assert (lam r * (V (q + 2) r - 2 * V (q + 1) r + V q r) <= lam r * (U (q + 3) (r - 1)
      - 2 * U (q + 2) (r - 1) + U (q + 1) (r - 1))).
    { apply Rmult_le_compat_l; lra. }
    lra.
Qed.

(* curve-convex (i) and (ii) *)
Lemma convex_both : forall r, (0 <= r <= N)%Z -> gap_pos r /\ convex_off_row r.
Proof.
  apply (z_up (fun r => gap_pos r /\ convex_off_row r)). intros r Hr IH.
  destruct (Z.eq_dec r 0) as [->|].
  - split; [apply gap_0|]. intros q q1 q2 _ _ Hq. pose proof f_0. lia.
  - destruct (IH (r - 1)%Z) as [IZ IC]; [lia|].
    assert (gap_pos r) by (apply (gap_step r (r-1)); auto; lia).
    split; [auto|]. apply (convex_step r (r-1)); auto; lia.
Qed.

Lemma convex_gap r : (0 <= r <= N)%Z -> (f r <= K - 1)%Z -> forall q1 q2, q1 = (f r + 1)%Z ->
  q2 = (f r + 2)%Z -> A r < V q2 r - V q1 r.
Proof. intros. destruct (convex_both r) as [HZ _]; auto. unfold gap_pos, Zgap in HZ.
feed specialize HZ. subst. lra. Qed.

Lemma convex_off q r q1 q2 : (0 <= r <= N)%Z -> q1 = (q + 1)%Z -> q2 = (q + 2)%Z ->
  (f r < q <= K - 1)%Z -> 0 < V q2 r - 2 * V q1 r + V q r.
Proof. intros. destruct (convex_both r) as [_ HC]; auto. Qed.

(* curve-convex (iii) *)
Lemma convex_on : forall r, (0 <= r <= N)%Z -> forall q, (0 <= q <= K - 1)%Z ->
  forall q1 q2, q1 = (q + 1)%Z -> q2 = (q + 2)%Z ->
  (K <= q + r)%Z -> (q <= f r)%Z -> 0 < V q2 r - 2 * V q1 r + V q r.
Proof.
  apply (z_down (fun r => forall q, (0 <= q <= K - 1)%Z -> forall q1 q2, q1 = (q + 1)%Z ->
    q2 = (q + 2)%Z ->
    (K <= q + r)%Z -> (q <= f r)%Z -> 0 < V q2 r - 2 * V q1 r + V q r)).
  intros r Hr IHr. pose proof HK; pose proof gam0. feed pose proof (f_range r) as B.
  apply (z_down (fun q => forall q1 q2, q1 = (q + 1)%Z -> q2 = (q + 2)%Z ->
    (K <= q + r)%Z -> (q <= f r)%Z -> 0 < V q2 r - 2 * V q1 r + V q r)).
  intros q Hq IHq q1 q2 -> -> HT Hon.
  assert (r < N)%Z by (apply f_lt_N; lia). assert (Hl : 0 < lam r) by (apply lam_pos; lia).
  assert (Hl1 : 0 < lam (r + 1)) by (apply lam_pos; lia).
  destruct (Z.eq_dec q (K - 1)) as [e|].
  { rewrite e. replace (K - 1 + 2)%Z with (K + 1)%Z by lia. replace (K - 1 + 1)%Z with K by lia.
    rewrite (VK r (K+1)) by lia. feed pose proof (page_below_loss (K-1) r K) as P. lra. }
  feed pose proof (eq5 r (r-1) q (q-1) (q+1) (q+2) (q+3)) as E.
  destruct (convex_both (r - 1)) as [HZ' HC']; [lia|].
  assert (HQ : 0 < U (q + 3) (r - 1) - 2 * U (q + 2) (r - 1) + U (q + 1) (r - 1)).
  { destruct (Qcases r (r-1) q (q+1) (q+2) (q+3)) as [?|[? ->]]; auto; try lia.
    destruct (Z_le_gt_dec (q + 1) (f r)).
    - apply (IHq (q + 1)%Z); lia.
    - apply convex_off; lia. }
  (* the next row *)
  assert (HR : forall q, (0 <= q <= K - 1)%Z -> (K <= q + (r + 1))%Z ->
    forall q1 q2, q1 = (q + 1)%Z -> q2 = (q + 2)%Z -> 0 < V q2 (r+1) - 2 * V q1 (r+1) + V q (r+1)).
  { intros x Hx HxT q1 q2 -> ->. destruct (Z_le_gt_dec x (f (r+1))); [apply (IHr (r+1)%Z);
      lia|apply convex_off; lia]. }
  assert (HP : 0 < U (q + 1) r - 2 * U q r + U (q - 1) r).
  { destruct (Z.eq_dec q 0) as [->|].
    - change (0 + 1)%Z with 1%Z in *. change (0 - 1)%Z with (-1)%Z in *. rewrite (Um (-1)) by lia.
      rewrite (Uon 0 r (r+1)) by lia. feed pose proof (d_on 0 r (r+1)) as D.
      destruct (Z.eq_dec (f r) 0) as [e|].
      + feed pose proof (along_zero (r+1) r) as Az. feed pose proof (steps_down (r+1) r) as Sd.
        assert (EA : A r = U 1 r - V 0 (r+1)). { unfold A. rewrite e. change (0 + 1)%Z with 1%Z.
        rewrite (Uon 0 r (r+1)) by lia. reflexivity. }
        lra.
      + destruct (Z.eq_dec (f (r+1)) (-1)) as [e1|].
        * rewrite (Uon 1 r (r+1)) by lia. feed pose proof (convex_gap (r+1)) as Gp.
          feed pose proof (Gp 0%Z 1%Z) as Gq.
          rewrite (A_m (r+1)) in Gq by lia. lra.
        * feed pose proof (f_range (r+1)) as B1. assert (r + 1 < N)%Z by (apply f_lt_N; lia).
          feed pose proof (EQ 0 (r+1) (-1) 1 r) as E0. feed pose proof (EQ 1 (r+1) 0 2 r) as E1.
          rewrite (Um (-1)) in E0 by lia. rewrite (Uon 0 (r+1) (r+2)) in E1 by lia.
          feed pose proof (star r (r+1) (r+2)) as St. rewrite (Uon 1 r (r+1)) in * by lia.
          assert (Hb : 0 < U 2 r - V 1 (r+1) - (V 1 (r+1) - V 0 (r+1))).
          { destruct (Z.eq_dec (f r) 1) as [e'|].
            - feed pose proof (along_below (r+1) r 0 1) as Bl.
              feed pose proof (steps_down (r+1) r) as Sd.
              assert (EA : A r = U 2 r - V 1 (r+1)). { unfold A. rewrite e'.
              change (1 + 1)%Z with 2%Z. rewrite (Uon 1 r (r+1)) by lia. reflexivity. }
              lra.
            - rewrite (Uon 2 r (r+1)) by lia. feed pose proof (HR 0%Z) as HR0.
              feed pose proof (HR0 1%Z 2%Z) as HR1. lra. }
          assert (0 < lam (r + 1) * (U 2 r - V 1 (r+1) - (V 1 (r+1) - V 0 (r+1))))
            by (apply Rmult_lt_0_compat; lra).
          lra.
    - destruct (Z.eq_dec q (f r)) as [e|].
      + feed pose proof (along_below (r+1) r (q-1) q) as Bl.
        feed pose proof (steps_down (r+1) r) as Sd.
        assert (EA : A r = U (q+1) r - U q r) by (unfold A; rewrite <- e; reflexivity).
        rewrite (Uon q r (r+1)) in * by lia. rewrite (Uon (q-1) r (r+1)) in * by lia. lra.
      + rewrite (Uon (q+1) r (r+1)), (Uon q r (r+1)), (Uon (q-1) r (r+1)) by lia.
        feed pose proof (HR (q-1)%Z) as Hx1. feed pose proof (Hx1 q (q+1)%Z) as Hx2. lra. }
  assert (0 < lam r * (U (q + 3) (r - 1) - 2 * U (q + 2) (r - 1) + U (q + 1) (r - 1)))
    by (apply Rmult_lt_0_compat; lra).
  apply (Rmult_lt_reg_l (1 + lam r)); [lra|]. lra.
Qed.

(* the values are convex wherever q + r >= K, and in row N *)
Lemma convex q r q1 q2 : (0 <= q <= K - 1)%Z -> (0 <= r <= N)%Z -> (K <= q + r \/ r = N)%Z ->
  q1 = (q + 1)%Z -> q2 = (q + 2)%Z ->
  0 < V q2 r - 2 * V q1 r + V q r.
Proof.
  intros Hq Hr HT -> ->. destruct (Z_le_gt_dec q (f r)).
  - assert (r < N)%Z by (apply f_lt_N; lia). apply (convex_on r); lia.
  - apply convex_off; lia.
Qed.
End Convex.
