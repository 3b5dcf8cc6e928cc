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
        request=layout.request_file("figures-{figure}"),
        records=lambda wildcards: study_requests.files_of(STUDY, f"figures-{wildcards.figure}"),
    output:
        report(
            layout.figure_file("{figure}", "svg"),
            caption="../report/figure.rst",
            category="Figures",
            labels={"figure": "{figure}"},
        ),
        layout.figure_file("{figure}", "figure.json"),  # for the page
    params:
        version=VERSIONS["figures"],
        study=STUDY.name,
        caption=lambda wildcards: CATALOGUE[wildcards.figure].figure.caption,
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
        "axenat figures --request {input.request} --out {params.folder} 2> {log}"


rule report:
    input:
        request=layout.request_file("report"),
        records=study_requests.files_of(STUDY, "report"),
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
        "axenat report --request {input.request} --machine {output.machine} --out {output.page} 2> {log}"
