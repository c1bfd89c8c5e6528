(* Printed statements that are false, each as the ledger reads it, in one dimension, with what refutes it. *)

Require Import Vectors Classes Rounds Statements.

(* FedNova, eq. (97), for FedProx with two clients of equal weight with two steps each at alpha = eta mu = 1, without
   noise: then a_i = (0, 1), ||a_i||_1 = tau_eff = 1, w_i = 1/2, C = ||a||_1^2 - ||a||_1 a_(-1) = 0.
   The mean over t < T of |grad F~(x_t)|^2 is at most 4 (F~(x_0) - inf F~) / (eta tau_eff T) + 12 eta^2 L^2 kappa^2 C.
*)
Fixpoint models (eta : Q) (G : nat -> vec -> vec) (x : vec) (t : nat) : vec :=
  match t with
  | O => x
  | S t' => fedprox 2 (steps [2; 2]%nat) eta (/ eta)%Q (exact G) (models eta G x t')
  end.

Definition mean_gradient (G : nat -> vec -> vec) (x : vec) : vec := fun k => (G 0%nat x k + G 1%nat x k) / 2.

Definition fednova_theorem_1_fedprox : Prop :=
  forall (d T : nat) (F : nat -> vec -> R) (G : nat -> vec -> vec) (eta : Q) (L beta2 kappa2 : R) (x x_star : vec),
  let e := Q2R eta in let C := 0 in let tau_eff := 1 in
  (0 < T)%nat -> 0 < e -> 0 < L -> 1 <= beta2 -> 0 <= kappa2 ->
  (forall i, (i < 2)%nat -> of_class d (- L) L (F i) (G i)) ->
  (forall w y, 0 <= w <= 1 -> w * square d (G 0%nat y) + (1 - w) * square d (G 1%nat y)
    <= beta2 * square d (fun k => w * G 0%nat y k + (1 - w) * G 1%nat y k) + kappa2) ->
  minimises 2 F x_star ->
  e * L <= 1 / (2 * tau_eff) ->                      (* eq. (98) *)
  4 * e * e * L * L * C <= 1 / (2 * beta2 + 1) ->    (* eq. (99) *)
  / INR T * sum T (fun t => square d (mean_gradient G (models eta G x t)))
  <= 4 * ((sum_of 2 F x - sum_of 2 F x_star) / 2) / (e * tau_eff * INR T) + 12 * e * e * L * L * kappa2 * C.

(* F_1 = x^2 / 2, F_2 = (x - 1)^2 from x = 28/43, where every round leaves the model; the gradient is -1/43. *)
Definition F_ (i : nat) (x : vec) : R :=
  match i with O => x 0%nat * x 0%nat / 2 | _ => (x 0%nat - 1) * (x 0%nat - 1) end.
Definition G_ (i : nat) (x : vec) : vec := fun k => match i with O => x k | _ => 2 * (x k - 1) end.
Definition x_ : vec := fun _ => 28 / 43.

