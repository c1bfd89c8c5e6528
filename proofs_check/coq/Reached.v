(* Functions in numbers, through points of a round, from where no coefficients of the round bring the model nearer. *)

Require Import Vectors Classes Certificates Rounds Statements Soundness Interpolants.

(* A list of fractions as a vector. *)
Lemma coordinate_plus a : forall b k, coordinate (ladd a b) k = coordinate a k + coordinate b k.
Proof.
  induction a as [|p a IH]; intros [|q b] k; cbn [ladd];
    rewrite ?(coordinate_nth k []), ?nth_overflow, ?Q2R_0 by (simpl; lia); try ring.
  destruct k; simpl; [unfold reduced; rewrite Q2R_red, Q2R_plus | rewrite IH]; reflexivity.
Qed.

Lemma coordinate_times c a : forall k, coordinate (lmul c a) k = Q2R c * coordinate a k.
Proof.
  induction a as [|p a IH]; intros k.
  - rewrite (coordinate_nth k []), nth_overflow, coordinate_nth, nth_overflow, Q2R_0 by (simpl; lia). ring.
  - destruct k; simpl; [unfold reduced; rewrite Q2R_red, Q2R_mult; reflexivity | apply IH].
Qed.

Definition entries (v : list Q) : vec := coordinate v.

Lemma at_plus (a b : forms) : entries (a + b)%V = (entries a + entries b)%V.
Proof. apply functional_extensionality. intros k. apply coordinate_plus. Qed.

Lemma at_times c (a : forms) : entries (c * a)%V = (c * entries a)%V.
Proof. apply functional_extensionality. intros k. apply coordinate_times. Qed.

Lemma at_origin : entries [] = (origin : vectors).
Proof.
  apply functional_extensionality. intros k. unfold entries.
  rewrite coordinate_nth, nth_overflow by (simpl; lia). apply Q2R_0.
Qed.

Lemma at_total n v : entries (total n v : forms) = total n (fun i => entries (v i) : vectors).
Proof. induction n; [apply at_origin|]. cbn [total]. rewrite at_plus, IHn. reflexivity. Qed.

Lemma sum_first d : forall a, sum (S d) a = a 0%nat + sum d (fun k => a (S k)).
Proof. induction d; intros a; [simpl; ring|]. cbn [sum] in *. rewrite IHd. ring. Qed.

Lemma dot_against r : forall d v, (length r <= d)%nat -> Q2R (against r v) = dot d (entries r) (entries v).
Proof.
  intros d v L. rewrite ev_against. change (coordinate v) with (entries v). generalize (entries v). clear v. revert d L.
  induction r as [|p r IH]; intros d L u.
  - simpl ev. rewrite at_origin. unfold dot. simpl. rewrite (sum_ext d _ (fun _ => 0)), sum_zero; [reflexivity|].
    intros; ring.
  - destruct d; [simpl in L; lia|]. unfold dot. rewrite sum_first. unfold entries. cbn [ev coordinate hd tl].
    rewrite (IH d) by (simpl in L; lia). reflexivity.
Qed.

(* Finitely many choices. *)
Lemma choice_of (A : Type) (a : A) n (P : nat -> A -> Prop) : (forall i, (i < n)%nat -> exists y, P i y) ->
  exists f, forall i, (i < n)%nat -> P i (f i).
Proof.
  intros H. induction n as [|n IH]; [exists (fun _ => a); intros; lia|].
  destruct IH as [f Pf]; [auto with arith|]. destruct (H n (Nat.lt_succ_diag_r n)) as [y Y].
  exists (fun i => if Nat.eqb i n then y else f i). intros i I.
  destruct (Nat.eqb_spec i n) as [-> |]; [exact Y | apply Pf; lia].
Qed.

Lemma sum_below d mu L F G n : 0 <= mu -> (forall i, (i < n)%nat -> of_class d mu L (F i) (G i)) ->
  forall x y : vectors, sum_of n F x + dot d (fun k => sum n (fun i => G i x k)) (y - x)%V <= sum_of n F y.
