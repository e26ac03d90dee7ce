# The image of a broker, and of the sandbox that owns its network namespace. Built by `make image`, which chooses the
# base and lays out .cache/broker-packages first (see setup/image-packages.sh); the build itself needs no network.
ARG BASE_IMAGE=python:3.11.14-slim-bookworm
FROM ${BASE_IMAGE}
LABEL brokerlab="1"

# One thread: NumPy's own pool would cost each of the many brokers on a host memory and processes for nothing.
ENV PYTHONPATH=/opt/brokerlab:/opt/brokerlab/packages \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    OPENBLAS_NUM_THREADS=1 \
    MALLOC_ARENA_MAX=2

# Brokers run unprivileged on a read-only root and cannot keep bytecode themselves.
COPY .cache/broker-packages /opt/brokerlab/packages
RUN ["python3", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", "/opt/brokerlab/packages"]
COPY record /opt/brokerlab/record
COPY broker_service /opt/brokerlab/broker_service
COPY brokerlab /opt/brokerlab/brokerlab
RUN ["python3", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", \
     "/opt/brokerlab/record", "/opt/brokerlab/broker_service", "/opt/brokerlab/brokerlab"]
# Python images come without bytecode of the standard library; importing a broker once compiles what brokers need of it.
RUN ["env", "PYTHONDONTWRITEBYTECODE=", "python3", "-c", "import broker_service.__main__"]

USER 10001:10001
CMD ["python", "-m", "broker_service", "/etc/brokerlab/broker.json"]
