(** [curve-class]: the policy of a curve has one recurrent class;
   it contains (K, R), where R is the number
    of rows with f r = K. *)
From Curve Require Export Robots.

Fixpoint last (p : Z -> bool) (n : nat) : Z :=
  match n with O => (-1)%Z | S k => if p (Z.of_nat k) then Z.of_nat k else last p k end.

Lemma last_spec p n : (forall q, (0 <= q)%Z -> p (q + 1)%Z = true -> (q + 1 < Z.of_nat n)%Z ->
  p q = true) ->
  (-1 <= last p n < Z.of_nat n)%Z /\ forall q, (0 <= q < Z.of_nat n)%Z -> (p q = true <->
    (q <= last p n)%Z).
Proof.
  induction n as [|k IH]; intros Hd; [simpl; split; intros; lia|]. simpl last.
  destruct (p (Z.of_nat k)) eqn:E.
  - split; [lia|]. intros q Hq. split; [lia|]. intros _.
    assert (HA : forall x, (0 <= x <= Z.of_nat k)%Z -> p x = true); [|apply HA; lia].
    apply z_down. intros x Hx I. destruct (Z.eq_dec x (Z.of_nat k)) as [->|]; [auto|].
    apply Hd; [lia|apply I; lia|lia].
  - destruct IH as [I1 I2]; [intros; apply Hd; auto; lia|]. split; [lia|]. intros q Hq.
    destruct (Z.eq_dec q (Z.of_nat k)) as [->|].
    + rewrite E. split; [discriminate|lia].
    + apply I2. lia.
Qed.

Local Arguments nxt : simpl never.

Section Class.
Variables (N K : Z) (l : R).
Hypothesis HN : (1 <= N)%Z.
Hypothesis HK : (1 <= K)%Z.
Hypothesis Hl : 0 < l.
Notation ctl := (ctl N K l).
Notation gcost := (cost ctl (c0 K l) c1).
Notation solves1 g := (solves N K l 1 g).
Notation OK := (ctl_ok N K l HN HK Hl).

Lemma inb q r : In (q, r) (bs ctl) <-> (0 <= q <= K /\ 0 <= r <= N)%Z.
Proof. apply in_bs; auto. Qed.

Definition curve (f : Z -> Z) : Prop :=
  (forall r, 0 <= r <= N -> -1 <= f r <= K)%Z /\ f N = (-1)%Z /\ (forall r r', 0 <= r <= r' ->
    r' <= N -> f r' <= f r)%Z /\
  (forall r, 0 <= r < N -> K - 1 - r <= f r)%Z.
Definition good (s : Z * Z -> bool) : Prop := exists f, curve f /\ forall q r, box N K q r ->
  (s (q, r) = true <-> (q <= f r)%Z).

Lemma good_ext s s' : (forall b, In b (bs ctl) -> s b = s' b) -> good s -> good s'.
Proof.
  intros H (f & Hf & Hs). exists f. split; [auto|]. intros q r Hb.
  rewrite <- (H (q, r)); [apply Hs; auto|]. apply inb. unfold box in Hb. lia.
Qed.

(* every closed set contains (K, R) *)
Lemma class_top s f : curve f ->
  (forall q r, box N K q r -> (s (q, r) = true <-> (q <= f r)%Z)) ->
  exists R, (0 <= R <= N)%Z /\ (f R < K)%Z /\ (forall r, (0 <= r < R)%Z -> f r = K) /\
  forall A : Z * Z -> Prop, (exists x, ok ctl x /\ A x) -> closed ctl s A -> A (K, R).
