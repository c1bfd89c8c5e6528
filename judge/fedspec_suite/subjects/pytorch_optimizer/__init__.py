"""The bundled adapter ``pytorch_optimizer``: what ``fedspec check pytorch_optimizer`` judges."""
