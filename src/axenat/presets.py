"""Recipes that every study knows: `base` and `large`, the paper's section 4.1 written out.

Values that the paper gives carry no remark. A run adds what only it can know: corpus, objective.name, delta.
"""

from typing import Any

_OBJECTIVE = {
    "label_smoothing": 0.1,
    # readings of what the paper leaves open; config/README.md tells of the others
    "observe": "some",  # section 3.3, partially observed inputs
    "score": "hidden",  # section 3.3, predict masks
    "first_column": "paper",
    "smoothing": "outside",
    "normalise": "tokens",
    "eos": "keep",
    "train_length_multiplier": 1.0,
    "most_hidden": "all",
    "length_loss_weight": 1.0,
}
_TRAIN = {
    "steps": 300_000,
    "tokens_per_step": 131_072,  # "128k tokens"
    "tokens_per_batch": 8_192,  # a sixteenth: one of the paper's 16 GPUs; a smaller one takes less and adds up
    "peak_lr": 5.0e-4,
    "warmup_steps": 10_000,  # then the inverse square root
    "weight_decay": 0.01,
    "weight_decay_kind": "decoupled",  # the paper says L2; the code that it builds on decouples it
    "adam_beta1": 0.9,
    "adam_beta2": 0.999,
    "adam_eps": 1.0e-6,
    "clip_norm": 25.0,  # of that code, too: hardly ever reached
    "validate_every": 0,  # at the end of each epoch, always with the same masks
    "keep_best": 5,
    "precision": "auto",  # mixed on a GPU
}
_DECODE = {
    "beam_size": 5,
    "num_length_candidates": 5,
    "length_multipliers": [1.0, 1.05, 1.06, 1.07, 1.08, 1.09, 1.1],  # the paper starts at 1.05
}
_INITIALISATION = {"init": "normal", "init_std": 0.02}

PRESETS: dict[str, dict[str, Any]] = {
    # Transformer base: all students, and the teacher of WMT'16.
    "base": {
        "model": {
            "encoder_layers": 6,
            "decoder_layers": 6,
            "width": 512,
            "hidden": 2048,
            "heads": 8,
            "dropout": 0.3,
            **_INITIALISATION,
        },
        "objective": _OBJECTIVE,
        "train": _TRAIN,
        "decode": _DECODE,
    },
    # Transformer large: the teachers of WMT'14 and WMT'17. The paper gives neither its sizes nor its dropout:
    # these are those of Vaswani et al. (2017), with the optimisation of base.
    "large": {
        "model": {
            "encoder_layers": 6,
            "decoder_layers": 6,
            "width": 1024,
            "hidden": 4096,
            "heads": 16,
            "dropout": 0.3,
            **_INITIALISATION,
        },
        "objective": _OBJECTIVE,
        "train": _TRAIN,
        "decode": _DECODE,
    },
}
