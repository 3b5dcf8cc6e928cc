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


# What tables, figures and pages are made of: a change of the study makes stale whose request it changes.
use rule configure_run as configure_request with:
    output:
        layout.request_file("{request}"),
    params:
        resolved=lambda wildcards: json.dumps(request_of(wildcards.request)),
    log:
        "logs/configure/{request}-request.log",
    benchmark:
        "logs/configure/{request}-request.tsv"


rule table:
    input:
        request=lambda wildcards: layout.request_file(f"tables-{table_in(wildcards)}"),
        records=lambda wildcards: study_requests.files_of(STUDY, f"tables-{table_in(wildcards)}"),
        paper=PAPER,
    output:
        forms_of("{table}"),
    wildcard_constraints:
        table=one_of(set(TABLE_NAMES) - {"speed"}),
    params:
        version=VERSIONS["tables"],
        study=STUDY.name,
        table=lambda wildcards: table_in(wildcards),
        folder=lambda wildcards, output: os.path.dirname(output[0]),
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
        "axenat tables --request {input.request} --out {params.folder} 2> {log}"


use rule table as table_of_speed with:
    output:
        forms_of("speed"),
    log:
        "logs/tables/speed.log",
    benchmark:
        "logs/tables/speed.tsv"
