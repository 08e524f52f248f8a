(** A square linear system without kernel can be solved (Gaussian elimination). *)
From Coq Require Import Reals Lra Lia Arith.
Open Scope R_scope.

Fixpoint sum (n : nat) (g : nat -> R) : R :=
  match n with O => 0 | S k => sum k g + g k end.

Lemma sum_ext n g g' : (forall i, (i < n)%nat -> g i = g' i) -> sum n g = sum n g'.
Proof. induction n; simpl; intros H; [reflexivity|]. rewrite IHn, (H n) by auto. reflexivity. Qed.

Lemma sum_0 n g : (forall i, (i < n)%nat -> g i = 0) -> sum n g = 0.
Proof. induction n; simpl; intros H; [reflexivity|]. rewrite IHn, (H n) by auto. lra. Qed.

Lemma sum_plus n g g' : sum n (fun i => g i + g' i) = sum n g + sum n g'.
Proof. induction n; simpl; [lra|]. rewrite IHn; lra. Qed.

Lemma sum_scal n a g : sum n (fun i => a * g i) = a * sum n g.
Proof. induction n; simpl; [lra|]. rewrite IHn; lra. Qed.

(* one coordinate *)
Lemma sum_delta n k x : (k < n)%nat -> sum n (fun j => (if Nat.eqb j k then 1 else 0) * x j) = x k.
Proof.
  induction n; intros H; [lia|]. simpl. destruct (Nat.eqb_spec n k) as [->|].
  - rewrite sum_0; [lra|]. intros i Hi. destruct (Nat.eqb_spec i k); [lia|lra].
  - rewrite IHn by lia. lra.
Qed.

Definition mv (n : nat) (A : nat -> nat -> R) (x : nat -> R) (i : nat) : R := sum n (fun j =>
  A i j * x j).

Lemma nonzero_dec (n : nat) (g : nat -> R) : (exists i, (i < n)%nat /\
  g i <> 0) \/ forall i, (i < n)%nat -> g i = 0.
Proof.
  induction n as [|n [[i [Hi Hg]]|Hz]].
  - right; intros; lia.
  - left; exists i; auto.
  - destruct (Req_dec (g n) 0).
    + right. intros i Hi. destruct (Nat.eq_dec i n) as [->|]; auto. apply Hz; lia.
    + left; exists n; auto.
Qed.

Lemma solve : forall n A, (forall x, (forall i, (i < n)%nat -> mv n A x i = 0) ->
  forall j, (j < n)%nat -> x j = 0) ->
  forall b, exists x, forall i, (i < n)%nat -> mv n A x i = b i.
Proof.
  induction n as [|n IH]; intros A HA b.
  { exists (fun _ => 0). intros; lia. }
  destruct (nonzero_dec (S n) (fun i => A i n)) as [[p [Hp Hpn]]|Hz].
  2: { exfalso. assert (E : (if Nat.eqb n n then 1 else 0) = 0).
       { apply (HA (fun j => if Nat.eqb j n then 1 else 0)); [|lia]. intros i Hi.
         unfold mv. simpl. rewrite (Hz i) by auto. rewrite sum_0; [lra|].
         intros j Hj. destruct (Nat.eqb_spec j n); [lia|lra]. }
       rewrite Nat.eqb_refl in E. lra. }
  pose (pi := fun i => if Nat.eqb i p then n else i).
  pose (B := fun i j => A (pi i) j - A (pi i) n / A p n * A p j).
  (* the last unknown, from the pivot row with the right side c *)
  pose (ext := fun (c : R) (x : nat -> R) j => if Nat.eqb j n then (c - sum n (fun j =>
    A p j * x j)) / A p n else x j).
  assert (Hext : forall c x k, mv (S n) A (ext c x) k = sum n (fun j =>
    A k j * x j) + A k n * ((c - sum n (fun j => A p j * x j)) / A p n)).
  { intros c x k. unfold mv, ext. simpl. rewrite Nat.eqb_refl. f_equal. apply sum_ext. intros i Hi.
    destruct (Nat.eqb_spec i n); [lia|reflexivity]. }
  assert (Hp' : forall c x, mv (S n) A (ext c x) p = c) by (intros; rewrite Hext; field; auto).
  assert (HB : forall x i, mv n B x i = sum n (fun j =>
    A (pi i) j * x j) - A (pi i) n / A p n * sum n (fun j => A p j * x j)).
  { intros x i. unfold mv, B.
    rewrite (sum_ext n _ (fun j => A (pi i) j * x j + (- (A (pi i) n / A p n)) * (A p j * x j)))
      by (intros; ring).
    rewrite sum_plus, sum_scal. ring. }
  assert (Hrow : forall k, (k < S n)%nat -> k = p \/ exists i, (i < n)%nat /\ pi i = k).
  { intros k Hk. destruct (Nat.eq_dec k p); [now left|right]. unfold pi.
    destruct (Nat.eq_dec k n) as [->|].
    - exists p. rewrite Nat.eqb_refl. split; [lia|reflexivity].
    - exists k. destruct (Nat.eqb_spec k p); [lia|]. split; [lia|reflexivity]. }
  destruct (IH B) with (b := fun i => b (pi i) - A (pi i) n / A p n * b p) as [x Hx].
  { intros x Hx j Hj. assert (E : ext 0 x j = 0).
    { apply HA; [|lia]. intros k Hk. destruct (Hrow k Hk) as [->|[i [Hi <-]]]; [apply Hp'|].
      rewrite Hext. specialize (Hx i Hi). rewrite HB in Hx. 
      replace (sum n (fun j => A (pi i) j * x j)) with (A (pi i) n / A p n * sum n (fun j =>
        A p j * x j)) by lra. field; auto. }
    unfold ext in E. destruct (Nat.eqb_spec j n); [lia|exact E]. }
  exists (ext (b p) x). intros k Hk. destruct (Hrow k Hk) as [->|[i [Hi <-]]]; [apply Hp'|].
  rewrite Hext. specialize (Hx i Hi). rewrite HB in Hx.
  replace (sum n (fun j => A (pi i) j * x j)) with (b (pi i) - A (pi i) n / A p n * b p + A (pi i)
    n / A p n * sum n (fun j => A p j * x j)) by lra.
  field; auto.
Qed.
