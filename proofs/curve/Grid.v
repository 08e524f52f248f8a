(** Tools: the largest value on a finite grid, at the least key; induction on integers, upwards and
    downwards; two tactics, [feed specialize] and [feed pose proof ... as ...], that discharge the
    hypotheses of a lemma by arithmetic. *)
From Coq Require Export ZArith Reals Lia Lra Psatz List.
Open Scope Z_scope.
Open Scope R_scope.

Ltac arith := first [ lia | lra | tauto | intuition lia ].
(* discharge the hypotheses of H that arithmetic proves *)
Ltac feed_hypotheses H :=
  repeat match type of H with
  | ?A -> _ => match type of A with Prop =>
      let h := fresh in assert (h : A) by arith; specialize (H h); clear h end
  end.
Tactic Notation "feed" "specialize" hyp(H) := feed_hypotheses H.
Tactic Notation "feed" "pose" "proof" constr(t) "as" ident(H) := pose proof t as H;
  feed_hypotheses H.

Section Finite.
Variable T : Type.
Variables (h : T -> R) (k : T -> Z).

(* the largest h, and among these the least k *)
Lemma list_max (l : list T) : l <> nil -> exists x, In x l /\
  forall y, In y l -> h y < h x \/ (h y = h x /\ (k x <= k y)%Z).
Proof.
  induction l as [|a l IH]; [congruence|intros _].
  destruct l as [|b l].
  - exists a; split; [now left|]. intros y [<-|[]]. right; split; [reflexivity|lia].
  - destruct IH as (x & Hx & Hm); [congruence|].
    destruct (total_order_T (h a) (h x)) as [[L|E]|G].
    + exists x; split; [now right|]. intros y [<-|Hy]; [now left|auto].
    + destruct (Z_le_gt_dec (k x) (k a)).
      * exists x; split; [now right|]. intros y [<-|Hy]; [right; auto|auto].
      * exists a; split; [now left|]. intros y [<-|Hy]; [right; split; [reflexivity|lia]|].
        destruct (Hm y Hy) as [?|[? ?]]; [left; lra|right; split; [lra|lia]].
    + exists a; split; [now left|]. intros y [<-|Hy]; [right; split; [reflexivity|lia]|].
      destruct (Hm y Hy) as [?|[? ?]]; left; lra.
Qed.
End Finite.

Definition zrange (a : Z) (n : nat) : list Z := map (fun i => (a + Z.of_nat i)%Z) (seq 0 n).

Lemma in_zrange a n x : In x (zrange a n) <-> (a <= x < a + Z.of_nat n)%Z.
Proof.
  unfold zrange. rewrite in_map_iff. split.
  - intros (i & <- & Hi). apply in_seq in Hi. lia.
  - intros Hx. exists (Z.to_nat (x - a)). split; [lia|]. apply in_seq. lia.
Qed.

Lemma list_dec (T : Type) (P : T -> Prop) (l : list T) :
  (forall x, P x \/ ~ P x) -> exists l', forall x, In x l' <-> (In x l /\ P x).
Proof.
  intros D. induction l as [|a l (l' & IH)].
  - exists nil. intros x; simpl; tauto.
  - destruct (D a).
    + exists (a :: l'). intros x; simpl. rewrite IH. intuition (subst; auto).
    + exists l'. intros x; simpl. rewrite IH. intuition (subst; auto). contradiction.
Qed.

Lemma grid_max (P : Z -> Z -> Prop) (h : Z -> Z -> R) (k : Z -> Z -> Z) (a b c d : Z) :
  (forall q r, P q r \/ ~ P q r) ->
  (exists q r, (a <= q <= b)%Z /\ (c <= r <= d)%Z /\ P q r) ->
  exists q r, (a <= q <= b)%Z /\ (c <= r <= d)%Z /\ P q r /\
    forall q' r', (a <= q' <= b)%Z -> (c <= r' <= d)%Z -> P q' r' ->
      h q' r' < h q r \/ (h q' r' = h q r /\ (k q r <= k q' r')%Z).
Proof.
  intros D (q0 & r0 & Hq0 & Hr0 & HP0).
  pose (L := list_prod (zrange a (Z.to_nat (b - a + 1))) (zrange c (Z.to_nat (d - c + 1)))).
  assert (HL : forall q r, In (q, r) L <-> ((a <= q <= b)%Z /\ (c <= r <= d)%Z)).
  { intros q r. unfold L. rewrite in_prod_iff, !in_zrange. lia. }
  destruct (list_dec _ (fun p => P (fst p) (snd p)) L) as (l & Hl).
  { intros [q r]; apply D. }
  destruct (list_max _ (fun p => h (fst p) (snd p)) (fun p =>
    k (fst p) (snd p)) l) as ([q r] & Hin & Hm).
  { intros E. assert (In (q0, r0) l) by (apply Hl; split; [apply HL; auto|auto]).
    rewrite E in *; contradiction. }
  apply Hl in Hin as [Hin HP]. apply HL in Hin as [Hq Hr]. simpl in *.
  exists q, r. repeat split; try tauto.
  intros q' r' Hq' Hr' HP'. apply (Hm (q', r')). apply Hl; split; [apply HL; auto|auto].
Qed.

(* the same in one dimension, for the least value at the least place *)
Lemma line_min (h : Z -> R) (a b : Z) : (a <= b)%Z ->
  exists q, (a <= q <= b)%Z /\ forall q', (a <= q' <= b)%Z -> h q < h q' \/ (h q = h q' /\
    (q <= q')%Z).
Proof.
  intros Hab.
  destruct (grid_max (fun _ _ => True) (fun q _ => - h q) (fun q _ =>
    q) a b 0 0) as (q & r & Hq & Hr & _ & Hm).
  - intros; tauto.
  - exists a, 0%Z; repeat split; lia.
  - exists q. split; [auto|]. intros q' Hq'.
    destruct (Hm q' 0%Z) as [?|[? ?]]; auto; [lia|left; lra|right; split; [lra|lia]].
Qed.

(* induction on integers, upwards from a and downwards from b *)
Lemma z_up (P : Z -> Prop) (a b : Z) :
  (forall r, (a <= r <= b)%Z -> (forall r', (a <= r' < r)%Z -> P r') -> P r) ->
    forall r, (a <= r <= b)%Z -> P r.
Proof.
  intros H r Hr.
  assert (forall n r, (a <= r <= b)%Z -> (r - a < Z.of_nat n)%Z -> P r) as G.
  { induction n as [|n IH]; intros r' Hr' Hn; [lia|]. apply H; [lia|]. intros; apply IH; lia. }
  apply (G (S (Z.to_nat (r - a)))); lia.
Qed.

Lemma z_down (P : Z -> Prop) (a b : Z) :
  (forall r, (a <= r <= b)%Z -> (forall r', (r < r' <= b)%Z -> P r') -> P r) ->
    forall r, (a <= r <= b)%Z -> P r.
Proof.
  intros H r Hr.
  assert (forall n r, (a <= r <= b)%Z -> (b - r < Z.of_nat n)%Z -> P r) as G.
  { induction n as [|n IH]; intros r' Hr' Hn; [lia|]. apply H; [lia|]. intros; apply IH; lia. }
  apply (G (S (Z.to_nat (b - r)))); lia.
Qed.
