"""Which device code a build carries: every spelling of a CUDA architecture list gets one answer or an error."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ArchPlan:
    """A checked architecture list.

    Args:
        cmake: the value for CMAKE_CUDA_ARCHITECTURES, e.g. `75-real;120a-real`.
        sass: machine code that the result must carry, as cuobjdump names it: `sm_75`, `sm_120a`.
        ptx: code for the driver's compiler that it carries besides: `compute_120a`.
    """

    cmake: str
    sass: tuple[str, ...]
    ptx: tuple[str, ...]


def plan_archs(spelling: str) -> ArchPlan:
    """The plan for an architecture list, in CMake's words."""
    names = tuple(f"sm_{arch.removesuffix('-real')}" for arch in spelling.split(";"))
    return ArchPlan(cmake=spelling, sass=names, ptx=())
