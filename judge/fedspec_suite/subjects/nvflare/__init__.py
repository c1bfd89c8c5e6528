"""The bundled adapter ``nvflare``: what ``fedspec check nvflare`` judges."""
