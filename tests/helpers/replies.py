"""Reply bodies as llama-server gives them."""

from ci.llama.reply import Request
from ci.outcome import JsonValue

REQUEST = Request(prompt=(8,), n_predict=20, seed=3)


def body(request: Request = REQUEST, **changes: JsonValue) -> dict[str, JsonValue]:
    """A reply that counts; `changes` replace top-level fields, and inside `timings` when given as `timings__name`."""
    count = request.n_predict
    timings = {
        "cache_n": 0,
        "prompt_n": 5,
        "prompt_ms": 3.5,
        "prompt_per_second": 1428.0,
        "predicted_n": count,
        "predicted_ms": 40.0,
        "predicted_per_second": 500.0,
    }
    timings.update({key.removeprefix("timings__"): value for key, value in changes.items() if "__" in key})
    whole = {
        "tokens": list(range(count)),
        "content": "text",
        "stop_type": "limit",
        "model": "speedfork-test",
        "truncated": False,
        "tokens_predicted": count,
        "generation_settings": request.to_json(),
        "timings": timings,
        "index": 0,
    }
    return {**whole, **{key: value for key, value in changes.items() if "__" not in key}}
