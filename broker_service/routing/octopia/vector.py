"""Cluster index vectors: one bit for each cluster of a SCOT, the bit's index being the cluster's (OctopiA, section 8).

A vector is a plain integer, so that setting, clearing and testing bits are machine operations; as in the paper, the
rightmost bit has the index 0. Where a vector is kept determines which of three it is:

- CIV_a, with an advertisement at its host broker: the host cluster's bit, and those of the target secondary clusters;
- CIV_s, with the advertisement at a secondary broker: the host cluster's bit, and the secondary cluster's own;
- CIV_p, in the header of a publication that is routed dynamically: the clusters that it has yet to be forwarded to.
"""

from __future__ import annotations

from collections.abc import Iterator

from broker_service.routing.interface import MalformedMessageError

ClusterIndexVector = int

MOST_CLUSTERS = 1 << 15
"""Clusters of an overlay, at most: no mistake in a file or a message can make a vector that fills the memory."""


def bit(cluster: int) -> ClusterIndexVector:
    """The vector in which only this cluster's bit is set."""
    return 1 << cluster


def clusters_of(vector: ClusterIndexVector) -> Iterator[int]:
    """The indexes of the bits that are set, ascending."""
    while vector:
        lowest = vector & -vector
        yield lowest.bit_length() - 1
        vector ^= lowest


def encode_vector(vector: ClusterIndexVector) -> bytes:
    """A vector's bytes in a header; none when no bit is set."""
    return vector.to_bytes((vector.bit_length() + 7) // 8, "big")


def decode_vector(header: bytes, clusters: int = MOST_CLUSTERS) -> ClusterIndexVector:
    """The vector in a header, in an overlay with that many clusters.

    Raises `MalformedMessageError` when it names others, or is longer than any overlay makes it.
    """
    if len(header) * 8 > MOST_CLUSTERS:
        raise MalformedMessageError(f"a cluster index vector of {len(header)} bytes")
    vector = int.from_bytes(header, "big")
    if vector.bit_length() > clusters:
        raise MalformedMessageError(f"cluster {vector.bit_length() - 1}, and there are {clusters}")
    return vector


def written(vector: ClusterIndexVector, clusters: int) -> str:
    """A vector as the paper writes it: one digit for each cluster, index 0 rightmost."""
    return f"{vector:0{clusters}b}"
