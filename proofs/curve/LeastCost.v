(** [curve-large] and [curve-first], the statements on cost: when the saturated and the lossless
   policy
    have the least cost.

    A policy's mean cost over n ticks is n times its cost a tick, up to a constant ([policy_cost]).
    A
    policy with the least cost is greedy in the boxes that follow its recurrent states
    ([greedy_on_class]). *)
From Curve Require Import Grid Control Unique Weights Saturated Level Statement Robots Optimal
  SwitchingCurve Large First.
Local Arguments nxt : simpl never.

(* a stationary policy, and whether it costs no more than theta per unit of time in the long run *)
Definition stationary (s : Z -> Z -> bool) : strategy := fun _ q r => ind (s q r).
Definition least (N K : Z) (lambda mu gamma theta : R) (s : Z -> Z -> bool) : Prop :=
  exists M, forall n past q r, state N K q r ->
    mean_cost N K lambda mu gamma (stationary s) n past q r
    <= INR n * (theta / rate N lambda mu) + M.

Lemma INR_above x : exists n, x < INR n.
Proof.
  exists (Z.to_nat (up x)). destruct (archimed x) as [H _]. rewrite INR_IZR_INZ.
  apply Rlt_le_trans with (IZR (up x)); [lra|]. apply IZR_le. lia.
Qed.

Section Policy.
Variables (N K : Z) (lambda mu gamma : R).
Hypothesis HN : (1 <= N)%Z.
Hypothesis HK : (1 <= K)%Z.
Hypothesis Hl : 0 < lambda.
Hypothesis Hm : 0 < mu.
Notation rate := (rate N lambda mu).
Notation mean_cost := (mean_cost N K lambda mu gamma).
Variables (s : Z -> Z -> bool) (t : R) (v : Z -> Z -> R).
Let p (q r : Z) : R := ind (s q r).
(* t and v are cost and values of the policy *)
Hypothesis values : forall q r, state N K q r ->
  t + (mu * ind (0 <? q)%Z + lambda * IZR r) * v q r
  = gamma * ind (q =? 0)%Z + lambda * IZR r * ind (q =? K)%Z
    + mu * ind (0 <? q)%Z * Pbox N p v (q - 1) r
    + lambda * IZR r * Pbox N p v (Z.min (q + 1) K) (r - 1).

Lemma p_01 q r : 0 <= p q r <= 1.
Proof. unfold p, ind. destruct (s q r); lra. Qed.

Lemma policy_cost : exists M, forall n past q r, state N K q r ->
  - M <= mean_cost (stationary s) n past q r - INR n * (t / rate) <= M.
