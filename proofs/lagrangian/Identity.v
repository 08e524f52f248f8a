(** [lagrangian-identity]: The Lagrangian index of sources that are crawled at whole epochs: its closed form,
   and what every
    policy loses against the bound, epoch by epoch.

    [X k] is what a crawl brings k epochs after the last one;
      l is the charge for a crawl, g the gain and
    h the bias of one source under that charge, [index k] what a crawl at age k gains on waiting. *)
From Coq Require Import Reals List Lra Lia Arith.
Open Scope R_scope.

Fixpoint total (n : nat) (f : nat -> R) : R := match n with O => 0 | S k => total k f + f k end.
Lemma total_ext n f f' : (forall i, (i < n)%nat -> f i = f' i) -> total n f = total n f'.
Proof. induction n; simpl; intros H; [reflexivity|]. rewrite IHn, (H n) by auto. reflexivity. Qed.
Lemma total_plus n f f' : total n (fun i => f i + f' i) = total n f + total n f'.
Proof. induction n; simpl; [lra|]. rewrite IHn. lra. Qed.
Lemma total_minus n f f' : total n (fun i => f i - f' i) = total n f - total n f'.
Proof. induction n; simpl; [lra|]. rewrite IHn. lra. Qed.
Lemma total_scale n a f : total n (fun i => a * f i) = a * total n f.
Proof. induction n; simpl; [lra|]. rewrite IHn. lra. Qed.
Lemma total_swap n m (f : nat -> nat -> R) :
  total n (fun i => total m (f i)) = total m (fun j => total n (fun i => f i j)).
Proof.
  induction n; simpl; [|rewrite IHn, <- total_plus; reflexivity].
  induction m; simpl; [reflexivity|]. rewrite <- IHm. lra.
Qed.

Definition above (x : R) : R := Rmax x 0.
Definition below (x : R) : R := Rmax (- x) 0.

(* one source under a charge: h 1 = 0, and at age k a crawl earns X k - l and leads to age 1 *)
Record optimal (X : nat -> R) (l g : R) (h : nat -> R) : Prop := {
  start : h 1%nat = 0;
  bellman : forall k, (1 <= k)%nat -> h k + g = Rmax (X k - l) (h (S k))
}.
Definition index (X : nat -> R) (l : R) (h : nat -> R) (k : nat) : R := X k - l - h (S k).

(** ** What every policy loses *)
Section Identity.
Variables (n : nat) (X : nat -> nat -> R) (l : R) (g : nat -> R) (h : nat -> nat -> R).
Hypothesis opt : forall i, (i < n)%nat -> optimal (X i) l (g i) (h i).
(* a run of any policy: ages from 1 on, and who is crawled *)
Variables (age : nat -> nat -> nat) (crawled : nat -> nat -> bool).
Hypothesis age_start : forall i, (1 <= age i 0)%nat.
Hypothesis age_next : forall i t, age i (S t) = if crawled i t then 1%nat else S (age i t).

Definition loss (i t : nat) : R :=
  if crawled i t then below (index (X i) l (h i) (age i t)) else above (index (X i) l (h i)
    (age i t)).
Definition crawls (t : nat) : R := total n (fun i => if crawled i t then 1 else 0).
Definition reward (T : nat) : R :=
  total n (fun i => total T (fun t => if crawled i t then X i (age i t) else 0)).

Lemma age_pos i t : (1 <= age i t)%nat.
Proof. destruct t; [auto|]. rewrite age_next. destruct (crawled i t); lia. Qed.

Lemma one_epoch i t : (i < n)%nat ->
  loss i t - l * (if crawled i t then 1 else 0)
  = g i - (if crawled i t then X i (age i t) else 0) + h i (age i t) - h i (age i (S t)).
Proof.
  intros Hi. destruct (opt i Hi) as [H1 HB]. specialize (HB (age i t) (age_pos i t)).
  unfold loss, index, above, below. rewrite age_next.
  destruct (crawled i t); [rewrite H1|]; unfold Rmax in *;
    destruct (Rle_dec _ _) in HB; destruct (Rle_dec _ _); lra.
