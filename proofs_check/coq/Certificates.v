(* Quadratic forms with rational coefficients, and multipliers that prove an inequality between them, for vectors. *)

Require Import Vectors.

(* A linear form over basis vectors: their coefficients. *)
Definition reduced (f : Q -> Q -> Q) (a b : Q) : Q := Qred (f a b).

Fixpoint ladd (a b : list Q) : list Q :=
  match a, b with
  | [], _ => b
  | _, [] => a
  | p :: a', q :: b' => reduced Qplus p q :: ladd a' b'
  end.

Definition lmul (c : Q) (a : list Q) : list Q := map (reduced Qmult c) a.

Canonical Structure forms : space := Space (list Q) [] ladd lmul.

Definition unit (j : nat) : list Q := repeat 0%Q j ++ [1%Q].

(* Its value, the basis being numbers. *)
Fixpoint ev (a : list Q) (u : nat -> R) : R :=
  match a with [] => 0 | p :: a' => Q2R p * u 0%nat + ev a' (fun j => u (S j)) end.

(* Its value, the basis being vectors. *)
Definition vec_of (u : nat -> vec) (a : list Q) : vec := fun k => ev a (fun j => u j k).

Lemma ev_ladd a : forall b u, ev (ladd a b) u = ev a u + ev b u.
Proof.
  induction a as [|p a IH]; intros [|q b] u; simpl; try ring.
  unfold reduced. rewrite IH, Q2R_red, Q2R_plus. ring.
Qed.

Lemma ev_lmul c a : forall u, ev (lmul c a) u = Q2R c * ev a u.
Proof.
  induction a as [|p a IH]; intros u; simpl; [ring|].
  unfold reduced. unfold lmul in IH. rewrite IH, Q2R_red, Q2R_mult. ring.
Qed.

Lemma ev_unit j : forall u, ev (unit j) u = u j.
Proof.
  induction j; intros u; simpl; [rewrite Q2R_1; ring|].
  unfold unit in IHj. rewrite IHj, Q2R_0. ring.
Qed.

Lemma vec_of_plus u a b : vec_of u (a + b)%V = (vec_of u a + vec_of u b)%V.
Proof. apply functional_extensionality; intros k. apply ev_ladd. Qed.

Lemma vec_of_times u c a : vec_of u (c * a)%V = (c * vec_of u a)%V.
Proof. apply functional_extensionality; intros k. apply ev_lmul. Qed.

Lemma vec_of_origin u : vec_of u (origin : forms) = (origin : vectors).
Proof. reflexivity. Qed.

Lemma vec_of_unit u j : vec_of u (unit j) = u j.
Proof. apply functional_extensionality; intros k. apply (ev_unit j (fun j => u j k)). Qed.

(* A quadratic form, by rows of its upper triangle. *)
Fixpoint tv (m : list (list Q)) (u : nat -> R) : R :=
  match m with [] => 0 | r :: m' => u 0%nat * ev r u + tv m' (fun j => u (S j)) end.

Fixpoint tadd (m n : list (list Q)) : list (list Q) :=
  match m, n with
  | [], _ => n
  | _, [] => m
  | r :: m', s :: n' => ladd r s :: tadd m' n'
  end.

Definition tmul (c : Q) (m : list (list Q)) : list (list Q) := map (lmul c) m.

(* The product of two linear forms. *)
Fixpoint outer (a b : list Q) : list (list Q) :=
  match a, b with
  | p :: a', q :: b' => (reduced Qmult p q :: ladd (lmul p b') (lmul q a')) :: outer a' b'
  | p :: a', [] => []
  | [], _ => []
  end.

Lemma tv_tadd m : forall n u, tv (tadd m n) u = tv m u + tv n u.
Proof.
  induction m as [|r m IH]; intros [|s n] u; simpl; try ring.
  rewrite IH, ev_ladd. ring.
Qed.

Lemma tv_tmul c m : forall u, tv (tmul c m) u = Q2R c * tv m u.
Proof.
  induction m as [|r m IH]; intros u; simpl; [ring|].
  unfold tmul in IH. rewrite IH, ev_lmul. ring.
Qed.

(* As [outer], of forms whose lengths may differ. *)
Fixpoint pad (n : nat) (a : list Q) : list Q :=
  match n, a with
  | O, _ => a
  | S n', [] => 0%Q :: pad n' []
  | S n', p :: a' => p :: pad n' a'
  end.

