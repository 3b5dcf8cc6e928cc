"""The command of every stage, and the files that it reads and writes.

A command names most of them, with @ before a file that it writes. `reads` and `writes` are the others: files in a
folder that the command names, and files that a result depends on though the command does not name them.
Words in braces: the job's wildcards, and what tests/reference/workflow_files.py says of the job and the study.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    command: str
    reads: str = ""
    writes: str = ""


CORPUS, RUN = "results/corpora/{corpus}", "results/runs/{run}"
OUTPUT = f"{RUN}/{{split}}/{{decode}}"
STAGES = {
    "download": Stage(
        f"--config {CORPUS}/config/download-{{split}}.yaml --archives data/archives --out data/{{corpus}}",
        reads="{archives} {own}",
        writes="data/{corpus}/{split}.json {text} {references} {accept}",
    ),
    "clean": Stage(
        f"--config {CORPUS}/config/clean-{{split}}.yaml --split {{split}} --source {{source}} --target {{target}}"
        f" --out-source @{CORPUS}/clean/{{split}}.source --out-target @{CORPUS}/clean/{{split}}.target"
        f" --counts @{CORPUS}/clean/{{split}}.counts.json --threads {{threads}}"
    ),
    # The first reference is tokenised already, being the target side.
    "clean_references": Stage(
        f"--config {CORPUS}/config/clean-{{split}}.yaml --target {CORPUS}/clean/{{split}}.target"
        f" --references {{further_references}} --out @{CORPUS}/clean/{{split}}.references"
    ),
    "learn_subwords": Stage(
        f"--config {CORPUS}/config/subwords.yaml --source {CORPUS}/clean/train.source"
        f" --target {CORPUS}/clean/train.target --out {CORPUS}/subwords --threads {{threads}}",
        writes="{subwords}",
    ),
    "encode": Stage(
        f"--subwords {CORPUS}/subwords --source {CORPUS}/clean/{{split}}.source --target {{words}}"
        f" --out @{CORPUS}/{{variant}}/{{split}}.safetensors --threads {{threads}}",
        reads="{subwords}",
    ),
    # Train is of the run's own side, valid is always real.
    "train": Stage(
        f"--config {RUN}/config.yaml --train {CORPUS}/{{side}}/train.safetensors --valid {CORPUS}/raw/valid.safetensors"
        f" --subwords {CORPUS}/subwords --start-from {{start}} --out {RUN} --threads {{threads}} --ranks 6 --nodes 2",
        reads="{subwords}",
        writes=f"{RUN}/history.jsonl {RUN}/best.json {RUN}/valid.csv {RUN}/provenance.json",
    ),
    "average": Stage(
        f"--best {RUN}/best.json --subwords {CORPUS}/subwords --out {RUN}",
        reads="{subwords}",
        writes=f"{RUN}/model.safetensors {{own_subwords}}",
    ),
    # Everything is chosen on valid.
    "tune": Stage(
        f"--model {RUN} --source-words {CORPUS}/clean/valid.source --references {{valid_references}}"
        f" --target-words {CORPUS}/clean/valid.target --out @{RUN}/tuned.json --threads {{threads}}",
        reads="{model}",
    ),
    # The number of shards and the teacher are part of its configuration.
    "distil": Stage(
        f"--model results/runs/{{teacher}} --source {CORPUS}/clean/train.source --shard {{shard}}"
        f" --out @{CORPUS}/distilled/shards/{{shard}}.target --record @{CORPUS}/distilled/shards/{{shard}}.json"
        " --threads {threads}",
        reads=f"{{teacher_model}} {CORPUS}/config/distil.yaml",
    ),
    "gather": Stage(
        f"--config {CORPUS}/config/clean-train.yaml --shards {{shard_targets}} --records {{shard_records}}"
        f" --source {CORPUS}/clean/train.source --target {CORPUS}/clean/train.target --teacher results/runs/{{teacher}}"
        f" --out @{CORPUS}/distilled/train.target --manifest @{CORPUS}/distilled/manifest.json",
        reads="{teacher_model}",
    ),
    "translate": Stage(
        f"--model {RUN} --decode {{decode}} {{to_translate}} --output @{OUTPUT}.txt --tokenised @{OUTPUT}.tok.txt"
        f" --subwords @{OUTPUT}.bpe.txt --record @{OUTPUT}.engine.json --threads {{threads}}",
        reads=f"{{model}} {RUN}/tuned.json",
    ),
    "score": Stage(
        f"--hypothesis {OUTPUT}.txt --tokenised {OUTPUT}.tok.txt --subwords {OUTPUT}.bpe.txt"
        f" --references {{references}} {{reference_words}} --text-rules {CORPUS}/subwords/text.yaml {{accept_flag}}"
        f" --run-config {RUN}/config.yaml --tuned {RUN}/tuned.json --record {OUTPUT}.engine.json"
        f" --split {{split}} --decode {{decode}} --out @{OUTPUT}.score.json --metrics @{OUTPUT}.metrics.json"
    ),
    "analyse": Stage(
        f"--config {CORPUS}/config/analysis.yaml --model {RUN} --source {{source}} --references {{references}}"
        f" {{words_of_both}} --hypothesis {OUTPUT}.txt --split {{split}} --out @{OUTPUT}.analysis.json"
        " --threads {threads}",
        reads=f"{{model}} {RUN}/tuned.json",
    ),
    "choose": Stage(
        "--group {grid} --key skip_target_penalty --tuned {grid_tuned} --analysis {grid_tuned}"
        " --run-configs {grid_configs} --out @results/choices/{grid}.json"
    ),
    # Benchmarks of trainings are no inputs: Snakemake writes them, and no result depends on them.
    "speed": Stage(
        "--runs {all_runs} --benchmarks logs/train --models {compared} --sources {compared_sources}"
        " --out @results/speed/speed.json --threads {threads}",
        reads="{all_best} {all_configs} {compared_models}",
    ),
    # Runs are compared sentence by sentence, with the texts next to the scores and the references that these name.
    "summarise": Stage(
        "--study-name two --scores {all_scores} --further {all_further} --choices {all_choices}"
        " --out @results/summary.json --markdown @results/tables/results.md --csv @results/tables/results.csv"
        " > @results/tables/results.txt",
        reads="{all_texts} {all_references}",
    ),
    # What these read is named by their requests.
    "tables": Stage(
        "--request results/requests/tables-{table}.yaml --out results/{folder}",
        reads="config/paper.yaml {configs} {tuned} {scores} {further} {analyses} {choices} {origins} {raw} {counts}"
        " {speed}",
        writes="results/{folder}/{table}.md results/{folder}/{table}.csv results/{folder}/{table}.tex"
        " results/{folder}/{table}.table.json",
    ),
    "figures": Stage(
        "--request results/requests/figures-{figure}.yaml --out results/figures",
        reads="{configs} {tuned} {histories} {scores} {analyses} {choices}",
        writes="results/figures/{figure}.svg results/figures/{figure}.figure.json",
    ),
    "report": Stage(
        "--request results/requests/report.yaml --machine @results/speed/machine.html --out @results/report.html",
        reads="results/summary.json {all_configs} {all_scores} {all_further} {all_analyses} {all_choices} {all_origins}"
        " {all_histories} {all_tuned} {all_tables} {all_figures}",
    ),
    # It takes the records that there are.
    "report_so_far": Stage("--request results/requests/report_so_far.yaml --out results/so-far"),
}
