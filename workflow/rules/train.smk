# Two files, two rules: how a run is decoded must not make its training stale.
rule configure_run:
    output:
        "results/runs/{run}/config.yaml",
    params:
        resolved=resolved("runs", "config"),
    resources:
        mem_mb=2000,
    log:
        "logs/configure/{run}-run.log",
    benchmark:
        "logs/configure/{run}-run.tsv"
    conda:
        ENVIRONMENT
    shell:
        "axenat configure --resolved {params.resolved:q} --out {output} 2> {log}"


use rule configure_run as configure_decode with:
    output:
        "results/runs/{run}/decode.yaml",
    params:
        resolved=resolved("runs", "decode"),
    log:
        "logs/configure/{run}-decode.log",
    benchmark:
        "logs/configure/{run}-decode.tsv"


# Snakemake removes the outputs of a failed job, so the state that a killed training resumes from,
# results/runs/{run}/checkpoints/, is no output; it carries a fingerprint of configuration and data.
rule train:
    input:
        config="results/runs/{run}/config.yaml",
        train=of_run(layout.ids, "train"),
        valid=of_run(layout.ids, "valid"),
        subwords=subwords_of_run,
        start=of_run(layout.start),
    output:
        history="results/runs/{run}/history.jsonl",
        best="results/runs/{run}/best.json",
        curve="results/runs/{run}/valid.csv",
        provenance="results/runs/{run}/provenance.json",
    wildcard_constraints:
        run=one_of(STUDY.students),
    params:
        version=VERSIONS["train"],
        subwords=lambda wildcards, input: os.path.dirname(input.subwords[0]),
        folder=lambda wildcards, output: os.path.dirname(output.best),
    threads: cpus("train")
    resources:
        **asks("train"),
    log:
        "logs/train/{run}.log",
    benchmark:
        "logs/train/{run}.tsv"
    conda:
        ENVIRONMENT
    shell:
        "axenat train --config {input.config} --train {input.train} --valid {input.valid}"
        " --subwords {params.subwords} --start-from {input.start} --out {params.folder} --threads {threads}"
        " --ranks {resources.tasks} --nodes {resources.nodes} 2> {log}"


rule average:
    input:
        best="results/runs/{run}/best.json",
        subwords=subwords_of_run,
    output:
        [f"results/runs/{{run}}/{name}" for name in ("model.safetensors", *layout.SUBWORD_FILES)],
    wildcard_constraints:
        run=one_of(STUDY.students),
    params:
        version=VERSIONS["average"],
        subwords=lambda wildcards, input: os.path.dirname(input.subwords[0]),
        folder=lambda wildcards, output: os.path.dirname(output[0]),
    threads: cpus("average")
    resources:
        **asks("average"),
    log:
        "logs/average/{run}.log",
    benchmark:
        "logs/average/{run}.tsv"
    conda:
        ENVIRONMENT
    shell:
        "axenat average --best {input.best} --subwords {params.subwords} --out {params.folder} 2> {log}"


rule tune:
    input:
        model=layout.model("{run}"),
        source=of_run_corpus(layout.held_out_words, "valid", "source"),
        target=of_run_corpus(layout.held_out_words, "valid", "target"),
        references=of_run_corpus(layout.references, "valid"),
    output:
        "results/runs/{run}/tuned.json",
    wildcard_constraints:
        run=one_of(STUDY.students),
    params:
        version=VERSIONS["tune"],
        folder=lambda wildcards, output: os.path.dirname(output[0]),
    threads: cpus("tune")
    resources:
        **asks("tune"),
    log:
        "logs/tune/{run}.log",
    benchmark:
        "logs/tune/{run}.tsv"
    conda:
        ENVIRONMENT
    shell:
        "axenat tune --model {params.folder} --source-words {input.source} --references {input.references}"
        " --target-words {input.target} --out {output} --threads {threads} 2> {log}"


# The line passes these stages twice, first for the teachers: under a name of their own, so that
# `--until train` and the like know which half is meant, and first in line, since the distilled runs wait for them.
use rule train as train_teacher with:
    wildcard_constraints:
        run=one_of(STUDY.teachers),
    priority: 10
    threads: cpus("train", teacher=True)
    resources:
        **asks("train", teacher=True),


use rule average as average_teacher with:
    wildcard_constraints:
        run=one_of(STUDY.teachers),
    priority: 10
    threads: cpus("average", teacher=True)
    resources:
        **asks("average", teacher=True),


use rule tune as tune_teacher with:
    wildcard_constraints:
        run=one_of(STUDY.teachers),
    priority: 10
    threads: cpus("tune", teacher=True)
    resources:
        **asks("tune", teacher=True),
