"""What the machine does while a training runs, under the names that MLflow shows apart as system metrics."""

import importlib
import os
import time
from pathlib import Path
from typing import Any

import psutil

MEGABYTE = 1e6


class Machine:
    """Samples of processor, memory, disk, network and GPUs; rates are since the sample before."""

    def __init__(self, process: int, folder: Path) -> None:
        self.folder = folder
        self.process = psutil.Process(process)
        self.gpus = _gpus()
        self.network = psutil.net_io_counters()
        psutil.cpu_percent()  # the first call only starts the count

    def sample(self) -> dict[str, float]:
        memory, disk, network = psutil.virtual_memory(), psutil.disk_usage(str(self.folder)), psutil.net_io_counters()
        values = {
            "time": round(time.time(), 3),
            "cpu_utilization_percentage": psutil.cpu_percent(),
            "system_memory_usage_megabytes": memory.used / MEGABYTE,
            "system_memory_usage_percentage": memory.percent,
            "process_memory_megabytes": self._own_memory(),
            "disk_usage_percentage": disk.percent,
            "disk_available_megabytes": disk.free / MEGABYTE,
        }
        if network and self.network:
            values["network_receive_megabytes"] = (network.bytes_recv - self.network.bytes_recv) / MEGABYTE
            values["network_transmit_megabytes"] = (network.bytes_sent - self.network.bytes_sent) / MEGABYTE
            self.network = network
        for number, gpu in enumerate(self.gpus):
            values |= {f"gpu_{number}_{key}": value for key, value in _gpu_values(gpu).items()}
        return values

    def _own_memory(self) -> float:
        """Of the training with the processes that prepare its batches."""
        total = 0
        for process in (self.process, *self.process.children(recursive=True)):
            if process.pid != os.getpid():
                total += process.memory_info().rss
        return total / MEGABYTE


def _gpus() -> list[Any]:
    """Handles of those that NVIDIA's library shows; none without it (package nvidia-ml-py)."""
    try:
        nvml = importlib.import_module("pynvml")
        nvml.nvmlInit()
        return [nvml.nvmlDeviceGetHandleByIndex(number) for number in range(nvml.nvmlDeviceGetCount())]
    except Exception:  # not installed, no driver, no permission: whatever it is, there is nothing to measure
        return []


def _gpu_values(gpu: Any) -> dict[str, float]:
    nvml = importlib.import_module("pynvml")
    memory = nvml.nvmlDeviceGetMemoryInfo(gpu)
    return {
        "utilization_percentage": float(nvml.nvmlDeviceGetUtilizationRates(gpu).gpu),
        "memory_usage_megabytes": memory.used / MEGABYTE,
        "memory_usage_percentage": 100 * memory.used / memory.total,
        "power_usage_watts": nvml.nvmlDeviceGetPowerUsage(gpu) / 1000,
    }
