(** [curve-large]: from which weight on the saturated curve solves the optimality equation,
   and has the
    least cost. *)
From Curve Require Import Grid Model Control Unique Weights Saturated Statement Robots
  SwitchingCurve.

Lemma list_far (T : Type) (l : list T) (Q : T -> R -> Prop) :
  (forall x, In x l -> exists e, forall u, e <= u -> Q x u) -> exists e, forall u, e <= u ->
    forall x, In x l -> Q x u.
Proof.
  induction l as [|a l IH]; intros H.
  - exists 0. intros u _ x [].
  - destruct IH as (e & Hq); [intros x Hx; apply H; now right|].
    destruct (H a) as (e' & Hq'); [now left|].
    exists (Rmax e e'). intros u Hu x [<-|Hx]; pose proof (Rmax_l e e'); pose proof (Rmax_r e e').
    + apply Hq'. lra.
    + apply Hq; auto. lra.
Qed.

Lemma far (a b : R) : b < 0 -> exists e, forall u, e <= u -> a + u * b < 0.
Proof.
  intros Hb. exists ((a + 1) / - b). intros u Hu. apply (Rmult_le_compat_r (- b)) in Hu; [|lra].
  unfold Rdiv in Hu. rewrite Rmult_assoc, Rinv_l in Hu by lra. lra.
Qed.

Section Large.
Variables (N K : Z) (l : R).
Hypothesis HN : (2 <= N)%Z.
Hypothesis HK : (1 <= K)%Z.
Hypothesis Hl : 0 < l.
Lemma HN1 : (1 <= N)%Z. Proof. lia. Qed.
Notation ctl := (ctl N K l).
Notation gcost := (cost ctl (c0 K l) c1).
Notation OK := (ctl_ok N K l HN1 HK Hl).
Local Arguments nxt : simpl never.

Definition sS (b : Z * Z) : bool := ((fst b <? K) || (snd b <? N - 1))%Z%bool.
Definition fS (r : Z) : Z := if (r =? N)%Z then (-1)%Z else if (r =? N - 1)%Z then (K - 1)%Z else K.

Lemma sS_on q r : (0 <= q <= K)%Z -> (0 <= r < N)%Z -> (sS (q, r) = true <->
  (q < K \/ r < N - 1)%Z).
Proof. intros. unfold sS. simpl. rewrite orb_true_iff, !Z.ltb_lt. lia. Qed.

Lemma sS_good : good N K sS.
Proof.
  exists fS. split.
  - unfold curve, fS. split; [|split; [|split]].
    + intros r Hr. destruct (Z.eqb_spec r N); destruct (Z.eqb_spec r (N - 1)); lia.
    + now rewrite Z.eqb_refl.
    + intros r r' Hr Hr'. destruct (Z.eqb_spec r N); destruct (Z.eqb_spec r (N - 1));
        destruct (Z.eqb_spec r' N); destruct (Z.eqb_spec r' (N - 1)); lia.
    + intros r Hr. destruct (Z.eqb_spec r N); destruct (Z.eqb_spec r (N - 1)); lia.
  - intros q r (Hq & Hr & _). rewrite sS_on by lia. unfold fS.
    destruct (Z.eqb_spec r N); destruct (Z.eqb_spec r (N - 1)); lia.
Qed.

(* its equations *)
Lemma eqs_of t v gam kap : eval ctl (fun x => kap * c0 K l x + gam * c1 x) sS t v ->
  forall q r qm qp rm, (0 <= q <= K)%Z -> (0 <= r <= N)%Z -> (0 < q + r)%Z -> qm = (q - 1)%Z ->
    qp = (q + 1)%Z -> rm = (r - 1)%Z ->
  t + (1 + l * IZR r) * cur v q r = Us N K (cur v) gam kap qm r + l * IZR r * Us N K (cur v)
    gam kap qp rm.
Proof.
  intros E q r qm qp rm Hq Hr HT -> -> ->. specialize (E (q, r)).
  assert (Hok : ok ctl (q, r)) by (simpl; lia). specialize (E Hok).
  unfold L in E. cbn [Robots.ctl mu nu dep arr next fst snd X B] in E.
  assert (Hv : forall a b, (0 <= a <= K)%Z -> (0 <= b <= N)%Z ->
    v (nxt N (a, b) (sS (a, b))) = Ub N K (cur v) a b).
  { intros a b Ha Hb. unfold nxt, Ub, sS, cur. cbn [fst snd].
    destruct (Z.eqb_spec b N) as [->|]; [rewrite Z.ltb_irrefl; reflexivity|].
    destruct (Z.ltb_spec b N); [|lia].
    destruct (Z.ltb_spec a K); destruct (Z.ltb_spec b (N - 1)); destruct (Z.eqb_spec a K);
      destruct (Z.eqb_spec b (N - 1)); try lia;
    destruct (Z.eqb_spec a 0); destruct (Z.eqb_spec b 0); cbn [andb negb orb]; try lia; subst;
      reflexivity. }
  rewrite !Hv in E by lia. unfold c0, c1 in E. cbn [fst snd] in E. fold (lamz l r).
  assert (Ea : lamz l r * Us N K (cur v) gam kap (q + 1) (r - 1) = lamz l r * Ub N K (cur v)
    (Z.min (q + 1) K) (Z.max (r - 1) 0) + kap * (if (q =? K)%Z then lamz l r else 0)).
  { destruct (Z.eq_dec r 0) as [->|]; [rewrite lamz0; destruct (q =? K)%Z; ring|].
    replace (Z.max (r - 1) 0) with (r - 1)%Z by lia.
    unfold Us. destruct (Z.eqb_spec (q + 1) (-1)); [lia|]. destruct (Z.eqb_spec q K) as [->|].
    - rewrite Z.eqb_refl. replace (Z.min (K + 1) K) with K by lia. ring.
    - destruct (Z.eqb_spec (q + 1) (K + 1)); [lia|].
      replace (Z.min (q + 1) K) with (q + 1)%Z by lia. ring. }
  rewrite Ea. unfold cur at 1. destruct (Z.eqb_spec q 0) as [->|].
  - rewrite Usm by lia. destruct (Z.eqb_spec r 0); [lia|]. cbn [andb negb] in E. unfold cur at 1.
    lra.
  - cbn [andb] in E. replace (Z.max (q - 1) 0) with (q - 1)%Z in E by lia.
    unfold Us. destruct (Z.eqb_spec (q - 1) (-1)); [lia|].
    destruct (Z.eqb_spec (q - 1) (K + 1)); [lia|]. lra.
Qed.

Definition G : R := geom (l * IZR N) (Z.to_nat K).
Lemma G_pos : 0 < G.
Proof. pose proof (geom_ge (l * IZR N) (Z.to_nat K)) as H.
assert (0 < l * IZR N) by (apply Rmult_lt_0_compat; [auto|apply IZR_lt; lia]). specialize (H H0).
unfold G. lra. Qed.

Lemma eval_shape t v g : eval ctl (gcost g) sS t v -> eval ctl (fun x =>
  1 * c0 K l x + g * c1 x) sS t v.
Proof. intros E x Hx. rewrite (E x Hx). unfold cost. ring. Qed.

(* the cost of the policy, and the box that is added last *)
Lemma sat_cost g t v : eval ctl (gcost g) sS t v ->
  t * G = g + l * IZR (N - 1) * (l * IZR N) ^ Z.to_nat K.
Proof.
  intros E. pose proof (cost_formula N K l (cur v) t g 1 HN HK (eqs_of t v g 1 (eval_shape t v g
    E))) as C. unfold G. rewrite C. ring.
Qed.
Definition one : R := if (K =? 1)%Z then 0 else 1.
Lemma sat_d g t v : eval ctl (gcost g) sS t v -> (one + l * IZR (N - 1)) * d (cur v) K (N - 2)
  = l * (one + 2 * l * IZR (N - 1) - t).
Proof.
  intros E. pose proof (eqs_of t v g 1 (eval_shape t v g E)) as Q.
  feed pose proof (d_full N K l (cur v) t g 1 HK Q (N-2) (N-1) N) as D2.
  unfold d, one. replace (N - 2 + 1)%Z with (N - 1)%Z by lia. rewrite D2.
  rewrite Rmult_plus_distr_l. destruct (Z.eqb_spec K 1) as [e|].
  - pose proof (d_low1 N K l (cur v) t g 1 HN HK Q e) as D1. rewrite !Rplus_0_l. rewrite D1. ring.
  - pose proof (d_low N K l (cur v) t g 1 HN HK Q) as D1. rewrite D1 by lia. ring.
Qed.
Lemma one_nn : 0 <= one. Proof. unfold one. destruct (K =? 1)%Z; lra. Qed.
Lemma sat_off g t v : eval ctl (gcost g) sS t v -> 0 < d (cur v) K (N - 1).
Proof.
  intros E. pose proof (d_last N K l (cur v) t g 1 HN HK (eqs_of t v g 1 (eval_shape t v g E)))
    as D. unfold d. replace (N - 1 + 1)%Z with N by lia.
  pose proof (lr l Hl N) as Lr. assert (0 < l * IZR N) by (apply Lr; lia).
  apply (Rmult_lt_reg_l (1 + l * IZR N)); [lra|]. rewrite D. lra.
Qed.

(* greedy, in terms of d *)
Lemma sat_greedy v : 0 < d (cur v) K (N - 1) -> (forall q r, box N K q r ->
  (q < K \/ r < N - 1)%Z -> d (cur v) q r <= 0) -> greedy ctl sS v.
Proof.
  intros Hoff Hon [q r] Hin. apply in_bs in Hin; [|lia|lia]. cbn [next Robots.ctl].
  destruct (Z.eq_dec r N) as [->|]; [rewrite !next_N; lra|]. destruct (Z.eq_dec (q + r) 0).
  { replace q with 0%Z by lia. replace r with 0%Z by lia. rewrite !next_00 by lia. lra. }
  assert (Hb : box N K q r) by (unfold box; lia). rewrite !(next_box N K) by auto.
  destruct (sS (q, r)) eqn:Es; simpl.
  - apply sS_on in Es; [|lia|lia]. specialize (Hon q r Hb Es). unfold d, cur in Hon. lra.
  - assert (~ (q < K \/ r < N - 1)%Z) by (intros C; apply sS_on in C; [congruence|lia|lia]).
    assert (q = K) by lia. assert (r = (N - 1)%Z) by lia. subst. unfold d, cur in Hoff. lra.
Qed.
Lemma sat_greedy_on v : greedy ctl sS v -> forall q r, box N K q r -> (q < K \/ r < N - 1)%Z ->
  d (cur v) q r <= 0.
Proof.
  intros Gr q r Hb Hon. pose proof Hb as (Hq & Hr & _). specialize (Gr (q, r)).
  cbn [next Robots.ctl] in Gr. rewrite !(next_box N K) in Gr by auto.
  assert (Es : sS (q, r) = true) by (apply sS_on; lia). rewrite Es in Gr. simpl in Gr.
  unfold d, cur. assert (Hin : In (q, r) (bs ctl)) by (apply in_bs; lia). specialize (Gr Hin). lra.
Qed.

Theorem sat_iff g t v : 0 < g -> eval ctl (gcost g) sS t v -> (greedy ctl sS v <->
  one + 2 * l * IZR (N - 1) <= t).
Proof.
  intros Hg E. assert (HlN : 0 < l * IZR (N - 1)) by (apply lr; auto; lia).
  pose proof one_nn as Hone. split.
  { intros Gr. pose proof (sat_greedy_on v Gr K (N-2)%Z ltac:(unfold box; lia) ltac:(lia)) as H.
    pose proof (sat_d g t v E) as D.
    apply Rnot_lt_le. intros Hlt. assert (0 < l * (one + 2 * l * IZR (N - 1) - t))
      by (apply Rmult_lt_0_compat; lra). nra. }
  intros Ht.
  pose proof (one_class N K l HN1 HK Hl sS sS_good) as HU.
  destruct (poisson ctl OK sS HU (c0 K l)) as (t0 & w & E0).
  destruct (poisson ctl OK sS HU c1) as (t1 & x & E1).
  pose (vg := fun g x0 => w x0 + g * x x0).
  assert (Eg : forall g, eval ctl (gcost g) sS (t0 + g * t1) (vg g)).
  { intros g' y Hy. unfold vg. rewrite L_lin. unfold cost. rewrite <- (E0 y Hy), <- (E1 y Hy). ring.
    }
  assert (Htg : forall g, (t0 + g * t1) * G = g + l * IZR (N - 1) * (l * IZR N) ^ Z.to_nat K)
    by (intros g'; apply (sat_cost g' _ _ (Eg g'))).
  pose proof G_pos as HG.
  assert (Et : t = t0 + g * t1) by (apply (Rmult_eq_reg_r G); [rewrite Htg;
    apply (sat_cost g t v E)|lra]).
  assert (Hmono : forall a b, a < b -> t0 + a * t1 < t0 + b * t1).
  { intros a b Hab. apply (Rmult_lt_reg_r G); [auto|]. rewrite !Htg. lra. }
  (* it is enough to show it for the affine family *)
  enough (HQ : greedy ctl sS (vg g)).
  { intros b Hb. specialize (HQ b Hb).
    pose proof (eval_unique ctl OK sS _ _ _ _ _ HU E (Eg g)) as HE.
    assert (v (next ctl b (sS b)) - v (next ctl b (negb (sS b))) = vg g (next ctl b (sS b))
      - vg g (next ctl b (negb (sS b)))) by (apply HE; apply (next_ok ctl OK); auto). lra. }
  (* starvation alone *)
  assert (E1' : eval ctl (fun y => 0 * c0 K l y + 1 * c1 y) sS t1 x) by (intros y Hy;
    rewrite (E1 y Hy); ring).
  pose proof (eqs_of t1 x 1 0 E1') as Qx.
  (* far out *)
  destruct (list_far _ (bs ctl) (fun b u => greedy ctl sS (vg u) \/ box N K (fst b) (snd b) ->
    (fst b < K \/ snd b < N - 1)%Z -> box N K (fst b) (snd b) ->
    d (cur (vg u)) (fst b) (snd b) <= 0)) as (g1 & Hg1).
  { intros [q r] _. cbn [fst snd]. destruct (classic (box N K q r /\
      (q < K \/ r < N - 1)%Z)) as [[(Hq & Hr & Hqr) Hon]|Hn]; [|exists 0; intros; exfalso; tauto].
    pose proof (robot_gain N K l (cur x) t1 HN HK Hl Qx q r (r + 1)) as Rg. feed specialize Rg.
    unfold cur in Rg.
    destruct (far (w (q, (r + 1)%Z) - w (q, r)) (x (q, (r + 1)%Z) - x (q, r))) as (e & He); [lra|].
    exists e. intros u Hu _ _ _. specialize (He u Hu). unfold d, cur, vg. lra. }
  assert (Hfar : forall u, g1 <= u -> greedy ctl sS (vg u)).
  { intros u Hu. apply sat_greedy; [apply (sat_off u _ _ (Eg u))|]. intros q r Hb Hon.
    pose proof Hb as (Hq & Hr & _).
    apply (Hg1 u Hu (q, r)); auto. apply in_bs; lia. }
  destruct (Rle_lt_dec g1 g) as [|Hlt]; [apply Hfar; auto|].
  (* from there down to g *)
  replace g with (- - g) by ring.
  apply (connected (fun u => greedy ctl sS (vg (- u))) (- g1) (- g)); [lra|rewrite Ropp_involutive;
    apply Hfar; lra| |].
  - intros u Hu Gr. set (h := - u) in *. assert (Hh : g < h) by (unfold h; lra).
    assert (Hh0 : 0 < h) by lra.
    (* no box is tied *)
    pose proof (shaped_solves N K l HN1 HK sS (vg h) h _ (Eg h) Gr) as Sol.
    destruct (theorem_mu_1 N K l HN1 HK Hl h Hh0) as [_ T].
    destruct (T _ _ Sol) as (_ & _ & _ & f & [Hf1 Hf2] & Hf).
    assert (Hd : d (cur (vg h)) K (N - 2) < 0).
    { pose proof (sat_d h _ _ (Eg h)) as D. specialize (Hmono g h Hh). apply Rnot_le_lt. intros Hc.
      assert (0 <= (one + l * IZR (N - 1)) * d (cur (vg h)) K (N - 2)) by (apply Rmult_le_pos; lra).
      assert (0 < l * (t0 + h * t1 - (one + 2 * l * IZR (N - 1)))) by (apply Rmult_lt_0_compat;
        lra). lra. }
    assert (HfN : (K <= f (N - 2))%Z) by (apply (Hf K (N-2)%Z); [unfold box; lia|exact Hd]).
    assert (Hall : forall r, (0 <= r <= N - 2)%Z -> (K <= f r)%Z).
    { apply z_down. intros r Hr IH. destruct (Z.eq_dec r (N - 2)) as [->|]; [auto|].
      pose proof (IH (r + 1)%Z ltac:(lia)). pose proof (Hf2 r ltac:(lia)). lia. }
    assert (Hlast : (K - 1 <= f (N - 1))%Z) by (pose proof (Hf2 (N-2)%Z ltac:(lia)) as H;
      replace (N - 2 + 1)%Z with (N - 1)%Z in H by lia; lia).
    assert (Hstrict : forall q r, box N K q r -> (q < K \/ r < N - 1)%Z -> d (cur (vg h)) q r < 0).
    { intros q r Hb Hon. apply Hf; auto. destruct Hb as (Hq & Hr & _).
      destruct (Z.eq_dec r (N - 1)) as [->|]; [lia|]. pose proof (Hall r ltac:(lia)). lia. }
    destruct (list_near _ (bs ctl) (fun b y => (fst b < K \/ snd b < N - 1)%Z ->
      box N K (fst b) (snd b) -> d (cur (vg (h + y * -1))) (fst b) (snd b) < 0)) as (e & He & Hq).
    { intros [q r] _. cbn [fst snd]. destruct (classic (box N K q r /\
        (q < K \/ r < N - 1)%Z)) as [[Hb Hon]|Hn]; [|exists 1; split; [lra|]; intros; exfalso;
        tauto].
      pose proof (Hstrict q r Hb Hon) as Hs.
      destruct (near (- d (cur (vg h)) q r) (x (q, (r + 1)%Z) - x (q, r))) as (e & He & Hq); [lra|].
      exists e. split; [auto|]. intros y Hy _ _. specialize (Hq y Hy). unfold d, cur, vg in *. lra.
      }
    exists e. split; [auto|]. intros y Hy _.
    replace (- y) with (h + (y - u) * -1) by (unfold h; ring).
    apply sat_greedy; [apply (sat_off _ _ _ (Eg _))|]. intros q r Hb Hon.
    pose proof Hb as (Hq' & Hr' & _). apply Rlt_le. apply (Hq (y - u) ltac:(lra) (q, r)); auto.
    apply in_bs; lia.
  - intros u Hu Hq b Hb. apply Rnot_lt_le. intros Hlt'.
    destruct (near_neg (vg (- u) (next ctl b (negb (sS b))) - vg (- u) (next ctl b (sS b)))
      (- (x (next ctl b (negb (sS b))) - x (next ctl b (sS b))))) as (e & He & Hne); [lra|].
    destruct (Hq e He) as (y & Hy & _ & Gr). specialize (Gr b Hb). specialize (Hne (y - u)).
    assert (Hab : Rabs (y - u) < e) by (apply Rabs_def1; lra).
    specialize (Hne Hab). unfold vg in *. lra.
Qed.
End Large.

(* the condition on the policy's cost is one on gamma *)
Lemma sat_bound N K lambda mu gamma : (2 <= N)%Z -> (1 <= K)%Z -> 0 < lambda -> 0 < mu ->
  let l := lambda / mu in
  let load := lambda * IZR N / mu in
  let sum := geom load (Z.to_nat K) in
  forall t v, eval (ctl N K l) (cost (ctl N K l) (c0 K l) c1 (gamma / mu)) (sS N K) t v ->
  (one K + 2 * l * IZR (N - 1) <= t <->
   ((if (K =? 1)%Z then 0 else mu) + 2 * lambda * IZR (N - 1)) * sum - lambda * IZR (N - 1)
     * load ^ Z.to_nat K <= gamma).
Proof.
  intros HN HK Hl Hm l load sum t v E.
  assert (Hl' : 0 < l) by (apply Rdiv_lt_0_compat; auto). set (g := gamma / mu) in *.
  assert (El : l * IZR N = load) by (unfold l, load; field; lra).
  pose proof (sat_cost N K l HN HK g t v E) as Ct. pose proof (G_pos N K l HN Hl') as HG.
  unfold G in *. rewrite El in *. fold sum in Ct, HG.
  assert (Em : lambda = l * mu) by (unfold l; field; lra).
  assert (Eg : gamma = g * mu) by (unfold g; field; lra). rewrite Em, Eg.
  assert (Eo : (if (K =? 1)%Z then 0 else mu) = one K * mu) by (unfold one; destruct (K =? 1)%Z;
    ring). rewrite Eo.
  split; intros Hle.
  - assert ((one K + 2 * l * IZR (N - 1)) * sum <= t * sum) by (apply Rmult_le_compat_r; lra).
    assert (H2 : mu * ((one K + 2 * l * IZR (N - 1)) * sum) <= mu * (t * sum))
      by (apply Rmult_le_compat_l; lra). rewrite Ct in H2. lra.
  - apply (Rmult_le_reg_r sum); [auto|]. apply (Rmult_le_reg_l mu); [auto|]. rewrite Ct. lra.
Qed.

(* the corollary, for the solution of the optimality equation: a robot is started in all boxes but
   (K, N - 1) exactly for these weights *)
Theorem large_weights N K lambda mu gamma theta V : (2 <= N)%Z -> (1 <= K)%Z -> 0 < lambda ->
  0 < mu -> 0 < gamma ->
  solves N K lambda mu gamma theta V ->
  let load := lambda * IZR N / mu in
  let sum := geom load (Z.to_nat K) in
  ((forall q r, box N K q r -> (q < K \/ r < N - 1)%Z -> d V q r <= 0) <->
   ((if (K =? 1)%Z then 0 else mu) + 2 * lambda * IZR (N - 1)) * sum - lambda * IZR (N - 1)
     * load ^ Z.to_nat K <= gamma).
Proof.
  intros HN HK Hl Hm Hg H load sum.
  set (l := lambda / mu). assert (Hl' : 0 < l) by (apply Rdiv_lt_0_compat; auto).
  set (g := gamma / mu). assert (Hg' : 0 < g) by (apply Rdiv_lt_0_compat; auto).
  assert (HN1 : (1 <= N)%Z) by lia. 
  pose proof (proj1 (scale N K lambda mu gamma theta V Hm) H) as H1. fold l in H1. fold g in H1.
  assert (El : l * IZR N = load) by (unfold l, load; field; lra).
  pose proof (one_class N K l HN1 HK Hl' (sS N K) (sS_good N K HK)) as HU.
  destruct (poisson (ctl N K l) (ctl_ok N K l HN1 HK Hl') (sS N K) HU (cost (ctl N K l) (c0 K l)
    c1 g)) as (t & v & E).
  pose proof (sat_iff N K l HN HK Hl' g t v Hg' E) as HI.
  pose proof (sat_bound N K lambda mu gamma HN HK Hl Hm t v E) as Hc.
  fold l load sum in Hc.
  rewrite <- Hc, <- HI. split.
  - intros Hon.
    (* the solution is greedy for the saturated policy, so it has its values *)
    pose proof (solution_of N K l HN1 HK Hl' g (theta / mu) V Hg' H1) as S1.
    pose proof (@last_robot_pos _ S1 (N - 1)%Z eq_refl) as Lr. simpl in Lr.
    rewrite !Vx_in in Lr by lia.
    destruct (solves_eval N K l HN1 HK V g (theta / mu) H1) as (s & Es & Gs).
    set (v1 := ext V g (theta / mu)) in *.
    assert (Hd : forall q r, box N K q r -> d (cur v1) q r = d V q r).
    { intros q r (Hq & Hr & Hqr). unfold d, cur, v1.
      rewrite !(ext_state N K) by (unfold state; lia). reflexivity. }
    assert (G1 : greedy (ctl N K l) (sS N K) v1).
    { apply sat_greedy; auto; [|intros q r Hb Hq; rewrite Hd; auto].
      rewrite Hd by (unfold box; lia). unfold d. replace (N - 1 + 1)%Z with N by lia. lra. }
    assert (E1 : eval (ctl N K l) (cost (ctl N K l) (c0 K l) c1 g) (sS N K) (theta / mu) v1).
    { intros y Hy. rewrite <- (Es y Hy). f_equal. apply (L_ext _ (ctl_ok N K l HN1 HK Hl')); auto.
      intros b Hb. pose proof (G1 b Hb). pose proof (Gs b Hb).
      destruct (sS N K b), (s b); simpl in *; lra. }
    intros b Hb. specialize (G1 b Hb).
    pose proof (eval_unique _ (ctl_ok N K l HN1 HK Hl') _ _ _ _ _ _ HU E E1) as HE.
    assert (v (next (ctl N K l) b (sS N K b)) - v (next (ctl N K l) b (negb (sS N K b)))
      = v1 (next (ctl N K l) b (sS N K b)) - v1 (next (ctl N K l) b (negb (sS N K b))))
      by (apply HE; apply (next_ok _ (ctl_ok N K l HN1 HK Hl')); auto). lra.
  - intros Gr q r Hb Hon. pose proof (shaped_solves N K l HN1 HK (sS N K) v g t E Gr) as Sol.
    destruct (theorem_mu_1 N K l HN1 HK Hl' g Hg') as [_ T]. destruct (T _ _ Sol) as (Hu & _).
    destruct (Hu _ _ H1) as [_ (k & Hk)].
    assert (Hd : d V q r = d (cur v) q r) by (destruct Hb as (Hq & Hr & Hqr); unfold d;
      rewrite !Hk by (unfold state; lia); lra).
    rewrite Hd. apply (sat_greedy_on N K l HN HK v Gr q r Hb Hon).
Qed.
