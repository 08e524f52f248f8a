(** An interval is connected: if one weight has a curved solution, so have all. *)
From Curve Require Export Open Closed.

Section AllWeights.
Variable P : control.
Hypothesis OK : control_ok P.
Variables c0 c1 : X P -> R.
Variable good : (B P -> bool) -> Prop.
Variable stars : list (X P * X P * X P).
Hypothesis stars_ok : forall a b c, In (a, b, c) stars -> ok P a /\ ok P b /\ ok P c.
Notation ok := (ok P). Notation bs := (bs P). Notation next := (next P).
Notation cost := (cost P c0 c1). Notation star_le := (star_le P stars).
Notation star_lt := (star_lt P stars). Notation shaped := (shaped P c0 c1 good stars).

Hypothesis good_ext : forall s s', (forall b, In b bs -> s b = s' b) -> good s -> good s'.
Hypothesis one_class : forall s, good s -> unichain P s.
(* the heart: shaped solutions have no neighbouring ties *)
Hypothesis rigid : forall g s t v, 0 < g -> shaped g s t v ->
  (forall s', greedy P s' v -> good s') /\ star_lt v.

Notation weights_open := (weights_open P OK c0 c1 good stars one_class rigid).
Notation weights_closed := (weights_closed P OK c0 c1 good stars stars_ok good_ext one_class).

(* from one weight to all *)
Theorem all_weights g0 : 0 < g0 -> (exists s t v, shaped g0 s t v) -> forall g, 0 < g ->
  exists s t v, shaped g s t v.
Proof.
  intros Hg0 H0 g Hg. destruct (Rle_lt_dec g0 g) as [Hle|Hlt].
  - apply (connected (fun g => exists s t v, shaped g s t v) g0 g); auto.
    + intros x Hx (s & t & v & HS). destruct (weights_open 1 x s t v) as (d & Hd & Hq); auto;
        [lra|].
      exists d. split; [auto|]. intros y Hy _. replace y with (x + (y - x) * 1) by ring. apply Hq.
      lra.
    + intros x Hx Hq. apply weights_closed. intros e He. destruct (Hq e He) as (y & Hy & _ & HS).
      exists y. split; [|auto].
      apply Rabs_def1; lra.
  - replace g with (- - g) by ring. apply (connected (fun y =>
      exists s t v, shaped (- y) s t v) (- g0) (- g)); auto; [lra|now rewrite Ropp_involutive| |].
    + intros x Hx (s & t & v & HS). destruct (weights_open (-1) (- x) s t v) as (d & Hd & Hq); auto;
        [lra|].
      exists d. split; [auto|]. intros y Hy _. replace (- y) with (- x + (y - x) * -1) by ring.
      apply Hq. lra.
    + intros x Hx Hq. apply weights_closed. intros e He. destruct (Hq e He) as (y & Hy & _ & HS).
      exists (- y). split; [|auto].
      apply Rabs_def1; lra.
Qed.
End AllWeights.
