rule score:
    input:
        text="results/runs/{run}/{split}/{decode}.txt",
        words="results/runs/{run}/{split}/{decode}.tok.txt",
        subwords="results/runs/{run}/{split}/{decode}.bpe.txt",
        record="results/runs/{run}/{split}/{decode}.engine.json",
        references=of_run_corpus(layout.references, "{split}"),
        reference_words=of_run_corpus(layout.reference_words, "{split}"),
        text_rules=text_rules_of_run,
        accept=of_run_corpus(layout.accept, "{split}"),
        config="results/runs/{run}/config.yaml",
        tuned="results/runs/{run}/tuned.json",
    output:
        score="results/runs/{run}/{split}/{decode}.score.json",
        metrics="results/runs/{run}/{split}/{decode}.metrics.json",
    params:
        version=VERSIONS["score"],
        accept=flag_of("accept"),
        reference_words=flag_of("reference_words"),
    threads: cpus("score")
    resources:
        **asks("score"),
    log:
        "logs/score/{run}-{split}-{decode}.log",
    benchmark:
        "logs/score/{run}-{split}-{decode}.tsv"
    conda:
        ENVIRONMENT
    shell:
        "axenat score --hypothesis {input.text} --tokenised {input.words} --subwords {input.subwords}"
        " --references {input.references} {params.reference_words} --text-rules {input.text_rules} {params.accept}"
        " --run-config {input.config}"
        " --tuned {input.tuned} --record {input.record} --split {wildcards.split} --decode {wildcards.decode}"
        " --out {output.score} --metrics {output.metrics} 2> {log}"


rule analyse:
    input:
        config=analysis_of_run,
        model=layout.tuned_model("{run}"),
        text="results/runs/{run}/{split}/{decode}.txt",
        source=of_run_corpus(layout.raw_text, "{split}", "source"),
        references=of_run_corpus(layout.references, "{split}"),
        source_words=of_run_corpus(layout.held_out_words, "{split}", "source"),
        target_words=of_run_corpus(layout.held_out_words, "{split}", "target"),
    output:
        "results/runs/{run}/{split}/{decode}.analysis.json",
    params:
        version=VERSIONS["analyse"],
        folder=lambda wildcards, input: os.path.dirname(input.model[0]),
        source_words=flag_of("source_words"),
        target_words=flag_of("target_words"),
    threads: cpus("analyse")
    resources:
        **asks("analyse"),
    log:
        "logs/analyse/{run}-{split}-{decode}.log",
    benchmark:
        "logs/analyse/{run}-{split}-{decode}.tsv"
    conda:
        ENVIRONMENT
    shell:
        "axenat analyse --config {input.config} --model {params.folder} --source {input.source} --references {input.references}"
        " {params.source_words} {params.target_words} --hypothesis {input.text} --split {wildcards.split} --out {output} --threads {threads} 2> {log}"


rule choose:
    input:
        tuned=runs_of_grid("results/runs/{run}/tuned.json"),
        configs=runs_of_grid("results/runs/{run}/config.yaml"),
    output:
        "results/choices/{grid}.json",
    params:
        version=VERSIONS["choose"],
        key=lambda wildcards: STUDY.grids[wildcards.grid].key,
    threads: cpus("choose")
    resources:
        **asks("choose"),
    log:
        "logs/choose/{grid}.log",
    benchmark:
        "logs/choose/{grid}.tsv"
    conda:
        ENVIRONMENT
    shell:
        "axenat choose --group {wildcards.grid} --key {params.key} --tuned {input.tuned} --analysis {input.tuned}"
        " --run-configs {input.configs} --out {output} 2> {log}"
