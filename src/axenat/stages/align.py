"""`axenat align`: the AXE alignment of one pair, as text and as a picture."""

import argparse
from pathlib import Path
from typing import Any

from axenat.decode.inspect import describe_alignment
from axenat.decode.probabilities import FORMAT, describe_probabilities
from axenat.decode.translator import Translator
from axenat.evaluate.alignment_figure import alignment_figure
from axenat.evaluate.alignment_text import alignment_text
from axenat.evaluate.figure_style import save_picture
from axenat.files import UserError, write_json
from axenat.systems.registry import measuring
from axenat.train.devices import device_of

PICTURES = (".svg", ".png", ".pdf")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = FORMAT
    given = parser.add_mutually_exclusive_group(required=True)
    given.add_argument("--model", type=Path, help="folder of a run; needs --source and --target")
    given.add_argument("--probabilities", type=Path, help="file of probabilities (JSON, see below)")
    parser.add_argument("--source", help="a source sentence, plain text")
    parser.add_argument("--target", help="its translation, plain text")
    parser.add_argument("--skip-target-penalty", type=float, help="delta (default: that of the run, or 1)")
    parser.add_argument("--first-column", help="paper or strict (default: that of the run, or paper)")
    parser.add_argument("--picture", type=Path, help=f"draw it here ({', '.join(PICTURES)})")
    parser.add_argument("--json", type=Path, help="write it here as JSON")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:0 (default: %(default)s)")


def main(args: argparse.Namespace) -> None:
    if args.picture and args.picture.suffix.lower() not in PICTURES:
        raise UserError(f"--picture: {args.picture} must end in one of {', '.join(PICTURES)}")
    if args.probabilities and (args.source is not None or args.target is not None):
        raise UserError("--source and --target go with --model; a file of probabilities holds its own targets")
    given = {"skip_target_penalty": args.skip_target_penalty, "first_column": args.first_column}
    how = {name: value for name, value in given.items() if value is not None}
    try:
        described = describe_probabilities(args.probabilities, **how) if args.probabilities else _of_model(args, how)
    except ValueError as error:  # what the loss refuses, in its own words
        raise UserError(str(error)) from None
    print(alignment_text(described))
    if args.json:
        write_json(args.json, described)
    if args.picture:
        save_picture(args.picture, alignment_figure(described))


def _of_model(args: argparse.Namespace, how: dict[str, Any]) -> dict[str, Any]:
    if not (args.source and args.target):
        raise UserError("--model needs --source and --target, a sentence each")
    translator = Translator(args.model, device_of(args.device))
    if "confidence" not in translator.system.diagnostics:
        kinds = " or ".join(measuring("confidence"))
        raise UserError(f"{args.model} is a {translator.system.name} run; an alignment needs a run of {kinds}")
    source, target = translator.source.tokenise(args.source), translator.target.tokenise(args.target)
    return describe_alignment(translator, source, target, **how)
