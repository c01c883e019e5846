"""What a server is started with: a scenario as a value, its command line, the named scenarios of `scenarios.toml`.

Flag names are those of llama.cpp's `common/arg.cpp`. Everything that changes the work (layers, context, slots,
threads, caches, memory fitting) is always said explicitly: a default of upstream's may move between two builds.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from ci.config import CONFIG_DIR, Field, Model, load_toml
from ci.errors import ConfigProblem, UsageProblem

SCENARIOS_FILE = CONFIG_DIR / "scenarios.toml"
SERVER_PROGRAM = "llama-server"
LOOPBACK = "127.0.0.1"
CTX_STEP = 256  # llama.cpp pads a slot's context to multiples of this; another value would come back changed
NEEDS_DRAFT = ("draft-simple", "draft-eagle3", "draft-dflash", "draft-dspark")
ALL_LAYERS = 999  # llama.cpp takes fewer where a model has fewer
SAYS_LAYERS = 4  # verbosity from which the server says how many layers are on a device
DRAFTLESS = ("draft-mtp", "ngram-simple", "ngram-map-k", "ngram-map-k4v", "ngram-mod")


@dataclass(frozen=True, kw_only=True)
class Device:
    """Where a server computes: on the processor alone unless told otherwise.

    Attributes:
        layers: layers of each model on the card; ALL_LAYERS for whatever it has.
        libraries: folders of the toolkit's libraries that do not stand beside the programs.
    """

    layers: int = 0
    libraries: tuple[Path, ...] = ()

    @property
    def env(self) -> dict[str, str]:
        """Variables for programs that use the card."""
        return {"LD_LIBRARY_PATH": ":".join(str(folder) for folder in self.libraries)} if self.libraries else {}


PROCESSOR = Device()


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One way to run llama-server: model, draft, speculation, sizes.

    Attributes:
        name: readable id; also part of the log file's name.
        model: the target GGUF.
        draft: the draft GGUF, for the speculation types that need one.
        spec_type: a value of `--spec-type`, or None for plain decoding.
        n_max: most drafted tokens a round (`--spec-draft-n-max`, or the ngram-mod equivalent).
        p_min: draft probability below which a draft stops (for DSpark: threshold on its confidence head).
        flags: further server flags, as typed.
        threads: threads of target and draft.
        ctx: context of **one** slot, tokens, a multiple of 256.
        slots: parallel sequences.
        device: where it computes.
    """

    name: str
    model: Path
    draft: Path | None = None
    spec_type: str | None = None
    n_max: int | None = None
    p_min: float | None = None
    flags: tuple[str, ...] = ()
    threads: int = 1
    ctx: int = 2048
    slots: int = 1
    device: Device = PROCESSOR

    def __post_init__(self) -> None:
        """Refuse combinations that the server would take and then run something else.

        Raises:
            UsageProblem: names the scenario and the field.
        """
        fault = _fault_of(self)
        if fault:
            raise UsageProblem(f"scenario {self.name!r}: {fault}", hint=f"edit {SCENARIOS_FILE}")

    @property
    def speculative(self) -> bool:
        """Whether drafts are expected."""
        return self.spec_type is not None


def _fault_of(scenario: Scenario) -> str | None:
    spec, known = scenario.spec_type, (*NEEDS_DRAFT, *DRAFTLESS)
    if spec is not None and spec not in known:
        return f"spec_type {spec!r} is not one of {', '.join(known)}"
    if spec in NEEDS_DRAFT and scenario.draft is None:
        return f"spec_type {spec!r} needs a draft model"
    if spec not in NEEDS_DRAFT and scenario.draft is not None:
        return f"a draft model without a speculation type that uses it (spec_type is {spec!r})"
    if scenario.ctx <= 0 or scenario.ctx % CTX_STEP:
        return f"ctx {scenario.ctx} is not a positive multiple of {CTX_STEP}"
    if min(scenario.threads, scenario.slots) < 1:
        return f"threads {scenario.threads} and slots {scenario.slots} must be at least 1"
    return None


def server_argv(scenario: Scenario, build_dir: Path, port: int, *, alias: str = "speedfork") -> tuple[str, ...]:
    """The command line of one server.

    Args:
        scenario: what to run.
        build_dir: flat folder that holds the program and its libraries.
        port: TCP port on the loopback address.
        alias: model name that the server reports; a fresh one per start proves whose server answers.
    """
    total_ctx = scenario.ctx * scenario.slots  # without a unified cache the server divides -c by the slots
    return (
        str(build_dir / SERVER_PROGRAM),
        *("--model", str(scenario.model), "--alias", alias),
        *("--host", LOOPBACK, "--port", str(port)),
        *_device_flags(scenario.device),
        *("--parallel", str(scenario.slots), "--ctx-size", str(total_ctx), "--no-kv-unified"),
        *("--threads", str(scenario.threads), "--threads-batch", str(scenario.threads)),
        *("--cache-ram", "0", "--no-context-shift", "--no-ui", "--offline"),
        *_spec_flags(scenario),
        *scenario.flags,
    )


