"""Every error a user can meet: one class per situation, each with its exit code and its next step.

Exit codes (see README): 0 done, 1 defect of ours, 2 usage or configuration, 3 conflict, 4 gate FAIL,
5 UNPROVEN where proof was required, 6 environment, 130 interrupted.
"""

from typing import ClassVar

EXIT_OK = 0
EXIT_DEFECT = 1
EXIT_USAGE = 2
EXIT_CONFLICT = 3
EXIT_FAIL = 4
EXIT_UNPROVEN = 5
EXIT_ENVIRONMENT = 6
EXIT_INTERRUPTED = 130


class SpeedforkError(Exception):
    """Base of all expected errors: what happened, and the next command to type.

    Args:
        message: names the file, the value and what was expected.
        hint: the next command or step; the class's own advice when omitted.
    """

    exit_code: ClassVar[int] = EXIT_DEFECT
    advice: ClassVar[str] = ""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = self.advice if hint is None else hint
        self.facts: dict[str, object] = {}
        """What a machine reads beside the words, as plain JSON by name; set by whoever knows."""

    def __str__(self) -> str:
        return f"{self.message}\n  next: {self.hint}" if self.hint else self.message


class UsageProblem(SpeedforkError):
    """The command line asks for something that does not exist or cannot be combined."""

    exit_code = EXIT_USAGE
    advice = "invoke --list"


class ConfigProblem(SpeedforkError):
    """A configuration file is missing, malformed or holds impossible values."""

    exit_code = EXIT_USAGE
    advice = "mend the file named above, then run the command again"


class EnvironmentProblem(SpeedforkError):
    """Something outside the project is missing or broken: a tool, disk, network, port."""

    exit_code = EXIT_ENVIRONMENT


class ToolMissing(EnvironmentProblem):
    """A program that the work needs is not on PATH."""


class DiskFull(EnvironmentProblem):
    """The file system has no room for what is about to be written."""

    advice = "free some space, or set SPEEDFORK_HOME to a larger disk, and run the command again"


class IndexUnreachable(EnvironmentProblem):
    """The package index cannot be reached or does not have a pinned file."""

    advice = "check the network and pip's index settings (pip config list), then run the command again"


class DigestMismatch(EnvironmentProblem):
    """Downloaded or stored bytes are not the pinned ones."""

    advice = "the damaged file was removed; run the command again"


class CommandFailed(SpeedforkError):
    """A program that we started ended with a code we did not expect."""


class Busy(EnvironmentProblem):
    """Another run holds the lock of the state directory."""

    advice = "wait for the other run to end, or give this one its own SPEEDFORK_HOME"


class BuildFailed(SpeedforkError):
    """The compiler, the linker or CMake rejects the sources."""


class CompilerKilled(EnvironmentProblem):
    """The system killed a compiler, almost always for memory."""


class CompilerUnfit(EnvironmentProblem):
    """There is a C++ compiler, but it cannot compile what llama.cpp needs."""

    advice = "install g++ 10 or newer (apt-get install g++)"


class SourceTreeProblem(SpeedforkError):
    """A git tree is not there, or holds names that must not be written to disk."""


class ArchiveProblem(SpeedforkError):
    """An archive holds members that a release archive never has, or does not do what it should."""


class UnknownBuild(UsageProblem):
    """An upstream build was asked for that the source does not have."""

    advice = "invoke upstream"


class SourceArchiveProblem(EnvironmentProblem):
    """A source archive is corrupt, cut short, or holds members that must not be unpacked."""

    advice = "remove the file named above and run the command again; if it comes back, do not use this archive"


class TreeMismatch(EnvironmentProblem):
    """A source's files for a build are not the pinned ones: the tree ids differ."""

    advice = "do not build from this source; compare the two trees, then correct the pin or change the source"


class SourceUnreachable(EnvironmentProblem):
    """The git remote that upstream builds come from does not answer."""

    advice = "check the address and the network, then run invoke sync-upstream again"


class ServerProblem(EnvironmentProblem):
    """llama-server did not start, does not answer, or is not the server that we started."""

    advice = "read the server's log, then run the command again"


class ServerDied(ServerProblem):
    """The server ended by itself: while loading, or in the middle of a request."""


class ServerLate(ServerProblem):
    """The server is alive but was not ready before the deadline."""

    advice = "the machine may be busy: run the command again when it is quiet"


class ForeignServer(ServerProblem):
    """Something else answers where our server should: another program, another model, another build."""

    advice = "run the command again (a free port is chosen each time); stop the other server if it stays"


class ServerUnlike(ServerProblem):
    """The server runs, but not as asked: fewer slots, a smaller context, no speculation."""


class ReplyProblem(SpeedforkError):
    """A reply of the server that must not count as a sample."""

    exit_code = EXIT_UNPROVEN
    advice = "nothing was measured from this reply; run the suite again, and read the server's log if it repeats"


class SeriesProblem(ConfigProblem):
    """The patch queue does not hold together; the message lists every fault."""

    advice = "mend the named files in patches/, then run the command again"


class BaseMismatch(ConfigProblem):
    """A source's tree for the base is not the tree that the series was made on."""

    advice = "get the base from the source that base.toml was pinned on, or move the series and pin the new tree"


class NotAModel(EnvironmentProblem):
    """A file that should be a GGUF model is something else."""

    advice = "take the model from its pinned source (ci/config/models.toml), then run the command again"


class SeriesConflict(SpeedforkError):
    """A patch does not go onto the aim; nothing was moved."""

    exit_code = EXIT_CONFLICT
    advice = "invoke rebase-upstream  # opens a worktree for the conflict; see 'A conflict' in docs/maintainer.md"


