(** [curve-first]: the lossless curve, and the box that is added first as the weight grows. *)
From Curve Require Import Grid Model Curved Gentle Columns Control Unique Weights Level Statement
  Robots SwitchingCurve.

Section Small.
Variables (N K : Z) (l : R).
Hypothesis HN : (2 <= N)%Z.
Hypothesis HK : (1 <= K)%Z.
Hypothesis Hl : 0 < l.
Lemma HN1 : (1 <= N)%Z. Proof. lia. Qed.
Notation ctl := (ctl N K l).
Notation gcost := (cost ctl (c0 K l) c1).
Notation OK := (ctl_ok N K l HN1 HK Hl).
Notation s0 := (s0 K).
Local Arguments nxt : simpl never.

Lemma s0_on q r : s0 (q, r) = true <-> (q + r < K)%Z.
Proof. unfold Small.s0. simpl. apply Z.ltb_lt. Qed.

(* the equations of the lossless policy *)
Lemma eqf_of t v g : eval ctl (gcost g) s0 t v ->
  forall q r qm qp rm, (0 <= q <= K)%Z -> (0 <= r <= N)%Z -> (0 < q + r)%Z -> qm = (q - 1)%Z ->
    qp = (q + 1)%Z -> rm = (r - 1)%Z ->
  t + (1 + l * IZR r) * cur v q r = Uf N K (cur v) g qm r + l * IZR r * Uf N K (cur v) g qp rm.
Proof.
  intros E q r qm qp rm Hq Hr HT -> -> ->. specialize (E (q, r)).
  assert (Hok : ok ctl (q, r)) by (simpl; lia). specialize (E Hok).
  unfold L in E. cbn [Robots.ctl mu nu dep arr next fst snd X B] in E.
  assert (Hv : forall a b, (0 <= a <= K)%Z -> (0 <= b <= N)%Z ->
    v (nxt N (a, b) (s0 (a, b))) = Uf N K (cur v) g a b).
  { intros a b Ha Hb. unfold nxt, Uf, Small.s0, cur. cbn [fst snd].
    destruct (Z.eqb_spec a (-1)); [lia|]. destruct (Z.eqb_spec a (K + 1)); [lia|].
    destruct (Z.eqb_spec b N) as [->|]; [rewrite Z.ltb_irrefl, andb_false_r; reflexivity|].
    destruct (Z.ltb_spec b N); [|lia].
    destruct (Z.eqb_spec a 0); destruct (Z.eqb_spec b 0); cbn [andb];
      destruct (Z.ltb_spec (a + b) K); try lia; subst; reflexivity. }
  rewrite !Hv in E by lia. unfold cost, c0, c1 in E. cbn [fst snd] in E. fold (lamz l r).
  assert (Ea : lamz l r * Uf N K (cur v) g (q + 1) (r - 1) = lamz l r * Uf N K (cur v)
    g (Z.min (q + 1) K) (Z.max (r - 1) 0) + (if (q =? K)%Z then lamz l r else 0)).
  { destruct (Z.eq_dec r 0) as [->|]; [rewrite lamz0; destruct (q =? K)%Z; ring|].
    replace (Z.max (r - 1) 0) with (r - 1)%Z by lia.
    destruct (Z.eqb_spec q K) as [->|].
    - replace (Z.min (K + 1) K) with K by lia. rewrite UfK by lia. rewrite Ufoff by lia. ring.
    - replace (Z.min (q + 1) K) with (q + 1)%Z by lia. ring. }
  rewrite Ea. unfold cur at 1. destruct (Z.eqb_spec q 0) as [->|].
  - rewrite Ufm by lia. destruct (Z.eqb_spec r 0); [lia|]. cbn [andb negb] in E. unfold cur at 1.
    lra.
  - cbn [andb] in E. replace (Z.max (q - 1) 0) with (q - 1)%Z in E by lia. lra.
Qed.

Definition S0inv : R := weights_to N K l (Z.to_nat K).
Lemma S0_pos : 0 < S0inv.
Proof. apply weights_pos; auto; lia. Qed.
Lemma loss_cost g t v : eval ctl (gcost g) s0 t v -> t * S0inv = g.
Proof. intros E. apply (cost_lossless N K l (cur v) t g HN HK). apply (eqf_of t v g E). Qed.
Lemma loss_d g t v : eval ctl (gcost g) s0 t v -> d (cur v) (K - Z.min K (N - 1)) (Z.min K (N - 1))
  = delta l N K t.