Proof.
  intros P C x y. induction n.
  - cbn [sum_of sum]. unfold dot. rewrite (sum_ext d _ (fun _ => 0)), sum_zero; [lra | intros; ring].
  - destruct (C n (Nat.lt_succ_diag_r n) x y) as [U _]. assert (I := IHn (fun i h => C i (Nat.lt_lt_succ_r _ _ h))).
    assert (E : dot d (fun k => sum (S n) (fun i => G i x k)) (y - x)%V =
      dot d (fun k => sum n (fun i => G i x k)) (y - x)%V + dot d (G n x) (y - x)%V).
    { one_sum. apply sum_ext. intros; simpl; ring. }
    assert (0 <= mu / 2 * square d (y - x)%V) by (apply Rmult_le_pos; [lra | apply square_pos]).
    cbn [sum_of]. rewrite E. change (point vectors) with vec in *. lra.
Qed.

Fixpoint qsum (n : nat) (c : nat -> Q) : Q := match n with O => 0%Q | S i => reduced Qplus (qsum i c) (c i) end.

Lemma Q2R_qsum n c : Q2R (qsum n c) = sum n (fun i => Q2R (c i)).
Proof.
  induction n; cbn [qsum sum]; [apply Q2R_0|]. unfold reduced. rewrite Q2R_red, Q2R_plus, IHn. reflexivity.
Qed.

Lemma Q2R_le a b : Qle_bool a b = true -> Q2R a <= Q2R b.
Proof. intros H. apply Qle_Rle, Qle_bool_iff, H. Qed.

Lemma Q2R_zero q : zero q = true -> Q2R q = 0.
Proof. intros H. apply Qeq_bool_eq, Qeq_eqR in H. rewrite H. apply Q2R_0. Qed.

Lemma zeros v : forallb zero v = true -> forall k, entries v k = 0.
Proof.
  induction v as [|c v IH]; intros H k; [rewrite at_origin; reflexivity|].
  cbn [forallb] in H. apply andb_prop in H as [C V]. destruct k; [apply Q2R_zero, C | apply IH, V].
Qed.

Lemma sum_if_zero T (w : nat -> R) c t : (t < T)%nat ->
  sum T (fun s => w s * (if Nat.eqb t s then c else 0)) = w t * c.
Proof.
  intros I. induction T; [lia|]. cbn [sum]. destruct (Nat.eq_dec t T) as [-> | N].
  - rewrite Nat.eqb_refl, (sum_ext T _ (fun _ => 0)), sum_zero; [ring|].
    intros s S_. destruct (Nat.eqb_spec T s); [lia | ring].
  - rewrite IHT by lia. destruct (Nat.eqb_spec t T); [lia | ring].
Qed.

(* Sums by what tau is. *)
Lemma grouped n T tau (w : nat -> R) c : (forall i, (i < n)%nat -> (tau i < T)%nat) ->
  sum n (fun i => w (tau i) * c i) = sum T (fun t => w t * sum n (fun i => if Nat.eqb (tau i) t then c i else 0)).
Proof.
  intros I. induction n.
  - simpl. rewrite (sum_ext T _ (fun _ => 0)), sum_zero; [reflexivity | intros; ring].
  - cbn [sum]. rewrite IHn by auto with arith. rewrite <- (sum_if_zero T w (c n) (tau n)) by auto with arith.
    rewrite <- sum_plus. apply sum_ext. intros; ring.
Qed.

Section Numbers.
Variables (n : nat) (tau : nat -> nat) (eta_l mu L : Q) (d : nat).
(* The model, and by client its gradients and values: at x_star, which is the origin, and in steps 0, 1, ... *)
Variables (x : list Q) (gradients : list (list (list Q))) (heights : list (list Q)).

