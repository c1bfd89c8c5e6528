"""Printed and drawn reports on claims and on worst cases."""