Definition product (a b : list Q) : list (list Q) := outer (pad (length b) a) (pad (length a) b).

Lemma ev_pad n : forall a u, ev (pad n a) u = ev a u.
Proof.
  induction n; intros a u; [reflexivity|].
  destruct a; simpl; rewrite IHn; simpl; rewrite ?Q2R_0; ring.
Qed.

Lemma length_pad n : forall a, length (pad n a) = Nat.max n (length a).
Proof. induction n; intros [|p a]; simpl; rewrite ?IHn; simpl; lia. Qed.

Lemma tv_outer a : forall b u, length a = length b -> tv (outer a b) u = ev a u * ev b u.
Proof.
  induction a as [|p a IH]; intros [|q b] u E; simpl in *; try lia; try ring.
  rewrite IH by lia. rewrite ev_ladd, !ev_lmul. unfold reduced. rewrite Q2R_red, Q2R_mult. ring.
Qed.

Lemma tv_product a b u : tv (product a b) u = ev a u * ev b u.
Proof. unfold product. rewrite tv_outer, !ev_pad; [reflexivity | rewrite !length_pad; lia]. Qed.

Definition zero (q : Q) : bool := Qeq_bool q 0.

Lemma ev_zeros r : forall u, forallb zero r = true -> ev r u = 0.
Proof.
  induction r as [|p r IH]; intros u H; simpl in *; [reflexivity|].
  apply andb_prop in H as [Z H]. apply Qeq_bool_eq, Qeq_eqR in Z. rewrite IH, Z, Q2R_0 by exact H. ring.
Qed.

(* One pivot: what is left is the form less a square. *)
Lemma pivot p r m u : zero p = false -> Qle_bool 0 p = true ->
  tv (tadd m (tmul (Qred (- / (4 * p))) (outer r r))) (fun j => u (S j)) <= tv ((p :: r) :: m) u.
Proof.
  intros Z P. apply Q2R_pos in P.
  assert (N : ~ (p == 0)%Q) by (intros E; apply Qeq_bool_iff in E; unfold zero in Z; congruence).
  assert (Q2R p <> 0) by (intros E; apply N, eqR_Qeq; rewrite E, Q2R_0; reflexivity).
  assert (F : ~ (4 * p == 0)%Q).
  { intros E. apply Qeq_eqR in E. rewrite Q2R_mult, Q2R_0 in E.
    replace (Q2R 4) with 4 in E by (unfold Q2R; simpl; field). lra. }
  rewrite tv_tadd, tv_tmul, tv_outer, Q2R_red, Q2R_opp, Q2R_inv, Q2R_mult by (reflexivity || exact F).
  replace (Q2R 4) with 4 by (unfold Q2R; simpl; field). cbn [tv ev].
  set (e := ev r (fun j => u (S j))). set (t := tv m (fun j => u (S j))). set (w := u 0%nat).
  assert (A : 0 <= Q2R p * ((w + e / (2 * Q2R p)) * (w + e / (2 * Q2R p))))
    by (apply Rmult_le_pos; [exact P | apply Rle_0_sqr]).
  replace (Q2R p * ((w + e / (2 * Q2R p)) * (w + e / (2 * Q2R p))))
    with (w * (Q2R p * w + e) + / (4 * Q2R p) * (e * e)) in A by (field; lra).
  lra.
Qed.

(* Positive semidefinite, by elimination in whole numbers, rounded down after every pivot.

   A form whose coefficients are rounded down, the squares lowered by what the others' rounding may cost: e u v is above
   -u^2 - v^2 for e from 0 to 1. [due] is what the squares of the coming rows owe. *)
Definition floor (q : Q) : Q := inject_Z (Qfloor q).
Definition cost (q : Q) : Q := if zero q || Pos.eqb (Qden q) 1 then 0%Q else 1%Q.

Fixpoint costs (r : list Q) : Q := match r with [] => 0%Q | q :: r' => reduced Qplus (cost q) (costs r') end.

Fixpoint lower (m : list (list Q)) (due : list Q) : list (list Q) :=
  match m with
  | [] => map (fun c => [(- c)%Q]) due
  | row :: m' =>
      let p := hd 0%Q row in
      let r := tl row in
      (reduced Qplus (floor p) (- reduced Qplus (costs r) (hd 0%Q due)) :: map floor r)
        :: lower m' (ladd (tl due) (map cost r))
  end.

