(** [timetable-packing]: sources with gaps 2^j have phases with at most M crawls in every epoch if
   and
    only if the sum of their 2^-j is at most M.

    [c j] sources have the gap 2^j, and no gap is above 2^J; the sum is written in units of 2^-J.
    Two
    sources of the longest gap share a class of half that gap; so the longest gap can be halved. *)
From Coq Require Import List Arith Lia PeanoNat.
Import ListNotations.

(* g 0 + ... + g (n - 1) *)
Fixpoint total (n : nat) (g : nat -> nat) : nat := match n with 0 => 0 | S k => total k g + g k end.

(* crawls in epoch t of sources with the gap 2^j and these phases *)
Definition crawls (t j : nat) (phases : list nat) : nat :=
  length (filter (fun p => t mod 2 ^ j =? p) phases).

Definition fits (J M : nat) (c : nat -> nat) : Prop := exists phases : nat -> list nat,
  (forall j, j <= J -> length (phases j) = c j /\ forall p, In p (phases j) -> p < 2 ^ j) /\
  forall t, total (S J) (fun j => crawls t j (phases j)) <= M.

Lemma total_ext n g g' : (forall i, i < n -> g i = g' i) -> total n g = total n g'.
Proof. induction n; simpl; intros H; [reflexivity|]. rewrite IHn, (H n) by auto. reflexivity. Qed.
Lemma total_scale n a g : total n (fun i => a * g i) = a * total n g.
Proof. induction n; simpl; [lia|]. rewrite IHn. lia. Qed.
Lemma total_plus n g g' : total n (fun i => g i + g' i) = total n g + total n g'.
Proof. induction n; simpl; [lia|]. rewrite IHn. lia. Qed.
Lemma total_le n g b : (forall i, i < n -> g i <= b) -> total n g <= n * b.
Proof. induction n; simpl; intros H; [lia|]. specialize (IHn ltac:(auto)). specialize (H n). lia.
Qed.
Lemma total_app a b g : total (a + b) g = total a g + total b (fun i => g (a + i)).
Proof.
  induction b; [rewrite Nat.add_0_r; simpl; lia|]. rewrite Nat.add_succ_r. simpl. rewrite IHb. lia.
Qed.
Lemma total_swap n m (g : nat -> nat -> nat) :
  total n (fun i => total m (g i)) = total m (fun j => total n (fun i => g i j)).
Proof.
  induction n; simpl; [|rewrite IHn, <- total_plus; reflexivity].
  induction m; simpl; [reflexivity|]. rewrite <- IHm. reflexivity.
Qed.
Lemma total_one n k : k < n -> total n (fun i => if i =? k then 1 else 0) = 1.
Proof.
  induction n; intros H; [lia|]. simpl. destruct (Nat.eqb_spec n k) as [->|].
  - rewrite (total_ext _ _ (fun _ => 0)); [rewrite (total_ext _ _ (fun i => 0 * i)) by lia;
      rewrite total_scale; lia|].
    intros i Hi. destruct (Nat.eqb_spec i k); [lia|reflexivity].
  - rewrite IHn by lia. reflexivity.
Qed.

(* a class is met once in each of its gaps *)
Lemma count_class B p m : p < B -> total (m * B) (fun t => if t mod B =? p then 1 else 0) = m.
Proof.
  intros Hp. induction m; [reflexivity|]. simpl. rewrite Nat.add_comm, total_app, IHm.
  rewrite (total_ext B _ (fun i => if i =? p then 1 else 0)); [rewrite total_one by auto; lia|].
  intros i Hi. rewrite Nat.add_comm, Nat.mod_add by lia. rewrite Nat.mod_small by auto. reflexivity.
Qed.

Lemma crawls_cons t j p l : crawls t j (p :: l) = (if t mod 2 ^ j =? p then 1 else 0)
  + crawls t j l.
Proof. unfold crawls. simpl. destruct (_ =? p); reflexivity. Qed.
Lemma crawls_app t j l l' : crawls t j (l ++ l') = crawls t j l + crawls t j l'.
Proof. unfold crawls. rewrite filter_app, app_length. reflexivity. Qed.

Lemma crawls_le t j l : crawls t j l <= length l.
Proof.
  induction l as [|p l IH]; [reflexivity|]. rewrite crawls_cons. simpl. destruct (_ =? p); lia.
Qed.

