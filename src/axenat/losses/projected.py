"""The output projection fused into the loss: states and matrix in, and no tensor (B m V) is ever held.

Losses are sums over sentences, so whole sentences go through one part after the other: logits, costs, alignment,
gradients of states and matrix; then the logits are forgotten. Nothing is computed twice, and padding never.
The price is that only the sum has a gradient, since that of the matrix is added up on the way.
"""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import fields
from typing import Any, NamedTuple

import torch
from torch import Tensor

from axenat.losses.axe import Alignment, AxeOptions, choose
from axenat.losses.checks import check_finite, check_sentences, check_shapes
from axenat.losses.cross_entropy import checked, every_target
from axenat.losses.rows import Rows, within
from axenat.losses.scoring import Choice, costs, finite_means_, gradient_, normalise, wide

# Logits held at once: enough to keep the matrix products fast (64 MB in float32), and a GPU busy (512 MB).
AT_ONCE = {"cpu": 1 << 24, "cuda": 1 << 27}
FLOAT16_BITS = 15  # 2 ** 15 is the largest power of two that float16 has
# Fewer paying rows than this share are worth picking out. Only the alignment says which rows pay, so that a GPU would
# have to wait: there all rows are multiplied.
MOSTLY = {"cpu": 0.9}


class Part(NamedTuple):
    """What goes through together: some rows of the states, and the sentences that they belong to."""

    rows: slice
    sentences: slice


Choose = Callable[[Part, Tensor, Tensor, Tensor], Choice]  # a part, its logits, logsumexp and mean


def cross_entropy_from_states(
    states: Tensor,  # (N D)
    output_matrix: Tensor,  # (V D)
    targets: Tensor,  # (N,)
    *,
    label_smoothing: float = 0.0,
    check: bool = True,
    at_once: int = 0,
) -> Tensor:
    """The sum of `cross_entropy_loss`."""
    targets = checked(states, len(output_matrix), targets, label_smoothing, check)

    def each_target(part: Part, logits: Tensor, log_norm: Tensor, mean: Tensor) -> Choice:
        if check:
            check_finite(finite_means_(mean, logits).isfinite(), ("position",), part.rows.start)
        return every_target(log_norm, targets[part.rows], label_smoothing)

    parts = list(_whole_sentences([1] * len(states), _rows_at_once(output_matrix, at_once)))
    return _score(states, output_matrix, parts, each_target)[0]


def axe_from_states(
    states: Tensor,  # (B m D)
    output_matrix: Tensor,  # (V D)
    targets: Tensor,
    prediction_lengths: Tensor,
    target_lengths: Tensor,
    observed: Tensor | None,
    options: AxeOptions,
    *,
    check: bool = True,
    at_once: int = 0,
    lengths_on_cpu: Tensor | None = None,
) -> tuple[Tensor, Tensor, Alignment]:
    """The sum of `axe_loss`, with gradient; the losses (B,) and alignments, without.

    Without `check`, and with the prediction lengths on the CPU too, no value is looked at and a GPU never waits.
    """
    V = len(output_matrix)
    check_shapes(states, V, targets, prediction_lengths, target_lengths, observed, options.blank_id)
    targets, prediction_lengths, target_lengths = targets.long(), prediction_lengths.long(), target_lengths.long()
    B, m, _ = states.shape
    if check:
        check_sentences(m, V, targets, prediction_lengths, target_lengths)
    inside = within(prediction_lengths, m)
    # Even an empty sentence has a row, which pays for nothing: so each finds its predictions among the rows.
    sizes = prediction_lengths.clamp(1, m)
    num_rows = (sizes if lengths_on_cpu is None else lengths_on_cpu.clamp(1, m)).tolist()
    sentence = torch.repeat_interleave(sizes, output_size=sum(num_rows))
    first_row = (sizes.cumsum(0) - sizes)[:, None]
    row_of = first_row + torch.arange(m, device=sizes.device).minimum(sizes[:, None] - 1)
    position = torch.arange(len(sentence), device=sizes.device) - first_row[sentence, 0]
    parts = list(_whole_sentences(num_rows, _rows_at_once(output_matrix, at_once)))
    alignments: list[Alignment] = []

    def along_the_alignment(part: Part, logits: Tensor, log_norm: Tensor, mean: Tensor) -> Choice:
        some = part.sentences
        rows = Rows(row_of[some] - part.rows.start, sentence[part.rows] - some.start, inside[some])
        if check:
            finite = finite_means_(mean, logits).isfinite()
            check_finite(~rows.inside | finite[rows.of], ("sentence", "prediction"), some.start)
        choice, alignment = choose(
            logits, log_norm, mean, rows, targets[some], prediction_lengths[some], target_lengths[some],
            None if observed is None else observed[some], options,
        )  # fmt: skip
        alignments.append(alignment)
        return choice

    total, paid = _score(states[sentence, position], output_matrix, parts, along_the_alignment)
    losses = paid.new_zeros(B).index_add_(0, sentence, paid)
    return total, losses, _joined(alignments or [Alignment.of_nothing(B, targets.shape[1], m, losses)])


def _joined(alignments: list[Alignment]) -> Alignment:
    names = [field.name for field in fields(Alignment)]
    return Alignment(*(torch.cat([getattr(one, name) for one in alignments]) for name in names))


