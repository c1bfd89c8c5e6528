"""Training of a digits classifier on two Flower clients with a strategy of fedspec."""