Lemma two_pow_split J j : j <= J -> 2 ^ J = 2 ^ (J - j) * 2 ^ j.
Proof. intros. rewrite <- Nat.pow_add_r. f_equal. lia. Qed.

Lemma crawls_of_class J j l : j <= J -> (forall p, In p l -> p < 2 ^ j) ->
  total (2 ^ J) (fun t => crawls t j l) = length l * 2 ^ (J - j).
Proof.
  intros Hj. induction l as [|p l IH]; intros Hl.
  - simpl. rewrite (total_ext _ _ (fun i => 0 * i)) by reflexivity. rewrite total_scale. lia.
  - rewrite (total_ext _ _ (fun t => (if t mod 2 ^ j =? p then 1 else 0) + crawls t j l))
      by (intros; apply crawls_cons).
    rewrite total_plus, IH by (intros; apply Hl; now right).
    rewrite (two_pow_split J j Hj) at 1. rewrite count_class by (apply Hl; now left). simpl. lia.
Qed.

(* the two halves of a class *)
Definition halves (B : nat) (l : list nat) : list nat := flat_map (fun p => [p; p + B]) l.

Lemma halves_length B l : length (halves B l) = 2 * length l.
Proof. unfold halves. induction l; simpl; [reflexivity|]. rewrite IHl. lia. Qed.

Lemma halves_crawls t J l : (forall p, In p l -> p < 2 ^ J) ->
  crawls t (S J) (halves (2 ^ J) l) = crawls t J l.
Proof.
  intros Hl. induction l as [|p l IH]; [reflexivity|].
  change (halves (2 ^ J) (p :: l)) with (p :: p + 2 ^ J :: halves (2 ^ J) l).
  rewrite !crawls_cons, IH by (intros; apply Hl; now right). specialize (Hl p ltac:(now left)).
  assert (HB : 2 ^ J <> 0) by (apply Nat.pow_nonzero; lia).
  pose proof (Nat.mod_upper_bound t (2 ^ S J) ltac:(apply Nat.pow_nonzero; lia)) as Ha.
  assert (Hab : t mod 2 ^ J = (t mod 2 ^ S J) mod 2 ^ J).
  { change (2 ^ S J) with (2 * 2 ^ J). rewrite (Nat.mul_comm 2), Nat.mod_mul_r by lia.
    rewrite (Nat.mul_comm (2 ^ J) ((t / 2 ^ J) mod 2)), Nat.mod_add by auto.
    rewrite Nat.mod_mod by auto. reflexivity. }
  rewrite Hab. set (a := t mod 2 ^ S J) in *. change (2 ^ S J) with (2 * 2 ^ J) in Ha.
  destruct (le_lt_dec (2 ^ J) a) as [H|H].
  - assert (E : a mod 2 ^ J = a - 2 ^ J).
    { replace a with (a - 2 ^ J + 1 * 2 ^ J) at 1 by lia. rewrite Nat.mod_add by auto.
      apply Nat.mod_small. lia. }
    rewrite E. destruct (Nat.eqb_spec a p); destruct (Nat.eqb_spec a (p + 2 ^ J));
      destruct (Nat.eqb_spec (a - 2 ^ J) p); lia.
  - rewrite (Nat.mod_small a) by auto. destruct (Nat.eqb_spec a p);
      destruct (Nat.eqb_spec a (p + 2 ^ J)); lia.
Qed.

Lemma in_firstn (T : Type) n (x : T) l : In x (firstn n l) -> In x l.
Proof. intros H. rewrite <- (firstn_skipn n l). apply in_or_app. now left. Qed.

