"""A real Slurm on this machine: two virtual nodes with two stand-in GPUs each, on the loopback device, without systemd.

    python -m tests.cluster.lab start|stop|status|crash n1

Root and Debian's packages are needed, which are installed where they are missing. Daemons are ended by their process
ids. The configuration has to be /etc/slurm/slurm.conf, since the plugin of Snakemake takes SLURM_CONF from the
environment of its steps; a file there that is not ours is left alone, and nothing is started.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.cluster.slurm_conf import ACCOUNTING, GPUS, GRES, MARK, NO_ACCOUNTING, NODES, ROOT, SLURM, SLURMDBD

ETC = Path("/etc/slurm")
PACKAGES = {"munged": "munge", "slurmctld": "slurmctld", "slurmd": "slurmd", "sbatch": "slurm-client"}
DATABASE = {"slurmdbd": "slurmdbd", "mariadbd": "mariadb-server"}
# Where libmariadb looks for "localhost", and where munged writes its own.
SOCKET, MUNGE = Path("/run/mysqld/mysqld.sock"), Path("/run/munge/munged.pid")


class LabError(Exception):
    """Why there can be no Slurm here, in one sentence."""


def run(*command: str, check: bool = True, **options) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, **options)
    if check and done.returncode:
        raise LabError(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def start(*, accounting: bool = False) -> None:
    """Return when every node is idle; nodes that were lost come back."""
    _refuse_strangers()
    for folder in ("run", "log", "controller", *(f"spool/{node}" for node in NODES)):
        (ROOT / folder).mkdir(parents=True, exist_ok=True)
    _install({**PACKAGES, **(DATABASE if accounting else {})})
    if not _pid("slurmctld"):
        _configure(accounting)
    if not _runs(MUNGE, "munged"):
        run("install", "-d", "-o", "munge", "-g", "munge", "-m", "755", "/run/munge")
        if not Path("/etc/munge/munge.key").exists():
            run("runuser", "-u", "munge", "--", "mungekey", "-c")
        run("runuser", "-u", "munge", "--", shutil.which("munged") or "/usr/sbin/munged")
        (ROOT / "run/munged.pid").write_text(_wait(MUNGE.read_text, "munged"))
    if accounting:
        _start_database()
    if not _pid("slurmctld"):
        run("slurmctld")
    _wait(lambda: run("scontrol", "ping"), "slurmctld")
    for node in NODES:
        if not _pid(node):
            run("slurmd", "-N", node)
    time.sleep(0.5)
    if not _idle():
        run("scontrol", "update", f"nodename={','.join(NODES)}", "state=resume", check=False)
    _wait(_idle, "nodes", seconds=60)


def stop() -> None:
    if _pid("slurmctld"):
        run("scancel", "--user=root", check=False)
        with contextlib.suppress(LabError):
            _wait(lambda: not run("squeue", "--noheader"), "empty queue", seconds=15)
    for node in NODES:
        _end(node)
        _kill(_processes_of(node))  # they outlive a slurmd that was killed
    for name in ("slurmctld", "slurmdbd", "mariadbd", "munged"):
        _end(name)
    for path in ETC.glob("*.conf"):
        if path.read_text().startswith(MARK):
            path.unlink()


def runs() -> bool:
    return _pid("slurmctld") is not None


def crash(node: str, *, whole: bool = True) -> None:
    """As a power cut would, or only the daemon, whose jobs live on."""
    _kill([_pid(node) or 0, *(_processes_of(node) if whole else [])])


def status() -> str:
    asked = ("sinfo", "--Node", "--format=%N %P %T %c %m %G")
    return (run(*asked, check=False) if runs() else "") or "no Slurm\n"


def _refuse_strangers() -> None:
    if os.geteuid() != 0:
        raise LabError("a Slurm of our own needs root")
    if not socket.gethostbyname(socket.gethostname()).startswith("127."):
        raise LabError(f"{socket.gethostname()} must resolve to 127.0.0.1, since srun listens where it does")
    for path in (ETC / "slurm.conf", ETC / "gres.conf", ETC / "slurmdbd.conf"):
        if path.exists() and not path.read_text().startswith(MARK):
            raise LabError(f"{path} is not ours: this machine has a Slurm already")


def _install(wanted: dict[str, str]) -> None:
    missing = [package for command, package in wanted.items() if not _command(command)]
    if not missing:
        return
    if not shutil.which("apt-get"):
        raise LabError(f"{', '.join(missing)} are missing, and there is no apt-get")
    policy = Path("/usr/sbin/policy-rc.d")  # else packages start daemons that listen on every address
    ours = not policy.exists()
    if ours:
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        run("apt-get", "update", "-qq")
        run("apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing, env=quiet)
    finally:
        if ours:
            policy.unlink()


def _command(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


def _configure(accounting: bool) -> None:
    ETC.mkdir(exist_ok=True)
    for number in range(GPUS):  # Slurm wants devices; these swallow what is written to them
        if not (ROOT / f"gpu{number}").exists():
            run("mknod", str(ROOT / f"gpu{number}"), "c", "1", "3")
    (ETC / "gres.conf").write_text(GRES)
    (ETC / "slurm.conf").write_text(SLURM + (ACCOUNTING if accounting else NO_ACCOUNTING))
    if accounting:
        path = ETC / "slurmdbd.conf"
        path.touch(mode=0o600)
        path.write_text(SLURMDBD)


def _start_database() -> None:
    if not _pid("mariadbd"):
        data = ROOT / "database"
        run("install", "-d", "-o", "mysql", "-g", "mysql", "-m", "755", str(SOCKET.parent))
        run("install", "-d", "-o", "mysql", "-g", "mysql", "-m", "755", str(data))
        ROOT.chmod(0o755)
        if not (data / "mysql").exists():
            run("mariadb-install-db", "--no-defaults", "--user=mysql", f"--datadir={data}", "--skip-test-db",
                "--auth-root-authentication-method=socket", "--auth-root-socket-user=root")  # fmt: skip
        with (ROOT / "log/mariadbd.log").open("w") as log:
            process = subprocess.Popen(
                ["mariadbd", "--no-defaults", "--user=mysql", f"--datadir={data}", f"--socket={SOCKET}",
                 "--skip-networking", "--innodb-buffer-pool-size=64M", "--innodb-lock-wait-timeout=900"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        (ROOT / "run/mariadbd.pid").write_text(str(process.pid))
        _wait(lambda: run("mariadb-admin", "--no-defaults", f"--socket={SOCKET}", "ping"), "mariadbd")
    if not _pid("slurmdbd"):
        run("slurmdbd")
        _wait(lambda: run("sacctmgr", "--noheader", "show", "cluster") or True, "slurmdbd")
    for what in (["cluster", "lab"], ["account", "lab", "cluster=lab"], ["user", "root", "account=lab", "cluster=lab"]):
        run("sacctmgr", "--immediate", "--quiet", "add", *what, check=False)  # it may be there


def _idle() -> bool:
    """Every node answers, and none is drained, down or unknown."""
    states = dict(line.split() for line in run("sinfo", "-h", "-N", "-o", "%N %T").splitlines())
    return all(states.get(node) in ("idle", "mixed", "allocated", "completing") for node in NODES)


def _wait(question: Callable[[], object], what: str, seconds: float = 30) -> str:
    end = time.monotonic() + seconds
    while True:
        with contextlib.suppress(LabError, OSError):
            if answer := question():
                return str(answer)
        if time.monotonic() > end:
            raise LabError(f"{what}: not ready in {seconds:g} s; logs are in {ROOT}/log")
        time.sleep(0.2)


def _pid(name: str) -> int | None:
    """Of one of our daemons, if it runs."""
    return _runs(ROOT / f"run/{name}.pid", "slurmd" if name in NODES else name)


def _runs(file: Path, program: str) -> int | None:
    try:
        pid = int(file.read_text())
        name, state = Path(f"/proc/{pid}/stat").read_text().rsplit("(", 1)[1].split()[:2]
    except (OSError, ValueError):
        return None
    return pid if name == f"{program})" and state != "Z" else None


def _end(name: str) -> None:
    pid = _pid(name)
    if not pid:
        return
    os.kill(pid, signal.SIGTERM)
    with contextlib.suppress(LabError):
        _wait(lambda: not _pid(name), name, seconds=20)
    if _pid(name):
        os.kill(pid, signal.SIGKILL)
    (ROOT / f"run/{name}.pid").unlink(missing_ok=True)


def _kill(pids: list[int]) -> None:
    for pid in filter(None, pids):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _processes_of(node: str) -> list[int]:
    """All that a virtual node has started, which carry its name, and the slurmstepd above each, which does not."""
    found: dict[int, None] = {}
    for pid, environment in _environments():
        if {f"SLURMD_NODENAME={node}", "SLURM_CLUSTER_NAME=lab"} <= environment:
            found[pid] = None
            with contextlib.suppress(OSError, ValueError):
                parent = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
                if Path(f"/proc/{parent}/comm").read_text().strip() == "slurmstepd":
                    found[parent] = None
    return list(found)


def _environments() -> Iterator[tuple[int, set[str]]]:
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            yield int(path.parent.name), set(path.read_bytes().decode(errors="replace").split("\0"))


def main(words: list[str]) -> int:
    try:
        match words:
            case ["start"] | ["start", "--accounting"]:
                start(accounting=len(words) > 1)
            case ["stop"]:
                stop()
            case ["crash", node]:
                crash(node)
            case ["status"]:
                pass
            case _:
                print(__doc__)
                return 2
    except LabError as error:
        print(f"tests.cluster.lab: {error}", file=sys.stderr)
        return 2
    print(status(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
