(** The sentence after the theorem: another optimal stationary policy can differ from the curve only
   in
    tied boxes, as far as boxes are concerned to which it returns again and again. *)
From Curve Require Import Grid Statement Optimal.
From Coq Require Import Classical.

Section Rivals.
Variables (N K : Z) (lambda mu gamma : R).
Hypothesis HN : (1 <= N)%Z.
Hypothesis HK : (1 <= K)%Z.
Hypothesis Hl : 0 < lambda.
Hypothesis Hm : 0 < mu.
Variable s : Z -> Z -> bool.
Let sigma (q r : Z) : R := ind (s q r).

(* the boxes that follow a state, and the state that a box leads to *)
Definition follows (q r a b : Z) : Prop := (0 < q /\ a = q - 1 /\ b = r \/ 0 < r /\
  a = Z.min (q + 1) K /\ b = r - 1)%Z.
Definition after (a b : Z) : Z * Z := if (b =? N)%Z then (a, b) else if ((a =? 0)
  && (b =? 0))%Z%bool then (0, 1)%Z else if s a b then (a, b + 1)%Z else (a, b).
(* a class: from each of its states the policy leads to each other *)
Definition stays (C : Z -> Z -> Prop) : Prop := forall q r a b, C q r -> follows q r a b ->
  C (fst (after a b)) (snd (after a b)).
