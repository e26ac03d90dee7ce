"""Saturation: the highest load that each variant of a scenario carries, found by bisection over several seeds."""
