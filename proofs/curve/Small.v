(** [curve-small]: for all small weights the lossless curve has a curved solution. *)
From Curve Require Export Ties.
Local Arguments nxt : simpl never.

Section Small.
Variables (N K : Z) (l : R).
Hypothesis HN : (1 <= N)%Z.
Hypothesis HK : (1 <= K)%Z.
Hypothesis Hl : 0 < l.
Notation ctl := (ctl N K l).
Notation gcost := (cost ctl (c0 K l) c1).
Notation solves1 g := (solves N K l 1 g).
Notation OK := (ctl_ok N K l HN HK Hl).
Notation inb := (inb N K l HN HK). Notation curve := (curve N K). Notation good := (good N K).
Notation stars := (stars N K). Notation shaped := (shaped ctl (c0 K l) c1 good stars).
Notation one_class := (one_class N K l HN HK Hl). Notation good_ext := (good_ext N K l HN HK).
Notation ordered := (ordered N K). Notation ordered_of := (ordered_of N K l).
Notation curved_of := (curved_of N K l HN HK Hl).
Notation greedy_signs := (greedy_signs N K l HN HK).
Notation ties_are_curves := (ties_are_curves N K HK). Notation rigid := (rigid N K l HN HK Hl).
Notation in_stars := (in_stars N K). Notation stars_ok := (stars_ok N K l HK).

