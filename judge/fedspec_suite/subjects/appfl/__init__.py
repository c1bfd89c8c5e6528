"""The bundled adapter ``appfl``: what ``fedspec check appfl`` judges."""
