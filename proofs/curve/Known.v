(** [curve-known], last clause: [0 < theta < gamma] for every solution.

    Where V is least, at the least queue, one more departure would be cheaper; where V is largest
    among [q + r <= K], at the longest queue, one more arrival would be dearer. The other clauses of
    the lemma are in SwitchingCurve.v (a solution exists) and Optimal.v (its policy is optimal). *)
From Curve Require Export Model.

Section Facts.
Context {M : Model} {S : Solution}.

(* curve-known: 0 < th < gam *)
Lemma theta_pos : 0 < th.
Proof.
  apply Rnot_le_lt. intros Hth. pose proof HN; pose proof HK.
  destruct (grid_max (fun q r => (0 < q + r)%Z) (fun q r => - V q r) (fun q r => q) 0 K 0 N)
    as (q & r & Hq & Hr & Hqr & Hm).
  { intros; lia. } { exists 1%Z, 0%Z; lia. }
  assert (Hmin : forall q' r', (0 <= q' <= K + 1)%Z -> (0 <= r' <= N)%Z -> (0 < q' + r')%Z ->
    V q r <= V q' r').
  { intros q' r' Hq' Hr' Hqr'. destruct (Z.eq_dec q' (K + 1)) as [->|].
    - rewrite (VK r') by lia. destruct (Hm K r') as [?|[? ?]]; try lia; lra.
    - destruct (Hm q' r') as [?|[? ?]]; try lia; lra. }
  assert (HU : forall q' r', (0 <= q' <= K + 1)%Z -> (0 <= r' <= N)%Z -> V q r <= U q' r').
  { intros q' r' Hq' Hr'. destruct (Z.eq_dec r' N) as [->|]; [rewrite UN by lia; apply Hmin; lia|].
    destruct (Z.eq_dec (q' + r') 0); [rewrite U00 by lia; apply Hmin; lia|].
    rewrite (Umin q' r' (r'+1)) by lia. apply Rmin_glb; apply Hmin; lia. }
  feed pose proof (EQ q r (q-1) (q+1) (r-1)) as E.
  assert (lam r * V q r <= lam r * U (q + 1) (r - 1)).
  { destruct (Z.eq_dec r 0) as [->|]; [rewrite lam0; lra|].
    apply Rmult_le_compat_l; [apply lam_nn; lia|apply HU; lia]. }
  destruct (Z.eq_dec q 0) as [->|].
  - rewrite Um in E by lia. pose proof gam0. lra.
  - assert (Hs : forall a, (0 <= a <= N)%Z -> (0 < q - 1 + a)%Z -> V q r < V (q - 1) a).
    { intros a Ha Hqa. destruct (Hm (q - 1)%Z a) as [?|[? ?]]; try lia; lra. }
    assert (V q r < U (q - 1) r).
    { destruct (Z.eq_dec r N) as [->|]; [rewrite UN by lia; apply Hs; lia|].
      destruct (Z.eq_dec (q - 1 + r) 0).
      - rewrite U00 by lia. replace 0%Z with (q - 1)%Z by lia. apply Hs; lia.
      - rewrite (Umin (q-1) r (r+1)) by lia. apply Rmin_glb_lt; apply Hs; lia. }
    lra.
Qed.

Lemma theta_below_gamma : th < gam.
Proof.
  apply Rnot_le_lt. intros Hth. pose proof HN; pose proof HK; pose proof gam0.
  destruct (grid_max (fun q r => (0 < q + r <= K)%Z) (fun q r => V q r) (fun q r =>
    (- q)%Z) 0 K 0 N)
    as (q & r & Hq & Hr & Hqr & Hm).
  { intros; lia. } { exists 1%Z, 0%Z; lia. }
  assert (HV : forall q' r', (0 <= q' <= K)%Z -> (0 <= r' <= N)%Z -> (0 < q' + r' <= K)%Z ->
     V q' r' < V q r \/ (V q' r' = V q r /\ (q' <= q)%Z)).
  { intros q' r' ? ? ?. destruct (Hm q' r') as [?|[? ?]]; try lia; [left|right; split]; try lia;
      lra. }
  (* the lossless choice keeps q + r <= K *)
  assert (HU : forall q' r', (0 <= q' <= K)%Z -> (0 <= r' <= N)%Z -> (q' + r' <= K)%Z ->
     U q' r' < V q r \/ (U q' r' <= V q r /\ (q' <= q)%Z)).
  { intros q' r' ? ? ?. destruct (Z_lt_dec (q' + r') K).
    - destruct (Z.eq_dec r' N) as [->|].
      + rewrite UN by lia. destruct (HV q' N) as [?|[? ?]]; try lia; [now left|right; split;
          [lra|lia]].
      + feed pose proof (Ule1 q' r' (r'+1)) as L.
        destruct (HV q' (r' + 1)%Z) as [?|[? ?]]; try lia; [left; lra|right; split; [lra|lia]].
    - feed pose proof (Ule q' r') as L.
      destruct (HV q' r') as [?|[? ?]]; try lia; [left; lra|right; split; [lra|lia]]. }
  feed pose proof (EQ q r (q-1) (q+1) (r-1)) as E.
  destruct (Z.eq_dec r 0) as [->|].
  - rewrite lam0 in E. destruct (HU (q - 1)%Z 0%Z) as [?|[? ?]]; try lia; lra.
  - assert (0 < lam r) by (apply lam_pos; lia).
    assert (Hup : U (q + 1) (r - 1) < V q r).
    { destruct (HU (q + 1)%Z (r - 1)%Z) as [?|[? ?]]; try lia; lra. }
    assert (lam r * U (q + 1) (r - 1) < lam r * V q r) by (apply Rmult_lt_compat_l; lra).
    destruct (Z.eq_dec q 0) as [->|].
    + rewrite Um in E by lia. lra.
    + destruct (HU (q - 1)%Z r) as [?|[? ?]]; try lia; lra.
Qed.

End Facts.
