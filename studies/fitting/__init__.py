"""Fitting of the TID scenarios' assumptions to what the paper states about fixed routing.

The paper leaves out its overlay, its rates and its costs of a message, but gives numbers that follow from them. A
*candidate* is one set of assumptions. It is simulated with fixed routing only, and its *loss* says how far it is from
the stated numbers. No claim about dynamic routing enters, because the chosen assumptions are there to test these.

Table 3 stands on the best candidate. The figures on the paper's own overlay have costs that follow from single numbers,
and rates that follow from the load of their busiest link (`loads`).
"""
