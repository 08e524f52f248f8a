(** All weights at once: solutions with a good policy, moved along the weight.

    [connected] is the only place where the completeness of the reals is used. *)
From Curve Require Export Unique.

Lemma connected (Q : R -> Prop) a b : a <= b -> Q a ->
  (forall x, a <= x < b -> Q x -> exists e, 0 < e /\ forall y, x <= y < x + e -> y <= b -> Q y) ->
  (forall x, a < x <= b -> (forall e, 0 < e -> exists y, x - e < y <= x /\ a <= y /\ Q y) -> Q x) ->
    Q b.
Proof.
  intros Hab Ha Hr Hl.
  pose (E := fun x => a <= x <= b /\ forall y, a <= y <= x -> Q y).
  assert (Ea : E a) by (split; [lra|]; intros y Hy; replace y with a by lra; auto).
  destruct (completeness E) as [m [Hub Hlub]].
  { exists b. intros x [Hx _]. lra. } { now exists a. }
  assert (Ham : a <= m) by (apply Hub; auto).
  assert (Hmb : m <= b) by (apply Hlub; intros x [Hx _]; lra).
  (* all before m *)
  assert (Hbefore : forall y, a <= y < m -> Q y).
  { intros y Hy. apply NNPP. intros HQ. assert (m <= y); [|lra]. apply Hlub. intros x [Hx Hq].
    apply Rnot_lt_le. intros Hlt. apply HQ, Hq. lra. }
  assert (Qm : Q m).
  { destruct (Req_dec m a) as [->|]; [auto|]. apply Hl; [lra|]. intros e He.
    exists (Rmax a (m - e / 2)).
    assert (Rmax a (m - e/2) < m) by (apply Rmax_lub_lt; lra). pose proof (Rmax_l a (m - e/2)).
    pose proof (Rmax_r a (m - e/2)).
    repeat split; try lra. apply Hbefore. lra. }
  destruct (Req_dec m b) as [<-|Hne]; [auto|]. exfalso.
  destruct (Hr m) as (e & He & Hq); [lra|auto|].
  pose (z := Rmin b (m + e / 2)). assert (m < z) by (apply Rmin_glb_lt; lra).
  pose proof (Rmin_l b (m + e/2)) as M1. pose proof (Rmin_r b (m + e/2)) as M2. fold z in M1, M2.
  assert (z <= m); [|lra]. apply Hub. split; [lra|]. intros y Hy.
  destruct (Rlt_le_dec y m); [apply Hbefore; lra|]. apply Hq; lra.
Qed.

(* finitely many conditions near a point *)
Lemma list_near (T : Type) (l : list T) (Q : T -> R -> Prop) :
  (forall x, In x l -> exists e, 0 < e /\ forall u, 0 <= u < e -> Q x u) -> exists e, 0 < e /\
    forall u, 0 <= u < e -> forall x, In x l -> Q x u.
Proof.
  induction l as [|a l IH]; intros H.
  - exists 1. split; [lra|]. intros u _ x [].
  - destruct IH as (e & He & Hq); [intros x Hx; apply H; now right|].
    destruct (H a) as (e' & He' & Hq'); [now left|].
    exists (Rmin e e'). split; [now apply Rmin_pos|].
    intros u Hu x [<-|Hx]; pose proof (Rmin_l e e'); pose proof (Rmin_r e e').
    + apply Hq'. lra.
    + apply Hq; auto. lra.
Qed.

Lemma near (a d : R) : 0 < a -> exists e, 0 < e /\ forall u, 0 <= u < e -> 0 < a + u * d.
Proof.
  intros Ha. pose proof (Rabs_pos d) as Hd. exists (a / (Rabs d + 1)).
  split; [apply Rdiv_lt_0_compat; lra|].
  intros u [Hu0 Hu]. apply (Rmult_lt_compat_r (Rabs d + 1)) in Hu; [|lra].
  replace (a / (Rabs d + 1) * (Rabs d + 1)) with a in Hu by (field; lra).
  assert (- (u * Rabs d) <= u * d) by (replace (- (u * Rabs d)) with (u * - Rabs d) by ring;
    apply Rmult_le_compat_l; [lra|]; pose proof (Rle_abs (- d)) as H; rewrite Rabs_Ropp in H; lra).
  lra.
Qed.

Section Weights.
Variable P : control.
Hypothesis OK : control_ok P.
Variables c0 c1 : X P -> R.
Variable good : (B P -> bool) -> Prop.
Variable stars : list (X P * X P * X P).
Notation ok := (ok P). Notation bs := (bs P). Notation next := (next P).

Definition cost (g : R) (x : X P) : R := c0 x + g * c1 x.
Definition star_le (v : X P -> R) : Prop := forall a b c, In (a, b, c) stars ->
  0 <= v a - 2 * v b + v c.
Definition star_lt (v : X P -> R) : Prop := forall a b c, In (a, b, c) stars ->
  0 < v a - 2 * v b + v c.
Definition shaped (g : R) (s : B P -> bool) (t : R) (v : X P -> R) : Prop :=
  good s /\ eval P (cost g) s t v /\ greedy P s v /\ star_le v.

Lemma L_ext s s' v x : ok x -> (forall b, In b bs -> v (next b (s b)) = v (next b (s' b))) ->
  L P s v x = L P s' v x.
Proof. intros Hx H. unfold L. rewrite (H (dep P x)), (H (arr P x)) by (apply (dep_in P OK)
  || apply (arr_in P OK); auto). reflexivity. Qed.
End Weights.
