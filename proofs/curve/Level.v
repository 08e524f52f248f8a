(** [curve-first], the calculation: the lossless policy with the losses outside q + r <= K; the
    differences at the boxes with q + r = K, and the recursion of the page. *)
From Curve Require Export Grid.
From Coq Require Export Bool.

Section Recursion.
Variable l : R.
Fixpoint Arec (t : R) (n : nat) : R := match n with O => - t | S k =>
  - t + l * INR (S k) * Arec t k end.
Fixpoint prec (t : R) (n : nat) : R := match n with O => 1 | S k =>
  (Arec t (S k) + l * INR (S k) * prec t k) / (1 + l * INR (S k)) end.
Fixpoint drec (t : R) (n : nat) : R := match n with O => l / (1 + l) | S k =>
  l * (INR (S k) * drec t k + prec t (S k)) / (1 + l * (INR (S k) + 1)) end.
(* delta of the first box, which is (K - m, m) with m = min(K, N - 1) *)
Definition delta (N K : Z) (t : R) : R :=
  if (K <? N)%Z then (IZR K * drec t (Z.to_nat (K - 1)) + prec t (Z.to_nat K)) / (IZR K + 1)
    else drec t (Z.to_nat (N - 1)).

Hypothesis Hl : 0 < l.
Lemma lS n : 0 < l * INR (S n).
Proof. apply Rmult_lt_0_compat; [auto|]. apply lt_0_INR. lia. Qed.

