"""The clocks of a measurement, and what a rate by each of them is called."""

from typing import Literal, TypeAlias

ClockName: TypeAlias = Literal["cpu", "server", "wall"]

CLOCKS: tuple[ClockName, ...] = ("cpu", "server", "wall")

RATES: dict[ClockName, str] = {
    "cpu": "tokens per CPU second",
    "server": "tokens/s by the server's clock",
    "wall": "tokens/s by the client's clock",
}
