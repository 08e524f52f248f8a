(** [curve-small], first half: the mean number W of pages lost from a state if no robot is started
    where [q + r >= K], by recursion; it rises strictly with each page and each robot. *)
From Curve Require Export Grid.

Section Loss.
Variables (N K : Z) (lam : Z -> R).
Hypothesis HK : (1 <= K)%Z.
Hypothesis lam0 : lam 0 = 0.
Hypothesis lamS : forall r r', (0 <= r < r')%Z -> (r' <= N)%Z -> lam r < lam r'.

Fixpoint wrow (prev : nat -> R) (l : R) (q : nat) : R :=
  match q with O => prev 1%nat | S p => (wrow prev l p + l * prev (S (S p))) / (1 + l) end.
Fixpoint wn (r : nat) : nat -> R :=
  match r with
  | O => fun q => if (Z.of_nat q =? K + 1)%Z then 1 else 0
  | S p => fun q => if (Z.of_nat q =? K + 1)%Z then wrow (wn p) (lam (Z.of_nat (S p))) (Z.to_nat K)
    + 1
                    else wrow (wn p) (lam (Z.of_nat (S p))) q
  end.
Definition W (q r : Z) : R := wn (Z.to_nat r) (Z.to_nat q).

Lemma lam_nn' r : (0 <= r <= N)%Z -> 0 <= lam r.
Proof. intros. destruct (Z.eq_dec r 0) as [->|]; [rewrite lam0; lra|]. rewrite <- lam0.
apply Rlt_le, lamS; lia. Qed.

Lemma W_0 q : (q <= K)%Z -> W q 0 = 0.
Proof. intros. unfold W. simpl. destruct (Z.eqb_spec (Z.of_nat (Z.to_nat q)) (K + 1));
  [lia|reflexivity]. Qed.

Lemma W_K r : (0 <= r)%Z -> W (K + 1) r = W K r + 1.
Proof.
  intros. unfold W. destruct (Z.to_nat r) as [|p]; simpl.
  - destruct (Z.eqb_spec (Z.of_nat (Z.to_nat (K + 1))) (K + 1)); [|lia].
    destruct (Z.eqb_spec (Z.of_nat (Z.to_nat K)) (K + 1)); [lia|lra].
  - destruct (Z.eqb_spec (Z.of_nat (Z.to_nat (K + 1))) (K + 1)); [|lia].
    destruct (Z.eqb_spec (Z.of_nat (Z.to_nat K)) (K + 1)); [lia|lra].
Qed.

Lemma W_m q r : q = (-1)%Z -> W q r = W 0 r.
Proof. intros ->. reflexivity. Qed.

Lemma W_eq q r qm qp rm : (0 <= q <= K)%Z -> (0 <= r <= N)%Z -> qm = (q - 1)%Z -> qp = (q + 1)%Z ->
  rm = (r - 1)%Z ->
  (1 + lam r) * W q r = W qm r + lam r * W qp rm.
Proof.
  intros Hq Hr -> -> ->. pose proof (lam_nn' r Hr).
  destruct (Z.eq_dec r 0) as [->|].
  { rewrite lam0. rewrite !W_0 by lia. ring. }
  unfold W. replace (Z.to_nat r) with (S (Z.to_nat (r - 1))) by lia. set (p := Z.to_nat (r - 1)).
  cbn [wn]. replace (Z.of_nat (S p)) with r by lia.
  destruct (Z.eqb_spec (Z.of_nat (Z.to_nat q)) (K + 1)); [lia|].
  destruct (Z.eqb_spec (Z.of_nat (Z.to_nat (q - 1))) (K + 1)); [lia|].
  destruct (Z.eq_dec q 0) as [->|].
  - simpl. change (Pos.to_nat 1) with 1%nat. ring.
  - replace (Z.to_nat q) with (S (Z.to_nat (q - 1))) by lia. cbn [wrow].
    replace (Z.to_nat (q + 1)) with (S (S (Z.to_nat (q - 1)))) by lia. field. lra.
Qed.

Lemma W_zero : forall r, (0 <= r <= N)%Z -> forall q, (0 <= q)%Z -> (q + r <= K)%Z -> W q r = 0.
Proof.
  apply (z_up (fun r => forall q, (0 <= q)%Z -> (q + r <= K)%Z -> W q r = 0)). intros r Hr IHr.
  destruct (Z.eq_dec r 0) as [->|]; [intros; apply W_0; lia|].
  assert (HP : forall q, (0 <= q <= K - r)%Z -> W q r = 0); [|intros; apply HP; lia].
  assert (0 < lam r) by (rewrite <- lam0; apply lamS; lia).
  apply z_up. intros q Hq IHq. feed pose proof (W_eq q r (q-1) (q+1) (r-1)) as E.
  rewrite (IHr (r-1)%Z) in E by lia.
  destruct (Z.eq_dec q 0) as [->|].
  - rewrite (W_m (0-1)) in E by lia. assert (E' : lam r * W 0 r = 0) by lra.
    apply Rmult_integral in E'. lra.
  - rewrite (IHq (q-1)%Z) in E by lia. assert (E' : (1 + lam r) * W q r = 0) by lra.
    apply Rmult_integral in E'. lra.
Qed.

Lemma W_page : forall r, (0 <= r <= N)%Z -> forall q q1, q1 = (q + 1)%Z -> (0 <= q <= K)%Z ->
  W q r <= W q1 r /\ ((K <= q + r)%Z -> W q r < W q1 r).
Proof.
  apply (z_up (fun r => forall q q1, q1 = (q + 1)%Z -> (0 <= q <= K)%Z -> W q r <= W q1 r /\
    ((K <= q + r)%Z -> W q r < W q1 r))).
  intros r Hr IHr.
  assert (HP : forall q, (0 <= q <= K)%Z -> W q r <= W (q + 1) r /\ ((K <= q + r)%Z ->
    W q r < W (q + 1) r)); [|intros q q1 -> Hq; apply HP; lia].
  apply z_up. intros q Hq IHq.
  destruct (Z.eq_dec q K) as [->|]; [rewrite W_K by lia; split; intros; lra|].
  destruct (Z.eq_dec r 0) as [->|]; [rewrite !W_0 by lia; split; intros; [lra|lia]|].
  assert (Hl : 0 < lam r) by (rewrite <- lam0; apply lamS; lia).
  feed pose proof (W_eq q r (q-1) (q+1) (r-1)) as E.
  feed pose proof (W_eq (q+1) r q (q+2) (r-1)) as E'.
  assert (H1 : W (q-1) r <= W q r).
  { destruct (Z.eq_dec q 0) as [->|]; [rewrite W_m by lia; lra|].
    destruct (IHq (q-1)%Z) as [I _]; [lia|]. replace (q - 1 + 1)%Z with q in I by lia. exact I. }
  destruct (IHr (r-1)%Z ltac:(lia) (q+1)%Z (q+2)%Z) as [I1 I2]; try lia.
  assert (0 <= lam r * (W (q+2) (r-1) - W (q+1) (r-1))) by (apply Rmult_le_pos; lra).
  split.
  - apply Rminus_le. apply Rnot_lt_le. intros Hlt.
    assert (0 < (1 + lam r) * (W q r - W (q + 1) r)) by (apply Rmult_lt_0_compat; lra). lra.
  - intros HT. feed specialize I2. assert (0 < lam r * (W (q+2) (r-1) - W (q+1) (r-1)))
      by (apply Rmult_lt_0_compat; lra).
    apply Rminus_gt_0_lt. apply (Rmult_lt_reg_l (1 + lam r)); lra.
Qed.

Lemma W_robot : forall r, (0 <= r <= N - 1)%Z -> forall q r1, r1 = (r + 1)%Z -> (0 <= q <= K)%Z ->
  W q r <= W q r1 /\ ((K <= q + r)%Z -> W q r < W q r1).
Proof.
  apply (z_up (fun r => forall q r1, r1 = (r + 1)%Z -> (0 <= q <= K)%Z -> W q r <= W q r1 /\
    ((K <= q + r)%Z -> W q r < W q r1))).
  intros r Hr IHr.
  assert (HP : forall q, (0 <= q <= K)%Z -> W q r <= W q (r + 1) /\ ((K <= q + r)%Z ->
    W q r < W q (r + 1))); [|intros q r1 -> Hq; apply HP; lia].
  apply z_up. intros q Hq IHq.
  assert (Hl : lam r < lam (r+1)) by (apply lamS; lia). feed pose proof (lam_nn' r) as Hl0.
  feed pose proof (W_eq q r (q-1) (q+1) (r-1)) as E.
  feed pose proof (W_eq q (r+1) (q-1) (q+1) r) as E'.
  destruct (W_page r ltac:(lia) q (q+1) eq_refl Hq) as [P1 P2].
  assert (HA : 0 <= lam r * (W (q+1) r - W (q+1) (r-1))).
  { destruct (Z.eq_dec r 0) as [->|]; [rewrite lam0; lra|]. apply Rmult_le_pos; [auto|].
    destruct (Z.eq_dec q K) as [->|].
    - rewrite !W_K by lia. destruct (IHr (r-1)%Z ltac:(lia) K r) as [I _]; try lia. lra.
    - destruct (IHr (r-1)%Z ltac:(lia) (q+1)%Z r) as [I _]; try lia. lra. }
  assert (HD : 0 <= (lam (r+1) - lam r) * (W (q+1) r - W q r)) by (apply Rmult_le_pos; lra).
  (* lam (r+1) d(0, r), or (1 + lam (r+1)) d(q, r) *)
  assert (HS : exists m, 0 < m /\ (lam (r+1) - lam r) * (W (q+1) r - W q r) <= m * (W q (r+1)
    - W q r)).
  { destruct (Z.eq_dec q 0) as [->|].
    - exists (lam (r+1)). split; [lra|]. rewrite !(W_m (0-1)) in * by lia. lra.
    - exists (1 + lam (r+1)). split; [lra|]. destruct (IHq (q-1)%Z) as [I _]; [lia|]. lra. }
  destruct HS as (m & Hm & HS). split.
  - apply Rnot_lt_le. intros Hlt. assert (0 < m * (W q r - W q (r+1))) by (apply Rmult_lt_0_compat;
      lra). lra.
  - intros HT. feed specialize P2. assert (0 < (lam (r+1) - lam r) * (W (q+1) r - W q r))
      by (apply Rmult_lt_0_compat; lra).
    apply Rminus_gt_0_lt. apply (Rmult_lt_reg_l m); lra.
Qed.
End Loss.
