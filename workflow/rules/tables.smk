# What a clock says: beside the tables, not among them, since DVC keeps those and no two measurements agree.
rule speed:
    input:
        best=[f"results/runs/{run}/best.json" for run in STUDY.runs],
        configs=[f"results/runs/{run}/config.yaml" for run in STUDY.runs],
        models=[path for run, _ in needs.side_by_side(STUDY) for path in layout.tuned_model(run)],
        sources=list(dict.fromkeys(test_sources())),
    output:
        layout.SPEED,
    params:
        version=VERSIONS["speed"],
        runs=[f"results/runs/{run}" for run in STUDY.runs],
        models=[f"results/runs/{run}:{decode}" for run, decode in needs.side_by_side(STUDY)],
        sources=test_sources(),
    threads: cpus("speed")
    resources:
        **asks("speed"),
    log:
        "logs/speed/speed.log",
    benchmark:
        "logs/speed/speed.tsv"
    conda:
        ENVIRONMENT
    shell:
        "axenat speed --runs {params.runs} --benchmarks logs/train --models {params.models} --sources {params.sources}"
        " --out {output} --threads {threads} 2> {log}"


rule table:
    input:
        unpack(records_of_table),
        paper=PAPER,
    output:
        markdown=report(
            layout.table_file("{table}", "md"),
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "{table}", "form": "Markdown"},
        ),
        csv=report(
            layout.table_file("{table}", "csv"),
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "{table}", "form": "CSV"},
        ),
        latex=report(
            layout.table_file("{table}", "tex"),
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "{table}", "form": "LaTeX"},
        ),
    wildcard_constraints:
        table=one_of(set(TABLE_NAMES) - {"speed"}),
    params:
        version=VERSIONS["tables"],
        study=STUDY.name,
        table=lambda wildcards: table_in(wildcards),
        runs=lambda wildcards: [f"results/runs/{run}" for run in needs.runs_for(STUDY, table_in(wildcards))],
        teachers=STUDY.teachers,
        own=[f"{corpus}={column}" for corpus, column in needs.paper_columns(STUDY).items()],
        published=STUDY.published,
        lacking=lambda wildcards: needs.lacking(STUDY, table_in(wildcards)),
        folder=lambda wildcards, output: os.path.dirname(output.markdown),
    threads: cpus("tables")
    resources:
        **asks("tables"),
    log:
        "logs/tables/{table}.log",
    benchmark:
        "logs/tables/{table}.tsv"
    conda:
        ENVIRONMENT
    shell:
        "axenat tables --study-name {params.study:q} --names {params.table} --runs {params.runs} --scores {input.scores}"
        " --further {input.further} --analyses {input.analyses} --choices {input.choices} --origins {input.origins}"
        " --raw {input.raw} --counts {input.counts} --speed {input.speed} --teachers {params.teachers} --paper {input.paper}"
        " --own {params.own} --published {params.published} --lacking {params.lacking:q} --out {params.folder} 2> {log}"


use rule table as table_of_speed with:
    output:
        markdown=report(
            layout.table_file("speed", "md"),
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "speed", "form": "Markdown"},
        ),
        csv=report(
            layout.table_file("speed", "csv"),
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "speed", "form": "CSV"},
        ),
        latex=report(
            layout.table_file("speed", "tex"),
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "speed", "form": "LaTeX"},
        ),
    log:
        "logs/tables/speed.log",
    benchmark:
        "logs/tables/speed.tsv"
