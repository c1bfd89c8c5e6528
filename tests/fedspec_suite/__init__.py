"""The suite that judges implementations against fedspec."""
