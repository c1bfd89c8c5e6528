"""The bundled adapter ``byzfl``: what ``fedspec check byzfl`` judges."""