Qed.

(* with M crawls allowed, for every number of epochs and every policy: what is lost to the index,
   and
   the charge of crawls that are left out, are what the reward falls short of T times the bound *)
Theorem loss_identity M T :
  total T (fun t => total n (fun i => loss i t) + l * (M - crawls t))
  = INR T * (l * M + total n g) - reward T
    + total n (fun i => h i (age i 0)) - total n (fun i => h i (age i T)).
Proof.
  unfold reward. induction T as [|T IH].
  - simpl. rewrite (total_ext n (fun i => 0) (fun i => 0 * g i)) by (intros; lra).
    rewrite total_scale. lra.
  - rewrite S_INR. cbn [total]. rewrite IH. rewrite total_plus. unfold crawls at 1.
    assert (E : total n (fun i => loss i T) - l * total n (fun i => if crawled i T then 1 else 0)
      = total n g - total n (fun i => if crawled i T then X i (age i T) else 0)
        + total n (fun i => h i (age i T)) - total n (fun i => h i (age i (S T)))).
    { rewrite <- total_scale, <- total_minus.
      rewrite (total_ext n _ _ (fun i Hi => one_epoch i T Hi)).
      rewrite total_minus, total_plus, total_minus. reflexivity. }
    lra.
Qed.

Lemma loss_nonneg i t : 0 <= loss i t.
Proof. unfold loss, above, below. destruct (crawled i t); apply Rmax_r. Qed.

Lemma total_nonneg m f : (forall i, (i < m)%nat -> 0 <= f i) -> 0 <= total m f.
Proof. induction m; simpl; intros H; [lra|]. specialize (IHm ltac:(auto)). specialize (H m).
assert (0 <= f m) by auto. lra. Qed.

(* so no policy within the budget earns more than the bound, up to a constant *)
Corollary bound M T : 0 <= l -> (forall t, crawls t <= M) ->
  reward T <= INR T * (l * M + total n g)
    + total n (fun i => h i (age i 0)) - total n (fun i => h i (age i T)).
Proof.
  intros Hl HM. pose proof (loss_identity M T) as E.
  enough (0 <= total T (fun t => total n (fun i => loss i t) + l * (M - crawls t))) by lra.
  apply total_nonneg. intros t _. specialize (HM t).
  assert (0 <= total n (fun i => loss i t)) by (apply total_nonneg; intros; apply loss_nonneg).
  assert (0 <= l * (M - crawls t)) by (apply Rmult_le_pos; lra). lra.
Qed.
End Identity.

