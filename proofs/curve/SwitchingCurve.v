(** [curve-theorem], for all N, K, lambda, mu and gamma. *)
From Curve Require Export AllWeights Small Optimal.
Local Arguments nxt : simpl never.

Section UnitsOfMu.
Variables (N K : Z) (l : R).
Hypothesis HN : (1 <= N)%Z.
Hypothesis HK : (1 <= K)%Z.
Hypothesis Hl : 0 < l.
Notation ctl := (ctl N K l).
Notation gcost := (cost ctl (c0 K l) c1).
Notation solves1 g := (solves N K l 1 g).
Notation OK := (ctl_ok N K l HN HK Hl).
Notation inb := (inb N K l HN HK). Notation curve := (curve N K). Notation good := (good N K).
Notation stars := (stars N K). Notation shaped := (shaped ctl (c0 K l) c1 good stars).
Notation one_class := (one_class N K l HN HK Hl). Notation good_ext := (good_ext N K l HN HK).
Notation ordered := (ordered N K). Notation ordered_of := (ordered_of N K l).
Notation curved_of := (curved_of N K l HN HK Hl).
Notation greedy_signs := (greedy_signs N K l HN HK).
Notation ties_are_curves := (ties_are_curves N K HK). Notation rigid := (rigid N K l HN HK Hl).
Notation in_stars := (in_stars N K). Notation stars_ok := (stars_ok N K l HK).

(* for every weight there is a shaped solution *)
Lemma all g : 0 < g -> exists s t v, shaped g s t v.
Proof.
  destruct (some_weight N K l HN HK Hl) as (g0 & Hg0 & H0).
  apply (all_weights ctl OK (c0 K l) c1 good stars stars_ok good_ext one_class rigid g0 Hg0 H0).
Qed.

