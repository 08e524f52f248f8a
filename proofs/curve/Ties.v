(** [curve-ties]: with a curved solution every policy that is greedy for it is the policy of a
   curve. *)
From Curve Require Export Class.
Local Arguments nxt : simpl never.

Section Ties.
Variables (N K : Z) (l : R).
Hypothesis HN : (1 <= N)%Z.
Hypothesis HK : (1 <= K)%Z.
Hypothesis Hl : 0 < l.
Notation ctl := (ctl N K l).
Notation gcost := (cost ctl (c0 K l) c1).
Notation solves1 g := (solves N K l 1 g).
Notation OK := (ctl_ok N K l HN HK Hl).
Notation inb := (inb N K l HN HK). Notation curve := (curve N K). Notation good := (good N K).

Definition stars : list ((Z * Z) * (Z * Z) * (Z * Z)) := map (fun r =>
  (((0, r + 2), (0, r + 1)), (0, r))%Z) (zrange K (Z.to_nat (N - 1 - K))).
Lemma in_stars a b c : In (a, b, c) stars <-> exists r, (K <= r <= N - 2)%Z /\ a = (0, r + 2)%Z /\
  b = (0, r + 1)%Z /\ c = (0%Z, r).
Proof.
  unfold stars. rewrite in_map_iff. split.
  - intros (r & E & Hr). apply in_zrange in Hr. exists r. injection E as <- <- <-.
    repeat split; lia.
  - intros (r & Hr & -> & -> & ->). exists r. split; [reflexivity|]. apply in_zrange. lia.
Qed.
Lemma stars_ok a b c : In (a, b, c) stars -> ok ctl a /\ ok ctl b /\ ok ctl c.
Proof. intros H. apply in_stars in H as (r & Hr & -> & -> & ->). simpl. lia. Qed.

Notation shaped := (shaped ctl (c0 K l) c1 good stars).

(* a shaped solution is curved *)
Lemma curved_of g s t v : 0 < g -> shaped g s t v -> exists f, curve f /\
  @Curved (mdl N K l g t (cur v)) {| Curved.f := f |}.
Proof.
  intros Hg (Gs & E & G & S). destruct Gs as (f & Hf & Hs). exists f. split; [auto|].
  destruct Hf as (Fr & FN & Fm & Fl).
  pose proof (shaped_solves N K l HN HK s v g t E G) as Sol. constructor; simpl.
  - apply solution_of; auto.
  - auto.
  - intros r ->. auto.
  - auto.
  - auto.
  - intros q r r1 -> Hq Hr Hqr Hon. rewrite !Vx_in by lia.
    assert (Hb : box N K q r) by (unfold box; lia). apply Hs in Hon; [|auto].
    specialize (G (q, r)). cbn [next Robots.ctl] in G. rewrite !(next_box N K) in G by auto.
    rewrite Hon in G. simpl in G. apply G. apply inb; lia.
  - intros q r r1 -> Hq Hr Hoff. rewrite !Vx_in by lia.
    assert (Hb : box N K q r) by (specialize (Fl r Hr); unfold box; lia).
    specialize (G (q, r)). cbn [next Robots.ctl] in G. rewrite !(next_box N K) in G by auto.
    destruct (s (q, r)) eqn:Es; [apply Hs in Es; [lia|auto]|]. simpl in G. apply G. apply inb; lia.
  - intros r r1 r2 -> -> Hr _. rewrite !Vx_in by lia.
    specialize (S (0, r + 2)%Z (0, r + 1)%Z (0%Z, r)). unfold cur.
    assert (0 <= v (0, r + 2)%Z - 2 * v (0, r + 1)%Z + v (0%Z, r)); [|lra]. apply S. apply in_stars.
    exists r. auto.
Qed.

(* what is known of a curved solution, without the curve *)
Definition ordered (V : Z -> Z -> R) : Prop :=
  (forall q r, box N K q r -> (q + r < K)%Z -> d V q r < 0) /\
  (forall q r, box N K q r -> (K <= q + r)%Z -> (q < K)%Z -> d V q r < d V (q + 1) r) /\
  (forall q r, box N K q r -> (K <= q + r)%Z -> (r <= N - 2)%Z -> d V q r <= d V q (r + 1) /\
    ((q < K)%Z -> d V q r < d V q (r + 1))) /\
  (forall r, (0 <= r <= N - 2)%Z -> ~ (d V K r = 0 /\ d V K (r + 1) = 0)).

