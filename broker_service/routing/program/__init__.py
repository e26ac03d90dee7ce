"""Routers in any language: programs that speak lines of JSON on their standard input and output.

`references` names programs, `lines` defines the lines, `channel` moves them, `conversation` and `router` stand for the
program at one broker, and `declaring` makes a protocol of what a program declares of itself.
"""
