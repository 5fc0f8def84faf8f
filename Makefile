# `make demo` shows the sidecar at work, `make test` runs every check; both set up what they need in .venv.
PYTHON ?= python3
VENV ?= .venv

.PHONY: demo test lint install clean

demo: $(VENV)/.sidecar
	$(VENV)/bin/lean-sidecar demo

test: $(VENV)/.development
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/python -m pytest -n 2 --dist loadfile

install: $(VENV)/.sidecar

$(VENV)/.sidecar: pyproject.toml constraints.txt
	@echo "setting up $(VENV), which takes some minutes the first time"
	test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --constraint constraints.txt --editable .
	touch $@

$(VENV)/.development: $(VENV)/.sidecar
	$(VENV)/bin/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,mcp,train,search-train]'
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache
