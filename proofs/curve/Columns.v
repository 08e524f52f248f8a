(** [curve-columns]: along a column d does not fall, and rises strictly before the queue is full; no
    two neighbours at a full queue are tied. The only lemma that needs robots of one rate. *)
From Curve Require Export Rows.

Class Linear {M : Model} : Prop := {
  linear : forall r r1 r2, r1 = (r + 1)%Z -> r2 = (r + 2)%Z -> (0 <= r)%Z -> (r2 <= N)%Z ->
    lam r2 - lam r1 = lam r1 - lam r
}.

Section Columns.
Context {M : Model} {F : CurveF} {C : Curved} {L : Linear}.

Definition rho (q r : Z) : R := V q (r + 2) - 2 * V q (r + 1) + V q r.
Definition rhoU (q r : Z) : R := U q (r + 2) - 2 * U q (r + 1) + U q r.
Definition Y (q r : Z) : R := U (q + 1) (r + 1) - U (q + 1) r - (V q (r + 1) - V q r).

(* eq-curve-seven *)
Lemma eq7 q r : (0 <= q <= K)%Z -> (0 <= r <= N - 2)%Z -> (0 < q + r)%Z ->
  (1 + lam (r + 2)) * rho q r = rhoU (q - 1) r + lam r * rhoU (q + 1) (r - 1) + 2 * (lam (r + 1)
    - lam r) * Y q r.
Proof.
  intros. feed pose proof (EQ q r (q-1) (q+1) (r-1)) as E0.
  feed pose proof (EQ q (r+1) (q-1) (q+1) r) as E1.
  feed pose proof (EQ q (r+2) (q-1) (q+1) (r+1)) as E2.
  feed pose proof (linear r (r+1) (r+2)) as Li. unfold rho, rhoU, Y.
  replace (r - 1 + 2)%Z with (r + 1)%Z by lia. replace (r - 1 + 1)%Z with r by lia.
  replace (lam (r+2)) with (2 * lam (r+1) - lam r) in * by lra. lra.
Qed.

(* each second difference of U is >= 0 or one of V *)
Lemma rhoU_cases (P : R -> Prop) q r : (forall x, 0 <= x -> P x) -> (0 <= q <= K)%Z ->
  (0 <= r <= N - 2)%Z ->
  ((K <= q + r)%Z -> P (rho q r)) -> ((r + 1 <= N - 2)%Z -> P (rho q (r + 1))) -> P (rhoU q r).
Proof.
  intros HP Hq Hr H0 H1. feed pose proof (f_low r) as Fl. feed pose proof (f_mono r (r+1)) as Fm.
  feed pose proof (f_mono (r+1) (r+2)) as Fm2.
  feed pose proof (f_range (r+2)) as B2. unfold rhoU.
  destruct (Z_lt_ge_dec (f r) q).
  { rewrite !Uoff by lia. apply H0; lia. }
  rewrite (Uon q r (r+1)) by lia.
  destruct (Z_lt_ge_dec (f (r+1)) q).
  { rewrite !Uoff by lia. apply HP. feed pose proof (d_off q (r+1) (r+2)) as D. lra. }
  rewrite (Uon q (r+1) (r+2)) by lia.
  destruct (Z_lt_ge_dec (f (r+2)) q).
  { rewrite Uoff by lia. apply HP. feed pose proof (d_on q (r+1) (r+2)) as D. lra. }
  assert (r + 2 < N)%Z by (apply f_lt_N; lia). rewrite (Uon q (r+2) (r+3)) by lia.
  unfold rho in H1. replace (r + 1 + 2)%Z with (r + 3)%Z in H1 by lia.
  replace (r + 1 + 1)%Z with (r + 2)%Z in H1 by lia. apply H1; lia.
Qed.

Lemma rhoU_m q r : q = (-1)%Z -> rhoU q r = rho 0 r.
Proof. intros ->. unfold rhoU, rho. rewrite !(Um (-1)) by lia. lra. Qed.

Lemma rhoU_K r : (0 <= r <= N - 2)%Z -> rhoU (K + 1) r = rhoU K r.
Proof. intros. unfold rhoU. rewrite !(UK _ (K+1)) by lia. lra. Qed.

(* Y is > 0 or > rho (q + 1) r, where q < K *)
Lemma Y_cases q r : (0 <= q <= K - 1)%Z -> (0 <= r <= N - 2)%Z -> (K <= q + r)%Z ->
  0 < Y q r \/ rho (q + 1) r < Y q r.
