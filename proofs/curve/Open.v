(** [curve-open]: a weight with a curved solution has neighbours with one.

    In the tied boxes the decision is free; the problem with the derivative costs is solved there,
      and
    its solution w moves the values: [v + u w] solves the problem for small u. *)
From Curve Require Export Weights.

Section OpenWeights.
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
(* the heart: shaped solutions have no neighbouring ties *)
Hypothesis rigid : forall g s t v, 0 < g -> shaped g s t v ->
  (forall s', greedy P s' v -> good s') /\ star_lt v.

(* Gamma is open *)
Lemma weights_open (e : R) g s t v : 0 < g -> shaped g s t v ->
  exists d, 0 < d /\ forall u, 0 <= u < d -> exists s' t' v', shaped (g + u * e) s' t' v'.
Proof.
  intros Hg HS. destruct (rigid g s t v Hg HS) as [HG HL]. destruct HS as (Hs & E & G & S).
  pose (zs := filter (fun b => if Req_EM_T (v (next b (s b))) (v (next b (negb (s b))))
    then true else false) bs).
  assert (Hzs : forall b, In b zs <-> In b bs /\ v (next b (s b)) = v (next b (negb (s b)))).
  { intros b. unfold zs. rewrite filter_In. destruct (Req_EM_T _ _); intuition discriminate. }
  assert (Hgr : forall s', (forall b, ~ In b zs -> s' b = s b) -> greedy P s' v).
  { intros s' Hs' b Hb. destruct (classic (In b zs)) as [Hz|Hz].
    - apply Hzs in Hz as [_ Hz]. destruct (s' b), (s b); simpl in *; lra.
    - rewrite Hs' by auto. apply G; auto. }
  destruct (restricted P OK (fun x => e * c1 x) zs s) as (S' & w & a & Ha & Ea & Ga).
  { intros b Hb. apply Hzs in Hb. tauto. } { intros s' Hs'. apply one_class, HG, Hgr; auto. }
  destruct (list_near _ bs (fun b u => v (next b (a b)) + u * w (next b (a b))
    <= v (next b (negb (a b))) + u * w (next b (negb (a b)))))
    as (d1 & Hd1 & Hq1).
  { intros b Hb. destruct (classic (In b zs)) as [Hz|Hz].
    - exists 1. split; [lra|]. intros u Hu. specialize (Ga b Hz). apply Hzs in Hz as [_ Hz].
      assert (u * w (next b (a b)) <= u * w (next b (negb (a b)))) by (apply Rmult_le_compat_l;
        lra).
      assert (v (next b (a b)) = v (next b (negb (a b)))) by (destruct (a b), (s b); simpl in *;
        lra). lra.
    - assert (Hlt : v (next b (s b)) < v (next b (negb (s b)))).
      { destruct (G b Hb) as [?|Heq]; [auto|]. exfalso. apply Hz, Hzs. auto. }
      rewrite (Ha b Hz). destruct (near (v (next b (negb (s b))) - v (next b (s b)))
        (w (next b (negb (s b))) - w (next b (s b)))) as (d & Hd & Hq); [lra|].
      exists d. split; [auto|]. intros u Hu. specialize (Hq u Hu). lra. }
  destruct (list_near _ stars (fun j u => let '(x, y, z) :=
    j in 0 <= (v x + u * w x) - 2 * (v y + u * w y) + (v z + u * w z))) as (d2 & Hd2 & Hq2).
  { intros [[x y] z] Hj. destruct (near (v x - 2 * v y + v z) (w x - 2 * w y + w z))
      as (d & Hd & Hq); [apply HL; auto|].
    exists d. split; [auto|]. intros u Hu. specialize (Hq u Hu). lra. }
  exists (Rmin d1 d2). split; [now apply Rmin_pos|]. intros u Hu. pose proof (Rmin_l d1 d2).
  pose proof (Rmin_r d1 d2).
  exists a, (t + u * S'), (fun x => v x + u * w x). split; [|split; [|split]].
  - apply HG, Hgr, Ha.
  - intros x Hx. rewrite L_lin. specialize (E x Hx). specialize (Ea x Hx).
    rewrite (L_ext a s v x Hx).
    + unfold cost in *. assert (u * (S' + L P a w x) = u * (e * c1 x)) by (rewrite Ea; ring). lra.
    + intros b Hb. destruct (classic (In b zs)) as [Hz|Hz]; [|now rewrite Ha].
      apply Hzs in Hz as [_ Hz]. destruct (a b), (s b); simpl in *; lra.
  - intros b Hb. apply Hq1; auto. lra.
  - intros x y z Hj. apply (Hq2 u ltac:(lra) (x, y, z) Hj).
Qed.
End OpenWeights.
