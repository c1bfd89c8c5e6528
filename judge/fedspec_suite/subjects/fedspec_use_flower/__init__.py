"""The bundled adapter ``fedspec_use_flower``: what ``fedspec check fedspec_use_flower`` judges."""
