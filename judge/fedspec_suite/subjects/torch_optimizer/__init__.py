"""The bundled adapter ``torch_optimizer``: what ``fedspec check torch_optimizer`` judges."""
