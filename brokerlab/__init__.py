"""Names for those who build on brokerlab from outside: `brokerlab.protocol` for a routing protocol of one's own."""
