"""Options from the environment: those that make no sense are named, those that are not needed are not looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.settings import Settings
from tests.running import code_of


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A process of a user whom the system does not know, as in many containers."""

    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for variable in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(variable, raising=False)
    for variable in ("DATA", "CACHE", "RUNTIME"):
        monkeypatch.delenv(f"LEAN_SIDECAR_{variable}", raising=False)
    monkeypatch.setattr(Path, "home", nowhere)
    return monkeypatch


def test_without_a_home_folder_the_way_out_is_said(homeless: pytest.MonkeyPatch) -> None:
    error = code_of(Settings)
    assert (error.code, error.field) == ("bad_request", "HOME")
    assert "LEAN_SIDECAR_CACHE" in (error.hint or "")


@pytest.mark.parametrize(
    "variables",
    [("LEAN_SIDECAR_DATA", "LEAN_SIDECAR_CACHE", "LEAN_SIDECAR_RUNTIME"), ("XDG_DATA_HOME", "XDG_CACHE_HOME")],
)
def test_a_home_folder_is_not_needed_where_folders_are_given(
    homeless: pytest.MonkeyPatch, tmp_path: Path, variables: tuple[str, ...]
) -> None:
    for variable in variables:
        homeless.setenv(variable, str(tmp_path))
    settings = Settings()
    for folder in (settings.data_folder, settings.cache_folder, settings.runtime_folder):
        assert folder.is_relative_to(tmp_path)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("LEAN_SIDECAR_DATA", "~nobody-of-this-name/x"),
        ("LEAN_SIDECAR_INDEX", "~nobody-of-this-name/x"),
        ("LEAN_SIDECAR_TOKEN", "two\nlines"),
        ("LEAN_SIDECAR_TOKEN", "gehéim"),
        ("LEAN_SIDECAR_THREADS", "-1"),
        ("LEAN_SIDECAR_CACHE_BYTES", "1e9"),
        ("LEAN_SIDECAR_DOCUMENTATION", "nothing"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    error = code_of(Settings)
    assert (error.code, error.field) == ("bad_request", variable)
    assert error.hint