Lemma ordered_of g t V f : @Curved (mdl N K l g t V) {| Curved.f := f |} -> ordered V.
Proof.
  intros C. pose proof (linear_of N K l g t V) as Li. pose proof (@sol _ _ C) as So.
  assert (HV : forall q r, (q <= K)%Z -> V q r = @Model.V (mdl N K l g t V) q r) by (intros; simpl;
    now rewrite Vx_in).
  repeat split.
  - intros q r (Hq & Hr & Hqr) HT. unfold d. rewrite !HV by lia.
    pose proof (@early_start (mdl N K l g t V) So q r (r + 1)) as H. simpl in *.
    enough (Vx K V q (r + 1) < Vx K V q r) by lra. apply H; lia.
  - intros q r (Hq & Hr & Hqr) HT HqK. unfold d. rewrite !HV by lia.
    apply (@rows (mdl N K l g t V) {| Curved.f := f |} C); simpl; lia.
  - unfold d. destruct H as (Hq & Hr & Hqr). rewrite !HV by lia.
    pose proof (@columns (mdl N K l g t V) {| Curved.f := f |} C Li q r) as Hrho.
    unfold rho in Hrho. simpl in *. replace (r + 1 + 1)%Z with (r + 2)%Z by lia.
    enough (0 <= Vx K V q (r + 2) - 2 * Vx K V q (r + 1) + Vx K V q r) by lra. apply Hrho; lia.
  - intros HqK. unfold d. destruct H as (Hq & Hr & Hqr). rewrite !HV by lia.
    pose proof (@columns_strict (mdl N K l g t V) {| Curved.f := f |} C Li q r) as Hrho.
    unfold rho in Hrho. simpl in *. replace (r + 1 + 1)%Z with (r + 2)%Z by lia.
    enough (0 < Vx K V q (r + 2) - 2 * Vx K V q (r + 1) + Vx K V q r) by lra. apply Hrho; lia.
  - intros r Hr [H1 H2]. unfold d in *. rewrite !HV in H1, H2 by lia.
    apply (@no_tie_at_full_queue (mdl N K l g t V) {| Curved.f := f |} C Li r (r+1) (r+2)); auto;
      simpl in *; try lra.
    replace (r + 1 + 1)%Z with (r + 2)%Z in H2 by lia. lra.
Qed.

(* curve-ties: each policy that starts where d < 0 and not where d > 0 is a curve *)
Lemma ties_are_curves V (s : Z * Z -> bool) : ordered V -> (forall q r, box N K q r ->
  (d V q r < 0 -> s (q, r) = true) /\ (0 < d V q r -> s (q, r) = false)) -> good s.