Definition recorded (i a : nat) : forms := nth a (nth i gradients []) [].
Definition valued (i a : nat) : Q := nth a (nth i heights []) 0%Q.
Definition reaches (i k : nat) : forms := solve (sgd eta_l) (fun k _ => recorded i (S k)) (x : forms) k.
Definition spot (i a : nat) : forms := match a with O => [] | S k => reaches i k end.
Definition drift (i : nat) : forms := (reaches i (tau i) - x : forms)%V.

Definition fits (i a b : nat) : bool :=
  let dx := (spot i a - spot i b)%V in
  let bent := (recorded i a - recorded i b - mu * dx)%V in
  Qle_bool (valued i b - valued i a + against (recorded i b) dx + mu / 2 * against dx dx
    + 1 / (2 * (L - mu)) * against bent bent) 0.

Definition short (v : list Q) : bool := Nat.leb (length v) d.

Definition functions_check (zeta2 : Q) : bool :=
  negb (Nat.eqb n 0) && Qle_bool 0 mu && negb (Qle_bool L mu)
  && forallb (fun i => let points := seq 0 (S (tau i)) in
       forallb (fun a => short (spot i a) && short (recorded i a) && forallb (fits i a) points) points) (seq 0 n)
  && forallb zero (total n (fun i => recorded i 0) : forms)
  && Qle_bool (1 / whole n * qsum n (fun i => against (recorded i 0) (recorded i 0))) zeta2
  && short x && Qle_bool (against x x) 1.

(* p is at right angles to where x goes, whatever the coefficients: |x_+|^2 is |x_+ - p|^2 + 2 <p, x> - |p|^2. *)
Definition far (p : list Q) (least : Q) : bool :=
  short p && Qle_bool least (2 * against p x - against p p).
Definition any_check (p : list Q) (zeta2 least : Q) (T : nat) : bool :=
  functions_check zeta2 && far p least && forallb (fun i => Nat.ltb (tau i) T) (seq 0 n)
  && forallb (fun t => zero (qsum n (fun i => if Nat.eqb (tau i) t then against p (drift i) else 0%Q))) (seq 0 T).
Definition nova_check (p : list Q) (zeta2 least : Q) : bool :=
  functions_check zeta2 && far p least && forallb (fun i => Nat.ltb 0 (tau i)) (seq 0 n)
  && zero (qsum n (fun i => 1 / whole (tau i) * against p (drift i))%Q).

Notation phi := entries.

Lemma short_zero v k : short v = true -> (d <= k)%nat -> phi v k = 0.
Proof.
  intros H K. apply Nat.leb_le in H. unfold entries. rewrite coordinate_nth, nth_overflow by lia. apply Q2R_0.
Qed.

Lemma below_all m (p : nat -> bool) : forallb p (seq 0 m) = true -> forall a, (a < m)%nat -> p a = true.
Proof. intros H a A. rewrite forallb_forall in H. apply H, in_seq. lia. Qed.

Lemma length_ladd a : forall b, length (ladd a b) = Nat.max (length a) (length b).
Proof. induction a as [|p a IH]; intros [|q b]; simpl; rewrite ?IH; reflexivity. Qed.

Lemma short_minus (a b : forms) : short a = true -> short b = true -> short (a - b : forms)%V = true.
Proof.
  unfold short. rewrite !Nat.leb_le. intros A B. simpl. unfold lmul. rewrite length_ladd, map_length. lia.
Qed.

Lemma short_times c (a : forms) : short a = true -> short (c * a : forms)%V = true.
Proof. unfold short. simpl. unfold lmul. rewrite map_length. auto. Qed.

Lemma dot_short v w : short v = true -> Q2R (against v w) = dot d (phi v) (phi w).
Proof. intros S_. apply dot_against, Nat.leb_le, S_. Qed.

Lemma functions_sound zeta2 : functions_check zeta2 = true ->
  (0 < n)%nat /\ exists F G, (forall i, (i < n)%nat -> of_class d (Q2R mu) (Q2R L) (F i) (G i))
    /\ minimises n F (phi []) /\ / INR n * sum n (fun i => square d (G i (phi []))) <= Q2R zeta2
    /\ square d (phi x - phi [] : vectors)%V <= 1
    /\ forall i, (i < n)%nat -> solve (V := vectors) (sgd eta_l) (exact G i) (phi x) (tau i) = phi (reaches i (tau i)).
