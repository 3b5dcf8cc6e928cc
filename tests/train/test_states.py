"""A state brings a training back as it was; a damaged one is noticed, and the one before takes its place."""

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from axenat.config import TrainConfig
from axenat.files import UserError
from axenat.train.checkpoint import TrainState, keep_if_best, load_state, save_state, tidy, weights_of
from axenat.train.optimizer import Optimizer, optimizer_of
from tests import tiny


def optimiser(model, dtype: torch.dtype = torch.float32, **changes) -> Optimizer:
    return optimizer_of(TrainConfig(peak_lr=0.01, warmup_steps=1, **changes), model.parameters(), dtype)


def step(model, optimizer: Optimizer, seed: int) -> None:
    torch.manual_seed(seed)
    loss = sum((parameter * torch.randn_like(parameter)).sum() for parameter in model.parameters())
    optimizer.forget_gradients()
    optimizer.scaler.scale(loss).backward()
    optimizer.update(seed, 1.0, finite=True)


def save(folder, state: TrainState, model, optimizer=None, mark: str = "mark") -> None:
    folder.mkdir(exist_ok=True)
    with (folder / "history.jsonl").open("ab") as stream:
        stream.truncate(max(state.history_bytes, 10))
    save_state(folder, state, model, optimizer or optimiser(model), mark)


def names(folder, pattern: str) -> list[int]:
    return sorted(int(path.stem.split("-")[1]) for path in folder.glob(pattern))


@pytest.mark.parametrize("kind", ["decoupled", "l2"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_model_goes_on_from_its_state_as_if_nothing_had_happened(tmp_path, dtype, kind) -> None:
    model, twin = tiny.model(seed=1), tiny.model(seed=2)
    optimizer, twin_optimizer = (optimiser(one, dtype, weight_decay_kind=kind) for one in (model, twin))
    step(model, optimizer, 1)
    state = TrainState(step=3, epoch=1, position=4, due=True, skipped=1, history_bytes=9, window={"count": 2.5})
    keep_if_best(state, tmp_path, model, 1.5, keep=2)
    save(tmp_path, state, model, optimizer)
    assert load_state(tmp_path, twin, twin_optimizer, "mark") == state
    assert twin_optimizer.scaler.state_dict() == optimizer.scaler.state_dict()
    step(model, optimizer, 2)
    step(twin, twin_optimizer, 2)
    for one, two in zip(model.parameters(), twin.parameters(), strict=True):
        assert torch.equal(one, two)


def test_a_state_of_another_configuration_is_not_resumed(tmp_path) -> None:
    model = tiny.model()
    assert load_state(tmp_path, model, optimiser(model), "mark") is None
    save(tmp_path, TrainState(step=3), model)
    fresh = tiny.model(seed=5)
    before = {name: value.clone() for name, value in weights_of(fresh).items()}
    assert load_state(tmp_path, fresh, optimiser(fresh), "another") is None
    assert all(torch.equal(value, before[name]) for name, value in weights_of(fresh).items())


def test_the_newest_two_states_are_kept_with_the_checkpoints_that_they_name(tmp_path) -> None:
    state, model = TrainState(), tiny.model()
    for number, loss in enumerate([5.0, 4.0, 3.0, 2.0], start=1):
        state.step = number
        keep_if_best(state, tmp_path, model, loss, keep=2)
        save(tmp_path, state, model)
    assert names(tmp_path, "state-*") == [3, 4]
    assert names(tmp_path, "step-*") == [2, 3, 4], "2 is no longer among the best, but state 3 says so"


@pytest.fixture(scope="module")
def two_states(tmp_path_factory):
    folder, model = tmp_path_factory.mktemp("two"), tiny.model()
    for number in (1, 2):
        save(folder, TrainState(step=number), model)
    return folder, (folder / "state-0000002.safetensors").read_bytes()


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(share=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_single_wrong_bit_anywhere_is_noticed(two_states, caplog, share, bit) -> None:
    folder, whole = two_states
    damaged = bytearray(whole)
    damaged[int(share * len(whole))] ^= 1 << bit
    (folder / "state-0000002.safetensors").write_bytes(damaged)
    model = tiny.model(seed=3)
    caplog.clear()
    state = load_state(folder, model, optimiser(model), "mark")
    # Only a different order of equal metadata, or white space, would be harmless: no single bit makes that.
    assert state is not None and state.step == 1
    assert "state-0000002.safetensors" in caplog.text and "the state before it is used" in caplog.text


@pytest.mark.parametrize("size", [0, 7, 100, -1])
def test_a_state_cut_short_is_noticed(two_states, size) -> None:
    folder, whole = two_states
    (folder / "state-0000002.safetensors").write_bytes(whole[:size])
    model = tiny.model(seed=3)
    state = load_state(folder, model, optimiser(model), "mark")
    assert state is not None and state.step == 1


def test_a_state_beyond_the_history_beside_it_is_not_used(tmp_path) -> None:
    model = tiny.model()
    save(tmp_path, TrainState(step=1, history_bytes=10), model)
    save(tmp_path, TrainState(step=2, history_bytes=30), model)
    with (tmp_path / "history.jsonl").open("ab") as stream:
        stream.truncate(20)
    state = load_state(tmp_path, model, optimiser(model), "mark")
    assert state is not None and state.step == 1


def test_no_whole_state_is_told_and_nothing_is_deleted(tmp_path) -> None:
    model = tiny.model()
    for number in (1, 2):
        save(tmp_path, TrainState(step=number), model)
        (tmp_path / f"state-000000{number}.safetensors").write_bytes(b"rubbish")
    with pytest.raises(UserError, match="no state is whole; restore one from a copy, or delete the folder"):
        load_state(tmp_path, model, optimiser(model), "mark")
    assert names(tmp_path, "state-*") == [1, 2]


def test_what_a_killed_process_left_is_tidied_away(tmp_path) -> None:
    model = tiny.model()
    for number in (1, 2):
        save(tmp_path, TrainState(step=number), model)
    (tmp_path / ".state-0000003.safetensors.abc.tmp").write_bytes(b"half")
    tidy(tmp_path, TrainState(step=1))
    assert names(tmp_path, "state-*") == [1]
    assert not list(tmp_path.glob(".*"))
