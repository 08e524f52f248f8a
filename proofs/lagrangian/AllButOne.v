(** [lagrangian-all-but-one]: All sources but one are crawled in each epoch (M = N - 1): every policy that ranks by sign,
   such as
    Whittle's index and the Lagrangian index, loses nothing against the bound from the third epoch
      on,
    whatever the ages at the start. *)
From Coq Require Import Reals List Bool Lra Lia Arith Classical.
From Lagrangian Require Import Identity.
Open Scope R_scope.

Lemma total_single n w v : (v < n)%nat -> (forall j, (j < n)%nat -> j <> v -> w j <= 0) ->
  total n w <= w v.
Proof.
  induction n as [|n IH]; intros Hv H; [lia|]. simpl. destruct (Nat.eq_dec v n) as [->|].
  - assert (total n w <= 0); [|lra]. clear IH Hv. induction n as [|n IH]; simpl; [lra|].
    assert (w n <= 0) by (apply H; lia). assert (total n w <= 0); [|lra].
    apply IH. intros j Hj Hne. apply H; lia.
  - assert (w n <= 0) by (apply H; lia).
    assert (total n w <= w v) by (apply IH; [lia|intros; apply H; lia]). lra.
Qed.

Lemma total_at_least n w v : (v < n)%nat -> (forall j, (j < n)%nat -> 0 <= w j) -> w v <= total n w.
Proof.
  induction n as [|n IH]; intros Hv H; [lia|]. simpl. assert (0 <= w n) by auto.
  assert (0 <= total n w) by (apply total_nonneg; auto).
  destruct (Nat.eq_dec v n) as [->|]; [lra|]. assert (w v <= total n w) by (apply IH; auto; lia).
  lra.
Qed.

Section AllButOne.
Variables (n : nat) (A : nat -> nat -> R) (f : nat -> R).
(* the index of each source rises with its age *)
Hypothesis rises : forall i k, (i < n)%nat -> (1 <= k)%nat -> A i k < A i (S k).
(* f are the frequencies of the relaxed problem, which fill the budget: where the index at age k is
   negative, the source is due after k, and where it is positive, it is due at k or before *)
Hypothesis f_range : forall i, (i < n)%nat -> 0 <= f i <= 1.
Hypothesis f_sum : total n (fun i => 1 - f i) = 1.
Hypothesis f_late : forall i k, (i < n)%nat -> (1 <= k)%nat -> A i k < 0 -> f i * (INR k + 1) <= 1.
Hypothesis f_early : forall i k, (i < n)%nat -> (1 <= k)%nat -> 0 < A i k -> 1 <= f i * INR k.

(* a run: in epoch t the source [waiter t] waits, and its sign is the least *)
Variables (age : nat -> nat -> nat) (waiter : nat -> nat).
Hypothesis waits : forall t, (waiter t < n)%nat.
Hypothesis age_start : forall i, (1 <= age i 0)%nat.
Hypothesis age_next : forall i t, age i (S t) = if (i =? waiter t)%nat then S (age i t) else 1%nat.
Hypothesis signs : forall t j, (j < n)%nat ->
  (0 < A (waiter t) (age (waiter t) t) -> 0 < A j (age j t)) /\
  (A (waiter t) (age (waiter t) t) = 0 -> 0 <= A j (age j t)).

(* nothing is lost: the waiter is not overdue, and no other source is crawled early *)
Definition lossless (t : nat) : Prop := A (waiter t) (age (waiter t) t) <= 0 /\
  forall j, (j < n)%nat -> j <> waiter t -> 0 <= A j (age j t).

Lemma ages t j : (1 <= age j t)%nat.
Proof. destruct t; [auto|]. rewrite age_next. destruct (j =? waiter t)%nat; lia. Qed.

Lemma rises_from i k m : (i < n)%nat -> (1 <= k <= m)%nat -> A i k <= A i m.
Proof.
  intros Hi [Hk Hm]. induction Hm as [|m Hm IH]; [lra|]. pose proof (rises i m Hi ltac:(lia)). lra.
Qed.

Lemma at_one t j : j <> waiter t -> age j (S t) = 1%nat.
Proof. intros H. rewrite age_next.
destruct (Nat.eqb_spec j (waiter t)); [contradiction|reflexivity]. Qed.
Lemma at_two t : (2 <= age (waiter t) (S t))%nat.
Proof. rewrite age_next, Nat.eqb_refl. pose proof (ages t (waiter t)). lia. Qed.