def _rows_at_once(output_matrix: Tensor, at_once: int) -> int:
    logits = at_once or AT_ONCE.get(output_matrix.device.type, AT_ONCE["cuda"])
    return max(1, logits // len(output_matrix))


def _whole_sentences(num_rows: list[int], most: int) -> Iterator[Part]:
    """As many whole sentences at a time as stay within `most` rows, at least one."""
    start = first_row = rows = 0
    for number, size in enumerate(num_rows):
        if rows and rows + size > most:
            yield Part(slice(first_row, first_row + rows), slice(start, number))
            start, first_row, rows = number, first_row + rows, 0
        rows += size
    if rows:
        yield Part(slice(first_row, first_row + rows), slice(start, len(num_rows)))


def _score(states: Tensor, matrix: Tensor, parts: list[Part], choose: Choose) -> tuple[Tensor, Tensor]:
    """The sum of all costs, with gradient, and the cost of each row, without."""
    device = states.device.type
    may_cast = torch.amp.is_autocast_available(device)  # the meta device, on which steps are rehearsed, has none
    dtype = torch.get_autocast_dtype(device) if may_cast and torch.is_autocast_enabled(device) else states.dtype
    if not torch.is_grad_enabled():  # a Function is not told, and would make gradients for nobody
        states, matrix = states.detach(), matrix.detach()
    # The precision of each product is chosen here.
    with torch.autocast(device, enabled=False) if may_cast else nullcontext():
        total, paid = _ProjectedCosts.apply(states, matrix, parts, choose, dtype)  # type: ignore[no-untyped-call]
    return total, paid


class _ProjectedCosts(torch.autograd.Function):
    """Gradients are made on the way forward, while the logits are at hand; the way back only scales them."""

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, matrix: Tensor, parts: list[Part], choose: Choose, dtype: torch.dtype
    ) -> tuple[Tensor, Tensor]:
        most = max((part.rows.stop - part.rows.start for part in parts), default=0)
        product = _Product(states.to(dtype), matrix.to(dtype), most, *ctx.needs_input_grad[:2])
        paid = torch.empty(len(states), dtype=product.buffer.dtype, device=states.device)
        for part in parts:
            logits = product.logits(part.rows)
            log_norm, mean = normalise(logits)
            choice = choose(part, logits, log_norm, mean)
            paid[part.rows] = costs(logits, log_norm, mean, choice)
            if any(ctx.needs_input_grad):
                product.add_gradients(part.rows, logits, log_norm, choice)
        ctx.gradients = product.of_states, product.of_matrix
        ctx.dtypes = states.dtype, matrix.dtype
        ctx.mark_non_differentiable(paid)
        return paid.sum(), paid

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Any, ...]:
        scaled = (
            None if gradient is None else (gradient * upstream[0]).to(dtype)
            for gradient, dtype in zip(ctx.gradients, ctx.dtypes, strict=True)
        )
        return *scaled, None, None, None


class _Product:
    """States times matrix, some rows at a time through one buffer, and the gradients of both."""

    def __init__(self, states: Tensor, matrix: Tensor, most: int, of_states: bool, of_matrix: bool) -> None:
        self.states, self.matrix = states, matrix
        self.buffer = torch.empty(most, len(matrix), dtype=wide(states), device=states.device)
        self.of_states = torch.zeros_like(states, dtype=self.buffer.dtype) if of_states else None
        self.of_matrix = torch.zeros_like(matrix, dtype=self.buffer.dtype) if of_matrix else None

    def logits(self, rows: slice) -> Tensor:
        out = self.buffer[: rows.stop - rows.start]
        if out.dtype == self.states.dtype:
            return torch.mm(self.states[rows], self.matrix.T, out=out)
        return out.copy_(self.states[rows] @ self.matrix.T)

    def add_gradients(self, rows: slice, logits: Tensor, log_norm: Tensor, choice: Choice) -> None:
        """Of the costs of these rows; the logits are overwritten."""
        states, headroom = self.states[rows], None
        if states.dtype == torch.float16:
            headroom = _headroom(choice.per_row())
            choice = choice.times(headroom.expand(len(states)))
        some: slice | Tensor = slice(None)
        mostly = MOSTLY.get(states.device.type)
        if choice.some_free and mostly:  # observed tokens that are aligned with themselves cost nothing
            paying = choice.per_row().nonzero()[:, 0]
            if len(paying) < mostly * len(states):  # their rows need no products
                some = paying
                states, logits, log_norm, choice = states[some], logits[some], log_norm[some], choice.only(some)
        gradient = gradient_(logits, logits, log_norm, choice).to(states.dtype)
        if self.of_states is not None:
            product = _wide_product(gradient, self.matrix)
            self.of_states[rows][some] = product if headroom is None else product.div_(headroom)
        if self.of_matrix is not None:
            if gradient.dtype == self.of_matrix.dtype:
                self.of_matrix.addmm_(gradient.T, states)
            else:
                product = _wide_product(gradient.T, states)
                self.of_matrix.add_(product if headroom is None else product.div_(headroom))


def _headroom(weights: Tensor) -> Tensor:
    """A power of two that lifts small probabilities over the least float16, but no weight over the largest.

    It stays on the device: no GPU waits.
    """
    return torch.exp2(FLOAT16_BITS - weights.amax().clamp(min=1).log2().ceil())


def _wide_product(a: Tensor, b: Tensor) -> Tensor:
    """With a result in float32 or better: that of many rows may lie beyond float16."""
    if a.is_cuda and a.dtype != wide(a):
        return torch.mm(a, b, out_dtype=wide(a))
    return a.to(wide(a)) @ b.to(wide(a))