Fixpoint squares (due : list Q) (u : nat -> R) : R :=
  match due with [] => 0 | c :: due' => Q2R c * (u 0%nat * u 0%nat) + squares due' (fun j => u (S j)) end.

Lemma squares_ladd a : forall b u, squares (ladd a b) u = squares a u + squares b u.
Proof.
  induction a as [|p a IH]; intros [|q b] u; simpl; try ring.
  unfold reduced. rewrite IH, Q2R_red, Q2R_plus. ring.
Qed.

Lemma floor_of q : Q2R (floor q) <= Q2R q <= Q2R (floor q) + 1.
Proof.
  unfold floor. split; [apply Qle_Rle, Qfloor_le|].
  assert (H := Qlt_Rlt _ _ (Qlt_floor q)). rewrite inject_Z_plus, Q2R_plus in H.
  replace (Q2R (inject_Z 1)) with 1 in H by (unfold Q2R, inject_Z; simpl; field). lra.
Qed.

Lemma cost_of q x y : Q2R (floor q) * (x * y) - Q2R (cost q) * (x * x + y * y) <= Q2R q * (x * y).
Proof.
  unfold cost. destruct (zero q) eqn:Z; [|destruct (Pos.eqb (Qden q) 1) eqn:E]; cbn [orb].
  - apply Qeq_bool_eq in Z. assert (E := Qeq_eqR _ _ Z). rewrite E. unfold floor. rewrite Z.
    change (inject_Z (Qfloor 0)) with 0%Q. rewrite Q2R_0. lra.
  - apply Pos.eqb_eq in E. destruct q as [a b]. cbn [Qden] in E. subst b.
    unfold floor, Qfloor. rewrite Z.div_1_r, Q2R_0. unfold inject_Z. lra.
  - rewrite Q2R_1. assert (F := floor_of q). set (e := Q2R q - Q2R (floor q)) in *.
    replace (Q2R q) with (Q2R (floor q) + e) by (unfold e; ring).
    assert (0 <= e <= 1) by (unfold e; lra).
    assert (0 <= (1 - e) * (x * x + y * y)) by (apply Rmult_le_pos; nra).
    assert (0 <= e * ((x + y) * (x + y) + x * x + y * y)) by (apply Rmult_le_pos; nra). nra.
Qed.

Lemma floors r x : forall u,
  x * ev (map floor r) u - Q2R (costs r) * (x * x) - squares (map cost r) u <= x * ev r u.
Proof.
  induction r as [|q r IH]; intros u; cbn [map ev costs squares]; [rewrite Q2R_0; lra|].
  unfold reduced. rewrite Q2R_red, Q2R_plus.
  specialize (IH (fun j => u (S j))). assert (C := cost_of q x (u 0%nat)). lra.
Qed.

Lemma lower_below m : forall due u, tv (lower m due) u <= tv m u - squares due u.
Proof.
  induction m as [|row m IH]; intros due u.
  - simpl. revert u. induction due as [|c due IH]; intros u; simpl; [lra|].
    specialize (IH (fun j => u (S j))). rewrite Q2R_opp. lra.
  - cbn [lower tv ev]. specialize (IH (ladd (tl due) (map cost (tl row))) (fun j => u (S j))).
    rewrite squares_ladd in IH. unfold reduced at 1. rewrite Q2R_red, Q2R_plus, Q2R_opp.
    unfold reduced. rewrite Q2R_red, Q2R_plus.
    assert (F := floors (tl row) (u 0%nat) (fun j => u (S j))).
    assert (G := floor_of (hd 0%Q row)).
    assert (E : ev row u = Q2R (hd 0%Q row) * u 0%nat + ev (tl row) (fun j => u (S j)))
      by (destruct row; simpl; rewrite ?Q2R_0; ring).
    assert (D : squares due u = Q2R (hd 0%Q due) * (u 0%nat * u 0%nat) + squares (tl due) (fun j => u (S j)))
      by (destruct due; simpl; rewrite ?Q2R_0; ring).
    rewrite E, D.
    assert (Q2R (floor (hd 0%Q row)) * (u 0%nat * u 0%nat) <= Q2R (hd 0%Q row) * (u 0%nat * u 0%nat))
      by (apply Rmult_le_compat_r; nra).
    lra.
Qed.

