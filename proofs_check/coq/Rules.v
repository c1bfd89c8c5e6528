(* For each rule: what its rows say follows where the check of their multipliers says yes. *)

Require Import Vectors Classes Certificates Rounds Statements Soundness.

Ltac on_values := cbv beta zeta; repeat (rewrite vec_of_plus || rewrite vec_of_times || rewrite phi_mean).

(* All of [distance] but the rule: the round on forms, and that its value is the round on vectors. *)
Lemma distance_of (one_round : rule) n mu L (step : forall V : space, V -> V -> V -> V) zeta2 bound s z proof :
  (forall u x y g, vec_of u (step forms x y g) = step vectors (vec_of u x) (vec_of u y) (vec_of u g)) ->
  (forall u G, (forall i k, (i < n)%nat ->
      vec_of u (local n (fun _ => step forms begun) i k)
        = solve (step vectors (vec_of u begun)) (exact G i) (vec_of u begun) k) ->
    vec_of u (one_round forms (answer n) begun) = one_round vectors (exact G) (vec_of u begun)) ->
  distance_check n mu L (fun _ => step forms begun) (one_round forms (answer n) begun) zeta2 bound s z proof = true ->
  distance one_round n mu L zeta2 bound.
Proof.
  intros S R H d F G x_star x C M Z B.
  destruct (apt_some n mu L proof) as [some curved]; [apply andb_prop in H as [A _]; exact A|].
  pose (u := basis n G x_star x (fun _ => origin) (fun _ => step vectors x)).
  assert (X : vec_of u begun = x) by apply phi_begun.
  assert (St : forall i y g, (i < n)%nat -> vec_of u (step forms begun y g) = step vectors x (vec_of u y) (vec_of u g)).
  { intros i y g _. rewrite S, X. reflexivity. }
  eapply (distance_meant n mu L (fun _ => step forms begun) d F G x_star x (fun _ => origin) (fun _ => step vectors x));
    try eassumption.
  enough (K : vec_of u (one_round forms (answer n) begun) = one_round vectors (exact G) (vec_of u begun))
    by (rewrite X in K; exact K).
  apply R. intros i k I. rewrite X.
  exact (phi_local n (fun _ => step forms begun) G x_star x (fun _ => origin) (fun _ => step vectors x) some St i k I).
Qed.

(* A step or a round on values: what clients sent is what they come to. *)
Ltac by_values :=
  intros; on_values; try reflexivity;
  f_equal; repeat lazymatch goal with |- times _ _ = times _ _ => f_equal end;
  apply mean_ext; intros i I; on_values;
  match goal with E : forall i k, _ -> vec_of _ (local _ _ i k) = _ |- _ => unfold local in E; rewrite E by exact I end;
  reflexivity.

Theorem fedavg_row n tau eta_l mu L zeta2 bound s z proof :
  distance_check n mu L (fun _ => sgd eta_l) (fedavg n tau eta_l (answer n) begun) zeta2 bound s z proof = true ->
  distance (fun V => fedavg n tau eta_l) n mu L zeta2 bound.
Proof.
  apply (distance_of (fun V => fedavg n tau eta_l) n mu L (fun V _ => sgd eta_l)).
  all: unfold fedavg, sgd; by_values.
Qed.

Theorem fedprox_row n tau eta_l pull mu L zeta2 bound s z proof :
  distance_check n mu L (fun _ => proximal eta_l pull begun) (fedprox n tau eta_l pull (answer n) begun)
    zeta2 bound s z proof = true ->
  distance (fun V => fedprox n tau eta_l pull) n mu L zeta2 bound.
Proof.
  apply (distance_of (fun V => fedprox n tau eta_l pull) n mu L (fun V => proximal eta_l pull)).
  all: unfold fedprox, proximal; by_values.
Qed.

Theorem fednova_row n tau eta_l mu L zeta2 bound s z proof :
  distance_check n mu L (fun _ => sgd eta_l) (fednova n tau eta_l (answer n) begun) zeta2 bound s z proof = true ->
  distance (fun V => fednova n tau eta_l) n mu L zeta2 bound.
