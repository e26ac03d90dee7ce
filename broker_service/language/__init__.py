"""The content model, its notation and its relations."""

from broker_service.language.model import (
    Advertisement,
    Number,
    Operator,
    Predicate,
    Publication,
    Subscription,
    Value,
)

__all__ = ["Advertisement", "Number", "Operator", "Predicate", "Publication", "Subscription", "Value"]
