"""`snakemake --profile slurm all` on a real Slurm: the same bytes as without it, whatever happens to its jobs."""

import hashlib
import itertools
import os
import re
import signal
import time
from pathlib import Path

import pytest

from tests.cluster import lab
from tests.cluster.study import TRAINING, ClusterStudy, jobs_in, squeue, wait_until

# What a clock, a host or a commit says.
NEVER_THE_SAME = ("checkpoints", "provenance.json", "speed", "report.html", ".training", ".training.job", "so-far")


def sums(folder: Path) -> dict[str, str]:
    paths = [path for path in (folder / "results").rglob("*") if path.is_file()]
    kept = [path for path in paths if not {*path.relative_to(folder / "results").parts} & {*NEVER_THE_SAME}]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in kept}


def trainings(*names: str, **train: int) -> dict[str, dict[str, object]]:
    """Runs that differ in their names alone."""
    run = {"recipe": "small", "target_side": "raw", "objective": {"name": "axe", "skip_target_penalty": 2}}
    return {name: {**run, "train": {**TRAINING, **train}} for name in names}


def models(*names: str) -> list[str]:
    return [f"results/runs/{name}/model.safetensors" for name in names]


def last_loss(log: str) -> float:
    return float(re.findall(r"valid loss (\S+)$", log, re.MULTILINE)[-1])


@pytest.fixture(scope="module")
def prepared(tmp_path_factory) -> ClusterStudy:
    """Text, ids and a teacher, without Slurm."""
    study = ClusterStudy(tmp_path_factory.mktemp("prepared")).write()
    study.finish("results/runs/teacher/tuned.json", profile=None)
    return study


@pytest.fixture(scope="module")
def undisturbed(prepared, tmp_path_factory) -> ClusterStudy:
    """A training that nobody disturbs, without Slurm."""
    study = ClusterStudy(tmp_path_factory.mktemp("alone")).write(runs=trainings("alone")).take(prepared)
    study.finish(*models("alone"), profile=None)
    return study


@pytest.fixture
def study(all_nodes, prepared, tmp_path) -> ClusterStudy:
    """For jobs of its own, in a folder where the text is ready."""
    return ClusterStudy(tmp_path).take(prepared)


def test_the_whole_study_has_the_same_sums_as_without_slurm(slurm, tmp_path_factory) -> None:
    here, there = (ClusterStudy(tmp_path_factory.mktemp(name)).write() for name in ("here", "there"))
    here.finish("all", profile=None)
    there.finish("all")
    assert sums(there.folder) == sums(here.folder)
    done = there.run("axenat", "usage", "--configfile", "study.yaml")
    assert done.returncode == 0 and "train_teacher" in done.stdout, done.stdout + done.stderr


def test_trainings_that_are_stopped_in_many_ways_end_with_the_bytes_of_one_that_is_not(study, undisturbed) -> None:
    """SIGTERM, as before a time limit; scancel by a person; a node that dies."""
    names = ("told", "cancelled", "crashed")
    study.write(runs=trainings(*names), resources={"train": {"runtime": 200}})
    process = study.start(*models(*names))
    for name in names:
        wait_until(lambda name=name: study.steps(name) > 2, process)
    told, cancelled = study.job_of("told"), study.job_of("cancelled")
    lab.run("scancel", "--signal=TERM", told)
    lab.run("scancel", cancelled)
    wait_until(lambda: "saved after step" in study.log("told") or study.steps("told") > 60, process)
    node_of = {job["JobID"]: job["NodeList"] for job in squeue("JobID", "NodeList")}
    lab.crash(node_of[study.job_of("crashed")])
    wait_until(lambda: study.steps("cancelled") > 2, process)
    lab.start()
    study.end(process)
    assert {name: study.model(name) == undisturbed.model("alone") for name in names} == dict.fromkeys(names, True)
    jobs = {job["JobID"]: job for job in squeue("JobID", "RestartCnt", "TimeLimit")}
    assert int(jobs[told]["RestartCnt"]) >= 1, "the same job once more"
    assert study.job_of("cancelled") != cancelled, "another job"
    assert jobs[cancelled]["TimeLimit"] == "3:20:00"
    assert jobs[study.job_of("cancelled")]["TimeLimit"] == "4:00:00", "more, but no more than the partition has"
    assert any("resuming after step" in study.log(name) for name in names)


