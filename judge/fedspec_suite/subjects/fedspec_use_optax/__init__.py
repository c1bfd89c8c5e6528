"""The bundled adapter ``fedspec_use_optax``: what ``fedspec check fedspec_use_optax`` judges."""