(* the theorem, but for its last clause, in units of mu *)
Theorem theorem_mu_1 g : 0 < g ->
  (exists t V, solves1 g t V) /\
  forall t V, solves1 g t V ->
  (forall t' V', solves1 g t' V' -> t' = t /\ exists c, forall q r, state N K q r ->
    V' q r = V q r + c) /\
  0 < t < g /\ ordered V /\
  exists f, switching_curve N K f /\ forall q r, box N K q r -> (d V q r < 0 <-> (q <= f r)%Z).
Proof.
  intros Hg. destruct (all g Hg) as (s & t & v & HS). pose proof HS as (Gs & E & G & _).
  pose proof (shaped_solves N K l HN HK s v g t E G) as Sol.
  destruct (rigid g s t v Hg HS) as [HG _].
  assert (HU : forall s, greedy ctl s v -> unichain ctl s) by (intros; apply one_class, HG; auto).
  (* every solution is this one, up to a constant *)
  assert (Huniq : forall t' V', solves1 g t' V' -> t' = t /\ exists c, forall q r, state N K q r ->
    V' q r = cur v q r + c).
  { intros t' V' H'. destruct (solves_eval N K l HN HK V' g t' H') as (s' & E' & G').
    destruct (uniqueness ctl OK _ t v s t' _ s' E G HU E' G') as [Et Hc]. split; [auto|].
    exists (ext V' g t' (1, 0)%Z - v (1, 0)%Z).
    intros q r Hs. specialize (Hc (q, r) (1, 0)%Z).
    assert (H1 : ok ctl (q, r)) by (simpl; destruct Hs as (? & ? & ?); lia).
    assert (H2 : ok ctl (1, 0)%Z) by (simpl; lia). specialize (Hc H1 H2).
    rewrite (ext_state N K) in Hc by auto. unfold cur. lra. }
  destruct (curved_of g s t v Hg HS) as (f & Hf & C). pose proof (ordered_of g t (cur v) f C) as O.
  split; [exists t, (cur v); auto|]. intros t1 V1 H1. destruct (Huniq t1 V1 H1) as [-> (k1 & Hk1)].
  assert (Hd : forall q r, box N K q r -> d V1 q r = d (cur v) q r).
  { intros q r (Hq & Hr & Hqr). unfold d. rewrite !Hk1 by (repeat split; lia). lra. }
  assert (O1 : ordered V1).
  { destruct O as (O1 & O2 & O3 & O4). repeat split.
    - intros. rewrite Hd; auto.
    - intros q r Hb HT HqK. rewrite !Hd; auto. unfold box in *; lia.
    - rewrite !Hd; [apply O3; auto|unfold box in *; lia|auto].
    - intros HqK. rewrite !Hd; [apply O3; auto|unfold box in *; lia|auto].
    - intros r Hr [Z1 Z2]. rewrite Hd in Z1, Z2 by (unfold box; lia). apply (O4 r Hr). auto. }
  destruct (solves_eval N K l HN HK V1 g t H1) as (s1 & E1 & G1).
  (* theta *)
  pose proof (solution_of N K l HN HK Hl g t V1 Hg H1) as S1.
  split; [|split; [|split; [exact O1|]]].
  - intros t' V' H'. destruct (Huniq t' V' H') as [-> (k & Hk)]. split; [auto|]. exists (k - k1).
    intros q r Hs. rewrite Hk, Hk1 by auto. lra.
  - split; [exact (@theta_pos (mdl N K l g t V1) S1)|exact (@theta_below_gamma (mdl N K l g t V1)
      S1)].
  - (* the curve of the strict signs *)
    pose (sx := fun b : Z * Z => if Rlt_dec (d (cur v) (fst b) (snd b)) 0 then true else false).
    assert (Gx : greedy ctl sx v).
    { intros [q r] Hin. apply inb in Hin. simpl.
      destruct (Z.eq_dec r N) as [->|]; [rewrite !next_N; lra|].
      destruct (Z.eq_dec (q + r) 0); [replace q with 0%Z by lia; replace r with 0%Z by lia;
        rewrite !next_00 by auto; lra|].
      assert (Hb : box N K q r) by (unfold box; lia). rewrite !(next_box N K) by auto.
      unfold sx, d, cur. simpl.
      destruct (Rlt_dec (v (q, (r + 1)%Z) - v (q, r)) 0); simpl; lra. }
    assert (HSx : shaped g sx t v).
    { destruct HS as (_ & _ & _ & St). split; [apply HG; auto|]. split; [|split; auto].
      intros x Hx. rewrite <- (E x Hx). f_equal. apply (L_ext ctl OK); auto. intros b Hb.
      pose proof (Gx b Hb). pose proof (G b Hb). destruct (sx b), (s b); simpl in *; lra. }
    destruct (HG sx Gx) as (f' & Hf' & Hs'). 
    assert (Cx : @Curved (mdl N K l g t (cur v)) {| Curved.f := f' |}).
    { destruct Hf' as (Fr & FN & Fm & Fl). pose proof C as C0. constructor; simpl; auto.
      - apply solution_of; auto.
      - intros r ->. auto.
      - intros q r r1 -> Hq0 Hr Hqr Hon. rewrite !Vx_in by lia.
        assert (Hb : box N K q r) by (unfold box; lia).
        apply Hs' in Hon; auto. unfold sx in Hon. simpl in Hon.
        destruct (Rlt_dec (d (cur v) q r) 0) as [Hlt|]; [|discriminate]. unfold d in Hlt. lra.
      - intros q r r1 -> Hq0 Hr Hoff. rewrite !Vx_in by lia.
        assert (Hb : box N K q r) by (specialize (Fl r Hr); unfold box; lia).
        destruct (Rlt_le_dec (d (cur v) q r) 0) as [Hlt|Hge]; [|unfold d in Hge; lra]. exfalso.
        assert (sx (q, r) = true) by (unfold sx; simpl; destruct (Rlt_dec (d (cur v) q r) 0);
          [reflexivity|contradiction]). apply Hs' in H; auto. lia.
      - intros r r1 r2 -> -> Hr _. rewrite !Vx_in by lia. destruct O as (_ & _ & O3 & _).
        destruct (O3 0%Z r) as [Hle _]; [unfold box; lia|lia|lia|]. unfold d in Hle.
        replace (r + 1 + 1)%Z with (r + 2)%Z in Hle by lia. lra. }
    exists f'. split.
    + destruct Hf' as (Fr & FN & Fm & Fl). split.
      * intros r Hr. split; [apply Fr; lia|apply Fl; lia].
      * intros r Hr. split; [|apply Fm; lia].
        exact (@gentle (mdl N K l g t (cur v)) {| Curved.f := f' |} Cx r (r + 1) Hr eq_refl).
    + intros q r Hb. rewrite Hd by auto. rewrite <- Hs' by auto. unfold sx. simpl.
      destruct (Rlt_dec (d (cur v) q r) 0); split; intros; auto; try discriminate; contradiction.
Qed.
End UnitsOfMu.

(* any unit of time *)
Lemma scale N K lambda mu gamma theta V : 0 < mu -> solves N K lambda mu gamma theta V <->
  solves N K (lambda / mu) 1 (gamma / mu) (theta / mu) V.
Proof.
  intros Hm.
  assert (Hl : forall i r v, theta + (mu * i + lambda * r)
    * v = mu * (theta / mu + (1 * i + lambda / mu * r) * v)) by (intros; field; lra).
  assert (Hr : forall i j k r x y, gamma * i + lambda * r * j + mu * k * x + lambda * r * y
    = mu * (gamma / mu * i + lambda / mu * r * j + 1 * k * x + lambda / mu * r * y)) by (intros;
      field; lra).
  split; intros H q r Hs; specialize (H q r Hs).
  - rewrite Hl, Hr in H. apply (Rmult_eq_reg_l mu); [exact H|lra].
  - rewrite Hl, Hr. now rewrite H.
Qed.

Theorem the_switching_curve N K lambda mu gamma : (1 <= N)%Z -> (1 <= K)%Z -> 0 < lambda ->
  0 < mu -> 0 < gamma -> theorem N K lambda mu gamma.
Proof.
  intros HN HK Hl Hm Hg.
  assert (Hdiv : forall x, 0 < x -> 0 < x / mu) by (intros; apply Rdiv_lt_0_compat; auto).
  destruct (theorem_mu_1 N K (lambda / mu) HN HK (Hdiv _ Hl) (gamma / mu) (Hdiv _ Hg))
    as [(t & V & H) Hall]. split.
  - exists (t * mu), V. apply scale; auto. replace (t * mu / mu) with t by (field; lra). exact H.
  - intros theta V1 H1. pose proof (proj1 (scale N K lambda mu gamma theta V1 Hm) H1) as H1'.
    destruct (Hall (theta / mu) V1 H1') as (Hu & [Ht1 Ht2] & (P1 & P2 & P3 & P4) & (f & Hf & Hd)).
    assert (Hback : forall a b, a / mu < b / mu -> a < b).
    { intros a b Hab. apply (Rmult_lt_compat_r mu) in Hab; [|auto]. unfold Rdiv in Hab.
      rewrite !Rmult_assoc, Rinv_l in Hab by lra. lra. }
    split; [|split; [|split; [exact P1|split; [exact P2|split; [exact P3|split; [exact P4|]]]]]].
    + intros t' V' H'. apply scale in H'; auto. destruct (Hu (t' / mu) V' H') as [Et Hc].
      split; [|exact Hc].
      apply (f_equal (fun x => x * mu)) in Et. unfold Rdiv in Et.
      rewrite !Rmult_assoc, Rinv_l in Et by lra. lra.
    + split; apply Hback; [|exact Ht2]. replace (0 / mu) with 0 by (field; lra). exact Ht1.
    + exists f. split; [exact Hf|]. split; [exact Hd|].
      apply (optimal N K lambda mu gamma HN HK Hl Hm theta V1 H1 f Hd).
Qed.
