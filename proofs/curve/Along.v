(** [curve-along]: along the curve. [A r] is the cost of a page more in the place of a robot just
   across
    the curve; where the curve falls, the equation leads from A_(r-1) to A_r in steps [Fs r].

    (a) [along_fall]  (b) [along_flat]  (c) [along_below]  (d) [along_zero]  (e) [along_first] *)
From Curve Require Export Curved.

Section Along.
Context {M : Model} {F : CurveF} {C : Curved}.

(* along the curve *)
Definition A (r : Z) : R := U (f r + 1) r - U (f r) r.
Definition Fs (r : Z) (x : R) : R := - th + lam r * x.
(* the steps down the wall of the curve in row r *)
Definition G (r q : Z) : R := V q r - U (q - 1) r.

Lemma Fs_mono r x y : (1 <= r <= N)%Z -> x < y -> Fs r x < Fs r y.
Proof. intros. unfold Fs. assert (lam r * x < lam r * y) by (apply Rmult_lt_compat_l;
  [apply lam_pos; lia|lra]). lra. Qed.

Lemma Fs_mono' r x y : (1 <= r <= N)%Z -> x <= y -> Fs r x <= Fs r y.
Proof. intros. destruct (Req_dec x y) as [->|]; [lra|]. apply Rlt_le, Fs_mono; [auto|lra]. Qed.

Lemma A_K r : (0 <= r <= N)%Z -> f r = K -> A r = 1.
Proof. intros. unfold A. rewrite H0. rewrite (UK r (K+1)) by lia. lra. Qed.

Lemma A_m r : (0 <= r <= N)%Z -> f r = (-1)%Z -> A r = - gam.
Proof.
  intros. unfold A. rewrite H0. rewrite (Um (-1)) by lia. pose proof HK.
  change (-1 + 1)%Z with 0%Z. rewrite Uoff by lia. lra.
Qed.

(* eq-curve-three *)
Lemma eq3 q r qm qp rm : (0 <= q <= K)%Z -> (1 <= r <= N)%Z -> qm = (q - 1)%Z -> qp = (q + 1)%Z ->
  rm = (r - 1)%Z ->
  V q r - U qm r = Fs r (U qp rm - V q r).
Proof. intros. feed pose proof (EQ q r qm qp rm) as E. unfold Fs. lra. Qed.

(* the first step, wherever the curve falls *)
Lemma along_start r rm q qm : (1 <= r <= N)%Z -> rm = (r - 1)%Z -> q = f rm -> (0 <= q)%Z ->
  qm = (q - 1)%Z -> V q r - U qm r = Fs r (A rm).
Proof.
  intros Hr -> -> Hq ->. feed pose proof (f_range (r - 1)) as B.
  rewrite (eq3 _ r (f (r-1) - 1) (f (r - 1) + 1) (r-1)) by lia. f_equal. unfold A.
  rewrite (Uon (f (r-1)) (r-1) r) by lia. lra.
Qed.

Lemma along_top r rm : (1 <= r <= N)%Z -> rm = (r - 1)%Z -> (0 <= f rm)%Z ->
  G r (f rm) = Fs r (A rm).
Proof. intros. unfold G. apply along_start; auto. Qed.

Lemma along_step r rm q q1 : (1 <= r <= N)%Z -> rm = (r - 1)%Z -> q1 = (q + 1)%Z ->
  (f r < q < f rm)%Z -> G r q = Fs r (G r q1).
Proof.
  intros Hr -> -> Hq. feed pose proof (f_range r) as B.
  feed pose proof (f_range (r-1)) as B'. unfold G.
  rewrite (eq3 q r (q-1) (q+1) (r-1)) by lia. f_equal.
  rewrite (Uon (q+1) (r-1) r) by lia. replace (q + 1 - 1)%Z with q by lia.
  rewrite (Uoff q r) by lia. reflexivity.
Qed.

Lemma along_bottom r q : (1 <= r <= N)%Z -> q = (f r + 1)%Z -> (q <= K)%Z -> A r = G r q.
Proof.
  intros Hr -> Hq. feed pose proof (f_range r) as B. unfold A, G.
  replace (f r + 1 - 1)%Z with (f r) by lia. rewrite (Uoff (f r + 1)) by lia. reflexivity.
Qed.

(* a lower bound that the steps keep *)
Lemma along_keep r rm (P : R -> Prop) : (1 <= r <= N)%Z -> rm = (r - 1)%Z -> (f r < f rm)%Z ->
  P (Fs r (A rm)) -> (forall x, P x -> P (Fs r x)) -> forall q, (f r < q <= f rm)%Z -> P (G r q).
Proof.
  intros Hr -> Hf H0 HS q Hq. feed pose proof (f_range r) as B.
  feed pose proof (f_range (r-1)) as B'.
  assert (forall q, (f r + 1 <= q <= f (r - 1))%Z -> P (G r q)) as HP.
  { apply z_down. intros x Hx IH. destruct (Z.eq_dec x (f (r - 1))) as [->|].
    - rewrite (along_top r (r-1)) by lia. exact H0.
    - rewrite (along_step r (r-1) x (x+1)) by lia. apply HS, IH; lia. }
  apply HP; lia.
