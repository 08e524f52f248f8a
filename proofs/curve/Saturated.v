(** [curve-large], the calculation: the saturated policy, which starts in all boxes but (K, N - 1);
   its
    values for a weight gam and a price kap of a lost page. *)
From Curve Require Export Grid.
From Coq Require Export Bool.

Section Saturated.
Variables (N K : Z) (l : R) (V : Z -> Z -> R) (t gam kap : R).
Hypothesis HN : (2 <= N)%Z.
Hypothesis HK : (1 <= K)%Z.
Hypothesis Hl : 0 < l.

Definition Ub (q r : Z) : R := if ((r <? N) && negb ((q =? K)
  && (r =? N - 1)))%Z%bool then V q (r + 1) else V q r.
Definition Us (q r : Z) : R := if (q =? -1)%Z then V 0 r + gam else if (q =? K + 1)%Z then Ub K r +
  kap else Ub q r.
Hypothesis EQs : forall q r qm qp rm, (0 <= q <= K)%Z -> (0 <= r <= N)%Z -> (0 < q + r)%Z ->
  qm = (q - 1)%Z -> qp = (q + 1)%Z -> rm = (r - 1)%Z ->
  t + (1 + l * IZR r) * V q r = Us qm r + l * IZR r * Us qp rm.

Lemma Usm q r : q = (-1)%Z -> Us q r = V 0 r + gam.
Proof. intros ->. reflexivity. Qed.
Lemma Uson q r r1 : r1 = (r + 1)%Z -> (0 <= q <= K)%Z -> (r < N)%Z -> (q < K \/ r < N - 1)%Z ->
  Us q r = V q r1.
Proof.
  intros -> Hq Hr Hon. unfold Us, Ub. destruct (Z.eqb_spec q (-1)); [lia|].
  destruct (Z.eqb_spec q (K + 1)); [lia|].
  destruct (Z.ltb_spec r N); [|lia].
  destruct (Z.eqb_spec q K); destruct (Z.eqb_spec r (N - 1)); simpl; try reflexivity. lia.
Qed.
Lemma UsN q r : r = N -> (0 <= q <= K)%Z -> Us q r = V q r.
Proof.
  intros -> Hq. unfold Us, Ub. destruct (Z.eqb_spec q (-1)); [lia|].
  destruct (Z.eqb_spec q (K + 1)); [lia|]. rewrite Z.ltb_irrefl. reflexivity.
Qed.
Lemma Usoff q r : q = K -> r = (N - 1)%Z -> Us q r = V q r.
Proof.
  intros -> ->. unfold Us, Ub. destruct (Z.eqb_spec K (-1)); [lia|].
  destruct (Z.eqb_spec K (K + 1)); [lia|].
  rewrite !Z.eqb_refl. simpl. rewrite andb_false_r. reflexivity.
Qed.
Lemma UsK q r : q = (K + 1)%Z -> Us q r = Us K r + kap.
Proof.
  intros ->. unfold Us. destruct (Z.eqb_spec (K + 1) (-1)); [lia|].
  destruct (Z.eqb_spec K (-1)); [lia|]. rewrite Z.eqb_refl.
  destruct (Z.eqb_spec K (K + 1)); [lia|]. reflexivity.
Qed.

Lemma lr r : (1 <= r)%Z -> 0 < l * IZR r.
Proof. intros. apply Rmult_lt_0_compat; [auto|]. apply IZR_lt. lia. Qed.
Lemma IZR1 r r1 : r1 = (r + 1)%Z -> IZR r1 = IZR r + 1.
Proof. intros ->. rewrite plus_IZR. reflexivity. Qed.

Lemma top : V K (N - 1) - V (K - 1) N = - t + l * IZR (N - 1) * kap.
Proof.
  feed pose proof (EQs K (N-1) (K-1) (K+1) (N-2)) as E. rewrite (Uson (K-1) (N-1) N) in E by lia.
  rewrite (UsK (K+1)) in E by lia.
  rewrite (Uson K (N-2) (N-1)) in E by lia. lra.
Qed.

Lemma d_last : (1 + l * IZR N) * (V K N - V K (N - 1)) = l * kap.
Proof.
  feed pose proof (EQs K (N-1) (K-1) (K+1) (N-2)) as E.
  feed pose proof (EQs K N (K-1) (K+1) (N-1)) as E'.
  rewrite (Uson (K-1) (N-1) N) in E by lia. rewrite (UsK (K+1)) in E, E' by lia.
  rewrite (Uson K (N-2) (N-1)) in E by lia.
  rewrite (UsN (K-1)) in E' by lia. rewrite Usoff in E' by lia. rewrite (IZR1 (N-1) N) in * by lia.
  lra.
