from axenat.jobs import jobs_of
from axenat.study import parse_study
from tests.studies import study


def test_jobs_follow_from_corpora_runs_and_decodings() -> None:
    # Two corpora of which one is trained on; a teacher, a distilled student and a grid of two; 2 shards.
    jobs = jobs_of(parse_study(study()))
    assert (jobs["download"], jobs["clean"]) == (6, 7)  # of the first, test has three references
    assert jobs["learn_subwords"] == 1 and jobs["encode"] == 3  # raw train and valid, distilled train
    assert jobs["train"] == jobs["average"] == jobs["tune"] == jobs["analyse"] == 4
    assert (jobs["distil"], jobs["gather"], jobs["choose"]) == (2, 1, 1)
    assert jobs["translate"] == jobs["score"] == 7  # students with one length candidate too


def test_a_corpus_with_one_reference_has_no_others_to_tokenise() -> None:
    assert jobs_of(parse_study(study(corpora__demo__references=1)))["clean"] == 6


def test_a_study_without_distilled_runs_distils_nothing() -> None:
    jobs = jobs_of(parse_study(study(runs__ce__target_side="raw")))
    assert (jobs["distil"], jobs["gather"], jobs["encode"]) == (0, 0, 2)