Proof.
  destruct (bounded N K HN HK v) as [b Hb]. exists (2 * b).
  pose proof (rate_pos N lambda mu HN Hl Hm) as Hp.
  enough (HE : forall n past q r, state N K q r ->
    INR n * (t / rate) - b + v q r <= mean_cost (stationary s) n past q r
      <= INR n * (t / rate) + b + v q r).
  { intros n past q r Hs. specialize (HE n past q r Hs). specialize (Hb q r Hs). lra. }
  induction n as [|n IH]; intros past q r Hs.
  - simpl. specialize (Hb q r Hs). lra.
  - rewrite S_INR. cbn [Statement.mean_cost].
    set (now := (q, r) :: past). set (J := mean_cost (stationary s) n now).
    change (stationary s now) with p.
    destruct (event_weights N K lambda mu Hl Hm q r Hs) as (W1 & W2 & W3).
    pose proof (values q r Hs) as HV.
    assert (B : forall x y, (0 <= x <= K)%Z -> (0 <= y <= N)%Z ->
      INR n * (t / rate) - b + Pbox N p v x y <= Pbox N p J x y
        <= INR n * (t / rate) + b + Pbox N p v x y).
    { intros x y Hx Hy. rewrite <- !Pbox_shift.
      split; apply (Pbox_le N K HN); auto using p_01; intros; apply IH; auto. }
    assert (T1 : mu * ind (0 <? q)%Z * (INR n * (t / rate) - b + Pbox N p v (q - 1) r)
        <= mu * ind (0 <? q)%Z * Pbox N p J (q - 1) r
        <= mu * ind (0 <? q)%Z * (INR n * (t / rate) + b + Pbox N p v (q - 1) r)).
    { destruct (Z.ltb_spec 0 q); [|unfold ind; lra]. destruct Hs as (Hq & Hr & _).
      destruct (B (q - 1)%Z r) as [B1 B2]; [lia|lia|].
      split; apply Rmult_le_compat_l; auto. }
    assert (T2 : lambda * IZR r * (INR n * (t / rate) - b + Pbox N p v (Z.min (q + 1) K) (r - 1))
        <= lambda * IZR r * Pbox N p J (Z.min (q + 1) K) (r - 1)
        <= lambda * IZR r * (INR n * (t / rate) + b + Pbox N p v (Z.min (q + 1) K) (r - 1))).
    { destruct Hs as (Hq & Hr & _). destruct (Z.eq_dec r 0) as [->|]; [lra|].
      destruct (B (Z.min (q + 1) K) (r - 1)%Z) as [B1 B2]; [lia|lia|].
      split; apply Rmult_le_compat_l; auto. }
    pose proof (IH now q r Hs) as [I1 I2]. fold J in I1, I2.
    assert (T3 : (rate - mu * ind (0 <? q)%Z - lambda * IZR r) * (INR n * (t / rate) - b + v q r)
        <= (rate - mu * ind (0 <? q)%Z - lambda * IZR r) * J q r
        <= (rate - mu * ind (0 <? q)%Z - lambda * IZR r) * (INR n * (t / rate) + b + v q r)).
    { split; apply Rmult_le_compat_l; auto. }
    assert (D1 : forall y z, y * rate <= z -> y <= z / rate).
    { intros y z H. apply (Rmult_le_reg_r rate); [auto|]. unfold Rdiv.
      rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. exact H. }
    assert (D2 : forall y z, z <= y * rate -> z / rate <= y).
    { intros y z H. apply (Rmult_le_reg_r rate); [auto|]. unfold Rdiv.
      rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. exact H. }
    split; [apply D1|apply D2].
    + replace (((INR n + 1) * (t / rate) - b + v q r) * rate)
        with ((INR n * (t / rate) - b + v q r) * rate + t) by (field; lra). lra.
    + replace (((INR n + 1) * (t / rate) + b + v q r) * rate)
        with ((INR n * (t / rate) + b + v q r) * rate + t) by (field; lra). lra.
Qed.

