"""Operations written out in the `workload` section."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Literal, get_args

from pydantic import Field, model_validator

from broker_service.language import Advertisement, Publication, Subscription
from broker_service.language.composite_subscription import CompositeSubscription
from broker_service.language.notation import (
    parse_advertisement,
    parse_composite,
    parse_publication,
    parse_subscription,
)
from record.time_units import SECOND
from scenario.sections.section import BrokerName, Section
from scenario.sections.units import Duration

Verb = Literal["advertise", "unadvertise", "subscribe", "unsubscribe", "publish", "composite"]
VERBS: tuple[Verb, ...] = get_args(Verb)


class OperationItem(Section):
    """One operation of one client, with exactly one of the six verbs."""

    at: Duration
    """Time, counted from the start of the join phase."""
    client: Annotated[str, Field(strict=True, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
    """The client's name."""
    broker: BrokerName
    """The client's broker, the same one in all its operations."""
    id: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    """The client's own name for a subscription, a composite subscription or an advertisement, which it may use again
    once that is withdrawn, or a publication's id (`P1:1`, ... by default)."""
    advertise: str | None = None
    """Predicates in PADRES notation, such as `[class,eq,'STOCK'],[price,>,0]`."""
    unadvertise: str | None = None
    """The id of the advertisement to withdraw."""
    subscribe: str | None = None
    """Predicates in PADRES notation."""
    unsubscribe: str | None = None
    """The id of the subscription or composite subscription to withdraw."""
    publish: str | None = None
    """Attributes in PADRES notation, such as `[class,'STOCK'],[price,100.5]`."""
    composite: str | None = None
    """A composite subscription in PADRES notation, such as `{[class,eq,'A']}&{[class,eq,'B']}`. The client gets each
    set of publications that fulfils it together."""
    within: Duration | None = None
    """Longest time between the first and the last publication of such a set; `brokers.limits.detection_window`
    by default."""

    @model_validator(mode="after")
    def _has_one_verb(self) -> OperationItem:
        given = [verb for verb in VERBS if getattr(self, verb) is not None]
        if len(given) != 1:
            raise ValueError(f"needs exactly one of {', '.join(VERBS)}; got {', '.join(given) or 'none'}")
        if given[0] in ("advertise", "subscribe", "composite") and self.id is None:
            raise ValueError(f"an operation that does {given[0]} needs an `id`")
        if given[0] in ("unadvertise", "unsubscribe") and self.id is not None:
            raise ValueError(f"leave `id` out: {given[0]} names the one to withdraw")
        if given[0] != "composite" and self.within is not None:
            raise ValueError(f"leave `within` out: it belongs to `composite`, not to {given[0]}")
        return self

    @property
    def verb(self) -> Verb:
        for verb in VERBS:  # without a generator, because each publication is asked several times
            if getattr(self, verb) is not None:
                return verb
        raise AssertionError("an operation has a verb")

    @property
    def text(self) -> str:
        """The verb's argument."""
        return str(getattr(self, self.verb))

    def content(self) -> Advertisement | Subscription | CompositeSubscription | Publication | None:
        """The content that the text describes; None for a withdrawal. Raises `ContentError`."""
        verb = self.verb
        return _content(verb, str(getattr(self, verb)), self.within)


@lru_cache(maxsize=1024)
def _content(
    verb: Verb, text: str, within: float | None
) -> Advertisement | Subscription | CompositeSubscription | Publication | None:
    """The content of an operation. Each is asked for when it is checked and when it is planned, and many are alike."""
    match verb:
        case "advertise":
            return parse_advertisement(text)
        case "subscribe":
            return parse_subscription(text)
        case "publish":
            return parse_publication(text)
        case "composite":
            return CompositeSubscription(parse_composite(text), None if within is None else round(within * SECOND))
        case "unadvertise" | "unsubscribe":
            return None
