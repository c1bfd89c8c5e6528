(* A rule runs on linear forms; multipliers that prove the inequality between forms prove the row about functions. *)

Require Import Vectors Classes Certificates Rounds Statements.

(* To run on forms and then to take the value is to run on vectors. *)
Section Values.
Variable u : nat -> vec.
Notation phi := (vec_of u).

Lemma phi_total n v : phi (total n v) = total n (fun i => phi (v i)).
Proof. induction n; [reflexivity|]. cbn [total]. rewrite vec_of_plus, IHn. reflexivity. Qed.

Lemma phi_mean n v : phi (mean n v) = mean n (fun i => phi (v i)).
Proof. unfold mean. rewrite vec_of_times, phi_total. reflexivity. Qed.
End Values.

Lemma total_ext (V : space) n (v w : nat -> V) : (forall i, (i < n)%nat -> v i = w i) -> total n v = total n w.
Proof. intros E. induction n; [reflexivity|]. cbn [total]. rewrite IHn, E; auto with arith. Qed.

Lemma mean_ext (V : space) n (v w : nat -> V) : (forall i, (i < n)%nat -> v i = w i) -> mean n v = mean n w.
Proof. intros E. unfold mean. rewrite (total_ext V n v w E). reflexivity. Qed.

Lemma total_at n (v : nat -> vec) k : total n v k = sum n (fun i => v i k).
Proof. induction n; [reflexivity|]. cbn [total]. simpl. rewrite IHn. reflexivity. Qed.

Lemma ev_minus (a b : forms) u : ev (a - b)%V u = ev a u - ev b u.
Proof. simpl. rewrite ev_ladd, ev_lmul, Q2R_m1. ring. Qed.

Lemma Q2R_half q : Q2R (q / 2) = Q2R q / 2.
Proof.
  unfold Qdiv. rewrite Q2R_mult, Q2R_inv by discriminate. replace (Q2R 2) with 2 by (unfold Q2R; simpl; field).
  reflexivity.
Qed.

Lemma Q2R_nonzero q : Q2R q <> 0 -> ~ (q == 0)%Q.
Proof. intros N E. apply N. rewrite (Qeq_eqR _ _ E). apply Q2R_0. Qed.

Lemma Q2R_over a b : Q2R b < Q2R a -> Q2R (1 / (2 * (a - b))) = 1 / (2 * (Q2R a - Q2R b)).
Proof.
  intros L. assert (T : Q2R 2 = 2) by (unfold Q2R; simpl; field).
  assert (E : Q2R (2 * (a - b)) = 2 * (Q2R a - Q2R b)) by (rewrite Q2R_mult, Q2R_minus, T; reflexivity).
  rewrite Q2R_div, E, Q2R_1 by (apply Q2R_nonzero; rewrite E; lra). reflexivity.
Qed.

Section Symbolic.
Variables (n : nat) (mu L : Q).

(* The basis: x_star, x - x_star, and for each client its gradient at x_star, its vector, and its gradients in steps 0,
   1, ... *)
Definition slot (a i : nat) : nat := S (S (a * n + i)).
Definition star : forms := unit 0.
Definition begun : forms := (unit 0 + unit 1)%V.
Definition held (i : nat) : forms := unit (slot 1 i).
Definition answer (i k : nat) (_ : forms) : forms := unit (slot (S (S k)) i).
(* The gradients at x_star sum to zero: the last is minus the sum of the others. *)
Definition slope (i : nat) : forms :=
  if Nat.eqb (S i) n then ((-1)%Q * total i (fun j => unit (slot 0 j)))%V else unit (slot 0 i).

Variable step : nat -> forms -> forms -> forms.
Definition local (i k : nat) : forms := solve (step i) (answer i) begun k.

(* Point 0 of each client is x_star, point k + 1 where it asks in step k. *)
Definition place (i a : nat) : forms := match a with O => star | S k => local i k end.
Definition gradient (i a : nat) : forms := match a with O => slope i | S k => answer i k begun end.

