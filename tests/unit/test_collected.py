"""Every test file is collected: a test that never runs proves nothing."""

import sys
from pathlib import Path

from ci.process import run, scrubbed_env

ROOT = Path(__file__).parents[2]


def collected(*args: str) -> set[str]:
    argv = (sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *args)
    done = run(argv, cwd=ROOT, env=scrubbed_env())
    return {line.split("::")[0] for line in done.text.splitlines() if "::" in line}


def files(folder: str) -> set[str]:
    return {str(path.relative_to(ROOT)) for path in (ROOT / folder).rglob("test_*.py")}


def test_default_run_collects_every_unit_and_integration_test() -> None:
    assert collected() == files("tests/unit") | files("tests/integration")


def test_every_suite_file_is_collected_on_request() -> None:
    for suite in ("tests/suites/parity", "tests/suites/throughput"):
        found = collected(suite, "--stock", "x", "--speed", "y", "--profile", "quick")
        assert found == files(suite)


def test_no_python_file_among_the_tests_looks_like_a_test_but_is_not_named_so() -> None:
    strays = [
        path
        for path in (ROOT / "tests").rglob("*.py")
        if not path.name.startswith("test_") and "\ndef test_" in path.read_text(encoding="utf-8")
    ]
    assert strays == []
