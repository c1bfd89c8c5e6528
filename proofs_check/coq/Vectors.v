(* Vectors of R^d for every d: functions of the coordinate, of which those below d count. Rules run on any space. *)

Require Export Reals QArith Qround Qreals List Lra Lia Psatz FunctionalExtensionality.
Export ListNotations.
Open Scope R_scope.

#[global] Arguments Qred : simpl never.
#[global] Arguments Qplus : simpl never.
#[global] Arguments Qmult : simpl never.
#[global] Arguments Q2R : simpl never.

(* What a rule computes with: it only adds vectors and multiplies them by rationals. *)
Record space := Space {
  point :> Type;
  origin : point;
  plus : point -> point -> point;
  times : Q -> point -> point
}.
Arguments origin {_}.
Arguments plus {_} _ _.
Arguments times {_} _ _.

Declare Scope vector_scope.
Delimit Scope vector_scope with V.
Notation "a + b" := (plus a b) : vector_scope.
Notation "q * a" := (times q a) : vector_scope.
Notation "a - b" := (plus a (times (-1)%Q b)) : vector_scope.

Definition vec := nat -> R.

Canonical Structure vectors : space := Space vec (fun _ => 0) (fun u v k => u k + v k) (fun q u k => Q2R q * u k).

(* a_0 + ... + a_(d-1), <u, v> and |u|^2. *)
Fixpoint sum (d : nat) (a : nat -> R) : R := match d with O => 0 | S k => sum k a + a k end.
Definition dot (d : nat) (u v : vec) : R := sum d (fun k => u k * v k).
Definition square (d : nat) (u : vec) : R := dot d u u.

Lemma sum_plus d a b : sum d (fun k => a k + b k) = sum d a + sum d b.
Proof. induction d; simpl; [ring | rewrite IHd; ring]. Qed.

Lemma sum_times d c a : sum d (fun k => c * a k) = c * sum d a.
Proof. induction d; simpl; [ring | rewrite IHd; ring]. Qed.

Lemma sum_ext d a b : (forall k, (k < d)%nat -> a k = b k) -> sum d a = sum d b.
Proof. intros E. induction d; simpl; [reflexivity | rewrite IHd, (E d); auto with arith]. Qed.

Lemma sum_zero d : sum d (fun _ => 0) = 0.
Proof. induction d; simpl; [reflexivity | rewrite IHd; ring]. Qed.

Lemma sum_pos d a : (forall k, (k < d)%nat -> 0 <= a k) -> 0 <= sum d a.
Proof.
  intros P. induction d; simpl; [lra|].
  assert (0 <= sum d a) by (apply IHd; auto with arith). assert (0 <= a d) by auto with arith. lra.
Qed.

Lemma square_pos d u : 0 <= square d u.
Proof. apply sum_pos. intros; nra. Qed.

Lemma square_zero d u : square d u <= 0 -> forall k, (k < d)%nat -> u k = 0.
Proof.
  unfold square, dot. induction d; simpl; intros H k K; [lia|].
  assert (0 <= sum d (fun k => u k * u k)) by (apply sum_pos; intros; nra).
  assert (0 <= u d * u d) by nra.
  assert (k = d \/ (k < d)%nat) as [-> | L] by lia; [nra | apply IHd; [lra | exact L]].
Qed.

Lemma Q2R_0 : Q2R 0 = 0. Proof. unfold Q2R; simpl; field. Qed.
Lemma Q2R_1 : Q2R 1 = 1. Proof. unfold Q2R; simpl; field. Qed.
Lemma Q2R_m1 : Q2R (-1)%Q = -1. Proof. unfold Q2R; simpl; field. Qed.
Lemma Q2R_red q : Q2R (Qred q) = Q2R q.
Proof. apply Qeq_eqR, Qred_correct. Qed.
Lemma Q2R_pos q : Qle_bool 0 q = true -> 0 <= Q2R q.
Proof. intros H. apply Qle_bool_iff, Qle_Rle in H. rewrite Q2R_0 in H. exact H. Qed.