(* The interpolation inequality for points a and b of client i: what is at most zero. *)
Definition interpolated (i a b : nat) : value :=
  let dx := (place i a - place i b)%V in
  let dg := (gradient i a - gradient i b)%V in
  let bent := (dg - mu * dx)%V in
  vplus (linear (unit (b * n + i) - unit (a * n + i))%V)
    (vplus (inner (gradient i b) dx)
      (vplus (vtimes (mu / 2) (inner dx dx)) (vtimes (1 / (2 * (L - mu))) (inner bent bent)))).

(* Client, two of its points, and a multiplier of their inequality. *)
Definition multiplier := (nat * nat * nat * Q)%type.
Definition given_by (m : multiplier) : Q * value := match m with (i, a, b, c) => (c, interpolated i a b) end.
Definition client_of (m : multiplier) : nat := match m with (i, _, _, _) => i end.
Definition apt (proof : list multiplier) : bool :=
  negb (Nat.eqb n 0) && Qle_bool 0 mu && negb (Qle_bool L mu) && forallb (fun m => Nat.ltb (client_of m) n) proof.

Fixpoint all (m : nat) (f : nat -> value) : value := match m with O => number 0 | S i => vplus (all i f) (f i) end.

Lemma val_all d u f m g : val d u f (all m g) = sum m (fun i => val d u f (g i)).
Proof. induction m; cbn [all]; [rewrite val_number; apply Q2R_0|]. rewrite val_plus, IHm. reflexivity. Qed.

