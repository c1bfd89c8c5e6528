"""The bundled adapter ``fedspec_use_torch``: what ``fedspec check fedspec_use_torch`` judges."""
