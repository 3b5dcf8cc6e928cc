"""Commands of a cluster, stood in for by small scripts: not every machine that tests has one."""

import stat
import sys
from pathlib import Path

from axenat.files import write_text


def stand_in(folder: Path, name: str, code: str) -> Path:
    """A command that is a few lines of Python; `words` are what it is called with."""
    path = folder / name
    write_text(path, f"#!{sys.executable} -S\nimport sys\nwords = sys.argv[1:]\n{code}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def saying(text: str, code: int = 0, to: str = "stdout") -> str:
    return f"sys.{to}.write({text!r})\nsys.exit({code})"


def noting(file: Path) -> str:
    """Each call is a line of the file."""
    return f"with open({str(file)!r}, 'a') as notes:\n    notes.write(' '.join(words) + '\\n')"
