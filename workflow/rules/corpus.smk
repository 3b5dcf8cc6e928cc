rule configure_corpus:
    output:
        "results/corpora/{corpus}/config/{stage}.yaml",
    params:
        resolved=resolved("corpora", "{stage}"),
    resources:
        mem_mb=2000,
    log:
        "logs/configure/{corpus}-{stage}.log",
    benchmark:
        "logs/configure/{corpus}-{stage}.tsv"
    conda:
        ENVIRONMENT
    shell:
        "axenat configure --resolved {params.resolved:q} --out {output} 2> {log}"


# Licence, citation and what others counted: beside the text, which does not depend on them.
use rule configure_corpus as configure_origin with:
    output:
        "data/{corpus}/origin.yaml",
    params:
        resolved=resolved("corpora", "origin"),
    log:
        "logs/configure/{corpus}-origin.log",
    benchmark:
        "logs/configure/{corpus}-origin.tsv"


# A login node reaches the web where the nodes of a cluster often do not, so this rule is a local one. A download that
# breaks off leaves {place}.part, which is no output and is gone on from.
rule fetch:
    output:
        "data/archives/{place}",
    wildcard_constraints:
        place=one_of(PLACES),
    params:
        folder=lambda wildcards, output: output[0].removesuffix(wildcards.place),
    resources:
        mem_mb=500,
        # No params: Snakemake deletes an output whose params have changed, and a right archive is not to be deleted.
        recipe=lambda wildcards: PLACES[wildcards.place][0],
        archive=lambda wildcards: PLACES[wildcards.place][1],
    log:
        "logs/fetch/{place}.log",
    benchmark:
        "logs/fetch/{place}.tsv"
    conda:
        ENVIRONMENT
    shell:
        "axenat fetch --recipe {resources.recipe:q} --archives {resources.archive:q} --out {params.folder} 2> {log:q}"


for name in STUDY.corpora:
    for split in SPLITS:

        rule:
            name:
                f"download_{name}_{split}"
            input:
                config=f"results/corpora/{name}/config/download-{split}.yaml",
                archives=layout.archives(STUDY, name, split),
                own=layout.own_files(STUDY, name, split),
            output:
                layout.raw_files(STUDY, name, split),
            params:
                version=VERSIONS["download"],
                archives=lambda wildcards: layout.ARCHIVES,
                folder=lambda wildcards, output: os.path.dirname(output[0]),
            threads: cpus("download")
            resources:
                **asks("download"),
            log:
                f"logs/download/{name}-{split}.log",
            benchmark:
                f"logs/download/{name}-{split}.tsv"
            conda:
                ENVIRONMENT
            shell:
                "axenat download --config {input.config} --archives {params.archives} --out {params.folder} 2> {log}"


rule clean:
    input:
        config="results/corpora/{corpus}/config/clean-{split}.yaml",
        source=of_corpus(layout.raw_text, "{split}", "source"),
        target=of_corpus(layout.raw_text, "{split}", "target"),
    output:
        source="results/corpora/{corpus}/clean/{split}.source",
        target="results/corpora/{corpus}/clean/{split}.target",
        counts="results/corpora/{corpus}/clean/{split}.counts.json",
    params:
        version=VERSIONS["clean"],
    threads: cpus("clean")
    resources:
        **asks("clean"),
    log:
        "logs/clean/{corpus}-{split}.log",
    benchmark:
        "logs/clean/{corpus}-{split}.tsv"
    conda:
        ENVIRONMENT
    shell:
        "axenat clean --config {input.config} --split {wildcards.split} --source {input.source} --target {input.target}"
        " --out-source {output.source} --out-target {output.target} --counts {output.counts}"
        " --threads {threads} 2> {log}"


# A rule of its own: `clean` of valid comes before the training, which must not depend on how many references there are.
rule clean_references:
    input:
        config="results/corpora/{corpus}/config/clean-{split}.yaml",
        target="results/corpora/{corpus}/clean/{split}.target",
        references=lambda wildcards: layout.references(STUDY, wildcards.corpus, wildcards.split)[1:],
    output:
        "results/corpora/{corpus}/clean/{split}.references",
    wildcard_constraints:
        split="valid|test",
    params:
        version=VERSIONS["clean_references"],
    threads: cpus("score")  # some thousand lines: as small a job as a score
    resources:
        **asks("score"),
    log:
        "logs/clean_references/{corpus}-{split}.log",
    benchmark:
        "logs/clean_references/{corpus}-{split}.tsv"
    conda:
        ENVIRONMENT
    shell:
        "axenat clean_references --config {input.config} --target {input.target} --references {input.references}"
        " --out {output} 2> {log}"


rule learn_subwords:
    input:
        config="results/corpora/{corpus}/config/subwords.yaml",
        source="results/corpora/{corpus}/clean/train.source",
        target="results/corpora/{corpus}/clean/train.target",
    output:
        layout.subwords("{corpus}"),
    params:
        version=VERSIONS["learn_subwords"],
        folder=lambda wildcards, output: os.path.dirname(output[0]),
    threads: cpus("learn_subwords")
    resources:
        **with_input(asks("learn_subwords"), 3),  # it grows with the number of words
    log:
        "logs/learn_subwords/{corpus}.log",
    benchmark:
        "logs/learn_subwords/{corpus}.tsv"
    conda:
        ENVIRONMENT
    shell:
        "axenat learn_subwords --config {input.config} --source {input.source} --target {input.target}"
        " --out {params.folder} --threads {threads} 2> {log}"


rule encode:
    input:
        source=of_corpus(layout.words, "{variant}", "{split}", "source"),
        target=of_corpus(layout.words, "{variant}", "{split}", "target"),
        subwords=layout.subwords("{corpus}"),
    output:
        "results/corpora/{corpus}/{variant}/{split}.safetensors",
    wildcard_constraints:
        variant="raw",
    params:
        version=VERSIONS["encode"],
        subwords=lambda wildcards, input: os.path.dirname(input.subwords[0]),
    threads: cpus("encode")
    resources:
        **asks("encode"),
    log:
        "logs/encode/{corpus}-{variant}-{split}.log",
    benchmark:
        "logs/encode/{corpus}-{variant}-{split}.tsv"
    conda:
        ENVIRONMENT
    shell:
        "axenat encode --subwords {params.subwords} --source {input.source} --target {input.target}"
        " --out {output} --threads {threads} 2> {log}"


# One thread: a job that wants all cores of a machine waits until every training on it has ended, and with it all
# distilled runs.
use rule encode as encode_distilled with:
    wildcard_constraints:
        variant="distilled",
    threads: 1
