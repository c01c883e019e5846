"""A fetch that is killed in the middle: what is left is a partial to go on from, and never a wrong final name."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

from ci.models.fetch import ensure_files, files_of
from ci.models.lock import FromUrl
from ci.process import Running, scrubbed_env
from tests.helpers.file_sites import Served, Site, serving
from tests.helpers.made_models import GGUF, entry, home_at, shard

CHECKOUT = Path(__file__).parents[3]
LARGE = GGUF + os.urandom(1 << 20) * 4
FETCH = """
import sys
from pathlib import Path
from ci.home import Home
from ci.models.fetch import ensure_files
from ci.models.lock import ModelEntry
root = Path(sys.argv[1])
ensure_files(Home(root=root, checkout=root), ModelEntry.model_validate_json(sys.argv[2]))
"""


def test_a_killed_fetch_leaves_a_partial_and_the_next_goes_on_from_it(tmp_path: Path) -> None:
    held = threading.Event()
    served = Served(content=LARGE, go_on=held)
    with serving(Site(files={"/tiny.gguf": served})) as site:
        model = entry(url=FromUrl(address=f"{site.url}/tiny.gguf", shard=(shard(LARGE),)))
        home = home_at(tmp_path)
        (file,) = files_of(home, model)
        argv = (sys.executable, "-c", FETCH, str(home.root), model.model_dump_json())
        with Running(argv, env=scrubbed_env(extra={"PYTHONPATH": str(CHECKOUT)}), log=tmp_path / "log") as child:
            until = time.monotonic() + 60
            while file.partial.read()[0] < 1 << 20:
                assert child.exit_code() is None, child.log_tail()
                assert time.monotonic() < until
                time.sleep(0.01)
            os.kill(child.pid, signal.SIGKILL)
        held.set()
        assert not file.path.exists()
        kept = file.partial.read()[0]
        assert LARGE.startswith(file.partial.path.read_bytes())
        served.go_on = None
        assert ensure_files(home, model) == (file.path,)
        assert file.path.read_bytes() == LARGE
        assert site.ranges == [None, f"bytes={kept}-"]
        assert not file.partial.path.exists()
