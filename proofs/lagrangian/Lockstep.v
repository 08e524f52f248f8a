(** [lagrangian-lockstep]: The lockstep: four sources, two crawls an epoch. A and B fade by half in an epoch,
   C and F at once.
    While A and B have one age, Whittle's index crawls {A, B} and {C, F} in turn for ever,
      though {A, C}
    and {B, C} in turn earn more. The share that is lost comes as near to 1/10 as one likes; for the
    Lagrangian index, to 1 / (18 + 2 theta) at the multiplier u_F + theta (u_C - u_F). *)
From Coq Require Import Reals Lra Lia Arith Bool.
From Lagrangian Require Import Identity.
Open Scope R_scope.

(* what a crawl of A or B brings at an age *)
Definition half_life (k : nat) : R := 1 - (1 / 2) ^ k.

(* Whittle's index of A and B at the ages 1 and 2, and the Lagrangian index under a charge l,
   whose due
   age is 2 while 1/4 < l <= 1/2 *)
Lemma whittle_at_1 : gamma half_life 1 = 1 / 4.
Proof. unfold gamma, rise, half_life. simpl. lra. Qed.
Lemma whittle_at_2 : gamma half_life 2 = 1 / 2.
Proof. unfold gamma, rise, half_life. simpl. lra. Qed.

Lemma lagrangian_near_due l : 1 / 4 < l <= 1 / 2 -> exists g h, optimal half_life l g h /\
  index half_life l h 1 = (1 / 4 - l) / 2 /\ index half_life l h 2 = (1 / 2 - l) / 2.
Proof.
  intros Hl. exists (gain half_life l 2), (bias half_life l 2).
  assert (Hc : forall k, (2 <= k)%nat -> rise half_life (S k) <= rise half_life k).
  { intros k _. unfold rise, half_life. simpl. pose proof (pow_lt (1 / 2) k ltac:(lra)). lra. }
  assert (He : forall k, (1 <= k < 2)%nat -> gamma half_life k < l).
  { intros k Hk. replace k with 1%nat by lia. rewrite whittle_at_1. lra. }
  assert (Hd : l <= gamma half_life 2) by (rewrite whittle_at_2; lra).
  destruct (closed_form half_life l 2 ltac:(lia) Hc Hd He) as (HO & _ & _).
  destruct (at_the_due_age half_life l 2 ltac:(lia) Hc Hd He) as [H2 H1].
  specialize (H1 ltac:(lia)). simpl in H1. rewrite whittle_at_1 in H1. rewrite whittle_at_2 in H2.
  split; [exact HO|]. rewrite H1, H2. simpl. split; lra.
Qed.

Section Lockstep.
Variables (uC uF : R).
(* the sources A, B, C, F are 0, 1, 2, 3; their index at an age *)
Variables (vAB : nat -> R) (vC vF : R).
Hypothesis first : vC < vAB 2 /\ vF < vAB 2.
Hypothesis second : vAB 1 < vC /\ vAB 1 < vF.
Definition value (i k : nat) : R := match i with 0 | 1 => vAB k | 2 => vC | _ => vF end%nat.

Variables (age : nat -> nat -> nat) (crawled : nat -> nat -> bool).
Hypothesis age_start : age 0%nat 0%nat = 2%nat /\ age 1%nat 0%nat = 2%nat.
Hypothesis age_next : forall i t, age i (S t) = if crawled i t then 1%nat else S (age i t).
(* two sources are crawled, and none that waits has the larger index *)
Hypothesis two : forall t, (Nat.b2n (crawled 0 t) + Nat.b2n (crawled 1 t) + Nat.b2n (crawled 2 t)
  + Nat.b2n (crawled 3 t) = 2)%nat.
Hypothesis ranked : forall t i j, (i < 4)%nat -> (j < 4)%nat -> crawled i t = true ->
  crawled j t = false -> value j (age j t) <= value i (age i t).

Lemma both_due t : age 0%nat t = 2%nat -> age 1%nat t = 2%nat ->
  crawled 0 t = true /\ crawled 1 t = true /\ crawled 2 t = false /\ crawled 3 t = false.
