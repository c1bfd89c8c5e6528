"""Claims about AFGA and CAFGA; the package above lists the modules in order."""
