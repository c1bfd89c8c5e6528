"""What the claims share: clients and runs of the algorithms, the terms of the bounds, lines of every size."""
