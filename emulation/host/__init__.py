"""This host: its processes, Docker daemon, images, locks and the files that a run keeps on it."""