Proof.
  unfold functions_check. intros H.
  apply andb_prop in H as [H One]. apply andb_prop in H as [H Sx]. apply andb_prop in H as [H Z].
  apply andb_prop in H as [H Sum]. apply andb_prop in H as [H Fit]. apply andb_prop in H as [H Lt].
  apply andb_prop in H as [N Mu].
  assert (N' : (0 < n)%nat) by (destruct n; [discriminate N | lia]). split; [exact N'|].
  assert (LT : Q2R mu < Q2R L).
  { apply Qlt_Rlt. destruct (Qlt_le_dec mu L) as [|B]; [assumption|]. apply Qle_bool_iff in B. rewrite B in Lt.
    discriminate Lt. }
  apply Q2R_pos in Mu.
  assert (One_ : forall i, (i < n)%nat -> exists FG : (vec -> R) * (vec -> vec),
    of_class d (Q2R mu) (Q2R L) (fst FG) (snd FG)
    /\ forall a, (a < S (tau i))%nat -> snd FG (phi (spot i a)) = phi (recorded i a)).
  { intros i I. assert (Fi := below_all n _ Fit i I). cbv beta zeta in Fi.
    assert (A := below_all _ _ Fi). cbv beta in A.
    destruct (interpolable d (Q2R mu) (Q2R L) (S (tau i)) (fun a => phi (spot i a)) (fun a => phi (recorded i a))
      (fun a => Q2R (valued i a)) LT) as [F [G [C V]]]; [lia | | |].
    - intros a k A' K. specialize (A a A'). apply andb_prop in A as [A _]. apply andb_prop in A as [A B].
      split; apply short_zero; assumption.
    - intros a b A' B'. assert (Aa := A a A'). apply andb_prop in Aa as [Sa Fa]. apply andb_prop in Sa as [Sa Ga].
      assert (Ab := A b B'). apply andb_prop in Ab as [Sb _]. apply andb_prop in Sb as [Sb Gb].
      assert (Q_ := below_all _ _ Fa b B'). unfold fits in Q_. apply Q2R_le in Q_.
      set (dx := (spot i a - spot i b)%V) in *.
      set (bent := (recorded i a - recorded i b - mu * dx)%V) in *.
      assert (Sd : short dx = true) by (apply short_minus; assumption).
      assert (Se : short bent = true) by (apply short_minus; [apply short_minus | apply short_times]; assumption).
      rewrite !Q2R_plus, Q2R_minus, !Q2R_mult, Q2R_half, Q2R_over, Q2R_0, !dot_short in Q_ by assumption.
      assert (Ed : phi dx = (phi (spot i a) - phi (spot i b) : vectors)%V)
        by (unfold dx; rewrite at_plus, at_times; reflexivity).
      assert (Eb : phi bent = fun k => (phi (recorded i a) k - phi (recorded i b) k)
        - Q2R mu * (phi (spot i a) k - phi (spot i b) k)).
      { unfold bent. rewrite !at_plus, !at_times, Ed. apply functional_extensionality. intros k.
        simpl. rewrite Q2R_m1. ring. }
      rewrite Ed, Eb in Q_. unfold square. exact Q_.
    - exists (F, G). split; [exact C|]. intros a A'. apply V, A'. }
  destruct (choice_of _ ((fun _ => 0), (fun v => v)) n _ One_) as [FG P].
  exists (fun i => fst (FG i)), (fun i => snd (FG i)).
  assert (C : forall i, (i < n)%nat -> of_class d (Q2R mu) (Q2R L) (fst (FG i)) (snd (FG i)))
    by (intros; apply P; auto).
  assert (At : forall i a, (i < n)%nat -> (a < S (tau i))%nat -> snd (FG i) (phi (spot i a)) = phi (recorded i a))
    by (intros; apply P; auto).
  assert (Begin : forall i, (i < n)%nat -> snd (FG i) (phi []) = phi (recorded i 0))
    by (intros i I; apply (At i 0%nat I); lia).
  split; [exact C|]. split; [|split; [|split]].
  - intros y. assert (B := sum_below d _ _ _ _ n Mu C (phi []) y). cbv beta in B.
    enough (E : dot d (fun k => sum n (fun i => snd (FG i) (phi []) k)) (y - phi [] : vectors)%V = 0)
      by (rewrite E in B; lra).
    unfold dot. rewrite (sum_ext d _ (fun _ => 0)); [apply sum_zero|]. intros k K.
    assert (E : sum n (fun i => snd (FG i) (phi []) k) = phi (total n (fun i => recorded i 0) : forms) k).
    { rewrite at_total, total_at. apply sum_ext. intros i I. rewrite Begin by exact I. reflexivity. }
    rewrite E, zeros by exact Sum. ring.
  - apply Q2R_le in Z. rewrite Q2R_mult, Q2R_share, Q2R_qsum in Z by exact N'.
    rewrite (sum_ext n _ (fun i => Q2R (against (recorded i 0) (recorded i 0)))); [exact Z|].
    intros i I. rewrite Begin by exact I. symmetry. apply dot_short.
    assert (A := below_all _ _ (below_all n _ Fit i I) 0%nat ltac:(lia)). cbv beta in A.
    apply andb_prop in A as [A _]. apply andb_prop in A as [_ A]. exact A.
  - apply Q2R_le in One. rewrite dot_short, Q2R_1 in One by exact Sx.
    replace (square d (phi x - phi [] : vectors)%V) with (dot d (phi x) (phi x)); [exact One|].
    apply sum_ext. intros k _. rewrite at_origin. simpl. ring.
  - intros i I. enough (E : forall k, (k <= tau i)%nat ->
      solve (V := vectors) (sgd eta_l) (exact (fun i => snd (FG i)) i) (phi x) k = phi (reaches i k)) by (apply E; lia).
    induction k as [|k IH]; intros K; [reflexivity|].
    cbn [solve]. rewrite IH by lia. unfold exact. change (reaches i k) with (spot i (S k)) at 2.
    rewrite At by (exact I || lia). unfold reaches. cbn [solve]. fold (reaches i k).
    change (solve (sgd eta_l) (fun k0 _ => recorded i (S k0)) (x : forms) k) with (reaches i k).
    unfold sgd. rewrite at_plus, !at_times. reflexivity.
Qed.

Lemma far_sound p least (y : vec) : far p least = true ->
  dot d (phi p) y = dot d (phi p) (phi x) -> Q2R least <= square d (y - phi [] : vectors)%V.
Proof.
  unfold far. intros H E. apply andb_prop in H as [S_ H]. apply Q2R_le in H.
  rewrite Q2R_minus, Q2R_mult, !dot_short in H by exact S_. replace (Q2R 2) with 2 in H by (unfold Q2R; simpl; field).
  rewrite <- E in H. assert (P := square_pos d (fun k => y k - phi p k)). rewrite square_off in P.
  replace (square d (y - phi [] : vectors)%V) with (square d y).
  - unfold square at 2 in P. lra.
  - apply sum_ext. intros k _. rewrite at_origin. simpl. ring.
Qed.

(* What is left of <p, x_+>. *)
Lemma stays p (w : nat -> R) G : short p = true ->
  (forall i, (i < n)%nat -> solve (V := vectors) (sgd eta_l) (exact G i) (phi x) (tau i) = phi (reaches i (tau i))) ->
  sum n (fun i => w (tau i) * Q2R (against p (drift i))) = 0 ->
  dot d (phi p) (weighed_by n tau eta_l w G (phi x)) = dot d (phi p) (phi x).
Proof.
  intros S_ E Z. unfold weighed_by.
  assert (A : dot d (phi p) (fun k => phi x k + sum n (fun i => w (tau i) * (phi (reaches i (tau i)) k - phi x k)))
    = dot d (phi p) (phi x) + sum n (fun i => w (tau i) * Q2R (against p (drift i)))).
  { clear Z E. induction n as [|m IH]; cbn [sum].
    - rewrite Rplus_0_r. apply sum_ext. intros; ring.
    - rewrite dot_short by exact S_. rewrite <- Rplus_assoc, <- IH. one_sum. apply sum_ext. intros k _.
      unfold drift. rewrite at_plus, at_times. simpl. rewrite Q2R_m1. ring. }
  rewrite Z, Rplus_0_r in A. rewrite <- A. f_equal. apply functional_extensionality. intros k. f_equal.
  apply sum_ext. intros i I. rewrite E by exact I. reflexivity.
Qed.

Theorem any_sound p zeta2 least T : any_check p zeta2 least T = true -> no_nearer any n tau eta_l mu L zeta2 least.
Proof.
  unfold any_check. intros H. apply andb_prop in H as [H R_]. apply andb_prop in H as [H B].
  apply andb_prop in H as [H Far]. destruct (functions_sound zeta2 H) as [_ [F [G [C [M [Z [S_ E]]]]]]].
  exists d, F, G, (phi []), (phi x). repeat (split; [assumption|]). intros w _.
  apply (far_sound p least); [exact Far|]. unfold far in Far. apply andb_prop in Far as [Sp _].
  apply stays; [exact Sp | exact E|].
  rewrite (grouped n T) by (intros i I; apply Nat.ltb_lt; exact (below_all n _ B i I)).
  rewrite (sum_ext T _ (fun _ => 0)); [apply sum_zero|]. intros t T_.
  assert (Q_ := below_all T _ R_ t T_). cbv beta in Q_. apply Q2R_zero in Q_. rewrite Q2R_qsum in Q_.
  rewrite (sum_ext n _ (fun i => Q2R (if Nat.eqb (tau i) t then against p (drift i) else 0%Q))), Q_; [ring|].
  intros i _. destruct (Nat.eqb (tau i) t); [reflexivity | symmetry; apply Q2R_0].
Qed.

Theorem nova_sound p zeta2 least : nova_check p zeta2 least = true -> no_nearer (nova n) n tau eta_l mu L zeta2 least.
Proof.
  unfold nova_check. intros H. apply andb_prop in H as [H R_]. apply andb_prop in H as [H B].
  apply andb_prop in H as [H Far]. destruct (functions_sound zeta2 H) as [N [F [G [C [M [Z [S_ E]]]]]]].
  exists d, F, G, (phi []), (phi x). repeat (split; [assumption|]). intros w [tau_eff W].
  apply (far_sound p least); [exact Far|]. unfold far in Far. apply andb_prop in Far as [Sp _].
  apply stays; [exact Sp | exact E|]. apply Q2R_zero in R_. rewrite Q2R_qsum in R_.
  rewrite (sum_ext n _ (fun i => tau_eff / INR n * Q2R (1 / whole (tau i) * against p (drift i)))).
  - rewrite sum_times, R_. ring.
  - intros i I. rewrite W, Q2R_mult.
    assert (T : (0 < tau i)%nat) by (apply Nat.ltb_lt; exact (below_all n _ B i I)).
    rewrite Q2R_share by exact T. field. split; apply not_0_INR; lia.
Qed.
End Numbers.

(* With fractions it is the round of [Rounds]. *)
Theorem weighed_is n tau eta_l (w : nat -> Q) G x :
  weighed n tau eta_l (fun i => w (tau i)) (exact G) (x : vectors) = weighed_by n tau eta_l (fun t => Q2R (w t)) G x.
Proof.
  apply functional_extensionality. intros k. unfold weighed, weighed_by. simpl. rewrite total_at. f_equal.
  apply sum_ext. intros i _. simpl. rewrite Q2R_m1. ring.
Qed.
