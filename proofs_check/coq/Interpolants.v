(* A function of the class through given points, where the interpolation inequalities hold of them. *)

Require Import Vectors Classes.

(* Shares: not negative and of sum one. *)
Definition shares (m : nat) (s : nat -> R) : Prop := (forall j, (j < m)%nat -> 0 <= s j) /\ sum m s = 1.

(* How far shares are apart. *)
Definition apart (m : nat) (s t : nat -> R) : R := sum m (fun j => Rabs (s j - t j)).

Lemma sum_le m a b : (forall j, (j < m)%nat -> a j <= b j) -> sum m a <= sum m b.
Proof.
  intros H. induction m; simpl; [lra|]. assert (sum m a <= sum m b) by (apply IHm; auto with arith).
  assert (a m <= b m) by auto with arith. lra.
Qed.

Lemma apart_pos m s t : 0 <= apart m s t.
Proof. apply sum_pos. intros. apply Rabs_pos. Qed.

Lemma share_one m j : (j < m)%nat -> shares m (fun k => if Nat.eqb k j then 1 else 0).
Proof.
  intros J. split; [intros k _; destruct (Nat.eqb k j); lra|].
  induction m; [lia|]. cbn [sum]. destruct (Nat.eqb_spec m j) as [-> | N].
  - rewrite (sum_ext j _ (fun _ => 0)), sum_zero; [ring|].
    intros k K. destruct (Nat.eqb_spec k j); [lia | reflexivity].
  - rewrite IHm by lia. ring.
Qed.

Definition steady (m : nat) (K : R) (p : (nat -> R) -> R) : Prop :=
  forall s t, shares m s -> shares m t -> p s - p t <= K * apart m s t.

(* t of the shares of the first m, and the rest of one more. *)
Definition blend (m : nat) (t : R) (s : nat -> R) (j : nat) : R := if Nat.ltb j m then t * s j else 1 - t.

Lemma blend_first m t s j : (j < m)%nat -> blend m t s j = t * s j.
Proof. intros J. unfold blend. apply Nat.ltb_lt in J. rewrite J. reflexivity. Qed.

Lemma blend_last m t s : blend m t s m = 1 - t.
Proof. unfold blend. rewrite Nat.ltb_irrefl. reflexivity. Qed.

Lemma blend_shares m t s : 0 <= t <= 1 -> shares m s -> shares (S m) (blend m t s).
Proof.
  intros T [P O]. split.
  - intros j J. unfold blend. destruct (Nat.ltb_spec j m); [|lra]. apply Rmult_le_pos; [lra | auto].
  - cbn [sum]. rewrite blend_last, (sum_ext m _ (fun j => t * s j)), sum_times, O by apply blend_first. ring.
Qed.

Lemma clamped t : 0 <= Rmax 0 (Rmin t 1) <= 1.
Proof. unfold Rmax, Rmin. destruct (Rle_dec t 1), (Rle_dec 0 _); lra. Qed.

Lemma clamped_near t u : Rabs (Rmax 0 (Rmin t 1) - Rmax 0 (Rmin u 1)) <= Rabs (t - u).
Proof.
  unfold Rmax, Rmin.
  destruct (Rle_dec t 1), (Rle_dec u 1); repeat destruct (Rle_dec 0 _); unfold Rabs; repeat destruct (Rcase_abs _); lra.
Qed.

Lemma clamped_inside t : 0 <= t <= 1 -> Rmax 0 (Rmin t 1) = t.
Proof. intros T. rewrite Rmin_left, Rmax_right by lra. reflexivity. Qed.

(* A function of one number has its largest value on [0, 1] at the end of where it stays away from that value. *)
Lemma attained_on_line (f : R -> R) K : 0 <= K -> (forall t u, f t - f u <= K * Rabs (t - u)) ->
  exists c, 0 <= c <= 1 /\ forall u, 0 <= u <= 1 -> f u <= f c.
