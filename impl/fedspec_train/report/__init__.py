"""Printed and drawn reports of runs."""
