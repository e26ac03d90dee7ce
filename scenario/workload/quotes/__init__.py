"""Workloads of kind `quotes`: publishers of stock quotes, and subscribers to ranges of them."""
