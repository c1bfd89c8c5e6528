"""Published packages behind adapters, each run by the judge in a virtual environment of its own."""
