(* Inequalities whose coefficients are polynomials in a rate, at every rate of an interval: multipliers at some rates,
   mixed linearly between neighbours. With r = low t + high s, s + t = 1, what is left over is homogeneous in s and t;
   it is not negative where the coefficients of all s^j t^(m-j) are not. *)

Require Import Vectors Certificates.

(* sum_k r^k v_k. *)
Definition family := list value.

Fixpoint plus_family (p q : family) : family :=
  match p, q with
  | [], _ => q
  | _, [] => p
  | v :: p', w :: q' => vplus v w :: plus_family p' q'
  end.

(* What multipliers leave over: sum_k lambda_k q_k - claimed. *)
Fixpoint left_at (a : list Q) (given : list family) (claimed : family) : family :=
  match a, given with
  | c :: a', q :: given' =>
      if zero c then left_at a' given' claimed else plus_family (map (vtimes c) q) (left_at a' given' claimed)
  | _, _ => map (vtimes (-1)) claimed
  end.

(* Of sum_j s^j t^(m - j) v_j, of m + 1 members: the product with s + t, so often; with t; with s; and a sum. *)
Fixpoint shifted (before : value) (p : family) : family :=
  match p with [] => [before] | v :: p' => vplus v before :: shifted v p' end.
Definition raised_once (p : family) : family := match p with [] => [] | v :: p' => v :: shifted v p' end.
Fixpoint raised (m : nat) (p : family) : family := match m with O => p | S m' => raised_once (raised m' p) end.
Definition times_t (p : family) : family := p ++ [number 0].
Definition times_s (p : family) : family := number 0 :: p.

Fixpoint added (p q : family) : family :=
  match p, q with v :: p', w :: q' => vplus v w :: added p' q' | _, _ => [] end.
Definition joined (p q : family) : family :=
  added (raised (length q - length p) p) (raised (length p - length q) q).

(* The product with low t + high s. *)
Fixpoint carried (low high : Q) (before : value) (p : family) : family :=
  match p with
  | [] => [vtimes high before]
  | v :: p' => vplus (vtimes low v) (vtimes high before) :: carried low high v p'
  end.
Definition times_rate (low high : Q) (p : family) : family :=
  match p with [] => [] | v :: p' => vtimes low v :: carried low high v p' end.

(* A family of powers of r at r = low t + high s. *)
Fixpoint along (low high : Q) (p : family) : family :=
  match p with
  | [] => []
  | [v] => [v]
  | v :: p' => joined [v] (times_rate low high (along low high p'))
  end.

(* Not negative, whatever the vectors. *)
Definition nonnegative (v : value) : bool :=
  forallb zero (by_values v) && Qle_bool 0 (constant v) && semidefinite (by_products v).

Section At.
Variables (d : nat) (u : nat -> vec) (f : nat -> R).
Notation val := (val d u f).

Fixpoint at_rate (r : R) (p : family) : R := match p with [] => 0 | v :: p' => val v + r * at_rate r p' end.

Fixpoint homogeneous (s t : R) (p : family) : R :=
  match p with [] => 0 | v :: p' => t ^ length p' * val v + s * homogeneous s t p' end.

Lemma at_plus r p : forall q, at_rate r (plus_family p q) = at_rate r p + at_rate r q.
Proof. induction p; intros [|w q]; simpl; try ring. rewrite IHp, val_plus. ring. Qed.

Lemma at_times r c p : at_rate r (map (vtimes c) p) = Q2R c * at_rate r p.
Proof. induction p; simpl; [ring|]. rewrite IHp, val_times. ring. Qed.

Lemma at_left r a : forall given claimed, forallb (Qle_bool 0) a = true ->
  (forall q, In q given -> at_rate r q <= 0) -> at_rate r (left_at a given claimed) <= - at_rate r claimed.
Proof.
  induction a as [|c a IH]; intros [|q given] claimed A G; cbn [left_at];
    try (rewrite at_times, Q2R_m1; lra).
  cbn [forallb] in A. apply andb_prop in A as [C A].
  assert (H : at_rate r (left_at a given claimed) <= - at_rate r claimed)
    by (apply IH; [exact A | intros; apply G; right; auto]).
  destruct (zero c); [exact H|]. rewrite at_plus, at_times. apply Q2R_pos in C.
  specialize (G q (or_introl eq_refl)). nra.
