"""The bundled adapter ``torchft``: what ``fedspec check torchft`` judges."""
