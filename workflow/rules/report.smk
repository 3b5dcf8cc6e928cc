rule summarise:
    input:
        scores=outputs("score.json"),
        further=further_outputs("score.json"),
        choices=layout.choices(STUDY),
        texts=outputs("txt"),
    output:
        summary="results/summary.json",
        markdown=report("results/tables/results.md", category="Tables"),
        csv=report("results/tables/results.csv", category="Tables"),
        text="results/tables/results.txt",
    params:
        version=VERSIONS["summarise"],
        study=STUDY.name,
    resources:
        mem_mb=2000,
    log:
        "logs/summarise/summarise.log",
    benchmark:
        "logs/summarise/summarise.tsv"
    conda:
        ENVIRONMENT
    shell:
        "axenat summarise --study-name {params.study:q} --scores {input.scores} --further {input.further}"
        " --choices {input.choices} --out {output.summary} --markdown {output.markdown} --csv {output.csv} > {output.text} 2> {log}"


rule report:
    input:
        summary="results/summary.json",
        choices=layout.choices(STUDY),
        tables=layout.tables(STUDY, "md"),
        analyses=outputs("analysis.json"),
        histories=[f"results/runs/{run}/history.jsonl" for run in STUDY.runs],
        tuned=[f"results/runs/{run}/tuned.json" for run in STUDY.runs],
    output:
        page=report("results/report.html", category="Report"),
        figures=directory("results/figures"),
    params:
        version=VERSIONS["report"],
        study=STUDY.name,
        note=lambda wildcards: STUDY.note,  # in a function, its braces are no wildcards
        runs=[f"results/runs/{run}" for run in STUDY.runs],
    resources:
        mem_mb=2000,
    log:
        "logs/report/report.log",
    benchmark:
        "logs/report/report.tsv"
    conda:
        ENVIRONMENT
    shell:
        "axenat report --summary {input.summary} --choices {input.choices} --runs {params.runs} --tables {input.tables}"
        " --study-name {params.study:q} --note={params.note:q} --figures {output.figures} --out {output.page} 2> {log}"