Proof.
  intros P H.
  destruct (completeness (fun y => exists u, 0 <= u <= 1 /\ y = f u)) as [M [Up Lub]].
  { exists (f 0 + K). intros y [u [U ->]]. assert (A := H u 0). rewrite Rminus_0_r, Rabs_pos_eq in A by lra. nra. }
  { exists (f 0), 0. split; [lra | reflexivity]. }
  assert (Below : forall u, 0 <= u <= 1 -> f u <= M) by (intros u U; apply Up; exists u; auto).
  destruct (Rle_lt_dec M (f 0)) as [Z | Z].
  { exists 0. split; [lra|]. intros u U. specialize (Below u U). lra. }
  pose (away := fun t => 0 <= t <= 1 /\ exists e, 0 < e /\ forall u, 0 <= u <= t -> f u <= M - e).
  destruct (completeness away) as [c [Cu Cl]].
  { exists 1. intros t [T _]. lra. }
  { exists 0. split; [lra|]. exists (M - f 0). split; [lra|]. intros u U. replace u with 0 by lra. lra. }
  assert (C : 0 <= c <= 1).
  { split; [|apply Cl; intros t [T _]; lra]. apply Cu. split; [lra|].
    exists (M - f 0). split; [lra|]. intros u U. replace u with 0 by lra. lra. }
  exists c. split; [exact C|]. enough (M <= f c) by (intros u U; specialize (Below u U); lra).
  destruct (Rle_lt_dec M (f c)) as [|L]; [assumption|]. exfalso.
  pose (e := (M - f c) / 2). pose (r := e / (K + 1)).
  assert (E : 0 < e) by (unfold e; lra). assert (R_ : 0 < r) by (apply Rdiv_lt_0_compat; lra).
  assert (Kr : K * r <= e).
  { replace e with (r * (K + 1)) by (unfold r; field; lra). nra. }
  assert (Near : forall u, Rabs (u - c) <= r -> f u <= M - e).
  { intros u U. assert (A := H u c). assert (K * Rabs (u - c) <= K * r) by (apply Rmult_le_compat_l; assumption).
    unfold e in *. lra. }
  enough (B : is_upper_bound away (c - r)) by (assert (A := Cl _ B); lra).
  intros t [T [e' [E' A]]]. destruct (Rle_lt_dec t (c - r)) as [|F]; [assumption|]. exfalso.
  pose (least := Rmin e e'). assert (least <= e /\ least <= e') by (split; [apply Rmin_l | apply Rmin_r]).
  assert (0 < least) by (apply Rmin_pos; assumption).
  assert (G : forall u, 0 <= u <= c + r -> f u <= M - least).
  { intros u U. destruct (Rle_lt_dec u t) as [V | V]; [specialize (A u ltac:(lra)); lra|].
    assert (f u <= M - e) by (apply Near, Rabs_le; lra). lra. }
  destruct (Rle_lt_dec (c + r) 1) as [I | I].
  - assert (A' : away (c + r)) by (split; [lra | exists least; auto]). apply Cu in A'. lra.
  - assert (A' : M <= M - least) by (apply Lub; intros y [u [U ->]]; apply G; lra). lra.
Qed.

(* A steady function has its largest value at some shares. *)
Theorem attained m : forall p K, 0 <= K -> (0 < m)%nat -> steady m K p ->
  exists s, shares m s /\ forall t, shares m t -> p t <= p s.
Proof.
  induction m as [|m IH]; intros p K KP M H; [lia|].
  destruct (Nat.eq_dec m 0) as [-> | N].
  { exists (fun _ => 1). assert (One : shares 1 (fun _ => 1)) by (split; [intros; lra | simpl; ring]).
    split; [exact One|]. intros t T. assert (A := H t _ T One). destruct T as [_ T]. unfold apart in A. simpl in *.
    replace (t 0%nat - 1) with 0 in A by lra. rewrite Rabs_R0 in A. lra. }
  pose (c := fun t => Rmax 0 (Rmin t 1)).
  assert (B : forall t, exists s, shares m s /\ forall r, shares m r -> p (blend m (c t) r) <= p (blend m (c t) s)).
  { intros t. assert (C := clamped t). fold (c t) in C.
    apply (IH (fun s => p (blend m (c t) s)) K KP); [lia|]. intros r s R_ S_.
    eapply Rle_trans; [apply H; apply blend_shares; assumption|].
    apply Rmult_le_compat_l; [exact KP|]. unfold apart. cbn [sum]. rewrite !blend_last.
    replace (1 - c t - (1 - c t)) with 0 by ring. rewrite Rabs_R0, Rplus_0_r.
    rewrite (sum_ext m _ (fun j => c t * Rabs (r j - s j))).
    - rewrite sum_times. fold (apart m r s). assert (P := apart_pos m r s). nra.
    - intros j J. rewrite !blend_first, <- Rmult_minus_distr_l, Rabs_mult by exact J.
      rewrite (Rabs_pos_eq (c t)) by lra. reflexivity. }
  pose (E := fun t y => exists s, shares m s /\ y = p (blend m (c t) s)).
  assert (Bound : forall t, bound (E t)).
  { intros t. destruct (B t) as [s [_ U]]. exists (p (blend m (c t) s)). intros y [r [R_ ->]]. apply U, R_. }
  assert (Some : forall t, exists y, E t y).
  { intros t. destruct (B t) as [s [S_ _]]. exists (p (blend m (c t) s)), s. auto. }
  pose (f := fun t => proj1_sig (completeness (E t) (Bound t) (Some t))).
  assert (Is : forall t s, shares m s -> (forall r, shares m r -> p (blend m (c t) r) <= p (blend m (c t) s)) ->
    f t = p (blend m (c t) s)).
  { intros t s S_ U. unfold f. destruct (completeness _ _ _) as [y [Y1 Y2]]. simpl. apply Rle_antisym.
    - apply Y2. intros y' [r [R_ ->]]. apply U, R_.
    - apply Y1. exists s. auto. }
  assert (Near : forall t u, f t - f u <= 2 * K * Rabs (t - u)).
  { intros t u. destruct (B t) as [s [S_ U]]. destruct (B u) as [r [R_ W]].
    rewrite (Is t s S_ U), (Is u r R_ W). specialize (W s S_).
    assert (C := clamped t). assert (D := clamped u). fold (c t) in C. fold (c u) in D.
    assert (A := H _ _ (blend_shares m _ s C S_) (blend_shares m _ s D S_)).
    assert (Q : apart (S m) (blend m (c t) s) (blend m (c u) s) = 2 * Rabs (c t - c u)).
    { unfold apart. cbn [sum]. rewrite !blend_last.
      replace (1 - c t - (1 - c u)) with (- (c t - c u)) by ring. rewrite Rabs_Ropp.
      rewrite (sum_ext m _ (fun j => Rabs (c t - c u) * s j)).
      - destruct S_ as [_ O]. rewrite sum_times, O. ring.
      - intros j J. destruct S_ as [P _]. rewrite !blend_first by exact J.
        rewrite <- Rmult_minus_distr_r, Rabs_mult, (Rabs_pos_eq (s j)) by auto. reflexivity. }
    rewrite Q in A. assert (V := clamped_near t u). fold (c t) (c u) in V. nra. }
  destruct (attained_on_line f (2 * K) ltac:(lra) Near) as [t [I T]].
  destruct (B t) as [s [S_ U]]. assert (C := clamped t). fold (c t) in C.
  exists (blend m (c t) s). split; [apply blend_shares; assumption|].
  intros r [P O]. cbn [sum] in O.
  assert (0 <= r m) by auto with arith.
  assert (0 <= sum m r) by (apply sum_pos; auto with arith).
  pose (u := 1 - r m). assert (Iu : 0 <= u <= 1) by (unfold u; lra).
  assert (Cu : c u = u) by (apply clamped_inside; exact Iu).
  assert (X : exists q, shares m q /\ forall j, (j < m)%nat -> r j = u * q j).
  { destruct (Req_dec u 0) as [Z | Z].
    - exists (fun k => if Nat.eqb k 0 then 1 else 0). split; [apply share_one; lia|].
      intros j J. rewrite Z, Rmult_0_l. assert (Zero : sum m r = 0) by (unfold u in Z; lra).
      assert (0 <= r j) by auto with arith. destruct (Rle_lt_or_eq_dec 0 (r j)) as [L | L]; [assumption | |auto].
      exfalso. assert (sum m (fun k => r j * (if Nat.eqb k j then 1 else 0)) <= sum m r).
      { apply sum_le. intros k K'. destruct (Nat.eqb_spec k j) as [-> | _]; [lra|].
        assert (0 <= r k) by auto with arith. lra. }
      rewrite sum_times, (proj2 (share_one m j J)) in *. lra.
    - exists (fun j => / u * r j). split; [split|].
      + intros j J. apply Rmult_le_pos; [left; apply Rinv_0_lt_compat; lra | auto with arith].
      + rewrite sum_times. replace (sum m r) with u by (unfold u; lra). apply Rinv_l, Z.
      + intros j J. field. exact Z. }
  destruct X as [q [Q E_]].
  assert (Same : p r <= p (blend m u q)).
  { assert (A := H r (blend m u q)). assert (Z : apart (S m) r (blend m u q) = 0).
    { unfold apart. cbn [sum]. rewrite blend_last. replace (r m - (1 - u)) with 0 by (unfold u; ring).
      rewrite Rabs_R0, (sum_ext m _ (fun _ => 0)), sum_zero; [ring|].
      intros j J. rewrite (E_ j J), blend_first by exact J. rewrite Rminus_diag_eq by reflexivity. apply Rabs_R0. }
    rewrite Z, Rmult_0_r in A. enough (p r - p (blend m u q) <= 0) by lra.
    apply A; [split; [exact P | exact O] | apply blend_shares; assumption]. }
  destruct (B u) as [v [V W]]. assert (Iv := Is u v V W). specialize (W q Q). rewrite Cu in *.
  specialize (T u Iu). rewrite Iv, (Is t s S_ U) in T. lra.
Qed.

Lemma dot_comm n (u v : vec) : dot n u v = dot n v u.
Proof. apply sum_ext. intros; ring. Qed.

Lemma square_off n (u v : vec) : square n (fun k => u k - v k) = square n u - 2 * dot n v u + square n v.
Proof. unfold square, dot. induction n as [|n IH]; cbn [sum]; [ring | rewrite IH; ring]. Qed.

Lemma square_mixed n r (u v : vec) : square n (fun k => u k + r * (v k - u k))
  = square n u + r * (square n v - square n u - square n (fun k => v k - u k)) + r * r * square n (fun k => v k - u k).
Proof. unfold square, dot. induction n as [|n IH]; cbn [sum]; [ring | rewrite IH; ring]. Qed.

Lemma square_of_three n c (p q v : vec) : square n (fun k => (q k - p k) - c * v k)
  = square n (fun k => q k - p k) + (2 * c) * (dot n p v - dot n q v) + c * c * square n v.
Proof. unfold square, dot. induction n as [|n IH]; cbn [sum]; [ring | rewrite IH; ring]. Qed.

Lemma square_shifted n c (g x y : vec) :
  dot n (fun k => g k - c * y k) (x - y : vectors)%V - c / 2 * square n y + c / 2 * square n x
  = dot n g (x - y : vectors)%V + c / 2 * square n (x - y : vectors)%V.
Proof.
  unfold square, dot. induction n as [|n IH]; cbn [sum]; [ring|]. simpl in *. rewrite Q2R_m1 in *. lra.
Qed.

(* The largest value over shares s of sum_j s_j a_j(x) - |sum_j s_j g_j|^2 / (2 b) with
   a_j(x) = f_j + <g_j, x - x_j> + |g_j|^2 / (2 b): convex, with gradients that are Lipschitz with constant b. *)
Section Largest.
Variables (d m : nat) (b : R) (X g : nat -> vec) (f : nat -> R).
Hypothesis bends : 0 < b.
Hypothesis some : (0 < m)%nat.

Definition plane (x : vec) (j : nat) : R :=
  f j + dot d (g j) (x - X j : vectors)%V + square d (g j) / (2 * b).
Definition slope_of (s : nat -> R) : vec := fun k => sum m (fun j => s j * g j k).
Definition height (x : vec) (s : nat -> R) : R := sum m (fun j => s j * plane x j) - square d (slope_of s) / (2 * b).
Definition best (x : vec) (s : nat -> R) : Prop := shares m s /\ forall t, shares m t -> height x t <= height x s.

Lemma dot_slope s v : dot d (slope_of s) v = sum m (fun j => s j * dot d (g j) v).
Proof.
  unfold slope_of. generalize m. intros n. induction n.
  - simpl. unfold dot. rewrite (sum_ext d _ (fun _ => 0)); [apply sum_zero | intros; ring].
  - cbn [sum]. rewrite <- IHn. one_sum. apply sum_ext. intros; ring.
Qed.

Lemma height_moved x y s : height y s = height x s + dot d (slope_of s) (y - x : vectors)%V.
Proof.
  unfold height. rewrite dot_slope.
  rewrite (sum_ext m (fun j => s j * plane y j) (fun j => s j * plane x j + s j * dot d (g j) (y - x : vectors)%V)).
  - rewrite sum_plus. ring.
  - intros j _. unfold plane.
    assert (E : dot d (g j) (y - X j : vectors)%V
      = dot d (g j) (x - X j : vectors)%V + dot d (g j) (y - x : vectors)%V).
    { one_sum. apply sum_ext. intros. simpl. rewrite Q2R_m1. ring. }
    rewrite E. ring.
Qed.

Lemma mixed_shares s t r : shares m s -> shares m t -> 0 <= r <= 1 -> shares m (fun j => s j + r * (t j - s j)).
Proof.
  intros [P O] [Q_ U] I. split.
  - intros j J. specialize (P j J). specialize (Q_ j J). nra.
  - rewrite sum_plus, sum_times. rewrite (sum_ext m (fun j => t j - s j) (fun j => t j + (-1) * s j)) by (intros; ring).
    rewrite sum_plus, sum_times, O, U. ring.
Qed.

Lemma height_mixed x s t r : height x (fun j => s j + r * (t j - s j)) =
  height x s + r * (height x t - height x s + square d (fun k => slope_of t k - slope_of s k) / (2 * b))
  - r * r * (square d (fun k => slope_of t k - slope_of s k) / (2 * b)).
Proof.
  unfold height.
  assert (A : sum m (fun j => (s j + r * (t j - s j)) * plane x j)
    = sum m (fun j => s j * plane x j) + r * (sum m (fun j => t j * plane x j) - sum m (fun j => s j * plane x j))).
  { rewrite (sum_ext m _ (fun j => s j * plane x j + r * (t j * plane x j + (-1) * (s j * plane x j))))
      by (intros; ring).
    rewrite sum_plus, sum_times, sum_plus, sum_times. ring. }
  assert (B : slope_of (fun j => s j + r * (t j - s j)) = fun k => slope_of s k + r * (slope_of t k - slope_of s k)).
  { apply functional_extensionality. intros k. unfold slope_of.
    rewrite (sum_ext m _ (fun j => s j * g j k + r * (t j * g j k + (-1) * (s j * g j k)))) by (intros; ring).
    rewrite sum_plus, sum_times, sum_plus, sum_times. ring. }
  rewrite A, B. set (u := slope_of s). set (v := slope_of t).
  rewrite square_mixed. field. lra.
Qed.

(* What other shares lose. *)
Lemma best_by x s t : best x s -> shares m t ->
  height x t <= height x s - square d (fun k => slope_of t k - slope_of s k) / (2 * b).
Proof.
  intros [S_ B] T. set (q := square d (fun k => slope_of t k - slope_of s k) / (2 * b)).
  assert (P : 0 <= q).
  { apply Rmult_le_pos; [apply square_pos | left; apply Rinv_0_lt_compat; lra]. }
  assert (H : forall r, 0 < r <= 1 -> height x t - height x s + q <= r * q).
  { intros r I. assert (A := B _ (mixed_shares s t r S_ T ltac:(lra))). rewrite height_mixed in A. fold q in A. nra. }
  set (e := height x t - height x s + q) in *. enough (e <= 0) by (unfold e in *; lra).
  destruct (Rle_lt_dec e 0) as [|L]; [assumption|]. exfalso.
  assert (A := H 1 ltac:(lra)). assert (q > 0) by lra.
  assert (C := H (e / (2 * q))). assert (0 < e / (2 * q)) by (apply Rdiv_lt_0_compat; lra).
  assert (e / (2 * q) <= 1).
  { apply Rmult_le_reg_r with (2 * q); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
  assert (D : e / (2 * q) * q = e / 2) by (field; lra). rewrite D in C. lra.
Qed.

Lemma best_one x s t : best x s -> best x t -> forall k, (k < d)%nat -> slope_of s k = slope_of t k.
Proof.
  intros S_ T k K. assert (A := best_by x s t S_ (proj1 T)). assert (B := proj2 T s (proj1 S_)).
  assert (Z : square d (fun k => slope_of t k - slope_of s k) <= 0).
  { apply Rmult_le_reg_r with (/ (2 * b)); [apply Rinv_0_lt_compat; lra|]. unfold Rdiv in A. lra. }
  assert (E := square_zero d _ Z k K). simpl in E. lra.
Qed.

Lemma largest_of (c : nat -> R) n : exists K, 0 <= K /\ forall j, (j < n)%nat -> Rabs (c j) <= K.
Proof.
  induction n as [|n [K [P H]]]; [exists 0; split; [lra | intros; lia]|].
  exists (K + Rabs (c n)). assert (A := Rabs_pos (c n)). split; [lra|].
  intros j J. destruct (Nat.eq_dec j n) as [-> |]; [lra|]. assert (Rabs (c j) <= K) by (apply H; lia). lra.
Qed.

Lemma sum_abs n a : Rabs (sum n a) <= sum n (fun j => Rabs (a j)).
Proof.
  induction n; simpl; [rewrite Rabs_R0; lra|]. eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.

Lemma weighed_near n c K s t : (forall j, (j < n)%nat -> Rabs (c j) <= K) ->
  sum n (fun j => s j * c j) - sum n (fun j => t j * c j) <= K * apart n s t.
Proof.
  intros H. eapply Rle_trans; [apply Rle_abs|].
  replace (sum n (fun j => s j * c j) - sum n (fun j => t j * c j)) with (sum n (fun j => (s j - t j) * c j)).
  - eapply Rle_trans; [apply sum_abs|]. unfold apart. rewrite <- sum_times. apply sum_le. intros j J.
    rewrite Rabs_mult, Rmult_comm. apply Rmult_le_compat_r; [apply Rabs_pos | auto].
  - rewrite (sum_ext n _ (fun j => s j * c j + (-1) * (t j * c j))) by (intros; ring).
    rewrite sum_plus, sum_times. ring.
Qed.

Lemma height_steady x : exists K, 0 <= K /\ steady m K (height x).
Proof.
  destruct (largest_of (plane x) m) as [K [P H]].
  (* |S s|^2 - |S t|^2 is sum_j (s_j - t_j) <g_j, S s + S t>. *)
  assert (Q_ : exists K', 0 <= K' /\
    forall s, shares m s -> forall j, (j < m)%nat -> Rabs (dot d (g j) (slope_of s)) <= K').
  { assert (R_ : exists K', 0 <= K' /\
      forall i, (i < m)%nat -> forall j, (j < m)%nat -> Rabs (dot d (g j) (g i)) <= K').
    { generalize m at 1. intros n. induction n as [|n [K' [P' H']]]; [exists 0; split; [lra | intros; lia]|].
      destruct (largest_of (fun j => dot d (g j) (g n)) m) as [K'' [P'' H'']].
      exists (K' + K''). split; [lra|]. intros i I j J.
      destruct (Nat.eq_dec i n) as [-> |]; [specialize (H'' j J) | assert (A := H' i ltac:(lia) j J)]; lra. }
    destruct R_ as [K' [P' H']]. exists K'. split; [exact P'|]. intros s [S_ O] j J.
    rewrite (dot_comm d), dot_slope. eapply Rle_trans; [apply sum_abs|]. rewrite <- (Rmult_1_r K'), <- O, <- sum_times.
    apply sum_le. intros i I. rewrite Rabs_mult, (Rabs_pos_eq (s i)), Rmult_comm by auto.
    apply Rmult_le_compat_r; [auto|]. rewrite dot_comm. auto. }
  destruct Q_ as [K' [P' H']]. exists (K + K' / b). split.
  { assert (0 <= K' / b) by (apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; lra]). lra. }
  intros s t S_ T. unfold height.
  assert (A := weighed_near m (plane x) K s t H).
  assert (B : square d (slope_of t) - square d (slope_of s) <= 2 * K' * apart m s t).
  { assert (E : square d (slope_of t) - square d (slope_of s)
      = (sum m (fun j => t j * dot d (g j) (slope_of t)) - sum m (fun j => s j * dot d (g j) (slope_of t)))
      + (sum m (fun j => t j * dot d (g j) (slope_of s)) - sum m (fun j => s j * dot d (g j) (slope_of s)))).
    { rewrite <- !dot_slope, (dot_comm d (slope_of s) (slope_of t)). unfold square. ring. }
    assert (C := weighed_near m (fun j => dot d (g j) (slope_of t)) K' t s (H' t T)).
    assert (D := weighed_near m (fun j => dot d (g j) (slope_of s)) K' t s (H' s S_)).
    assert (Y : apart m t s = apart m s t) by (apply sum_ext; intros; apply Rabs_minus_sym).
    rewrite Y in *. rewrite E. lra. }
  assert (F : (square d (slope_of t) - square d (slope_of s)) / (2 * b) <= K' / b * apart m s t).
  { replace (K' / b * apart m s t) with (2 * K' * apart m s t / (2 * b)) by (field; lra).
    apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra | exact B]. }
  unfold Rdiv in *. lra.
Qed.

Lemma best_some x : exists s, best x s.
Proof. destruct (height_steady x) as [K [P H]]. destruct (attained m _ K P some H) as [s S_]. exists s. exact S_. Qed.

(* A number that is the same whatever the best shares, as one. *)
Lemma chosen x (c : (nat -> R) -> R) : (forall s t, best x s -> best x t -> c s = c t) ->
  {y | forall s, best x s -> y = c s}.
Proof.
  intros U. pose (E := fun y => exists s, best x s /\ y = c s).
  destruct (completeness E) as [y [Y1 Y2]].
  - destruct (best_some x) as [s S_]. exists (c s). intros y [t [T ->]]. rewrite (U t s T S_). lra.
  - destruct (best_some x) as [s S_]. exists (c s), s. auto.
  - exists y. intros s S_. apply Rle_antisym.
    + apply Y2. intros z [t [T ->]]. rewrite (U t s T S_). lra.
    + apply Y1. exists s. auto.
Qed.

Definition largest (x : vec) : R.
Proof. refine (proj1_sig (chosen x (height x) _)). intros s t [S_ A] [T B]. apply Rle_antisym; auto. Defined.

Definition steepest (x : vec) (k : nat) : R.
Proof.
  refine (proj1_sig (chosen x (fun s => if Nat.ltb k d then slope_of s k else 0) _)).
  intros s t S_ T. destruct (Nat.ltb_spec k d) as [K|]; [exact (best_one x s t S_ T k K) | reflexivity].
Defined.

Lemma largest_is x s : best x s -> largest x = height x s.
Proof. intros B. unfold largest. destruct (chosen _ _ _) as [y Y]. simpl. auto. Qed.

Lemma steepest_is x s k : best x s -> steepest x k = if Nat.ltb k d then slope_of s k else 0.
Proof. intros B. unfold steepest. destruct (chosen _ _ _) as [y Y]. simpl. auto. Qed.

Lemma dot_steepest x s v : best x s -> dot d (steepest x) v = dot d (slope_of s) v.
Proof.
  intros B. apply sum_ext. intros k K. rewrite (steepest_is x s k B). apply Nat.ltb_lt in K. rewrite K. reflexivity.
Qed.

Theorem largest_of_class : of_class d 0 b largest steepest.
Proof.
  intros x y. destruct (best_some x) as [s S_]. destruct (best_some y) as [t T].
  rewrite (largest_is x s S_), (largest_is y t T), (dot_steepest x s _ S_).
  assert (A := proj2 T s (proj1 S_)). rewrite (height_moved x y s) in A.
  assert (B := best_by x s t S_ (proj1 T)). assert (C := height_moved x y t).
  split; [unfold Rdiv; rewrite Rmult_0_l; lra|]. rewrite C.
  set (v := (y - x : vectors)%V) in *. set (p := slope_of s) in *. set (q := slope_of t) in *.
  assert (D : 0 <= square d (fun k => (q k - p k) - b * v k)) by apply square_pos.
  rewrite square_of_three in D.
  apply Rmult_le_compat_r with (r := / (2 * b)) in D; [|left; apply Rinv_0_lt_compat; lra].
  rewrite Rmult_0_l in D.
  replace ((square d (fun k => q k - p k) + 2 * b * (dot d p v - dot d q v) + b * b * square d v) * / (2 * b))
    with (square d (fun k => q k - p k) / (2 * b) + (dot d p v - dot d q v) + b / 2 * square d v) in D by (field; lra).
  lra.
Qed.

(* Where one point's inequalities with the others hold, it is met there. *)
Theorem largest_meets i : (i < m)%nat ->
  (forall j, (j < m)%nat ->
    f j - f i + dot d (g j) (X i - X j : vectors)%V + 1 / (2 * b) * square d (fun k => g i k - g j k) <= 0) ->
  largest (X i) = f i /\ forall k, (k < d)%nat -> steepest (X i) k = g i k.
Proof.
  intros I H. destruct (best_some (X i)) as [s S_]. rewrite (largest_is _ s S_).
  assert (A : height (X i) s <= f i - square d (fun k => g i k - slope_of s k) / (2 * b)).
  { destruct (proj1 S_) as [P O]. unfold height.
    assert (B : sum m (fun j => s j * plane (X i) j)
      <= sum m (fun j => s j * (f i - square d (g i) / (2 * b)) + s j * dot d (g j) (g i) * / b)).
    { apply sum_le. intros j J. specialize (H j J). specialize (P j J).
      rewrite square_off in H. unfold plane.
      replace (s j * (f i - square d (g i) / (2 * b)) + s j * dot d (g j) (g i) * / b)
        with (s j * (f i - square d (g i) / (2 * b) + dot d (g j) (g i) / b)) by (field; lra).
      apply Rmult_le_compat_l; [exact P|].
      replace (1 / (2 * b) * (square d (g i) - 2 * dot d (g j) (g i) + square d (g j)))
        with (square d (g i) / (2 * b) - dot d (g j) (g i) / b + square d (g j) / (2 * b)) in H by (field; lra).
      lra. }
    rewrite sum_plus in B.
    rewrite (sum_ext m (fun j => s j * (f i - square d (g i) / (2 * b)))
      (fun j => (f i - square d (g i) / (2 * b)) * s j)), sum_times, O in B by (intros; ring).
    rewrite (sum_ext m (fun j => s j * dot d (g j) (g i) * / b) (fun j => / b * (s j * dot d (g j) (g i)))),
      sum_times, <- dot_slope in B by (intros; ring).
    rewrite square_off.
    replace ((square d (g i) - 2 * dot d (slope_of s) (g i) + square d (slope_of s)) / (2 * b))
      with (square d (g i) / (2 * b) - / b * dot d (slope_of s) (g i) + square d (slope_of s) / (2 * b))
      by (field; lra).
    lra. }
  assert (C : height (X i) (fun k => if Nat.eqb k i then 1 else 0) = f i).
  { pose (one := fun k => if Nat.eqb k i then 1 else 0). fold one.
    assert (Pick : forall c, sum m (fun j => one j * c j) = c i).
    { intros c. rewrite (sum_ext m _ (fun j => c i * one j)).
      - assert (O : sum m one = 1) by exact (proj2 (share_one m i I)). rewrite sum_times, O. ring.
      - intros j _. unfold one. destruct (Nat.eqb_spec j i) as [-> |]; ring. }
    assert (S1 : slope_of one = g i) by (apply functional_extensionality; intros k; apply Pick).
    unfold height. rewrite Pick, S1. unfold plane.
    assert (Z : dot d (g i) (X i - X i : vectors)%V = 0).
    { unfold dot. rewrite (sum_ext d _ (fun _ => 0)), sum_zero; [reflexivity|]. intros. simpl. rewrite Q2R_m1. ring. }
    rewrite Z. ring. }
  assert (D := proj2 S_ _ (share_one m i I)). rewrite C in D.
  assert (P : 0 <= square d (fun k => g i k - slope_of s k) / (2 * b)).
  { apply Rmult_le_pos; [apply square_pos | left; apply Rinv_0_lt_compat; lra]. }
  split; [lra|]. intros k K. rewrite (steepest_is _ s k S_). apply Nat.ltb_lt in K as K'. rewrite K'.
  assert (Z : square d (fun k => g i k - slope_of s k) <= 0).
  { apply Rmult_le_reg_r with (/ (2 * b)); [apply Rinv_0_lt_compat; lra|]. unfold Rdiv in *. lra. }
  assert (E := square_zero d _ Z k K). simpl in E. lra.
Qed.
End Largest.

(* The interpolation theorem (Taylor, Hendrickx and Glineur 2017): points whose inequalities hold are those of a
   function of the class. *)
Theorem interpolable d mu L m (X g : nat -> vec) f : mu < L -> (0 < m)%nat ->
  (forall i k, (i < m)%nat -> (d <= k)%nat -> X i k = 0 /\ g i k = 0) ->
  (forall i j, (i < m)%nat -> (j < m)%nat ->
    f j - f i + dot d (g j) (X i - X j : vectors)%V + mu / 2 * square d (X i - X j : vectors)%V
    + 1 / (2 * (L - mu)) * square d (fun k => (g i k - g j k) - mu * (X i k - X j k)) <= 0) ->
  exists F G, of_class d mu L F G /\ forall i, (i < m)%nat -> F (X i) = f i /\ G (X i) = g i.
Proof.
  intros LT M Z H.
  pose (g' := fun j k => g j k - mu * X j k). pose (f' := fun j => f j - mu / 2 * square d (X j)).
  assert (B : 0 < L - mu) by lra.
  assert (H' : forall i j, (i < m)%nat -> (j < m)%nat ->
    f' j - f' i + dot d (g' j) (X i - X j : vectors)%V
    + 1 / (2 * (L - mu)) * square d (fun k => g' i k - g' j k) <= 0).
  { intros i j I J. specialize (H i j I J).
    assert (E : square d (fun k => g' i k - g' j k) = square d (fun k => (g i k - g j k) - mu * (X i k - X j k))).
    { apply sum_ext. intros k _. unfold g'. ring. }
    rewrite E. unfold f'.
    assert (D := square_shifted d mu (g j) (X i) (X j)). fold (g' j) in D. lra. }
  pose (F := largest d m (L - mu) X g' f' B M). pose (G := steepest d m (L - mu) X g' f' B M).
  exists (fun x => F x + mu / 2 * square d x), (fun x k => G x k + mu * x k). split.
  - intros x y. destruct (largest_of_class d m (L - mu) X g' f' B M x y) as [lo hi]. fold F G in lo, hi.
    assert (E := square_shifted d mu (fun k => G x k + mu * x k) y x). cbv beta in E.
    replace (fun k => G x k + mu * x k - mu * x k) with (G x) in E
      by (apply functional_extensionality; intros k; ring).
    split; lra.
  - intros i I. destruct (largest_meets d m (L - mu) X g' f' B M i I (fun j J => H' i j I J)) as [V S_].
    fold F in V. fold G in S_. split; [rewrite V; unfold f'; ring|].
    apply functional_extensionality. intros k. destruct (Nat.lt_ge_cases k d) as [K | K].
    + rewrite (S_ k K). unfold g'. ring.
    + destruct (Z i k I K) as [-> ->]. destruct (best_some d m (L - mu) X g' f' B M (X i)) as [s T].
      unfold G. rewrite (steepest_is d m (L - mu) X g' f' B M _ s k T).
      apply Nat.ltb_ge in K. rewrite K. ring.
Qed.