(* small weights: the lossless curve *)
Definition f0 (r : Z) : Z := if (r =? N)%Z then (-1)%Z else Z.max (K - 1 - r) (-1).
Lemma f0_curve : curve f0.
Proof.
  unfold curve, f0. repeat split; intros; try (rewrite Z.eqb_refl; reflexivity).
  1,2: destruct (Z.eqb_spec r N); lia.
  - destruct (Z.eqb_spec r N); destruct (Z.eqb_spec r' N); lia.
  - destruct (Z.eqb_spec r N); lia.
Qed.
Definition s0 (b : Z * Z) : bool := (fst b + snd b <? K)%Z.
Lemma s0_good : good s0.
Proof.
  exists f0. split; [apply f0_curve|]. intros q r (Hq & Hr & Hqr). unfold s0, f0. simpl.
  destruct (Z.eqb_spec r N); [lia|].
  rewrite Z.ltb_lt. lia.
Qed.

Lemma small_curved : exists e, 0 < e /\ forall g, 0 < g < e -> exists t v, shaped g s0 t v /\
  forall q r, box N K q r -> (K <= q + r)%Z -> 0 < d (cur v) q r.
Proof.
  destruct (poisson ctl OK s0 (one_class s0 s0_good) c1) as (S & v1 & E1).
  pose (w := fun x : Z * Z => W K (lamz l) (fst x) (snd x)).
  pose proof (lamz0 l) as L0. pose proof (lamzS N l Hl) as LS.
  (* the part of the losses *)
  assert (Hw : forall q r, (0 <= q <= K)%Z -> (0 <= r <= N)%Z ->
    w (nxt N (q, r) (s0 (q, r))) = w (q, r)).
  { intros q r Hq Hr. unfold nxt. destruct (Z.eqb_spec r N); [reflexivity|]. unfold s0. simpl.
    assert (Hz : forall a b, (0 <= a)%Z -> (0 <= b <= N)%Z -> (a + b <= K)%Z ->
      w (a, b) = 0) by (intros; unfold w; simpl; apply (W_zero N); auto).
    destruct (Z.eqb_spec q 0); destruct (Z.eqb_spec r 0); simpl; destruct (Z.ltb_spec (q + r) K);
      try reflexivity; rewrite !Hz by lia; reflexivity. }
  assert (E0 : eval ctl (c0 K l) s0 0 w).
  { intros [q r] [Hq Hr]. unfold L. cbn [ctl mu nu dep arr next fst snd X B] in *.
    rewrite !Hw by lia. unfold c0, w. cbn [fst snd].
    pose proof (W_eq N K (lamz l) HK L0 LS q r (q - 1) (q + 1) (r - 1)
      Hq Hr eq_refl eq_refl eq_refl) as E.
    assert (Ea : lamz l r * W K (lamz l) (q + 1) (r - 1) = lamz l r * W K (lamz l) (Z.min (q + 1) K)
      (Z.max (r - 1) 0) + (if (q =? K)%Z then lamz l r else 0)).
    { destruct (Z.eq_dec r 0) as [->|]; [rewrite L0; destruct (q =? K)%Z; ring|].
      replace (Z.max (r - 1) 0) with (r - 1)%Z by lia.
      destruct (Z.eqb_spec q K) as [->|].
      - rewrite W_K by lia. replace (Z.min (K + 1) K) with K by lia. ring.
      - replace (Z.min (q + 1) K) with (q + 1)%Z by lia. ring. }
    destruct (Z.eqb_spec q 0) as [->|].
    - rewrite (W_m K (lamz l) (0 - 1)) in E by lia. change (Z.max (0 - 1) 0) with 0%Z.
      destruct (Z.eqb_spec r 0); cbn [andb negb]; lra.
    - cbn [andb]. replace (Z.max (q - 1) 0) with (q - 1)%Z by lia. lra. }
  (* the part of starvation, where q + r <= K *)
  assert (EQ0 : forall q r qm qp rm, (0 <= q)%Z -> (0 <= r <= N)%Z -> (0 < q + r <= K)%Z ->
    qm = (q - 1)%Z -> qp = (q + 1)%Z -> rm = (r - 1)%Z ->
     S + (1 + lamz l r) * cur v1 q r = U0 N K (cur v1) qm r + lamz l r * U0 N K (cur v1) qp rm).
  { intros q r qm qp rm Hq Hr HT -> -> ->. specialize (E1 (q, r)).
    assert (Hok : ok ctl (q, r)) by (simpl; lia). specialize (E1 Hok).
    unfold L in E1. cbn [ctl mu nu dep arr next fst snd X B] in E1.
    assert (Hv : forall a b, (0 <= a <= K)%Z -> (0 <= b <= N)%Z ->
      v1 (nxt N (a, b) (s0 (a, b))) = U0 N K (cur v1) a b).
    { intros a b Ha Hb. unfold nxt, U0, s0, cur. simpl. destruct (Z.eqb_spec a (-1)); [lia|].
      destruct (Z.eqb_spec b N) as [->|]; [rewrite Z.ltb_irrefl, andb_false_r; reflexivity|].
      destruct (Z.ltb_spec b N); [|lia].
      destruct (Z.eqb_spec a 0); destruct (Z.eqb_spec b 0); simpl; destruct (Z.ltb_spec (a + b) K);
        try reflexivity; try lia; subst; reflexivity. }
    rewrite !Hv in E1 by lia. unfold c1 in E1. cbn [fst snd] in E1.
    assert (Ea : lamz l r * U0 N K (cur v1) (Z.min (q + 1) K) (Z.max (r - 1) 0)
      = lamz l r * U0 N K (cur v1) (q + 1) (r - 1)).
    { destruct (Z.eq_dec r 0) as [->|]; [rewrite L0; ring|].
      replace (Z.max (r - 1) 0) with (r - 1)%Z by lia.
      replace (Z.min (q + 1) K) with (q + 1)%Z by lia. reflexivity. }
    destruct (Z.eqb_spec q 0) as [->|].
    - rewrite U0m by lia. destruct (Z.eqb_spec r 0); [lia|]. cbn [andb negb] in E1. unfold cur in *.
      lra.
    - cbn [andb] in E1. replace (Z.max (q - 1) 0) with (q - 1)%Z in E1 by lia. unfold cur in *. lra.
      }
  (* the signs of d for small weights *)
  destruct (list_near _ (bs ctl) (fun b g => 0 < g -> box N K (fst b) (snd b) ->
    if s0 b then d (cur (fun x => w x + g * v1 x)) (fst b) (snd b) <= 0 else 0 < d (cur (fun x =>
      w x + g * v1 x)) (fst b) (snd b))) as (e & He & Hq).
  { intros [q r] _. cbn [fst snd]. unfold d, cur. destruct (s0 (q, r)) eqn:Es.
    - exists 1. split; [lra|]. intros g Hg Hg0 (Hq & Hr & Hqr). unfold s0 in Es. simpl in Es.
      apply Z.ltb_lt in Es.
      pose proof (start_neg N K (lamz l) (cur v1) S HN HK L0 LS EQ0 q r (r + 1) ltac:(lia)
        ltac:(lia) ltac:(lia) eq_refl) as H. unfold cur in H.
      unfold w. cbn [fst snd]. rewrite !(W_zero N K (lamz l) HK L0 LS) by lia.
      assert (g * v1 (q, (r + 1)%Z) < g * v1 (q, r)) by (apply Rmult_lt_compat_l; lra). lra.
    - unfold s0 in Es. simpl in Es. apply Z.ltb_ge in Es.
      destruct (classic (box N K q r)) as [(Hq & Hr & Hqr)|Hb]; [|exists 1; split; [lra|]; intros;
        contradiction].
      destruct (W_robot N K (lamz l) HK L0 LS r ltac:(lia) q (r + 1)%Z eq_refl Hq) as [_ H].
      specialize (H Es).
      destruct (near (w (q, (r + 1)%Z) - w (q, r)) (v1 (q, (r + 1)%Z) - v1 (q, r)))
        as (e & He & Hq'); [unfold w; cbn [fst snd]; lra|].
      exists e. split; [auto|]. intros g Hg _ _. specialize (Hq' g Hg). lra. }
  exists e. split; [exact He|]. intros g [Hg Hge].
  pose (v := fun x => w x + g * v1 x).
  assert (E : eval ctl (gcost g) s0 (0 + g * S) v).
  { intros x Hx. unfold v. rewrite L_lin. unfold cost. rewrite <- (E0 x Hx), <- (E1 x Hx). ring. }
  assert (G : greedy ctl s0 v).
  { intros [q r] Hin. pose proof (Hq g ltac:(lra) (q, r) Hin Hg) as H. apply inb in Hin. simpl.
    destruct (Z.eq_dec r N) as [->|]; [rewrite !next_N; lra|]. destruct (Z.eq_dec (q + r) 0).
    - replace q with 0%Z by lia. replace r with 0%Z by lia. rewrite !next_00 by auto. lra.
    - assert (Hb : box N K q r) by (unfold box; lia). cbn [fst snd] in H. specialize (H Hb).
      rewrite !(next_box N K) by auto. unfold d, cur in H. fold v in H.
      change (fun x => w x + g * v1 x) with v in H. destruct (s0 (q, r)); simpl; unfold v; lra. }
  assert (P : forall q r, box N K q r -> (K <= q + r)%Z -> 0 < d (cur v) q r).
  { intros q r Hb HT. assert (Hin : In (q, r) (bs ctl)) by (apply inb; unfold box in Hb; lia).
    pose proof (Hq g ltac:(lra) (q, r) Hin Hg Hb) as H. cbn [fst snd] in H.
    destruct (s0 (q, r)) eqn:Es; [|exact H]. unfold s0 in Es. simpl in Es.
    apply Z.ltb_lt in Es. lia. }
  enough (HSh : shaped g s0 (0 + g * S) v) by (exists (0 + g * S), v; split; [exact HSh|exact P]).
  split; [apply s0_good|]. split; [auto|]. split; [auto|].
  (* the extra condition holds by curve-columns, as it is void for f0 *)
  pose proof (shaped_solves N K l HN HK s0 v g _ E G) as Sol.
  assert (C : @Curved (mdl N K l g (0 + g * S) (cur v)) {| Curved.f := f0 |}).
  { destruct f0_curve as (Fr & FN & Fm & Fl). constructor; simpl; auto.
    - apply solution_of; auto.
    - intros r ->. auto.
    - intros q r r1 -> Hq0 Hr Hqr Hon. rewrite !Vx_in by lia.
      assert (Hb : box N K q r) by (unfold box; lia).
      destruct (greedy_signs s0 v G q r Hb) as [H1 H2]. unfold d in H2.
      destruct s0_good as (_ & _ & _). apply Rnot_lt_le. intros Hlt.
      assert (Hs : s0 (q, r) = false) by (apply H2; lra). unfold s0 in Hs. simpl in Hs.
      apply Z.ltb_ge in Hs. unfold f0 in Hon. destruct (Z.eqb_spec r N); lia.
    - intros q r r1 -> Hq0 Hr Hoff. rewrite !Vx_in by lia. specialize (Fl r Hr).
      assert (Hb : box N K q r) by (unfold box; lia).
      destruct (greedy_signs s0 v G q r Hb) as [H1 H2]. unfold d in H1. apply Rnot_lt_le.
      intros Hlt.
      assert (Hs : s0 (q, r) = true) by (apply H1; lra). unfold s0 in Hs. simpl in Hs.
      apply Z.ltb_lt in Hs. unfold f0 in Hoff. destruct (Z.eqb_spec r N); lia.
    - intros r r1 r2 -> -> Hr H. unfold f0 in H. destruct (Z.eqb_spec (r + 1) N); lia. }
  pose proof (ordered_of g _ (cur v) f0 C) as (_ & _ & O3 & _).
  intros a b c H. apply in_stars in H as (r & Hr & -> & -> & ->).
  destruct (O3 0%Z r) as [_ H]; [unfold box; lia|lia|lia|]. specialize (H ltac:(lia)).
  unfold d, cur in H. replace (r + 1 + 1)%Z with (r + 2)%Z in H by lia. lra.
Qed.

Lemma some_weight : exists g, 0 < g /\ exists s t v, shaped g s t v.
Proof.
  destruct small_curved as (e & He & H). exists (e / 2). split; [lra|].
  destruct (H (e / 2)) as (t & v & HS & _); [lra|]. exists s0, t, v. exact HS.
Qed.
End Small.
