"""A stand-in for llama-server whose behaviour a test chooses by FAKE_MODE; standard library only, run as a program.

It answers like the real one unless told otherwise, so that each kind of misbehaviour can be shown alone.
"""

import itertools
import json
import os
import signal
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

MODE = os.environ.get("FAKE_MODE", "ok")


def option(name: str, default: str = "") -> str:
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


SERVED = itertools.count()
SLOTS = 4 if MODE == "slots" else int(option("--parallel", "1"))
CTX = int(option("--ctx-size", "0")) // int(option("--parallel", "1")) // (2 if MODE == "context" else 1)
SPECULATES = "--spec-type" in sys.argv and MODE != "undrafted"
MS_PER_TOKEN = float(os.environ.get("FAKE_MS", "2.0"))
"""Time that it really takes; a liar reports half of it."""
WORK = os.environ.get("FAKE_WORK", "none")


def props() -> dict[str, object]:
    return {
        "total_slots": SLOTS,
        "model_path": "/elsewhere/model.gguf" if MODE == "model" else option("--model"),
        "model_alias": option("--alias"),
        "build_info": os.environ.get("FAKE_BUILD", "b11434-b11434"),
        "default_generation_settings": {"n_ctx": CTX},
    }


def spend(ms: float) -> None:
    """Take time as asked for: `sleep` waits, `burn` uses the processor, `none` takes none."""
    if WORK == "sleep":
        time.sleep(ms / 1000)
    until = time.thread_time() + ms / 1000
    while WORK == "burn" and time.thread_time() < until:
        pass


def completion(asked: dict[str, object]) -> dict[str, object]:
    count = {"empty": 0, "short": 3}.get(MODE, int(str(asked["n_predict"])))
    begin = time.perf_counter()
    spend(MS_PER_TOKEN * max(count - 1, 0))
    spent = 1000 * (time.perf_counter() - begin) if WORK != "none" else MS_PER_TOKEN * max(count - 1, 0)
    served = next(SERVED)
    if MODE == "quits" and served > 2:
        os._exit(3)
    if MODE == "cached" and served > 2:
        return {**reply(asked, count, spent), "timings": {**timings(count, spent), "cache_n": 4}}
    return reply(asked, count, spent / 2 if MODE == "liar" else spent)


def timings(count: int, ms: float) -> dict[str, object]:
    return {"cache_n": 0, "prompt_n": 1, "prompt_ms": 0.0, "predicted_n": count, "predicted_ms": ms}


def reply(asked: dict[str, object], count: int, ms: float) -> dict[str, object]:
    drafts = {"draft_n": count // 2, "draft_n_accepted": count // 4} if SPECULATES else {}
    prompt = asked["prompt"]
    first = prompt[0] if isinstance(prompt, list) else len(str(prompt))
    return {
        "tokens": [int(str(first)) + i + (MODE == "other") for i in range(count)],
        "content": "x" * count,
        "stop_type": "eos" if MODE == "short" else "limit",
        "model": option("--alias"),
        "tokens_predicted": count,
        "generation_settings": asked,
        "timings": {**timings(count, ms), **drafts},
    }


class Handler(BaseHTTPRequestHandler):
    polls = 0

    def answer(self, status: int, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        Handler.polls += 1
        loading = MODE == "deaf" or (MODE == "loading" and Handler.polls < 4)
        if self.path == "/health":
            self.answer(503 if loading else 200, {"error": {"code": 503}} if loading else {"status": "ok"})
        else:
            self.answer(200, props())

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer(200, completion(asked) if self.path == "/completion" else {"tokens": [1, 2, 3]})

    def log_message(self, *args: object) -> None:
        pass


def misbehave() -> None:
    if MODE == "die":
        sys.exit("error: loading model failed: tensor 'x' is missing\n")
    if MODE == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
        time.sleep(60)
    if MODE == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if MODE == "family":
        parent = os.getpid()
        if os.fork() == 0:
            Path(os.environ["FAKE_PIDS"]).write_text(f"{parent} {os.getpid()}")
            time.sleep(600)
    if MODE == "chatty":
        sys.stderr.write("a line of the log\n" * 60_000)
    if MODE == "shrunk":
        sys.stderr.write("W fit: context size reduced from 4096 to 512 -> need 100 MiB less memory in total\n")


def main() -> None:
    misbehave()
    try:
        server = ThreadingHTTPServer(("127.0.0.1", int(option("--port"))), Handler)
    except OSError:
        sys.exit("E srv start: couldn't bind HTTP server socket, hostname: 127.0.0.1\n")
    server.serve_forever()


if __name__ == "__main__":
    main()
