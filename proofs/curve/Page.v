(** [curve-page]: a page more costs less than a loss, [V (q+1) r - V q r < 1],
   for every solution. *)
From Curve Require Export Known.

Section Page.
Context {M : Model} {S : Solution}.

(* curve-page, for every solution *)
Lemma page_below_loss q r q1 : (0 <= q < K)%Z -> (0 <= r <= N)%Z -> (0 < q + r)%Z ->
  q1 = (q + 1)%Z -> V q1 r - V q r < 1.
Proof.
  intros Hq Hr Hqr ->. pose proof gam0. pose proof HN; pose proof HK.
  destruct (grid_max (fun q r => (0 < q + r)%Z) (fun q r => V (q + 1) r - V q r) (fun q r =>
    q) 0 (K - 1) 0 N)
    as (a & b & Ha & Hb & Hab & Hm).
  { intros; lia. } { exists q, r; lia. }
  apply Rnot_le_lt. intros L.
  assert (HE : forall q' r' q1, q1 = (q' + 1)%Z -> (0 <= q' < K)%Z -> (0 <= r' <= N)%Z ->
    (0 < q' + r')%Z -> V q1 r' - V q' r' <= V (a + 1) b - V a b).
  { intros q' r' q1 -> ? ? ?. destruct (Hm q' r') as [?|[? ?]]; try lia; lra. }
  assert (L' : 1 <= V (a + 1) b - V a b) by (specialize (HE q r (q+1)%Z); feed specialize HE; lra).
  clear L Hq Hr Hqr q r.
  (* no difference of U is larger *)
  assert (HU : forall q' r' q1, q1 = (q' + 1)%Z -> (0 <= q' <= K)%Z -> (0 <= r' <= N)%Z ->
    U q1 r' - U q' r' <= V (a + 1) b - V a b).
  { intros q' r' q1 -> ? ?. destruct (Z.eq_dec q' K) as [->|]; [rewrite (UK r') by lia; lra|].
    destruct (Ucase q' r') as (c & ? & ? & ? & Hc & Hc'); try lia. rewrite Hc.
    specialize (Hc' (q' + 1)%Z); feed specialize Hc'.
    specialize (HE q' c (q'+1)%Z); feed specialize HE. lra. }
  feed pose proof (EQ a b (a-1) (a+1) (b-1)) as E1.
  feed pose proof (EQ (a+1) b a (a+2) (b-1)) as E2.
  assert (HUl : lam b * (U (a + 2) (b - 1) - U (a + 1) (b - 1)) <= lam b * (V (a + 1) b - V a b)).
  { destruct (Z.eq_dec b 0) as [->|]; [rewrite lam0; lra|].
    apply Rmult_le_compat_l; [apply lam_nn; lia|apply HU; lia]. }
  destruct (Z.eq_dec a 0) as [->|].
  - rewrite Um in E1 by lia. feed pose proof (Ule 0 b) as L1. simpl in *. lra.
  - destruct (Ucase (a - 1) b) as (c & ? & ? & ? & Hc & Hc'); try lia.
    specialize (Hc' a); feed specialize Hc'.
    rewrite Hc in *. destruct (Hm (a - 1)%Z c) as [Lm|[_ Lm]]; try lia.
    replace (a - 1 + 1)%Z with a in Lm by lia. lra.
Qed.
End Page.