Lemma Arec_falls t t' n : t < t' -> Arec t' n < Arec t n.
Proof.
  intros Ht. induction n as [|n IH]; cbn [Arec]; [lra|]. pose proof (lS n).
  assert (l * INR (S n) * Arec t' n < l * INR (S n) * Arec t n) by (apply Rmult_lt_compat_l; auto).
  lra.
Qed.
Lemma prec_falls t t' n : t < t' -> prec t' n <= prec t n /\ ((0 < n)%nat -> prec t' n < prec t n).
Proof.
  intros Ht. induction n as [|n [IH _]]; cbn [prec]; [split; [lra|lia]|]. pose proof (lS n).
  pose proof (Arec_falls t t' (S n) Ht).
  assert (l * INR (S n) * prec t' n <= l * INR (S n) * prec t n) by (apply Rmult_le_compat_l; lra).
  assert ((Arec t' (S n) + l * INR (S n) * prec t' n) / (1 + l * INR (S n)) < (Arec t (S n)
    + l * INR (S n) * prec t n) / (1 + l * INR (S n))).
  { apply Rmult_lt_compat_r; [apply Rinv_0_lt_compat; lra|lra]. }
  split; [lra|auto].
Qed.
Lemma drec_falls t t' n : t < t' -> drec t' n <= drec t n /\ ((0 < n)%nat -> drec t' n < drec t n).
Proof.
  intros Ht. induction n as [|n [IH _]]; cbn [drec]; [split; [lra|lia]|].
  destruct (prec_falls t t' (S n) Ht) as [_ Hp]. specialize (Hp ltac:(lia)).
  assert (Hn : 0 < INR (S n)) by (apply lt_0_INR; lia).
  assert (INR (S n) * drec t' n <= INR (S n) * drec t n) by (apply Rmult_le_compat_l; lra).
  assert (l * (INR (S n) * drec t' n + prec t' (S n)) / (1 + l * (INR (S n) + 1)) < l * (INR (S n)
    * drec t n + prec t (S n)) / (1 + l * (INR (S n) + 1))).
  { apply Rmult_lt_compat_r; [apply Rinv_0_lt_compat;
      assert (0 < l * (INR (S n) + 1)) by (apply Rmult_lt_0_compat; lra); lra|].
    apply Rmult_lt_compat_l; lra. }
  split; [lra|auto].
Qed.
Lemma delta_falls N K t t' : (2 <= N)%Z -> (1 <= K)%Z -> t < t' -> delta N K t' < delta N K t.
Proof.
  intros HN HK Ht. unfold delta. destruct (Z.ltb_spec K N).
  - destruct (prec_falls t t' (Z.to_nat K) Ht) as [_ Hp]. specialize (Hp ltac:(lia)).
    destruct (drec_falls t t' (Z.to_nat (K - 1)) Ht) as [Hd _].
    assert (1 <= IZR K) by (apply IZR_le; lia).
    assert (IZR K * drec t' (Z.to_nat (K - 1)) <= IZR K * drec t (Z.to_nat (K - 1)))
      by (apply Rmult_le_compat_l; lra).
    apply Rmult_lt_compat_r; [apply Rinv_0_lt_compat; lra|lra].
  - apply drec_falls; [auto|lia].
Qed.
End Recursion.

Section Level.
Variables (N K : Z) (l : R) (V : Z -> Z -> R) (t gam : R).
Hypothesis HN : (2 <= N)%Z.
Hypothesis HK : (1 <= K)%Z.
Hypothesis Hl : 0 < l.

Definition Uf (q r : Z) : R :=
  if (q =? -1)%Z then V 0 r + gam else if (q =? K + 1)%Z then V K r + 1
  else if ((q + r <? K) && (r <? N))%Z%bool then V q (r + 1) else V q r.
Hypothesis EQf : forall q r qm qp rm, (0 <= q <= K)%Z -> (0 <= r <= N)%Z -> (0 < q + r)%Z ->
  qm = (q - 1)%Z -> qp = (q + 1)%Z -> rm = (r - 1)%Z ->
  t + (1 + l * IZR r) * V q r = Uf qm r + l * IZR r * Uf qp rm.

Lemma Ufm q r : q = (-1)%Z -> Uf q r = V 0 r + gam.
Proof. intros ->. reflexivity. Qed.
Lemma UfK q r : q = (K + 1)%Z -> Uf q r = V K r + 1.
Proof. intros ->. unfold Uf. destruct (Z.eqb_spec (K + 1) (-1)); [lia|]. now rewrite Z.eqb_refl.
Qed.
Lemma Ufon q r r1 : r1 = (r + 1)%Z -> (0 <= q <= K)%Z -> (q + r < K)%Z -> (r < N)%Z ->
  Uf q r = V q r1.
Proof.
  intros -> ? ? ?. unfold Uf. destruct (Z.eqb_spec q (-1)); [lia|].
  destruct (Z.eqb_spec q (K + 1)); [lia|].
  destruct (Z.ltb_spec (q + r) K); [|lia]. destruct (Z.ltb_spec r N); [|lia]. reflexivity.
Qed.
Lemma Ufoff q r : (0 <= q <= K)%Z -> (K <= q + r \/ N <= r)%Z -> Uf q r = V q r.
Proof.
  intros ? ?. unfold Uf. destruct (Z.eqb_spec q (-1)); [lia|].
  destruct (Z.eqb_spec q (K + 1)); [lia|].
  destruct (Z.ltb_spec (q + r) K); destruct (Z.ltb_spec r N); simpl; try reflexivity. lia.
Qed.

Lemma nat_r n r : r = Z.of_nat n -> IZR r = INR n.
Proof. intros ->. now rewrite <- INR_IZR_INZ. Qed.

(* with - gam at the end, if K < N or K = N *)
Definition Aval (r : Z) : R := if (r =? K)%Z then - gam else V (K - r) r - V (K - 1 - r) (r + 1).

Lemma A_level : forall n r, r = Z.of_nat n -> (r <= K)%Z -> (r <= N - 1)%Z -> Aval r = Arec l t n.
Proof.
  induction n as [|n IH]; intros r Hr HrK HrN.
  - subst r. unfold Aval. change (Z.of_nat 0) with 0%Z. destruct (Z.eqb_spec 0 K); [lia|].
    cbn [Arec].
    feed pose proof (EQf K 0 (K-1) (K+1) (-1)) as E. rewrite (Ufon (K-1) 0 1) in E by lia.
    replace (K - 0)%Z with K by lia. replace (K - 1 - 0)%Z with (K - 1)%Z by lia. simpl. lra.
  - cbn [Arec]. rewrite <- (IH (r - 1)%Z) by lia. rewrite <- (nat_r (S n) r) by lia.
    feed pose proof (EQf (K - r) r (K - r - 1) (K - r + 1) (r - 1)) as E.
    rewrite (Ufoff (K - r + 1) (r - 1)) in E by lia.
    unfold Aval. destruct (Z.eqb_spec (r - 1) K); [lia|].
    replace (K - (r - 1))%Z with (K - r + 1)%Z by lia.
    replace (K - 1 - (r - 1))%Z with (K - r)%Z by lia. replace (r - 1 + 1)%Z with r by lia.
    destruct (Z.eqb_spec r K) as [e|].
    + rewrite Ufm in E by lia. replace (K - r)%Z with 0%Z in * by lia. lra.
    + rewrite (Ufon (K - r - 1) r (r+1)) in E by lia.
      replace (K - 1 - r)%Z with (K - r - 1)%Z by lia. lra.
Qed.

Definition pval (r : Z) : R := if (r =? 0)%Z then 1 else V (K - r + 1) r - V (K - r) r.
Lemma p_level : forall n r, r = Z.of_nat n -> (r <= K)%Z -> (r <= N - 1)%Z -> pval r = prec l t n.
Proof.
  induction n as [|n IH]; intros r Hr HrK HrN.
  - subst r. reflexivity.
  - cbn [prec]. rewrite <- (IH (r - 1)%Z) by lia. rewrite <- (A_level (S n) r) by lia.
    rewrite <- (nat_r (S n) r) by lia.
    assert (Hlr : 0 < l * IZR r) by (apply Rmult_lt_0_compat; [auto|apply IZR_lt; lia]).
    feed pose proof (EQf (K - r) r (K - r - 1) (K - r + 1) (r - 1)) as E.
    feed pose proof (EQf (K - r + 1) r (K - r) (K - r + 2) (r - 1)) as E'.
    rewrite (Ufoff (K - r + 1) (r - 1)) in E by lia. rewrite (Ufoff (K - r) r) in E' by lia.
    assert (Eu : Uf (K - r + 2) (r - 1) - V (K - r + 1) (r - 1) = pval (r - 1)).
    { unfold pval. destruct (Z.eqb_spec (r - 1) 0).
      - rewrite UfK by lia. replace (K - r + 1)%Z with K by lia. lra.
      - rewrite Ufoff by lia. replace (K - (r - 1) + 1)%Z with (K - r + 2)%Z by lia.
        replace (K - (r - 1))%Z with (K - r + 1)%Z by lia. reflexivity. }
    rewrite <- Eu. unfold pval. destruct (Z.eqb_spec r 0); [lia|].
    apply (Rmult_eq_reg_r (1 + l * IZR r)); [|lra]. unfold Rdiv.
    rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    unfold Aval. destruct (Z.eqb_spec r K) as [e|].
    + rewrite Ufm in E by lia. replace (K - r)%Z with 0%Z in * by lia. lra.
    + rewrite (Ufon (K - r - 1) r (r+1)) in E by lia.
      replace (K - 1 - r)%Z with (K - r - 1)%Z by lia. lra.
Qed.

(* the two equations at q + r = K *)
Lemma d_eq r : (0 <= r <= K)%Z -> (r <= N - 1)%Z ->
  (if (r =? K)%Z then l * (IZR r + 1) else 1 + l * (IZR r + 1)) * (V (K - r) (r + 1) - V (K - r) r)
    =
  l * IZR r * (V (K - r + 1) r - V (K - r + 1) (r - 1)) + l * pval r.
Proof.
  intros Hr HrN. feed pose proof (EQf (K - r) r (K - r - 1) (K - r + 1) (r - 1)) as E.
  feed pose proof (EQf (K - r) (r + 1) (K - r - 1) (K - r + 1) r) as E'.
  rewrite plus_IZR in E'. unfold pval.
  assert (Eu : l * IZR r * Uf (K - r + 1) (r - 1) = l * IZR r * V (K - r + 1) (r - 1)).
  { destruct (Z.eq_dec r 0) as [->|]; [simpl; lra|]. rewrite Ufoff by lia. reflexivity. }
  rewrite Eu in E.
  assert (Eu' : Uf (K - r + 1) r = V (K - r) r + (if (r =? 0)%Z then 1 else V (K - r + 1)
    r - V (K - r) r)).
  { destruct (Z.eqb_spec r 0) as [->|]; [rewrite UfK by lia; replace (K - 0)%Z with K by lia;
      lra|rewrite Ufoff by lia; lra]. }
  rewrite Eu' in E'.
  destruct (Z.eqb_spec r K) as [e|].
  - rewrite !Ufm in * by lia. replace (K - r)%Z with 0%Z in * by lia.
    destruct (Z.eqb_spec r 0); [lia|]. lra.
  - rewrite (Ufon (K - r - 1) r (r+1)) in E by lia. rewrite (Ufoff (K - r - 1) (r+1)) in E' by lia.
    destruct (Z.eqb_spec r 0) as [->|]; simpl in *; lra.
Qed.

Lemma d_level : forall n r, r = Z.of_nat n -> (r < K)%Z -> (r <= N - 1)%Z ->
  V (K - r) (r + 1) - V (K - r) r = drec l t n.
Proof.
  induction n as [|n IH]; intros r Hr HrK HrN.
  - subst r. feed pose proof (d_eq 0) as E. change (Z.of_nat 0) with 0%Z in *.
    destruct (Z.eqb_spec 0 K); [lia|]. unfold pval in E. simpl in E. cbn [drec].
    simpl. apply (Rmult_eq_reg_l (1 + l)); [|lra].
    replace ((1 + l) * (l / (1 + l))) with l by (field; lra). lra.
  - pose proof (IH (r - 1)%Z ltac:(lia) ltac:(lia) ltac:(lia)) as I.
    replace (K - (r - 1))%Z with (K - r + 1)%Z in I by lia.
    replace (r - 1 + 1)%Z with r in I by lia.
    cbn [drec]. rewrite <- I. rewrite <- (p_level (S n) r) by lia.
    rewrite <- (nat_r (S n) r) by lia.
    assert (Hr0 : 0 < IZR r) by (apply IZR_lt; lia).
    assert (Hlr : 0 < l * (IZR r + 1)) by (apply Rmult_lt_0_compat; lra).
    feed pose proof (d_eq r) as E. destruct (Z.eqb_spec r K); [lia|].
    apply (Rmult_eq_reg_l (1 + l * (IZR r + 1))); [|lra]. rewrite E. field. lra.
Qed.

Lemma d_first m : m = Z.min K (N - 1) -> V (K - m) (m + 1) - V (K - m) m = delta l N K t.
Proof.
  intros ->. unfold delta. destruct (Z.ltb_spec K N).
  - replace (Z.min K (N - 1)) with K by lia. feed pose proof (d_eq K) as E. rewrite Z.eqb_refl in E.
    replace (K - K)%Z with 0%Z in * by lia.
    pose proof (d_level (Z.to_nat (K - 1)) (K - 1) ltac:(lia) ltac:(lia) ltac:(lia)) as D.
    replace (K - (K - 1))%Z with 1%Z in D by lia. replace (K - 1 + 1)%Z with K in D by lia.
    change (0 + 1)%Z with 1%Z in E. rewrite D in E. rewrite (p_level (Z.to_nat K) K) in E by lia.
    assert (1 <= IZR K) by (apply IZR_le; lia).
    apply (Rmult_eq_reg_l (l * (IZR K + 1))); [|apply Rgt_not_eq, Rmult_lt_0_compat; lra].
    rewrite E. field. lra.
  - replace (Z.min K (N - 1)) with (N - 1)%Z by lia. destruct (Z_lt_ge_dec (N - 1) K); [|lia].
    apply d_level; lia.
Qed.

(* the cost: the chain of the states (q, min(N, K - q)) *)
Fixpoint weight (n : nat) : R := match n with O => 1 | S k =>
  weight k * (l * IZR (Z.min N (K - Z.of_nat k))) end.
Fixpoint weights_to (n : nat) : R := match n with O => weight 0 | S k =>
  weights_to k + weight (S k) end.
Definition yval (q : Z) : R := V q (Z.min N (K - q)).

Lemma y_eq q : (0 <= q < K)%Z -> t + (if (q =? 0)%Z then 0 else yval q - yval (q - 1))
  = (if (q =? 0)%Z then gam else 0) + l * IZR (Z.min N (K - q)) * (yval (q + 1) - yval q).
Proof.
  intros Hq. set (n := Z.min N (K - q)). pose proof (EQf q n (q-1) (q+1) (n-1)) as E.
  assert (Hn : (1 <= n <= N)%Z) by (unfold n; lia). feed specialize E.
  assert (E2 : Uf (q + 1) (n - 1) = yval (q + 1)).
  { unfold yval, n. destruct (Z_lt_ge_dec (q + N) K).
    - replace (Z.min N (K - q)) with N by lia. replace (Z.min N (K - (q + 1))) with N by lia.
      apply Ufon; lia.
    - replace (Z.min N (K - q)) with (K - q)%Z by lia.
      replace (Z.min N (K - (q + 1))) with (K - q - 1)%Z by lia. rewrite Ufoff by lia. reflexivity.
      }
  rewrite E2 in E. change (V q n) with (yval q) in E. destruct (Z.eqb_spec q 0) as [->|].
  - rewrite Ufm in E by lia. change (V 0 n) with (yval 0) in E. lra.
  - assert (E3 : Uf (q - 1) n = yval (q - 1)).
    { unfold yval, n. destruct (Z_lt_ge_dec N (K - (q - 1))).
      - replace (Z.min N (K - q)) with N by lia. replace (Z.min N (K - (q - 1))) with N by lia.
        apply Ufoff; lia.
      - replace (Z.min N (K - q)) with (K - q)%Z by lia.
        replace (Z.min N (K - (q - 1))) with (K - q + 1)%Z by lia. apply Ufon; lia. }
    rewrite E3 in E. lra.
Qed.

Lemma cost_lossless : t * weights_to (Z.to_nat K) = gam.
Proof.
  assert (HE : forall n, (Z.of_nat n < K)%Z -> weight (S n) * (yval (Z.of_nat n + 1)
    - yval (Z.of_nat n)) = t * weights_to n - gam).
  { induction n as [|n IH]; intros Hn.
    - feed pose proof (y_eq 0) as E. cbn [weight weights_to]. change (Z.of_nat 0) with 0%Z in *.
      rewrite Z.eqb_refl in E. lra.
    - pose proof (IH ltac:(lia)) as I. feed pose proof (y_eq (Z.of_nat (S n))) as E.
      destruct (Z.eqb_spec (Z.of_nat (S n)) 0); [lia|].
      replace (Z.of_nat (S n) - 1)%Z with (Z.of_nat n) in E by lia.
      replace (Z.of_nat n + 1)%Z with (Z.of_nat (S n)) in I by lia.
      cbn [weights_to]. change (weight (S (S n))) with (weight (S n)
        * (l * IZR (Z.min N (K - Z.of_nat (S n))))).
      rewrite Rmult_assoc.
      replace (l * IZR (Z.min N (K - Z.of_nat (S n))) * (yval (Z.of_nat (S n) + 1)
        - yval (Z.of_nat (S n)))) with (t + (yval (Z.of_nat (S n)) - yval (Z.of_nat n))) by lra.
      lra. }
  pose (n := Z.to_nat (K - 1)). pose proof (HE n ltac:(lia)) as H.
  replace (Z.of_nat n) with (K - 1)%Z in H by lia. replace (K - 1 + 1)%Z with K in H by lia.
  replace (Z.to_nat K) with (S n) by lia. cbn [weights_to].
  feed pose proof (EQf K 0 (K-1) (K+1) (-1)) as E. rewrite (Ufon (K-1) 0 1) in E by lia.
  assert (E2 : yval K - yval (K - 1) = - t).
  { unfold yval. replace (Z.min N (K - K)) with 0%Z by lia.
    replace (Z.min N (K - (K - 1))) with 1%Z by lia. simpl in E. lra. }
  rewrite E2 in H. lra.
Qed.
End Level.

Lemma weight_pos N K l n : (1 <= N)%Z -> 0 < l -> (Z.of_nat n <= K)%Z -> 0 < weight N K l n.
Proof.
  intros HN Hl. induction n as [|n IH]; intros Hn; cbn [weight]; [lra|].
  apply Rmult_lt_0_compat; [apply IH; lia|]. apply Rmult_lt_0_compat; [auto|]. apply IZR_lt. lia.
Qed.
Lemma weights_pos N K l n : (1 <= N)%Z -> 0 < l -> (Z.of_nat n <= K)%Z -> 0 < weights_to N K l n.
Proof.
  intros HN Hl. induction n as [|n IH]; intros Hn; cbn [weights_to]; [cbn; lra|].
  pose proof (weight_pos N K l (S n) HN Hl Hn). specialize (IH ltac:(lia)). lra.
Qed.