Proof.
  intros (O1 & O2 & O3 & O4) Hs.
  pose (on := fun q r => (s (q, r) || ((q =? 0) && (r =? 0))%Z)%bool).
  assert (Hbox : forall q r, box N K q r -> (on q r = true <-> s (q, r) = true)).
  { intros q r (Hq & Hr & Hqr). unfold on.
    destruct (Z.eqb_spec q 0); destruct (Z.eqb_spec r 0); try lia; rewrite ?orb_false_r; tauto. }
  assert (Hlow : forall q r, (0 <= q <= K)%Z -> (0 <= r < N)%Z -> (q + r < K)%Z -> on q r = true).
  { intros q r Hq Hr HT. destruct (Z.eq_dec (q + r) 0).
    - unfold on. replace q with 0%Z by lia. replace r with 0%Z by lia. apply orb_true_r.
    - apply Hbox; [unfold box; lia|]. apply Hs; [unfold box; lia|]. apply O1; unfold box; lia. }
  assert (Hsign : forall q r, box N K q r -> on q r = true -> d V q r <= 0).
  { intros q r Hb Ho. apply Hbox in Ho; auto. apply Rnot_lt_le. intros Hp. apply Hs in Hp; auto.
    congruence. }
  assert (Hneg : forall q r, box N K q r -> d V q r < 0 -> on q r = true).
  { intros q r Hb Hd. apply Hbox; auto. apply Hs; auto. }
  assert (Hrow : forall q r, (0 <= q < K)%Z -> (0 <= r < N)%Z -> on (q + 1)%Z r = true ->
    on q r = true).
  { intros q r Hq Hr Ho. destruct (Z_lt_ge_dec (q + r) K); [apply Hlow; lia|].
    apply Hneg; [unfold box; lia|].
    pose proof (Hsign (q + 1)%Z r ltac:(unfold box; lia) Ho).
    pose proof (O2 q r ltac:(unfold box; lia) ltac:(lia) ltac:(lia)). lra. }
  assert (Hcol : forall q r, (0 <= q <= K)%Z -> (0 <= r < N - 1)%Z -> on q (r + 1)%Z = true ->
    on q r = true).
  { intros q r Hq Hr Ho. destruct (Z_lt_ge_dec (q + r) K); [apply Hlow; lia|].
    apply Hneg; [unfold box; lia|].
    pose proof (Hsign q (r + 1)%Z ltac:(unfold box; lia) Ho).
    destruct (O3 q r ltac:(unfold box; lia) ltac:(lia) ltac:(lia)) as [H1 H2].
    destruct (Z.eq_dec q K) as [->|]; [|specialize (H2 ltac:(lia)); lra].
    destruct (Req_dec (d V K r) 0); [|lra]. exfalso. apply (O4 r ltac:(lia)). split; [auto|lra]. }
  pose (f := fun r => if (r =? N)%Z then (-1)%Z else last (fun q => on q r) (Z.to_nat (K + 1))).
  assert (Hf : forall r, (0 <= r < N)%Z -> (-1 <= f r <= K)%Z /\ forall q, (0 <= q <= K)%Z ->
    (on q r = true <-> (q <= f r)%Z)).
  { intros r Hr. unfold f. destruct (Z.eqb_spec r N); [lia|].
    destruct (last_spec (fun q => on q r) (Z.to_nat (K + 1))) as [L1 L2].
    - intros q Hq Ho Hlt. apply Hrow; auto; lia.
    - split; [lia|]. intros q Hq. apply L2. lia. }
  assert (FN : f N = (-1)%Z) by (unfold f; now rewrite Z.eqb_refl).
  exists f. split.
  - unfold curve. split; [|split; [auto|split]].
    + intros r Hr. destruct (Z.eq_dec r N) as [->|]; [lia|]. destruct (Hf r ltac:(lia)) as [H1 _].
      exact H1.
    + (* f does not rise *)
      assert (Hone : forall r, (0 <= r < N)%Z -> (f (r + 1) <= f r)%Z).
      { intros r Hr. destruct (Z.eq_dec (r + 1) N) as [->|]; [rewrite FN;
          destruct (Hf r Hr) as [H1 _]; lia|].
        destruct (Hf r Hr) as [H1 H2]. destruct (Hf (r + 1)%Z ltac:(lia)) as [H3 H4].
        destruct (Z_lt_ge_dec (f (r + 1)%Z) 0); [lia|]. apply H2; [lia|]. apply Hcol; try lia.
        apply H4; lia. }
      intros r r' Hr Hr'. revert r' Hr Hr'.
      intros r' [Hr0 Hr] Hr'. assert (HH : forall x, (r <= x <= N)%Z -> (f x <= f r)%Z); [|apply HH;
        lia].
      apply z_up. intros x Hx IH. destruct (Z.eq_dec x r) as [->|]; [lia|].
      specialize (IH (x - 1)%Z ltac:(lia)). specialize (Hone (x - 1)%Z ltac:(lia)).
      replace (x - 1 + 1)%Z with x in Hone by lia. lia.
    + intros r Hr. destruct (Hf r Hr) as [H1 H2]. destruct (Z_lt_ge_dec (K - 1 - r) 0); [lia|].
      apply H2; [lia|]. apply Hlow; lia.
  - intros q r Hb. rewrite <- Hbox by auto. destruct Hb as (Hq & Hr & _).
    destruct (Hf r Hr) as [_ H]. apply H; auto.
Qed.

Lemma greedy_signs s v : greedy ctl s v -> forall q r, box N K q r -> (d (cur v) q r < 0 ->
  s (q, r) = true) /\ (0 < d (cur v) q r -> s (q, r) = false).
Proof.
  intros G q r Hb. specialize (G (q, r)). cbn [next Robots.ctl] in G.
  rewrite !(next_box N K) in G by auto.
  assert (Hin : In (q, r) (bs ctl)) by (apply inb; unfold box in Hb; lia). specialize (G Hin).
  unfold d, cur. destruct (s (q, r)); simpl in G; split; intros; auto; lra.
Qed.

Lemma rigid g s t v : 0 < g -> shaped g s t v -> (forall s', greedy ctl s' v -> good s') /\
  star_lt ctl stars v.
Proof.
  intros Hg HS. destruct (curved_of g s t v Hg HS) as (f & Hf & C).
  pose proof (ordered_of g t (cur v) f C) as O. split.
  - intros s' G'. apply (ties_are_curves (cur v)); auto. apply (greedy_signs s' v G').
  - intros a b c H. apply in_stars in H as (r & Hr & -> & -> & ->). destruct O as (_ & _ & O3 & _).
    destruct (O3 0%Z r) as [_ H]; [unfold box; lia|lia|lia|]. specialize (H ltac:(lia)).
    unfold d, cur in H. replace (r + 1 + 1)%Z with (r + 2)%Z in H by lia. lra.
Qed.
End Ties.
