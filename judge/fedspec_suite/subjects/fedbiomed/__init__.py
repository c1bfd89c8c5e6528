"""The bundled adapter ``fedbiomed``: what ``fedspec check fedbiomed`` judges."""