(* shares of waiting, w = 1 - f *)
Lemma w_nonneg j : (j < n)%nat -> 0 <= 1 - f j.
Proof. intros H. specialize (f_range j H). lra. Qed.
Lemma w_pos_not_pos j : (j < n)%nat -> 0 < 1 - f j -> A j 1 <= 0.
Proof. intros Hj H. apply Rnot_lt_le. intros C. pose proof (f_early j 1 Hj ltac:(lia) C) as E.
simpl in E. lra. Qed.
Lemma w_of_negative j : (j < n)%nat -> A j 1 < 0 -> 1 / 2 <= 1 - f j.
Proof. intros Hj H. pose proof (f_late j 1 Hj ltac:(lia) H) as E. simpl in E. lra. Qed.
Lemma w_of_zero j : (j < n)%nat -> 0 <= A j 1 -> 1 - f j <= 1 / 2.
Proof.
  intros Hj H. pose proof (rises j 1 Hj ltac:(lia)) as Hr.
  pose proof (f_early j 2 Hj ltac:(lia) ltac:(lra)) as E.
  simpl in E. lra.
Qed.
Lemma second_age j : (j < n)%nat -> 1 / 2 <= f j -> 0 <= A j 2.
Proof. intros Hj H. apply Rnot_lt_le. intros C. pose proof (f_late j 2 Hj ltac:(lia) C) as E.
simpl in E. lra. Qed.

Lemma other_waits v : (v < n)%nat -> 1 - f v < 1 -> exists j, (j < n)%nat /\ j <> v /\ 0 < 1 - f j.
Proof.
  intros Hv H. apply NNPP. intros C. pose proof (total_single n (fun i => 1 - f i) v Hv) as E.
  rewrite f_sum in E. assert (1 <= 1 - f v); [|lra]. apply E. intros j Hj Hne.
  apply Rnot_lt_le. intros Hw. apply C. exists j. auto.
Qed.

(* if all indices are at least 0 and one is 0, nothing is lost *)
Lemma lossless_if t : (forall j, (j < n)%nat -> 0 <= A j (age j t)) ->
  (exists j, (j < n)%nat /\ A j (age j t) <= 0) -> lossless t.
Proof.
  intros H (j & Hj & Hz). split; [|auto]. apply Rnot_lt_le. intros C.
  destruct (signs t j Hj) as [S _]. specialize (S C). lra.
Qed.

(* if a alone is negative, it waits *)
Lemma lossless_if_one t a : (a < n)%nat -> A a (age a t) < 0 ->
  (forall j, (j < n)%nat -> j <> a -> 0 <= A j (age j t)) -> waiter t = a /\ lossless t.
Proof.
  intros Ha Hn H. destruct (signs t a Ha) as [S1 S2].
  assert (W : A (waiter t) (age (waiter t) t) < 0).
  { destruct (Rtotal_order (A (waiter t) (age (waiter t) t)) 0) as [?|[E|G]]; [auto| |].
    - specialize (S2 E). lra. - specialize (S1 G). lra. }
  destruct (Nat.eq_dec (waiter t) a) as [E|Hne].
  - split; [auto|]. split; [lra|]. rewrite E. auto.
  - specialize (H (waiter t) (waits t) Hne). lra.
Qed.

