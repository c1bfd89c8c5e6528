(* What the rows of the tables say. *)

Require Import Vectors Classes Rounds.

(* A rule as it stands in [Rounds]: the same text for every space, given the clients' gradients. *)
Definition rule := forall V : space, (nat -> nat -> V -> V) -> V -> V.
Definition keeping_rule := forall V : space, (nat -> nat -> V -> V) -> state V -> state V.

(* A client's gradient is that of its function, in every step. *)
Definition exact (G : nat -> vec -> vec) : nat -> nat -> vec -> vec := fun i _ y => G i y.

(* From |x - x_star| <= 1 the model is after one round no further from x_star than this, in squares: whatever d,
   whatever n functions of the class, x_star minimising their mean, and their gradients there having the mean square
   zeta^2 at most. *)
Definition distance (one_round : rule) (n : nat) (mu L zeta2 bound : Q) : Prop :=
  forall (d : nat) (F : nat -> vec -> R) (G : nat -> vec -> vec) (x_star x : vec),
  (forall i, (i < n)%nat -> of_class d (Q2R mu) (Q2R L) (F i) (G i)) ->
  minimises n F x_star ->
  / INR n * sum n (fun i => square d (G i x_star)) <= Q2R zeta2 ->
  square d (x - x_star)%V <= 1 ->
  square d (one_round vectors (exact G) x - x_star)%V <= Q2R bound.

(* <P, Gram(u)>, u being x - x_star and all c_i - grad F_i(x_star). *)
Definition entry (P : list (list Q)) (a b : nat) : Q := nth b (nth a P []) 0%Q.

Definition away (G : nat -> vec -> vec) (x_star : vec) (s : state vectors) (a : nat) : vec :=
  match a with O => (model s - x_star)%V | S i => (kept s i - G i x_star)%V end.

Definition potential (d n : nat) (P : list (list Q)) (G : nat -> vec -> vec) (x_star : vec) (s : state vectors) : R :=
  sum (S n) (fun a => sum (S n) (fun b => Q2R (entry P a b) * dot d (away G x_star s a) (away G x_star s b))).

(* The form falls by this factor in every round, if the server's vector is the mean of the clients' vectors, which it
   stays; and the form is zero at x_star alone. *)
Definition falls (one_round : keeping_rule) (n : nat) (mu L : Q) (P : list (list Q)) (bound : Q) : Prop :=
  forall (d : nat) (F : nat -> vec -> R) (G : nat -> vec -> vec) (x_star : vec) (s : state vectors),
  (forall i, (i < n)%nat -> of_class d (Q2R mu) (Q2R L) (F i) (G i)) ->
  minimises n F x_star ->
  server s = mean n (kept s) ->
  let s' := one_round vectors (exact G) s in
  potential d n P G x_star s' <= Q2R bound * potential d n P G x_star s
  /\ server s' = mean n (kept s')
  /\ square d (model s - x_star)%V <= 1000000 * potential d n P G x_star s.

(* tau, as a list in the rows. *)
Definition steps (tau : list nat) (i : nat) : nat := nth i tau O.

(* What a server multiplies the clients' changes by, as a list in the rows. *)
Definition weights (w : list Q) (i : nat) : Q := nth i w 0%Q.

(* The same round on vectors, its coefficients any real numbers, one for each number of steps. *)
Definition weighed_by (n : nat) (tau : nat -> nat) (eta_l : Q) (w : nat -> R) (G : nat -> vec -> vec) (x : vec) : vec :=
  let x_ i := solve (V := vectors) (sgd eta_l) (exact G i) x (tau i) in
  fun k => x k + sum n (fun i => w (tau i) * (x_ i k - x k)).

Definition any (w : nat -> R) : Prop := True.
Definition nova (n : nat) (w : nat -> R) : Prop := exists tau_eff : R, forall t, w t = tau_eff / (INR n * INR t).

(* There are functions of the class, their clients and a model within 1 of x_star, from where the round ends this far
   from x_star or further, in squares, whatever its coefficients are, of those that are allowed. *)
Definition no_nearer (allowed : (nat -> R) -> Prop) (n : nat) (tau : nat -> nat) (eta_l mu L zeta2 least : Q) : Prop :=
  exists (d : nat) (F : nat -> vec -> R) (G : nat -> vec -> vec) (x_star x : vec),
  (forall i, (i < n)%nat -> of_class d (Q2R mu) (Q2R L) (F i) (G i)) /\
  minimises n F x_star /\
  / INR n * sum n (fun i => square d (G i x_star)) <= Q2R zeta2 /\
  square d (x - x_star)%V <= 1 /\
  forall w, allowed w -> Q2R least <= square d (weighed_by n tau eta_l w G x - x_star)%V.