(* As [ladd] and the like, of fractions that are rounded next and need not be reduced. *)
Fixpoint ladd_raw (a b : list Q) : list Q :=
  match a, b with
  | [], _ => b
  | _, [] => a
  | p :: a', q :: b' => Qplus p q :: ladd_raw a' b'
  end.

Fixpoint tadd_raw (m n : list (list Q)) : list (list Q) :=
  match m, n with
  | [], _ => n
  | _, [] => m
  | r :: m', s :: n' => ladd_raw r s :: tadd_raw m' n'
  end.

Definition tmul_raw (c : Q) (m : list (list Q)) : list (list Q) := map (map (Qmult c)) m.

Lemma tv_tadd_raw m : forall n u, tv (tadd_raw m n) u = tv (tadd m n) u.
Proof.
  assert (L : forall a b u, ev (ladd_raw a b) u = ev (ladd a b) u).
  { induction a as [|p a IH]; intros [|q b] u; simpl; try reflexivity.
    unfold reduced. rewrite IH, Q2R_red. reflexivity. }
  induction m as [|r m IH]; intros [|s n] u; simpl; try reflexivity. rewrite IH, L. reflexivity.
Qed.

Lemma tv_tmul_raw c m : forall u, tv (tmul_raw c m) u = tv (tmul c m) u.
Proof.
  assert (L : forall a u, ev (map (Qmult c) a) u = ev (lmul c a) u).
  { induction a as [|p a IH]; intros u; simpl; [reflexivity|]. unfold reduced. rewrite IH, Q2R_red. reflexivity. }
  induction m as [|r m IH]; intros u; simpl; [reflexivity|]. unfold tmul_raw in IH. rewrite IH, L. reflexivity.
Qed.

(* A pivot of zero has a row of zeros. *)
Fixpoint rounded (fuel : nat) (m : list (list Q)) : bool :=
  match fuel, m with
  | _, [] => true
  | O, _ => false
  | S fuel', [] :: m' => rounded fuel' m'
  | S fuel', (p :: r) :: m' =>
      if zero p then forallb zero r && rounded fuel' m'
      else Qle_bool 0 p && rounded fuel' (lower (tadd_raw m' (tmul_raw (Qred (- / (4 * p))) (outer r r))) [])
  end.

Lemma rounded_sound fuel : forall m u, rounded fuel m = true -> 0 <= tv m u.
Proof.
  induction fuel as [|fuel IH]; intros [|[|p r] m] u H; cbn [rounded] in H; try discriminate; try (simpl; lra).
  - specialize (IH m (fun j => u (S j)) H). simpl. lra.
  - destruct (zero p) eqn:Z; apply andb_prop in H as [P H]; specialize (IH _ (fun j => u (S j)) H).
    + apply Qeq_bool_eq, Qeq_eqR in Z. cbn [tv ev]. rewrite Z, Q2R_0, (ev_zeros r) by exact P. lra.
    + assert (K := pivot p r m u Z P).
      assert (B := lower_below (tadd_raw m (tmul_raw (Qred (- / (4 * p))) (outer r r))) [] (fun j => u (S j))).
      rewrite tv_tadd_raw, tv_tadd, tv_tmul_raw, <- tv_tadd in B. simpl in B. lra.
Qed.

(* A form whose matrix is zero at v, with v_k = 1, is at u what it is at u - u_k v, whose k-th entry is zero: its row
   and column k are not needed. With them it is singular, and to round it down would make it negative. *)
Fixpoint coordinate (v : list Q) (j : nat) : R :=
  match j with O => Q2R (hd 0%Q v) | S i => coordinate (tl v) i end.

Fixpoint against (r v : list Q) : Q :=
  match r with [] => 0%Q | p :: r' => reduced Qplus (p * hd 0%Q v) (against r' (tl v)) end.

