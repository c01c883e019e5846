"""Fixtures of the parity suite."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ci.home import Home
from ci.llama.spec import Device, Scenario
from ci.models.fetch import ensure_model
from ci.parity.policy import CTX, NGRAM_FLAGS, NGRAM_N_MAX, PROFILES, THREADS, Profile
from ci.parity.prompts import all_prompts
from tests.suites.evidence import Builds
from tests.suites.parity.arms import AT_ONCE, Bench
from tests.suites.parity.scenes import Pairs, RealModel

MODEL = "smollm2-135m-q4_1"


@pytest.fixture(scope="session")
def amounts(profile: str) -> Profile:
    return PROFILES[profile]


@pytest.fixture(scope="session")
def log_dir(home: Home) -> Path:
    return home.work / "logs" / "parity"


@pytest.fixture(scope="session")
def bench(log_dir: Path) -> Iterator[Bench]:
    pool = ThreadPoolExecutor(AT_ONCE)
    yield Bench(log_dir=log_dir, pool=pool)
    pool.shutdown(cancel_futures=True)


@pytest.fixture(scope="session")
def real_model(home: Home, builds: Builds, amounts: Profile, bench: Bench, device: Device) -> RealModel:
    model = ensure_model(home, MODEL)
    plain = Scenario(name="real-plain", model=model, threads=THREADS, ctx=CTX, device=device)
    ngram = Scenario(
        name="real-ngram-mod",
        model=model,
        threads=THREADS,
        ctx=CTX,
        spec_type="ngram-mod",
        n_max=NGRAM_N_MAX,
        flags=NGRAM_FLAGS,
        device=device,
    )
    prompts, n = all_prompts()[: amounts.prompts], amounts.n_predict
    return RealModel(
        plain=plain,
        ngram=ngram,
        stock=bench.submit(builds.stock, plain, prompts, n),
        speed=bench.submit(builds.speed, plain, prompts, n),
        drafted=bench.submit(builds.speed, ngram, prompts, n),
        again=bench.submit(builds.speed, plain, prompts[: amounts.again], n),
    )


@pytest.fixture(scope="session")
def pairs(home: Home, builds: Builds, amounts: Profile, bench: Bench, device: Device) -> Pairs:
    return Pairs(home=home, builds=builds, amounts=amounts, bench=bench, device=device)
