"""Whether llama.cpp has the architecture that a file names."""

from ci.models.compat.answers import Answer, Fit
from ci.models.header.values import ModelHeader
from ci.models.header.words import plain

RULE = "architecture"
_NAMES = """
    afmoe apertus arcee arctic arwkv7 baichuan bailingmoe bailingmoe2 bailingmoe3 bitnet bloom chameleon chatglm
    clef codeshell cogvlm cohere2 cohere2moe command-r dbrx deci deepseek deepseek2 deepseek2-ocr deepseek32
    deepseek4 dflash dots1 dots3note dream eagle3 ernie4_5 ernie4_5-moe exaone exaone-moe exaone4 falcon falcon-h1
    gemma gemma2 gemma3 gemma3n gemma4 gemma4-assistant glm-dsa glm4 glm4moe glm5-next gpt-oss gpt2 gptj gptneox
    granite granite_swa granitehybrid granitemoe graniteswitch grok grovemoe hrm_text hunyuan-dense hunyuan-moe
    hunyuan_vl hy_v3 hy_v4 internlm2 jais jais2 jamba kimi-k3 kimi-linear laguna lfm2 lfm2moe llada llada-moe
    llama llama4 maincoder mamba mamba2 maple mellum mimo2 minicpm minicpm3 minimax-01 minimax-m2 minimax-m3
    mistral3 mistral4 mpt muse-glimmer nanbeige nemotron nemotron_h nemotron_h_moe olmo olmo2 olmoe openelm orion
    paddleocr pangu-embedded phi2 phi3 phimoe plamo plamo2 plamo3 plm qwen qwen2 qwen2moe qwen2vl qwen3
    qwen35 qwen35moe qwen3moe qwen3next qwen3vl qwen3vlmoe qwen4exp refact rnd1 rwkv6 rwkv6qwen2 rwkv7
    seed_oss smallthinker smollm3 spark2_5 stablelm starcoder starcoder2 step35 t5 talkie xverse
"""
GENERATE_TEXT = frozenset(_NAMES.split())
"""Names that b11434 has (`LLM_ARCH_NAMES`), without those for embeddings, sound and the vision part of a model."""


def architecture_answers(model: ModelHeader) -> tuple[Answer, ...]:
    """None where b11434 knows the architecture; else CANNOT TELL, for a newer build or another fork may."""
    if model.arch in GENERATE_TEXT:
        return ()
    reason = "b11434 has no architecture of that name that generates text"
    return (Answer(rule=RULE, fit=Fit.UNKNOWN, reason=reason, found=plain(model.arch) or "none"),)