Qed.

Lemma homogeneous_shifted s t p : forall v, length (shifted v p) = S (length p)
  /\ homogeneous s t (shifted v p) = t ^ length p * val v + (t + s) * homogeneous s t p.
Proof.
  induction p as [|w p IH]; intros v; [split; [reflexivity | simpl; ring]|].
  destruct (IH w) as [L H]. cbn [shifted homogeneous length]. rewrite L, H, val_plus.
  split; [reflexivity | simpl; ring].
Qed.

Lemma raised_is s t m p : s + t = 1 -> p <> [] ->
  length (raised m p) = (m + length p)%nat /\ homogeneous s t (raised m p) = homogeneous s t p.
Proof.
  intros E N. induction m as [|m [L H]]; [auto|]. cbn [raised]. rewrite <- H. clear H.
  destruct (raised m p) as [|v q]; [destruct p; simpl in *; [congruence | lia]|].
  destruct (homogeneous_shifted s t q v) as [Lq Hq]. cbn [raised_once homogeneous length] in *.
  rewrite Lq, Hq. split; [lia|]. assert (T : t = 1 - s) by lra. rewrite T at 1. simpl. rewrite T. ring.
Qed.

Lemma homogeneous_added s t p : forall q, length p = length q ->
  length (added p q) = length p /\ homogeneous s t (added p q) = homogeneous s t p + homogeneous s t q.
Proof.
  induction p as [|v p IH]; intros [|w q] E; simpl in E; try discriminate; [split; [reflexivity | simpl; ring]|].
  injection E as E. destruct (IH q E) as [L H]. cbn [added homogeneous length]. rewrite L, H, val_plus, E.
  split; [reflexivity | ring].
Qed.

Lemma joined_is s t p q : s + t = 1 -> p <> [] -> q <> [] ->
  joined p q <> [] /\ homogeneous s t (joined p q) = homogeneous s t p + homogeneous s t q.
Proof.
  intros E P R. unfold joined.
  destruct (raised_is s t (length q - length p) p E P) as [L1 H1].
  destruct (raised_is s t (length p - length q) q E R) as [L2 H2].
  destruct (homogeneous_added s t (raised (length q - length p) p) (raised (length p - length q) q)) as [L H];
    [rewrite L1, L2; lia|].
  rewrite H, H1, H2. split; [|reflexivity]. intros Z. rewrite Z, L1 in L. destruct p; simpl in L; [congruence | lia].
Qed.

Lemma homogeneous_carried a b s t p : forall v, length (carried a b v p) = S (length p)
  /\ homogeneous s t (carried a b v p) = t ^ length p * (Q2R b * val v) + (Q2R a * t + Q2R b * s) * homogeneous s t p.
Proof.
  induction p as [|w p IH]; intros v; [split; [reflexivity | simpl; rewrite val_times; ring]|].
  destruct (IH w) as [L H]. cbn [carried homogeneous length]. rewrite L, H, val_plus, !val_times.
  split; [reflexivity | simpl; ring].
Qed.

Lemma times_rate_is a b s t p : homogeneous s t (times_rate a b p) = (Q2R a * t + Q2R b * s) * homogeneous s t p.
Proof.
  destruct p as [|v p]; [simpl; ring|]. destruct (homogeneous_carried a b s t p v) as [L H].
  cbn [times_rate homogeneous]. rewrite L, H, val_times. simpl. ring.
Qed.

Lemma along_is low high s t p : s + t = 1 -> p <> [] ->
  along low high p <> [] /\ homogeneous s t (along low high p) = at_rate (Q2R low * t + Q2R high * s) p.
Proof.
  intros E. induction p as [|v [|w p] IH]; intros N; [congruence | split; [discriminate | simpl; ring]|].
  destruct (IH ltac:(discriminate)) as [N1 H].
  change (along low high (v :: w :: p)) with (joined [v] (times_rate low high (along low high (w :: p)))).
  assert (N2 : times_rate low high (along low high (w :: p)) <> [])
    by (destruct (along low high (w :: p)); [congruence | discriminate]).
  destruct (joined_is s t [v] _ E ltac:(discriminate) N2) as [N3 J].
  split; [exact N3|]. rewrite J, times_rate_is, H. simpl. ring.
