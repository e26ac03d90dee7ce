"""One Spark session for all tests of the analysis: starting it costs more than all of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from analysis.engines.java import check_java
from analysis.engines.spark_session import open_session
from record.errors import HostError


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    try:
        check_java()
    except HostError as error:
        pytest.skip(str(error))
    with open_session() as session:
        yield session