(* A row of distances: multipliers of |x - x_star|^2 <= 1, of the clients' mean square zeta^2, and of interpolation. *)
Definition spread : value := vtimes (1 / whole n) (all n (fun i => inner (slope i) (slope i))).

Definition distance_check (ended : forms) (zeta2 bound s z : Q) (proof : list multiplier) : bool :=
  apt proof && proves
    ((s, vplus (inner (begun - star) (begun - star))%V (number (-1)))
      :: (z, vplus spread (number (- zeta2))) :: map given_by proof)
    (vplus (inner (ended - star) (ended - star))%V (number (- bound))).

(* A row of factors: x - x_star and all c_i - grad F_i(x_star), and the form in them. *)
Definition off (ended : forms) (kept : nat -> forms) (a : nat) : forms :=
  match a with O => (ended - star)%V | S i => (kept i - slope i)%V end.

Definition form (P : list (list Q)) (v : nat -> forms) : value :=
  all (S n) (fun a => all (S n) (fun b => vtimes (entry P a b) (inner (v a) (v b)))).

(* P less a millionth of the first square is positive semidefinite. *)
Definition positive (P : list (list Q)) : bool :=
  proves [] (vplus (vtimes (1 # 1000000) (inner (unit 0) (unit 0))) (vtimes (-1) (form P unit))).

Definition falls_check (ended : forms) (kept : nat -> forms) (P : list (list Q)) (bound : Q)
    (proof : list multiplier) : bool :=
  apt proof && positive P && proves (map given_by proof)
    (vplus (form P (off ended kept)) (vtimes (- bound) (form P (off begun held)))).

Lemma Q2R_share : (0 < n)%nat -> Q2R (1 / whole n) = / INR n.
Proof.
  intros N. assert (P : Q2R (whole n) = INR n).
  { unfold whole, Q2R; simpl. rewrite INR_IZR_INZ. field. }
  assert (INR n <> 0) by (apply not_0_INR; lia).
  rewrite Q2R_div, P, Q2R_1 by (apply Q2R_nonzero; rewrite P; exact H). field. exact H.
Qed.

Lemma positive_sound d G x_star (s : state vectors) P : positive P = true ->
  square d (model s - x_star)%V <= 1000000 * potential d n P G x_star s.
Proof.
  intros H. apply (proves_sound d (away G x_star s) (fun _ => 0)) in H; [|intros ? ? []].
  rewrite val_plus, !val_times, val_inner, Q2R_m1 in H. unfold form in H. rewrite val_all in H.
  rewrite (sum_ext _ _ (fun a =>
    sum (S n) (fun b => Q2R (entry P a b) * dot d (away G x_star s a) (away G x_star s b))))
    in H.
  2: { intros a _. rewrite val_all. apply sum_ext. intros b _.
       rewrite val_times, val_inner, !vec_of_unit. reflexivity. }
  rewrite vec_of_unit in H. unfold potential. unfold square. change (away G x_star s 0) with (model s - x_star)%V in H.
  replace (Q2R (1 # 1000000)) with (/ 1000000) in H by (unfold Q2R; simpl; lra). lra.
Qed.

Lemma apt_some proof : apt proof = true -> (0 < n)%nat /\ 0 <= Q2R mu < Q2R L.
Proof.
  intros A. apply andb_prop in A as [A _]. apply andb_prop in A as [A B]. apply andb_prop in A as [A C].
  split; [destruct n; [discriminate A | lia]|]. split; [apply Q2R_pos, C|].
  apply Qlt_Rlt. destruct (Qlt_le_dec mu L) as [|N]; [assumption|].
  apply Qle_bool_iff in N. rewrite N in B. discriminate B.
Qed.

(* What functions, points and vectors make of it. *)
Section Meant.
Variables (d : nat) (F : nat -> vec -> R) (G : nat -> vec -> vec) (x_star x : vec) (c : nat -> vec).
Variable step_ : nat -> vec -> vec -> vec.
Hypothesis some : (0 < n)%nat.
Hypothesis curved : 0 <= Q2R mu < Q2R L.
Hypothesis member : forall i, (i < n)%nat -> of_class d (Q2R mu) (Q2R L) (F i) (G i).
Hypothesis least : minimises n F x_star.

Definition local_ (i k : nat) : vec := solve (V := vectors) (step_ i) (exact G i) x k.
Definition place_ (i a : nat) : vec := match a with O => x_star | S k => local_ i k end.

Definition basis (j : nat) : vec :=
  match j with
  | O => x_star
  | S O => (x - x_star)%V
  | S (S m) =>
      let i := (m mod n)%nat in
      match (m / n)%nat with O => G i x_star | S O => c i | S (S k) => G i (local_ i k) end
  end.
Definition values (j : nat) : R := F (j mod n)%nat (place_ (j mod n) (j / n)).
Notation phi := (vec_of basis).

Hypothesis stepped : forall i y g, (i < n)%nat -> phi (step i y g) = step_ i (phi y) (phi g).

Lemma quotient a i : (i < n)%nat -> ((a * n + i) / n = a /\ (a * n + i) mod n = i)%nat.
Proof.
  intros I. split.
  - rewrite Nat.div_add_l by lia. rewrite Nat.div_small by lia. lia.
  - rewrite Nat.add_comm, Nat.mod_add by lia. apply Nat.mod_small. exact I.
Qed.

Lemma basis_slot a i : (i < n)%nat ->
  basis (slot a i) = match a with O => G i x_star | S O => c i | S (S k) => G i (local_ i k) end.
Proof. intros I. unfold basis, slot. destruct (quotient a i I) as [-> ->]. reflexivity. Qed.

Lemma phi_begun : phi begun = x.
Proof.
  unfold begun. rewrite vec_of_plus, !vec_of_unit. apply functional_extensionality. intros k. simpl.
  rewrite Q2R_m1. ring.
Qed.

Lemma phi_held i : (i < n)%nat -> phi (held i) = c i.
Proof. intros I. unfold held. rewrite vec_of_unit, basis_slot by exact I. reflexivity. Qed.

Lemma phi_answer i k y : (i < n)%nat -> phi (answer i k y) = G i (local_ i k).
Proof. intros I. unfold answer. rewrite vec_of_unit, basis_slot by exact I. reflexivity. Qed.

Lemma phi_local i k : (i < n)%nat -> phi (local i k) = local_ i k.
Proof.
  intros I. induction k; [apply phi_begun|].
  change (local i (S k)) with (step i (local i k) (answer i k (local i k))).
  rewrite stepped, phi_answer, IHk by exact I. reflexivity.
Qed.

Lemma phi_place i a : (i < n)%nat -> phi (place i a) = place_ i a.
Proof. intros I. destruct a; [apply (vec_of_unit basis 0) | apply phi_local, I]. Qed.

Lemma phi_slope i k : (i < n)%nat -> (k < d)%nat -> phi (slope i) k = G i x_star k.
Proof.
  intros I K. unfold slope. destruct (Nat.eqb_spec (S i) n) as [E | N].
  - rewrite vec_of_times, phi_total.
    rewrite (total_ext vectors i _ (fun j => G j x_star))
      by (intros j J; rewrite vec_of_unit, basis_slot by lia; reflexivity).
    assert (Z := gradients_sum_to_zero d (Q2R mu) (Q2R L) F G n x_star ltac:(lra) some member least k K).
    rewrite <- E in Z. simpl in Z |- *. rewrite total_at, Q2R_m1. lra.
  - rewrite vec_of_unit, basis_slot by exact I. reflexivity.
Qed.

Lemma phi_gradient i a k : (i < n)%nat -> (k < d)%nat -> phi (gradient i a) k = G i (place_ i a) k.
Proof.
  intros I K. destruct a; [apply phi_slope; assumption|].
  unfold gradient. rewrite phi_answer by exact I. reflexivity.
Qed.

Lemma holds i a b : (i < n)%nat -> val d basis values (interpolated i a b) <= 0.
Proof.
  intros I.
  assert (H := interpolation d (Q2R mu) (Q2R L) (F i) (G i) (proj2 curved) (member i I) (place_ i a) (place_ i b)).
  unfold interpolated; cbv zeta. rewrite !val_plus, !val_times, !val_inner, val_linear.
  rewrite ev_minus, !ev_unit.
  unfold values. destruct (quotient a i I) as [-> ->]. destruct (quotient b i I) as [-> ->].
  assert (A : dot d (phi (gradient i b)) (phi (place i a - place i b)%V)
    = dot d (G i (place_ i b)) (place_ i a - place_ i b)%V).
  { apply sum_ext. intros k K. rewrite vec_of_plus, vec_of_times, !phi_place, phi_gradient by assumption. reflexivity. }
  assert (B : dot d (phi (place i a - place i b)%V) (phi (place i a - place i b)%V)
    = square d (place_ i a - place_ i b)%V).
  { rewrite vec_of_plus, vec_of_times, !phi_place by exact I. reflexivity. }
  set (bent := (gradient i a - gradient i b - mu * (place i a - place i b))%V).
  assert (C : dot d (phi bent) (phi bent) = square d (fun k =>
    (G i (place_ i a) k - G i (place_ i b) k) - Q2R mu * (place_ i a k - place_ i b k))).
  { apply sum_ext. intros k K.
    enough (E : phi bent k = (G i (place_ i a) k - G i (place_ i b) k) - Q2R mu * (place_ i a k - place_ i b k))
      by (rewrite E; reflexivity).
    unfold bent. rewrite !vec_of_plus, !vec_of_times. rewrite !vec_of_plus, !vec_of_times, !phi_place by exact I.
    simpl. rewrite !phi_gradient by assumption. rewrite Q2R_m1. ring. }
  rewrite A, B, C, Q2R_half, Q2R_over by lra. lra.
Qed.

Lemma all_hold proof : apt proof = true -> forall m q, In (m, q) (map given_by proof) -> val d basis values q <= 0.
Proof.
  intros A m q H. apply in_map_iff in H as [[[[i a] b] c'] [E H]]. simpl in E. injection E as _ <-.
  apply andb_prop in A as [_ A]. rewrite forallb_forall in A. apply holds, Nat.ltb_lt, (A _ H).
Qed.

(* What is left of the rows: the form that is claimed, and the inequality about vectors that it is. *)
Variables (ended : forms) (ended_ : vec).
Hypothesis ends : phi ended = ended_.

Lemma val_square (a : forms) v : (forall k, (k < d)%nat -> phi a k = v k) ->
  val d basis values (inner a a) = square d v.
Proof. intros E. rewrite val_inner. apply sum_ext. intros k K. rewrite E by exact K. reflexivity. Qed.

Lemma distance_meant zeta2 bound s z proof : distance_check ended zeta2 bound s z proof = true ->
  / INR n * sum n (fun i => square d (G i x_star)) <= Q2R zeta2 ->
  square d (x - x_star)%V <= 1 ->
  square d (ended_ - x_star)%V <= Q2R bound.
Proof.
  intros H Z S. apply andb_prop in H as [A H].
  apply (proves_sound d basis values) in H.
  - rewrite val_plus, val_number, Q2R_opp, (val_square _ (ended_ - x_star)%V) in H; [lra|].
    intros k _. unfold star. rewrite vec_of_plus, vec_of_times, ends, vec_of_unit. reflexivity.
  - intros c' q [E | [E | I]]; try (apply (f_equal snd) in E; cbn [snd] in E; rewrite <- E);
      [| | exact (all_hold _ A _ _ I)].
    + rewrite val_plus, val_number, Q2R_m1, (val_square _ (x - x_star)%V); [lra|].
      intros k _. unfold star. rewrite vec_of_plus, vec_of_times, phi_begun, vec_of_unit. reflexivity.
    + rewrite val_plus, val_number, Q2R_opp. unfold spread. rewrite val_times, val_all, Q2R_share by exact some.
      rewrite (sum_ext n _ (fun i => square d (G i x_star))); [lra|].
      intros i I. apply val_square. intros k K. apply phi_slope; assumption.
Qed.

Variables (kept : nat -> forms) (kept_ : nat -> vec).
Hypothesis keeps : forall i, (i < n)%nat -> phi (kept i) = kept_ i.

Lemma val_form P (v : nat -> forms) w :
  (forall a k, (a < S n)%nat -> (k < d)%nat -> phi (v a) k = w a k) ->
  val d basis values (form P v) = sum (S n) (fun a => sum (S n) (fun b => Q2R (entry P a b) * dot d (w a) (w b))).
Proof.
  intros E. unfold form. rewrite val_all. apply sum_ext. intros a A. rewrite val_all. apply sum_ext. intros b B.
  rewrite val_times, val_inner. f_equal. apply sum_ext. intros k K. rewrite !E by assumption. reflexivity.
Qed.

Lemma falls_meant P bound proof : falls_check ended kept P bound proof = true ->
  potential d n P G x_star (State (V := vectors) ended_ origin kept_)
  <= Q2R bound * potential d n P G x_star (State (V := vectors) x origin c).
Proof.
  intros H. apply andb_prop in H as [A H]. apply andb_prop in A as [A _].
  apply (proves_sound d basis values) in H; [|exact (all_hold _ A)].
  rewrite val_plus, val_times, Q2R_opp in H.
  rewrite (val_form P _ (away G x_star (State (V := vectors) ended_ origin kept_))) in H.
  - rewrite (val_form P _ (away G x_star (State (V := vectors) x origin c))) in H; [unfold potential; lra|].
    intros [|i] k I K; cbn [off]; rewrite vec_of_plus, vec_of_times.
    + unfold star. rewrite phi_begun, vec_of_unit. reflexivity.
    + rewrite phi_held by lia. simpl. rewrite phi_slope by (assumption || lia). reflexivity.
  - intros [|i] k I K; cbn [off]; rewrite vec_of_plus, vec_of_times.
    + unfold star. rewrite ends, vec_of_unit. reflexivity.
    + rewrite keeps by lia. simpl. rewrite phi_slope by (assumption || lia). reflexivity.
Qed.
End Meant.
End Symbolic.
