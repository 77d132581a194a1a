# Everything runs in a virtual environment in .venv, which is made when it is first needed.

PYTHON ?= python3
BIN := .venv/bin
EXAMPLE := examples/mlp_dp_tp.mlir

# Hundreds of processes import the same modules, which each would compile again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo demo-devices test lint format docs site choices nightly fuzz bench clean

help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.venv/run: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

.venv/test: pyproject.toml | .venv/run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@

.venv/dev: pyproject.toml | .venv/run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

.venv/docs: pyproject.toml | .venv/run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

demo: .venv/run ## partition a two-layer MLP for four devices, run it, and compare
	@echo "--- $(EXAMPLE), as written:"
	@$(BIN)/mesh-opt $(EXAMPLE)
	@echo "--- the program of each of the four devices:"
	@$(BIN)/mesh-opt $(EXAMPLE) --spmd
	@echo "--- run on four devices and compared with the program as written:"
	@$(BIN)/mesh-opt $(EXAMPLE) --spmd | $(BIN)/mesh-run - --random-inputs=0 --output_max_element_count=8 --check=$(EXAMPLE)

demo-devices: .venv/run ## run two matrix products on two devices that lay tensors out differently
	$(BIN)/mesh-run examples/two_devices.mlir --device=list
	$(BIN)/mesh-run examples/two_devices.mlir --function=foo --input=2x3xf32=1,2,3,4,5,6 \
	    --input=3x5xf32=1 --device=local-task --device=local-task --check

test: .venv/test ## run all tests
	$(BIN)/python -m pytest -n auto

lint: .venv/dev ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: .venv/dev ## put the code into its normal form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: .venv/run ## put the IR that mesh-opt prints now into the documentation
	$(BIN)/python tests/helpers/documented_output.py docs/*.md

site: .venv/docs ## build the documentation into site/, which opens from the folder
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs site

choices: .venv/run ## compare what is sent with Shardy and XLA: MESH_OPT_PEERS_PYTHON has JAX
	$(BIN)/python -m benchmarks.sharding_choices > .venv/choices.md
	cp .venv/choices.md docs/sharding_choices.md

nightly: .venv/test ## the tests with the breadth that takes too long for every change
	MESH_OPT_NIGHTLY=1 MESH_OPT_FAILING_PROGRAM=failing_program.mlir $(BIN)/python -m pytest -n auto
	$(BIN)/python -m pytest -n auto tests/lit --shell

fuzz: .venv/test ## read 200,000 mutated programs
	MESH_OPT_NIGHTLY=1 $(BIN)/python -m pytest -n auto tests/unit/tools/test_fuzz*.py

bench: .venv/run ## measure the front end against plain xDSL
	$(BIN)/python -m benchmarks.front_end

clean: ## remove the virtual environment and what builds left behind
	rm -rf .venv build dist site *.egg-info