(* The linear form of u that is twice the bilinear one at u and v. *)
Fixpoint polar (m : list (list Q)) (v : list Q) : list Q :=
  match m with
  | [] => []
  | row :: m' =>
      let c := hd 0%Q v in
      reduced Qplus (2 * (hd 0%Q row * c)) (against (tl row) (tl v)) :: ladd (lmul c (tl row)) (polar m' (tl v))
  end.

Fixpoint cleared (k : nat) (r : list Q) : list Q :=
  match r, k with [], _ => [] | _ :: r', O => 0%Q :: r' | p :: r', S j => p :: cleared j r' end.

Fixpoint dropped (k : nat) (m : list (list Q)) : list (list Q) :=
  match m, k with [], _ => [] | _ :: m', O => [] :: m' | row :: m', S j => cleared k row :: dropped j m' end.

Fixpoint deflated (along : list (nat * list Q)) (m : list (list Q)) : list (list Q) :=
  match along with
  | [] => m
  | (k, v) :: rest => deflated rest (if Qeq_bool (nth k v 0%Q) 1 && forallb zero (polar m v) then dropped k m else m)
  end.

Lemma ev_row row u : ev row u = Q2R (hd 0%Q row) * u 0%nat + ev (tl row) (fun j => u (S j)).
Proof. destruct row; simpl; rewrite ?Q2R_0; ring. Qed.

Lemma ev_against r : forall v, Q2R (against r v) = ev r (coordinate v).
Proof.
  induction r as [|p r IH]; intros v; simpl; [apply Q2R_0|]. unfold reduced.
  rewrite Q2R_red, Q2R_plus, Q2R_mult, IH. reflexivity.
Qed.

Lemma ev_moved r : forall c u w, ev r (fun j => u j - c * w j) = ev r u - c * ev r w.
Proof. induction r; intros c u w; simpl; [ring | rewrite IHr; ring]. Qed.

Lemma tv_moved m : forall v c u, tv m (fun j => u j - c * coordinate v j)
  = tv m u - c * ev (polar m v) u + c * c * (ev (polar m v) (coordinate v) / 2).
Proof.
  induction m as [|row m IH]; intros v c u; [simpl; field|]. cbn [tv polar ev].
  specialize (IH (tl v) c (fun j => u (S j))).
  cbn [coordinate]. rewrite (ev_row row u), (ev_row row), ev_moved, IH, !ev_ladd, !ev_lmul. unfold reduced.
  rewrite Q2R_red, Q2R_plus, !Q2R_mult, ev_against. replace (Q2R 2) with 2 by (unfold Q2R; simpl; field).
  cbn [coordinate]. change (fun j => coordinate (tl v) j) with (coordinate (tl v)). field.
Qed.

Lemma ev_cleared r : forall k u, u k = 0 -> ev (cleared k r) u = ev r u.
Proof.
  induction r as [|p r IH]; intros [|k] u Z; simpl; try reflexivity; [rewrite Q2R_0, Z; ring|].
  rewrite IH by exact Z. reflexivity.
Qed.

Lemma tv_dropped m : forall k u, u k = 0 -> tv (dropped k m) u = tv m u.
Proof.
  induction m as [|row m IH]; intros [|k] u Z; cbn [dropped tv]; try reflexivity; [rewrite Z; simpl; ring|].
  rewrite ev_cleared, IH by exact Z. reflexivity.
Qed.

Lemma coordinate_nth k : forall v, coordinate v k = Q2R (nth k v 0%Q).
Proof. induction k; intros [|c v]; try reflexivity; simpl; rewrite IHk; [destruct k|]; reflexivity. Qed.

Lemma deflated_sound along : forall m, (forall u, 0 <= tv (deflated along m) u) -> forall u, 0 <= tv m u.
Proof.
  induction along as [|[k v] rest IH]; intros m H u; [apply H|]. cbn [deflated] in H.
  destruct (Qeq_bool _ _ && forallb zero (polar m v)) eqn:E; [|exact (IH m H u)].
  apply andb_prop in E as [One Z]. apply Qeq_bool_eq, Qeq_eqR in One. rewrite Q2R_1, <- coordinate_nth in One.
  assert (M := tv_moved m v (u k) u). rewrite !(ev_zeros _ _ Z) in M.
  specialize (IH _ H (fun j => u j - u k * coordinate v j)).
  rewrite tv_dropped in IH by (rewrite One; ring). lra.
Qed.

(* Such v, by elimination modulo a prime, their entries being small whole numbers. Nothing is proved of this: [deflated]
   asks of each v whether the form is zero there. *)
Definition prime : positive := 131071.
Definition residue (z : Z) : Z := Z.modulo z (Zpos prime).
Fixpoint power (a : Z) (e : positive) : Z :=
  match e with
  | xH => a
  | xO e' => power (residue (a * a)) e'
  | xI e' => residue (a * power (residue (a * a)) e')
  end.
Definition inverse (a : Z) : Z := power a (prime - 2).
Definition signed (z : Z) : Z := let r := residue z in if Z.ltb (Zpos prime) (2 * r) then (r - Zpos prime)%Z else r.

