TRAINED = list(dict.fromkeys(run.corpus for run in STUDY.runs.values()))


rule summarise:
    input:
        scores=outputs("score.json"),
        further=further_outputs("score.json"),
        choices=layout.choices(STUDY),
        texts=[*outputs("txt"), *outputs("bpe.txt")],
        # Score files name them, and runs are compared with them sentence by sentence.
        references=[path for corpus in TRAINED for path in layout.references(STUDY, corpus, "test")],
    output:
        summary="results/summary.json",
        markdown=report(
            "results/tables/results.md",
            caption="../report/results.rst",
            category="Tables",
            labels={"table": "results", "form": "Markdown"},
        ),
        csv=report(
            "results/tables/results.csv",
            caption="../report/results.rst",
            category="Tables",
            labels={"table": "results", "form": "CSV"},
        ),
        text="results/tables/results.txt",
    params:
        version=VERSIONS["summarise"],
        study=STUDY.name,
    threads: cpus("summarise")
    resources:
        **asks("summarise"),
    log:
        "logs/summarise/summarise.log",
    benchmark:
        "logs/summarise/summarise.tsv"
    conda:
        ENVIRONMENT
    shell:
        "axenat summarise --study-name {params.study:q} --scores {input.scores} --further {input.further}"
        " --choices {input.choices} --out {output.summary} --markdown {output.markdown} --csv {output.csv} > {output.text} 2> {log}"


rule figure:
    input:
        lambda wildcards: layout.drawn_from(STUDY, wildcards.figure),
    output:
        report(
            "results/figures/{figure}.svg",
            caption="../report/figure.rst",
            category="Figures",
            labels={"figure": "{figure}"},
        ),
    params:
        version=VERSIONS["figures"],
        study=STUDY.name,
        runs=lambda wildcards: [f"results/runs/{run}" for run in layout.figure_runs(STUDY, wildcards.figure)],
        scores=lambda wildcards, input: [path for path in input if path.endswith(".score.json")],
        choices=lambda wildcards, input: [path for path in input if path.startswith("results/choices/")],
        folder=lambda wildcards, output: os.path.dirname(output[0]),
    threads: cpus("figures")
    resources:
        **asks("figures"),
    log:
        "logs/figures/{figure}.log",
    benchmark:
        "logs/figures/{figure}.tsv"
    conda:
        ENVIRONMENT
    shell:
        "axenat figures --study-name {params.study:q} --names {wildcards.figure} --runs {params.runs}"
        " --scores {params.scores} --choices {params.choices} --out {params.folder} 2> {log}"


rule report:
    input:
        summary="results/summary.json",
        scores=outputs("score.json"),
        further=further_outputs("score.json"),
        choices=layout.choices(STUDY),
        tables=layout.tables(STUDY, "md"),
        figures=layout.figures(),
        analyses=outputs("analysis.json"),
        histories=[f"results/runs/{run}/history.jsonl" for run in STUDY.runs],
        tuned=[f"results/runs/{run}/tuned.json" for run in STUDY.runs],
        origins=layout.origins(STUDY),
    output:
        page=report(
            "results/report.html",
            caption="../report/page.rst",
            category="Report",
            labels={"page": "the whole study"},
        ),
        # Never the same twice: no file that DVC keeps depends on it.
        machine=layout.MACHINE,
    params:
        version=VERSIONS["report"],
        study=STUDY.name,
        note=lambda wildcards: STUDY.note,  # in a function, its braces are no wildcards
        runs=[f"results/runs/{run}" for run in STUDY.runs],
        jobs=lambda wildcards: json.dumps(jobs_of(STUDY)),
        documents=CONFIG_README,  # no input: as with code, a reworded line makes no page stale
    threads: cpus("report")
    resources:
        **asks("report"),
    log:
        "logs/report/report.log",
    benchmark:
        "logs/report/report.tsv"
    conda:
        ENVIRONMENT
    shell:
        "axenat report --study-name {params.study:q} --note={params.note:q} --runs {params.runs} --summary {input.summary}"
        " --scores {input.scores} --further {input.further} --choices {input.choices} --origins {input.origins}"
        " --tables {input.tables} --figures {input.figures} --documents {params.documents:q} --jobs {params.jobs:q}"
        " --machine {output.machine} --out {output.page} 2> {log}"
