# `make help` lists the targets. Every target runs in .venv and sets it up if necessary.

TARGET ?= ja
PYTHON ?=
ARGS ?=
export PYTHON PIP_FLAGS

# The scripts run in .venv, even if another environment is active.
IN_VENV := VIRTUAL_ENV="$(CURDIR)/.venv"

.DEFAULT_GOAL := help
.PHONY: help demo test coverage test-peers check docs wheels clean
.NOTPARALLEL:

help: ## list the targets
	@echo "make demo             train a small English-Japanese translator, a few minutes"
	@echo "make demo TARGET=de   the same for German; also fr and ko"
	@echo "make test             run the tests; ARGS='-k beam' is passed to pytest"
	@echo "make coverage         the same with branch coverage, which takes longer"
	@echo "make test-peers       run the tests that need other libraries, each in its own environment"
	@echo "make check            formatting, lint, types, layers, spelling"
	@echo "make docs             build the documentation into site/"
	@echo "make wheels           build wheels for all platforms into dist/"
	@echo "make clean            remove .venv, .peers and everything that was built, except runs/"
	@echo
	@echo "Every target sets up .venv if necessary. PYTHON=/path/to/python chooses the interpreter."

demo: .venv/.stamp-demo
	@.venv/bin/yakusu demo --target $(TARGET)

test: .venv/.stamp-dev
	@$(IN_VENV) scripts/test $(ARGS)

coverage: .venv/.stamp-dev
	@$(IN_VENV) scripts/test --cov --cov-branch --cov-report=term $(ARGS)

test-peers: .venv/.stamp-dev
	@.venv/bin/python -m benchmarks.interop.peers --record $(ARGS)

check: .venv/.stamp-dev
	@$(IN_VENV) scripts/check

docs: .venv/.stamp-dev
	@NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict
	@echo "the documentation is built: open site/index.html"

wheels:
	@scripts/wheels

clean:
	rm -rf .venv .peers site build dist .coverage .coverage.* coverage.xml htmlcov
	rm -rf src/yakusu/native/libyakusu.* src/yakusu/native/.libyakusu-*
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Installing compiles the C sources, too.
NATIVE := hatch_build.py src/yakusu/native/compile.py $(wildcard src/yakusu/native/*.[ch])

.venv/.stamp-%: pyproject.toml constraints.txt scripts/venv $(NATIVE)
	@scripts/venv $*