Qed.

Lemma d_low : (2 <= K)%Z -> (1 + l * IZR (N - 1)) * (V (K - 1) N - V (K - 1) (N - 1))
  = l * (l * IZR (N - 1) * kap - t).
Proof.
  intros HK2. pose proof top as T.
  feed pose proof (EQs (K-1) (N-1) (K-2) K (N-2)) as E.
  feed pose proof (EQs (K-1) N (K-2) K (N-1)) as E'.
  rewrite (Uson (K-2) (N-1) N) in E by lia. rewrite (Uson K (N-2) (N-1)) in E by lia.
  rewrite (UsN (K-2)) in E' by lia. rewrite (Usoff K) in E' by lia.
  rewrite (IZR1 (N-1) N) in E' by lia.
  replace (V K (N-1)) with (V (K-1) N - t + l * IZR (N - 1) * kap) in * by lra. lra.
Qed.

Lemma d_low1 : K = 1%Z -> l * IZR (N - 1) * (V (K - 1) N - V (K - 1) (N - 1)) = l * (l * IZR (N - 1)
  * kap - t).
Proof.
  intros e. pose proof top as T. rewrite e in T. change (1 - 1)%Z with 0%Z in T.
  feed pose proof (EQs 0 (N-1) (-1) 1 (N-2)) as E.
  feed pose proof (EQs 0 N (-1) 1 (N-1)) as E'. rewrite !(Usm (-1)) in * by lia.
  rewrite (Uson 1 (N-2) (N-1)) in E by lia. rewrite (Usoff 1) in E' by lia.
  rewrite (IZR1 (N-1) N) in E' by lia.
  rewrite e. change (1 - 1)%Z with 0%Z.
  replace (V 1 (N-1)) with (V 0 N - t + l * IZR (N - 1) * kap) in * by lra. lra.
Qed.

Lemma d_full r r1 r2 : (0 <= r <= N - 2)%Z -> r1 = (r + 1)%Z -> r2 = (r + 2)%Z ->
  V K r1 - V K r = V (K - 1) r2 - V (K - 1) r1 + l * kap.
Proof.
  intros Hr -> ->.
  feed pose proof (EQs K r (K-1) (K+1) (r-1)) as E.
  feed pose proof (EQs K (r+1) (K-1) (K+1) r) as E'.
  rewrite (Uson (K-1) r (r+1)) in E by lia. rewrite (Uson (K-1) (r+1) (r+2)) in E' by lia.
  rewrite (UsK (K+1)) in E, E' by lia.
  rewrite (Uson K r (r+1)) in E' by lia. rewrite (IZR1 r (r+1)) in E' by lia.
  destruct (Z.eq_dec r 0) as [->|]; [simpl in *; lra|]. rewrite (Uson K (r-1) r) in E by lia. lra.
Qed.

(* its cost *)
Fixpoint geom (x : R) (n : nat) : R := match n with O => 1 | S k => geom x k + x ^ S k end.

Lemma cost_formula : t * geom (l * IZR N) (Z.to_nat K) = gam + l * IZR (N - 1) * kap * (l * IZR N)
  ^ Z.to_nat K.