(* A row in units of 1 / common, n entries of it. *)
Fixpoint padded (common : Z) (n : nat) (r : list Q) : list Z :=
  match n with
  | O => []
  | S n' =>
      let q := hd 0%Q r in
      (if zero q then 0%Z else residue (Qnum q * (common / Zpos (Qden q)))) :: padded common n' (tl r)
  end.

Fixpoint beside (r : list Z) (rows : list (list Z)) : list (list Z) :=
  match r, rows with c :: r', row :: rows' => (c :: row) :: beside r' rows' | _, _ => [] end.

(* The form's whole matrix, of n rows, twice. *)
Fixpoint symmetric (common : Z) (n : nat) (m : list (list Q)) : list (list Z) :=
  match n with
  | O => []
  | S n' =>
      let row := padded common n (hd [] m) in
      (2 * hd 0%Z row :: tl row)%Z :: beside (tl row) (symmetric common n' (tl m))
  end.

Fixpoint less (a : Z) (p r : list Z) : list Z :=
  match p, r with x :: p', y :: r' => residue (y - a * x) :: less a p' r' | _, _ => r end.

Fixpoint leading (k : nat) (r : list Z) : option nat :=
  match r with [] => None | c :: r' => if Z.eqb c 0 then leading (S k) r' else Some k end.

(* Rows by the column of their 1, where the others have 0; and another row. *)
Definition joined_by (pivots : list (nat * list Z)) (r : list Z) : list (nat * list Z) :=
  let r := fold_left (fun r cp => let a := nth (fst cp) r 0%Z in if Z.eqb a 0 then r else less a (snd cp) r) pivots r in
  match leading 0 r with
  | None => pivots
  | Some k =>
      let c := inverse (nth k r 0%Z) in
      let p := map (fun x => residue (c * x)) r in
      (k, p) :: map (fun cp => (fst cp, less (nth k (snd cp) 0%Z) p (snd cp))) pivots
  end.

Fixpoint width (m : list (list Q)) : nat :=
  match m with [] => O | row :: m' => Nat.max (length row) (S (width m')) end.

Definition null (m : list (list Q)) : list (nat * list Q) :=
  let n := width m in
  let common := fold_left (fun c q => Z.lcm c (Zpos (Qden q))) (concat m) 1%Z in
  let pivots := fold_left joined_by (symmetric common n m) [] in
  let column j := find (fun cp => Nat.eqb (fst cp) j) pivots in
  let vector k := map (fun j => match column j with
    | Some (_, p) => inject_Z (signed (- nth k p 0%Z))
    | None => if Nat.eqb j k then 1%Q else 0%Q
    end) (seq 0 n) in
  flat_map (fun k => match column k with Some _ => [] | None => [(k, vector k)] end) (seq 0 n).

(* In units of 2^-32; or of 2^-64, without the rows and columns of such v. *)
Definition unit_of : Q := 4294967296.
Definition order (m : list (list Q)) : nat := S (length m + length (hd [] m)).
Definition in_units (c : Q) (m : list (list Q)) : bool := rounded (order m) (lower (tmul c m) []).
Definition semidefinite (m : list (list Q)) : bool :=
  if in_units unit_of m then true else in_units (unit_of * unit_of) (deflated (null m) m).

Lemma in_units_sound c m : Qle_bool c 0 = false -> in_units c m = true -> forall u, 0 <= tv m u.
Proof.
  intros P E u. apply (rounded_sound _ _ u) in E. assert (B := lower_below (tmul c m) [] u).
  rewrite tv_tmul in B. simpl in B.
  assert (0 < Q2R c).
  { rewrite <- Q2R_0. apply Qlt_Rlt, Qnot_le_lt. intros N. apply Qle_bool_iff in N. congruence. }
  nra.
Qed.

Theorem semidefinite_sound m u : semidefinite m = true -> 0 <= tv m u.
Proof.
  unfold semidefinite. destruct (in_units unit_of m) eqn:E; intros H.
  - exact (in_units_sound unit_of m eq_refl E u).
  - exact (deflated_sound _ m (in_units_sound (unit_of * unit_of) _ eq_refl H) u).
Qed.

(* A number that is linear in function values and in inner products of the basis: by its coefficients. *)
Record value := Value { by_values : list Q; by_products : list (list Q); constant : Q }.