Proof.
  apply (distance_of (fun V => fednova n tau eta_l) n mu L (fun V _ => sgd eta_l)).
  all: unfold fednova, sgd; by_values.
Qed.

Theorem weighed_row n tau eta_l w mu L zeta2 bound s z proof :
  distance_check n mu L (fun _ => sgd eta_l) (weighed n tau eta_l w (answer n) begun) zeta2 bound s z proof = true ->
  distance (fun V => weighed n tau eta_l w) n mu L zeta2 bound.
Proof.
  apply (distance_of (fun V => weighed n tau eta_l w) n mu L (fun V _ => sgd eta_l)).
  - unfold sgd. by_values.
  - intros u G Lo. unfold weighed. on_values. rewrite phi_total. f_equal. apply total_ext. intros i I. on_values.
    unfold local in Lo. rewrite Lo by exact I. reflexivity.
Qed.

(* The beginning of a round on forms: the server's vector is the mean of the clients'. *)
Definition start (n : nat) : state forms := State begun (mean n (held n)) (held n).

Lemma falls_of (one_round : keeping_rule) n mu L (step : forall V : space, V -> V -> V -> V -> V -> V) P bound proof :
  (forall u x c c_i y g, vec_of u (step forms x c c_i y g)
    = step vectors (vec_of u x) (vec_of u c) (vec_of u c_i) (vec_of u y) (vec_of u g)) ->
  (forall u G (s : state vectors), server s = mean n (kept s) ->
    vec_of u begun = model s -> vec_of u (mean n (held n)) = server s ->
    (forall i, (i < n)%nat -> vec_of u (held n i) = kept s i) ->
    (forall i k, (i < n)%nat ->
      vec_of u (local n (fun i => step forms begun (mean n (held n)) (held n i)) i k)
      = solve (step vectors (model s) (server s) (kept s i)) (exact G i) (model s) k) ->
    let forward := one_round forms (answer n) (start n) in
    let s' := one_round vectors (exact G) s in
    vec_of u (model forward) = model s' /\ (forall i, (i < n)%nat -> vec_of u (kept forward i) = kept s' i)
    /\ server s' = mean n (kept s')) ->
  falls_check n mu L (fun i => step forms begun (mean n (held n)) (held n i))
    (model (one_round forms (answer n) (start n))) (kept (one_round forms (answer n) (start n))) P bound proof = true ->
  falls one_round n mu L P bound.
Proof.
  intros S R H d F G x_star s C M E s'.
  destruct (apt_some n mu L proof) as [some curved];
    [apply andb_prop in H as [A _]; apply andb_prop in A as [A _]; exact A|].
  pose (step_ := fun i => step vectors (model s) (server s) (kept s i)).
  pose (u := basis n G x_star (model s) (kept s) step_).
  assert (X : vec_of u begun = model s) by apply phi_begun.
  assert (K : forall i, (i < n)%nat -> vec_of u (held n i) = kept s i)
    by (intros; apply (phi_held n G x_star (model s) (kept s) step_ some); assumption).
  assert (Ser : vec_of u (mean n (held n)) = server s).
  { rewrite phi_mean, E. apply mean_ext. exact K. }
  assert (St : forall i y g, (i < n)%nat ->
    vec_of u (step forms begun (mean n (held n)) (held n i) y g) = step_ i (vec_of u y) (vec_of u g)).
  { intros i y g I. rewrite S, X, Ser, K by exact I. reflexivity. }
  destruct (R u G s E X Ser K) as [Mo [Ke Se]].
  { intros i k I. exact (phi_local n _ G x_star (model s) (kept s) step_ some St i k I). }
  split; [|split; [exact Se|]].
  - exact (falls_meant n mu L _ d F G x_star (model s) (kept s) step_ some curved C M St _ _ Mo _ _ Ke P bound proof H).
  - apply positive_sound. apply andb_prop in H as [A _]. apply andb_prop in A as [_ A]. exact A.
Qed.

Theorem scaffold_row n tau eta_l eta mu L P bound proof :
  falls_check n mu L (fun i => corrected eta_l (mean n (held n)) (held n i))
    (model (scaffold n tau eta_l eta (answer n) (start n))) (kept (scaffold n tau eta_l eta (answer n) (start n)))
    P bound proof = true ->
  falls (fun V => scaffold n tau eta_l eta) n mu L P bound.
