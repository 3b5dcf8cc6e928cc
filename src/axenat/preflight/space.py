"""Is there room on the disk?"""

import shutil
from pathlib import Path

from axenat.estimates import own_folders, space_of
from axenat.preflight.findings import Finding, ok, problem, warning
from axenat.progress import in_bytes
from axenat.study import Study


def check_space(study: Study, folder: Path) -> Finding:
    """From nothing; what lies here already is room that is not needed again."""
    own = {corpus: sum(map(_size, map(Path, files))) for corpus, files in own_folders(study).items()}
    need, there = space_of(study, own), sum(_size(folder / name) for name in ("data", "results"))
    free = shutil.disk_usage(folder).free
    least, most = max(0, need.least - there), max(0, need.most - there)
    words = f"{in_bytes(free)} free, about {in_bytes(least)} needed"
    if free < least:
        return problem("disk", words, "make room, or work on a larger disk: snakemake --directory <folder>")
    if free < most:
        fix = "make room, or let fewer trainings run at a time"
        return warning("disk", f"{words}, {in_bytes(most)} if all trainings run at the same time", fix)
    return ok("disk", words)


def _size(path: Path) -> int:
    """Of a file, or of all in a folder; what is not there takes no room."""
    files = [path] if path.is_file() else path.rglob("*")
    return sum(file.stat().st_size for file in files if file.is_file() and not file.is_symlink())
