(** The conjecture as the draft of 1999 puts it: two curves,
   one for departures and one for deliveries.

    After a departure from q >= 1 pages with r active robots the box is (q - 1, r);
      after a delivery of
    one of r robots to a queue of q it is (min(q + 1, K), r - 1). *)
From Curve Require Import Grid Statement SwitchingCurve.

Definition start (V : Z -> Z -> R) (q r : Z) : Prop := (q = 0 /\ r = 0)%Z \/ d V q r < 0.

Theorem draft N K lambda mu gamma theta V : (1 <= N)%Z -> (1 <= K)%Z -> 0 < lambda -> 0 < mu ->
  0 < gamma -> solves N K lambda mu gamma theta V ->
  exists phi0 phi1 : Z -> Z,
    (forall r, (0 <= r <= N - 2)%Z -> (phi0 (r + 1) <= phi0 r)%Z) /\
      (forall r, (1 <= r <= N - 1)%Z -> (phi1 (r + 1) <= phi1 r)%Z) /\ (K <= phi0 0)%Z /\
    (forall q r, (1 <= q <= K)%Z -> (0 <= r < N)%Z -> (start V (q - 1) r <-> (q <= phi0 r)%Z)) /\
    (forall q r, (0 <= q <= K)%Z -> (1 <= r <= N)%Z -> (start V (Z.min (q + 1) K) (r - 1) <->
      (q <= phi1 r)%Z)).
Proof.
  intros HN HK Hl Hm Hg H. destruct (the_switching_curve N K lambda mu gamma HN HK Hl Hm Hg)
    as [_ T].
  destruct (T theta V H) as (_ & _ & _ & _ & _ & _ & f & [Hf1 Hf2] & Hf & _).
  exists (fun r => f r + 1)%Z, (fun r => if (f (r - 1) =? K)%Z then K else f (r - 1) - 1)%Z.
  feed pose proof (Hf1 0%Z) as F0.
  split; [|split; [|split; [|split]]].
  - intros r Hr. pose proof (Hf2 r Hr). lia.
  - intros r Hr. feed pose proof (Hf2 (r - 1)%Z) as F1. replace (r - 1 + 1)%Z with r in F1 by lia.
    replace (r + 1 - 1)%Z with r by lia.
    feed pose proof (Hf1 r) as F2. destruct (Z.eqb_spec (f r) K);
      destruct (Z.eqb_spec (f (r - 1)%Z) K); lia.
  - lia.
  - intros q r Hq Hr. unfold start. destruct (Z.eq_dec (q - 1 + r) 0).
    + assert (q = 1%Z) by lia. assert (r = 0%Z) by lia. subst. split; intros; [lia|left; lia].
    + pose proof (Hf (q - 1)%Z r) as F1. assert (Hb : box N K (q - 1) r) by (unfold box; lia).
      feed specialize F1. split.
      * intros [?|?]; [lia|]. apply F1 in H0. lia.
      * intros. right. apply F1. lia.
  - intros q r Hq Hr. unfold start. feed pose proof (Hf1 (r - 1)%Z) as F2.
    pose proof (Hf (Z.min (q + 1) K) (r - 1)%Z) as F1.
    assert (Hb : box N K (Z.min (q + 1) K) (r - 1)) by (unfold box; lia). feed specialize F1. split.
    + intros [?|?]; [lia|]. apply F1 in H0. destruct (Z.eqb_spec (f (r - 1)%Z) K); lia.
    + intros. right. apply F1. destruct (Z.eqb_spec (f (r - 1)%Z) K); lia.
Qed.