Proof.
  apply (falls_of (fun V => scaffold n tau eta_l eta) n mu L (fun V _ => corrected eta_l)).
  - intros. unfold corrected. on_values. reflexivity.
  - intros u G s E X Ser K Lo. cbv zeta. unfold scaffold, local in *; cbn [model kept server start] in *.
    split; [|split].
    + on_values. rewrite X. do 2 f_equal. apply mean_ext. intros i I. on_values. rewrite Lo, X by exact I. reflexivity.
    + intros i I. on_values. rewrite Lo, X, K, <- phi_mean, Ser by exact I. reflexivity.
    + rewrite E at 1. apply functional_extensionality. intros k. unfold mean. simpl.
      rewrite !total_at. simpl. rewrite !sum_plus, !sum_times. rewrite Q2R_m1. ring.
Qed.

Theorem feddyn_row n tau eta_l pull mu L P bound proof :
  falls_check n mu L (fun i => dynamic eta_l pull begun (held n i))
    (model (feddyn n tau eta_l pull (answer n) (start n))) (kept (feddyn n tau eta_l pull (answer n) (start n)))
    P bound proof = true ->
  falls (fun V => feddyn n tau eta_l pull) n mu L P bound.
Proof.
  apply (falls_of (fun V => feddyn n tau eta_l pull) n mu L (fun V x _ => dynamic eta_l pull x)).
  - intros. unfold dynamic. on_values. reflexivity.
  - intros u G s E X Ser K Lo. cbv zeta. unfold feddyn, local in *; cbn [model kept server start] in *. split; [|split].
    + on_values. rewrite <- (phi_mean u n (held n)), Ser.
      f_equal; [|do 5 f_equal]; apply mean_ext; intros i I; on_values;
        rewrite Lo, ?X by exact I; reflexivity.
    + intros i I. on_values. rewrite Lo, X, K by exact I. reflexivity.
    + rewrite E at 1. apply functional_extensionality. intros k. unfold mean. simpl.
      rewrite !total_at. simpl. repeat (rewrite sum_plus || rewrite sum_times). rewrite Q2R_m1. ring.
Qed.

(* What the rule asks and comes to on forms, in one list, to be compared with what the specification's own text does. *)
Definition asked (n : nat) (tau : nat -> nat) (step : nat -> forms -> forms -> forms) : list (list Q) :=
  flat_map (fun i => map (local n step i) (seq 0 (tau i))) (seq 0 n).

Definition fedavg_forms n tau eta_l : list (list Q) :=
  asked n tau (fun _ => sgd eta_l) ++ [fedavg n tau eta_l (answer n) begun].
Definition fedprox_forms n tau eta_l pull : list (list Q) :=
  asked n tau (fun _ => proximal eta_l pull begun) ++ [fedprox n tau eta_l pull (answer n) begun].
Definition fednova_forms n tau eta_l : list (list Q) :=
  asked n tau (fun _ => sgd eta_l) ++ [fednova n tau eta_l (answer n) begun].
Definition weighed_forms n tau eta_l w : list (list Q) :=
  asked n tau (fun _ => sgd eta_l) ++ [weighed n tau eta_l w (answer n) begun].

Definition listed (n : nat) (s : state forms) : list (list Q) := model s :: server s :: map (kept s) (seq 0 n).
Definition scaffold_forms n tau eta_l eta : list (list Q) :=
  asked n tau (fun i => corrected eta_l (mean n (held n)) (held n i))
    ++ listed n (scaffold n tau eta_l eta (answer n) (start n)).
Definition feddyn_forms n tau eta_l pull : list (list Q) :=
  asked n tau (fun i => dynamic eta_l pull begun (held n i))
    ++ listed n (feddyn n tau eta_l pull (answer n) (start n)).

Fixpoint alike (a b : list (list Q)) : bool :=
  match a, b with
  | [], [] => true
  | x :: a', y :: b' => forallb zero (x - y : forms)%V && alike a' b'
  | _, _ => false
  end.
