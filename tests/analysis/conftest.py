"""One Spark context for all tests of the analysis: starting it costs more than all of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark import SparkContext

from analysis.engines.java import check_java
from analysis.engines.spark_context import open_context
from record.errors import HostError


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkContext]:
    try:
        check_java()
    except HostError as error:
        pytest.skip(str(error))
    with open_context() as context:
        yield context
