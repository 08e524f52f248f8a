(** [curve-small], second half: without losses, the lossless policy "start exactly if q + r < K"
   gains by
    each page and each robot while [q + r < K]. *)
From Curve Require Export Grid.

Section Lossless.
Variables (N K : Z) (lam : Z -> R) (V : Z -> Z -> R) (S : R).
Hypothesis HN : (1 <= N)%Z.
Hypothesis HK : (1 <= K)%Z.
Hypothesis lam0 : lam 0 = 0.
Hypothesis lamS : forall r r', (0 <= r < r')%Z -> (r' <= N)%Z -> lam r < lam r'.

Definition U0 (q r : Z) : R :=
  if (q =? -1)%Z then V 0 r + 1 else if ((q + r <? K) && (r <? N))%Z%bool then V q (r + 1)
    else V q r.
Hypothesis EQ0 : forall q r qm qp rm, (0 <= q)%Z -> (0 <= r <= N)%Z -> (0 < q + r <= K)%Z ->
  qm = (q - 1)%Z -> qp = (q + 1)%Z -> rm = (r - 1)%Z ->
  S + (1 + lam r) * V q r = U0 qm r + lam r * U0 qp rm.

Lemma U0m q r : q = (-1)%Z -> U0 q r = V 0 r + 1.
Proof. intros ->. reflexivity. Qed.
Lemma U0on q r r1 : r1 = (r + 1)%Z -> (0 <= q)%Z -> (q + r < K)%Z -> (r < N)%Z -> U0 q r = V q r1.
Proof.
  intros -> ? ? ?. unfold U0. destruct (Z.eqb_spec q (-1)); [lia|].
  destruct (Z.ltb_spec (q + r) K); [|lia]. destruct (Z.ltb_spec r N); [|lia]. reflexivity.
Qed.
Lemma U0off q r : (0 <= q)%Z -> (K <= q + r \/ N <= r)%Z -> U0 q r = V q r.
Proof.
  intros ? ?. unfold U0. destruct (Z.eqb_spec q (-1)); [lia|].
  destruct (Z.ltb_spec (q + r) K); destruct (Z.ltb_spec r N); simpl; try reflexivity. lia.
Qed.
Lemma lp r : (1 <= r <= N)%Z -> 0 < lam r.
Proof. intros. rewrite <- lam0. apply lamS; lia. Qed.

(* where a box of q + r <= K leads to *)
Lemma U0to q r : (0 <= q)%Z -> (0 <= r <= N)%Z -> (q + r <= K)%Z -> exists a, (0 <= a <= N)%Z /\
  (q + a <= K)%Z /\ (0 < q + a)%Z /\ U0 q r = V q a.
Proof.
  intros. destruct (Z_lt_ge_dec (q + r) K) as [Hl|Hg]; [destruct (Z_lt_ge_dec r N)|].
  - exists (r + 1)%Z. rewrite (U0on q r (r+1)) by lia. repeat split; lia.
  - exists r. rewrite U0off by lia. repeat split; try lia.
  - exists r. rewrite U0off by lia. repeat split; try lia.
Qed.

Lemma S_pos : 0 < S.
Proof.
  apply Rnot_le_lt. intros HS.
  destruct (grid_max (fun q r => (0 < q + r <= K)%Z) (fun q r => - V q r) (fun q r =>
    q) 0 K 0 N) as (q & r & Hq & Hr & Hqr & Hm).
  { intros; lia. } { exists 1%Z, 0%Z; lia. }
  assert (HV : forall q' r', (0 <= q')%Z -> (0 <= r' <= N)%Z -> (0 < q' + r' <= K)%Z ->
    V q r < V q' r' \/ (V q r = V q' r' /\ (q <= q')%Z)).
  { intros q' r' ? ? ?. destruct (Hm q' r') as [?|[? ?]]; try lia; [left; lra|right; split;
      [lra|lia]]. }
  assert (HU : forall q' r', (0 <= q')%Z -> (0 <= r' <= N)%Z -> (q' + r' <= K)%Z ->
    V q r < U0 q' r' \/ (V q r = U0 q' r' /\ (q <= q')%Z)).
  { intros q' r' ? ? ?. destruct (U0to q' r') as (a & ? & ? & ? & ->); try lia. apply HV; lia. }
  feed pose proof (EQ0 q r (q-1) (q+1) (r-1)) as E.
  assert (lam r * V q r <= lam r * U0 (q + 1) (r - 1)).
  { destruct (Z.eq_dec r 0) as [->|]; [rewrite lam0; lra|].
    apply Rmult_le_compat_l; [apply Rlt_le, lp; lia|].
    destruct (HU (q+1)%Z (r-1)%Z) as [?|[? ?]]; try lia; lra. }
  destruct (Z.eq_dec q 0) as [->|].
  - rewrite U0m in E by lia. lra.
  - destruct (HU (q-1)%Z r) as [?|[? ?]]; try lia; lra.
Qed.

Lemma S_lt_1 : S < 1.
Proof.
  apply Rnot_le_lt. intros HS.
  destruct (grid_max (fun q r => (0 < q + r <= K)%Z) (fun q r => V q r) (fun q r =>
    (- q)%Z) 0 K 0 N) as (q & r & Hq & Hr & Hqr & Hm).
  { intros; lia. } { exists 1%Z, 0%Z; lia. }
  assert (HU : forall q' r', (0 <= q')%Z -> (0 <= r' <= N)%Z -> (q' + r' <= K)%Z ->
    U0 q' r' < V q r \/ (U0 q' r' = V q r /\ (q' <= q)%Z)).
  { intros q' r' ? ? ?. destruct (U0to q' r') as (a & ? & ? & ? & ->); try lia.
    destruct (Hm q' a) as [?|[? ?]]; try lia; [left; lra|right; split; [lra|lia]]. }
  feed pose proof (EQ0 q r (q-1) (q+1) (r-1)) as E.
  destruct (Z.eq_dec r 0) as [->|].
  - rewrite lam0 in E. destruct (HU (q-1)%Z 0%Z) as [?|[? ?]]; try lia; lra.
  - feed pose proof (lp r) as Hl.
    assert (Hup : U0 (q + 1) (r - 1) < V q r) by (destruct (HU (q + 1)%Z (r - 1)%Z) as [?|[? ?]];
      try lia; lra).
    assert (lam r * U0 (q + 1) (r - 1) < lam r * V q r) by (apply Rmult_lt_compat_l; lra).
    destruct (Z.eq_dec q 0) as [->|].
    + rewrite U0m in E by lia. lra.
    + destruct (HU (q-1)%Z r) as [?|[? ?]]; try lia; lra.
Qed.

(* along q + r = K *)
Lemma level : forall r, (0 <= r <= N - 1)%Z -> forall q q1 r1, (0 <= q)%Z -> (q + r = K - 1)%Z ->
  q1 = (q + 1)%Z -> r1 = (r + 1)%Z -> V q1 r - V q r1 <= - S.
Proof.
  apply (z_up (fun r => forall q q1 r1, (0 <= q)%Z -> (q + r = K - 1)%Z -> q1 = (q + 1)%Z ->
    r1 = (r + 1)%Z -> V q1 r - V q r1 <= - S)).
  intros r Hr IH q q1 r1 Hq HT -> ->. pose proof S_pos.
  feed pose proof (EQ0 (q+1) r q (q+2) (r-1)) as E. rewrite (U0on q r (r+1)) in E by lia.
  destruct (Z.eq_dec r 0) as [->|].
  - rewrite lam0 in E. lra.
  - rewrite U0off in E by lia. feed pose proof (IH (r-1)%Z ltac:(lia) (q+1)%Z (q+2)%Z r) as I.
    feed pose proof (lp r) as Hl.
    assert (lam r * (V (q+2) (r-1) - V (q+1) r) <= 0) by nra. lra.
Qed.

(* one page more costs less *)
Lemma page_neg q r q1 : (0 <= q)%Z -> (0 <= r <= N)%Z -> (0 < q + r < K)%Z -> q1 = (q + 1)%Z ->
  V q1 r - V q r < 0.
Proof.
  intros Hq Hr HT ->. pose proof S_pos; pose proof S_lt_1.
  destruct (grid_max (fun q r => (0 < q + r < K)%Z) (fun q r => V (q + 1) r - V q r) (fun q r =>
    q) 0 K 0 N) as (a & b & Ha & Hb & Hab & Hm).
  { intros; lia. } { exists q, r; lia. }
  assert (HE : forall q' r' q1, q1 = (q' + 1)%Z -> (0 <= q')%Z -> (0 <= r' <= N)%Z ->
    (0 < q' + r' < K)%Z ->
     V q1 r' - V q' r' < V (a+1) b - V a b \/ (V q1 r' - V q' r' = V (a+1) b - V a b /\
       (a <= q')%Z)).
  { intros q' r' q1 -> ? ? ?. destruct (Hm q' r') as [?|[? ?]]; try lia; [left; lra|right; split;
      [lra|lia]]. }
  destruct (Rlt_le_dec (V (a+1) b - V a b) 0) as [|Lm].
  { destruct (HE q r (q+1)%Z) as [?|[? ?]]; try lia; lra. }
  exfalso.
  feed pose proof (EQ0 a b (a-1) (a+1) (b-1)) as E.
  feed pose proof (EQ0 (a+1) b a (a+2) (b-1)) as E'.
  assert (Ha0 : (1 <= a)%Z).
  { destruct (Z.eq_dec a 0) as [->|]; [|lia]. exfalso. rewrite U0m in E by lia.
    rewrite (U0on (0+1) (b-1) b) in E by lia. feed pose proof (lp b) as Hl.
    assert (0 <= lam b * (V (0+1) b - V 0 b)) by (apply Rmult_le_pos; lra). lra. }
  assert (H1 : U0 a b - U0 (a-1) b < V (a+1) b - V a b).
  { destruct (Z.eq_dec b N) as [->|].
    - rewrite !U0off by lia. destruct (HE (a-1)%Z N a) as [?|[? ?]]; try lia; lra.
    - rewrite (U0on a b (b+1)), (U0on (a-1) b (b+1)) by lia.
      destruct (HE (a-1)%Z (b+1)%Z a) as [?|[? ?]]; try lia; lra. }
  assert (H2 : lam b * (U0 (a+2) (b-1) - U0 (a+1) (b-1)) <= lam b * (V (a+1) b - V a b)).
  { destruct (Z.eq_dec b 0) as [->|]; [rewrite lam0; lra|].
    apply Rmult_le_compat_l; [apply Rlt_le, lp; lia|].
    rewrite (U0on (a+1) (b-1) b) by lia. destruct (Z.eq_dec (a + b + 1) K).
    - rewrite U0off by lia. feed pose proof (level (b-1) ltac:(lia) (a+1) (a+2) b) as Lv. lra.
    - rewrite (U0on (a+2) (b-1) b) by lia.
      destruct (HE (a+1)%Z b (a+2)%Z) as [?|[? ?]]; try lia; lra. }
  lra.
Qed.

(* and one robot more *)
Lemma start_neg q r r1 : (0 <= q)%Z -> (0 <= r < N)%Z -> (0 < q + r < K)%Z -> r1 = (r + 1)%Z ->
  V q r1 < V q r.
Proof.
  intros Hq Hr HT ->. pose proof S_pos.
  destruct (grid_max (fun q r => (0 < q + r < K)%Z) (fun q r => V q (r + 1) - V q r) (fun q r =>
    q) 0 K 0 (N - 1)) as (a & b & Ha & Hb & Hab & Hm).
  { intros; lia. } { exists q, r; lia. }
  assert (HE : forall q' r' r1, r1 = (r' + 1)%Z -> (0 <= q')%Z -> (0 <= r' < N)%Z ->
    (0 < q' + r' < K)%Z -> V q' r1 - V q' r' <= V a (b+1) - V a b).
  { intros q' r' q1 -> ? ? ?. destruct (Hm q' r') as [?|[? ?]]; try lia; lra. }
  destruct (Rlt_le_dec (V a (b+1) - V a b) 0) as [|Lm].
  { feed pose proof (HE q r (r+1)%Z) as H1. lra. }
  exfalso.
  feed pose proof (EQ0 a b (a-1) (a+1) (b-1)) as E.
  feed pose proof (EQ0 a (b+1) (a-1) (a+1) b) as E'.
  assert (Hd : lam b < lam (b+1)) by (apply lamS; lia).
  assert (HX : (lam (b+1) - lam b) * (U0 (a+1) b - V a (b+1)) < 0).
  { assert (U0 (a+1) b - V a (b+1) < 0).
    { destruct (Z.eq_dec (a + b + 1) K).
      - rewrite U0off by lia. feed pose proof (level b ltac:(lia) a (a+1) (b+1)) as Lv. lra.
      - rewrite (U0on (a+1) b (b+1)) by lia. feed pose proof (page_neg a (b+1) (a+1)) as Pn. lra. }
    assert (0 < (lam (b+1) - lam b) * (V a (b+1) - U0 (a+1) b)) by (apply Rmult_lt_0_compat; lra).
    lra. }
  assert (H2 : lam b * (U0 (a+1) b - U0 (a+1) (b-1)) <= lam b * (V a (b+1) - V a b)).
  { destruct (Z.eq_dec b 0) as [->|]; [rewrite lam0; lra|].
    apply Rmult_le_compat_l; [apply Rlt_le, lp; lia|].
    rewrite (U0on (a+1) (b-1) b) by lia. destruct (Z.eq_dec (a + b + 1) K).
    - rewrite U0off by lia. lra.
    - rewrite (U0on (a+1) b (b+1)) by lia. apply HE; lia. }
  assert (H1 : U0 (a-1) (b+1) - U0 (a-1) b <= V a (b+1) - V a b).
  { destruct (Z.eq_dec a 0) as [->|].
    - rewrite !U0m by lia. lra.
    - rewrite (U0on (a-1) b (b+1)) by lia. destruct (Z.eq_dec (b + 1) N).
      + rewrite U0off by lia. lra.
      + rewrite (U0on (a-1) (b+1) (b+2)) by lia. apply HE; lia. }
  lra.
Qed.
End Lossless.