@pytest.mark.parametrize("what", ["preempted", "out-of-time"])
def test_a_job_that_slurm_itself_stops_goes_on_after_its_last_step(study, what) -> None:
    """For somebody in a hurry, or because its time is up: told in time, and put back into the queue."""
    study.write(runs=trainings("stopped", steps=100000))
    process = study.start(*models("stopped"))
    wait_until(lambda: study.steps("stopped") > 2, process)
    job = study.job_of("stopped")
    if what == "preempted":
        lab.run("sbatch", "--partition=urgent", "--nodes=2", "--exclusive", "--output=/dev/null", "--wrap=sleep 1")
    else:
        lab.run("scontrol", "update", f"jobid={job}", "timelimit=3")  # minutes
    wait_until(lambda: "saved after step" in study.log("stopped"), process, seconds=300)
    before = study.log("stopped")
    wait_until(lambda: "resuming after step" in study.log("stopped"), process)
    os.killpg(process.pid, signal.SIGINT)
    process.wait(120)
    lab.run("scancel", "--user=root")
    saved, resumed = (re.findall(r"after step (\d+)", text)[0] for text in (before, study.log("stopped")))
    assert saved == resumed
    assert study.job_of("stopped") == job, "sent only once"
    assert int({found["JobID"]: found["RestartCnt"] for found in squeue("JobID", "RestartCnt")}[job]) >= 1


def test_a_copy_that_is_cut_off_from_slurm_leaves_its_training_to_the_next(study, undisturbed) -> None:
    """Its slurmd dies; the job lives on, and Slurm starts it once more elsewhere."""
    study.write(runs=trainings("orphan", steps=50000))
    process = study.start(*models("orphan"))
    wait_until(lambda: study.steps("orphan") > 2, process)
    (node,) = {job["NodeList"] for job in squeue("JobID", "NodeList") if job["JobID"] == study.job_of("orphan")}
    lab.crash(node, whole=False)
    wait_until(lambda: "is still at work here; it is asked to save its state and leave" in study.log("orphan"), process)
    wait_until(lambda: "resuming after step" in study.log("orphan"), process)
    os.killpg(process.pid, signal.SIGINT)
    process.wait(120)
    lab.run("scancel", "--user=root")


def test_a_workflow_that_was_killed_is_taken_up_by_the_next(study, undisturbed) -> None:
    """As when a login node dies: its job runs on, and the next call sends the same once more."""
    study.write(runs=trainings("alone"))
    process = study.start(*models("alone"))
    wait_until(lambda: study.steps("alone") > 2, process)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    study.run("snakemake", "--unlock", "--configfile", "study.yaml")
    study.finish(*models("alone"))
    assert study.model("alone") == undisturbed.model("alone")


def test_a_training_over_its_memory_goes_on_with_more(study, undisturbed, tmp_path) -> None:
    """In its midst it grows beyond what it asked for: killed without a word, and resumed from its last state."""
    study.write(runs=trainings("large"), resources={"train": {"mem_mb": 1500}})
    hungry = tmp_path / "hungry"
    (tmp_path / "sitecustomize.py").write_text(GREEDY.format(file=str(hungry)))
    process = study.start(*models("large"), PYTHONPATH=str(tmp_path))
    wait_until(lambda: [*(tmp_path / "results/runs/large/checkpoints").glob("state-*")], process)
    hungry.touch()
    study.end(process)
    sent = {int(job["JobID"]): job["MinMemory"] for job in jobs_in(tmp_path, "rule_train", "JobID", "MinMemory")}
    assert [sent[job] for job in sorted(sent)] == ["1500M", "3000M"]
    assert "resuming after step" in study.log("large")
    assert study.model("large") == undisturbed.model("alone")


# Python reads it at the start of every process of a job; the training alone eats.
GREEDY = """
import os, sys, threading, time

def eat():
    while not os.path.exists({file!r}):
        time.sleep(0.1)
    os.unlink({file!r})
    kept = b"x" * 2**31
    time.sleep(600)

if "train" in sys.orig_argv:
    threading.Thread(target=eat, daemon=True).start()
"""


@pytest.mark.parametrize(
    ("ask", "site"),
    [
        ({"tasks": 2, "nodes": 2}, "{}"),
        ({"gpus": 2, "nodes": 2}, "gpu_partition: gpu"),
        ({"gpus": 2, "nodes": 2}, "gpus: gres"),
    ],
    ids=["processes", "gpus", "gres"],
)
def test_ranks_on_two_nodes_train_through_the_rule(study, undisturbed, ask, site) -> None:
    """And compute what one process does, but for the order of sums."""
    study.write(runs=trainings("two"), resources={"train": ask})
    (study.folder / "config/site.yaml").write_text(site)
    study.finish(*models("two"))
    assert "srun starts 2 processes" in study.log("two")
    nodes = {job["JobID"]: job["NumNodes"] for job in squeue("JobID", "NumNodes")}
    assert nodes[study.job_of("two")] == "2"
    assert last_loss(study.log("two")) == pytest.approx(last_loss(undisturbed.log("alone")), rel=1e-3)


