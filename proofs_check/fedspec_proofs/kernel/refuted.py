"""Refuted theorems that Coq checks, keyed by the ledger's claim about the theorem; all are in ``Refuted.v``."""

REFUTES = {
    "fedada2.corollary-23": "Refuted.fedada2_corollary_23_is_false",
    "fedada2.corollary-24": "Refuted.fedada2_corollary_24_is_false",
    "fednova.theorem-1-fedprox": "Refuted.fednova_theorem_1_fedprox_is_false",
    "fed-lamb.lemma-1": "Refuted.fed_lamb_lemma_1_is_false",
    "afga.lemma-f-8": "Refuted.afga_lemma_f_8_is_false",
    "afga.lemma-f-8-v-hat": "Refuted.afga_lemma_f_8_v_hat_is_false",
}
THEOREMS = (*REFUTES.values(),)
