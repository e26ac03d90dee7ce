"""Code of routing protocols from outside, for brokers that run in processes of their own, and for other hosts."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from platform import node
from tempfile import TemporaryDirectory, mkdtemp

from broker_service.routing.outside import ProtocolError, digest_of, files_of, is_path, source_of
from broker_service.routing.program.references import PREFIX, argv_of, digest_of_program, file_name, own_paths
from broker_service.routing.registry import place_of, provide_from
from emulation.host.archives import pack_directory, unpack_archive
from record.errors import BadInputError

_READABLE = 0o755
_CODE = "code"
_ARCHIVE = "code.tar.gz"


def given_code(reference: str, folder: Path) -> str:
    """Copies the file or package of a protocol from outside into a folder, readable by every user.

    Returns the protocol's place there, as `BrokerConfig.protocol_from`; empty for a built-in protocol.
    """
    place = place_of(reference)
    if place is None:
        return ""
    source = source_of(place)
    target = folder / source.name
    _provide(folder)
    if source.is_dir():
        for file, name in files_of(source):
            _provide((target / name).parent)
            _copy(file, target / name)
    else:
        _copy(source, target)
    return source.name if is_path(place) else place


@dataclass(frozen=True, slots=True)
class PackedProtocol:
    """A protocol from outside with its code, which travels to processes and hosts that do not have it."""

    reference: str
    place: str
    """Path of the unpacked code, as in `BrokerConfig.protocol_from`; empty for a program."""
    digest: str
    archive: bytes
    """The folder `code` with it, as a compressed tar file; empty for a program."""

    def provide(self) -> None:
        """Makes the reference mean this code, unless it does here. Raises `UserError`s.

        A program does not travel, because it may need anything of its host.
        """
        if self.reference.startswith(PREFIX):
            self._require_program()
            return
        place = place_of(self.reference)
        try:
            if place is not None and digest_of(place) == self.digest:
                return
        except (OSError, ProtocolError):
            pass  # it is not here at all
        folder = Path(mkdtemp(prefix="protocol-"))
        (folder / _ARCHIVE).write_bytes(self.archive)
        unpack_archive(folder / _ARCHIVE, folder)
        try:
            provide_from(self.reference, self.place, folder / _CODE)
        except ProtocolError as error:
            raise BadInputError(f"protocol {self.reference} on the host {node()}: {error}") from error

    def _require_program(self) -> None:
        if digest_of_program(self.reference) != self.digest:
            argv = argv_of(self.reference)
            raise BadInputError(
                f"the program {file_name(argv)} is missing on the host {node()} or another one there; copy it to "
                f"{next(iter(own_paths(argv)), argv[0])}"
            )


def packed_protocols(references: Iterable[str]) -> tuple[PackedProtocol, ...]:
    """The protocols from outside among these, with their code. Raises `OSError` for code that cannot be read."""
    packed = (_packed(reference) for reference in dict.fromkeys(references))
    return tuple(protocol for protocol in packed if protocol is not None)


def _packed(reference: str) -> PackedProtocol | None:
    if reference.startswith(PREFIX):
        return PackedProtocol(reference, "", digest_of_program(reference), b"")
    place = place_of(reference)
    if place is None:
        return None
    with TemporaryDirectory() as made:
        folder, archive = Path(made, _CODE), Path(made, _ARCHIVE)
        given = given_code(reference, folder)
        pack_directory(folder, archive)
        return PackedProtocol(reference, given, digest_of(place), archive.read_bytes())


def _provide(folder: Path) -> None:
    """Makes a folder, and those above it that are missing, readable by every user."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(exist_ok=True)
        each.chmod(_READABLE)


def _copy(source: Path, target: Path) -> None:
    shutil.copyfile(source, target)
    target.chmod(_READABLE)
