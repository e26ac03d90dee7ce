"""The fidelity verdict, written and read."""

from __future__ import annotations

from pathlib import Path

from record import fidelity
from record.fidelity import Check, Fidelity, FidelityVerdict, LinkCheck, Sample, VariantFidelity, worst


def check(name: str, verdict: FidelityVerdict) -> Check:
    return Check(name=name, value=None, unit="ms", limit=1.0, verdict=verdict, detail="far off")


def test_the_worst_verdict_counts() -> None:
    assert worst([FidelityVerdict.DEGRADED, FidelityVerdict.INVALID, FidelityVerdict.VALID]) is FidelityVerdict.INVALID
    assert worst([FidelityVerdict.VALID, FidelityVerdict.DEGRADED]) is FidelityVerdict.DEGRADED
    assert worst([]) is FidelityVerdict.VALID


def test_reasons_are_the_failed_checks_severest_first() -> None:
    checks = [
        check("a", FidelityVerdict.VALID),
        check("b", FidelityVerdict.DEGRADED),
        check("c", FidelityVerdict.INVALID),
    ]
    judged = VariantFidelity(name="base", verdict=FidelityVerdict.INVALID, checks=checks)
    assert judged.reasons == ["c: far off", "b: far off"]


def test_the_reader_gets_what_the_writer_gave(tmp_path: Path) -> None:
    link = LinkCheck(
        a="B1", b="B2", phase="during", delay_asked=0.1, delay_measured=None, rate_asked=None, rate_measured=None,
        loss_asked=0.0, loss_measured=0.5, ok=False, second=2.0,
    )  # fmt: skip
    variant = VariantFidelity(
        name="base", verdict=FidelityVerdict.DEGRADED, checks=[check("a", FidelityVerdict.DEGRADED)], links=[link],
        samples=[Sample(begin=0.0, end=1.0, cpu_busy=0.5)], advice="run slower",
    )  # fmt: skip
    written = Fidelity(verdict=FidelityVerdict.DEGRADED, variants=[variant])
    fidelity.write(written, tmp_path)
    assert fidelity.read(tmp_path) == written
    assert written.of("base") is variant
    assert written.of("other") is None


def test_a_verdict_alone_is_read(tmp_path: Path) -> None:
    (tmp_path / "fidelity.json").write_text('{"verdict": "VALID", "variants": [{"name": "base", "verdict": "VALID"}]}')
    assert fidelity.read(tmp_path).variants == [VariantFidelity(name="base", verdict=FidelityVerdict.VALID)]
