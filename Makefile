# Two commands: `make demo` shows the whole system, `make test` checks it. Both set up what they need.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
CORES ?= 2
BIN := .venv/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
# Telemetry of the tools is off; a demo should talk to nobody.
export MLFLOW_DISABLE_TELEMETRY := true
export DVC_NO_ANALYTICS := true

.PHONY: demo test test-slurm mutants setup check clean-results help

demo: setup
	@snakemake --cores $(CORES) all
	@cat results/tables/results.txt
	@echo "Report: $(CURDIR)/results/report.html    Runs: .venv/bin/mlflow ui"

# On a real Slurm of its own: root and Debian's packages are needed.
test-slurm: setup
	@AXENAT_SLURM=1 pytest tests/cluster --verbose

test: setup
	@$(MAKE) --no-print-directory check
	@pytest -n $(CORES) --dist loadfile --no-loadscope-reorder

# Deliberate mistakes, one at a time: each must make a test fail. It takes about an hour; CONTRIBUTING tells when.
mutants: setup
	@python -m tests.mutants --workers $(CORES)

check: setup
	@ruff format --check .
	@ruff check .
	@mypy

setup: .venv/installed

# The stamp is written last: an interrupted installation starts again.
.venv/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' \
		|| { echo "axenat needs Python 3.11; say which one it is: make PYTHON=/path/to/python3.11"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing into .venv (a few minutes, about 3 GB)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[fast,test]'
	@touch $@

clean-results:
	rm -rf results logs slurm_logs data .snakemake mlflow.db mlflow.db.lock .mlflow.db.new* mlruns

help:
	@sed -n '1s/# //p' Makefile
