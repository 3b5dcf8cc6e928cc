"""Every backend fills the same table as its readable twin."""

import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from axenat.losses.axe import FIRST_COLUMNS, Alignment, AxeOptions, axe_align, axe_loss_and_alignment
from axenat.losses.kernels import choose, numba_table, torch_table
from tests.reference.sentences import BACKENDS, BLANK, V, edges, example, full, ragged

on_linux = pytest.mark.skipif("triton" not in BACKENDS, reason="triton exists for Linux only")
sizes = st.tuples(st.integers(1, 5), st.integers(0, 6), st.integers(1, 6))
seeds = st.integers(0, 10_000)
deltas = st.sampled_from([1.0, 1.5, 2.0, 3.0, 4.0, 5.0])


def same(one: Alignment, two: Alignment) -> bool:
    """To the bit."""
    return all(torch.equal(getattr(one, field.name), getattr(two, field.name)) for field in fields(Alignment))


def assert_twins(backend: str, dtype: torch.dtype, column: str, delta: float, batch: dict[str, torch.Tensor]) -> None:
    """Equal tokens make ties, so values that differ by rounding would already align differently."""
    batch["logits"] = batch["logits"].to(dtype).requires_grad_()
    results = []
    for name in ("torch", backend):
        options = AxeOptions(blank_id=BLANK, skip_target_penalty=delta, first_column=column, backend=name)
        loss, alignment = axe_loss_and_alignment(**batch, observed=None, options=options)
        (gradient,) = torch.autograd.grad(loss.sum(), batch["logits"])
        results.append((alignment, loss, gradient))
    (one, loss, gradient), (two, twin_loss, twin_gradient) = results
    assert same(one, two) and torch.equal(loss, twin_loss) and torch.equal(gradient, twin_gradient)


dtypes = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
columns = pytest.mark.parametrize("column", FIRST_COLUMNS)


@dtypes
@columns
@given(seed=seeds, size=sizes, delta=deltas)
def test_numba_and_its_torch_twin_agree_to_the_bit(dtype, column, seed, size, delta) -> None:
    assert_twins("numba", dtype, column, delta, ragged(seed, *size))


@on_linux
@dtypes
@columns
@settings(max_examples=4)
@given(seed=seeds, size=sizes, delta=deltas)
def test_triton_and_its_torch_twin_agree_to_the_bit(dtype, column, seed, size, delta) -> None:
    """Few sentences, since its interpreter is slow; the edges are tested below."""
    assert_twins("triton", dtype, column, delta, ragged(seed, *size))


@pytest.mark.parametrize("backend", BACKENDS[1:])
@dtypes
@columns
def test_at_every_edge_a_backend_and_its_torch_twin_agree_to_the_bit(backend, dtype, column) -> None:
    for seed, delta in ((1, 1.0), (2, 2.5)):
        assert_twins(backend, dtype, column, delta, edges(seed))


@pytest.mark.parametrize("backend", BACKENDS[1:])
@pytest.mark.parametrize("seed", range(4))
def test_tables_wider_than_a_block_of_the_kernel_are_the_twins(backend, seed) -> None:
    """Numba goes four columns at a time, Triton over powers of two."""
    batch = ragged(seed, 2, 17, 13) if seed % 2 else ragged(seed, 2, 13, 17)
    batch["prediction_lengths"][0], batch["target_lengths"][0] = batch["logits"].shape[1], batch["targets"].shape[1]
    twin, other = (axe_align(**batch, blank_id=BLANK, skip_target_penalty=2.0, backend=b) for b in ("torch", backend))
    assert same(twin, other)


@pytest.mark.parametrize("backend", BACKENDS[1:])
@pytest.mark.parametrize(("n", "m"), [(3, 7), (7, 3), (4, 4)])
def test_of_equal_paths_every_backend_takes_the_twins(backend, n, m) -> None:
    batch = full(torch.zeros(2, m, V), example(1, 2, n, m)[1])
    assert same(*(axe_align(**batch, backend=name) for name in ("torch", backend)))


@pytest.mark.parametrize("backend", BACKENDS[1:])
def test_lengths_may_be_a_column_of_a_table_or_one_number_for_all(backend) -> None:
    logits, targets = example(2, 3, 4, 4)
    table = torch.tensor([[4, 1], [3, 1], [2, 1]])
    for sizes in (table[:, 0], torch.tensor([3]).expand(3)):
        batch = {"logits": logits, "targets": targets, "prediction_lengths": sizes, "target_lengths": sizes}
        assert same(*(axe_align(**batch, blank_id=BLANK, backend=name) for name in ("torch", backend)))


