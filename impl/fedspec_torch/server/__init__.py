"""Server rules: one aggregate in, one step of the global model out."""
