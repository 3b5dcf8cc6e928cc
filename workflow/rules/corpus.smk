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


for name in STUDY.corpora:

    rule:
        name:
            f"download_{name}"
        input:
            config=f"results/corpora/{name}/config/download.yaml",
        output:
            layout.raw_files(STUDY, name),
        params:
            version=VERSIONS["download"],
            folder=lambda wildcards, output: os.path.dirname(output[0]),
        resources:
            mem_mb=2000,
        log:
            f"logs/download/{name}.log",
        benchmark:
            f"logs/download/{name}.tsv"
        conda:
            ENVIRONMENT
        shell:
            "axenat download --config {input.config} --out {params.folder} 2> {log}"


rule clean:
    input:
        config="results/corpora/{corpus}/config/clean.yaml",
        source=of_corpus(layout.raw_text, "{split}", "source"),
        target=of_corpus(layout.raw_text, "{split}", "target"),
    output:
        source="results/corpora/{corpus}/clean/{split}.source",
        target="results/corpora/{corpus}/clean/{split}.target",
        counts="results/corpora/{corpus}/clean/{split}.counts.json",
    params:
        version=VERSIONS["clean"],
    resources:
        mem_mb=2000,
    log:
        "logs/clean/{corpus}-{split}.log",
    benchmark:
        "logs/clean/{corpus}-{split}.tsv"
    conda:
        ENVIRONMENT
    shell:
        "axenat clean --config {input.config} --split {wildcards.split} --source {input.source} --target {input.target}"
        " --out-source {output.source} --out-target {output.target} --counts {output.counts} 2> {log}"


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
    resources:
        mem_mb=2000,
    log:
        "logs/learn_subwords/{corpus}.log",
    benchmark:
        "logs/learn_subwords/{corpus}.tsv"
    conda:
        ENVIRONMENT
    shell:
        "axenat learn_subwords --config {input.config} --source {input.source} --target {input.target}"
        " --out {params.folder} 2> {log}"


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
    resources:
        mem_mb=2000,
    log:
        "logs/encode/{corpus}-{variant}-{split}.log",
    benchmark:
        "logs/encode/{corpus}-{variant}-{split}.tsv"
    conda:
        ENVIRONMENT
    shell:
        "axenat encode --subwords {params.subwords} --source {input.source} --target {input.target}"
        " --out {output} 2> {log}"


use rule encode as encode_distilled with:
    wildcard_constraints:
        variant="distilled",