Proof. intros E. unfold d. apply (d_first N K l (cur v) t g HN HK Hl (eqf_of t v g E)). reflexivity.
Qed.

Lemma greedy_0 v : (forall q r, box N K q r -> if s0 (q, r) then d (cur v)
  q r <= 0 else 0 <= d (cur v) q r) <-> greedy ctl s0 v.
Proof.
  split.
  - intros H [q r] Hin. apply in_bs in Hin; [|lia|lia]. cbn [next Robots.ctl].
    destruct (Z.eq_dec r N) as [->|]; [rewrite !next_N; lra|]. destruct (Z.eq_dec (q + r) 0).
    { replace q with 0%Z by lia. replace r with 0%Z by lia. rewrite !next_00 by lia. lra. }
    assert (Hb : box N K q r) by (unfold box; lia). specialize (H q r Hb).
    rewrite !(next_box N K) by auto. unfold d, cur in H. destruct (s0 (q, r)); simpl; lra.
  - intros G q r Hb. pose proof Hb as (Hq & Hr & _). specialize (G (q, r)).
    cbn [next Robots.ctl] in G. rewrite !(next_box N K) in G by auto.
    assert (Hin : In (q, r) (bs ctl)) by (apply in_bs; lia). specialize (G Hin). unfold d, cur.
    destruct (s0 (q, r)); simpl in G; lra.
Qed.

(* while the lossless curve is greedy, no other box than the first can be tied *)
Lemma tied_is_first g t v : 0 < g -> eval ctl (gcost g) s0 t v -> greedy ctl s0 v ->
  forall q r, box N K q r -> d (cur v) q r = 0 -> r = Z.min K (N - 1) /\ q = (K - r)%Z.
