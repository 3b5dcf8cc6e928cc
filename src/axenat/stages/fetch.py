"""`axenat fetch`: the archives of a published corpus, from mirrors or the web, verified by size and sum."""

import argparse
from pathlib import Path

from axenat.data.download import fetch_all, mirrors_from_environment
from axenat.recipe import archives_needed, load_recipe
from axenat.records import at_least, one_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--recipe", required=True, help="name of a published corpus, or a recipe of your own (YAML)")
    parser.add_argument(
        "--archives",
        nargs="+",
        default=[],
        metavar="NAME",
        help="these only (default: all that the recipe's text needs)",
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for the archives, laid out by host and path")
    parser.add_argument(
        "--mirror",
        nargs="+",
        default=[],
        help="asked before the web, in this order: folders laid out by host and path, or http(s) addresses of such "
        "(default: those in AXENAT_MIRROR, separated by commas)",
    )
    parser.add_argument("--workers", type=int, default=4, help="downloads at a time (default: %(default)s)")


def main(args: argparse.Namespace) -> None:
    at_least("--workers", args.workers, 1)
    recipe = load_recipe(args.recipe)
    for name in args.archives:
        one_of("each name in --archives", name, tuple(recipe.archives))
    archives = [recipe.archives[name] for name in dict.fromkeys(args.archives or archives_needed(recipe))]
    fetch_all(archives, args.out, mirrors=args.mirror or mirrors_from_environment(), workers=args.workers)