Theorem lossless_from_the_third_epoch t : lossless (S (S t)).
Proof.
  destruct (classic (exists a, (a < n)%nat /\ A a 1 < 0)) as [(a & Ha & Na)|Hno].
  2: { (* (a) no index is negative at age 1 *)
    assert (H0 : forall j, (j < n)%nat -> 0 <= A j 1).
    { intros j Hj. apply Rnot_lt_le. intros C. apply Hno. exists j. auto. }
    set (v := waiter (S t)). pose proof (w_of_zero v (waits _) (H0 v (waits _))) as Hw.
    destruct (other_waits v (waits _) ltac:(lra)) as (j & Hj & Hne & Hp).
    apply lossless_if.
    - intros i Hi. pose proof (rises_from i 1 (age i (S (S t))) Hi) as R.
      pose proof (ages (S (S t)) i).
      specialize (H0 i Hi). assert (A i 1 <= A i (age i (S (S t)))) by (apply R; lia). lra.
    - exists j. split; [auto|]. rewrite (at_one (S t) j Hne). apply w_pos_not_pos; auto. }
  destruct (classic (exists b, (b < n)%nat /\ b <> a /\ A b 1 < 0)) as [(b & Hb & Hba & Nb)|Hone].
  - (* (c) two: they wait half of the time each, all others never *)
    pose proof (w_of_negative a Ha Na) as Wa. pose proof (w_of_negative b Hb Nb) as Wb.
    assert (Hsum : forall c, (c < n)%nat -> c <> a -> c <> b ->
      (1 - f a) + (1 - f b) + (1 - f c) <= 1).
    { intros c Hc Hca Hcb.
      pose (w := fun i => if ((i =? a) || (i =? b))%nat%bool then 0 else 1 - f i).
      assert (E : total n (fun i => 1 - f i) = (1 - f a) + (1 - f b) + total n w).
      { assert (G : forall x, (x < n)%nat -> forall g, total n g = g x + total n (fun i =>
          if (i =? x)%nat then 0 else g i)).
        { clear. intros x Hx g. induction n as [|m IH]; [lia|]. simpl.
          destruct (Nat.eqb_spec m x) as [->|].
          - rewrite (total_ext x (fun i => if (i =? x)%nat then 0 else g i) g); [lra|].
            intros i Hi. destruct (Nat.eqb_spec i x); [lia|reflexivity].
          - rewrite IH by lia. lra. }
        rewrite (G a Ha (fun i => 1 - f i)). rewrite (G b Hb).
        destruct (Nat.eqb_spec b a); [contradiction|]. unfold w.
        rewrite (total_ext n (fun i => if (i =? b)%nat then 0 else if (i =? a)%nat then 0 else 1 - f
          i)
          (fun i => if ((i =? a) || (i =? b))%nat%bool then 0 else 1 - f i)); [lra|].
        intros i _. destruct (i =? a)%nat; destruct (i =? b)%nat; reflexivity. }
      rewrite f_sum in E.
      assert (Wc : w c <= total n w).
      { apply total_at_least; auto. intros j Hj. unfold w. pose proof (w_nonneg j Hj).
        destruct ((j =? a) || (j =? b))%nat%bool; lra. }
      unfold w in Wc at 1. destruct (Nat.eqb_spec c a); [contradiction|].
      destruct (Nat.eqb_spec c b); [contradiction|]. simpl in Wc. lra. }
    assert (Hab : (1 - f a) + (1 - f b) <= 1).
    { pose (w := fun i => if (i =? a)%nat then 0 else 1 - f i).
      assert (G : total n (fun i => 1 - f i) = (1 - f a) + total n w).
      { assert (G : forall x, (x < n)%nat -> forall g, total n g = g x + total n (fun i =>
          if (i =? x)%nat then 0 else g i)).
        { clear. intros x Hx g. induction n as [|m IH]; [lia|]. simpl.
          destruct (Nat.eqb_spec m x) as [->|].
          - rewrite (total_ext x (fun i => if (i =? x)%nat then 0 else g i) g); [lra|].
            intros i Hi. destruct (Nat.eqb_spec i x); [lia|reflexivity].
          - rewrite IH by lia. lra. }
        apply (G a Ha). }
      rewrite f_sum in G. assert (w b <= total n w).
      { apply total_at_least; auto. intros j Hj. unfold w. pose proof (w_nonneg j Hj).
        destruct (j =? a)%nat; lra. }
      unfold w in H at 1. destruct (Nat.eqb_spec b a); [contradiction|]. lra. }
    assert (Hothers : forall c, (c < n)%nat -> c <> a -> c <> b -> 0 <= A c 1).
    { intros c Hc Hca Hcb. apply Rnot_lt_le. intros C. pose proof (w_of_negative c Hc C).
      specialize (Hsum c Hc Hca Hcb). lra. }
    assert (Hpos : forall c s, (c < n)%nat -> c <> a -> c <> b -> 0 <= A c (age c s)).
    { intros c s Hc Hca Hcb. pose proof (rises_from c 1 (age c s) Hc) as R. pose proof (ages s c).
      specialize (Hothers c Hc Hca Hcb). assert (A c 1 <= A c (age c s)) by (apply R; lia). lra. }
    assert (Ha2 : forall m, (2 <= m)%nat -> 0 <= A a m).
    { intros m Hm. pose proof (second_age a Ha ltac:(lra)).
      pose proof (rises_from a 2 m Ha ltac:(lia)). lra. }
    assert (Hb2 : forall m, (2 <= m)%nat -> 0 <= A b m).
    { intros m Hm. pose proof (second_age b Hb ltac:(lra)).
      pose proof (rises_from b 2 m Hb ltac:(lia)). lra. }
    (* after a waiter a the other one waits *)
    assert (HA : forall s, waiter s = a -> waiter (S s) = b /\ lossless (S s)).
    { intros s E. pose proof (at_two s) as H2. rewrite E in H2.
      apply lossless_if_one; auto; [rewrite at_one by (rewrite E; auto); auto|].
      intros j Hj Hne. destruct (Nat.eq_dec j a) as [->|]; [auto|apply Hpos; auto]. }
    assert (HB : forall s, waiter s = b -> waiter (S s) = a /\ lossless (S s)).
    { intros s E. pose proof (at_two s) as H2. rewrite E in H2.
      apply lossless_if_one; auto; [rewrite at_one by (rewrite E; auto); auto|].
      intros j Hj Hne. destruct (Nat.eq_dec j b) as [->|]; [auto|apply Hpos; auto]. }
    (* so from the second epoch on a or b waits *)
    assert (HW : waiter (S t) = a \/ waiter (S t) = b).
    { destruct (Nat.eq_dec (waiter t) a) as [E|Nea]; [right; apply HA; auto|].
      destruct (Nat.eq_dec (waiter t) b) as [E|Neb]; [left; apply HB; auto|].
      destruct (Nat.eq_dec (waiter (S t)) a) as [|N1]; [auto|].
      destruct (Nat.eq_dec (waiter (S t)) b) as [|N2]; [auto|].
      exfalso. pose proof (Hpos (waiter (S t)) (S t) (waits _) N1 N2) as Hp.
      destruct (signs (S t) a Ha) as [S1 S2]. rewrite (at_one t a) in S1, S2 by auto.
      destruct Hp as [Hp|Hp]; [specialize (S1 Hp)|specialize (S2 (eq_sym Hp))]; lra. }
    destruct HW as [E|E]; [apply HA|apply HB]; exact E.
  - (* (b) one *)
    assert (H0 : forall j, (j < n)%nat -> j <> a -> 0 <= A j 1).
    { intros j Hj Hne. apply Rnot_lt_le. intros C. apply Hone. exists j. auto. }
    assert (Hpos : forall j, (j < n)%nat -> j <> a -> 0 <= A j (age j (S (S t)))).
    { intros j Hj Hne. pose proof (rises_from j 1 (age j (S (S t))) Hj) as R.
      pose proof (ages (S (S t)) j).
      specialize (H0 j Hj Hne). assert (A j 1 <= A j (age j (S (S t)))) by (apply R; lia). lra. }
    destruct (Rtotal_order (A a (age a (S (S t)))) 0) as [Hn|[Hz|Hp]].
    + apply (lossless_if_one _ a Ha Hn Hpos).
    + apply lossless_if; [|exists a; split; [auto|lra]]. intros j Hj.
      destruct (Nat.eq_dec j a) as [->|]; [lra|auto].
    + (* a was the last to wait, and another one has index 0 at age 1 *)
      assert (E : a = waiter (S t)).
      { destruct (Nat.eq_dec a (waiter (S t))) as [|Hne]; [auto|]. rewrite (at_one _ _ Hne) in Hp.
        lra. }
      pose proof (f_early a _ Ha (ages _ _) Hp) as Fa.
      assert (Wa : 1 - f a < 1).
      { assert (0 < f a); [|lra]. apply Rnot_le_lt. intros C.
        pose proof (pos_INR (age a (S (S t)))).
        assert (f a * INR (age a (S (S t))) <= 0 * INR (age a (S (S t))))
          by (apply Rmult_le_compat_r; auto). lra. }
      destruct (other_waits a Ha Wa) as (j & Hj & Hne & Hw).
      apply lossless_if.
      * intros i Hi. destruct (Nat.eq_dec i a) as [->|]; [lra|auto].
      * exists j. split; [auto|]. rewrite (at_one (S t) j) by congruence. apply w_pos_not_pos; auto.