(* it has the least cost exactly if it costs no more than theta *)
Lemma least_iff theta : least N K lambda mu gamma theta s <-> t <= theta.
Proof.
  destruct policy_cost as [M HM]. pose proof (rate_pos N lambda mu HN Hl Hm) as Hp. split.
  - intros [M' HM']. apply Rnot_lt_le. intros Hlt.
    destruct (INR_above ((M + M') * rate / (t - theta))) as [n Hn].
    assert (Hs : state N K 1 0) by (unfold state; lia).
    specialize (HM n nil 1%Z 0%Z Hs). specialize (HM' n nil 1%Z 0%Z Hs).
    assert (H : INR n * (t / rate) <= INR n * (theta / rate) + (M + M')) by lra.
    apply (Rmult_le_compat_r rate) in H; [|lra].
    replace (INR n * (t / rate) * rate) with (INR n * t) in H by (field; lra).
    replace ((INR n * (theta / rate) + (M + M')) * rate)
      with (INR n * theta + (M + M') * rate) in H by (field; lra).
    apply (Rmult_lt_compat_r (t - theta)) in Hn; [|lra].
    replace ((M + M') * rate / (t - theta) * (t - theta)) with ((M + M') * rate) in Hn
      by (field; lra). lra.
  - intros Hle. exists M. intros n past q r Hs. specialize (HM n past q r Hs).
    assert (INR n * (t / rate) <= INR n * (theta / rate)); [|lra].
    apply Rmult_le_compat_l; [apply pos_INR|]. apply Rmult_le_compat_r; [|auto].
    apply Rlt_le, Rinv_0_lt_compat; auto.
Qed.
End Policy.

(* a policy that costs theta is greedy in the box that an arrival leads to from a recurrent state *)
Lemma greedy_on_class P (OK : control_ok P) c s t v s1 v1 x :
  eval P c s t v -> eval P c s1 t v1 -> greedy P s1 v1 -> ok P x ->
  (forall A : X P -> Prop, (exists y, ok P y /\ A y) -> closed P s A -> A x) -> 0 < nu P x ->
  let b := arr P x in
  v1 (next P b (s b)) <= v1 (next P b (negb (s b))) /\
  v (next P b (s b)) - v1 (next P b (s b)) <= v (next P b (negb (s b)))
    - v1 (next P b (negb (s b))).
Proof.
  intros E E1 G1 Hx HA Hn b.
  destruct (argmin P OK (fun y => v y - v1 y)) as (z & Hz & Hm). set (m := v z - v1 z) in *.
  destruct (half P OK c s t v s1 t v1 s E E1) as [_ H].
  { intros; lra. } { intros b' Hb'. now apply greedy_le. }
  specialize (H eq_refl m Hm).
  assert (Hxm : v x - v1 x = m).
  { apply (HA (fun y => v y - v1 y = m)); [exists z; auto|]. intros y Hy Hym.
    split; intros Hp; apply H; [apply (fed_dep P OK)|apply (fed_arr P OK)]; auto. }
  assert (F : fed P (fun y => v y - v1 y) m b = true) by (apply (fed_arr P OK); auto).
  destruct (H b F) as (_ & Q & Q'). split.
  - rewrite <- Q. apply (greedy_le P s1 v1 (fun b => negb (s b))); auto. apply (arr_in P OK); auto.
  - rewrite Q'. apply Hm. apply (next_ok P OK), (arr_in P OK); auto.
Qed.

Section Ends.
Variables (N K : Z) (lambda mu gamma theta : R) (V : Z -> Z -> R).
Hypothesis HN : (2 <= N)%Z.
Hypothesis HK : (1 <= K)%Z.
Hypothesis Hl : 0 < lambda.
Hypothesis Hm : 0 < mu.
Hypothesis Hg : 0 < gamma.
Hypothesis HV : solves N K lambda mu gamma theta V.
Let l := lambda / mu.
Let g := gamma / mu.
Let HN1 : (1 <= N)%Z. Proof. lia. Qed.
Let Hl' : 0 < l. Proof. apply Rdiv_lt_0_compat; auto. Qed.
Let Hg' : 0 < g. Proof. apply Rdiv_lt_0_compat; auto. Qed.
Notation ctl := (ctl N K l).
Notation gcost := (cost ctl (c0 K l) c1 g).
Let OK : control_ok ctl. Proof. apply ctl_ok; auto. Qed.

Lemma HV1 : solves N K l 1 g (theta / mu) V.
Proof. exact (proj1 (scale N K lambda mu gamma theta V Hm) HV). Qed.

(* the values of a policy, in any unit of time *)
Lemma least_here (s : Z * Z -> bool) t v : eval ctl gcost s t v ->
  (least N K lambda mu gamma theta (fun q r => s (q, r)) <-> t <= theta / mu).
Proof.
  intros E. rewrite (least_iff N K lambda mu gamma HN1 HK Hl Hm (fun q r =>
    s (q, r)) (t * mu) (cur v)).
  - split; intros H.
    + apply (Rmult_le_reg_r mu); [auto|]. replace (theta / mu * mu) with theta by (field; lra).
      auto.
    + apply (Rmult_le_compat_r mu) in H; [|lra].
      replace (theta / mu * mu) with theta in H by (field; lra). auto.
  - intros q r Hs.
    assert (HB : forall a b, (0 <= a <= K)%Z -> (0 <= b <= N)%Z ->
      v (nxt N (a, b) (s (a, b))) = Pbox N (fun q r => ind (s (q, r))) (cur v) a b).
    { intros a b _ _. unfold nxt, Pbox, cur, ind. destruct (b =? N)%Z; [reflexivity|].
      destruct ((a =? 0) && (b =? 0))%Z%bool; [reflexivity|]. destruct (s (a, b)); ring. }
    pose proof (proj1 (eval_iff N K l HN1 HK s v g t _ HB q r Hs)) as H.
    assert (Hok : ok ctl (q, r)) by (destruct Hs as (? & ? & ?); simpl; lia).
    specialize (H (E (q, r) Hok)). unfold l, g in H. unfold cur at 1.
    apply (Rmult_eq_compat_l mu) in H.
    replace (mu * (t + (1 * ind (0 <? q)%Z + lambda / mu * IZR r) * v (q, r)))
      with (t * mu + (mu * ind (0 <? q)%Z + lambda * IZR r) * v (q, r)) in H by (field; lra).
    rewrite H. field. lra.
Qed.

(* the solution as one of the control problem *)
Lemma solution_here : exists s1, eval ctl gcost s1 (theta / mu) (ext V g (theta / mu)) /\
  greedy ctl s1 (ext V g (theta / mu)).
Proof. apply solves_eval; auto. apply HV1. Qed.

Lemma d_here q r : box N K q r -> d (cur (ext V g (theta / mu))) q r = d V q r.
Proof.
  intros (Hq & Hr & Hqr). unfold d, cur. rewrite !(ext_state N K) by (unfold state; lia).
  reflexivity.
Qed.

(* a policy that costs no more than theta costs theta *)
Lemma costs_theta s t v : eval ctl gcost s t v -> t <= theta / mu -> t = theta / mu.
Proof.
  intros E Hle. destruct solution_here as (s1 & E1 & G1).
  pose proof (least_cost ctl OK gcost (theta / mu) _ s1 t v s E1 G1 E). lra.
Qed.

(* a policy that is greedy for its own values has the least cost *)
Lemma greedy_policy_costs_theta s t v : eval ctl gcost s t v -> greedy ctl s v -> t <= theta / mu.
Proof.
  intros E Gr. pose proof (shaped_solves N K l HN1 HK s v g t E Gr) as Sol.
  destruct (theorem_mu_1 N K l HN1 HK Hl' g Hg') as [_ T].
  destruct (T _ _ HV1) as (Hu & _). destruct (Hu _ _ Sol) as [-> _]. lra.
Qed.

Definition saturated (q r : Z) : bool := ((q <? K) || (r <? N - 1))%Z%bool.

(* [curve-large]: the saturated policy has the least cost exactly for these weights *)
Theorem saturated_least_cost :
  let load := lambda * IZR N / mu in
  let sum := geom load (Z.to_nat K) in
  least N K lambda mu gamma theta saturated <->
  ((if (K =? 1)%Z then 0 else mu) + 2 * lambda * IZR (N - 1)) * sum
    - lambda * IZR (N - 1) * load ^ Z.to_nat K <= gamma.
Proof.
  intros load sum. pose proof (sS_good N K HK) as HS.
  pose proof (one_class N K l HN1 HK Hl' (sS N K) HS) as HU.
  destruct (poisson ctl OK (sS N K) HU gcost) as (t & v & E).
  pose proof (sat_bound N K lambda mu gamma HN HK Hl Hm t v E) as HB. cbv zeta in HB.
  fold l load in HB. fold sum in HB. rewrite <- HB.
  rewrite <- (sat_iff N K l HN HK Hl' g t v Hg' E).
  change saturated with (fun q r => sS N K (q, r)). rewrite (least_here (sS N K) t v E). split.
  - intros Hle. pose proof (costs_theta _ t v E Hle) as Et. subst t.
    destruct solution_here as (s1 & E1 & G1).
    apply (sat_iff N K l HN HK Hl' g _ v Hg' E).
    (* (K, N - 1) is recurrent *)
    destruct HS as (f & Hf & Hs).
    destruct (class_top N K l HN1 HK Hl' (sS N K) f Hf Hs) as (R & HR & HfR & Hbelow & HC).
    assert (HRN : R = (N - 1)%Z).
    { destruct Hf as (Fr & FN & Fm & Fl).
      assert (Hrow : forall r, (0 <= r < N)%Z -> ((K <= f r)%Z <-> (r < N - 1)%Z)).
      { intros r Hr. rewrite <- Hs by (unfold box; lia). rewrite sS_on by lia. lia. }
      destruct (Z.lt_trichotomy R (N - 1)) as [H|[H|H]]; [|exact H|].
      - apply Hrow in H; lia.
      - assert (E' : f (N - 1)%Z = K) by (apply Hbelow; lia). destruct (Hrow (N - 1)%Z); lia. }
    subst R.
    destruct (greedy_on_class ctl OK gcost (sS N K) _ v s1 _ (K, (N - 1)%Z) E E1 G1) as [H1 H2].
    + simpl. lia.
    + exact HC.
    + simpl. apply lamz_pos; auto. lia.
    + cbn [arr next Robots.ctl fst snd] in H1, H2.
      replace (Z.min (K + 1) K) with K in * by lia.
      replace (Z.max (N - 1 - 1) 0) with (N - 2)%Z in * by lia.
      assert (On : sS N K (K, (N - 2)%Z) = true) by (apply sS_on; lia). rewrite On in H1, H2.
      simpl negb in *.
      rewrite !(next_box N K) in H1, H2 by (unfold box; lia).
      pose proof (sat_d N K l HN HK g _ v E) as D. unfold d, cur in D.
      pose proof (one_nn K) as Hone. assert (HlN : 0 < l * IZR (N - 1)) by (apply lr; auto; lia).
      apply Rnot_lt_le. intros Hlt.
      assert (0 < l * (one K + 2 * l * IZR (N - 1) - theta / mu)) by (apply Rmult_lt_0_compat; lra).
      assert ((one K + l * IZR (N - 1)) * (v (K, (N - 2 + 1)%Z) - v (K, (N - 2)%Z)) <= 0); [|lra].
      assert (v (K, (N - 2 + 1)%Z) - v (K, (N - 2)%Z) <= 0) by lra. nra.
  - intros Gr. apply (greedy_policy_costs_theta (sS N K) t v); auto.
Qed.
(* the lossless policy *)
Definition lossless (q r : Z) : bool := (q + r <? K)%Z.
Notation s0 := (s0 K).

Lemma s0_true q r : s0 (q, r) = true <-> (q + r < K)%Z.
Proof. unfold Small.s0. simpl. apply Z.ltb_lt. Qed.
Lemma s0_false q r : (K <= q + r)%Z -> s0 (q, r) = false.
Proof. intros H. destruct (s0 (q, r)) eqn:E; [apply s0_true in E; lia|reflexivity]. Qed.

(* its recurrent class contains the states with q + r = K and few robots *)
Lemma lossless_class (A : Z * Z -> Prop) : (exists x, ok ctl x /\ A x) -> closed ctl s0 A ->
  forall j, (0 <= j <= Z.min K N)%Z -> A ((K - j)%Z, j).
Proof.
  intros HA HC. destruct (s0_good N K HK) as (f & Hf & Hs).
  destruct (class_top N K l HN1 HK Hl' s0 f Hf Hs) as (R & HR & HfR & Hbelow & Htop).
  assert (R0 : R = 0%Z).
  { destruct (Z.eq_dec R 0); [auto|]. assert (E : f 0%Z = K) by (apply Hbelow; lia).
    assert (B : box N K K 0) by (unfold box; lia). apply Hs in B. rewrite s0_false in B by lia.
    destruct B as [_ B]. discriminate B. lia. }
  subst R. apply (z_up (fun j => A ((K - j)%Z, j))). intros j Hj IH.
  destruct (Z.eq_dec j 0) as [->|].
  { replace (K - 0)%Z with K by lia. apply Htop; auto. }
  specialize (IH (j - 1)%Z ltac:(lia)).
  destruct (HC ((K - (j - 1))%Z, (j - 1)%Z)) as [H _]; [simpl; lia|exact IH|].
  cbn [Control.mu dep next Robots.ctl fst snd] in H.
  destruct (Z.eqb_spec (K - (j - 1)) 0); [lia|]. cbn [andb] in H. specialize (H ltac:(lra)).
  replace (Z.max (K - (j - 1) - 1) 0) with (K - j)%Z in H by lia.
  destruct (Z.eq_dec (K - j + (j - 1)) 0).
  - assert (E1 : (K - j = 0)%Z) by lia. assert (E2 : (j - 1 = 0)%Z) by lia.
    rewrite E1, E2 in H. rewrite (next_00 N HN1) in H. rewrite E1.
    replace j with 1%Z by lia. exact H.
  - rewrite (next_box N K) in H by (unfold box; lia).
    assert (T : s0 ((K - j)%Z, (j - 1)%Z) = true) by (apply s0_true; lia). rewrite T in H.
    replace (j - 1 + 1)%Z with j in H by lia. exact H.
Qed.

(* [curve-first], K >= N: the lossless policy has the least cost exactly for these weights *)
Theorem lossless_least_cost : (N <= K)%Z ->
  least N K lambda mu gamma theta lossless <->
  0 <= delta l N K (gamma / mu / weights_to N K l (Z.to_nat K)).
Proof.
  intros HNK. pose proof (one_class N K l HN1 HK Hl' s0 (s0_good N K HK)) as HU.
  destruct (poisson ctl OK s0 HU gcost) as (t & v & E).
  pose proof (loss_cost N K l HN HK g t v E) as Ct.
  pose proof (weights_pos N K l (Z.to_nat K) HN1 Hl' ltac:(lia)) as HG. unfold S0inv in Ct.
  assert (Et : gamma / mu / weights_to N K l (Z.to_nat K) = t)
    by (fold g; rewrite <- Ct; field; lra). rewrite Et.
  change lossless with (fun q r => s0 (q, r)). rewrite (least_here s0 t v E). split.
  - intros Hle. pose proof (costs_theta _ t v E Hle) as Ht. rewrite Ht in *. clear Et Ct Hle.
    destruct solution_here as (s1 & E1 & G1).
    destruct (greedy_on_class ctl OK gcost s0 _ v s1 _ ((K - N)%Z, N) E E1 G1) as [H1 H2].
    + simpl. lia.
    + intros A HA HC. apply (lossless_class A HA HC). lia.
    + simpl. apply lamz_pos; auto.
    + cbn [arr next Robots.ctl fst snd] in H1, H2.
      replace (Z.min (K - N + 1) K) with (K - (N - 1))%Z in * by lia.
      replace (Z.max (N - 1) 0) with (N - 1)%Z in * by lia.
      rewrite s0_false in H1, H2 by lia. simpl negb in *.
      rewrite !(next_box N K) in H1, H2 by (unfold box; lia).
      rewrite <- (loss_d N K l HN HK Hl' g _ v E).
      replace (Z.min K (N - 1)) with (N - 1)%Z by lia. unfold d, cur. lra.
  - intros Hd. apply (greedy_policy_costs_theta s0 t v E).
    apply (loss_iff N K l HN HK Hl' g t v Hg' E). exact Hd.
Qed.

(* [curve-first], K < N: it has the least cost exactly if d (1, K - 1) >= 0 *)
Theorem lossless_least_cost_few_places : (K < N)%Z ->
  least N K lambda mu gamma theta lossless <-> 0 <= d V 1 (K - 1).
Proof.
  intros HKN. pose proof (one_class N K l HN1 HK Hl' s0 (s0_good N K HK)) as HU.
  destruct (poisson ctl OK s0 HU gcost) as (t & v & E).
  destruct solution_here as (s1 & E1 & G1).
  set (v1 := ext V g (theta / mu)) in *. pose proof d_here as Hd1. fold v1 in Hd1.
  change lossless with (fun q r => s0 (q, r)). rewrite (least_here s0 t v E). split.
  - intros Hle. pose proof (costs_theta _ t v E Hle) as Ht. subst t.
    destruct (greedy_on_class ctl OK gcost s0 _ v s1 _ (0%Z, K) E E1 G1) as [H1 _].
    + simpl. lia.
    + intros A HA HC. replace 0%Z with (K - K)%Z by lia. apply (lossless_class A HA HC). lia.
    + simpl. apply lamz_pos; auto.
    + cbn [arr next Robots.ctl fst snd] in H1. replace (Z.min (0 + 1) K) with 1%Z in H1 by lia.
      replace (Z.max (K - 1) 0) with (K - 1)%Z in H1 by lia.
      rewrite s0_false in H1 by lia. simpl negb in H1.
      rewrite !(next_box N K) in H1 by (unfold box; lia).
      rewrite <- Hd1 by (unfold box; lia). unfold d, cur. lra.
  - intros Hd.
    destruct (theorem_mu_1 N K l HN1 HK Hl' g Hg') as [_ T].
    destruct (T _ _ HV1) as (_ & _ & O & f & [Hf1 Hf2] & Hf).
    (* no box with q + r = K and q >= 1 gains by a robot, as the curve falls by 0 or 1 *)
    assert (Hoff : forall q, (1 <= q <= K)%Z -> 0 <= d V q (K - q)).
    { intros q Hq. apply Rnot_lt_le. intros Hlt. apply Hf in Hlt; [|unfold box; lia].
      assert (HJ : forall j, (0 <= j <= q - 1)%Z -> (f (K - q)%Z - j <= f (K - q + j)%Z)%Z).
      { apply z_up. intros j Hj IH. destruct (Z.eq_dec j 0) as [->|].
        - replace (K - q + 0)%Z with (K - q)%Z by lia. lia.
        - specialize (IH (j - 1)%Z ltac:(lia)).
          pose proof (Hf2 (K - q + (j - 1))%Z ltac:(lia)) as H.
          replace (K - q + (j - 1) + 1)%Z with (K - q + j)%Z in H by lia. lia. }
      specialize (HJ (q - 1)%Z ltac:(lia)). replace (K - q + (q - 1))%Z with (K - 1)%Z in HJ by lia.
      assert (d V 1 (K - 1) < 0); [|lra]. apply Hf; [unfold box; lia|lia]. }
    assert (Hon : forall q r, box N K q r -> (q + r = K - 1)%Z -> d V q r < 0)
      by (intros q r Hb Hqr; apply O; auto; lia).
    (* so the values of the solution satisfy the equations of the lossless policy in its class *)
    assert (HB : forall q r, (0 <= q <= K)%Z -> (0 <= r < N)%Z ->
      (q + r = K - 1 \/ q + r = K /\ 1 <= q)%Z ->
      v1 (nxt N (q, r) (s0 (q, r))) = v1 (nxt N (q, r) (s1 (q, r)))).
    { intros q r Hq Hr Hqr. assert (Hin : In (q, r) (bs ctl)) by (apply in_bs; auto; lia).
      pose proof (G1 (q, r) Hin) as Gq. cbn [next Robots.ctl] in Gq.
      destruct (Z.eq_dec (q + r) 0).
      { replace q with 0%Z by lia. replace r with 0%Z by lia. rewrite !(next_00 N HN1). reflexivity.
        }
      assert (Hb : box N K q r) by (unfold box; lia).
      rewrite !(next_box N K) in * by auto. pose proof (Hd1 q r Hb) as Hdq. unfold d, cur in Hdq.
      destruct Hqr as [Hqr|[Hqr Hq1]].
      - assert (Ts : s0 (q, r) = true) by (apply s0_true; lia). rewrite Ts.
        pose proof (Hon q r Hb Hqr) as Hlt. unfold d in Hlt.
        destruct (s1 (q, r)); simpl in Gq; [reflexivity|lra].
      - rewrite s0_false by lia. pose proof (Hoff q ltac:(lia)) as Hge.
        replace (K - q)%Z with r in Hge by lia. unfold d in Hge.
        destruct (s1 (q, r)); simpl in Gq; [lra|reflexivity]. }
    destruct (grid_max (fun q r => (q + r = K)%Z) (fun q r => v (q, r) - v1 (q, r)) (fun q _ => q)
      0 K 0 N) as (q & r & Hq & Hr & Hqr & Hmax).
    { intros; lia. } { exists K, 0%Z. lia. }
    assert (Hle : forall a b, (0 <= a)%Z -> (0 <= b)%Z -> (a + b = K)%Z ->
      v (a, b) - v1 (a, b) <= v (q, r) - v1 (q, r)).
    { intros a b Ha Hb Hab. destruct (Hmax a b) as [?|[? _]]; try lia; lra. }
    assert (Hok : ok ctl (q, r)) by (simpl; lia).
    pose proof (E (q, r) Hok) as Ev. pose proof (E1 (q, r) Hok) as Ev1.
    unfold L in Ev, Ev1. cbn [Control.mu nu dep arr next Robots.ctl fst snd] in Ev, Ev1.
    assert (Hdep : (1 <= q)%Z -> nxt N ((q - 1)%Z, r) (s0 ((q - 1)%Z, r)) = ((q - 1)%Z, (r + 1)%Z)).
    { intros Hq1. destruct (Z.eq_dec (q - 1 + r) 0).
      - replace (q - 1)%Z with 0%Z by lia. replace r with 0%Z by lia. apply next_00; auto.
      - rewrite (next_box N K) by (unfold box; lia).
        assert (Ts : s0 ((q - 1)%Z, r) = true) by (apply s0_true; lia). now rewrite Ts. }
    assert (Harr : (1 <= r)%Z -> nxt N ((q + 1)%Z, (r - 1)%Z) (s0 ((q + 1)%Z, (r - 1)%Z))
      = ((q + 1)%Z, (r - 1)%Z)).
    { intros Hr1. rewrite (next_box N K) by (unfold box; lia). rewrite s0_false by lia. reflexivity.
      }
    (* arrivals *)
    assert (TA : lamz l r * (v (nxt N (Z.min (q + 1) K, Z.max (r - 1) 0)%Z (s0 (Z.min (q + 1) K,
      Z.max (r - 1) 0)%Z))
        - v1 (nxt N (Z.min (q + 1) K, Z.max (r - 1) 0)%Z (s1 (Z.min (q + 1) K, Z.max (r - 1) 0)%Z)))
      <= lamz l r * (v (q, r) - v1 (q, r))).
    { destruct (Z.eq_dec r 0) as [->|]; [rewrite lamz0; lra|].
      replace (Z.min (q + 1) K) with (q + 1)%Z by lia.
      replace (Z.max (r - 1) 0) with (r - 1)%Z by lia.
      apply Rmult_le_compat_l; [apply lamz_nn; auto; lia|].
      rewrite <- HB by lia. rewrite Harr by lia. apply Hle; lia. }
    destruct (Z.eqb_spec q 0) as [->|].
    + destruct (Z.eqb_spec r 0); [lia|]. cbn [andb negb] in Ev, Ev1. lra.
    + cbn [andb] in Ev, Ev1. replace (Z.max (q - 1) 0) with (q - 1)%Z in Ev, Ev1 by lia.
      assert (TD : v (nxt N ((q - 1)%Z, r) (s0 ((q - 1)%Z, r))) - v1 (nxt N ((q - 1)%Z, r)
        (s1 ((q - 1)%Z, r)))
        <= v (q, r) - v1 (q, r)).
      { rewrite <- HB by lia. rewrite Hdep by lia. apply Hle; lia. }
      lra.
Qed.
End Ends.