(** ** The closed form, for any content that fades *)
Section ClosedForm.
Variables (X : nat -> R) (l : R) (d : nat).
Definition rise (k : nat) : R := X (S k) - X k.
(* Whittle's index *)
Definition gamma (k : nat) : R := X k - INR k * rise k.
Hypothesis Hd : (1 <= d)%nat.
Hypothesis concave : forall k, (d <= k)%nat -> rise (S k) <= rise k.
(* d is the due age: the first at which Whittle's index is at least the charge *)
Hypothesis due : l <= gamma d.
Hypothesis early : forall k, (1 <= k < d)%nat -> gamma k < l.

Definition gain : R := (X d - l) / INR d.
Definition bias (k : nat) : R := if (k <=? d)%nat then gain * (INR k - 1) else X k - l - gain.

Lemma INR_pos k : (1 <= k)%nat -> 0 < INR k.
Proof. intros. apply lt_0_INR. lia. Qed.

Lemma gain_d : gain * INR d = X d - l.
Proof. unfold gain. field. apply Rgt_not_eq, INR_pos, Hd. Qed.

(* before the due age a crawl brings less than the gain of the wait *)
Lemma shortfall : forall j, (j < d)%nat -> X (d - j) - l <= gain * INR (d - j).
Proof.
  induction j as [|j IH]; intros Hj.
  - rewrite Nat.sub_0_r, gain_d. lra.
  - specialize (IH ltac:(lia)). set (k := (d - S j)%nat) in *.
    replace (d - j)%nat with (S k) in IH by (unfold k; lia).
    pose proof (early k ltac:(unfold k; lia)) as Hk. unfold gamma, rise in Hk.
    rewrite S_INR in IH. pose proof (INR_pos k ltac:(unfold k; lia)) as Hp.
    apply (Rmult_le_reg_l (INR k + 1)); [lra|].
    assert (INR k * (X (S k) - l) <= INR k * (gain * (INR k + 1))) by (apply Rmult_le_compat_l;
      lra).
    lra.
Qed.

Lemma rise_le_gain : forall k, (d <= k)%nat -> rise k <= gain.
Proof.
  intros k Hk. induction Hk as [|k Hk IH]; [|specialize (concave k Hk); lra].
  pose proof (INR_pos d Hd) as Hp. apply (Rmult_le_reg_r (INR d)); [auto|]. rewrite gain_d.
  unfold gamma in due. lra.
Qed.

Theorem closed_form : optimal X l gain bias /\
  (forall k, (1 <= k < d)%nat -> index X l bias k = X k - l - gain * INR k) /\
  (forall k, (d <= k)%nat -> index X l bias k = gain - rise k).
Proof.
  assert (HE : forall k, (k < d)%nat -> bias (S k) = gain * INR k).
  { intros k Hk. unfold bias. destruct (Nat.leb_spec (S k) d); [|lia]. rewrite S_INR. ring. }
  assert (HL : forall k, (d <= k)%nat -> bias (S k) = X (S k) - l - gain).
  { intros k Hk. unfold bias. destruct (Nat.leb_spec (S k) d); [lia|reflexivity]. }
  split; [split|split].
  - rewrite HE by lia. simpl. ring.
  - intros k Hk. destruct (le_lt_dec d k) as [H|H].
    + rewrite HL by auto. pose proof (rise_le_gain k H) as Hr. unfold rise in Hr.
      rewrite Rmax_left by lra. unfold bias. destruct (Nat.leb_spec k d) as [H'|]; [|lra].
      replace k with d by lia. pose proof gain_d. lra.
    + rewrite HE by auto. pose proof (shortfall (d - k) ltac:(lia)) as Hs.
      replace (d - (d - k))%nat with k in Hs by lia. rewrite Rmax_right by lra.
      destruct k as [|k]; [lia|]. rewrite HE by lia. rewrite S_INR. ring.
  - intros k Hk. unfold index. rewrite HE by lia. reflexivity.
  - intros k Hk. unfold index. rewrite HL by auto. unfold rise. ring.
Qed.

(* near the due age it is the excess of Whittle's index over the charge, divided by the due age *)
Corollary at_the_due_age : index X l bias d = (gamma d - l) / INR d /\
  ((2 <= d)%nat -> index X l bias (d - 1) = (gamma (d - 1) - l) / INR d).
Proof.
  destruct closed_form as (_ & HE & HL). pose proof (INR_pos d Hd) as Hp. pose proof gain_d as Hg.
  split.
  - rewrite HL by lia. apply (Rmult_eq_reg_r (INR d)); [|lra]. unfold Rdiv.
    rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. unfold gamma. lra.
  - intros H2. rewrite HE by lia. apply (Rmult_eq_reg_r (INR d)); [|lra]. unfold Rdiv.
    rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. unfold gamma, rise.
    replace (S (d - 1)) with d by lia. assert (En : INR d = INR (d - 1) + 1).
    { replace d with (S (d - 1)) at 1 by lia. apply S_INR. }
    assert (E : INR (d - 1) * (gain * INR d) = INR (d - 1) * (X d - l)) by (rewrite Hg;
      reflexivity).
    rewrite En in *. lra.
Qed.
End ClosedForm.
