(** [curve-early]: while [q + r < K], a page costs at least theta less than a robot more instead of
    it, and a robot more is a gain. *)
From Curve Require Export Known.

Section Facts.
Context {M : Model} {S : Solution}.

(* curve-early: early start *)
Lemma early_page : forall r q, (0 <= r < N)%Z -> (0 <= q)%Z -> (q + r < K)%Z ->
  forall q1 r1, q1 = (q + 1)%Z -> r1 = (r + 1)%Z ->
  V q1 r <= V q r1 - th.
Proof.
  intros r q Hr. revert q. cut ((0 <= r <= N - 1)%Z); [|lia]. clear Hr. revert r.
  apply (z_up (fun r => forall q, (0 <= q)%Z -> (q + r < K)%Z -> forall q1 r1, q1 = (q + 1)%Z ->
    r1 = (r + 1)%Z -> V q1 r <= V q r1 - th)).
  intros r Hr IH q Hq Hqr q1 r1 -> ->.
  feed pose proof (EQ (q+1) r q (q+2) (r-1)) as E.
  feed pose proof (Ule1 q r (r+1)) as L.
  destruct (Z.eq_dec r 0) as [->|].
  - rewrite lam0 in E. lra.
  - feed pose proof (IH (r-1)%Z) as IH1. feed pose proof (IH1 (q+1)%Z) as IH2.
    feed pose proof (IH2 (q+2)%Z r) as L2.
    feed pose proof (Ule (q+2) (r-1)) as L3. pose proof theta_pos.
    assert (0 < lam r) by (apply lam_pos; lia).
    assert (lam r * U (q+2) (r-1) <= lam r * V (q+1) r) by (apply Rmult_le_compat_l; lra).
    lra.
Qed.
Lemma early_start q r r1 : (0 <= r < N)%Z -> (0 <= q)%Z -> (0 < q + r < K)%Z -> r1 = (r + 1)%Z ->
  V q r1 < V q r.
Proof.
  intros Hr Hq Hqr ->. pose proof theta_pos as Ht.
  destruct (grid_max (fun q r => (0 < q + r < K)%Z) (fun q r => V q (r + 1) - V q r) (fun q r =>
    q) 0 K 0 (N - 1))
    as (a & b & Ha & Hb & Hab & Hm).
  { intros; lia. } { exists q, r; lia. }
  assert (HD : forall q' r', (0 <= q')%Z -> (0 <= r' < N)%Z -> (0 < q' + r' < K)%Z ->
    V q' (r' + 1) - V q' r' <= V a (b + 1) - V a b).
  { intros q' r' ? ? ?. destruct (Hm q' r') as [?|[? ?]]; try lia; lra. }
  destruct (Rlt_le_dec (V a (b + 1) - V a b) 0) as [L|L].
  { specialize (HD q r); feed specialize HD. lra. }
  exfalso.
  assert (HU : forall q' r' r1, r1 = (r' + 1)%Z -> (0 <= q')%Z -> (0 <= r' < N)%Z ->
    (q' + r' < K)%Z -> U q' r1 - U q' r' <= V a (b + 1) - V a b).
  { intros q' r' r1 -> ? ? ?. feed pose proof (Ule q' (r'+1)) as L1.
    destruct (Z.eq_dec (q' + r') 0).
    - rewrite (U00 q' r') by lia. assert (q' = 0%Z) by lia. assert (r' = 0%Z) by lia. subst.
      simpl in *. lra.
    - rewrite (Umin q' r' (r'+1)) by lia. specialize (HD q' r'); feed specialize HD. unfold Rmin.
      destruct (Rle_dec (V q' r') (V q' (r' + 1))); lra. }
  feed pose proof (EQ a b (a-1) (a+1) (b-1)) as E1.
  feed pose proof (EQ a (b+1) (a-1) (a+1) b) as E2.
  feed pose proof (Ule (a+1) b) as L1.
  feed pose proof (early_page b a) as P. feed pose proof (P (a+1)%Z (b+1)%Z) as P'.
  assert (lam b < lam (b + 1)) by (apply lamS; lia).
  assert (lam (b+1) * U (a+1) b <= lam b * U (a + 1) b + (lam (b+1) - lam b) * (V a (b+1) - th)).
  { assert ((lam (b+1) - lam b) * U (a+1) b <= (lam (b+1) - lam b) * (V a (b+1) - th))
      by (apply Rmult_le_compat_l; lra). lra. }
  assert (0 < (lam (b+1) - lam b) * th) by (apply Rmult_lt_0_compat; lra).
  assert (lam b * (U (a+1) b - U (a+1) (b-1)) <= lam b * (V a (b + 1) - V a b)).
  { destruct (Z.eq_dec b 0) as [->|]; [rewrite lam0; lra|].
    apply Rmult_le_compat_l; [apply lam_nn; lia|]. apply HU; lia. }
  destruct (Z.eq_dec a 0) as [->|].
  - rewrite Um in E1 by lia. rewrite Um in E2 by lia. lra.
  - specialize (HU (a-1)%Z b (b+1)%Z); feed specialize HU. lra.
Qed.

End Facts.
