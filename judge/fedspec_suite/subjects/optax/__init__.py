"""The bundled adapter ``optax``: what ``fedspec check optax`` judges."""