Lemma pack J : forall M c, total (S J) (fun j => c j * 2 ^ (J - j)) <= M * 2 ^ J -> fits J M c.
Proof.
  induction J as [|J IH]; intros M c Hc.
  - exists (fun _ => repeat 0 (c 0)). split.
    + intros j Hj. replace j with 0 by lia. rewrite repeat_length. split; [reflexivity|].
      intros p Hp. apply repeat_spec in Hp. subst. simpl. lia.
    + intros t. simpl in *. pose proof (crawls_le t 0 (repeat 0 (c 0))) as H.
      rewrite repeat_length in H. lia.
  - set (n := c (S J)). set (h := (n + 1) / 2).
    assert (Hh : n <= 2 * h <= n + 1).
    { unfold h. pose proof (Nat.div_mod (n + 1) 2 ltac:(lia)).
      pose proof (Nat.mod_upper_bound (n + 1) 2 ltac:(lia)). lia. }
    pose (c' := fun j => if j =? J then c J + h else c j).
    destruct (IH M c') as (ph & Hph & Hload).
    { assert (E2 : total (S J) (fun j => c j * 2 ^ (S J - j)) = 2 * total (S J) (fun j =>
        c j * 2 ^ (J - j))).
      { rewrite <- total_scale. apply total_ext. intros j Hj.
        replace (S J - j) with (S (J - j)) by lia. simpl. lia. }
      change (total (S (S J)) (fun j => c j * 2 ^ (S J - j)))
        with (total (S J) (fun j => c j * 2 ^ (S J - j)) + c (S J) * 2 ^ (S J - S J)) in Hc.
      rewrite E2, Nat.sub_diag in Hc. fold n in Hc. change (2 ^ S J) with (2 * 2 ^ J) in Hc.
      assert (E1 : total (S J) (fun j => c' j * 2 ^ (J - j)) = total (S J) (fun j =>
        c j * 2 ^ (J - j)) + h).
      { simpl. unfold c' at 2. rewrite Nat.eqb_refl, Nat.sub_diag. simpl.
        rewrite (total_ext J _ (fun j => c j * 2 ^ (J - j))); [lia|].
        intros j Hj. unfold c'. destruct (Nat.eqb_spec j J); [lia|reflexivity]. }
      rewrite E1. change (2 ^ 0) with 1 in Hc.
      replace (M * (2 * 2 ^ J)) with (2 * (M * 2 ^ J)) in Hc by ring. lia. }
    destruct (Hph J (le_n J)) as [HlJ HpJ]. unfold c' in HlJ. rewrite Nat.eqb_refl in HlJ.
    pose (rest := skipn (c J) (ph J)).
    assert (Hrest : forall p, In p rest -> p < 2 ^ J).
    { intros p Hp. apply HpJ. rewrite <- (firstn_skipn (c J) (ph J)). apply in_or_app. now right. }
    exists (fun j => if j =? S J then firstn n (halves (2 ^ J) rest)
                     else if j =? J then firstn (c J) (ph J) else ph j). split.
    + intros j Hj. destruct (Nat.eqb_spec j (S J)) as [->|].
      * split.
        -- rewrite firstn_length, halves_length. unfold rest. rewrite skipn_length. fold n. lia.
        -- intros p Hp. apply in_firstn in Hp. unfold halves in Hp.
           apply in_flat_map in Hp as (x & Hx & Hp).
           specialize (Hrest x Hx). simpl in *. lia.
      * destruct (Nat.eqb_spec j J) as [->|].
        -- split; [rewrite firstn_length; lia|]. intros p Hp. apply HpJ, (in_firstn _ (c J)), Hp.
        -- destruct (Hph j ltac:(lia)) as [H1 H2]. split; [|exact H2]. rewrite H1. unfold c'.
           destruct (Nat.eqb_spec j J); [lia|reflexivity].
    + intros t. specialize (Hload t). simpl in *. rewrite Nat.eqb_refl.
      destruct (Nat.eqb_spec J (S J)); [lia|]. rewrite ?Nat.eqb_refl.
      rewrite (total_ext J _ (fun j => crawls t j (ph j))).
      2: { intros j Hj. destruct (Nat.eqb_spec j (S J)); [lia|].
           destruct (Nat.eqb_spec j J); [lia|reflexivity]. }
      assert (E : crawls t J (ph J) = crawls t J (firstn (c J) (ph J)) + crawls t J rest).
      { rewrite <- crawls_app. unfold rest. now rewrite firstn_skipn. }
      pose proof (halves_crawls t J rest Hrest) as E'.
      rewrite <- (firstn_skipn n (halves (2 ^ J) rest)), crawls_app in E'. lia.
Qed.

Theorem powers_fit J M c : fits J M c <-> total (S J) (fun j => c j * 2 ^ (J - j)) <= M * 2 ^ J.
Proof.
  split; [|apply pack]. intros (ph & Hph & Hload).
  rewrite (total_ext (S J) _ (fun j => total (2 ^ J) (fun t => crawls t j (ph j)))).
  - rewrite <- total_swap. rewrite Nat.mul_comm. apply total_le. intros t _. apply Hload.
  - intros j Hj. destruct (Hph j ltac:(lia)) as [H1 H2]. rewrite crawls_of_class by (auto; lia).
    now rewrite H1.
Qed.
