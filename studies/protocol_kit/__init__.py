"""Tools for designers of protocols: a skeleton that works (`skeleton`), and cases to pass (`trial`)."""