class Interrupted(SpeedforkError):
    """The user pressed Ctrl-C."""

    exit_code = EXIT_INTERRUPTED
    advice = "finished work is kept: run the same command again"


class RangeProblem(UsageProblem):
    """Commits of a fork that cannot become a patch series as they are."""

    advice = "invoke import-series --help"


class PublishConflict(SpeedforkError):
    """The fork has work, or a tag, that publishing would replace; nothing was pushed."""

    exit_code = EXIT_CONFLICT


class ForkUnreachable(EnvironmentProblem):
    """The fork's git remote does not answer, or is no git repository."""

    advice = (
        "check the address, the network and your access, then run the command again; "
        "a token for https goes into the environment: SPEEDFORK_REMOTE=https://TOKEN@HOST/..."
    )


class PushRejected(EnvironmentProblem):
    """The fork's git remote answers, and refuses the push by its own rules."""

    advice = "mend what the remote names (write access, branch and tag rules), then run the command again"


class ResolutionProblem(ConfigProblem):
    """A recorded resolution of a conflict is damaged or is none: it must not reach a tree."""

    advice = "restore patches/resolutions/ from git, or remove the entry named above and resolve its conflict anew"


class RebaseInProgress(UsageProblem):
    """A conflict waits in its worktree; another rebase would lose what was done there."""


class NoRebase(UsageProblem):
    """There is no conflict to go on with."""

    advice = "invoke rebase-upstream"


class RebaseUnfinished(SpeedforkError):
    """What a person left in the worktree of a conflict is not ready to be taken over; nothing was changed."""

    exit_code = EXIT_CONFLICT


class DriftUnproven(SpeedforkError):
    """Upstream changed what patches use, nobody acknowledged it, and parity did not prove that it does no harm."""

    exit_code = EXIT_UNPROVEN


class DriftRefuted(SpeedforkError):
    """Upstream changed what patches use, nobody acknowledged it, and parity proved that something is wrong."""

    exit_code = EXIT_FAIL


class MergeBroke(CommandFailed):
    """git itself breaks off in the middle of a merge, by a fault of its own: nobody has a result."""


class EngineMissing(EnvironmentProblem):
    """No Docker Engine answers."""

    advice = (
        "install and start one (Debian: apt-get install docker.io, then systemctl start docker), "
        "or point DOCKER_HOST at one; then run the command again"
    )


class EngineProblem(EnvironmentProblem):
    """The Docker Engine answers, and refuses or fails."""

    advice = "look at the engine (docker info, docker system df), then run the command again"


class BuildLate(EnvironmentProblem):
    """A build was not over by its deadline."""

    advice = "finished objects are kept: run the command again, or raise SPEEDFORK_DEADLINE_S"


class ElfUnreadable(SpeedforkError):
    """A file that begins as a program or library cannot be read to its end; the audit makes a finding of it."""

    exit_code = EXIT_FAIL


class DeviceCodeUnread(EnvironmentProblem):
    """The reader of device code gives no answer that we know: nobody can say what a library carries."""

    advice = "pip install --force-reinstall nvidia-cuda-cuobjdump, then run the command again"


class NotAnArchive(UsageProblem):
    """The file to audit is not there, is damaged, or is no archive."""

    advice = "name a .tar.gz file: invoke audit --file FILE"


class NotComparable(SpeedforkError):
    """There is nothing that a fresh build could honestly be compared with: nothing is proven either way."""

    exit_code = EXIT_UNPROVEN


class BaseMissing(EnvironmentProblem):
    """There is no Debian 11 image to build a toolchain on."""

    advice = (
        "sudo debootstrap --variant=minbase --include=build-essential,ca-certificates,clang-16 bullseye debian-11 "
        "&& sudo tar -C debian-11 -c . | docker import - speedfork/debian:11"
    )


class StubUnfit(EnvironmentProblem):
    """The stub that stands for the driver's library at link time is missing, or lacks a call that the sources use."""

    advice = (
        "add the driver's calls named above to `stub` in ci/config/toolchain.toml, then: invoke toolchain, "
        "and the command again"
    )


class CardUnread(EnvironmentProblem):
    """nvidia-smi answers something that we do not know: nobody can say which card there is."""

    exit_code = EXIT_UNPROVEN
    advice = "run nvidia-smi by hand, mend the driver, then run the command again"


class CarryProblem(SpeedforkError):
    """What was carried to another machine, or came back from it, is not what was prepared: nothing is proven."""

    exit_code = EXIT_UNPROVEN
    advice = "invoke gpu-check --prepare, then carry the whole folder again"


class CheckpointProblem(UsageProblem):
    """A folder is no checkpoint that can be converted, or draft and target do not belong together."""

    advice = "take the whole checkpoint from its publisher again; see 'A draft to convert' in docs/models.md"


class ConversionFailed(SpeedforkError):
    """Upstream's converter or llama-quantize refuses a checkpoint, or what they made is no DSpark draft."""

    exit_code = EXIT_FAIL
    advice = "nothing was kept; read what the program said above, and check draft and target against its words"


class ModelUnreadable(NotAModel):
    """A file that a person named is no GGUF model, or its header cannot be read within bounds."""

    exit_code = EXIT_USAGE
    advice = "name a whole .gguf file: invoke inspect-model --file FILE"


class DownloadFailed(EnvironmentProblem):
    """The source of a model does not answer, breaks off, or does not let us in."""

    advice = "check the network and the address, then run the command again: it goes on with what is here"


class ModelNotOffered(ConfigProblem):
    """The source of a model answers, and does not have what models.toml asks for."""

    advice = "correct the source in ci/config/models.toml, then run the command again"