Qed.
End AllButOne.

Lemma count_others m w : (w < m)%nat ->
  total m (fun i => if negb (i =? w)%nat then 1 else 0) = INR m - 1.
Proof.
  induction m as [|m IH]; intros Hw; [lia|]. cbn [total]. rewrite S_INR.
  destruct (Nat.eqb_spec m w) as [->|].
  - rewrite (total_ext w _ (fun _ => 1)).
    + assert (E : forall k, total k (fun _ => 1) = INR k).
      { induction k; [reflexivity|]. rewrite S_INR. simpl. lra. }
      rewrite E. simpl. lra.
    + intros i Hi. destruct (Nat.eqb_spec i w); [lia|reflexivity].
  - rewrite IH by lia. simpl. lra.
Qed.

(** So such a policy earns the bound of [Identity.bound], up to a constant. *)
Section Earns.
Variables (n : nat) (X : nat -> nat -> R) (l : R) (g : nat -> R) (h : nat -> nat ->
  R) (b : R) (f : nat -> R).
Hypothesis opt : forall i, (i < n)%nat -> optimal (X i) l (g i) (h i).
Hypothesis bounded : forall i k, (i < n)%nat -> (1 <= k)%nat -> h i k <= b.
Let A (i k : nat) : R := index (X i) l (h i) k.
Hypothesis rises : forall i k, (i < n)%nat -> (1 <= k)%nat -> A i k < A i (S k).
Hypothesis f_range : forall i, (i < n)%nat -> 0 <= f i <= 1.
Hypothesis f_sum : total n (fun i => 1 - f i) = 1.
Hypothesis f_late : forall i k, (i < n)%nat -> (1 <= k)%nat -> A i k < 0 -> f i * (INR k + 1) <= 1.
Hypothesis f_early : forall i k, (i < n)%nat -> (1 <= k)%nat -> 0 < A i k -> 1 <= f i * INR k.
Variables (age : nat -> nat -> nat) (waiter : nat -> nat).
Let crawled (i t : nat) : bool := negb (i =? waiter t)%nat.
Hypothesis waits : forall t, (waiter t < n)%nat.
Hypothesis age_start : forall i, (1 <= age i 0)%nat.
Hypothesis age_next : forall i t, age i (S t) = if crawled i t then 1%nat else S (age i t).
Hypothesis signs : forall t j, (j < n)%nat ->
  (0 < A (waiter t) (age (waiter t) t) -> 0 < A j (age j t)) /\
  (A (waiter t) (age (waiter t) t) = 0 -> 0 <= A j (age j t)).

