# What is done before the first job, and after the last.

import contextlib
import functools
import io
import subprocess
from pathlib import Path

from snakemake.cli import get_profile_dir, parse_args

from axenat.dvc_lock import changed_by_hand, outs_by_stage
from axenat.earlier_inputs import accept_earlier_inputs
from axenat.files import remove, write_yaml
from axenat.preflight.cluster import check_cluster, refuse_problems


def tell_lacking():
    """Who asks for tables is told which runs the study would need for the whole of them."""
    for sentence in needs.lacking_for(STUDY, set(asked_for())):
        print(f"axenat: {sentence}", file=sys.stderr)


@functools.cache
def command_line():
    """What Snakemake was called with, profiles included; the workflow itself learns it only later."""
    if "snakemake" not in sys.argv[0] or "--target-jobs" in sys.argv:  # called as a library, or by itself for a job
        return None
    # With --directory, profiles lie where Snakemake was called: a shell tells, and most call it in the repository.
    here, called_in, repository = os.getcwd(), os.environ.get("PWD", ""), os.path.join(workflow.basedir, "..")
    said = io.StringIO()  # once more, which profiles it uses
    for place in [called_in, repository, here] if workflow.overwrite_workdir else [here, called_in]:
        with contextlib.suppress(SystemExit, OSError), contextlib.redirect_stderr(said), contextlib.chdir(place):
            words = parse_args(sys.argv[1:])[1]
            found = [get_profile_dir(name) for name in words.profile or []]  # nothing for "none"
            words.profile = [str(each[1].absolute()) for each in found if each]
            return words
    sys.exit(said.getvalue())


def asked_for():
    """Targets, and what --until and its like name."""
    words = command_line()
    return [*words.targets, *words.until, *words.forcerun, *words.omit_from] if words else []


def check_slurm():
    """Before the first job is sent: what would make all of them fail."""
    words = command_line()
    if words and words.executor == "slurm" and not words.dryrun:
        profile = words.profile[0] if words.profile else os.path.join(workflow.basedir, "profiles", "slurm")
        refuse_problems(check_cluster(Path(profile), SITE, RESOURCES.by_rule()))


def make_again():
    """DVC starts a stage whose files are not as recorded, and Snakemake would leave one that somebody has changed as it
    is: newer than all that it was made from."""
    words, lock = command_line(), Path("dvc.lock")
    if not INSIDE_DVC or not words or words.dryrun or words.touch or words.unlock or not lock.exists():
        return
    for path in changed_by_hand(outs_by_stage(lock).get(os.environ.get("DVC_STAGE", ""), {})):
        if any(Path(".snakemake/locks").glob("*")):  # whose file it may be, not noted yet
            advice = "wait for it, or call snakemake --unlock if there is none"
            raise UserError(f"{path} is not as dvc.lock has it, and another Snakemake is at work here; {advice}")
        print(f"axenat: {path} was changed after its job had made it; it is made again", file=sys.stderr)
        remove(path)


def accept_earlier():
    """Results that were made from plain text, before its words were files, are up to date."""
    if command_line() and not any(Path(".snakemake/locks").glob("*")):  # another Snakemake may be writing notes
        accept_earlier_inputs(STUDY)


def publish(*flags):
    """Mirror the files to MLflow; a store that is away never fails a workflow."""
    if os.environ.get("DVC_STAGE", "report") != "report":  # DVC starts a workflow for each stage; the last tells it all
        return
    further = ["--further", *further_outputs("score.json")]
    words = ["--study", STUDY.name, "--runs", *STUDY.runs, *further, "--patience", "600", *flags]
    subprocess.run(["axenat", "publish", *words])


def report_so_far():
    """What a failed study has by now; this must never hide why it failed."""
    request = layout.request_file(study_requests.SO_FAR)
    with contextlib.suppress(OSError):
        write_yaml(request, request_of(study_requests.SO_FAR))
    subprocess.run(["axenat", "report_so_far", "--request", request, "--out", "results/so-far"])


def asked_for_all():
    """Is the whole study up to date now, or only the part that was asked for?"""
    asked = workflow.dag_settings
    return set(asked.targets) <= {"all"} and not (asked.until or asked.omit_from or asked.batch)


def record():
    """Write dvc.yaml and dvc.lock, if all of the study in config/config.yaml is up to date, and not from inside DVC."""
    if asked_for_all() and os.path.exists("dvc.yaml") and not INSIDE_DVC:
        if STUDY == parse_study(read_yaml("config/config.yaml")):
            subprocess.run(["axenat", "describe"])
            subprocess.run(["axenat", "record"])


def register():
    """Tuned models in MLflow's registry; DVC, which says whether they can be relied on, must not be at work."""
    if asked_for_all() and not INSIDE_DVC:
        subprocess.run(["axenat", "register", "--runs", *STUDY.runs, "--choices", *layout.choices(STUDY)])
