"""The bundled adapter ``torch_optim``: what ``fedspec check torch_optim`` judges."""
