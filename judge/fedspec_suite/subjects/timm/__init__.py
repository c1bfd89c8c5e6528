"""The bundled adapter ``timm``: what ``fedspec check timm`` judges."""
