(* The rounds, each in the order of its box: on vectors they are what a theorem is about, on linear forms they run.

   n clients, all of which take part with equal weight; client i takes tau i steps; g i k y is its gradient in step k
   at y. *)

Require Import Vectors.

Canonical Structure scalars : space := Space Q 0%Q Qplus Qmult.

Definition whole (n : nat) : Q := inject_Z (Z.of_nat n).

Section Rounds.
Context {V : space}.

Fixpoint total (n : nat) (v : nat -> V) : V :=
  match n with O => origin | S i => (total i v + v i)%V end.
Definition mean (n : nat) (v : nat -> V) : V := ((1 / whole n)%Q * total n v)%V.

(* y = x;  k times: y = step y (g k y) *)
Fixpoint solve (step : V -> V -> V) (g : nat -> V -> V) (x : V) (k : nat) : V :=
  match k with O => x | S j => let y := solve step g x j in step y (g j y) end.

Variables (n : nat) (tau : nat -> nat) (eta_l : Q).

(* x_i = x;  tau_i times: x_i = x_i - eta_l g_i(x_i)
   Delta_i = x_i - x
   x = x + sum_i p_i Delta_i *)
Definition sgd (y g : V) : V := (y - eta_l * g)%V.

Definition fedavg (g : nat -> nat -> V -> V) (x : V) : V :=
  let x_ i := solve sgd (g i) x (tau i) in
  let Delta i := (x_ i - x)%V in
  (x + mean n Delta)%V.

(* x_i = x;  tau_i times: x_i = x_i - eta_l (g_i(x_i) + mu (x_i - x))
   Delta_i = x_i - x
   x = x + sum_i p_i Delta_i *)
Definition proximal (mu : Q) (x y g : V) : V := (y - eta_l * (g + mu * (y - x)))%V.

Definition fedprox (mu : Q) (g : nat -> nat -> V -> V) (x : V) : V :=
  let x_ i := solve (proximal mu x) (g i) x (tau i) in
  let Delta i := (x_ i - x)%V in
  (x + mean n Delta)%V.

(* d_i = (x - x_i) / (eta_l ||a_i||_1), and ||a_i||_1 = tau_i for SGD
   tau_eff = sum_i p_i ||a_i||_1
   x = x - tau_eff sum_i p_i eta_l d_i *)
Definition fednova (g : nat -> nat -> V -> V) (x : V) : V :=
  let x_ i := solve sgd (g i) x (tau i) in
  let d i := ((1 / (eta_l * whole (tau i)))%Q * (x - x_ i))%V in
  let tau_eff := ((1 / whole n) * fold_right Qplus 0 (map (fun i => whole (tau i)) (seq 0 n)))%Q in
  (x - tau_eff * mean n (fun i => eta_l * d i))%V.

(* x_i = x;  tau_i times: x_i = x_i - eta_l g_i(x_i)
   x = x + sum_i w_i (x_i - x) *)
Definition weighed (w : nat -> Q) (g : nat -> nat -> V -> V) (x : V) : V :=
  let x_ i := solve sgd (g i) x (tau i) in
  (x + total n (fun i => w i * (x_ i - x)))%V.

(* What is kept between rounds: the model, a vector of the server's and one of each client's. *)
Record state := State { model : V; server : V; kept : nat -> V }.

(* y = x;  tau_i times: y = y - eta_l (g_i(y) - c_i + c)
   Delta_i = y - x
   c_i^+ = c_i - c - Delta_i / (eta_l tau_i)
   x = x + eta sum_i p_i Delta_i
   c = c + sum_i q_i (c_i^+ - c_i) *)
Definition corrected (c c_i y g : V) : V := (y - eta_l * (g - c_i + c))%V.

Definition scaffold (eta : Q) (g : nat -> nat -> V -> V) (s : state) : state :=
  let x := model s in let c := server s in let c_ := kept s in
  let y i := solve (corrected c (c_ i)) (g i) x (tau i) in
  let Delta i := (y i - x)%V in
  let c_plus i := (c_ i - c - (1 / (eta_l * whole (tau i)))%Q * Delta i)%V in
  State (x + eta * mean n Delta)%V (c + mean n (fun i => c_plus i - c_ i))%V c_plus.

(* y_i = x;  tau_i times: y_i = y_i - eta_l (g_i(y_i) - lam_i + mu (y_i - x))
   lam_i = lam_i - mu (y_i - x)
   h = h - mu 1/N sum over S of (y_i - x)
   x = 1/|S| sum over S of y_i - h / mu *)
Definition dynamic (mu : Q) (x lam_i y g : V) : V := (y - eta_l * (g - lam_i + mu * (y - x)))%V.

Definition feddyn (mu : Q) (g : nat -> nat -> V -> V) (s : state) : state :=
  let x := model s in let lam_ := kept s in
  let y i := solve (dynamic mu x (lam_ i)) (g i) x (tau i) in
  let lam_plus i := (lam_ i - mu * (y i - x))%V in
  let h := (server s - mu * mean n (fun i => y i - x))%V in
  State (mean n y - (1 / mu)%Q * h)%V h lam_plus.
End Rounds.
Arguments state : clear implicits.
