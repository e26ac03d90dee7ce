"""Exchange of subscriptions between servers, each of which matches against the sums of all (`sums`).

Others learn of them in one of two ways: all servers learn whole sums (`exchange`), or those with a matching
advertisement learn single subscriptions (`advertised_exchange`, by `advertisements` and `told_subscriptions`; sections
3 and 4.2.1).
"""