def _device_flags(device: Device) -> tuple[str, ...]:
    """Layers are always said, and how many there are is always told when there should be some."""
    told = ("--verbosity", str(SAYS_LAYERS)) if device.layers else ()
    return ("--gpu-layers", str(device.layers), "--fit", "off", *told)


def _spec_flags(scenario: Scenario) -> tuple[str, ...]:
    if scenario.spec_type is None:
        return ()
    words: tuple[str, ...] = ("--spec-type", scenario.spec_type)
    if scenario.draft is not None:
        words += ("--spec-draft-model", str(scenario.draft), "--spec-draft-threads", str(scenario.threads))
        words += ("--spec-draft-threads-batch", str(scenario.threads))
        words += ("--spec-draft-ngl", str(scenario.device.layers))
    if scenario.n_max is not None:
        option = "--spec-ngram-mod-n-max" if scenario.spec_type == "ngram-mod" else "--spec-draft-n-max"
        words += (option, str(scenario.n_max))
    if scenario.p_min is not None:
        words += ("--spec-draft-p-min", f"{scenario.p_min:g}")
    return words


class Plan(Model):
    """One entry of `scenarios.toml`: a scenario before its files are known, and the protocol of its requests.

    Exactly one of `model` (an id of models.toml) and `pair` (a named exact pair) is given.
    """

    model: str | None = None
    pair: str | None = None
    spec_type: str | None = None
    n_max: int | None = Field(default=None, ge=1, le=64)
    p_min: float | None = Field(default=None, ge=0, le=1)
    flags: tuple[str, ...] = ()
    threads: int = Field(default=1, ge=1)
    ctx: int = Field(default=2048, ge=CTX_STEP)
    n_predict: int = Field(ge=2)
    temperature: float = Field(default=0.0, ge=0)
    top_k: int = Field(default=0, ge=0)
    profiles: tuple[Literal["quick", "full"], ...] = ("quick", "full")
    clock: Literal["cpu", "server"] = "server"
    """What throughput is judged by: CPU time of the server (one thread, no device), or the server's own clock."""
    claims: bool = False
    """Whether the series promises a gain here: the throughput gate then asks for one."""
    exercises: tuple[str, ...] = ()
    """Ids of patches whose code runs here: their switches are measured in this scenario."""
    why: str

    def on(self, device: Device) -> Self:
        """The plan as it is measured on a device: CPU time does not see a card's work, the server's clock does."""
        return self.model_copy(update={"clock": "server"}) if device.layers else self

    def scenario(self, name: str, target: Path, draft: Path | None, device: Device = PROCESSOR) -> Scenario:
        """Bind the plan to files and a device; `draft` is used only if the speculation type needs one."""
        return Scenario(
            name=name,
            model=target,
            draft=draft if self.spec_type in NEEDS_DRAFT else None,
            spec_type=self.spec_type,
            n_max=self.n_max,
            p_min=self.p_min,
            flags=self.flags,
            threads=self.threads,
            ctx=self.ctx,
            device=device,
        )


class _File(Model):
    scenario: dict[str, Plan]


def load_plans(path: Path = SCENARIOS_FILE) -> dict[str, Plan]:
    """All named scenarios in file order.

    Raises:
        ConfigProblem: not a valid file, or an entry that names both or neither of model and pair.
    """
    plans = load_toml(_File, path, hint=f"edit {path}").scenario
    unclear = [name for name, plan in plans.items() if (plan.model is None) == (plan.pair is None)]
    if unclear:
        raise ConfigProblem(f"{path}: {', '.join(unclear)}: give exactly one of model and pair", hint=f"edit {path}")
    return plans


def plans_for(profile: str, path: Path = SCENARIOS_FILE) -> dict[str, Plan]:
    """The scenarios that a profile measures."""
    return {name: plan for name, plan in load_plans(path).items() if profile in plan.profiles}


def plans_exercising(patch_id: str, path: Path = SCENARIOS_FILE) -> dict[str, Plan]:
    """The scenarios in which the code of a patch runs: where its switch is measured."""
    return {name: plan for name, plan in load_plans(path).items() if patch_id in plan.exercises}
