"""The bundled adapter ``fedn``: what ``fedspec check fedn`` judges."""