Lemma rests t : models (1 # 16) G_ x_ t = x_.
Proof.
  induction t as [|t IH]; [reflexivity|]. cbn [models]. rewrite IH. apply functional_extensionality. intros k.
  unfold fedprox, mean, proximal, exact, G_, x_, steps, whole. simpl. unfold Q2R. simpl. field.
Qed.

Theorem fednova_theorem_1_fedprox_is_false : ~ fednova_theorem_1_fedprox.
Proof.
  intros H.
  specialize (H 1%nat 256%nat F_ G_ (1 # 16) 2 2 1 x_ (fun _ => 2 / 3)). cbv zeta in H.
  replace (Q2R (1 # 16)) with (/ 16) in H by (unfold Q2R; simpl; lra).
  rewrite (sum_ext 256 _ (fun _ => / 1849 * 1)) in H.
  2: { intros t _. rewrite rests. unfold square, dot, mean_gradient, G_, x_. simpl. field. }
  rewrite sum_times in H.
  assert (N : forall T, sum T (fun _ => 1) = INR T).
  { induction T; [reflexivity|]. rewrite S_INR. simpl sum. rewrite IHT. reflexivity. }
  rewrite N in H. replace (INR 256) with 256 in H by (simpl; lra).
  assert (B : / 256 * (/ 1849 * 256) <=
    4 * ((sum_of 2 F_ x_ - sum_of 2 F_ (fun _ => 2 / 3)) / 2) / (/ 16 * 1 * 256) + 12 * / 16 * / 16 * 2 * 2 * 1 * 0).
  { apply H; try lra; try lia.
    - intros [|[|i]] I; [| |lia]; intros x y; unfold F_, G_, square, dot; simpl;
        rewrite Q2R_m1; assert (S := Rle_0_sqr (y 0%nat - x 0%nat)); unfold Rsqr in S; split; lra.
    - intros w y W. unfold G_, square, dot. simpl. set (z := y 0%nat).
      assert (A : 0 < 4 - 5 * w + 2 * (w * w)) by (assert (S := Rle_0_sqr (w - 5 / 4)); unfold Rsqr in S; lra).
      assert (D : 0 < 4 - 9 * w + 6 * (w * w)) by (assert (S := Rle_0_sqr (w - 3 / 4)); unfold Rsqr in S; lra).
      assert (S := Rle_0_sqr ((4 - 5 * w + 2 * (w * w)) * (2 - z) - 2 * (2 - w))). unfold Rsqr in S.
      apply Rminus_le. apply Ropp_le_cancel. rewrite Ropp_0.
      apply Rmult_le_reg_l with (4 - 5 * w + 2 * (w * w)); [exact A|]. rewrite Rmult_0_r.
      match goal with |- 0 <= ?e => replace e with
        (((4 - 5 * w + 2 * (w * w)) * (2 - z) - 2 * (2 - w)) * ((4 - 5 * w + 2 * (w * w)) * (2 - z) - 2 * (2 - w))
          + (4 - 9 * w + 6 * (w * w))) by ring end.
      lra.
    - intros y. unfold sum_of, F_. simpl. assert (S := Rle_0_sqr (y 0%nat - 2 / 3)). unfold Rsqr in S. lra. }
  unfold sum_of, F_, x_ in B. lra.
Qed.

(* Huber's function and its derivative. *)
Definition clamp (x : R) : R := Rmax (-1) (Rmin x 1).
Definition huber (x : R) : R := clamp x * x - clamp x * clamp x / 2.

Lemma clamp_side x c : -1 <= c <= 1 -> (c - clamp x) * (x - clamp x) <= 0.
Proof.
  intros I. unfold clamp, Rmax, Rmin.
  destruct (Rle_dec x 1); [destruct (Rle_dec (-1) x) | destruct (Rle_dec (-1) 1)].
  - replace (x - x) with 0 by ring. lra.
  - assert (0 <= (c - -1) * (-1 - x)) by (apply Rmult_le_pos; lra). lra.
  - assert (0 <= (1 - c) * (x - 1)) by (apply Rmult_le_pos; lra). lra.
  - lra.
Qed.

Lemma clamp_within x : -1 <= clamp x <= 1.
Proof.
  unfold clamp, Rmax, Rmin.
  repeat match goal with |- context [Rle_dec ?a ?b] => destruct (Rle_dec a b) end; lra.
Qed.

Lemma huber_above x y : huber x + clamp x * (y - x) <= huber y <= huber x + clamp x * (y - x) + (y - x) * (y - x) / 2.
Proof.
  unfold huber.
  assert (A := clamp_side y (clamp x) (clamp_within x)). assert (B := clamp_side x (clamp y) (clamp_within y)).
  set (c := clamp x) in *. set (k := clamp y) in *.
  assert (S := Rle_0_sqr (c - k)). assert (T := Rle_0_sqr (c - k + (y - x))). unfold Rsqr in S, T. split; lra.
Qed.

Lemma clamp_near x y : Rabs (clamp x - clamp y) <= 1 * Rabs (x - y).
Proof.
  assert (A := clamp_side y (clamp x) (clamp_within x)). assert (B := clamp_side x (clamp y) (clamp_within y)).
  set (c := clamp x) in *. set (k := clamp y) in *.
  assert (S : (c - k) * (c - k) <= (c - k) * (x - y)) by lra. clear A B.
  set (D := c - k) in *. set (E := x - y) in *. rewrite Rmult_1_l.
  assert (Q : Rabs D * Rabs D <= Rabs D * Rabs E).
  { rewrite <- !Rabs_mult, (Rabs_pos_eq (D * D)) by apply Rle_0_sqr. assert (T := Rle_abs (D * E)). lra. }
  destruct (Rle_lt_or_eq_dec 0 (Rabs D) (Rabs_pos D)) as [P | Z].
  - apply Rmult_le_reg_l with (Rabs D); assumption.
  - rewrite <- Z. apply Rabs_pos.
Qed.

Lemma clamp_small x : Rabs (clamp x) <= 1.
Proof. apply Rabs_le. assert (W := clamp_within x). lra. Qed.

Lemma huber_derivable x : derivable_pt_lim huber x (clamp x).
Proof.
  intros e E. assert (P : 0 < e) by exact E. exists (mkposreal e P). intros h N H. simpl in H.
  destruct (huber_above x (x + h)) as [A B]. replace (x + h - x) with h in A, B by ring.
  set (q := (huber (x + h) - huber x) / h - clamp x).
  assert (Q : q * h = huber (x + h) - huber x - clamp x * h) by (unfold q; field; exact N).
  assert (K : Rabs q * Rabs h = q * h) by (rewrite <- Rabs_mult; apply Rabs_pos_eq; lra).
  assert (Z : 0 < Rabs h) by (apply Rabs_pos_lt; exact N).
  assert (S : h * h = Rabs h * Rabs h) by (rewrite <- Rabs_mult, Rabs_pos_eq; [reflexivity | apply Rle_0_sqr]).
  apply Rmult_lt_reg_r with (Rabs h); [exact Z|]. rewrite K.
  assert (W : Rabs h * Rabs h <= e * Rabs h) by (apply Rmult_le_compat_r; lra).
  assert (V : 0 < e * Rabs h) by (apply Rmult_lt_0_compat; assumption). lra.
Qed.

Lemma clamp_inside x : -1 <= x <= 1 -> clamp x = x.
Proof. intros I. unfold clamp. rewrite Rmin_left, Rmax_right by lra. reflexivity. Qed.

(* Fed-LAMB, Lemma 1, with one client, one local step (T = 1) and one coordinate (p = 1), exact gradients f', constant
   phi = phi_M, no weight decay, eps or bias correction: |x_(r,i) - x_r|^2 <= alpha^2 M^2 phi_M^2 (1 - beta2) p / v0. *)
Definition lamb_step (alpha beta1 beta2 phi v0 x g : R) : R :=
  let m := (1 - beta1) * g in
  let v := beta2 * v0 + (1 - beta2) * (g * g) in
  let p := m / sqrt v in
  x - alpha * phi * (p / Rabs p).

Definition fed_lamb_lemma_1 : Prop :=
  forall (f' : R -> R) (L M alpha beta1 beta2 phi v0 x : R),
  (forall x y, Rabs (f' x - f' y) <= L * Rabs (x - y)) ->    (* H1 *)
  (forall x, Rabs (f' x) <= M) ->                            (* H2; H3 holds without noise *)
  0 < alpha -> 0 <= beta1 < 1 -> 0 <= beta2 < 1 -> 0 < phi -> 0 < v0 -> f' x <> 0 ->
  let moved := lamb_step alpha beta1 beta2 phi v0 x (f' x) - x in
  moved * moved <= alpha * alpha * (M * M) * (phi * phi) * (1 - beta2) * 1 / v0.

(* From x = 1 with f' the derivative of Huber's function. *)
Theorem fed_lamb_lemma_1_is_false : ~ fed_lamb_lemma_1.
Proof.
  intros H.
  assert (E : lamb_step (9 / 10) 0 (999 / 1000) 1 1 1 (clamp 1) = 1 / 10).
  { rewrite clamp_inside by lra. unfold lamb_step.
    replace (999 / 1000 * 1 + (1 - 999 / 1000) * (1 * 1)) with 1 by lra. rewrite sqrt_1.
    replace ((1 - 0) * 1 / 1) with 1 by field. rewrite Rabs_R1. field. }
  specialize (H clamp 1 1 (9 / 10) 0 (999 / 1000) 1 1 1 clamp_near clamp_small). cbv zeta in H. rewrite E in H.
  assert (B : (1 / 10 - 1) * (1 / 10 - 1) <= 9 / 10 * (9 / 10) * (1 * 1) * (1 * 1) * (1 - 999 / 1000) * 1 / 1)
    by (apply H; try (rewrite clamp_inside); lra).
  lra.
Qed.

(* AFGA, Lemma F.8: |Delta_r| <= (m / n) eta_l I G, whatever is drawn. N = n = 2 clients, one of which takes the one
   local step (I = 1) and one of which sends (m = 1), after the models were mixed by W; one coordinate, no noise. *)
Definition afga_lemma_f_8 : Prop :=
  forall (W : nat -> nat -> R) (f' : nat -> R -> R) (L G sigma_g eta_l rho x : R) (active sender : nat),
  (forall i x y, Rabs (f' i x - f' i y) <= L * Rabs (x - y)) ->                                        (* 4.1 *)
  (forall i x, Rabs (f' i x) <= G) ->                                                                  (* 4.3 *)
  (forall x, let mean := (f' 0%nat x + f' 1%nat x) / 2 in
    ((f' 0%nat x - mean) * (f' 0%nat x - mean) + (f' 1%nat x - mean) * (f' 1%nat x - mean)) / 2
    <= sigma_g * sigma_g) ->                                                                           (* 4.4 *)
  (forall i j, (i < 2)%nat -> (j < 2)%nat -> 0 <= W i j) ->                                            (* 4.5 *)
  (forall i, (i < 2)%nat -> W i 0%nat + W i 1%nat = 1) -> (forall j, (j < 2)%nat -> W 0%nat j + W 1%nat j = 1) ->
  (forall a b, Rabs (W 0%nat 0%nat * a + W 0%nat 1%nat * b - (a + b) / 2) <= rho * (Rabs (a - b) / 2)) ->
  0 < L -> 0 < eta_l <= 1 / (8 * 1 * L) -> 0 <= rho <= 1 / (1 + 2) -> (active < 2)%nat -> (sender < 2)%nat ->
  let y j := if Nat.eqb j active then x - eta_l * f' j x else x in
  let Delta := W sender 0%nat * y 0%nat + W sender 1%nat * y 1%nat - x in
  Rabs Delta <= 1 / 2 * eta_l * 1 * G.

(* f_1' = 1, f_2' = -1: the client that computes is the one that sends, and keeps 2/3 of its own step. *)
Theorem afga_lemma_f_8_is_false : ~ afga_lemma_f_8.
Proof.
  intros H.
  specialize (H (fun i j => if Nat.eqb i j then 2 / 3 else 1 / 3) (fun i _ => if Nat.eqb i 0 then 1 else -1)
    (1 / 2) 1 1 (1 / 4) (1 / 3) 0 0%nat 0%nat).
  assert (B : Rabs (2 / 3 * (0 - 1 / 4 * 1) + 1 / 3 * 0 - 0) <= 1 / 2 * (1 / 4) * 1 * 1).
  { apply H; try lra; try lia.
    - intros i x y. destruct (Nat.eqb i 0).
      + replace (1 - 1) with 0 by ring. rewrite Rabs_R0. assert (Q := Rabs_pos (x - y)). lra.
      + replace (-1 - -1) with 0 by ring. rewrite Rabs_R0. assert (Q := Rabs_pos (x - y)). lra.
    - intros i x. destruct (Nat.eqb i 0); [rewrite Rabs_R1 | rewrite Rabs_left]; lra.
    - intros x. simpl. lra.
    - intros i j _ _. destruct (Nat.eqb i j); lra.
    - intros [|[|i]] I; simpl; lra || lia.
    - intros [|[|j]] I; simpl; lra || lia.
    - intros a b. simpl. replace (2 / 3 * a + 1 / 3 * b - (a + b) / 2) with (1 / 6 * (a - b)) by field.
      rewrite Rabs_mult, (Rabs_pos_eq (1 / 6)) by lra. lra. }
  replace (2 / 3 * (0 - 1 / 4 * 1) + 1 / 3 * 0 - 0) with (- (1 / 6)) in B by lra.
  rewrite Rabs_Ropp, Rabs_pos_eq in B; lra.
Qed.

(* AFGA, Lemma F.8, eq. (94): |v_hat_r| <= (m/n)^2 eta_l^2 I^2 G^2, whatever is drawn. One client (m = n = 1) takes one
   local step (I = 1) with one of some noises, all alike likely; with one client 4.4 and 4.5 hold. Squares of both
   sides. *)
Record moments := Moments { model_ : vec; m_ : vec; v_ : vec; v_hat_ : vec }.

Definition amsgrad_round (f' : vec -> vec) (eta_l eta beta1 beta2 eps : R) (s : moments) (noise : vec) : moments :=
  let Delta k := - (eta_l * (f' (model_ s) k + noise k)) in
  let m k := beta1 * m_ s k + (1 - beta1) * Delta k in
  let v k := beta2 * v_ s k + (1 - beta2) * (Delta k * Delta k) in
  let v_hat k := Rmax (v_hat_ s k) (v k) in
  Moments (fun k => model_ s k + eta * m k / sqrt (v_hat k + eps)) m v v_hat.

Fixpoint amsgrad_run (f' : vec -> vec) (eta_l eta beta1 beta2 eps : R) (drawn : nat -> vec) (s : moments) (t : nat) :=
  match t with
  | O => s
  | S r => amsgrad_round f' eta_l eta beta1 beta2 eps (amsgrad_run f' eta_l eta beta1 beta2 eps drawn s r) (drawn r)
  end.

Definition over (noise : list vec) (f : vec -> R) : R := fold_right (fun xi a => f xi + a) 0 noise / INR (length noise).

Definition afga_lemma_f_8_v_hat : Prop :=
  forall (d r : nat) (f' : vec -> vec) (noise : list vec) (drawn : nat -> vec) (x : vec),
  forall L G sigma eta_l eta beta1 beta2 eps : R,
  (forall x y : vectors, square d (f' x - f' y : vectors)%V <= L * L * square d (x - y)%V) ->      (* 4.1 *)
  (forall k, (k < d)%nat -> over noise (fun xi => xi k) = 0) ->                      (* the gradients are unbiased *)
  over noise (square d) <= sigma * sigma ->                                          (* 4.2 *)
  (forall x xi, In xi noise -> square d (fun k => f' x k + xi k) <= G * G) ->        (* 4.3 *)
  (forall t, In (drawn t) noise) ->
  0 < L -> 0 < eta_l <= 1 / (8 * 1 * L) -> 0 < eta -> 0 <= beta1 < 1 -> 0 <= beta2 < 1 -> 0 < eps ->
  let zero : vec := fun _ => 0 in
  let v_hat := v_hat_ (amsgrad_run f' eta_l eta beta1 beta2 eps drawn (Moments x zero zero zero) r) in
  square d v_hat <= eta_l * eta_l * (G * G) * (eta_l * eta_l * (G * G)).

(* f = 0 and noise along one axis for two rounds, then along the other: each entry of v_hat keeps 3/4 of Delta^2. *)
Definition along (j : nat) (c : R) : vec := fun k => if Nat.eqb j k then c else 0.

Theorem afga_lemma_f_8_v_hat_is_false : ~ afga_lemma_f_8_v_hat.
Proof.
  intros H.
  specialize (H 2%nat 4%nat (fun _ _ => 0) [along 0 1; along 1 1; along 0 (-1); along 1 (-1)]
    (fun t => match t with O | 1%nat => along 0 1 | _ => along 1 1 end) (fun _ => 0)
    (1 / 2) 1 1 (1 / 4) 1 0 (1 / 2) 1).
  cbv zeta in H. set (v_hat := v_hat_ _) in H.
  assert (A : 3 / 64 <= v_hat 0%nat).
  { unfold v_hat; simpl. do 2 (eapply Rle_trans; [|apply Rmax_l]). eapply Rle_trans; [|apply Rmax_r].
    unfold along; simpl. lra. }
  assert (B : 3 / 64 <= v_hat 1%nat).
  { unfold v_hat; simpl. eapply Rle_trans; [|apply Rmax_r]. unfold along; simpl. lra. }
  assert (C : square 2 v_hat <= 1 / 4 * (1 / 4) * (1 * 1) * (1 / 4 * (1 / 4) * (1 * 1))).
  { apply H; try lra.
    - intros x y. assert (S := square_pos 2 (x - y)%V). set (q := square 2 (x - y)%V) in *.
      unfold square, dot. simpl. rewrite Q2R_m1. lra.
    - intros [|[|k]] K; [| |lia]; unfold over, along; simpl; lra.
    - unfold over, along, square, dot; simpl; lra.
    - intros x xi [<- | [<- | [<- | [<- | []]]]]; unfold along, square, dot; simpl; lra.
    - intros [|[|t]]; simpl; auto. }
  unfold square, dot in C. simpl in C. nra.
Qed.

(* FedAda2, Corollary 23: rates in range (A) make Algorithm 2 converge, min over t <= T of |grad f(x_(t-1))|^2 falls
   to 0 as T grows; here with eta_l = T^(-1/2) and eta constant, which is in the range, three clients that all take
   part in every round, one local step (K = z = 1) and one coordinate. F' i is the derivative of F i; a step shorter
   than eps_s is left out. *)
Record server_state := Server { at_x : R; at_m : R; at_v : R }.

Definition ada_change (F' : R -> R) (eta_l eps eps_s x : R) : R :=
  let g := F' x in
  let v := g * g in
  let u := g / (sqrt v + eps) in
  if Rlt_dec (Rabs u) eps_s then 0 else - (eta_l * u).

Definition ada_round (F' : nat -> R -> R) (eta_l eps eps_s eta tau beta1 : R) (s : server_state) : server_state :=
  let Delta := sum 3 (fun i => ada_change (F' i) eta_l eps eps_s (at_x s)) / 3 in
  let m := beta1 * at_m s + (1 - beta1) * Delta in
  let v := at_v s + Delta * Delta in
  Server (at_x s + eta * m / (sqrt v + tau)) m v.

Fixpoint ada_run (F' : nat -> R -> R) (eta_l eps eps_s eta tau beta1 : R) (s : server_state) (t : nat) : server_state :=
  match t with
  | O => s
  | S t' => ada_round F' eta_l eps eps_s eta tau beta1 (ada_run F' eta_l eps eps_s eta tau beta1 s t')
  end.

(* What the paper assumes. *)
Definition fedada2_assumes (F F' : nat -> R -> R) (L G eps eps_s eta tau beta1 v0 : R) : Prop :=
  (forall i x, derivable_pt_lim (F i) x (F' i x)) /\
  (forall i x y, Rabs (F' i x - F' i y) <= L * Rabs (x - y)) /\
  (forall i x, Rabs (F' i x) <= G) /\
  (exists x_min, forall x, sum 3 (fun i => F i x_min) / 3 <= sum 3 (fun i => F i x) / 3) /\
  0 < eps /\ 0 < eps_s /\ 0 < eta /\ 0 < tau /\ 0 <= beta1 < 1 /\ tau * tau <= v0.

(* Some |grad f(x_(t-1))|^2 with t <= T is at most so much. *)
Definition one_below (F' : nat -> R -> R) (eps eps_s eta tau beta1 v0 x0 bound : R) (T : nat) : Prop :=
  exists t, (t < T)%nat /\
    let x := at_x (ada_run F' (/ sqrt (INR T)) eps eps_s eta tau beta1 (Server x0 0 v0) t) in
    let slope := sum 3 (fun i => F' i x) / 3 in slope * slope <= bound.

Definition fedada2_corollary_23 : Prop :=
  forall F F' L G eps eps_s eta tau beta1 v0 x0, fedada2_assumes F F' L G eps eps_s eta tau beta1 v0 ->
  forall delta, 0 < delta -> exists T0, forall T, (T0 <= T)%nat -> (0 < T)%nat ->
  one_below F' eps eps_s eta tau beta1 v0 x0 delta T.

(* Corollary 24: it converges at rate O(T^(-1/2)). *)
Definition fedada2_corollary_24 : Prop :=
  forall F F' L G eps eps_s eta tau beta1 v0 x0, fedada2_assumes F F' L G eps eps_s eta tau beta1 v0 ->
  exists C, forall T, (0 < T)%nat -> one_below F' eps eps_s eta tau beta1 v0 x0 (C / sqrt (INR T)) T.

Definition about (i : nat) : R := match i with O => -1 | _ => 1 / 3 end.

Lemma shifted_derivable i x : derivable_pt_lim (fun x => huber (x - about i)) x (clamp (x - about i)).
Proof.
  intros e E. destruct (huber_derivable (x - about i) e E) as [r H]. exists r. intros h N B.
  specialize (H h N B). replace (x + h - about i) with (x - about i + h) by ring. exact H.
Qed.

(* What AdaGrad makes of the gradients 1, -1/3, -1/3 at 0 cancels: 1/2 - 1/4 - 1/4. *)
Lemma ada_stays eta_l t :
  ada_run (fun i x => clamp (x - about i)) eta_l 1 (1 / 4) 1 1 0 (Server 0 0 1) t = Server 0 0 1.
Proof.
  induction t as [|t IH]; [reflexivity|]. cbn [ada_run]. rewrite IH. unfold ada_round, ada_change, about.
  cbn [at_x at_m at_v sum].
  rewrite !(clamp_inside (0 - 1 / 3)), !(clamp_inside (0 - -1)) by lra.
  replace ((0 - -1) * (0 - -1)) with (1 * 1) by ring.
  replace ((0 - 1 / 3) * (0 - 1 / 3)) with (1 / 3 * (1 / 3)) by field.
  rewrite !sqrt_square by lra.
  replace ((0 - -1) / (1 + 1)) with (1 / 2) by field. replace ((0 - 1 / 3) / (1 / 3 + 1)) with (- (1 / 4)) by field.
  rewrite Rabs_Ropp, !Rabs_pos_eq by lra.
  destruct (Rlt_dec (1 / 2) (1 / 4)); [lra|]. destruct (Rlt_dec (1 / 4) (1 / 4)); [lra|].
  replace ((0 + - (eta_l * (1 / 2)) + - (eta_l * - (1 / 4)) + - (eta_l * - (1 / 4))) / 3) with 0 by field.
  replace (1 + 0 * 0) with 1 by ring. rewrite sqrt_1. f_equal; field.
Qed.

Definition F'_ (i : nat) (x : R) : R := clamp (x - about i).

Lemma three_clients_are_assumed : fedada2_assumes (fun i x => huber (x - about i)) F'_ 1 1 1 (1 / 4) 1 1 0 1.
Proof.
  unfold fedada2_assumes, F'_. repeat split; try lra.
  - exact shifted_derivable.
  - intros i x y. assert (N := clamp_near (x - about i) (y - about i)).
    replace (x - about i - (y - about i)) with (x - y) in N by ring. exact N.
  - intros i x. apply clamp_small.
  - exists (- (1 / 9)). intros x. simpl.
    destruct (huber_above (- (1 / 9) - -1) (x - -1)) as [A _].
    destruct (huber_above (- (1 / 9) - 1 / 3) (x - 1 / 3)) as [B _].
    rewrite clamp_inside in A, B by lra. lra.
Qed.

Lemma none_below bound T : one_below F'_ 1 (1 / 4) 1 1 0 1 0 bound T -> 1 / 81 <= bound.
Proof.
  intros [t [_ B]]. cbv zeta in B. unfold F'_ in B. rewrite ada_stays in B. cbn [at_x sum] in B. unfold about in B.
  rewrite !(clamp_inside (0 - 1 / 3)), !(clamp_inside (0 - -1)) in B by lra. lra.
Qed.

Theorem fedada2_corollary_23_is_false : ~ fedada2_corollary_23.
Proof.
  intros H. destruct (H _ _ _ _ _ _ _ _ _ _ 0 three_clients_are_assumed (1 / 100)) as [T0 C]; [lra|].
  assert (B := none_below _ _ (C (S T0) ltac:(lia) ltac:(lia))). lra.
Qed.

Theorem fedada2_corollary_24_is_false : ~ fedada2_corollary_24.
Proof.
  intros H. destruct (H _ _ _ _ _ _ _ _ _ _ 0 three_clients_are_assumed) as [C A].
  pose (n := Z.to_nat (up (81 * Rabs C))).
  assert (N : 81 * Rabs C < INR n).
  { destruct (archimed (81 * Rabs C)) as [U _]. assert (Q := Rabs_pos C). unfold n.
    rewrite INR_IZR_INZ, Z2Nat.id; [lra|]. apply le_IZR. lra. }
  assert (P : 0 < INR n) by (assert (Q := Rabs_pos C); lra).
  assert (M : (0 < n * n)%nat) by (apply INR_lt; rewrite mult_INR; simpl; nra).
  assert (B := none_below _ _ (A (n * n)%nat M)). rewrite mult_INR, sqrt_square in B by lra.
  assert (D : 1 / 81 * INR n <= C).
  { replace C with (C / INR n * INR n) by (field; lra). apply Rmult_le_compat_r; lra. }
  assert (Q := Rle_abs C). lra.
Qed.
