"""Padding that gives the content of publications a size."""

from __future__ import annotations

from broker_service.language import Operator, Predicate, Publication, Value
from broker_service.language.content import encode_publication

PADDING = "padding"
"""Name of the attribute that pads a publication to its size."""

PADDING_ADVERTISED = Predicate(PADDING, Operator.PRESENT, "")


class Padding:
    """Pads contents to one encoded size."""

    def __init__(self, size: int) -> None:
        """`size` is in bytes, those of the attributes included."""
        self.size = size
        self._texts: dict[int, str] = {}
        """The padding text by the encoded size of the content without it."""

    def padded(self, attributes: dict[str, Value]) -> dict[str, Value]:
        """The attributes and the padding: the largest content of at most `size` bytes.

        Sizes just above those at which the length of a field takes another byte cannot be had exactly. Contents that
        reach `size` without padding stay as they are.
        """
        bare = encoded_size(attributes)
        if bare not in self._texts:
            self._texts[bare] = "." * self._length(attributes)
        text = self._texts[bare]
        return {**attributes, PADDING: text} if text else attributes

    def _length(self, attributes: dict[str, Value]) -> int:
        low, high = 0, self.size
        while low < high:  # the longest text that fits
            middle = (low + high + 1) // 2
            if encoded_size({**attributes, PADDING: "." * middle}) <= self.size:
                low = middle
            else:
                high = middle - 1
        return low


def encoded_size(attributes: dict[str, Value]) -> int:
    """Bytes of a publication's content."""
    return len(encode_publication(Publication(attributes)))
