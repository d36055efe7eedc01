# Each target sets up what it needs: Python 3.11 to 3.14, git and make are enough, without pip and without ensurepip.
VENV := .venv
BIN := $(VENV)/bin
PIP := $(wildcard requirements/pip-*.whl)
PINS := requirements/constraints.txt
UNFIT := not (3, 11) <= sys.version_info < (3, 15)
# python3 if it fits, or else the newest with a name of its own; another one: make PYTHON=...
PYTHON ?= $(firstword $(foreach name,python3 python3.14 python3.13 python3.12 python3.11,\
  $(shell $(name) -c 'import sys, venv; sys.exit($(UNFIT))' 2>/dev/null && echo $(name))))
PACKAGING := pyproject.toml setup.cfg $(PINS)
TYPED := btflow tests tools $(wildcard validation)
CODE := $(TYPED) models data notebooks

# An environment that was left half made, or whose Python is gone since, is made anew, and its stamps, below, are void.
ifneq (whole,$(shell test -e $(BIN)/activate && $(BIN)/python -c 'import sys; sys.exit($(UNFIT))' 2>/dev/null && echo whole))
$(shell rm -f $(BIN)/pip $(VENV)/.run $(VENV)/.notebook $(VENV)/.docs $(VENV)/.dev)
.PHONY: $(BIN)/python
endif

.PHONY: demo test test-rest test-all search explore lab notebooks lint format docs figures validate packet-level libtorrent-oracle real-clients lines bench bench-simgrid calibrate clean

demo: $(VENV)/.run  ## the 2010 cluster experiment, beside the paper's figures
	$(BIN)/python -m validation.demo

test: $(VENV)/.dev  ## minutes; says what it leaves out
	$(BIN)/python -m pytest -m "not slow"

test-rest: $(VENV)/.dev  ## what `make test` leaves out: browsers, notebooks, killed processes, many examples
	$(BIN)/python -m pytest -m slow $(ARGS)

test-all: test test-rest

# The other tests draw the same examples each time. What this finds becomes a test of its own.
search: $(VENV)/.dev  ## the tests of `make test` with examples drawn anew
	$(BIN)/python -m pytest -m "not slow" --hypothesis-profile=search

notebooks: $(VENV)/.dev  ## all notebooks, run as the tests run them, with the seconds that each takes
	$(BIN)/python -m pytest tests/documents/test_notebooks.py --durations=0

lint: $(VENV)/.dev
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/nbstripout --verify notebooks/*.ipynb
	$(BIN)/mypy $(TYPED)
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)
	$(BIN)/nbstripout notebooks/*.ipynb

explore: $(VENV)/.notebook  ## a web page: links and swarms that change as you drag
	$(BIN)/btflow explore

lab: $(VENV)/.notebook  ## JupyterLab on the teaching notebooks
	$(BIN)/btflow lab

docs: $(VENV)/.docs  ## the documentation site: build/site/index.html
	$(BIN)/btflow handout build/lessons --site ../
	$(BIN)/python -m tools.docs.notebooks
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

figures: $(VENV)/.dev  ## the figures of the README and the documentation; needs Chromium
	$(BIN)/python -m validation.call_figure
	$(BIN)/python -m validation.docs_figures
	$(BIN)/python -m validation.readme_figure
	$(BIN)/python -m validation.pictures
	$(BIN)/python -m validation.internet --image docs/figures/internet-swarms.png
	$(BIN)/python -m validation.lines figure

validate: $(VENV)/.run  ## every published claim, checked by running the swarms, and links against packets
	@failed=0; for part in validation validation.links validation.links.fluid validation.links.closure validation.swarms validation.swarms.packets validation.internet validation.fidelity validation.fidelity.links validation.overview; do $(BIN)/python -m $$part || failed=1; done; exit $$failed

packet-level:  ## the packet-level reference by ns-3: needs g++, takes an hour of one core
	$(PYTHON) -m validation.packet_level.run

libtorrent-oracle: $(VENV)/.run  ## libtorrent itself in virtual time: needs g++, git, Boost and OpenSSL; an hour of one core
	$(BIN)/python -m validation.libtorrent build

# CELLS=a,b for some cells, RUNS for other than 3 runs of each, BED=1 to measure beside another that runs already
real-clients: $(VENV)/.run  ## swarms of real clients in network namespaces, beside the simulator: validation/clients.md; root, hours
	$(BIN)/python -m validation.clients measure --cells "$(CELLS)" --runs $(or $(RUNS),3) --bed $(or $(BED),0)
	$(BIN)/python -m validation.clients report

lines: $(VENV)/.run  ## lines made in network namespaces, measured by iperf3, ping, tcpdump and flent: validation/lines.md; root
	$(BIN)/python -m validation.lines measure
	$(BIN)/python -m validation.lines report

# BENCH=--no-scale leaves out what takes minutes
bench: $(VENV)/.run  ## cost of swarms, sweeps and links, beside SimGrid and ns-3: validation/benchmarks.md
	$(BIN)/python -m validation.benchmarks $(BENCH)

bench-simgrid: $(VENV)/.run  ## SimGrid and our swarm on it: needs g++, cmake and Boost's headers, 15 minutes of one core
	$(BIN)/python -m validation.simgrid

# RAW=folder: with PlanetLab's matrices, to build the tables anew; without it they are checked
calibrate: $(VENV)/.run  ## the path model of the Internet, against the published points
	$(BIN)/python -m validation.calibration $(RAW)

clean:
	rm -rf $(VENV) build dist *.egg-info demo.html .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

$(BIN)/python:
	@$(or $(PYTHON),false) -c 'import sys, venv; sys.exit($(UNFIT))' || { echo 'btflow needs Python 3.11 to 3.14:' \
	  '"apt install python3" on Debian 12, Ubuntu 24.04 or newer, "brew install python" on macOS,' \
	  'or "make PYTHON=/path/to/python3".' >&2; exit 1; }
	$(PYTHON) -m venv --clear --without-pip $(VENV)

# Debian's and Ubuntu's python3 cannot install pip (ensurepip is a package of its own): requirements/README.md.
$(BIN)/pip: | $(BIN)/python
	$(BIN)/python $(PIP)/pip install --quiet --no-index --ignore-installed $(PIP)

# A package that an earlier try was cut off in has no RECORD: pip is to install it, not to take it for whole. The last line is
# for `import btflow` where a clone called btflow lies in the working directory: pip's way alone finds an empty package there.
define install
@echo 'btflow: installs the packages that it needs in $(VENV), once: $(2) MB to download, a few minutes.'
@find $(VENV)/lib -name '*.dist-info' -prune ! -exec test -e '{}/RECORD' \; -exec rm -r '{}' +
$(BIN)/python -m pip install --constraint $(PINS) --editable '$(1)'
@for packages in $(VENV)/lib/python3*/site-packages; do pwd > $$packages/btflow-sources.pth; done
endef

# The stamps say what is installed: .run the package, .notebook its notebooks and explorer, .docs what builds its site,
# .dev all of it and the development tools.
$(VENV)/.run: $(PACKAGING) | $(BIN)/pip
	$(call install,.,160)
	touch $@

$(VENV)/.notebook: $(PACKAGING) | $(BIN)/pip
	$(call install,.[notebook],210)
	touch $@ $(VENV)/.run

$(VENV)/.docs: $(PACKAGING) | $(BIN)/pip
	$(call install,.[docs],230)
	touch $@ $(VENV)/.run

$(VENV)/.dev: $(PACKAGING) | $(BIN)/pip
	$(call install,.[dev],350)
	touch $@ $(VENV)/.run $(VENV)/.docs $(VENV)/.notebook