def test_many_sentences_on_many_threads_are_aligned_as_on_one(monkeypatch) -> None:
    monkeypatch.setattr(numba_table, "CELLS", 100)
    logits, targets = example(1, 50, 12, 12)
    results = []
    for threads in (1, 5):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        results.append(axe_align(**full(logits, targets, skip_target_penalty=2.0, backend="numba")))
    assert same(*results)


COMPILE = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from axenat.losses.kernels.triton_table import _align

integers = dict.fromkeys(("target_lengths", "prediction_lengths", "prediction_of_target"), "*i64")
sizes = dict.fromkeys(("most_targets", "most_predictions"), "i32")
others = {"operator": "*i8", "ops": "*i8", "strict": "i1", "CELLS": "constexpr"}
for cost, capability in (("fp32", 80), ("fp32", 90), ("fp64", 80)):
    costs = dict.fromkeys(("token", "blank", "total", "A", "delta"), f"*{cost}")
    signature = integers | costs | sizes | others
    source = ASTSource(_align, {name: signature[name] for name in _align.arg_names}, {"CELLS": 64})
    built = triton.compile(source, target=GPUTarget("cuda", capability, 32), options={"enable_fp_fusion": False})
    assert ".entry _align" in built.asm["ptx"] and "fma.rn" not in built.asm["ptx"]
    assert len(built.asm["cubin"]) > 1000
"""


ON_A_GPU = """
import torch
from axenat.losses.axe import axe_align
from tests.reference.sentences import BLANK, ragged

for seed in range(20):
    batch = ragged(seed, 5, 40, 50)
    here, there = (
        axe_align(**{name: value.to(device) for name, value in batch.items()}, blank_id=BLANK, skip_target_penalty=2.0)
        for device in ("cpu", "cuda")
    )
    assert torch.equal(here.prediction_of_target, there.prediction_of_target.cpu())
    assert torch.equal(here.operator, there.operator.cpu())
    torch.testing.assert_close(here.total, there.total.cpu())
"""


def run_as_on_a_gpu(program: str, cache: Path) -> None:
    """In a process of its own, since Triton reads when it is imported whether it shall interpret."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False,
        env={**environment, "TRITON_CACHE_DIR": str(cache)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@on_linux
def test_the_triton_kernel_compiles_for_gpus_that_are_not_here(tmp_path) -> None:
    run_as_on_a_gpu(COMPILE, tmp_path)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_gpu_sentences_are_aligned_as_on_the_cpu(tmp_path) -> None:
    run_as_on_a_gpu(ON_A_GPU, tmp_path)


@pytest.mark.parametrize(("device", "package"), [("cpu", "numba"), ("cuda", "triton")])
def test_without_its_fast_backend_a_device_takes_torch_and_says_so_once(device, package, monkeypatch, caplog) -> None:
    monkeypatch.setattr(choose.importlib.util, "find_spec", lambda name: None)
    choose._fastest.cache_clear()
    for _ in range(3):
        assert choose.table_backend("auto", torch.device(device)) is torch_table.align
    choose._fastest.cache_clear()
    assert caplog.messages == [f"{package} is not installed: AXE aligns with the slower torch backend"]


@on_linux
def test_auto_takes_the_fast_backend_of_the_device() -> None:
    assert choose.table_backend("auto", torch.device("cpu")) is numba_table.align
    assert choose.table_backend("auto", torch.device("cuda")).__module__.endswith("triton_table")
    assert choose.table_backend("auto", torch.device("meta")) is torch_table.align


@pytest.mark.parametrize("package", ["numba", "triton"])
def test_a_backend_that_is_missing_or_elsewhere_is_refused_in_words(package, monkeypatch) -> None:
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    place, elsewhere = ("cpu", "cuda") if package == "numba" else ("cuda", "cpu")
    with pytest.raises(ValueError, match=f"backend {package} works on {place}, but the logits are on {elsewhere}"):
        choose.table_backend(package, torch.device(elsewhere))
    monkeypatch.setattr(choose.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=f"backend {package} needs the package {package}, which is not installed"):
        choose.table_backend(package, torch.device(place))
