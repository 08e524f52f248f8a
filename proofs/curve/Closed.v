(** [curve-closed]: a limit of weights with curved solutions has one.

    The values of each policy are affine in the weight.
    If each of the finitely many policies fails at
    a weight, each fails near it. *)
From Curve Require Export Weights.

Section ClosedWeights.
Variable P : control.
Hypothesis OK : control_ok P.
Variables c0 c1 : X P -> R.
Variable good : (B P -> bool) -> Prop.
Variable stars : list (X P * X P * X P).
Hypothesis stars_ok : forall a b c, In (a, b, c) stars -> ok P a /\ ok P b /\ ok P c.
Notation ok := (ok P). Notation bs := (bs P). Notation next := (next P).
Notation cost := (cost P c0 c1). Notation star_le := (star_le P stars).
Notation star_lt := (star_lt P stars). Notation shaped := (shaped P c0 c1 good stars).
Notation L_ext := (L_ext P OK).

Hypothesis good_ext : forall s s', (forall b, In b bs -> s b = s' b) -> good s -> good s'.
Hypothesis one_class : forall s, good s -> unichain P s.

(* finitely many policies *)
Lemma policies (Q : (B P -> bool) -> R -> Prop) : (forall s s' e, (forall b, In b bs ->
  s b = s' b) -> Q s e -> Q s' e) ->
  (forall s e e', Q s e -> e' <= e -> Q s e') ->
  (forall s, exists e, 0 < e /\ Q s e) -> exists e, 0 < e /\ forall s, Q s e.
Proof.
  intros Hext Hdown H.
  assert (HG : forall l s0, exists e, 0 < e /\ forall s, (forall b, In b bs -> ~ In b l ->
    s b = s0 b) -> Q s e).
  { induction l as [|z l IH]; intros s0.
    - destruct (H s0) as (e & He & Hq). exists e. split; [auto|]. intros s Hs.
      apply (Hext s0); auto. intros b Hb. symmetry. apply Hs; auto.
    - destruct (IH (upd P s0 z true)) as (e1 & He1 & Hq1).
      destruct (IH (upd P s0 z false)) as (e2 & He2 & Hq2).
      exists (Rmin e1 e2). split; [now apply Rmin_pos|]. intros s Hs.
      destruct (s z) eqn:Ez.
      + apply (Hdown s e1); [|apply Rmin_l]. apply Hq1. intros b Hb Hbl.
        destruct (classic (b = z)) as [->|Hne].
        * now rewrite (upd_same P OK).
        * rewrite (upd_other P OK) by auto. apply Hs; auto. intros [?|?]; auto.
      + apply (Hdown s e2); [|apply Rmin_r]. apply Hq2. intros b Hb Hbl.
        destruct (classic (b = z)) as [->|Hne].
        * now rewrite (upd_same P OK).
        * rewrite (upd_other P OK) by auto. apply Hs; auto. intros [?|?]; auto. }
  destruct (HG bs (fun _ => true)) as (e & He & Hq). exists e. split; [auto|]. intros s. apply Hq.
  intros b Hb Hb'. contradiction.
Qed.

(* one condition, affine in the weight, that fails *)
Lemma near_neg (a d : R) : a < 0 -> exists e, 0 < e /\ forall u, Rabs u < e -> a + u * d < 0.
Proof.
  intros Ha. destruct (near (- a) (- Rabs d)) as (e & He & Hq); [lra|]. exists e. split; [auto|].
  intros u Hu.
  specialize (Hq (Rabs u)). pose proof (Rabs_pos u).
  assert (0 < - a + Rabs u * - Rabs d) by (apply Hq; lra).
  assert (u * d <= Rabs u * Rabs d) by (rewrite <- Rabs_mult; apply Rle_abs). lra.
Qed.

(* Gamma is closed *)
Lemma weights_closed g : (forall e, 0 < e -> exists g', Rabs (g' - g) < e /\
  exists s t v, shaped g' s t v) -> exists s t v, shaped g s t v.
Proof.
  intros H. apply NNPP. intros HN.
  destruct (policies (fun s e => forall g', Rabs (g' - g) < e ->
    forall t v, ~ shaped g' s t v)) as (e & He & Hq).
  - intros s s' e Hss Hq g' Hg t v (A1 & A2 & A3 & A4). apply (Hq g' Hg t v).
    split; [|split; [|split]]; auto.
    + apply (good_ext s'); auto. intros b Hb. symmetry. auto.
    + intros x Hx. rewrite (L_ext s s' v x Hx); auto. intros b Hb. now rewrite Hss.
    + intros b Hb. rewrite Hss by auto. apply A3; auto.
  - intros s e e' Hq Hle g' Hg. apply Hq. lra.
  - intros s. destruct (classic (good s)) as [Hs|Hs].
    2: { exists 1. split; [lra|]. intros g' _ t v (A1 & _). contradiction. }
    destruct (poisson P OK s (one_class s Hs) c0) as (t0 & v0 & E0).
    destruct (poisson P OK s (one_class s Hs) c1) as (t1 & v1 & E1).
    pose (vg := fun g x => v0 x + g * v1 x).
    assert (Eg : forall g, eval P (cost g) s (t0 + g * t1) (vg g)).
    { intros g' x Hx. unfold vg. rewrite L_lin. unfold cost. rewrite <- (E0 x Hx), <- (E1 x Hx).
      ring. }
    (* every shaped solution with s has these values *)
    assert (Hv : forall g' t v, shaped g' s t v -> greedy P s (vg g') /\ star_le (vg g')).
    { intros g' t v (A1 & A2 & A3 & A4).
      pose proof (eval_unique P OK s _ _ _ _ _ (one_class s Hs) A2 (Eg g')) as HE. split.
      - intros b Hb. specialize (A3 b Hb).
        pose proof (HE (next b (s b)) (next b (negb (s b)))) as HE'.
        assert (v (next b (s b)) - v (next b (negb (s b))) = vg g' (next b (s b))
          - vg g' (next b (negb (s b)))) by (apply HE'; apply (next_ok P OK); auto). lra.
      - intros a b c Hj. specialize (A4 a b c Hj). destruct (stars_ok a b c Hj) as (Ka & Kb & Kc).
        pose proof (HE a b Ka Kb). pose proof (HE c b Kc Kb). lra. }
    destruct (classic (greedy P s (vg g) /\ star_le (vg g))) as [[G1 G2]|HF].
    { exfalso. apply HN. exists s, (t0 + g * t1), (vg g). split; [|split; [|split]]; auto. }
    apply not_and_or in HF as [HF|HF].
    + apply not_all_ex_not in HF as [b HF]. apply imply_to_and in HF as [Hb HF].
      apply Rnot_le_lt in HF.
      destruct (near_neg (vg g (next b (negb (s b))) - vg g (next b (s b)))
        (v1 (next b (negb (s b))) - v1 (next b (s b)))) as (e & He & Hq); [lra|].
      exists e. split; [auto|]. intros g' Hg' t v HS. destruct (Hv g' t v HS) as [G _].
      specialize (G b Hb). specialize (Hq (g' - g) Hg'). unfold vg in *. lra.
    + apply not_all_ex_not in HF as [x HF]. apply not_all_ex_not in HF as [y HF].
      apply not_all_ex_not in HF as [z HF].
      apply imply_to_and in HF as [Hj HF]. apply Rnot_le_lt in HF.
      destruct (near_neg (vg g x - 2 * vg g y + vg g z) (v1 x - 2 * v1 y + v1 z)) as (e & He & Hq);
        [lra|].
      exists e. split; [auto|]. intros g' Hg' t v HS. destruct (Hv g' t v HS) as [_ G].
      specialize (G x y z Hj). specialize (Hq (g' - g) Hg'). unfold vg in *. lra.
  - destruct (H e He) as (g' & Hg' & s & t & v & HS). apply (Hq s g' Hg' t v HS).
Qed.
End ClosedWeights.