Proof.
  intros H0 H1. specialize (two t).
  assert (N : forall i j, (i = 2 \/ i = 3)%nat -> (j = 0 \/ j = 1)%nat -> crawled i t = true ->
    crawled j t = false -> False).
  { intros i j Hi Hj Ci Cj. pose proof (ranked t i j ltac:(lia) ltac:(lia) Ci Cj) as R.
    destruct Hi as [-> | ->]; destruct Hj as [-> | ->]; simpl in R; rewrite ?H0, ?H1 in R; lra. }
  destruct (crawled 0 t) eqn:C0; destruct (crawled 1 t) eqn:C1; destruct (crawled 2 t) eqn:C2;
    destruct (crawled 3 t) eqn:C3; simpl in two; try lia; auto; exfalso;
    first [apply (N 2 0)%nat; auto; fail|apply (N 2 1)%nat; auto; fail|apply (N 3 0)%nat; auto;
      fail|apply (N 3 1)%nat; auto].
Qed.

Lemma both_fresh t : age 0%nat t = 1%nat -> age 1%nat t = 1%nat ->
  crawled 0 t = false /\ crawled 1 t = false /\ crawled 2 t = true /\ crawled 3 t = true.
Proof.
  intros H0 H1. specialize (two t).
  assert (N : forall i j, (i = 0 \/ i = 1)%nat -> (j = 2 \/ j = 3)%nat -> crawled i t = true ->
    crawled j t = false -> False).
  { intros i j Hi Hj Ci Cj. pose proof (ranked t i j ltac:(lia) ltac:(lia) Ci Cj) as R.
    destruct Hi as [-> | ->]; destruct Hj as [-> | ->]; simpl in R; rewrite ?H0, ?H1 in R; lra. }
  destruct (crawled 0 t) eqn:C0; destruct (crawled 1 t) eqn:C1; destruct (crawled 2 t) eqn:C2;
    destruct (crawled 3 t) eqn:C3; simpl in two; try lia; auto; exfalso;
    first [apply (N 0 2)%nat; auto; fail|apply (N 0 3)%nat; auto; fail|apply (N 1 2)%nat; auto;
      fail|apply (N 1 3)%nat; auto].
Qed.

Definition payoff (t : nat) : R :=
  (if crawled 0 t then half_life (age 0 t) else 0) + (if crawled 1 t then half_life (age 1 t)
    else 0)
  + (if crawled 2 t then uC else 0) + (if crawled 3 t then uF else 0).

Lemma in_step t : age 0%nat (2 * t) = 2%nat /\ age 1%nat (2 * t) = 2%nat /\
  payoff (2 * t) = 3 / 2 /\ payoff (S (2 * t)) = uC + uF.
Proof.
  assert (HA : age 0%nat (2 * t) = 2%nat /\ age 1%nat (2 * t) = 2%nat).
  { induction t as [|t [H0 H1]]; [exact age_start|].
    destruct (both_due _ H0 H1) as (C0 & C1 & _ & _).
    assert (A0 : age 0%nat (S (2 * t)) = 1%nat) by (rewrite age_next, C0; reflexivity).
    assert (A1 : age 1%nat (S (2 * t)) = 1%nat) by (rewrite age_next, C1; reflexivity).
    destruct (both_fresh _ A0 A1) as (D0 & D1 & _ & _).
    replace (2 * S t)%nat with (S (S (2 * t))) by lia.
    rewrite !age_next, D0, D1, C0, C1. auto. }
  destruct HA as [H0 H1]. destruct (both_due _ H0 H1) as (C0 & C1 & C2 & C3).
  assert (A0 : age 0%nat (S (2 * t)) = 1%nat) by (rewrite age_next, C0; reflexivity).
  assert (A1 : age 1%nat (S (2 * t)) = 1%nat) by (rewrite age_next, C1; reflexivity).
  destruct (both_fresh _ A0 A1) as (D0 & D1 & D2 & D3).
  repeat split; auto; unfold payoff; [rewrite C0, C1, C2, C3, H0, H1; unfold half_life; simpl;
    lra|].
  rewrite D0, D1, D2, D3. lra.
Qed.

Theorem lockstep_reward T : total (2 * T) payoff = INR T * (3 / 2 + uC + uF).
Proof.
  induction T as [|T IH]; [simpl; lra|]. replace (2 * S T)%nat with (S (S (2 * T))) by lia.
  cbn [total]. rewrite IH, S_INR. destruct (in_step T) as (_ & _ & -> & ->). lra.
Qed.
End Lockstep.

