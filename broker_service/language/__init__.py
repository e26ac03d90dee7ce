"""The content model. Its tests of publications and its bytes are in `content`, its relations in `relations`, its text
in `notation`.

`notation` is not imported here: brokers never read text, and must not pay for loading the parser generator. Code
that reads text imports `broker_service.language.notation`.
"""

from broker_service.language.content import Publication
from broker_service.language.model import (
    CLASS,
    Advertisement,
    ContentError,
    Number,
    Operator,
    Predicate,
    Subscription,
    Value,
    operator_named,
)

__all__ = [
    "CLASS",
    "Advertisement",
    "ContentError",
    "Number",
    "Operator",
    "Predicate",
    "Publication",
    "Subscription",
    "Value",
    "operator_named",
]
