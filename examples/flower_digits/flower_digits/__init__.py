"""Digits on two clients, trained by a strategy of fedspec."""
