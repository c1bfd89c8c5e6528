"""The bundled adapter ``openfl``: what ``fedspec check openfl`` judges."""
