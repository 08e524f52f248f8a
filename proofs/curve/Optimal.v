(** [curve-known], third clause: no strategy costs less than theta per unit of time,
   and the curve costs
    no more; by induction over the ticks of the clock. *)
From Curve Require Import Grid Statement.

Section Optimal.
Variables (N K : Z) (lambda mu gamma : R).
Hypothesis HN : (1 <= N)%Z.
Hypothesis HK : (1 <= K)%Z.
Hypothesis Hl : 0 < lambda.
Hypothesis Hm : 0 < mu.
Notation rate := (rate N lambda mu).
Notation mean_cost := (mean_cost N K lambda mu gamma).

Lemma rate_pos : 0 < rate.
Proof. unfold Statement.rate. assert (1 <= IZR N) by (apply IZR_le; lia). nra. Qed.

(* the weights of the events in a state *)
Lemma event_weights q r : state N K q r -> 0 <= mu * ind (0 <? q)%Z /\ 0 <= lambda * IZR r /\
  0 <= rate - mu * ind (0 <? q)%Z - lambda * IZR r.
Proof.
  intros (Hq & Hr & _). assert (0 <= IZR r) by (apply IZR_le; lia).
  assert (IZR r <= IZR N) by (apply IZR_le; lia).
  unfold Statement.rate. unfold ind. destruct (0 <? q)%Z; repeat split; nra.
Qed.