def test_six_shards_run_at_the_same_time(study, tmp_path) -> None:
    most = 0
    in_six_shards(study)
    (tmp_path / "config/site.yaml").write_text("modules: [cuda/12.8, gcc]")
    loaded = tmp_path / "loaded.txt"
    (tmp_path / "modules.sh").write_text(f'module() {{ echo "$@" >> {loaded}; }}\n')
    process = study.start("results/corpora/demo/distilled/train.target", BASH_ENV=str(tmp_path / "modules.sh"))
    while process.poll() is None:
        running = [
            job for job in squeue("State", "Comment") if job["State"] == "RUNNING" and "distil" in job["Comment"]
        ]
        most = max(most, len(running))
        time.sleep(0.3)
    study.end(process)
    assert most == 6
    sent = jobs_in(tmp_path, "distil", "ArrayJobID", "ArrayTaskID")
    assert len({job["ArrayJobID"] for job in sent}) == 1, "in one submission"
    assert sorted(job["ArrayTaskID"] for job in sent) == list("123456")
    assert set(loaded.read_text().splitlines()) == {"load cuda/12.8 gcc"}


def test_jobs_never_share_a_gpu(study, tmp_path) -> None:
    """Four stand-ins for six shards: each job sees one, and nobody else sees it meanwhile."""
    in_six_shards(study, resources={"distil": {"gpus": 1}})
    seen = tmp_path / "gpus.txt"
    words = '"$SLURMD_NODENAME $CUDA_VISIBLE_DEVICES $SLURM_JOB_ID"'
    (tmp_path / "record.sh").write_text(f'if [ -n "${{SLURM_JOB_ID:-}}" ]; then echo {words} >> {seen}; fi\n')
    study.finish("results/corpora/demo/distilled/train.target", BASH_ENV=str(tmp_path / "record.sh"))
    rows = {tuple(line.split()) for line in seen.read_text().splitlines() if len(line.split()) == 3}
    spans = {job["JobID"]: (job["StartTime"], job["EndTime"]) for job in squeue("JobID", "StartTime", "EndTime")}
    used: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for node, gpu, job in rows:
        assert gpu in ("0", "1"), "one of the two of its node"
        if job in spans:
            used.setdefault((node, gpu), []).append(spans[job])
    assert used
    for times in used.values():
        ordered = sorted(set(times))
        assert all(first[1] <= second[0] for first, second in itertools.pairwise(ordered))


def in_six_shards(study: ClusterStudy, **differences: object) -> None:
    study.write(**differences)
    path = study.folder / "study.yaml"
    path.write_text(path.read_text().replace("shards: 2", "shards: 6"))


def test_ctrl_c_cancels_the_jobs(study) -> None:
    study.write(runs=trainings("long", steps=50000))
    process = study.start(*models("long"))
    wait_until(lambda: study.steps("long") > 2, process)
    os.kill(process.pid, signal.SIGINT)
    process.wait(120)
    states = {job["JobID"]: job["State"] for job in squeue("JobID", "State")}
    assert states[study.job_of("long")] in ("CANCELLED", "COMPLETING")


@pytest.mark.parametrize(
    ("site", "said"),
    [
        (
            "partition: moon",
            "axenat: Slurm: unknown partition moon; known are cpu, gpu, urgent; correct partition or gpu_partition",
        ),
        ("resources: {train: {gpus: 3}}", "3 GPUs a node are asked for, at most 2 are there in partition cpu"),
        ("account: 'a b'", "config/site.yaml: account must be of letters, digits and"),
        ("acount: x", "acount is not a known key; allowed are account, partition"),
    ],
    ids=["partition", "gpus", "no-name", "key"],
)
def test_a_wrong_site_is_one_sentence_before_any_job(all_nodes, tmp_path, site, said) -> None:
    study = ClusterStudy(tmp_path).write()
    (tmp_path / "config/site.yaml").write_text(site)
    done = study.run("snakemake", "--profile", "slurm", "all", "--configfile", "study.yaml")
    assert done.returncode == 2
    assert next(line for line in done.stderr.splitlines() if line.startswith("axenat")).count(said) == 1, done.stderr
    assert "Traceback" not in done.stderr and not (tmp_path / "results").exists()