Qed.

Lemma A_keep r rm (P : R -> Prop) : (1 <= r <= N)%Z -> rm = (r - 1)%Z -> (f r < f rm)%Z ->
  P (Fs r (A rm)) -> (forall x, P x -> P (Fs r x)) -> P (A r).
Proof.
  intros Hr -> Hf H0 HS. feed pose proof (f_range r) as B.
  feed pose proof (f_range (r-1)) as B'.
  rewrite (along_bottom r (f r + 1)) by lia. apply (along_keep r (r-1)); auto; lia.
Qed.

(* curve-along (a) *)
Lemma wall_steps r rm : (1 <= r <= N)%Z -> rm = (r - 1)%Z -> forall (i : nat) q,
  q = (f rm - Z.of_nat i)%Z -> (f r < q)%Z -> G r q = Nat.iter (S i) (Fs r) (A rm).
Proof.
  intros Hr -> i. pose proof HN. feed pose proof (f_range r) as B.
  feed pose proof (f_range (r-1)) as B'. induction i as [|i IH]; intros q Hq Hf.
  - replace q with (f (r-1)) by lia. apply along_top; lia.
  - rewrite (along_step r (r-1) q (q+1)) by lia. rewrite (IH (q + 1)%Z) by lia. reflexivity.
Qed.

Lemma along_fall r rm : (1 <= r <= N)%Z -> rm = (r - 1)%Z -> (f r < f rm)%Z ->
  (forall (i : nat) q q1, q = (f rm - Z.of_nat i)%Z -> q1 = (q + 1)%Z -> (f r < q < f rm)%Z ->
     V q1 r - V q r = Nat.iter i (Fs r) (A rm)) /\
  A r = Nat.iter (Z.to_nat (f rm - f r)) (Fs r) (A rm).
Proof.
  intros Hr -> Hf. feed pose proof (f_range r) as B. feed pose proof (f_range (r-1)) as B'. split.
  - intros i q q1 Hq -> Hqf. destruct i as [|i]; [lia|].
    rewrite <- (wall_steps r (r-1) Hr eq_refl i (q + 1)) by lia. unfold G.
    replace (q + 1 - 1)%Z with q by lia. rewrite (Uoff q r) by lia. reflexivity.
  - rewrite (along_bottom r (f r + 1)) by lia.
    replace (Z.to_nat (f (r-1) - f r)) with (S (Z.to_nat (f (r-1) - f r - 1))) by lia.
    apply (wall_steps r (r-1)); lia.
Qed.

(* curve-along (b) *)
Lemma along_flat r rm : (1 <= r <= N)%Z -> rm = (r - 1)%Z -> f r = f rm -> A rm <= A r.
Proof.
  intros Hr -> Hf. feed pose proof (f_range r) as B.
  destruct (Z.eq_dec (f r) K); [rewrite !A_K by lia; lra|].
  destruct (Z.eq_dec (f r) (-1)); [rewrite !A_m by lia; lra|].
  unfold A. rewrite <- Hf. assert (r < N)%Z by (apply f_lt_N; lia).
  rewrite (Uoff (f r + 1) r), (Uoff (f r + 1) (r - 1)), (Uon (f r) r (r+1)), (Uon (f r) (r-1) r)
    by lia.
  feed pose proof (d_off (f r + 1) (r-1) r) as D1. feed pose proof (d_on (f r) r (r+1)) as D2. lra.
Qed.

(* curve-along (c): without a distinction of cases, as U <= V *)
Lemma along_below r rm q q1 : (1 <= r <= N)%Z -> rm = (r - 1)%Z -> q1 = f rm -> (1 <= q1)%Z ->
  q = (q1 - 1)%Z -> V q1 r - V q r <= Fs r (A rm).
Proof.
  intros. feed pose proof (along_start r rm q1 q) as E. feed pose proof (Ule q r) as L.
  pose proof HK. lra.
Qed.

(* curve-along (d) *)
Lemma along_zero r rm : (1 <= r <= N)%Z -> rm = (r - 1)%Z -> f rm = 0%Z -> Fs r (A rm) = - gam.
Proof.
  intros. feed pose proof (along_start r rm 0 (-1)) as E. rewrite Um in E by lia. lra.
Qed.

(* curve-along (e) *)
Lemma along_first : A 0 = 1 \/ (f 0 = K - 1)%Z /\ A 0 = - th.
Proof.
  pose proof HN; pose proof HK; pose proof f_0. feed pose proof (f_range 0) as B.
  destruct (Z.eq_dec (f 0) K); [left; apply A_K; lia|right; split; [lia|]].
  assert (E : f 0%Z = (K - 1)%Z) by lia. unfold A. rewrite E.
  feed pose proof (EQ K 0 (K-1) (K+1) (-1)) as E0. rewrite lam0 in E0.
  replace (K - 1 + 1)%Z with K by lia. rewrite (Uoff K 0) by lia. lra.
Qed.

End Along.