Definition val (d : nat) (u : nat -> vec) (f : nat -> R) (v : value) : R :=
  ev (by_values v) f + sum d (fun k => tv (by_products v) (fun j => u j k)) + Q2R (constant v).

Definition vplus (v w : value) : value :=
  Value (ladd (by_values v) (by_values w)) (tadd (by_products v) (by_products w))
    (reduced Qplus (constant v) (constant w)).
Definition vtimes (c : Q) (v : value) : value :=
  Value (lmul c (by_values v)) (tmul c (by_products v)) (reduced Qmult c (constant v)).
Definition number (c : Q) : value := Value [] [] c.
Definition inner (a b : list Q) : value := Value [] (product a b) 0.
Definition linear (a : list Q) : value := Value a [] 0.

Section Val.
Variables (d : nat) (u : nat -> vec) (f : nat -> R).
Notation val := (val d u f).

Lemma val_plus v w : val (vplus v w) = val v + val w.
Proof.
  unfold Certificates.val, vplus, reduced; simpl. rewrite ev_ladd, Q2R_red, Q2R_plus.
  rewrite (sum_ext d _ (fun k => tv (by_products v) (fun j => u j k) + tv (by_products w) (fun j => u j k)))
    by (intros; apply tv_tadd).
  rewrite sum_plus. ring.
Qed.

Lemma val_times c v : val (vtimes c v) = Q2R c * val v.
Proof.
  unfold Certificates.val, vtimes, reduced; simpl. rewrite ev_lmul, Q2R_red, Q2R_mult.
  rewrite (sum_ext d _ (fun k => Q2R c * tv (by_products v) (fun j => u j k))) by (intros; apply tv_tmul).
  rewrite sum_times. ring.
Qed.

Lemma val_number c : val (number c) = Q2R c.
Proof. unfold Certificates.val; simpl. rewrite sum_zero. ring. Qed.

Lemma val_linear a : val (linear a) = ev a f.
Proof. unfold Certificates.val; simpl. rewrite sum_zero, Q2R_0. ring. Qed.

Lemma val_inner a b : val (inner a b) = dot d (vec_of u a) (vec_of u b).
Proof.
  unfold Certificates.val; simpl. rewrite Q2R_0. unfold dot, vec_of.
  rewrite (sum_ext d _ (fun k => ev a (fun j => u j k) * ev b (fun j => u j k))) by (intros; apply tv_product). ring.
Qed.

(* What multipliers leave over. *)
Fixpoint combined (given : list (Q * value)) : value :=
  match given with [] => number 0 | (c, q) :: rest => vplus (vtimes c q) (combined rest) end.

Definition left_over (given : list (Q * value)) (claimed : value) : value :=
  vplus (combined given) (vtimes (-1) claimed).

Definition proves (given : list (Q * value)) (claimed : value) : bool :=
  let r := left_over given claimed in
  forallb (fun cq => Qle_bool 0 (fst cq)) given && forallb zero (by_values r) && Qle_bool 0 (constant r)
  && semidefinite (by_products r).

(* The soundness of certificates: in every dimension d, whatever the vectors u and the function values f. *)
Theorem proves_sound given claimed : proves given claimed = true ->
  (forall c q, In (c, q) given -> val q <= 0) -> val claimed <= 0.
Proof.
  unfold proves. intros H G. apply andb_prop in H as [H P]. apply andb_prop in H as [H C].
  apply andb_prop in H as [M Z].
  assert (N : val (combined given) <= 0).
  { clear Z C P. induction given as [|[c q] rest IH]; simpl in *; [rewrite val_number, Q2R_0; lra|].
    apply andb_prop in M as [M1 M2]. rewrite val_plus, val_times. apply Q2R_pos in M1.
    assert (val q <= 0) by (apply (G c); auto). assert (val (combined rest) <= 0) by (apply IH; eauto). nra. }
  assert (L : 0 <= val (left_over given claimed)).
  { unfold Certificates.val at 1. rewrite (ev_zeros _ _ Z). apply Q2R_pos in C.
    assert (0 <= sum d (fun k => tv (by_products (left_over given claimed)) (fun j => u j k)))
      by (apply sum_pos; intros; apply semidefinite_sound; exact P). lra. }
  unfold left_over in L. rewrite val_plus, val_times, Q2R_m1 in L. lra.
Qed.
End Val.
