"""How many jobs each stage of a study has, if nothing is done yet."""

from axenat import layout
from axenat.catalogue import CATALOGUE, FIGURE_NAMES
from axenat.corpus_config import SPLITS
from axenat.study import Study


def jobs_of(study: Study) -> dict[str, int]:
    """By the name of the stage; those that write configurations are not counted."""
    trained = {run.corpus for run in study.runs.values()}
    several = [corpus for corpus in trained if study.corpora[corpus].references > 1]
    distilled = {run.corpus for run in study.runs.values() if run.target_side == "distilled"}
    own_split = len(study.corpora) * len(SPLITS)
    decodings = sum(len(run.decode_names) for run in study.runs.values())
    return {
        "fetch": len(layout.archives_by_place(study)),
        "download": own_split,
        "clean": own_split + len(several),  # and the references of test, where there are several
        "learn_subwords": len(trained),
        "encode": len({layout.ids(study, run, split) for run in study.runs for split in ("train", "valid")}),
        **dict.fromkeys(("train", "average", "tune"), len(study.runs)),
        "distil": sum(len(layout.shards(study, corpus, "target")) for corpus in distilled),
        "gather": len(distilled),
        **dict.fromkeys(("translate", "score"), decodings),
        "analyse": len(study.runs),
        "choose": len(study.grids),
        "speed": int(any("speed" in CATALOGUE[table].reads for table in study.tables)),
        "summarise": 1,
        "tables": len(study.tables),
        "figures": len(FIGURE_NAMES),
        "report": 1,
    }