Proof.
  intros Hq Hr HT. feed pose proof (f_mono r (r+1)) as Fm. unfold Y, rho.
  feed pose proof (rows q r (q+1) (r+1)) as Rw.
  destruct (Z_lt_ge_dec (f r) (q + 1)).
  { left. rewrite !Uoff by lia. lra. }
  rewrite (Uon (q+1) r (r+1)) by lia. feed pose proof (d_on (q+1) r (r+1)) as D.
  destruct (Z_lt_ge_dec (f (r+1)) (q + 1)).
  { left. rewrite Uoff by lia. lra. }
  right. rewrite (Uon (q+1) (r+1) (r+2)) by lia. lra.
Qed.

Lemma Y_K r : (0 <= r <= N - 2)%Z -> 0 <= Y K r \/ Y K r = rho K r.
Proof.
  intros Hr. feed pose proof (f_mono r (r+1)) as Fm. pose proof HK. unfold Y, rho.
  rewrite !(UK _ (K+1)) by lia.
  destruct (Z_lt_ge_dec (f r) K).
  { left. rewrite !Uoff by lia. lra. }
  rewrite (Uon K r (r+1)) by lia. feed pose proof (d_on K r (r+1)) as D.
  destruct (Z_lt_ge_dec (f (r+1)) K).
  { left. rewrite Uoff by lia. lra. }
  right. rewrite (Uon K (r+1) (r+2)) by lia. lra.
Qed.

Lemma columns q r : (0 <= q <= K)%Z -> (0 <= r <= N - 2)%Z -> (K <= q + r)%Z -> 0 <= rho q r.
Proof.
  intros Hq Hr HT. pose proof HK.
  destruct (grid_max (fun q r => (K <= q + r)%Z) (fun q r => - rho q r) (fun q r =>
    q) 0 K 0 (N - 2)) as (a & b & Ha & Hb & Hab & Hm).
  { intros; lia. } { exists q, r; lia. }
  assert (HM : forall q' r', (0 <= q' <= K)%Z -> (0 <= r' <= N - 2)%Z -> (K <= q' + r')%Z ->
    rho a b <= rho q' r').
  { intros q' r' ? ? ?. destruct (Hm q' r') as [?|[? ?]]; try lia; lra. }
  destruct (Rle_lt_dec 0 (rho a b)) as [|Lm].
  { specialize (HM q r); feed specialize HM. lra. }
  exfalso. feed pose proof (D_pos b (b+1)) as Dp. feed pose proof (eq7 a b) as E.
  assert (HU : 0 <= lam b * (rhoU (a + 1) (b - 1) - rho a b)).
  { destruct (Z.eq_dec b 0) as [->|]; [rewrite lam0; lra|].
    apply Rmult_le_pos; [apply lam_nn; lia|].
    enough (rho a b <= rhoU (a + 1) (b - 1)) by lra.
    destruct (Z.eq_dec a K) as [->|].
    - rewrite rhoU_K by lia. apply (rhoU_cases (fun x => rho K b <= x)); try lia; [intros; lra| |];
        intros; apply HM; lia.
    - apply (rhoU_cases (fun x => rho a b <= x)); try lia; [intros; lra| |]; intros; apply HM; lia.
      }
  feed pose proof (linear b (b+1) (b+2)) as Li.
  assert (HUm : rho a b <= rhoU (a - 1) b).
  { destruct (Z.eq_dec a 0) as [->|]; [rewrite rhoU_m by lia; lra|].
    apply (rhoU_cases (fun x => rho a b <= x)); try lia; [intros; lra| |]; intros; apply HM; lia. }
  destruct (Z.eq_dec a K) as [->|].
  - assert (HUs : rho K b < rhoU (K - 1) b).
    { assert (HMs : forall r', (0 <= r' <= N - 2)%Z -> (K <= K - 1 + r')%Z ->
        rho K b < rho (K - 1) r').
      { intros r' ? ?. destruct (Hm (K-1)%Z r') as [?|[? ?]]; try lia; lra. }
      apply (rhoU_cases (fun x => rho K b < x)); try lia; [intros; lra| |]; intros; apply HMs; lia.
      }
    assert (rho K b <= Y K b) by (destruct (Y_K b) as [?| ->]; [lia|lra|lra]).
    assert (0 <= (lam (b+1) - lam b) * (Y K b - rho K b)) by (apply Rmult_le_pos; lra).
    replace (lam (b+2)) with (2 * (lam (b+1) - lam b) + lam b) in E by lra. lra.
  - assert (rho a b < Y a b).
    { destruct (Y_cases a b) as [?|?]; try lia; [lra|].
      specialize (HM (a+1)%Z b); feed specialize HM. lra. }
    assert (0 < (lam (b+1) - lam b) * (Y a b - rho a b)) by (apply Rmult_lt_0_compat; lra).
    replace (lam (b+2)) with (2 * (lam (b+1) - lam b) + lam b) in E by lra. lra.
Qed.