Proof.
  set (x := l * IZR N). pose proof top as T.
  destruct (Z.eq_dec K 1) as [e1|Hne1].
  { rewrite e1 in T. rewrite e1. change (Z.to_nat 1) with 1%nat. simpl.
    change (1 - 1)%Z with 0%Z in T.
    feed pose proof (EQs 0 N (-1) 1 (N-1)) as E. rewrite Usm in E by lia.
    rewrite (Usoff 1) in E by lia. fold x in E.
    replace (V 1 (N-1)) with (V 0 N - t + l * IZR (N - 1) * kap) in E by lra. lra. }
  assert (HE : forall n, (Z.of_nat n < K - 1)%Z -> x ^ S n * (V (Z.of_nat n + 1) N - V (Z.of_nat n)
    N) = t * geom x n - gam).
  { induction n as [|n IH]; intros Hn.
    - feed pose proof (EQs 0 N (-1) 1 (N-1)) as E. rewrite Usm in E by lia.
      rewrite (Uson 1 (N-1) N) in E by lia. fold x in E. simpl. lra.
    - pose proof (IH ltac:(lia)) as I.
      feed pose proof (EQs (Z.of_nat n + 1) N (Z.of_nat n) (Z.of_nat n + 2) (N-1)) as E.
      rewrite UsN in E by lia. rewrite (Uson (Z.of_nat n + 2) (N-1) N) in E by lia. fold x in E.
      replace (Z.of_nat (S n) + 1)%Z with (Z.of_nat n + 2)%Z by lia.
      replace (Z.of_nat (S n)) with (Z.of_nat n + 1)%Z by lia.
      cbn [geom]. change (x ^ S (S n)) with (x * x ^ S n).
      assert (E2 : x ^ S n * (x * (V (Z.of_nat n + 2) N - V (Z.of_nat n + 1) N))
        = x ^ S n * (t + (V (Z.of_nat n + 1) N - V (Z.of_nat n) N))) by (f_equal; lra).
      lra. }
  pose (n := Z.to_nat (K - 2)). pose proof (HE n ltac:(lia)) as H.
  feed pose proof (EQs (K-1) N (K-2) K (N-1)) as E. rewrite UsN in E by lia.
  rewrite (Usoff K) in E by lia. fold x in E.
  replace (Z.of_nat n) with (K - 2)%Z in H by lia. replace (K - 2 + 1)%Z with (K - 1)%Z in H by lia.
  replace (Z.to_nat K) with (S (S n)) by lia. cbn [geom]. change (x ^ S (S n)) with (x * x ^ S n).
  assert (E2 : x ^ S n * (x * (V K (N-1) - V (K-1) N)) = x ^ S n * (t + (V (K-1) N - V (K-2) N)))
    by (f_equal; lra).
  rewrite T in E2. lra.
Qed.
End Saturated.

Lemma geom_ge x n : 0 < x -> 1 <= geom x n.
Proof. intros Hx. induction n; simpl; [lra|]. pose proof (pow_lt x n Hx).
assert (0 < x * x ^ n) by (apply Rmult_lt_0_compat; auto). lra. Qed.

(* starvation only: each page and each robot more is a gain *)
Section Starvation.
Variables (N K : Z) (l : R) (V : Z -> Z -> R) (t : R).
Hypothesis HN : (2 <= N)%Z.
Hypothesis HK : (1 <= K)%Z.
Hypothesis Hl : 0 < l.
Notation Us := (Us N K V 1 0).
Hypothesis EQs : forall q r qm qp rm, (0 <= q <= K)%Z -> (0 <= r <= N)%Z -> (0 < q + r)%Z ->
  qm = (q - 1)%Z -> qp = (q + 1)%Z -> rm = (r - 1)%Z ->
  t + (1 + l * IZR r) * V q r = Us qm r + l * IZR r * Us qp rm.