Definition recurrent (C : Z -> Z -> Prop) : Prop :=
  (exists q r, C q r) /\ (forall q r, C q r -> state N K q r) /\ stays C /\
  forall C' : Z -> Z -> Prop, (exists q r, C' q r) -> (forall q r, C' q r -> C q r) -> stays C' ->
    forall q r, C q r -> C' q r.
(* theta is its cost there *)
Definition costs (C : Z -> Z -> Prop) (theta : R) : Prop := exists h : Z -> Z ->
  R, forall q r, C q r ->
  theta + (mu * ind (0 <? q)%Z + lambda * IZR r) * h q r
  = gamma * ind (q =? 0)%Z + lambda * IZR r * ind (q =? K)%Z + mu * ind (0 <? q)%Z * Pbox N sigma h
    (q - 1) r + lambda * IZR r * Pbox N sigma h (Z.min (q + 1) K) (r - 1).

Lemma sigma_01 a b : 0 <= sigma a b <= 1.
Proof. unfold sigma, ind. destruct (s a b); lra. Qed.

Lemma Pbox_after h a b : Pbox N sigma h a b = h (fst (after a b)) (snd (after a b)).
Proof. unfold Pbox, after. destruct (b =? N)%Z; [reflexivity|].
destruct ((a =? 0) && (b =? 0))%Z%bool; [reflexivity|]. unfold sigma, ind.
destruct (s a b); simpl; ring. Qed.

Theorem rivals theta V C : solves N K lambda mu gamma theta V -> recurrent C -> costs C theta ->
  forall q r a b, C q r -> follows q r a b -> box N K a b ->
    if s a b then d V a b <= 0 else 0 <= d V a b.
Proof.
  intros HV (Hex & HCs & HC & Hirr) (h & Hh).
  (* the least h - V in the class *)
  destruct (grid_max C (fun q r => - (h q r - V q r)) (fun _ _ =>
    0%Z) 0 K 0 N) as (q0 & r0 & Hq0 & Hr0 & HC0 & Hmin).
  { intros. apply classic. } { destruct Hex as (q & r & HC0). destruct (HCs q r HC0) as (? & ? & ?).
    exists q, r. auto. }
  set (m := h q0 r0 - V q0 r0) in *.
  assert (Hge : forall q r, C q r -> m <= h q r - V q r).
  { intros q r Hqr. destruct (HCs q r Hqr) as (? & ? & ?).
    destruct (Hmin q r) as [?|[? _]]; auto; unfold m in *; lra. }
  (* where it is least, it is least after each event, and the policy is greedy for V *)
  assert (Hstep : forall q r a b, C q r -> h q r - V q r = m -> follows q r a b ->
     h (fst (after a b)) (snd (after a b)) - V (fst (after a b)) (snd (after a b)) = m /\
       Pbox N sigma V a b = Ubox N V a b).
  { intros q r a b Hqr Hqm Hf. pose proof (HCs q r Hqr) as Hs. pose proof (HV q r Hs) as E.
    pose proof (Hh q r Hqr) as E'.
    destruct (event_weights N K lambda mu Hl Hm q r Hs) as (W1 & W2 & _).
    destruct Hs as (Hq & Hr & Hqr0).
    assert (T : forall x y w, 0 <= w -> (0 < w -> follows q r x y) ->
      0 <= w * ((Pbox N sigma h x y - Ubox N V x y) - m) /\
        (0 < w -> w * ((Pbox N sigma h x y - Ubox N V x y) - m) = 0 ->
          h (fst (after x y)) (snd (after x y)) - V (fst (after x y)) (snd (after x y)) = m /\
          Pbox N sigma V x y = Ubox N V x y)).
    { intros x y w Hw Hxy. destruct Hw as [Hw|<-]; [|split; [lra|intros; lra]]. specialize (Hxy Hw).
      pose proof (Hge _ _ (HC q r x y Hqr Hxy)) as G.
      pose proof (U_le_P N sigma V x y (sigma_01 x y)) as UP. pose proof (Pbox_after h x y).
      pose proof (Pbox_after V x y).
      split; [apply Rmult_le_pos; lra|]. intros _ Z. apply Rmult_integral in Z. split; lra. }
    assert (F1 : 0 < mu * ind (0 <? q)%Z -> follows q r (q - 1) r).
    { intros Hp. left. destruct (Z.ltb_spec 0 q); [lia|unfold ind in Hp; lra]. }
    assert (F2 : 0 < lambda * IZR r -> follows q r (Z.min (q + 1) K) (r - 1)).
    { intros Hp. right. split; [|auto]. apply lt_IZR. apply (Rmult_lt_reg_l lambda); [auto|]. lra. }
    destruct (T _ _ _ W1 F1) as [A1 B1]. destruct (T _ _ _ W2 F2) as [A2 B2].
    assert (E2 : mu * ind (0 <? q)%Z * ((Pbox N sigma h (q - 1) r - Ubox N V (q - 1) r) - m)
      + lambda * IZR r * ((Pbox N sigma h (Z.min (q + 1) K) (r - 1) - Ubox N V (Z.min (q + 1) K)
      (r - 1)) - m) = 0).
    { replace (h q r) with (V q r + m) in E' by lra. lra. }
    destruct Hf as [(Hp & -> & ->)|(Hp & -> & ->)].
    - apply B1; [|lra]. destruct (Z.ltb_spec 0 q); [unfold ind; lra|lia].
    - apply B2; [|lra]. apply Rmult_lt_0_compat; [auto|]. apply IZR_lt; lia. }
  assert (Hall : forall q r, C q r -> C q r /\ h q r - V q r = m).
  { apply (Hirr (fun q r => C q r /\ h q r - V q r = m)).
    - exists q0, r0. split; [auto|reflexivity].
    - tauto.
    - intros q r a b [Hqr Hqm] Hf. split; [apply (HC q r); auto|]. apply (Hstep q r a b Hqr Hqm Hf).
      }
  intros q r a b Hqr Hf Hb. destruct (Hall q r Hqr) as [_ Hqm].
  destruct (Hstep q r a b Hqr Hqm Hf) as [_ HP].
  destruct Hb as (Ha & Hbr & Hab). unfold Pbox, Ubox, sigma, ind in HP. unfold d.
  destruct (Z.eqb_spec b N); [lia|].
  destruct (Z.eqb_spec a 0); destruct (Z.eqb_spec b 0); cbn [andb] in HP; try lia;
    pose proof (Rmin_l (V a b) (V a (b + 1)%Z)); pose proof (Rmin_r (V a b) (V a (b + 1)%Z));
      destruct (s a b); lra.
Qed.
End Rivals.
