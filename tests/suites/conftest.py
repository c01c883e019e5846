"""What all suites share: options, the two builds, the home, and an evidence file that is written whatever happens.

Every test is one gate or more: it calls `record` with a GateResult and fails unless that is a PASS. A test that ends
without a recorded verdict (an error, a skip, an interruption) leaves an UNPROVEN one under its own name.
"""

import os
import warnings
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from ci.builds.store import Build, load_build
from ci.files import write_json
from ci.home import Home
from ci.llama.spec import Device
from ci.outcome import GateResult, JsonValue, Verdict
from tests.suites.evidence import Builds, Evidence

CHECKOUT = Path(__file__).parents[2]
PROFILES = ("quick", "full")


NO_BENCHMARKS = "Not saving anything, no benchmarks have been run!"
"""pytest-benchmark's warning when no scenario began: the evidence says why, and better."""

EVIDENCE = pytest.StashKey[Evidence]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("suites")
    group.addoption("--stock", type=Path, help="folder of the stock build")
    group.addoption("--speed", type=Path, help="folder of the speed build")
    group.addoption("--profile", choices=PROFILES, default="quick", help="how much to run")
    group.addoption("--home", type=Path, help="state directory (models, server logs); as SPEEDFORK_HOME when omitted")
    group.addoption("--gpu-layers", type=int, default=0, help="layers on the card; default: the processor alone")
    group.addoption("--libraries", type=Path, action="append", default=[], help="folder of the toolkit's libraries")
    group.addoption("--evidence", type=Path, help="JSON file for verdicts and figures")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[EVIDENCE] = Evidence()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    evidence = item.config.stash[EVIDENCE]
    explained = any(result.verdict is not Verdict.PASS for result in evidence.of(item.nodeid))
    if report.failed and call.excinfo is not None and not explained:
        evidence.unproven(item, f"{report.when}: {call.excinfo.typename}: {call.excinfo.value}")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Write the evidence after each test: a session that is cut off leaves what it had found out."""
    result = yield
    write_evidence(item.session)
    return result


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, object, object]:
    """Write the evidence before any other plugin can fail at the end of the session."""
    write_evidence(session)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", NO_BENCHMARKS)
        return (yield)


def write_evidence(session: pytest.Session) -> None:
    path: Path | None = session.config.getoption("--evidence")
    if path is None or session.config.option.collectonly:
        return
    evidence = session.config.stash[EVIDENCE]
    items = list(getattr(session, "items", []))
    write_json(
        path,
        {
            "suite": suite_of(items),
            "profile": session.config.getoption("--profile"),
            "stock": side(evidence.stock),
            "speed": side(evidence.speed),
            "gates": [result.to_json() for item in items for result in evidence.verdicts(item)],
            "figures": evidence.figures,
        },
    )


def suite_of(items: list[pytest.Item]) -> str:
    return items[0].path.parent.name if items else ""


def side(build: Build | None) -> dict[str, str] | None:
    return {"label": build.label, "digest": build.digest} if build else None


@pytest.fixture(scope="session")
def profile(pytestconfig: pytest.Config) -> str:
    return str(pytestconfig.getoption("--profile"))


@pytest.fixture(scope="session")
def device(pytestconfig: pytest.Config) -> Device:
    """Where the servers compute."""
    libraries = tuple(folder.resolve() for folder in pytestconfig.getoption("--libraries"))
    return Device(layers=int(pytestconfig.getoption("--gpu-layers")), libraries=libraries)


@pytest.fixture(scope="session")
def home(pytestconfig: pytest.Config) -> Home:
    """The state directory that holds models and takes server logs."""
    named: Path | None = pytestconfig.getoption("--home")
    return Home(root=named.resolve(), checkout=CHECKOUT) if named else Home.find(CHECKOUT, os.environ)


@pytest.fixture(scope="session")
def builds(pytestconfig: pytest.Config) -> Builds:
    """Both builds, every file checked against its recorded digest."""
    evidence = pytestconfig.stash[EVIDENCE]
    evidence.stock = load_build(folder(pytestconfig, "--stock"), check=True)
    evidence.speed = load_build(folder(pytestconfig, "--speed"), check=True)
    return Builds(stock=evidence.stock, speed=evidence.speed)


def folder(config: pytest.Config, option: str) -> Path:
    path: Path | None = config.getoption(option)
    if path is None:
        raise pytest.UsageError(f"{option} DIR is missing: the folder of a build (nox -s build-cpu makes both)")
    return path.resolve()


@pytest.fixture(scope="session")
def figures(pytestconfig: pytest.Config) -> dict[str, JsonValue]:
    """Numbers for the evidence file that are no verdicts."""
    return pytestconfig.stash[EVIDENCE].figures


@pytest.fixture
def record(request: pytest.FixtureRequest) -> Callable[[GateResult], None]:
    """Keep a verdict as evidence; anything but PASS fails the test."""
    kept = request.config.stash[EVIDENCE].of(request.node.nodeid)

    def keep(result: GateResult) -> None:
        kept.append(result)
        if result.verdict is not Verdict.PASS:
            pytest.fail(f"{result.gate}: {result.verdict}: {result.reason}", pytrace=False)

    return keep