Lemma t_01 : 0 < t < 1.
Proof.
  pose proof (cost_formula N K l V t 1 0 HN HK EQs) as C. set (x := l * IZR N) in *.
  assert (Hx : 0 < x) by (apply Rmult_lt_0_compat; [auto|apply IZR_lt; lia]).
  replace (Z.to_nat K) with (S (Z.to_nat (K - 1))) in C by lia. cbn [geom] in C.
  pose proof (geom_ge x (Z.to_nat (K-1)) Hx).
  assert (0 < x ^ S (Z.to_nat (K-1))) by (apply pow_lt; auto).
  set (G := geom x (Z.to_nat (K - 1)) + x ^ S (Z.to_nat (K - 1))) in *.
  assert (1 < G) by (unfold G; lra).
  assert (C' : t * G = 1) by lra. split.
  - apply Rnot_le_lt. intros Ht. assert (t * G <= 0) by nra. lra.
  - apply Rnot_le_lt. intros Ht. assert (G <= t * G) by nra. lra.
Qed.

Lemma page_gain q r q1 : (0 <= q < K)%Z -> (0 <= r <= N)%Z -> (0 < q + r)%Z -> q1 = (q + 1)%Z ->
  V q1 r - V q r < 0.
Proof.
  intros Hq Hr HT ->. pose proof t_01 as Ht.
  pose proof (top N K l V t 1 0 HN HK EQs) as Tp.
  destruct (grid_max (fun q r => (0 < q + r)%Z) (fun q r => V (q + 1) r - V q r) (fun q r =>
    q) 0 (K - 1) 0 N) as (a & b & Ha & Hb & Hab & Hm).
  { intros; lia. } { exists q, r; lia. }
  assert (HE : forall q' r' q1, q1 = (q' + 1)%Z -> (0 <= q' < K)%Z -> (0 <= r' <= N)%Z ->
    (0 < q' + r')%Z ->
     V q1 r' - V q' r' < V (a+1) b - V a b \/ (V q1 r' - V q' r' = V (a+1) b - V a b /\
       (a <= q')%Z)).
  { intros q' r' q1 -> ? ? ?. destruct (Hm q' r') as [?|[? ?]]; try lia; [left; lra|right; split;
      [lra|lia]]. }
  destruct (Rlt_le_dec (V (a+1) b - V a b) 0) as [|Lm].
  { destruct (HE q r (q+1)%Z) as [?|[? ?]]; try lia; lra. }
  exfalso.
  feed pose proof (EQs a b (a-1) (a+1) (b-1)) as E.
  feed pose proof (EQs (a+1) b a (a+2) (b-1)) as E'.
  assert (Ha0 : (1 <= a)%Z).
  { destruct (Z.eq_dec a 0) as [->|]; [|lia]. exfalso. rewrite Usm in E by lia.
    feed pose proof (lr l Hl b) as Hlr.
    assert (H0 : 0 <= l * IZR b * (V (0+1) b - V 0 b)) by (apply Rmult_le_pos; lra).
    destruct (Z.eq_dec K 1) as [e1|]; [destruct (Z.eq_dec b N) as [->|]|].
    - rewrite (Usoff N K V 1 0 HK (0+1) (N-1)) in E by lia.
      pose proof (d_last N K l V t 1 0 HN HK EQs) as Dl. rewrite e1 in Dl.
      change (0 + 1)%Z with 1%Z in *.
      assert (V 1 N = V 1 (N-1)); [|rewrite H in H0; lra].
      assert (Hz : (1 + l * IZR N) * (V 1 N - V 1 (N-1)) = 0) by lra. apply Rmult_integral in Hz.
      lra.
    - rewrite (Uson N K V 1 0 (0+1) (b-1) b) in E by lia. lra.
    - rewrite (Uson N K V 1 0 (0+1) (b-1) b) in E by lia. lra. }
  assert (H1 : Us a b - Us (a-1) b < V (a+1) b - V a b).
  { destruct (Z.eq_dec b N) as [->|].
    - rewrite !UsN by lia. destruct (HE (a-1)%Z N a) as [?|[? ?]]; try lia; lra.
    - rewrite (Uson N K V 1 0 a b (b+1)), (Uson N K V 1 0 (a-1) b (b+1)) by lia.
      destruct (HE (a-1)%Z (b+1)%Z a) as [?|[? ?]]; try lia; lra. }
  assert (H2 : l * IZR b * (Us (a+2) (b-1) - Us (a+1) (b-1)) <= l * IZR b * (V (a+1) b - V a b)).
  { destruct (Z.eq_dec b 0) as [->|]; [simpl; lra|].
    apply Rmult_le_compat_l; [apply Rlt_le, lr; auto; lia|].
    destruct (Z.eq_dec (a + 1) K) as [e|].
    { replace (a + 2)%Z with (K + 1)%Z by lia. rewrite e. rewrite (UsK N K V 1 0 HK (K+1)) by lia.
      rewrite <- e. lra. }
    rewrite (Uson N K V 1 0 (a+1) (b-1) b) by lia.
    destruct (Z.eq_dec b N) as [->|]; [destruct (Z.eq_dec (a + 2) K) as [e|]|].
    - rewrite (Usoff N K V 1 0 HK (a+2) (N-1)) by lia. rewrite e.
      replace (a + 1)%Z with (K - 1)%Z by lia. replace (a + 1)%Z with (K - 1)%Z in Lm by lia. lra.
    - rewrite (Uson N K V 1 0 (a+2) (N-1) N) by lia.
      destruct (HE (a+1)%Z N (a+2)%Z) as [?|[? ?]]; try lia; lra.
    - rewrite (Uson N K V 1 0 (a+2) (b-1) b) by lia.
      destruct (HE (a+1)%Z b (a+2)%Z) as [?|[? ?]]; try lia; lra. }
  lra.
Qed.

Lemma robot_gain q r r1 : (0 <= q <= K)%Z -> (0 <= r < N)%Z -> (0 < q + r)%Z ->
  (q < K \/ r < N - 1)%Z -> r1 = (r + 1)%Z -> V q r1 - V q r < 0.
Proof.
  intros Hq Hr HT Hon ->. pose proof t_01 as Ht.
  pose proof (top N K l V t 1 0 HN HK EQs) as Tp.
  destruct (grid_max (fun q r => (0 < q + r /\ (q < K \/ r < N - 1))%Z) (fun q r =>
    V q (r + 1) - V q r) (fun q r => q) 0 K 0 (N - 1)) as (a & b & Ha & Hb & [Hab Hab'] & Hm).
  { intros; lia. } { exists q, r; lia. }
  assert (HE : forall q' r' r1, r1 = (r' + 1)%Z -> (0 <= q' <= K)%Z -> (0 <= r' < N)%Z ->
    (0 < q' + r')%Z -> (q' < K \/ r' < N - 1)%Z ->
     V q' r1 - V q' r' < V a (b+1) - V a b \/ (V q' r1 - V q' r' = V a (b+1) - V a b /\
       (a <= q')%Z)).
  { intros q' r' q1 -> ? ? ? ?. destruct (Hm q' r') as [?|[? ?]]; try lia; [left; lra|right; split;
      [lra|lia]]. }
  destruct (Rlt_le_dec (V a (b+1) - V a b) 0) as [|Lm].
  { destruct (HE q r (r+1)%Z) as [?|[? ?]]; try lia; lra. }
  exfalso. destruct (Z.eq_dec a K) as [->|].
  { feed pose proof (d_full N K l V t 1 0 HK EQs b (b+1) (b+2)) as Df.
    destruct (HE (K-1)%Z (b+1)%Z (b+2)%Z) as [?|[? ?]]; try lia; lra. }
  feed pose proof (EQs a b (a-1) (a+1) (b-1)) as E.
  feed pose proof (EQs a (b+1) (a-1) (a+1) b) as E'.
  rewrite (IZR1 b (b+1)) in E' by lia.
  assert (HX : l * (Us (a+1) b - V a (b+1)) < 0).
  { assert (Us (a+1) b - V a (b+1) < 0).
    { destruct (Z.eq_dec (a + 1) K) as [e|]; [destruct (Z.eq_dec b (N - 1)) as [->|]|].
      - rewrite Usoff by lia. rewrite e. replace a with (K - 1)%Z by lia.
        replace (N - 1 + 1)%Z with N by lia. lra.
      - rewrite (Uson N K V 1 0 (a+1) b (b+1)) by lia.
        feed pose proof (page_gain a (b+1) (a+1)) as Pg. lra.
      - rewrite (Uson N K V 1 0 (a+1) b (b+1)) by lia.
        feed pose proof (page_gain a (b+1) (a+1)) as Pg. lra. }
    assert (0 < l * (V a (b+1) - Us (a+1) b)) by (apply Rmult_lt_0_compat; lra). lra. }
  assert (H2 : l * IZR b * (Us (a+1) b - Us (a+1) (b-1)) <= l * IZR b * (V a (b+1) - V a b)).
  { destruct (Z.eq_dec b 0) as [->|]; [simpl; lra|].
    apply Rmult_le_compat_l; [apply Rlt_le, lr; auto; lia|].
    rewrite (Uson N K V 1 0 (a+1) (b-1) b) by lia.
    destruct (Z.eq_dec (a + 1) K) as [e|]; [destruct (Z.eq_dec b (N - 1)) as [e'|]|].
    - rewrite Usoff by lia. lra.
    - rewrite (Uson N K V 1 0 (a+1) b (b+1)) by lia.
      destruct (HE (a+1)%Z b (b+1)%Z) as [?|[? ?]]; try lia; lra.
    - rewrite (Uson N K V 1 0 (a+1) b (b+1)) by lia.
      destruct (HE (a+1)%Z b (b+1)%Z) as [?|[? ?]]; try lia; lra. }
  assert (H1 : Us (a-1) (b+1) - Us (a-1) b <= V a (b+1) - V a b).
  { destruct (Z.eq_dec a 0) as [->|].
    - rewrite !Usm by lia. lra.
    - rewrite (Uson N K V 1 0 (a-1) b (b+1)) by lia. destruct (Z.eq_dec (b + 1) N) as [e|].
      + rewrite UsN by lia. lra.
      + rewrite (Uson N K V 1 0 (a-1) (b+1) (b+2)) by lia.
        destruct (HE (a-1)%Z (b+1)%Z (b+2)%Z) as [?|[? ?]]; try lia; lra. }
  lra.
Qed.
End Starvation.
