"""Samples of the machine: each amount from its own counter, in the unit that its name says."""

import shutil
import subprocess
import sys
import time
from types import SimpleNamespace

import psutil
import pytest

from axenat.publishing.system import Machine


def test_memory_and_disk_are_those_of_the_machine_in_millions_of_bytes(tmp_path) -> None:
    sample = Machine(psutil.Process().pid, tmp_path).sample()
    memory, disk = psutil.virtual_memory(), shutil.disk_usage(tmp_path)
    assert sample["system_memory_usage_megabytes"] == pytest.approx(memory.used / 1e6, rel=0.3)
    assert sample["disk_available_megabytes"] == pytest.approx(disk.free / 1e6, rel=0.1)
    assert sample["disk_usage_percentage"] == pytest.approx(100 * disk.used / (disk.used + disk.free), abs=5)


HUNGRY = "text = 'x' * 200_000_000; input()"


def test_memory_of_a_training_is_its_own_and_that_of_its_children(tmp_path) -> None:
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {HUNGRY!r} + '; print()'])"
    with subprocess.Popen([sys.executable, "-c", parent], stdin=subprocess.PIPE) as process:
        machine, deadline = Machine(process.pid, tmp_path), time.monotonic() + 60
        while (used := machine.sample()["process_memory_megabytes"]) < 200 and time.monotonic() < deadline:
            assert process.poll() is None
            time.sleep(0.05)
        assert 200 <= used < 400
        process.communicate(b"\n")


def test_network_is_what_came_and_what_went_since_the_sample_before(tmp_path, monkeypatch) -> None:
    counters = iter([(0, 0), (5_000_000, 3_000_000), (12_000_000, 4_000_000)])
    monkeypatch.setattr(
        psutil,
        "net_io_counters",
        lambda: SimpleNamespace(**dict(zip(("bytes_recv", "bytes_sent"), next(counters), strict=True))),
    )
    machine = Machine(psutil.Process().pid, tmp_path)
    found = [machine.sample() for _ in range(2)]
    assert [one["network_receive_megabytes"] for one in found] == [5, 7]
    assert [one["network_transmit_megabytes"] for one in found] == [3, 1]


def test_each_gpu_has_its_own_numbers(tmp_path, monkeypatch) -> None:
    fake = SimpleNamespace(
        nvmlInit=lambda: None,
        nvmlDeviceGetCount=lambda: 2,
        nvmlDeviceGetHandleByIndex=lambda number: number,
        nvmlDeviceGetMemoryInfo=lambda gpu: SimpleNamespace(used=(gpu + 1) * 10**9, total=8 * 10**9, free=0),
        nvmlDeviceGetUtilizationRates=lambda gpu: SimpleNamespace(gpu=30 + gpu, memory=70 + gpu),
        nvmlDeviceGetPowerUsage=lambda gpu: 200_000 + 1000 * gpu,
    )
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    sample = Machine(psutil.Process().pid, tmp_path).sample()
    told = {key: value for key, value in sample.items() if key.startswith("gpu_")}
    assert told == {
        f"gpu_{number}_{key}": value
        for number in (0, 1)
        for key, value in {
            "utilization_percentage": 30 + number,
            "memory_usage_megabytes": 1000 * (number + 1),
            "memory_usage_percentage": 12.5 * (number + 1),
            "power_usage_watts": 200 + number,
        }.items()
    }
