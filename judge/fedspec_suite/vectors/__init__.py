"""Vectors: cases on disk with the rule's results, for implementations in any language."""
