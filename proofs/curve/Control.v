(** Finite control problems with two events in each state: the linear equations of a policy can be
    solved, and so can the problem in which some of the decisions are free.

    A policy decides in boxes, not in states. [unichain]: any two closed sets of states meet. *)
From Coq Require Export Reals Lra Lia List Bool Arith Classical.
From Curve Require Import Gauss.
Open Scope R_scope.

Lemma nat_min (g : nat -> R) n : (0 < n)%nat -> exists i, (i < n)%nat /\ forall j, (j < n)%nat ->
  g i <= g j.
Proof.
  induction n as [|n IH]; intros Hn; [lia|]. destruct n.
  - exists 0%nat. split; [lia|]. intros j Hj. replace j with 0%nat by lia. lra.
  - destruct IH as (i & Hi & Hm); [lia|]. destruct (Rle_lt_dec (g i) (g (S n))).
    + exists i. split; [lia|]. intros j Hj. destruct (Nat.eq_dec j (S n)) as [->|]; auto.
      apply Hm; lia.
    + exists (S n). split; [lia|]. intros j Hj. destruct (Nat.eq_dec j (S n)) as [->|]; [lra|].
      specialize (Hm j). assert (g i <= g j) by (apply Hm; lia). lra.
Qed.

(* the data *)
Record control := {
  X : Type; B : Type;
  ok : X -> Prop; size : nat; el : nat -> X; idx : X -> nat;
  bs : list B; beq : B -> B -> bool;
  mu : X -> R; nu : X -> R; dep : X -> B; arr : X -> B; next : B -> bool -> X
}.

Record control_ok (P : control) : Prop := {
  el_ok : forall i, (i < size P)%nat -> ok P (el P i) /\ idx P (el P i) = i;
  idx_ok : forall x, ok P x -> (idx P x < size P)%nat /\ el P (idx P x) = x;
  size_pos : (0 < size P)%nat;
  beq_ok : forall a b, beq P a b = true <-> a = b;
  mu_nn : forall x, ok P x -> 0 <= mu P x;
  nu_nn : forall x, ok P x -> 0 <= nu P x;
  dep_in : forall x, ok P x -> In (dep P x) (bs P);
  arr_in : forall x, ok P x -> In (arr P x) (bs P);
  next_ok : forall b a, In b (bs P) -> ok P (next P b a)
}.

Section Control.
Variable P : control.
Hypothesis OK : control_ok P.
Notation X := (X P). Notation B := (B P). Notation ok := (ok P). Notation bs := (bs P).
Notation mu := (mu P). Notation nu := (nu P). Notation dep := (dep P). Notation arr := (arr P).
Notation next := (next P).

Definition L (s : B -> bool) (v : X -> R) (x : X) : R :=
  mu x * (v x - v (next (dep x) (s (dep x)))) + nu x * (v x - v (next (arr x) (s (arr x)))).
Definition eval (c : X -> R) (s : B -> bool) (t : R) (v : X -> R) : Prop := forall x, ok x ->
  t + L s v x = c x.
Definition greedy (s : B -> bool) (v : X -> R) : Prop := forall b, In b bs ->
  v (next b (s b)) <= v (next b (negb (s b))).
Definition closed (s : B -> bool) (A : X -> Prop) : Prop := forall x, ok x -> A x ->
  (0 < mu x -> A (next (dep x) (s (dep x)))) /\ (0 < nu x -> A (next (arr x) (s (arr x)))).