Lemma all_but_one t : crawls n crawled t = INR n - 1.
Proof. apply count_others, waits. Qed.

Theorem earns_the_bound : exists C, forall T,
  INR T * (l * (INR n - 1) + total n g) - C <= reward n X age crawled T.
Proof.
  pose (D T := total T (fun t => total n (fun i => loss X l h age crawled i t))).
  assert (HN : forall t, 0 <= total n (fun i => loss X l h age crawled i t))
    by (intros t; apply total_nonneg; intros; apply loss_nonneg).
  assert (HL : forall t, total n (fun i => loss X l h age crawled i (S (S t))) = 0).
  { intros t. destruct (lossless_from_the_third_epoch n A f rises f_range f_sum f_late f_early age
      waiter
      waits age_start) with (t := t) as [H1 H2]; auto.
    { intros i s. rewrite age_next. unfold crawled. destruct (i =? waiter s)%nat; reflexivity. }
    rewrite (total_ext n _ (fun i => 0 * 0)); [rewrite total_scale; lra|]. intros i Hi.
    unfold loss, crawled. destruct (Nat.eqb_spec i (waiter (S (S t)))) as [->|Hne]; simpl.
    - unfold above. rewrite Rmax_right; [lra|exact H1].
    - unfold below. specialize (H2 i Hi Hne). unfold A in H2. rewrite Rmax_right; lra. }
  assert (HS : forall T, D (S T) = D T + total n (fun i =>
    loss X l h age crawled i T)) by reflexivity.
  assert (HD : forall T, D T <= D 2%nat).
  { intros T. destruct T as [|[|T]].
    - pose proof (HN 0%nat). pose proof (HN 1%nat). pose proof (HS 0%nat). pose proof (HS 1%nat).
      lra.
    - pose proof (HN 1%nat). pose proof (HS 1%nat). lra.
    - induction T as [|T IH]; [lra|]. rewrite HS, HL. lra. }
  assert (Hb : forall T, total n (fun i => h i (age i T)) <= INR n * b).
  { intros T. assert (Hage : forall i, (1 <= age i T)%nat).
    { intros i. destruct T; [auto|]. rewrite age_next. destruct (crawled i T); lia. }
    assert (G : forall m, (m <= n)%nat -> total m (fun i => h i (age i T)) <= INR m * b); [|apply G;
      lia].
    induction m as [|m IH]; intros Hm; [simpl; lra|]. rewrite S_INR. cbn [total].
    specialize (IH ltac:(lia)). specialize (bounded m (age m T) ltac:(lia) (Hage m)). lra. }
  exists (D 2%nat + INR n * b - total n (fun i => h i (age i 0%nat))). intros T.
  pose proof (loss_identity n X l g h opt age crawled age_start age_next (INR n - 1) T) as E.
  rewrite (total_ext T _ (fun t => total n (fun i => loss X l h age crawled i t))) in E
    by (intros t _; rewrite all_but_one; lra).
  fold (D T) in E. specialize (HD T). specialize (Hb T). lra.
Qed.
End Earns.