Proof.
  intros (Fr & FN & Fm & Fl) Hs.
  (* the first row below the top *)
  destruct (grid_max (fun _ r => (f r < K)%Z) (fun _ _ => 0) (fun _ r =>
    r) 0 0 0 N) as (q0 & R & _ & HR & HfR & HRm).
  { intros; lia. } { exists 0%Z, N. lia. }
  assert (Hbelow : forall r, (0 <= r < R)%Z -> f r = K).
  { intros r Hr. pose proof (Fr r ltac:(lia)). destruct (Z.eq_dec (f r) K); [auto|].
    destruct (HRm 0%Z r) as [?|[? ?]]; try lia; lra. }
  assert (Hon : forall q r, (0 <= q <= K)%Z -> (0 <= r < N)%Z -> (q <= f r)%Z ->
    nxt N (q, r) (s (q, r)) = (q, (r + 1)%Z)).
  { intros q r Hq Hr Hf. destruct (Z.eq_dec (q + r) 0).
    - replace q with 0%Z by lia. replace r with 0%Z by lia. apply next_00; auto.
    - rewrite (next_box N K) by (unfold box; lia). destruct (s (q, r)) eqn:E; [reflexivity|].
      apply Hs in Hf; [congruence|unfold box; lia]. }
  assert (Hoff : forall q r, (0 <= q <= K)%Z -> (0 <= r < N)%Z -> (0 < q + r)%Z -> (f r < q)%Z ->
    nxt N (q, r) (s (q, r)) = (q, r)).
  { intros q r Hq Hr Hqr Hf. rewrite (next_box N K) by (unfold box; lia).
    destruct (s (q, r)) eqn:E; [|reflexivity]. apply Hs in E; [lia|unfold box; lia]. }
  exists R. split; [exact HR|]. split; [exact HfR|]. split; [exact Hbelow|].
  intros A ([q r] & [Hq Hr] & HA) HC. simpl in Hq, Hr.
  assert (Harr : forall q r, (0 <= q <= K)%Z -> (1 <= r <= N)%Z -> A (q, r) ->
    A (nxt N (Z.min (q + 1) K, r - 1)%Z (s (Z.min (q + 1) K, r - 1)%Z))).
  { intros x y Hx Hy HAx. destruct (HC (x, y)) as [_ H]; [simpl; lia|auto|]. simpl in H.
    replace (Z.max (y - 1) 0) with (y - 1)%Z in H by lia. apply H. apply lamz_pos; auto; lia. }
  assert (Hdep : forall q r, (0 <= q <= K)%Z -> (0 <= r <= N)%Z -> (0 < q \/ r = 0)%Z -> A (q, r) ->
    A (nxt N (Z.max (q - 1) 0, r)%Z (s (Z.max (q - 1) 0, r)%Z))).
  { intros x y Hx Hy Hxy HAx. destruct (HC (x, y)) as [H _]; [simpl; lia|auto|]. simpl in H.
    apply H.
    destruct (Z.eqb_spec x 0); destruct (Z.eqb_spec y 0); simpl; try lra. lia. }
  (* to a full queue *)
  assert (Hup : forall q, (0 <= q <= K)%Z -> forall r, (1 <= r <= N)%Z -> A (q, r) ->
    exists r', (0 <= r' <= N)%Z /\ A (K, r')).
  { apply (z_down (fun q => forall r, (1 <= r <= N)%Z -> A (q, r) -> exists r', (0 <= r' <= N)%Z /\
      A (K, r'))). intros x Hx IH y Hy HAx.
    destruct (Z.eq_dec x K) as [->|]; [exists y; split; [lia|auto]|].
    pose proof (Harr x y Hx Hy HAx) as Ha. replace (Z.min (x + 1) K) with (x + 1)%Z in Ha by lia.
    destruct (Z_le_gt_dec (x + 1) (f (y - 1)%Z)).
    - rewrite Hon in Ha by lia. replace (y - 1 + 1)%Z with y in Ha by lia.
      apply (IH (x + 1)%Z ltac:(lia) y); auto.
    - rewrite Hoff in Ha by lia. pose proof (Fl (y-1)%Z ltac:(lia)). destruct (Z.eq_dec (y - 1) 0).
      + replace (x + 1)%Z with K in Ha by lia. exists (y - 1)%Z. split; [lia|auto].
      + apply (IH (x + 1)%Z ltac:(lia) (y - 1)%Z); auto; lia. }
  assert (Htop : exists r', (0 <= r' <= N)%Z /\ A (K, r')).
  { destruct (Z.eq_dec r 0) as [->|].
    - destruct (Z.eq_dec q K) as [->|]; [exists 0%Z; split; [lia|auto]|].
      pose proof (Hdep q 0%Z ltac:(lia) ltac:(lia) ltac:(lia) HA) as Hd.
      pose proof (Fl 0%Z ltac:(lia)). rewrite Hon in Hd by lia.
      apply (Hup (Z.max (q - 1) 0) ltac:(lia) (0 + 1)%Z ltac:(lia) Hd).
    - apply (Hup q Hq r); auto; lia. }
  destruct Htop as (r' & Hr' & HA').
  (* and to row R *)
  assert (Hdown : forall y, (R <= y <= N)%Z -> A (K, y) -> A (K, R)).
  { apply (z_up (fun y => A (K, y) -> A (K, R))). intros y Hy IH HAy.
    destruct (Z.eq_dec y R) as [->|]; [auto|].
    pose proof (Harr K y ltac:(lia) ltac:(lia) HAy) as Ha.
    replace (Z.min (K + 1) K) with K in Ha by lia.
    pose proof (Fm R (y - 1)%Z ltac:(lia) ltac:(lia)). rewrite Hoff in Ha by lia.
    apply (IH (y - 1)%Z); auto; lia. }
  assert (Hrise : forall y, (0 <= y <= R)%Z -> A (K, y) -> A (K, R)).
  { apply (z_down (fun y => A (K, y) -> A (K, R))). intros y Hy IH HAy.
    destruct (Z.eq_dec y R) as [->|]; [auto|].
    pose proof (Hdep K y ltac:(lia) ltac:(lia) ltac:(lia) HAy) as Hd.
    replace (Z.max (K - 1) 0) with (K - 1)%Z in Hd by lia.
    pose proof (Hbelow y ltac:(lia)). rewrite Hon in Hd by lia.
    pose proof (Harr (K - 1)%Z (y + 1)%Z ltac:(lia) ltac:(lia) Hd) as Ha.
    replace (Z.min (K - 1 + 1) K) with K in Ha by lia. replace (y + 1 - 1)%Z with y in Ha by lia.
    rewrite Hon in Ha by lia. apply (IH (y + 1)%Z); auto; lia. }
  destruct (Z_le_gt_dec R r'); [apply (Hdown r'); auto; lia|apply (Hrise r'); auto; lia].
Qed.

(* curve-class: one recurrent class *)
Lemma one_class s : good s -> unichain ctl s.
Proof.
  intros (f & Hf & Hs) A A' HA HA' CA CA'.
  destruct (class_top s f Hf Hs) as (R & HR & _ & _ & HC). exists (K, R).
  split; [simpl; lia|]. split; [apply (HC A)|apply (HC A')]; auto.
Qed.
End Class.