(* all boxes that follow a state lead to states *)
Lemma Pbox_le (s : Z -> Z -> R) (W W' : Z -> Z -> R) q r : (0 <= s q r <= 1) ->
  (forall q r, state N K q r -> W q r <= W' q r) ->
  (0 <= q <= K)%Z -> (0 <= r <= N)%Z -> Pbox N s W q r <= Pbox N s W' q r.
Proof.
  intros Hs H Hq Hr. unfold Pbox. destruct (Z.eqb_spec r N); [apply H; unfold state; lia|].
  assert (HM : (0 < q + r)%Z -> s q r * W q (r + 1)%Z + (1 - s q r)
    * W q r <= s q r * W' q (r + 1)%Z + (1 - s q r) * W' q r).
  { intros Hqr. apply Rplus_le_compat; apply Rmult_le_compat_l; try lra; apply H; unfold state; lia.
    }
  destruct (Z.eqb_spec q 0); destruct (Z.eqb_spec r 0); simpl; try (apply HM; lia).
  apply H; unfold state; lia.
Qed.

Lemma Pbox_shift s W a q r : Pbox N s (fun q r => a + W q r) q r = a + Pbox N s W q r.
Proof. unfold Pbox. destruct (r =? N)%Z; [reflexivity|].
destruct ((q =? 0) && (r =? 0))%Z%bool; [reflexivity|]. ring. Qed.

Lemma U_le_P s V q r : 0 <= s q r <= 1 -> Ubox N V q r <= Pbox N s V q r.
Proof.
  intros Hs. unfold Ubox, Pbox. destruct (r =? N)%Z; [lra|].
  destruct ((q =? 0) && (r =? 0))%Z%bool; [lra|].
  pose proof (Rmin_l (V q r) (V q (r + 1)%Z)). pose proof (Rmin_r (V q r) (V q (r + 1)%Z)).
  set (m := Rmin (V q r) (V q (r + 1)%Z)) in *.
  assert (s q r * m <= s q r * V q (r + 1)%Z) by (apply Rmult_le_compat_l; lra).
  assert ((1 - s q r) * m <= (1 - s q r) * V q r) by (apply Rmult_le_compat_l; lra). lra.
Qed.

Variables (theta : R) (V : Z -> Z -> R).
Hypothesis HV : solves N K lambda mu gamma theta V.

(* one step *)
Lemma step_lower s (W : Z -> Z -> R) a q r : (forall q r, 0 <= s q r <= 1) -> state N K q r ->
  (forall q r, state N K q r -> a + V q r <= W q r) ->
  a + theta / rate + V q r <= (gamma * ind (q =? 0)%Z + lambda * IZR r * ind (q =? K)%Z + mu * ind
    (0 <? q)%Z * Pbox N s W (q - 1) r
    + lambda * IZR r * Pbox N s W (Z.min (q + 1) K) (r - 1)
        + (rate - mu * ind (0 <? q)%Z - lambda * IZR r) * W q r) / rate.
Proof.
  intros H01 Hs HW. pose proof rate_pos as Hp. destruct (event_weights q r Hs) as (W1 & W2 & W3).
  specialize (HV q r Hs).
  apply (Rmult_le_reg_r rate); [auto|]. unfold Rdiv at 2.
  rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  replace ((a + theta / rate + V q r) * rate) with (a * rate + theta + V q r * rate) by (field;
    lra).
  assert (B : forall q' r', (0 <= q' <= K)%Z -> (0 <= r' <= N)%Z ->
    a + Ubox N V q' r' <= Pbox N s W q' r').
  { intros q' r' Hq' Hr'. apply Rle_trans with (Pbox N s (fun q r => a + V q r) q' r');
      [rewrite Pbox_shift; pose proof (U_le_P s V q' r' (H01 _ _)); lra|apply Pbox_le; auto]. }
  assert (T1 : mu * ind (0 <? q)%Z * (a + Ubox N V (q - 1) r)
    <= mu * ind (0 <? q)%Z * Pbox N s W (q - 1) r).
  { destruct (Z.ltb_spec 0 q); [|unfold ind; lra]. destruct Hs as (Hq & Hr & _).
    apply Rmult_le_compat_l; [auto|]. apply B; lia. }
  assert (T2 : lambda * IZR r * (a + Ubox N V (Z.min (q + 1) K) (r - 1))
    <= lambda * IZR r * Pbox N s W (Z.min (q + 1) K) (r - 1)).
  { destruct Hs as (Hq & Hr & _). destruct (Z.eq_dec r 0) as [->|]; [lra|].
    apply Rmult_le_compat_l; [auto|]. apply B; lia. }
  assert (T3 : (rate - mu * ind (0 <? q)%Z - lambda * IZR r) * (a + V q r)
    <= (rate - mu * ind (0 <? q)%Z - lambda * IZR r) * W q r).
  { apply Rmult_le_compat_l; auto. }
  lra.
Qed.

Lemma step_upper s (W : Z -> Z -> R) a q r : (forall q r, 0 <= s q r <= 1) -> state N K q r ->
  (forall q r, state N K q r -> W q r <= a + V q r) ->
  (forall q r, box N K q r -> Pbox N s V q r = Ubox N V q r) ->
  (gamma * ind (q =? 0)%Z + lambda * IZR r * ind (q =? K)%Z + mu * ind (0 <? q)%Z * Pbox N s W (q -
    1) r
    + lambda * IZR r * Pbox N s W (Z.min (q + 1) K) (r - 1)
        + (rate - mu * ind (0 <? q)%Z - lambda * IZR r) * W q r) / rate <= a + theta / rate + V q r.
Proof.
  intros H01 Hs HW HPU. pose proof rate_pos as Hp.
  destruct (event_weights q r Hs) as (W1 & W2 & W3). specialize (HV q r Hs).
  apply (Rmult_le_reg_r rate); [auto|]. unfold Rdiv at 1.
  rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  replace ((a + theta / rate + V q r) * rate) with (a * rate + theta + V q r * rate) by (field;
    lra).
  assert (B : forall q' r', (0 <= q' <= K)%Z -> (0 <= r' <= N)%Z ->
    Pbox N s W q' r' <= a + Ubox N V q' r').
  { intros q' r' Hq' Hr'. apply Rle_trans with (Pbox N s (fun q r => a + V q r) q' r');
      [apply Pbox_le; auto|]. rewrite Pbox_shift.
    assert (Pbox N s V q' r' = Ubox N V q' r'); [|lra].
    destruct (Z.eq_dec r' N) as [->|]; [unfold Pbox, Ubox; rewrite Z.eqb_refl; reflexivity|].
    destruct (Z.eq_dec (q' + r') 0); [|apply HPU; unfold box; lia].
    replace q' with 0%Z by lia. replace r' with 0%Z by lia. unfold Pbox, Ubox.
    destruct (Z.eqb_spec 0 N); [lia|reflexivity]. }
  assert (T1 : mu * ind (0 <? q)%Z * Pbox N s W (q - 1)
    r <= mu * ind (0 <? q)%Z * (a + Ubox N V (q - 1) r)).
  { destruct (Z.ltb_spec 0 q); [|unfold ind; lra]. destruct Hs as (Hq & Hr & _).
    apply Rmult_le_compat_l; [auto|]. apply B; lia. }
  assert (T2 : lambda * IZR r * Pbox N s W (Z.min (q + 1) K) (r - 1)
    <= lambda * IZR r * (a + Ubox N V (Z.min (q + 1) K) (r - 1))).
  { destruct Hs as (Hq & Hr & _). destruct (Z.eq_dec r 0) as [->|]; [lra|].
    apply Rmult_le_compat_l; [auto|]. apply B; lia. }
  assert (T3 : (rate - mu * ind (0 <? q)%Z - lambda * IZR r)
    * W q r <= (rate - mu * ind (0 <? q)%Z - lambda * IZR r) * (a + V q r)).
  { apply Rmult_le_compat_l; auto. }
  lra.
Qed.

(* a bound of the values *)
Lemma bounded : exists B, forall q r, state N K q r -> - B <= V q r <= B.
Proof.
  destruct (grid_max (fun q r => (0 < q + r)%Z) (fun q r => V q r) (fun q r =>
    q) 0 K 0 N) as (q1 & r1 & _ & _ & _ & H1); [intros; lia|exists 1%Z, 0%Z; lia|].
  destruct (grid_max (fun q r => (0 < q + r)%Z) (fun q r => - V q r) (fun q r =>
    q) 0 K 0 N) as (q2 & r2 & _ & _ & _ & H2); [intros; lia|exists 1%Z, 0%Z; lia|].
  exists (Rmax (V q1 r1) (- V q2 r2)). intros q r (Hq & Hr & Hqr).
  pose proof (Rmax_l (V q1 r1) (- V q2 r2)). pose proof (Rmax_r (V q1 r1) (- V q2 r2)).
  destruct (H1 q r Hq Hr Hqr) as [?|[? _]]; destruct (H2 q r Hq Hr Hqr) as [?|[? _]]; lra.
Qed.

Lemma curve_01 f past : forall q r, 0 <= curve_control f past q r <= 1.
Proof. intros. unfold curve_control, ind. destruct (_ <=? _)%Z; lra. Qed.

Theorem optimal f : (forall q r, box N K q r -> (d V q r < 0 <-> (q <= f r)%Z)) ->
  exists M, forall n past q r, state N K q r ->
    (forall c, admissible c -> INR n * (theta / rate) - M <= mean_cost c n past q r) /\
    mean_cost (curve_control f) n past q r <= INR n * (theta / rate) + M.
Proof.
  intros Hf. destruct bounded as [B HB]. exists (2 * B).
  assert (HPU : forall q r, box N K q r -> Pbox N (fun q r =>
    ind (q <=? f r)%Z) V q r = Ubox N V q r).
  { intros q r Hb. unfold Pbox, Ubox. destruct (r =? N)%Z; [reflexivity|].
    destruct ((q =? 0) && (r =? 0))%Z%bool; [reflexivity|].
    specialize (Hf q r Hb). unfold d in Hf. destruct (Z.leb_spec q (f r)).
    - apply Hf in H. rewrite Rmin_right by lra. unfold ind. ring.
    - rewrite Rmin_left; [unfold ind; ring|]. apply Rnot_lt_le. intros Hlt.
      assert (q <= f r)%Z by (apply Hf; lra). lia. }
  assert (Lo : forall c, admissible c -> forall n past q r, state N K q r ->
    (INR n * (theta / rate) - B) + V q r <= mean_cost c n past q r).
  { intros c Hc n. induction n as [|n IH]; intros past q r Hs.
    - simpl. specialize (HB q r Hs). lra.
    - rewrite S_INR. cbn [Statement.mean_cost].
      pose proof (step_lower (c ((q, r) :: past)) (mean_cost c n ((q, r) :: past))
        (INR n * (theta / rate) - B) q r (Hc _) Hs) as H.
      eapply Rle_trans; [|apply H]; [lra|]. intros q' r' Hs'. apply IH; auto. }
  assert (Up : forall n past q r, state N K q r -> mean_cost (curve_control f)
    n past q r <= (INR n * (theta / rate) + B) + V q r).
  { intros n. induction n as [|n IH]; intros past q r Hs.
    - simpl. specialize (HB q r Hs). lra.
    - rewrite S_INR. cbn [Statement.mean_cost].
      pose proof (step_upper (curve_control f ((q, r) :: past)) (mean_cost (curve_control f) n ((q,
        r) :: past)) (INR n * (theta / rate) + B) q r (curve_01 f _) Hs) as H.
      eapply Rle_trans; [apply H|]; [|exact HPU|lra]. intros q' r' Hs'. apply IH; auto. }
  intros n past q r Hs. specialize (HB q r Hs). split.
  - intros c Hc. specialize (Lo c Hc n past q r Hs). lra.
  - specialize (Up n past q r Hs). lra.
Qed.

(* every policy that is greedy for V, with lots in ties or not, costs no more than theta *)
Theorem greedy_costs_theta p : (forall q r, 0 <= p q r <= 1) ->
  (forall q r, box N K q r -> Pbox N p V q r = Ubox N V q r) ->
  exists M, forall n past q r, state N K q r ->
    mean_cost (fun _ => p) n past q r <= INR n * (theta / rate) + M.
Proof.
  intros H01 HPU. destruct bounded as [B HB]. exists (2 * B).
  assert (Up : forall n past q r, state N K q r ->
    mean_cost (fun _ => p) n past q r <= (INR n * (theta / rate) + B) + V q r).
  { intros n. induction n as [|n IH]; intros past q r Hs.
    - simpl. specialize (HB q r Hs). lra.
    - rewrite S_INR. cbn [Statement.mean_cost].
      pose proof (step_upper p (mean_cost (fun _ => p) n ((q, r) :: past))
        (INR n * (theta / rate) + B) q r H01 Hs) as H.
      eapply Rle_trans; [apply H|]; [|exact HPU|lra]. intros q' r' Hs'. apply IH; auto. }
  intros n past q r Hs. specialize (HB q r Hs). specialize (Up n past q r Hs). lra.
Qed.
End Optimal.
