"""The stub driver library as a source."""

from ci.builds.target import find_lane
from ci.builds.toolchain.lock import load_parts
from ci.builds.toolchain.stub import stub_source
from tests.helpers.wheels import STUB


def test_every_function_is_defined_and_fails() -> None:
    comment, *lines = stub_source(STUB).splitlines()
    assert comment.startswith("/*")
    assert lines == ["int cuMemMap(void) { return 100; }"]


def test_the_driver_calls_of_ggml_cuda_are_there() -> None:
    source = stub_source(load_parts(find_lane("cu13")).stub)
    for name in ("cuMemAddressReserve", "cuMemCreate", "cuMemMap", "cuMemSetAccess", "cuDeviceGetAttribute"):
        assert f"int {name}(void)" in source
