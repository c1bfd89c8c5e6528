"""Machine-checked algebra behind the claims of fedspec."""
