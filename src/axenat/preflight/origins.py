"""Where the raw text comes from: is it there, or can it be had?"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from axenat import layout
from axenat.archive import Archive
from axenat.corpus_config import SPLITS
from axenat.data.download import MIRROR, check_mirrors, mirrors_from_environment, origins_of
from axenat.data.web import AddressError, BreakError, Patience, Session, ask
from axenat.estimates import own_folders
from axenat.files import UserError, without_user
from axenat.preflight.findings import Finding, ok, problem
from axenat.progress import in_bytes
from axenat.study import Study

PATIENCE = Patience(connect=5.0, read=5.0)
AT_ONCE = 8


def check_origins(study: Study) -> Iterator[Finding]:
    """Of each corpus; archives are held against their size, not against their sums, which `fetch` checks."""
    own = own_folders(study)
    for corpus, config in study.corpora.items():
        about = f"corpus {corpus}"
        raw = [path for split in SPLITS for path in layout.raw_files(study, corpus, split)]
        if all(Path(path).exists() for path in raw):
            yield ok(about, f"raw text is in data/{corpus}")
        elif config.grammar:
            yield ok(about, "is written by the embedded grammar")
        elif corpus in own:
            yield _folder(about, own[corpus], config.folder or "")
        else:
            yield _archives(about, list(study.selections[corpus].archives.values()))


def _folder(about: str, files: Sequence[str], folder: str) -> Finding:
    missing = [path for path in files if not Path(path).is_file()]
    if missing:
        words = f"{len(missing)} of {len(files)} files are missing, such as {missing[0]}"
        return problem(about, words, f"put them into {folder}, seen from the folder that Snakemake works in")
    return ok(about, f"all {len(files)} files are in {folder}")


def _archives(about: str, archives: Sequence[Archive]) -> Finding:
    mirrors = mirrors_from_environment()
    try:
        check_mirrors(mirrors)
    except UserError as error:
        return problem(about, str(error), f"correct {MIRROR}")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        refusals = dict(zip(archives, pool.map(lambda one: _refusal(one, mirrors), archives), strict=True))
    lacking = [archive for archive, refusal in refusals.items() if refusal]
    if lacking:
        words = f"{len(lacking)} of {len(archives)} archives cannot be had, such as {lacking[0].place}"
        fix = f"set {MIRROR} to a folder or an address that has them, see docs/corpora.md"
        return problem(about, f"{words} ({refusals[lacking[0]]})", fix)
    missing = [archive for archive in archives if not _place(archive).exists()]
    if not missing:
        return ok(about, f"all {len(archives)} archives are in {layout.ARCHIVES}")
    size = in_bytes(sum(archive.bytes or 0 for archive in missing))
    return ok(about, f"{len(missing)} of {len(archives)} archives to fetch, {size}, and all can be had")


def _place(archive: Archive) -> Path:
    return Path(layout.ARCHIVES) / archive.place


def _refusal(archive: Archive, mirrors: Sequence[str]) -> str:
    """Why the first place that should have the archive does not give it; empty if one of them does."""
    if _place(archive).exists():
        return _wrong_size(_place(archive), archive)
    first = ""
    for origin in origins_of(archive, mirrors):
        if isinstance(origin, Path):
            if origin.is_file():  # as `fetch` has it, a wrong file in a mirror is refused and not passed over
                return _wrong_size(origin, archive)
            refusal = f"{origin}: no such file"
        else:
            refusal = _silence(origin)
        if not refusal:
            return ""
        first = first or refusal
    return first


def _wrong_size(path: Path, archive: Archive) -> str:
    size = path.stat().st_size
    return f"{path} has {size} bytes instead of {archive.bytes}" if archive.bytes not in (None, size) else ""


def _silence(address: str) -> str:
    """Why an address does not answer; empty if it does."""
    try:
        with Session() as session:
            ask(session, address, {"Range": "bytes=0-0"}, PATIENCE).close()
    except (AddressError, BreakError) as error:
        return f"{without_user(address)}: {error}"
    return ""
