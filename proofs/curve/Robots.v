(** The robots as a finite control problem (rates in units of mu), and back. *)
From Curve Require Export Grid Model Curved Columns Gentle Losses Lossless Control Unique Weights
  Statement.

Section Instance.
Variables (N K : Z) (l : R).
Hypothesis HN : (1 <= N)%Z.
Hypothesis HK : (1 <= K)%Z.
Hypothesis Hl : 0 < l.

Definition lamz (r : Z) : R := l * IZR r.
Lemma lamz0 : lamz 0 = 0. Proof. unfold lamz. simpl. ring. Qed.
Lemma lamzS r r' : (0 <= r < r')%Z -> (r' <= N)%Z -> lamz r < lamz r'.
Proof. intros. unfold lamz. apply Rmult_lt_compat_l; [auto|]. apply IZR_lt. lia. Qed.
Lemma lamz_nn r : (0 <= r)%Z -> 0 <= lamz r.
Proof. intros. unfold lamz. apply Rmult_le_pos; [lra|]. apply IZR_le. lia. Qed.
Lemma lamz_pos r : (1 <= r)%Z -> 0 < lamz r.
Proof. intros. unfold lamz. apply Rmult_lt_0_compat; [lra|]. apply IZR_lt. lia. Qed.

Definition Vx (V : Z -> Z -> R) (q r : Z) : R := if (q =? K + 1)%Z then V K r + 1 else V q r.
Lemma Vx_in V q r : (q <= K)%Z -> Vx V q r = V q r.
Proof. intros. unfold Vx. destruct (Z.eqb_spec q (K + 1)); [lia|reflexivity]. Qed.

Definition mdl (g t : R) (V : Z -> Z -> R) : Model :=
  {| Model.N := N; Model.K := K; Model.lam := lamz; Model.gam := g; Model.th := t; Model.V :=
    Vx V |}.

Lemma U_box g t V q r : (0 <= q <= K)%Z -> @U (mdl g t V) q r = Ubox N V q r.
Proof.
  intros. unfold U, Ubox. simpl. destruct (Z.eqb_spec q (-1)); [lia|]. rewrite !(Vx_in V q) by lia.
  rewrite (Vx_in V 0) by lia. reflexivity.
Qed.

Lemma U_box_K g t V r : @U (mdl g t V) (K + 1) r = Ubox N V K r + 1.
Proof.
  unfold U, Ubox. simpl. destruct (Z.eqb_spec (K + 1) (-1)); [lia|].
  destruct (Z.eqb_spec (K + 1) 0); [lia|]. destruct (Z.eqb_spec K 0); [lia|].
  simpl. unfold Vx. rewrite Z.eqb_refl. destruct (r =? N)%Z; [reflexivity|].
  unfold Rmin. destruct (Rle_dec (V K r + 1) (V K (r+1)%Z + 1));
    destruct (Rle_dec (V K r) (V K (r+1)%Z)); lra.
Qed.

Notation solves1 g := (solves N K l 1 g).

Lemma solution_of g t V : 0 < g -> solves1 g t V -> @Solution (mdl g t V).
Proof.
  intros Hg H. constructor; simpl; auto using lamz0, lamzS.
  - intros r qk ->. unfold Vx. rewrite Z.eqb_refl.
    destruct (Z.eqb_spec K (K + 1)); [lia|reflexivity].
  - intros q r qm qp rm Hq Hr Hqr -> -> ->. specialize (H q r). unfold state in H.
    feed specialize H. fold (lamz r) in H. rewrite Vx_in by lia.
    assert (E1 : lamz r * @U (mdl g t V) (q + 1) (r - 1)
      = lamz r * ind (q =? K)%Z + lamz r * Ubox N V (Z.min (q + 1) K) (r - 1)).
    { destruct (Z.eqb_spec q K) as [->|].
      - rewrite U_box_K. replace (Z.min (K + 1) K) with K by lia. simpl. ring.
      - rewrite U_box by lia. replace (Z.min (q + 1) K) with (q + 1)%Z by lia. simpl. ring. }
    rewrite E1. destruct (Z.eq_dec q 0) as [->|].
    + unfold U. simpl. rewrite Vx_in by lia. simpl in H. lra.
    + rewrite U_box by lia. destruct (Z.ltb_spec 0 q); [|lia]. destruct (Z.eqb_spec q 0); [lia|].
      simpl in *. lra.
Qed.

Lemma linear_of g t V : @Linear (mdl g t V).
Proof. constructor. simpl. intros r r1 r2 -> -> _ _. unfold lamz. rewrite !plus_IZR. ring. Qed.

(* the control problem; (0, 0) is a state of its own here, which nothing leads to *)
Definition nxt (b : Z * Z) (a : bool) : Z * Z :=
  let (q, r) := b in if (r =? N)%Z then (q, r) else if ((q =? 0) && (r =? 0))%Z%bool then (0,
    1)%Z else if a then (q, r + 1)%Z else (q, r).
Definition ctl : control := {|
  X := Z * Z; B := Z * Z;
  ok := fun x => (0 <= fst x <= K /\ 0 <= snd x <= N)%Z;
  size := Z.to_nat ((K + 1) * (N + 1));
  el := fun i => (Z.of_nat i / (N + 1), Z.of_nat i mod (N + 1))%Z;
  idx := fun x => Z.to_nat (fst x * (N + 1) + snd x);
  bs := list_prod (zrange 0 (Z.to_nat (K + 1))) (zrange 0 (Z.to_nat (N + 1)));
  beq := fun a b => ((fst a =? fst b) && (snd a =? snd b))%Z%bool;
  mu := fun x => if ((fst x =? 0) && negb (snd x =? 0))%Z%bool then 0 else 1;
  nu := fun x => lamz (snd x);
  dep := fun x => (Z.max (fst x - 1) 0, snd x);
  arr := fun x => (Z.min (fst x + 1) K, Z.max (snd x - 1) 0);
  next := nxt
|}.

Lemma in_bs q r : In (q, r) (bs ctl) <-> (0 <= q <= K /\ 0 <= r <= N)%Z.
Proof. simpl. rewrite in_prod_iff, !in_zrange. lia. Qed.

Lemma ctl_ok : control_ok ctl.
Proof.
  constructor.
  - simpl. intros i Hi. pose proof (Z.mod_pos_bound (Z.of_nat i) (N + 1)).
    pose proof (Z.div_mod (Z.of_nat i) (N + 1)).
    assert (Z.of_nat i < (K + 1) * (N + 1))%Z by lia.
    assert (0 <= Z.of_nat i / (N + 1))%Z by (apply Z.div_pos; lia).
    assert (Z.of_nat i / (N + 1) < K + 1)%Z by (apply Z.div_lt_upper_bound; lia).
    split; [lia|]. rewrite (Z.mul_comm _ (N + 1)). rewrite <- H0 by lia. apply Nat2Z.id.
  - simpl. intros [q r] [Hq Hr]. simpl in *.
    assert (0 <= q * (N + 1))%Z by (apply Z.mul_nonneg_nonneg; lia).
    assert (q * (N + 1) <= K * (N + 1))%Z by (apply Z.mul_le_mono_nonneg_r; lia). split; [lia|].
    rewrite Z2Nat.id by lia.
    f_equal; [rewrite Z.div_add_l by lia; rewrite Z.div_small by lia; lia|].
    rewrite Z.add_comm, Z.mod_add by lia. apply Z.mod_small; lia.
  - simpl. assert (1 * 1 <= (K + 1) * (N + 1))%Z by (apply Z.mul_le_mono_nonneg; lia). lia.
  - simpl. intros [a b] [c e]. simpl. rewrite andb_true_iff, !Z.eqb_eq.
    split; [intros [-> ->]; auto|intros E; injection E; auto].
  - simpl. intros x _. destruct ((fst x =? 0) && negb (snd x =? 0))%Z%bool; lra.
  - simpl. intros x [_ Hx]. apply lamz_nn. lia.
  - intros [q r] H. apply in_bs. simpl in *. lia.
  - intros [q r] H. apply in_bs. simpl in *. lia.
  - intros [q r] a H. apply in_bs in H. simpl. unfold nxt. destruct (Z.eqb_spec r N); [simpl; lia|].
    destruct (Z.eqb_spec q 0); destruct (Z.eqb_spec r 0); destruct a; simpl; lia.
Qed.

Definition c0 (x : Z * Z) : R := if (fst x =? K)%Z then lamz (snd x) else 0.
Definition c1 (x : Z * Z) : R := if (fst x =? 0)%Z then 1 else 0.
Definition cur (v : Z * Z -> R) (q r : Z) : R := v (q, r).
Notation gcost := (cost ctl c0 c1).

Lemma next_N q a : nxt (q, N) a = (q, N).
Proof. unfold nxt. rewrite Z.eqb_refl. reflexivity. Qed.
Lemma next_00 a : nxt (0, 0)%Z a = (0, 1)%Z.
Proof. unfold nxt. destruct (Z.eqb_spec 0 N); [lia|reflexivity]. Qed.
Lemma next_box q r a : box N K q r -> nxt (q, r) a = if a then (q, r + 1)%Z else (q, r).
Proof.
  unfold box, nxt. intros. destruct (Z.eqb_spec r N); [lia|].
  destruct (Z.eqb_spec q 0); destruct (Z.eqb_spec r 0); try reflexivity. lia.
Qed.

(* the value of the next state, under a greedy policy *)
Lemma next_U s v q r : greedy ctl s v -> (0 <= q <= K)%Z -> (0 <= r <= N)%Z ->
  v (nxt (q, r) (s (q, r))) = Ubox N (cur v) q r.
Proof.
  intros G Hq Hr. specialize (G (q, r)). assert (Hin : In (q, r) (bs ctl)) by (apply in_bs; lia).
  specialize (G Hin). simpl in G.
  unfold nxt, Ubox, cur in *. destruct (r =? N)%Z; [reflexivity|].
  destruct ((q =? 0) && (r =? 0))%Z%bool; [reflexivity|].
  unfold Rmin. destruct (Rle_dec (v (q, r)) (v (q, (r + 1)%Z))); destruct (s (q, r)); simpl in G;
    lra.
Qed.

(* the equation in a state, for any value of the boxes *)
Lemma eval_iff s v g t (Bx : Z -> Z -> R) : (forall q r, (0 <= q <= K)%Z -> (0 <= r <= N)%Z ->
  v (nxt (q, r) (s (q, r))) = Bx q r) ->
  forall q r, state N K q r -> (t + L ctl s v (q, r) = gcost g (q, r) <->
    t + (1 * ind (0 <? q)%Z + l * IZR r) * v (q, r) = g * ind (q =? 0)%Z + l * IZR r * ind (q =?
      K)%Z + 1 * ind (0 <? q)%Z * Bx (q - 1)%Z r
      + l * IZR r * Bx (Z.min (q + 1) K) (r - 1)%Z).
Proof.
  intros HB q r (Hq & Hr & Hqr). unfold L, cost, c0, c1. cbn [ctl mu nu dep arr next fst snd X B].
  rewrite !HB by lia. fold (lamz r).
  assert (E1 : lamz r * Bx (Z.min (q + 1) K) (Z.max (r - 1) 0) = lamz r * Bx (Z.min (q + 1) K)
    (r - 1)%Z).
  { destruct (Z.eq_dec r 0) as [->|]; [rewrite lamz0; ring|].
    replace (Z.max (r - 1) 0) with (r - 1)%Z by lia. reflexivity. }
  destruct (Z.eqb_spec q 0) as [->|].
  - destruct (Z.eqb_spec r 0) as [->|]; [lia|]. cbn [andb negb ind Z.ltb Z.compare].
    destruct (Z.eqb_spec 0 K); [lia|]. cbn [ind]. split; intros; lra.
  - cbn [andb]. destruct (Z.ltb_spec 0 q); [|lia]. replace (Z.max (q - 1) 0) with (q - 1)%Z by lia.
    cbn [ind].
    destruct (Z.eqb_spec q K); cbn [ind]; split; intros; lra.
Qed.

Lemma eval_00 s v g t : t + L ctl s v (0, 0)%Z = gcost g (0, 0)%Z <->
  v (0, 0)%Z = v (0, 1)%Z - t + g.
Proof.
  unfold L, cost, c0, c1. cbn [ctl mu nu dep arr next fst snd X B].
  change (Z.max (0 - 1) 0) with 0%Z. rewrite next_00.
  change (0 =? 0)%Z with true. cbn [andb negb]. destruct (Z.eqb_spec 0 K); [lia|]. rewrite lamz0.
  split; intros; lra.
Qed.

Lemma shaped_solves s v g t : eval ctl (gcost g) s t v -> greedy ctl s v -> solves1 g t (cur v).
Proof.
  intros E G q r Hs. destruct Hs as (Hq & Hr & Hqr).
  apply (eval_iff s v g t (Ubox N (cur v))); [intros; now apply next_U|repeat split; lia|]. apply E.
  simpl. lia.
Qed.

(* values on the states of the book, continued to (0, 0) *)
Definition ext (V : Z -> Z -> R) (g t : R) (x : Z * Z) : R :=
  if ((fst x =? 0) && (snd x =? 0))%Z%bool then V 0%Z 1%Z - t + g else V (fst x) (snd x).
Lemma ext_state V g t q r : state N K q r -> ext V g t (q, r) = V q r.
Proof. intros (? & ? & ?). unfold ext. simpl.
destruct (Z.eqb_spec q 0); destruct (Z.eqb_spec r 0); try reflexivity. lia. Qed.
Lemma ext_00 V g t : ext V g t (0, 0)%Z = V 0%Z 1%Z - t + g.
Proof. reflexivity. Qed.

Lemma Ubox_ext V g t q r : (0 <= q <= K)%Z -> (0 <= r <= N)%Z ->
  Ubox N (cur (ext V g t)) q r = Ubox N V q r.
Proof.
  intros. unfold Ubox, cur. destruct (Z.eqb_spec r N); [apply ext_state; repeat split; lia|].
  destruct (Z.eqb_spec q 0); destruct (Z.eqb_spec r 0); simpl; try reflexivity; f_equal;
    apply ext_state; repeat split; lia.
Qed.

Lemma eval_of s V g t (Bx : Z -> Z -> R) : (forall q r, (0 <= q <= K)%Z -> (0 <= r <= N)%Z ->
  ext V g t (nxt (q, r) (s (q, r))) = Bx q r) ->
  (forall q r, state N K q r -> t + (1 * ind (0 <? q)%Z + l * IZR r)
    * V q r = g * ind (q =? 0)%Z + l * IZR r * ind (q =? K)%Z + 1 * ind (0 <? q)%Z * Bx (q - 1)%Z r
      + l * IZR r * Bx (Z.min (q + 1) K) (r - 1)%Z) -> eval ctl (gcost g) s t (ext V g t).
Proof.
  intros HB H [q r] [Hq Hr]. simpl in Hq, Hr. destruct (Z.eq_dec (q + r) 0).
  - assert (q = 0%Z) by lia. assert (r = 0%Z) by lia. subst. apply eval_00.
    rewrite ext_00, ext_state by (repeat split; lia). reflexivity.
  - apply (eval_iff s (ext V g t) g t Bx HB); [repeat split; lia|].
    rewrite ext_state by (repeat split; lia). apply H. repeat split; lia.
Qed.

Lemma solves_eval V g t : solves1 g t V -> exists s, eval ctl (gcost g) s t (ext V g t) /\
  greedy ctl s (ext V g t).
Proof.
  intros H. pose (v := ext V g t).
  pose (s := fun b => if Rle_dec (v (nxt b true)) (v (nxt b false)) then true else false).
  assert (G : greedy ctl s v).
  { intros b _. unfold s. simpl. destruct (Rle_dec (v (nxt b true)) (v (nxt b false))); simpl; lra.
    }
  exists s. split; [|exact G]. apply (eval_of s V g t (Ubox N V)).
  - intros q r Hq Hr. transitivity (Ubox N (cur v) q r); [exact (next_U s v q r G Hq Hr)|].
    apply Ubox_ext; auto.
  - intros q r Hs. apply H; auto.
Qed.
End Instance.
