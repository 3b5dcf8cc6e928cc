# Train alone is distilled: there is no wildcard for the split.
# Snakemake removes the outputs of a failed job, so the finished chunks that a killed shard goes on from,
# {shard}.target.parts/, are no output; they carry a fingerprint of teacher, source and decoding.
rule distil:
    input:
        config="results/corpora/{corpus}/config/distil.yaml",
        teacher=of_corpus(layout.teacher),
        source="results/corpora/{corpus}/clean/train.source",
    output:
        target="results/corpora/{corpus}/distilled/shards/{shard}.target",
        record="results/corpora/{corpus}/distilled/shards/{shard}.json",
    params:
        version=VERSIONS["distil"],
        teacher=lambda wildcards, input: os.path.dirname(input.teacher[0]),
    priority: 10
    threads: cpus("distil", teacher=True)
    resources:
        **asks("distil", teacher=True),
    log:
        "logs/distil/{corpus}-{shard}.log",
    benchmark:
        "logs/distil/{corpus}-{shard}.tsv"
    conda:
        ENVIRONMENT
    shell:
        "axenat distil --model {params.teacher} --source {input.source} --shard {wildcards.shard}"
        " --out {output.target} --record {output.record} --threads {threads} 2> {log}"


rule gather:
    input:
        config="results/corpora/{corpus}/config/clean-train.yaml",
        shards=of_corpus(layout.shards, "target"),
        records=of_corpus(layout.shards, "json"),
        source="results/corpora/{corpus}/clean/train.source",
        target="results/corpora/{corpus}/clean/train.target",
        teacher=of_corpus(layout.teacher),
    output:
        target="results/corpora/{corpus}/distilled/train.target",
        manifest="results/corpora/{corpus}/distilled/manifest.json",
    params:
        version=VERSIONS["gather"],
        teacher=lambda wildcards, input: os.path.dirname(input.teacher[0]),
    priority: 10
    threads: cpus("gather")
    resources:
        **asks("gather"),
    log:
        "logs/gather/{corpus}.log",
    benchmark:
        "logs/gather/{corpus}.tsv"
    conda:
        ENVIRONMENT
    shell:
        "axenat gather --config {input.config} --shards {input.shards} --records {input.records}"
        " --source {input.source} --target {input.target} --teacher {params.teacher}"
        " --out {output.target} --manifest {output.manifest} 2> {log}"


rule translate:
    input:
        model=layout.tuned_model("{run}"),
        source=of_run_corpus(layout.to_translate, "{split}"),
    output:
        text="results/runs/{run}/{split}/{decode}.txt",
        words="results/runs/{run}/{split}/{decode}.tok.txt",
        subwords="results/runs/{run}/{split}/{decode}.bpe.txt",
        record="results/runs/{run}/{split}/{decode}.engine.json",
    params:
        version=VERSIONS["translate"],
        folder=lambda wildcards, input: os.path.dirname(input.model[0]),
        source=lambda wildcards, input: "--input" if wildcards.split == "train" else "--input-words",
    threads: cpus("translate")
    resources:
        **asks("translate"),
    log:
        "logs/translate/{run}-{split}-{decode}.log",
    benchmark:
        "logs/translate/{run}-{split}-{decode}.tsv"
    conda:
        ENVIRONMENT
    shell:
        "axenat translate --model {params.folder} --decode {wildcards.decode} {params.source} {input.source} --output {output.text}"
        " --tokenised {output.words} --subwords {output.subwords} --record {output.record} --threads {threads} 2> {log}"