Definition unichain (s : B -> bool) : Prop := forall A A' : X -> Prop,
  (exists x, ok x /\ A x) -> (exists x, ok x /\ A' x) -> closed s A -> closed s A' ->
    exists x, ok x /\ A x /\ A' x.

Lemma argmin (h : X -> R) : exists x, ok x /\ forall y, ok y -> h x <= h y.
Proof.
  destruct (nat_min (fun i => h (el P i)) (size P) (size_pos P OK)) as (i & Hi & Hm).
  exists (el P i). split; [apply (el_ok P OK i Hi)|]. intros y Hy.
  destruct (idx_ok P OK y Hy) as [Hl He]. rewrite <- He. now apply Hm.
Qed.

(* the events in x, one after the other *)
Lemma next_dep s x : ok x -> ok (next (dep x) (s (dep x))).
Proof. intros; apply (next_ok P OK), (dep_in P OK); auto. Qed.
Lemma next_arr s x : ok x -> ok (next (arr x) (s (arr x))).
Proof. intros; apply (next_ok P OK), (arr_in P OK); auto. Qed.

Lemma L_min s h m x : (forall y, ok y -> m <= h y) -> ok x -> h x = m -> L s h x <= 0 /\
  (L s h x = 0 -> (0 < mu x -> h (next (dep x) (s (dep x))) = m) /\ (0 < nu x ->
    h (next (arr x) (s (arr x))) = m)).
Proof.
  intros Hm Hx Hxm. pose proof (Hm _ (next_dep s x Hx)) as H1.
  pose proof (Hm _ (next_arr s x Hx)) as H2.
  pose proof (mu_nn P OK x Hx). pose proof (nu_nn P OK x Hx). unfold L. rewrite Hxm.
  assert (0 <= mu x * (h (next (dep x) (s (dep x))) - m)) by (apply Rmult_le_pos; lra).
  assert (0 <= nu x * (h (next (arr x) (s (arr x))) - m)) by (apply Rmult_le_pos; lra).
  split; [lra|]. intros E. split; intros Hp.
  - assert (E' : mu x * (h (next (dep x) (s (dep x))) - m) = 0) by lra. apply Rmult_integral in E'.
    lra.
  - assert (E' : nu x * (h (next (arr x) (s (arr x))) - m) = 0) by lra. apply Rmult_integral in E'.
    lra.
Qed.

Lemma super_t s h t : (forall x, ok x -> 0 <= t + L s h x) -> 0 <= t.
Proof.
  intros H. destruct (argmin h) as (x & Hx & Hm).
  destruct (L_min s h (h x) x Hm Hx eq_refl) as [Hl _].
  specialize (H x Hx). lra.
Qed.

Lemma super_closed s h m : (forall y, ok y -> m <= h y) -> (forall x, ok x -> 0 <= L s h x) ->
  closed s (fun x => h x = m).
Proof.
  intros Hm HL x Hx Hxm. destruct (L_min s h m x Hm Hx Hxm) as [Hl He]. apply He.
  specialize (HL x Hx). lra.
Qed.

Lemma L_opp s h x : L s (fun y => - h y) x = - L s h x.
Proof. unfold L. ring. Qed.
Lemma L_minus s h h' x : L s (fun y => h y - h' y) x = L s h x - L s h' x.
Proof. unfold L. ring. Qed.
Lemma L_lin s h h' u x : L s (fun y => h y + u * h' y) x = L s h x + u * L s h' x.
Proof. unfold L. ring. Qed.

(* where least and greatest places meet, all is constant *)
Lemma constant s h : unichain s ->
  (forall m, (forall y, ok y -> m <= h y) -> closed s (fun x => h x = m)) ->
  (forall m, (forall y, ok y -> h y <= m) -> closed s (fun x => h x = m)) -> forall x y, ok x ->
    ok y -> h x = h y.
Proof.
  intros HU H1 H2 x y Hx Hy.
  destruct (argmin h) as (a & Ha & Hma). destruct (argmin (fun y => - h y)) as (b & Hb & Hmb).
  assert (Hmb' : forall y, ok y -> h y <= h b) by (intros z Hz; specialize (Hmb z Hz); lra).
  destruct (HU (fun x => h x = h a) (fun x => h x = h b)) as (z & Hz & E1 & E2); eauto.
  pose proof (Hma x Hx). pose proof (Hma y Hy). pose proof (Hmb' x Hx). pose proof (Hmb' y Hy). lra.
Qed.

Lemma kernel s t v : unichain s -> eval (fun _ => 0) s t v -> t = 0 /\ forall x y, ok x -> ok y ->
  v x = v y.
Proof.
  intros HU HE.
  assert (0 <= t) by (apply (super_t s v); intros x Hx; rewrite HE by auto; lra).
  assert (0 <= - t) by (apply (super_t s (fun y => - v y)); intros x Hx; rewrite L_opp;
    specialize (HE x Hx); lra).
  assert (t = 0) by lra. subst t. split; [auto|].
  apply (constant s); auto.
  - intros m Hm. apply super_closed; auto. intros x Hx. specialize (HE x Hx). lra.
  - intros m Hm. assert (C : closed s (fun x => - v x = - m)).
    { apply (super_closed s (fun y => - v y)); [intros y Hy; specialize (Hm y Hy); lra|].
      intros x Hx. rewrite L_opp. specialize (HE x Hx). lra. }
    intros x Hx Hxm. destruct (C x Hx) as [C1 C2]; [lra|].
    split; intros Hp; [specialize (C1 Hp)|specialize (C2 Hp)]; lra.
Qed.

Lemma eval_unique s c t v t' v' : unichain s -> eval c s t v -> eval c s t' v' ->
  forall x y, ok x -> ok y -> v x - v y = v' x - v' y.
Proof.
  intros HU H H' x y Hx Hy. destruct (kernel s (t - t') (fun y => v y - v' y) HU) as [_ K].
  - intros z Hz. rewrite L_minus. specialize (H z Hz). specialize (H' z Hz). lra.
  - specialize (K x y Hx Hy). lra.
Qed.

(* the linear equations of a policy can be solved *)
Lemma sum_four k (a b c d x : nat -> R) m m' :
  sum k (fun j => (a j + m * (b j - c j) + m' * (b j - d j)) * x j) =
  sum k (fun j => a j * x j) + m * (sum k (fun j => b j * x j) - sum k (fun j => c j * x j))
  + m' * (sum k (fun j => b j * x j) - sum k (fun j => d j * x j)).
Proof. induction k; simpl; [ring|]. rewrite IHk. ring. Qed.

Lemma poisson s : unichain s -> forall c, exists t v, eval c s t v.
Proof.
  intros HU c. pose proof (size_pos P OK) as Hpos. destruct (el_ok P OK 0%nat Hpos) as [Hok0 Hidx0].
  pose (del := fun (y : X) (j : nat) => if Nat.eqb (idx P y) 0 then 0 else if Nat.eqb j (idx P y)
    then 1 else 0).
  pose (val := fun (x : nat -> R) (y : X) => if Nat.eqb (idx P y) 0 then 0 else x (idx P y)).
  pose (A := fun i j => let x := el P i in (if Nat.eqb j 0 then 1 else 0)
     + mu x * (del x j - del (next (dep x) (s (dep x))) j) + nu x * (del x j - del (next (arr x)
         (s (arr x))) j)).
  assert (Hval : forall x y, ok y -> sum (size P) (fun j => del y j * x j) = val x y).
  { intros x y Hy. destruct (idx_ok P OK y Hy) as [Hl _]. unfold del, val.
    destruct (Nat.eqb_spec (idx P y) 0).
    - rewrite sum_0; [reflexivity|]. intros; ring.
    - now apply sum_delta. }
  assert (HA : forall x i, (i < size P)%nat -> mv (size P) A x i = x 0%nat + L s (val x) (el P i)).
  { intros x i Hi. destruct (el_ok P OK i Hi) as [He _]. unfold mv, A, L. rewrite sum_four.
    rewrite !Hval by (auto using next_dep, next_arr). rewrite (sum_delta _ 0%nat x Hpos). ring. }
  destruct (solve (size P) A) with (b := fun i => c (el P i)) as [x Hx].
  { intros x Hx. assert (HE : eval (fun _ => 0) s (x 0%nat) (val x)).
    { intros y Hy. destruct (idx_ok P OK y Hy) as [Hl He]. specialize (Hx _ Hl).
      rewrite HA in Hx by auto. now rewrite He in Hx. }
    destruct (kernel s _ _ HU HE) as [K0 K]. intros j Hj. destruct (el_ok P OK j Hj) as [Hok Hidx].
    specialize (K (el P j) (el P 0%nat) Hok Hok0). unfold val in K. rewrite Hidx, Hidx0 in K.
    simpl in K.
    revert K. destruct (Nat.eqb_spec j 0) as [e|]; intros K; [rewrite e; auto|exact K]. }
  exists (x 0%nat), (val x). intros y Hy. destruct (idx_ok P OK y Hy) as [Hl He].
  specialize (Hx _ Hl). rewrite HA in Hx by auto. now rewrite He in Hx.
Qed.

(* boxes that a set of states may lead to *)
Definition states : list X := map (el P) (seq 0 (size P)).
Lemma in_states x : ok x -> In x states.
Proof.
  intros Hx. destruct (idx_ok P OK x Hx) as [Hl He]. apply in_map_iff. exists (idx P x).
  split; [auto|]. apply in_seq. lia.
Qed.
Lemma states_ok x : In x states -> ok x.
Proof. intros H. apply in_map_iff in H as (i & <- & Hi). apply in_seq in Hi. apply (el_ok P OK).
lia. Qed.

Definition fed (h : X -> R) (m : R) (b : B) : bool :=
  existsb (fun x => (if Req_EM_T (h x) m then true else false) &&
    ((beq P (dep x) b && (if Rlt_dec 0 (mu x) then true else false)) || (beq P (arr x)
      b && (if Rlt_dec 0 (nu x) then true else false)))) states.

Lemma fed_iff h m b : fed h m b = true <-> exists x, ok x /\ h x = m /\ ((dep x = b /\
  0 < mu x) \/ (arr x = b /\ 0 < nu x)).
Proof.
  unfold fed. rewrite existsb_exists. split.
  - intros (x & Hx & E). apply states_ok in Hx. exists x. split; [auto|].
    apply andb_true_iff in E as [E1 E2]. destruct (Req_EM_T (h x) m); [|discriminate].
    split; [auto|].
    apply orb_true_iff in E2 as [E2|E2]; apply andb_true_iff in E2 as [E3 E4];
      apply (beq_ok P OK) in E3.
    + left; split; auto. destruct (Rlt_dec 0 (mu x)); [auto|discriminate].
    + right; split; auto. destruct (Rlt_dec 0 (nu x)); [auto|discriminate].
  - intros (x & Hx & E & D). exists x. split; [now apply in_states|].
    destruct (Req_EM_T (h x) m); [|contradiction]. simpl.
    destruct D as [[D1 D2]|[D1 D2]]; apply (beq_ok P OK) in D1; rewrite D1.
    + destruct (Rlt_dec 0 (mu x)); [reflexivity|contradiction].
    + destruct (Rlt_dec 0 (nu x)); [apply orb_true_r|contradiction].
Qed.

Definition upd (s : B -> bool) (z : B) (a : bool) (b : B) : bool := if beq P b z then a else s b.
Lemma upd_same s z a : upd s z a z = a.
Proof. unfold upd. destruct (beq P z z) eqn:E; [reflexivity|].
assert (beq P z z = true) by (apply (beq_ok P OK); auto). congruence. Qed.
Lemma upd_other s z a b : b <> z -> upd s z a b = s b.
Proof. intros H. unfold upd. destruct (beq P b z) eqn:E; [apply (beq_ok P OK) in E;
  contradiction|reflexivity]. Qed.

(* w0 solves with s0, w1 with s1, and a is a policy at least as good as s0 for w0 and no better than
   s1 for w1 *)
Lemma half c s0 t0 w0 s1 t1 w1 a :
  eval c s0 t0 w0 -> eval c s1 t1 w1 ->
  (forall b, In b bs -> w0 (next b (a b)) <= w0 (next b (s0 b))) ->
  (forall b, In b bs -> w1 (next b (s1 b)) <= w1 (next b (a b))) ->
  t1 <= t0 /\ (t0 = t1 -> forall m, (forall y, ok y -> m <= w0 y - w1 y) -> forall b, fed (fun y =>
    w0 y - w1 y) m b = true ->
    w0 (next b (a b)) = w0 (next b (s0 b)) /\ w1 (next b (s1 b)) = w1 (next b (a b)) /\
      w0 (next b (a b)) - w1 (next b (a b)) = m).
Proof.
  intros E0 E1 H0 H1.
  assert (HL : forall x, ok x ->
     (t0 - t1) + L a (fun y => w0 y - w1 y) x =
       mu x * (w0 (next (dep x) (s0 (dep x))) - w0 (next (dep x) (a (dep x))))
         + nu x * (w0 (next (arr x) (s0 (arr x))) - w0 (next (arr x) (a (arr x))))
     + mu x * (w1 (next (dep x) (a (dep x))) - w1 (next (dep x) (s1 (dep x))))
         + nu x * (w1 (next (arr x) (a (arr x))) - w1 (next (arr x) (s1 (arr x))))).
  { intros x Hx. specialize (E0 x Hx). specialize (E1 x Hx). rewrite L_minus. unfold L in *. lra. }
  assert (HT : forall x, ok x ->
     0 <= mu x * (w0 (next (dep x) (s0 (dep x))) - w0 (next (dep x) (a (dep x)))) /\
     0 <= nu x * (w0 (next (arr x) (s0 (arr x))) - w0 (next (arr x) (a (arr x)))) /\
     0 <= mu x * (w1 (next (dep x) (a (dep x))) - w1 (next (dep x) (s1 (dep x)))) /\
     0 <= nu x * (w1 (next (arr x) (a (arr x))) - w1 (next (arr x) (s1 (arr x))))).
  { intros x Hx. pose proof (mu_nn P OK x Hx). pose proof (nu_nn P OK x Hx).
    pose proof (H0 _ (dep_in P OK x Hx)). pose proof (H0 _ (arr_in P OK x Hx)).
    pose proof (H1 _ (dep_in P OK x Hx)). pose proof (H1 _ (arr_in P OK x Hx)).
    repeat split; apply Rmult_le_pos; lra. }
  assert (Hsup : forall x, ok x -> 0 <= (t0 - t1) + L a (fun y => w0 y - w1 y) x).
  { intros x Hx. rewrite HL by auto. destruct (HT x Hx) as (? & ? & ? & ?). lra. }
  split; [apply super_t in Hsup; lra|].
  intros Et m Hm b Hb. apply fed_iff in Hb as (x & Hx & Hxm & Hb).
  destruct (L_min a (fun y => w0 y - w1 y) m x Hm Hx Hxm) as [Hl He].
  specialize (Hsup x Hx). specialize (HL x Hx). destruct (HT x Hx) as (T1 & T2 & T3 & T4).
  assert (Z0 : L a (fun y => w0 y - w1 y) x = 0) by lra. destruct (He Z0) as [He1 He2].
  destruct Hb as [[<- Hp]|[<- Hp]].
  - specialize (He1 Hp). simpl in He1.
    assert (Z1 : mu x * (w0 (next (dep x) (s0 (dep x))) - w0 (next (dep x) (a (dep x)))) = 0)
      by lra.
    assert (Z2 : mu x * (w1 (next (dep x) (a (dep x))) - w1 (next (dep x) (s1 (dep x)))) = 0)
      by lra.
    apply Rmult_integral in Z1. apply Rmult_integral in Z2. repeat split; lra.
  - specialize (He2 Hp). simpl in He2.
    assert (Z1 : nu x * (w0 (next (arr x) (s0 (arr x))) - w0 (next (arr x) (a (arr x)))) = 0)
      by lra.
    assert (Z2 : nu x * (w1 (next (arr x) (a (arr x))) - w1 (next (arr x) (s1 (arr x)))) = 0)
      by lra.
    apply Rmult_integral in Z1. apply Rmult_integral in Z2. repeat split; lra.
Qed.

Lemma fed_dep h m x : ok x -> h x = m -> 0 < mu x -> fed h m (dep x) = true.
Proof. intros. apply fed_iff. exists x. auto. Qed.
Lemma fed_arr h m x : ok x -> h x = m -> 0 < nu x -> fed h m (arr x) = true.
Proof. intros. apply fed_iff. exists x. auto. Qed.

(* the optimum where the decision is free in the boxes zs *)
Lemma restricted c : forall zs s0, incl zs bs -> (forall s, (forall b, ~ In b zs -> s b = s0 b) ->
  unichain s) ->
  exists t w s, (forall b, ~ In b zs -> s b = s0 b) /\ eval c s t w /\ forall b, In b zs ->
    w (next b (s b)) <= w (next b (negb (s b))).
Proof.
  induction zs as [|z zs IH]; intros s0 Hin HU.
  { destruct (poisson s0) with (c := c) as (t & w & E); [apply HU; auto|]. exists t, w, s0.
    repeat split; auto. intros b []. }
  assert (Hzb : In z bs) by (apply Hin; now left).
  assert (Hin' : incl zs bs) by (intros b Hb; apply Hin; now right).
  destruct (classic (In z zs)) as [Hz|Hz].
  { destruct (IH s0 Hin') as (t & w & s & H1 & H2 & H3).
    - intros s Hs. apply HU. intros b Hb. apply Hs. intros Hb'. apply Hb. now right.
    - exists t, w, s. repeat split; auto.
      + intros b Hb. apply H1. intros Hb'. apply Hb. now right.
      + intros b [<-|Hb]; auto. }
  assert (HI : forall a, exists t w s, (forall b, ~ In b (z :: zs) -> s b = s0 b) /\ s z = a /\
    eval c s t w /\ forall b, In b zs -> w (next b (s b)) <= w (next b (negb (s b)))).
  { intros a. destruct (IH (upd s0 z a) Hin') as (t & w & s & H1 & H2 & H3).
    - intros s Hs. apply HU. intros b Hb. rewrite Hs by (intros Hb'; apply Hb; now right).
      apply upd_other. intros ->. apply Hb. now left.
    - exists t, w, s. repeat split; auto.
      + intros b Hb. rewrite H1 by (intros Hb'; apply Hb; now right). apply upd_other. intros ->.
        apply Hb. now left.
      + rewrite H1 by auto. apply upd_same. }
  destruct (HI false) as (t0 & w0 & s1 & A0 & Z0 & E0 & G0).
  destruct (HI true) as (t1 & w1 & s2 & A1 & Z1 & E1 & G1).
  destruct (Rle_lt_dec (w0 (next z false)) (w0 (next z true))) as [D0|D0].
  { exists t0, w0, s1. repeat split; auto. intros b [<-|Hb]; auto. rewrite Z0. exact D0. }
  destruct (Rle_lt_dec (w1 (next z true)) (w1 (next z false))) as [D1|D1].
  { exists t1, w1, s2. repeat split; auto. intros b [<-|Hb]; auto. rewrite Z1. exact D1. }
  exfalso.
  (* both would rather change: impossible *)
  assert (Hcmp : forall (s s' : B -> bool) (w : X -> R) b, (forall b, In b zs ->
    w (next b (s b)) <= w (next b (negb (s b)))) ->
     In b zs -> w (next b (s b)) <= w (next b (s' b))).
  { intros s s' w b Hg Hb. specialize (Hg b Hb). destruct (s b), (s' b); simpl in *; lra. }
  assert (Hout : forall b, b <> z -> ~ In b zs -> s1 b = s2 b).
  { intros b Hb1 Hb2. rewrite A0, A1; auto; intros [?|?]; auto. }
  assert (F00 : forall b, In b bs -> w0 (next b (upd s1 z true b)) <= w0 (next b (s1 b))).
  { intros b _. destruct (classic (b = z)) as [->|]; [rewrite upd_same, Z0;
      lra|rewrite upd_other by auto; lra]. }
  assert (F01 : forall b, In b bs -> w1 (next b (s2 b)) <= w1 (next b (upd s1 z true b))).
  { intros b _. destruct (classic (b = z)) as [->|]; [rewrite upd_same, Z1;
      lra|rewrite upd_other by auto].
    destruct (classic (In b zs)); [apply Hcmp; auto|]. rewrite Hout by auto. lra. }
  assert (F11 : forall b, In b bs -> w1 (next b (upd s2 z false b)) <= w1 (next b (s2 b))).
  { intros b _. destruct (classic (b = z)) as [->|]; [rewrite upd_same, Z1;
      lra|rewrite upd_other by auto; lra]. }
  assert (F10 : forall b, In b bs -> w0 (next b (s1 b)) <= w0 (next b (upd s2 z false b))).
  { intros b _. destruct (classic (b = z)) as [->|]; [rewrite upd_same, Z0;
      lra|rewrite upd_other by auto].
    destruct (classic (In b zs)); [apply Hcmp; auto|]. rewrite Hout by auto. lra. }
  destruct (half c s1 t0 w0 s2 t1 w1 _ E0 E1 F00 F01) as [T1 H01].
  destruct (half c s2 t1 w1 s1 t0 w0 _ E1 E0 F11 F10) as [T2 H10].
  assert (ET : t0 = t1) by lra. specialize (H01 ET). specialize (H10 (eq_sym ET)).
  destruct (argmin (fun y => w0 y - w1 y)) as (p & Hp & Hmp).
  destruct (argmin (fun y => w1 y - w0 y)) as (p' & Hp' & Hmp').
  pose (m := w0 p - w1 p). pose (m' := w1 p' - w0 p').
  specialize (H01 m Hmp). specialize (H10 m' Hmp').
  assert (N01 : forall b, fed (fun y => w0 y - w1 y) m b = true -> b <> z /\
    w1 (next b (s2 b)) = w1 (next b (s1 b)) /\ w0 (next b (s1 b)) - w1 (next b (s1 b)) = m).
  { intros b Hb. destruct (H01 b Hb) as (Q1 & Q2 & Q3). destruct (classic (b = z)) as [->|Hne].
    - rewrite upd_same, Z0 in Q1. lra.
    - rewrite upd_other in * by auto. auto. }
  assert (N10 : forall b, fed (fun y => w1 y - w0 y) m' b = true -> b <> z /\
    w0 (next b (s1 b)) = w0 (next b (s2 b)) /\ w1 (next b (s2 b)) - w0 (next b (s2 b)) = m').
  { intros b Hb. destruct (H10 b Hb) as (Q1 & Q2 & Q3). destruct (classic (b = z)) as [->|Hne].
    - rewrite upd_same, Z1 in Q1. lra.
    - rewrite upd_other in * by auto. auto. }
  pose (s := fun b => if fed (fun y => w0 y - w1 y) m b then s1 b else s2 b).
  assert (HUs : unichain s).
  { apply HU. intros b Hb. unfold s. destruct (fed _ m b); auto. }
  assert (C1 : closed s (fun x => w0 x - w1 x = m)).
  { assert (C : forall b, fed (fun y => w0 y - w1 y) m b = true ->
      w0 (next b (s b)) - w1 (next b (s b)) = m).
    { intros b Hb. unfold s. rewrite Hb. apply N01; auto. }
    intros x Hx Hxm. split; intros Hq; apply C; [apply fed_dep|apply fed_arr]; auto. }
  assert (C2 : closed s (fun x => w1 x - w0 x = m')).
  { assert (C : forall b, fed (fun y => w1 y - w0 y) m' b = true ->
      w1 (next b (s b)) - w0 (next b (s b)) = m').
    { intros b Hb. unfold s. destruct (N10 b Hb) as (Q1 & Q2 & Q3).
      destruct (fed (fun y => w0 y - w1 y) m b) eqn:E; [|auto].
      destruct (N01 b E) as (Q4 & Q5 & Q6). rewrite Q2, <- Q5. exact Q3. }
    intros x Hx Hxm. split; intros Hq; apply C; [apply fed_dep|apply fed_arr]; auto. }
  destruct (HUs _ _ (ex_intro _ p (conj Hp eq_refl)) (ex_intro _ p' (conj Hp' eq_refl)) C1 C2)
    as (y & Hy & Y1 & Y2).
  pose proof (next_ok P OK z true Hzb) as On1. pose proof (next_ok P OK z false Hzb) as On0.
  pose proof (Hmp _ On1) as M1. pose proof (Hmp _ On0) as M2. pose proof (Hmp' _ On1) as M3.
  pose proof (Hmp' _ On0) as M4.
  fold m in M1, M2. fold m' in M3, M4. lra.
Qed.
End Control.