Lemma rhoU_nn q r : (0 <= q <= K)%Z -> (0 <= r <= N - 2)%Z -> (K <= q + r + 1)%Z -> 0 <= rhoU q r.
Proof. intros. apply (rhoU_cases (fun x => 0 <= x)); auto; intros; apply columns; lia. Qed.

Lemma lam_rhoU q r : (0 <= q <= K)%Z -> (0 <= r <= N - 2)%Z -> (K <= q + r)%Z ->
  0 <= lam r * rhoU (q + 1) (r - 1).
Proof.
  intros. destruct (Z.eq_dec r 0) as [->|]; [rewrite lam0; lra|].
  apply Rmult_le_pos; [apply lam_nn; lia|].
  destruct (Z.eq_dec q K) as [->|]; [rewrite rhoU_K by lia|]; apply rhoU_nn; lia.
Qed.

(* curve-columns *)
Lemma columns_strict q r : (0 <= q <= K - 1)%Z -> (0 <= r <= N - 2)%Z -> (K <= q + r)%Z ->
  0 < rho q r.
Proof.
  intros Hq Hr HT. feed pose proof (D_pos r (r+1)) as Dp. feed pose proof (eq7 q r) as E.
  pose proof HK.
  assert (HY : 0 < Y q r) by (destruct (Y_cases q r) as [?|?]; try lia; [lra|];
    feed pose proof (columns (q+1) r) as Rn; lra).
  assert (0 < (lam (r+1) - lam r) * Y q r) by (apply Rmult_lt_0_compat; lra).
  feed pose proof (lam_rhoU q r) as Lu. feed pose proof (lam_pos (r+2)) as Lp.
  apply Rnot_le_lt. intros Lm. assert (lam (r+2) * rho q r <= 0) by nra.
  destruct (Z.eq_dec q 0) as [->|].
  - rewrite rhoU_m in E by lia. lra.
  - feed pose proof (rhoU_nn (q-1) r) as Rn. lra.
Qed.

Lemma no_tie_at_full_queue r r1 r2 : (0 <= r <= N - 2)%Z -> r1 = (r + 1)%Z -> r2 = (r + 2)%Z ->
  V K r1 = V K r -> V K r2 = V K r1 -> False.
Proof.
  intros Hr -> -> T1 T2. pose proof HK. feed pose proof (D_pos r (r+1)) as Dp.
  feed pose proof (D_pos (r+1) (r+2)) as Dp1. feed pose proof (eq7 K r) as E.
  feed pose proof (f_mono r (r+1)) as Fm. feed pose proof (f_mono (r+1) (r+2)) as Fm2.
  feed pose proof (f_range (r+2)) as B2.
  assert (U0 : U K r = V K r) by (rewrite (Umin _ _ (r+1)) by lia; rewrite T1; apply Rmin_left;
    lra).
  assert (U1 : U K (r+1) = V K r) by (rewrite (Umin _ _ (r+2)) by lia; rewrite T2, T1;
    apply Rmin_left; lra).
  feed pose proof (EQ K (r+1) (K-1) (K+1) r) as E1.
  feed pose proof (EQ K (r+2) (K-1) (K+1) (r+1)) as E2.
  rewrite (UK r (K+1)) in E1 by lia. rewrite (UK (r+1) (K+1)) in E2 by lia. rewrite U0, T1 in E1.
  rewrite U1, T2, T1 in E2.
  assert (HD : U (K-1) (r+2) < U (K-1) (r+1)) by lra.
  destruct (Z_lt_ge_dec (f (r+1)) (K-1)).
  { rewrite !Uoff in HD by lia. feed pose proof (d_off (K-1) (r+1) (r+2)) as D. lra. }
  rewrite (Uon (K-1) (r+1) (r+2)) in HD by lia.
  destruct (Z_lt_ge_dec (f (r+2)) (K-1)).
  { rewrite Uoff in HD by lia. lra. }
  assert (r + 2 < N)%Z by (apply f_lt_N; lia).
  assert (HR : 0 < rhoU (K-1) r).
  { feed pose proof (columns_strict (K-1) (r+1)) as Rp. unfold rhoU.
    rewrite (Uon (K-1) r (r+1)), (Uon (K-1) (r+1) (r+2)), (Uon (K-1) (r+2) (r+3)) by lia.
    unfold rho in Rp. replace (r + 1 + 2)%Z with (r + 3)%Z in Rp by lia.
    replace (r + 1 + 1)%Z with (r + 2)%Z in Rp by lia. lra. }
  feed pose proof (lam_rhoU K r) as Lu.
  assert (Er : rho K r = 0) by (unfold rho; rewrite T2, T1; ring). rewrite Er in E.
  assert (0 <= Y K r) by (destruct (Y_K r) as [?| ->]; [lia|lra|lra]).
  assert (0 <= (lam (r+1) - lam r) * Y K r) by (apply Rmult_le_pos; lra). lra.
Qed.
End Columns.
