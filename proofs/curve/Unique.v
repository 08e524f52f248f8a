(** [curve-unique]: if all greedy policies of a solution have one recurrent class, every solution is
    this one plus a constant. *)
From Curve Require Export Control.

Section Unique.
Variable P : control.
Hypothesis OK : control_ok P.
Notation X := (X P). Notation B := (B P). Notation ok := (ok P). Notation bs := (bs P).
Notation mu := (mu P). Notation nu := (nu P). Notation dep := (dep P). Notation arr := (arr P).
Notation next := (next P).
Notation L := (L P). Notation eval := (eval P). Notation greedy := (greedy P).
Notation half := (half P OK). Notation argmin := (argmin P OK). Notation fed_dep := (fed_dep P OK).
Notation fed_arr := (fed_arr P OK).
Notation closed := (closed P). Notation unichain := (unichain P). Notation fed := (fed P).

Lemma greedy_le s v s' b : greedy s v -> In b bs -> v (next b (s b)) <= v (next b (s' b)).
Proof. intros Hg Hb. specialize (Hg b Hb). destruct (s b), (s' b); simpl in *; lra. Qed.

(* a greedy policy bounds the cost of every policy *)
Lemma least_cost c t v s t' v' s' : eval c s t v -> greedy s v -> eval c s' t' v' -> t <= t'.
Proof.
  intros E G E'. destruct (half c s' t' v' s t v s' E' E) as [H _]; auto.
  - intros; lra.
  - intros b Hb. now apply greedy_le.
Qed.

(* uniqueness, where all greedy policies have one recurrent class *)
Lemma uniqueness c t v s t' v' s' : eval c s t v -> greedy s v -> (forall s, greedy s v ->
  unichain s) ->
  eval c s' t' v' -> greedy s' v' -> t' = t /\ forall x y, ok x -> ok y -> v' x - v x = v' y - v y.
Proof.
  intros E G HU E' G'.
  assert (Et : t' = t).
  { pose proof (least_cost c t v s t' v' s' E G E').
    pose proof (least_cost c t' v' s' t v s E' G' E). lra. }
  split; [auto|].
  destruct (argmin (fun y => v' y - v y)) as (p & Hp & Hmp). pose (m := v' p - v p).
  destruct (half c s' t' v' s t v s' E' E) as [_ H]; [intros; lra|intros b Hb;
    now apply greedy_le|]. specialize (H Et m Hmp).
  pose (a := fun b => if fed (fun y => v' y - v y) m b then s' b else s b).
  assert (Ga : greedy a v).
  { intros b Hb. unfold a. destruct (fed _ m b) eqn:F.
    - destruct (H b F) as (_ & Q & _). rewrite <- Q.
      apply (greedy_le s v (fun b => negb (s' b))); auto.
    - apply G; auto. }
  assert (C1 : closed a (fun x => v' x - v x = m)).
  { assert (C : forall b, fed (fun y => v' y - v y) m b = true ->
      v' (next b (a b)) - v (next b (a b)) = m).
    { intros b F. unfold a. rewrite F. apply H; auto. }
    intros x Hx Hxm. split; intros Hq; apply C; [apply fed_dep|apply fed_arr]; auto. }
  destruct (argmin (fun y => v y - v' y)) as (p' & Hp' & Hmp'). pose (m' := v p' - v' p').
  assert (C2 : closed a (fun x => v x - v' x = m')).
  { destruct (half c s t v s' t' v' a E E') as [_ H']; [intros b Hb; apply (greedy_le a v s);
      auto|intros b Hb; now apply greedy_le|].
    specialize (H' (eq_sym Et) m' Hmp'). intros x Hx Hxm.
    split; intros Hq; apply H'; [apply fed_dep|apply fed_arr]; auto. }
  destruct (HU a Ga _ _ (ex_intro _ p (conj Hp eq_refl)) (ex_intro _ p' (conj Hp' eq_refl)) C1 C2)
    as (z & Hz & Z1 & Z2).
  intros x y Hx Hy. pose proof (Hmp x Hx) as M1. pose proof (Hmp y Hy) as M2.
  pose proof (Hmp' x Hx) as M3. pose proof (Hmp' y Hy) as M4.
  fold m in M1, M2. fold m' in M3, M4. lra.
Qed.
End Unique.
