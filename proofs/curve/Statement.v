(** What is proved: the theorem [curve-theorem] of the page on the switching curve.

    To know what the theorem says, only this file has to be read. *)
From Coq Require Export ZArith Reals List.
Open Scope R_scope.

Section Statement.
Variables (N K : Z) (lambda mu gamma : R).

(* pages queued and robots active, after a decision *)
Definition state (q r : Z) : Prop := (0 <= q <= K /\ 0 <= r <= N /\ 0 < q + r)%Z.
(* what a decision finds; (0, 0), where a robot must be started, is left out *)
Definition box (q r : Z) : Prop := (0 <= q <= K /\ 0 <= r < N /\ 0 < q + r)%Z.

Definition ind (b : bool) : R := if b then 1 else 0.

(* the value of a box where the better decision is made *)
Definition Ubox (V : Z -> Z -> R) (q r : Z) : R :=
  if (r =? N)%Z then V q r
  else if ((q =? 0) && (r =? 0))%Z%bool then V 0%Z 1%Z
  else Rmin (V q r) (V q (r + 1)%Z).

(* the optimality equation *)
Definition solves (theta : R) (V : Z -> Z -> R) : Prop := forall q r, state q r ->
  theta + (mu * ind (0 <? q)%Z + lambda * IZR r) * V q r
  = gamma * ind (q =? 0)%Z + lambda * IZR r * ind (q =? K)%Z
    + mu * ind (0 <? q)%Z * Ubox V (q - 1) r
    + lambda * IZR r * Ubox V (Z.min (q + 1) K) (r - 1).

(* the gain of a robot more *)
Definition d (V : Z -> Z -> R) (q r : Z) : R := V q (r + 1)%Z - V q r.

(* the mean value of a box where a robot is started with probability p q r *)
Definition Pbox (p : Z -> Z -> R) (V : Z -> Z -> R) (q r : Z) : R :=
  if (r =? N)%Z then V q r
  else if ((q =? 0) && (r =? 0))%Z%bool then V 0%Z 1%Z
  else p q r * V q (r + 1)%Z + (1 - p q r) * V q r.

(* A strategy decides by all states so far, and may draw lots: it names the probability of a start.
   Its mean cost over n ticks of a clock of this rate, at some of which nothing happens (n ticks
   take a mean time of n / rate), from a state with a history: *)
Definition rate : R := mu + lambda * IZR N.
Definition strategy : Type := list (Z * Z) -> Z -> Z -> R.
Definition admissible (c : strategy) : Prop := forall past q r, 0 <= c past q r <= 1.
Fixpoint mean_cost (c : strategy) (n : nat) (past : list (Z * Z)) (q r : Z) : R :=
  match n with
  | O => 0
  | S m => let now := (q, r) :: past in
      (gamma * ind (q =? 0)%Z + lambda * IZR r * ind (q =? K)%Z
       + mu * ind (0 <? q)%Z * Pbox (c now) (mean_cost c m now) (q - 1) r
       + lambda * IZR r * Pbox (c now) (mean_cost c m now) (Z.min (q + 1) K) (r - 1)
       + (rate - mu * ind (0 <? q)%Z - lambda * IZR r) * mean_cost c m now q r) / rate
  end.

(* a switching curve, and its control: start a robot in (q, r) if q <= f r *)
Definition switching_curve (f : Z -> Z) : Prop :=
  (forall r, 0 <= r < N -> -1 <= f r <= K /\ K - 1 - r <= f r)%Z /\
  (forall r, 0 <= r <= N - 2 -> f r - 1 <= f (r + 1) <= f r)%Z.
Definition curve_control (f : Z -> Z) : strategy := fun _ q r => ind (q <=? f r)%Z.

Definition theorem : Prop :=
  (* a solution exists, and of each solution: *)
  (exists theta V, solves theta V) /\
  forall theta V, solves theta V ->
  (* it is unique up to a constant; *)
  (forall theta' V', solves theta' V' ->
     theta' = theta /\ exists c, forall q r, state q r -> V' q r = V q r + c) /\
  0 < theta < gamma /\
  (* a robot more is a gain while q + r < K; *)
  (forall q r, box q r -> (q + r < K)%Z -> d V q r < 0) /\
  (* from there on d rises with q, *)
  (forall q r, box q r -> (K <= q + r)%Z -> (q < K)%Z ->
     d V q r < d V (q + 1) r) /\
  (* does not fall with r, and rises with r before the queue is full, *)
  (forall q r, box q r -> (K <= q + r)%Z -> (r <= N - 2)%Z ->
     d V q r <= d V q (r + 1) /\
     ((q < K)%Z -> d V q r < d V q (r + 1))) /\
  (* and no two neighbours are tied at a full queue; *)
  (forall r, (0 <= r <= N - 2)%Z -> ~ (d V K r = 0 /\ d V K (r + 1) = 0)) /\
  (* so a robot more is a gain below a switching curve, *)
  exists f, switching_curve f /\
  (forall q r, box q r -> (d V q r < 0 <-> (q <= f r)%Z)) /\
  (* and the curve is optimal: theta is its cost per unit of time, and no strategy costs less. *)
  exists M, forall n past q r, state q r ->
    (forall c, admissible c ->
       INR n * (theta / rate) - M <= mean_cost c n past q r) /\
    mean_cost (curve_control f) n past q r <= INR n * (theta / rate) + M.
End Statement.