Qed.

Lemma times_t_is s t p : homogeneous s t (times_t p) = t * homogeneous s t p.
Proof.
  unfold times_t. induction p as [|v p IH]; [simpl; rewrite val_number, Q2R_0; ring|].
  cbn [app homogeneous]. rewrite IH, app_length, Nat.add_comm. simpl. ring.
Qed.

Lemma times_s_is s t p : homogeneous s t (times_s p) = s * homogeneous s t p.
Proof. unfold times_s. cbn [homogeneous]. rewrite val_number, Q2R_0. ring. Qed.

Lemma nonnegative_sound v : nonnegative v = true -> 0 <= val v.
Proof.
  intros H. apply andb_prop in H as [H P]. apply andb_prop in H as [Z C].
  unfold Certificates.val. rewrite (ev_zeros _ _ Z). apply Q2R_pos in C.
  assert (0 <= sum d (fun k => tv (by_products v) (fun j => u j k)))
    by (apply sum_pos; intros; apply semidefinite_sound; exact P). lra.
Qed.

Lemma homogeneous_pos s t p : 0 <= s -> 0 <= t -> forallb nonnegative p = true -> 0 <= homogeneous s t p.
Proof.
  intros S T. induction p as [|v p IH]; cbn [forallb homogeneous]; intros H; [lra|]. apply andb_prop in H as [V H].
  apply nonnegative_sound in V. specialize (IH H). assert (0 <= t ^ length p) by (apply pow_le; exact T). nra.
Qed.
End At.

Definition some (p : family) : bool := match p with [] => false | _ => true end.

(* From one rate to the next, by what is left over at both. *)
Definition between (low high : Q) (p q : family) : bool :=
  some p && some q && forallb nonnegative (joined (times_t (along low high p)) (times_s (along low high q))).

Fixpoint chain (rate : Q) (p : family) (rest : list (Q * family)) : bool :=
  match rest with
  | [] => true
  | (next, q) :: rest' => negb (Qle_bool next rate) && between rate next p q && chain next q rest'
  end.

Fixpoint last_rate (rate : Q) (rest : list (Q * family)) : Q :=
  match rest with [] => rate | (next, _) :: rest' => last_rate next rest' end.

(* Multipliers at rates that rise from low to high. *)
Definition proves_through (low high : Q) (given : list family) (claimed : family) (at_ : list (Q * list Q)) : bool :=
  forallb (fun ra => forallb (Qle_bool 0) (snd ra)) at_
  && match map (fun ra => (fst ra, left_at (snd ra) given claimed)) at_ with
     | [] => false
     | (rate, p) :: rest =>
         Qeq_bool rate low && Qeq_bool (last_rate rate rest) high && between rate rate p p && chain rate p rest
     end.

(* For every rate of the interval, every d, all vectors and function values: what is given implies what is claimed. *)
Definition implied (low high : Q) (given : list family) (claimed : family) : Prop :=
  forall r, Q2R low <= r <= Q2R high -> forall (d : nat) (u : nat -> vec) (f : nat -> R),
  (forall q, In q given -> at_rate d u f r q <= 0) -> at_rate d u f r claimed <= 0.

Section Through.
Variables (d : nat) (u : nat -> vec) (f : nat -> R) (claimed : family).

Lemma between_sound low high p q s t : between low high p q = true -> s + t = 1 -> 0 <= s -> 0 <= t ->
  let r := Q2R low * t + Q2R high * s in
  at_rate d u f r p <= - at_rate d u f r claimed -> at_rate d u f r q <= - at_rate d u f r claimed ->
  at_rate d u f r claimed <= 0.
