"""The bundled adapter ``flwr``: what ``fedspec check flwr`` judges."""
