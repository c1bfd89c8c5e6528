"""Vectors: cases on disk with what the rule gives, for implementations in any language."""