(* {A, C} and {B, C} in turn earn 3/4 + uC an epoch; the lockstep loses this share of it *)
Definition share (uC uF : R) : R := 1 - (3 / 2 + uC + uF) / 2 / (3 / 4 + uC).

Lemma share_is uC uF : 0 < uC -> share uC uF = (uC - uF) / 2 / (3 / 4 + uC).
Proof. intros. unfold share. field. lra. Qed.

(* Whittle's index: the indices of C and F are uC and uF at every age *)
Theorem index_loses_a_tenth eps : 0 < eps -> exists uC uF, 1 / 4 < uF < uC /\ uC < 1 / 2 /\
  gamma half_life 1 < uF /\ uC < gamma half_life 2 /\ 1 / 10 - eps < share uC uF.
Proof.
  intros He. pose (e := Rmin (eps / 4) (1 / 16)).
  assert (0 < e <= 1 / 16 /\ e <= eps / 4).
  { unfold e. pose proof (Rmin_l (eps / 4) (1 / 16)). pose proof (Rmin_r (eps / 4) (1 / 16)).
    split; [split; [apply Rmin_pos; lra|auto]|auto]. }
  exists (1 / 2 - e), (1 / 4 + e). rewrite whittle_at_1, whittle_at_2. repeat split; try lra.
  rewrite (share_is (1 / 2 - e) (1 / 4 + e)) by lra.
  apply (Rmult_lt_reg_r (3 / 4 + (1 / 2 - e))); [lra|].
  unfold Rdiv at 4. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  assert (0 <= eps * e) by (apply Rmult_le_pos; lra). assert (eps * e <= eps / 16) by nra. lra.
Qed.

(* the Lagrangian index at the multiplier l = uF + theta (uC - uF) *)
Theorem lagrangian_index_loses theta eps : 0 <= theta <= 1 -> 0 < eps -> exists uC uF,
  let l := uF + theta * (uC - uF) in 1 / 4 < l < 1 / 2 /\ uF < uC /\
  (1 / 4 - l) / 2 < uF - l /\ uC - l < (1 / 2 - l) / 2 /\ 1 / (18 + 2 * theta) - eps < share uC uF.
Proof.
  intros Ht He. pose (e := Rmin (eps / 4) (1 / 32)).
  assert (He' : 0 < e <= 1 / 32 /\ e <= eps / 4).
  { unfold e. pose proof (Rmin_l (eps / 4) (1 / 32)). pose proof (Rmin_r (eps / 4) (1 / 32)).
    split; [split; [apply Rmin_pos; lra|auto]|auto]. }
  exists ((3 + theta) / 8 - e), ((2 + theta) / 8 + e). cbv zeta.
  assert (0 <= theta * e <= e) by (split; [apply Rmult_le_pos; lra|nra]).
  assert (theta * e <= theta * (1 / 32)) by (apply Rmult_le_compat_l; lra).
  assert ((1 - theta) * e <= (1 - theta) * (1 / 32)) by (apply Rmult_le_compat_l; lra).
  repeat split; try lra.
  rewrite (share_is ((3 + theta) / 8 - e) ((2 + theta) / 8 + e)) by lra.
  replace (1 / (18 + 2 * theta)) with (1 / 16 / (3 / 4 + (3 + theta) / 8)) by (field; lra).
  set (D := 3 / 4 + (3 + theta) / 8) in *. assert (HD : 9 / 8 <= D <= 5 / 4) by (unfold D; lra).
  replace (3 / 4 + ((3 + theta) / 8 - e)) with (D - e) by (unfold D; lra).
  apply (Rmult_lt_reg_r (D * (D - e))); [apply Rmult_lt_0_compat; lra|].
  replace ((1 / 16 / D - eps) * (D * (D - e))) with (1 / 16 * (D - e) - eps * (D * (D - e)))
    by (field; lra).
  replace (((3 + theta) / 8 - e - ((2 + theta) / 8 + e)) / 2 / (D - e) * (D * (D - e)))
    with ((1 / 16 - e) * D) by (field; lra).
  assert (1 <= D * (D - e)) by nra.
  assert (eps * 1 <= eps * (D * (D - e))) by (apply Rmult_le_compat_l; lra).
  assert (e * D <= e * (5 / 4)) by (apply Rmult_le_compat_l; lra). lra.
Qed.
