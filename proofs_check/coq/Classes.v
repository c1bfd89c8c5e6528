(* Smooth strongly convex functions, by the inequalities that characterise them, and what these say of two points. *)

Require Import Vectors.

(* F - mu |.|^2 / 2 lies above its tangents and F below its parabolas of curvature L, G being the gradient. Both hold of
   every mu-strongly convex F whose gradient G is Lipschitz with constant L, and make G its gradient. *)
Definition of_class (d : nat) (mu L : R) (F : vec -> R) (G : vec -> vec) : Prop :=
  forall x y : vectors,
    F x + dot d (G x) (y - x)%V + mu / 2 * square d (y - x)%V <= F y /\
    F y <= F x + dot d (G x) (y - x)%V + L / 2 * square d (y - x)%V.

Ltac one_sum :=
  unfold square, dot; rewrite <- ?sum_times, <- ?sum_plus, <- ?sum_times, <- ?sum_plus, <- ?sum_times, <- ?sum_plus.

(* The interpolation inequality (Taylor, Hendrickx and Glineur 2017). *)
Theorem interpolation d mu L F G : mu < L -> of_class d mu L F G -> forall x y : vectors,
  F y - F x + dot d (G y) (x - y)%V + mu / 2 * square d (x - y)%V
  + 1 / (2 * (L - mu)) * square d (fun k => (G x k - G y k) - mu * (x k - y k)) <= 0.
Proof.
  intros LT C x y.
  pose (e := fun k => - 1 / (L - mu) * ((G x k - G y k) - mu * (x k - y k))).
  pose (z := (fun k => x k + e k) : vec).
  destruct (C y z) as [below _]. destruct (C x z) as [_ above].
  enough (E : dot d (G y) (x - y)%V + mu / 2 * square d (x - y)%V
    + 1 / (2 * (L - mu)) * square d (fun k => (G x k - G y k) - mu * (x k - y k))
    = (dot d (G y) (z - y)%V + mu / 2 * square d (z - y)%V)
    + (-1) * (dot d (G x) (z - x)%V + L / 2 * square d (z - x)%V))
  by (change (point vectors) with vec in *; lra).
  one_sum. apply sum_ext. intros k _. unfold z, e. simpl. rewrite Q2R_m1. field. lra.
Qed.

(* Where a sum of such functions is least, their gradients sum to zero. *)
Fixpoint sum_of (n : nat) (F : nat -> vec -> R) (x : vec) : R :=
  match n with O => 0 | S i => sum_of i F x + F i x end.

Definition minimises (n : nat) (F : nat -> vec -> R) (x : vec) : Prop := forall y, sum_of n F x <= sum_of n F y.

Lemma sum_above d mu L F G n : (forall i, (i < n)%nat -> of_class d mu L (F i) (G i)) -> forall x y : vectors,
  sum_of n F y <= sum_of n F x + dot d (fun k => sum n (fun i => G i x k)) (y - x)%V
  + INR n * L / 2 * square d (y - x)%V.
Proof.
  intros C x y. induction n.
  - change (sum_of 0 F y) with 0. change (sum_of 0 F x) with 0.
    replace (dot d _ _) with 0; [simpl; lra|].
    unfold dot. transitivity (sum d (fun _ => 0)); [symmetry; apply sum_zero | apply sum_ext; intros; simpl; ring].
  - destruct (C n (Nat.lt_succ_diag_r n) x y) as [_ U].
    assert (I := IHn (fun i h => C i (Nat.lt_lt_succ_r _ _ h))).
    assert (E : dot d (fun k => sum (S n) (fun i => G i x k)) (y - x)%V =
      dot d (fun k => sum n (fun i => G i x k)) (y - x)%V + dot d (G n x) (y - x)%V).
    { one_sum. apply sum_ext. intros; simpl; ring. }
    rewrite S_INR. change (sum_of (S n) F y) with (sum_of n F y + F n y).
    change (sum_of (S n) F x) with (sum_of n F x + F n x). rewrite E. lra.
Qed.

Theorem gradients_sum_to_zero d mu L F G n x : 0 < L -> (0 < n)%nat ->
  (forall i, (i < n)%nat -> of_class d mu L (F i) (G i)) -> minimises n F x ->
  forall k, (k < d)%nat -> sum n (fun i => G i x k) = 0.
Proof.
  intros P N C M.
  assert (0 < INR n) by (apply lt_0_INR; exact N).
  pose (g := fun k => sum n (fun i => G i x k)).
  pose (y := (fun k => x k + - 1 / (INR n * L) * g k) : vec).
  assert (A := sum_above d mu L F G n C x y). assert (B := M y).
  assert (E : dot d g (y - x)%V
    + INR n * L / 2 * square d (y - x)%V = - 1 / (2 * (INR n * L)) * square d g).
  { one_sum. apply sum_ext. intros k _. unfold y. simpl. rewrite Q2R_m1. field. lra. }
  change (fun k => sum n (fun i => G i x k)) with g in A.
  apply (square_zero d g).
  assert (0 < 1 / (2 * (INR n * L))) by (apply Rdiv_lt_0_compat; nra).
  assert (0 <= square d g) by apply square_pos.
  assert (0 <= - 1 / (2 * (INR n * L)) * square d g) by (rewrite <- E; change (point vectors) with vec in *; lra).
  replace (- 1 / (2 * (INR n * L))) with (- (1 / (2 * (INR n * L)))) in * by (field; nra). nra.
Qed.
