"""The prompts of the greedy gates: several kinds of text, because each drives other paths (drafts, ties, lengths)."""

from dataclasses import dataclass

USER, ASSISTANT = "<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n"  # SmolLM2's chat format, written out


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """One prompt: readable id (`kind-n`) and text."""

    id: str
    text: str

    @property
    def kind(self) -> str:
        """What sort of text it is."""
        return self.id.rpartition("-")[0]


def _chat(question: str) -> str:
    return f"{USER}{question}{ASSISTANT}"


_RIVER = (
    "The river left the hills in the north and crossed the plain in long slow bends. In spring it carried clay and "
    "broken branches, and the people of the villages said that it was bringing the mountains to the sea. In summer "
    "it was so low that children walked across it on the stones. "
)
_LEDGER = "".join(f"Entry {n}: {n * 7 % 31} crates of apples, {n * 5 % 23} sacks of flour.\n" for n in range(1, 33))

_BY_KIND: dict[str, tuple[str, ...]] = {
    "prose": (
        "The lighthouse keeper had not spoken to anyone for three weeks when the storm",
        "It was the first day of the harvest, and the whole village had gathered in",
        "My grandmother kept a small wooden box under her bed. Inside it there was",
        "The history of the bicycle begins in the early nineteenth century, when",
        "On the other side of the mountain there is a town that no map shows, and",
    ),
    "code": (
        'def fibonacci(n: int) -> int:\n    """Return the n-th Fibonacci number."""\n',
        "#include <stdio.h>\n\nint main(void) {\n    for (int i = 0; i < 10; i++) {\n",
        "class Stack:\n    def __init__(self):\n        self.items = []\n\n    def push(self, item):\n",
        "SELECT customer.name, SUM(orders.total)\nFROM customer\nJOIN",
        "function debounce(fn, delay) {\n  let timer = null;\n  return function (...args) {\n",
    ),
    "maths": (
        "Question: A train travels 120 km in 2 hours. How far does it go in 5 hours?\nAnswer: Step by step:",
        "Theorem. The square root of 2 is irrational.\nProof. Suppose that",
        "The derivative of x^3 + 2x^2 - 5x + 1 is",
        "1, 1, 2, 3, 5, 8, 13, 21,",
    ),
    "dialogue": (
        _chat("What should I pack for a week of walking in the mountains? Give me a long, detailed list."),
        _chat("Explain how a refrigerator works to a ten-year-old, in several paragraphs."),
        _chat("Write a conversation between a cat and a dog about the weather, at least twenty lines."),
        _chat("Tell me about the life of bees, from egg to adult, in detail."),
    ),
    "languages": (
        "Il était une fois, dans un petit village de France, une jeune fille qui",
        "Die Stadt liegt am Ufer eines großen Sees, und im Winter",
        "En un lugar de la costa, los pescadores salen cada mañana para",
        "Доброе утро! Сегодня мы расскажем",
        "今日は天気がいいので、",
    ),
    "repetition": (
        "red, green, blue, red, green, blue, red, green, blue, red, green, blue, red,",
        "Monday: open. Tuesday: open. Wednesday: open. Thursday: open. Friday:",
        "- buy milk\n- buy bread\n- buy eggs\n- buy milk\n- buy bread\n- buy eggs\n- buy",
        "The cat sat on the mat. The cat sat on the mat. The cat sat on the mat. The cat",
        "0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1",
    ),
    "long": (
        _RIVER * 6 + "In autumn",
        _LEDGER + "Entry 33:",
        "Copy the text.\n\nText: " + _RIVER * 2 + "\nCopy: The river left the hills",
        "\n".join(f"{n} times 12 is {n * 12}." for n in range(1, 40)) + "\n40 times",
    ),
}


def all_prompts() -> tuple[Prompt, ...]:
    """Every prompt, kinds taking turns, so that any first part of the list holds all kinds."""
    rounds = max(map(len, _BY_KIND.values()))
    return tuple(
        Prompt(id=f"{kind}-{n + 1}", text=texts[n])
        for n in range(rounds)
        for kind, texts in _BY_KIND.items()
        if n < len(texts)
    )
