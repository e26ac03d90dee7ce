"""The gRPC server around the broker core; it owns every socket, timer and file of a broker process."""
