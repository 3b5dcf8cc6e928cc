"""Hands its streams, arguments, folder and environment to the server, passes on signals, and ends as the call does."""

import array
import json
import os
import signal
import socket
import sys
import time

PATIENCE_SECONDS = 120
# Python and its libraries read these when they start, too early for a process that is forked.
READ_AT_START = ("PYTHONPATH", "PYTHONSTARTUP", "TRITON_INTERPRET")
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def main() -> None:
    folder, name = os.path.split(os.path.abspath(sys.argv[0]))
    connection = _connected(os.path.join(folder, "socket")) if all(map(_is_open, (0, 1, 2))) else None
    if connection is None or _starts_otherwise(folder):
        real = os.path.join(os.path.dirname(sys.executable), name)
        os.execv(real, [real, *sys.argv[1:]])
    request = {"name": name, "words": sys.argv[1:], "folder": os.getcwd(), "environment": dict(os.environ)}
    text = json.dumps(request).encode()
    descriptors = array.array("i", (0, 1, 2))
    head = len(text).to_bytes(8, "big")
    connection.sendmsg([head], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)])
    connection.sendall(text)
    process = int.from_bytes(_received(connection), "big")
    note = os.path.join(folder, f"pid-{os.getpid()}")
    with open(f"{note}.part", "w") as stream:
        stream.write(str(process))
    os.replace(f"{note}.part", note)
    for number in FORWARDED:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, frame: _pass_on(process, number))
    code = int.from_bytes(_received(connection), "big", signed=True)
    os.unlink(note)
    if code < 0:
        signal.signal(-code, signal.SIG_DFL) if -code != signal.SIGKILL else None
        os.kill(os.getpid(), -code)
    os._exit(code)


def _starts_otherwise(folder: str) -> bool:
    with open(os.path.join(folder, "environment.json"), encoding="utf-8") as stream:
        known = json.load(stream)
    return any(os.environ.get(key) != known[key] for key in READ_AT_START)


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _connected(path: str) -> "socket.socket | None":
    """The server may have been started just now. If it has ended, the real command does the work."""
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(path)
            return connection
        except ConnectionRefusedError:
            return None
        except FileNotFoundError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


def _received(connection: socket.socket) -> bytes:
    found = connection.recv(8)
    if len(found) != 8:
        sys.exit("the server of warm commands has ended")
    return found


def _pass_on(process: int, number: int) -> None:
    try:
        os.kill(process, number)
    except ProcessLookupError:
        return


main()