Proof.
  intros Hg E G q r Hb Hz.
  pose proof (shaped_solves N K l HN1 HK s0 v g t E G) as Sol.
  destruct (theorem_mu_1 N K l HN1 HK Hl g Hg) as [_ T]. destruct (T _ _ Sol) as (_ & _ & O & _).
  assert (HT : (K <= q + r)%Z).
  { destruct (Z_lt_ge_dec (q + r) K); [|lia]. pose proof (proj1 O q r Hb ltac:(lia)). lra. }
  (* start in this box too: a curve again *)
  pose (s' := upd ctl s0 (q, r) true).
  assert (Hs' : forall a b, s' (a, b) = true <-> (a = q /\ b = r \/ a + b < K)%Z).
  { intros a b. unfold s', upd. cbn [beq Robots.ctl fst snd].
    destruct (Z.eqb_spec a q); destruct (Z.eqb_spec b r); cbn [andb]; rewrite ?s0_on; intuition lia.
    }
  assert (Hgood : good N K s').
  { apply (ties_are_curves N K HK (cur v) s' O). intros a b Hab.
    pose proof (proj2 (greedy_0 v) G a b Hab) as Hg'.
    destruct (s' (a, b)) eqn:E'; split; intros Hx; auto.
    - exfalso. apply Hs' in E'. destruct E' as [[-> ->]|E']; [lra|].
      pose proof (proj1 O a b Hab E'). lra.
    - exfalso. destruct (s0 (a, b)) eqn:E0; [|lra]. apply s0_on in E0.
      assert (s' (a, b) = true) by (apply Hs'; auto). congruence. }
  destruct Hgood as (f & (Fr & FN & Fm & Fl) & Hf).
  assert (C : @Curved (mdl N K l g t (cur v)) {| Curved.f := f |}).
  { constructor; simpl; auto.
    - apply solution_of; auto. lia.
    - intros x ->. auto.
    - intros a b b1 -> Ha Hbb Hab Hon. rewrite !Vx_in by lia.
      assert (Hbx : box N K a b) by (unfold box; lia). apply Hf in Hon; auto. apply Hs' in Hon.
      destruct Hon as [[-> ->]|Hon]; [unfold d in Hz; lra|]. pose proof (proj1 O a b Hbx Hon) as H.
      unfold d in H. lra.
    - intros a b b1 -> Ha Hbb Hoff. rewrite !Vx_in by lia.
      assert (Hbx : box N K a b) by (specialize (Fl b Hbb); unfold box; lia).
      pose proof (proj2 (greedy_0 v) G a b Hbx) as H.
      destruct (s0 (a, b)) eqn:E0; [|unfold d in H; lra]. exfalso. apply s0_on in E0.
      assert (s' (a, b) = true) by (apply Hs'; auto). apply Hf in H0; auto. lia.
    - intros b b1 b2 -> -> Hbb _. rewrite !Vx_in by lia. destruct O as (_ & _ & O3 & _).
      destruct (O3 0%Z b) as [H _]; [unfold box; lia|lia|lia|]. unfold d in H.
      replace (b + 1 + 1)%Z with (b + 2)%Z in H by lia. lra. }
  destruct Hb as (Hq & Hr & Hqr).
  assert (Hbq : forall a b, (0 <= a <= K)%Z -> (0 <= b < N)%Z -> (0 < a + b)%Z -> ((a <= f b)%Z <->
    (a = q /\ b = r \/ a + b < K)%Z)).
  { intros a b ? ? ?. rewrite <- Hf by (unfold box; lia). apply Hs'. }
  assert (Hqf : (q <= f r)%Z) by (apply Hbq; auto).
  (* it ends the lossless part of its row *)
  assert (Hq0 : (q + r = K \/ q = 0)%Z).
  { destruct (Z.eq_dec q 0); [auto|left]. assert (q - 1 <= f r)%Z by lia.
    destruct (Z.eq_dec (q - 1 + r) 0); [lia|]. apply (Hbq (q - 1)%Z r) in H; lia. }
  assert (Hcol : (r = 0 \/ q + (r - 1) < K)%Z).
  { destruct (Z.eq_dec r 0); [auto|right]. pose proof (Fm (r - 1)%Z r ltac:(lia) ltac:(lia)).
    destruct (Z.eq_dec (q + (r - 1)) 0); [lia|]. assert (q <= f (r - 1))%Z by lia.
    apply (Hbq q (r - 1)%Z) in H0; lia. }
  assert (Hlev : (q + r = K)%Z) by lia.
  (* and it is the first box, since falls are 0 or 1 *)
  assert (Hrm : r = Z.min K (N - 1)).
  { destruct (Z_lt_ge_dec r (Z.min K (N - 1))); [|lia]. exfalso.
    pose proof (@gentle (mdl N K l g t (cur v)) {| Curved.f := f |} C r (r + 1)) as Hge.
    simpl in Hge. specialize (Hge ltac:(lia) eq_refl).
    assert (f (r + 1) <= q - 2)%Z; [|lia]. destruct (Z_le_gt_dec (f (r + 1)%Z) (q - 2)); [auto|].
    exfalso.
    assert (q - 1 <= f (r + 1))%Z by lia. apply (Hbq (q - 1)%Z (r + 1)%Z) in H; lia. }
  split; [exact Hrm|lia].
Qed.

Lemma only_first g t v : 0 < g -> eval ctl (gcost g) s0 t v -> greedy ctl s0 v ->
  0 < delta l N K t ->
  forall q r, box N K q r -> if s0 (q, r) then d (cur v) q r < 0 else 0 < d (cur v) q r.
Proof.
  intros Hg E G Hd q r Hb. pose proof (proj2 (greedy_0 v) G q r Hb) as Hw.
  assert (Hne : d (cur v) q r <> 0).
  { intros Hz. destruct (tied_is_first g t v Hg E G q r Hb Hz) as [Hr Hq].
    pose proof (loss_d g t v E) as Hfd. rewrite <- Hr in Hfd. rewrite <- Hq in Hfd. lra. }
  destruct (s0 (q, r)); lra.
Qed.

Theorem loss_iff g t v : 0 < g -> eval ctl (gcost g) s0 t v -> (greedy ctl s0 v <->
  0 <= delta l N K t).
Proof.
  intros Hg E. split.
  { intros G. rewrite <- (loss_d g t v E).
    pose proof (proj2 (greedy_0 v) G (K - Z.min K (N - 1))%Z (Z.min K (N - 1)) ltac:(unfold box;
      lia)) as H.
    destruct (s0 (K - Z.min K (N - 1), Z.min K (N - 1))%Z) eqn:Es; [apply s0_on in Es; lia|exact H].
    }
  intros Ht.
  pose proof (one_class N K l HN1 HK Hl s0 (s0_good N K HK)) as HU.
  destruct (poisson ctl OK s0 HU (c0 K l)) as (t0 & w & E0).
  destruct (poisson ctl OK s0 HU c1) as (t1 & x & E1).
  pose (vg := fun g x0 => w x0 + g * x x0).
  assert (Eg : forall g, eval ctl (gcost g) s0 (t0 + g * t1) (vg g)).
  { intros g' y Hy. unfold vg. rewrite L_lin. unfold cost. rewrite <- (E0 y Hy), <- (E1 y Hy). ring.
    }
  assert (Htg : forall g, (t0 + g * t1) * S0inv = g) by (intros g';
    apply (loss_cost g' _ _ (Eg g'))).
  pose proof S0_pos as HG.
  assert (Et : t = t0 + g * t1) by (apply (Rmult_eq_reg_r S0inv); [rewrite Htg;
    apply (loss_cost g t v E)|lra]).
  assert (Hmono : forall a b, a < b -> t0 + a * t1 < t0 + b * t1).
  { intros a b Hab. apply (Rmult_lt_reg_r S0inv); [auto|]. rewrite !Htg. lra. }
  assert (Hsame : forall g' t' v', eval ctl (gcost g') s0 t' v' -> greedy ctl s0 v' ->
    greedy ctl s0 (vg g')).
  { intros g' t' v' E' G' b Hb. specialize (G' b Hb).
    pose proof (eval_unique ctl OK s0 _ _ _ _ _ HU E' (Eg g')) as HE.
    assert (v' (next ctl b (s0 b)) - v' (next ctl b (negb (s0 b))) = vg g' (next ctl b (s0 b))
      - vg g' (next ctl b (negb (s0 b)))) by (apply HE; apply (next_ok ctl OK); auto). lra. }
  enough (HQ : greedy ctl s0 (vg g)).
  { intros b Hb. specialize (HQ b Hb).
    pose proof (eval_unique ctl OK s0 _ _ _ _ _ HU E (Eg g)) as HE.
    assert (v (next ctl b (s0 b)) - v (next ctl b (negb (s0 b))) = vg g (next ctl b (s0 b))
      - vg g (next ctl b (negb (s0 b)))) by (apply HE; apply (next_ok ctl OK); auto). lra. }
  (* small weights *)
  destruct (small_curved N K l HN1 HK Hl) as (e0 & He0 & Hst).
  assert (Hsm : forall u, 0 < u < e0 -> greedy ctl s0 (vg u)).
  { intros u Hu. destruct (Hst u Hu) as (t' & v' & (_ & E' & G' & _) & _).
    apply (Hsame u t' v'); auto. }
  destruct (Rlt_le_dec g e0) as [|Hge]; [apply Hsm; lra|].
  apply (connected (fun u => greedy ctl s0 (vg u)) (e0 / 2) g); [lra|apply Hsm; lra| |].
  - intros u Hu Gr. pose proof (Hmono u g ltac:(lra)) as Hm. rewrite <- Et in Hm.
    pose proof (delta_falls l Hl N K _ _ HN HK Hm) as Hdl.
    pose proof (only_first u _ _ ltac:(lra) (Eg u) Gr ltac:(lra)) as Hstrict.
    destruct (list_near _ (bs ctl) (fun b y => box N K (fst b) (snd b) ->
      if s0 b then d (cur (vg (u + y))) (fst b) (snd b) <= 0 else 0 <= d (cur (vg (u + y))) (fst b)
      (snd b))) as (e & He & Hq).
    { intros [q r] _. cbn [fst snd]. destruct (classic (box N K q r)) as [Hb|Hn]; [|exists 1; split;
        [lra|]; intros; exfalso; tauto].
      pose proof (Hstrict q r Hb) as Hs. destruct (s0 (q, r)).
      - destruct (near (- d (cur (vg u)) q r) (- (x (q, (r + 1)%Z) - x (q, r)))) as (e & He & Hq);
          [lra|].
        exists e. split; [auto|]. intros y Hy _. specialize (Hq y Hy). unfold d, cur, vg in *. lra.
      - destruct (near (d (cur (vg u)) q r) (x (q, (r + 1)%Z) - x (q, r))) as (e & He & Hq); [lra|].
        exists e. split; [auto|]. intros y Hy _. specialize (Hq y Hy). unfold d, cur, vg in *. lra.
        }
    exists e. split; [auto|]. intros y Hy _. replace y with (u + (y - u)) by ring. apply greedy_0.
    intros q r Hb. pose proof Hb as (Hq' & Hr' & _).
    apply (Hq (y - u) ltac:(lra) (q, r)); auto. apply in_bs; lia.
  - intros u Hu Hq b Hb. apply Rnot_lt_le. intros Hlt'.
    destruct (near_neg (vg u (next ctl b (negb (s0 b))) - vg u (next ctl b (s0 b)))
      (x (next ctl b (negb (s0 b))) - x (next ctl b (s0 b)))) as (e & He & Hne); [lra|].
    destruct (Hq e He) as (y & Hy & _ & Gr). specialize (Gr b Hb). specialize (Hne (y - u)).
    assert (Hab : Rabs (y - u) < e) by (apply Rabs_def1; lra).
    specialize (Hne Hab). unfold vg in *. lra.
Qed.
End Small.

(* the corollary, for the solution of the optimality equation: no robot is started where q + r >= K
   exactly for these weights *)
Theorem first_box N K lambda mu gamma theta V : (2 <= N)%Z -> (1 <= K)%Z -> 0 < lambda -> 0 < mu ->
  0 < gamma ->
  solves N K lambda mu gamma theta V ->
  let l := lambda / mu in
  ((forall q r, box N K q r -> (K <= q + r)%Z -> 0 <= d V q r) <->
   0 <= delta l N K (gamma / mu / weights_to N K l (Z.to_nat K))).
Proof.
  intros HN HK Hl Hm Hg H l. assert (Hl' : 0 < l) by (apply Rdiv_lt_0_compat; auto).
  set (g := gamma / mu). assert (Hg' : 0 < g) by (apply Rdiv_lt_0_compat; auto).
  assert (HN1 : (1 <= N)%Z) by lia.
  pose proof (proj1 (scale N K lambda mu gamma theta V Hm) H) as H1. fold l in H1. fold g in H1.
  pose proof (one_class N K l HN1 HK Hl' (s0 K) (s0_good N K HK)) as HU.
  pose proof (ctl_ok N K l HN1 HK Hl') as OK.
  destruct (poisson (ctl N K l) OK (s0 K) HU (cost (ctl N K l) (c0 K l) c1 g)) as (t & v & E).
  pose proof (loss_cost N K l HN HK g t v E) as Ct.
  pose proof (weights_pos N K l (Z.to_nat K) HN1 Hl' ltac:(lia)) as HG. unfold S0inv in Ct.
  assert (Et : g / weights_to N K l (Z.to_nat K) = t) by (rewrite <- Ct; field; lra). rewrite Et.
  rewrite <- (loss_iff N K l HN HK Hl' g t v Hg' E).
  destruct (theorem_mu_1 N K l HN1 HK Hl' g Hg') as [_ T]. destruct (T _ _ H1) as (_ & _ & O & _).
  split.
  - intros Hoff. destruct (solves_eval N K l HN1 HK V g (theta / mu) H1) as (s & Es & Gs).
    set (v1 := ext V g (theta / mu)) in *.
    assert (Hd : forall q r, box N K q r -> d (cur v1) q r = d V q r).
    { intros q r (Hq & Hr & Hqr). unfold d, cur, v1.
      rewrite !(ext_state N K) by (unfold state; lia). reflexivity. }
    assert (G1 : greedy (ctl N K l) (s0 K) v1).
    { apply greedy_0; auto. intros q r Hb. rewrite Hd by auto. destruct (s0 K (q, r)) eqn:E0.
      - apply s0_on in E0. apply Rlt_le. apply O; auto.
      - apply Hoff; auto. destruct (Z_lt_ge_dec (q + r) K) as [c|]; [apply s0_on in c;
          congruence|lia]. }
    assert (E1 : eval (ctl N K l) (cost (ctl N K l) (c0 K l) c1 g) (s0 K) (theta / mu) v1).
    { intros y Hy. rewrite <- (Es y Hy). f_equal. apply (L_ext _ OK); auto. intros b Hb.
      pose proof (G1 b Hb). pose proof (Gs b Hb). destruct (s0 K b), (s b); simpl in *; lra. }
    intros b Hb. specialize (G1 b Hb). pose proof (eval_unique _ OK _ _ _ _ _ _ HU E E1) as HE.
    assert (v (next (ctl N K l) b (s0 K b)) - v (next (ctl N K l) b (negb (s0 K b)))
      = v1 (next (ctl N K l) b (s0 K b)) - v1 (next (ctl N K l) b (negb (s0 K b)))) by (apply HE;
      apply (next_ok _ OK); auto). lra.
  - intros Gr q r Hb HT. pose proof (shaped_solves N K l HN1 HK (s0 K) v g t E Gr) as Sol.
    destruct (T _ _ Sol) as (Hu & _). destruct (Hu _ _ H1) as [_ (k & Hk)].
    assert (Hd : d V q r = d (cur v) q r) by (destruct Hb as (Hq & Hr & Hqr); unfold d;
      rewrite !Hk by (unfold state; lia); lra).
    rewrite Hd. pose proof (proj2 (greedy_0 N K l HN HK v) Gr q r Hb) as Hw.
    destruct (s0 K (q, r)) eqn:E0; [apply s0_on in E0; lia|exact Hw].
Qed.

(* and of its solutions, up to that weight: no other box is tied *)
Theorem first_tie N K lambda mu gamma theta V : (2 <= N)%Z -> (1 <= K)%Z -> 0 < lambda -> 0 < mu ->
  0 < gamma -> solves N K lambda mu gamma theta V ->
  (forall q r, box N K q r -> (K <= q + r)%Z -> 0 <= d V q r) ->
  forall q r, box N K q r -> d V q r = 0 -> r = Z.min K (N - 1) /\ q = (K - r)%Z.
Proof.
  intros HN HK Hl Hm Hg H Hoff. set (l := lambda / mu).
  assert (Hl' : 0 < l) by (apply Rdiv_lt_0_compat; auto). set (g := gamma / mu).
  assert (Hg' : 0 < g) by (apply Rdiv_lt_0_compat; auto). assert (HN1 : (1 <= N)%Z) by lia.
  pose proof (proj1 (scale N K lambda mu gamma theta V Hm) H) as H1. fold l in H1. fold g in H1.
  pose proof (ctl_ok N K l HN1 HK Hl') as OK.
  destruct (theorem_mu_1 N K l HN1 HK Hl' g Hg') as [_ T]. destruct (T _ _ H1) as (_ & _ & O & _).
  destruct (solves_eval N K l HN1 HK V g (theta / mu) H1) as (s & Es & Gs).
  set (v1 := ext V g (theta / mu)) in *.
  assert (Hd : forall q r, box N K q r -> d (cur v1) q r = d V q r).
  { intros q r (Hq & Hr & Hqr). unfold d, cur, v1.
    rewrite !(ext_state N K) by (unfold state; lia). reflexivity. }
  assert (G1 : greedy (ctl N K l) (s0 K) v1).
  { apply greedy_0; auto. intros q r Hb. rewrite Hd by auto. destruct (s0 K (q, r)) eqn:E0.
    - apply s0_on in E0. apply Rlt_le. apply O; auto.
    - apply Hoff; auto. destruct (Z_lt_ge_dec (q + r) K) as [c|]; [apply s0_on in c;
        congruence|lia]. }
  assert (E1 : eval (ctl N K l) (cost (ctl N K l) (c0 K l) c1 g) (s0 K) (theta / mu) v1).
  { intros y Hy. rewrite <- (Es y Hy). f_equal. apply (L_ext _ OK); auto. intros b Hb.
    pose proof (G1 b Hb). pose proof (Gs b Hb). destruct (s0 K b), (s b); simpl in *; lra. }
  intros q r Hb Hz. rewrite <- (Hd q r Hb) in Hz.
  apply (tied_is_first N K l HN HK Hl' g _ v1 Hg' E1 G1 q r Hb Hz).
Qed.