Proof.
  intros H E S T r P R. apply andb_prop in H as [H N]. apply andb_prop in H as [Np Nq].
  destruct (along_is d u f low high s t p E) as [N1 H1]; [destruct p; discriminate|].
  destruct (along_is d u f low high s t q E) as [N2 H2]; [destruct q; discriminate|].
  apply (homogeneous_pos d u f s t) in N; [|exact S|exact T].
  destruct (joined_is d u f s t (times_t (along low high p)) (times_s (along low high q)) E) as [_ J].
  - destruct (along low high p); [congruence | discriminate].
  - discriminate.
  - rewrite J, times_t_is, times_s_is, H1, H2 in N. fold r in N. nra.
Qed.

Lemma chain_sound rest : forall rate p, chain rate p rest = true ->
  forall r, Q2R rate < r <= Q2R (last_rate rate rest) ->
  (forall x q, In (x, q) ((rate, p) :: rest) -> at_rate d u f r q <= - at_rate d u f r claimed) ->
  at_rate d u f r claimed <= 0.
Proof.
  induction rest as [|[next q] rest IH]; intros rate p H r I A; [cbn [last_rate] in I; lra|].
  cbn [chain] in H. apply andb_prop in H as [H C]. apply andb_prop in H as [Lt X].
  assert (L : Q2R rate < Q2R next).
  { apply Qlt_Rlt. destruct (Qlt_le_dec rate next) as [|N]; [assumption|]. apply Qle_bool_iff in N. rewrite N in Lt.
    discriminate Lt. }
  destruct (Rle_lt_dec r (Q2R next)) as [B | B].
  - pose (s := (r - Q2R rate) / (Q2R next - Q2R rate)).
    assert (P : 0 < / (Q2R next - Q2R rate)) by (apply Rinv_0_lt_compat; lra).
    assert (E : Q2R rate * (1 - s) + Q2R next * s = r) by (unfold s; field; lra).
    assert (0 <= s) by (apply Rmult_le_pos; lra).
    assert (s <= 1).
    { apply Rmult_le_reg_r with (Q2R next - Q2R rate); [lra|]. unfold s, Rdiv.
      rewrite Rmult_assoc, Rinv_l by lra. lra. }
    rewrite <- E in A |- *. apply (between_sound rate next p q s (1 - s) X); try lra.
    + apply (A rate); left; reflexivity.
    + apply (A next); right; left; reflexivity.
  - apply (IH next q C r); [cbn [last_rate] in I; lra|]. intros x w W. apply (A x); right; exact W.
Qed.
End Through.

Theorem through_proves low high given claimed at_ :
  proves_through low high given claimed at_ = true -> implied low high given claimed.
Proof.
  unfold proves_through. intros H r I d u f G. apply andb_prop in H as [M H]. rewrite forallb_forall in M.
  assert (A : forall x q, In (x, q) (map (fun ra => (fst ra, left_at (snd ra) given claimed)) at_) ->
    at_rate d u f r q <= - at_rate d u f r claimed).
  { intros x q W. apply in_map_iff in W as [[y a] [E W]]. injection E as _ <-.
    apply at_left; [exact (M _ W) | exact G]. }
  destruct (map _ at_) as [|[rate p] rest]; [discriminate|].
  apply andb_prop in H as [H C]. apply andb_prop in H as [H B]. apply andb_prop in H as [E L].
  apply Qeq_bool_eq, Qeq_eqR in E, L. destruct (Rle_lt_or_eq_dec (Q2R rate) r) as [Lt | Eq]; [lra| |].
  - apply (chain_sound d u f claimed rest rate p C); [lra | exact A].
  - assert (R : Q2R rate * 1 + Q2R rate * 0 = r) by lra.
    assert (K := A rate p (or_introl eq_refl)). rewrite <- R in K |- *.
    apply (between_sound d u f claimed rate rate p p 0 1 B); lra.
Qed.

(* Rows of a triangle without their zeros: each entry's column, counted from the diagonal, and the entry. *)
Fixpoint dense (k : nat) (r : list (nat * Q)) : list Q :=
  match r with [] => [] | (j, c) :: r' => repeat 0%Q (j - k) ++ c :: dense (S j) r' end.

Definition sparse (values : list (nat * Q)) (products : list (list (nat * Q))) (c : Q) : value :=
  Value (dense 0 values) (map (dense 0) products) c.
