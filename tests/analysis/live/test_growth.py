"""Files that grow are read once, line by line, wherever they are cut."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from analysis.live import growth
from analysis.live.growth import grown, last_line, latest

names = st.sampled_from(("B1.jsonl", "B2.jsonl", "driver.jsonl"))
chunks = st.lists(st.sampled_from((b"a", b"bc", b"\n", b"long " * 5, b"x\n")), max_size=6).map(b"".join)
steps = st.lists(st.tuples(names, chunks, st.none() | st.integers(1, 40)), max_size=12)


@given(steps, st.integers(1, 8))
def test_every_whole_line_is_read_once(steps: list[tuple[str, bytes, int | None]], look: int) -> None:
    before, growth._LOOK_BYTES = growth._LOOK_BYTES, look  # so that lines are longer than what is looked at
    written: dict[str, bytes] = {}
    read: dict[str, bytes] = {}
    places: dict[str, int] = {}
    try:
        with tempfile.TemporaryDirectory() as temporary:
            logs = Path(temporary)
            for name, chunk, most in [*steps, ("B1.jsonl", b"", None)]:
                with (logs / name).open("ab") as file:
                    file.write(chunk)
                written[name] = written.get(name, b"") + chunk
                ends = latest(logs, places, most)
                for piece in grown(logs, places, ends):
                    lines = Path(piece.file).read_bytes()[piece.start : piece.end]
                    assert lines.endswith(b"\n")
                    read[Path(piece.file).name] = read.get(Path(piece.file).name, b"") + lines
                places = ends
    finally:
        growth._LOOK_BYTES = before
    whole = {name: text[: text.rfind(b"\n") + 1] for name, text in written.items()}
    assert read == {name: text for name, text in whole.items() if text}


def test_what_waits_is_taken_from_all_files_alike(tmp_path: Path) -> None:
    (tmp_path / "B1.jsonl").write_bytes(b"123456789\n" * 100)
    (tmp_path / "driver.jsonl").write_bytes(b"123456789\n" * 300)
    ends = latest(tmp_path, {}, 800)
    assert ends == {"B1.jsonl": 200, "driver.jsonl": 600}
    assert latest(tmp_path, ends, 10**6) == {"B1.jsonl": 1000, "driver.jsonl": 3000}


def test_a_file_that_became_shorter_stays_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "B1.jsonl").write_bytes(b"one\n")
    assert latest(tmp_path, {"B1.jsonl": 9}) == {"B1.jsonl": 9}
    assert grown(tmp_path, {"B1.jsonl": 9}, {"B1.jsonl": 9}) == []


def test_the_last_line_of_a_piece(tmp_path: Path) -> None:
    file = tmp_path / "B1.jsonl"
    file.write_bytes(b"one\ntwo two\nthree\n")
    for end, line in ((4, b"one\n"), (12, b"two two\n"), (18, b"three\n")):
        (piece,) = grown(tmp_path, {}, {"B1.jsonl": end})
        last = last_line(piece)
        assert file.read_bytes()[last.start : last.end] == line
