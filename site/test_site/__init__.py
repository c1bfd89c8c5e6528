"""Tests of the site; a package, since pytest would name its folder like the standard library's module ``site``."""
