"""
The table of the services and servers that have OpenAI's Chat Completions API.

An entry has what a program would otherwise look up: the address, the variables that hold the key, and what the service
lacks. The addresses and the variables are those of the services' own documentation, or of the clients that most people
use with them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Literal, TypeAlias

__all__ = ["SERVICES", "Lack", "Service"]

Lack: TypeAlias = Literal["tools", "strict", "output", "output_with_tools", "stream_usage", "user_after_tool"]
"""
What a service lacks: tool calls, strict schemas of tools, structured output (at all, or for some of its models),
structured output beside tools, the option of a stream that asks for its usage, or messages of the user that follow the
results of tools without an answer between them.
"""


@dataclass(frozen=True, slots=True)
class Service:
    """
    A service, or a server that people run themselves.

    Attributes:
        name: Its name before the colon, as in "groq:llama-3.3-70b-versatile".
        title: Its name in messages.
        address: The base of its addresses; empty if each user has another one.
        key_variables: The environment variables that may hold the key; empty if the server needs no key.
        lacks: What it lacks. A service of many models has structured output for some of them only, and a call of a
            tool works for more of them.
        address_variable: The environment variable that holds the address, if it is another one.
        address_end: The end of the address, which the variable may leave out.
        id_length: The length of the ids of calls, if the service accepts only letters and digits of this length.
        is_openai: Whether its models and its rules are those of OpenAI.
        has_cache_key: Whether it takes the key that keeps the requests of a session at the server with their cache.
    """

    name: str
    title: str
    address: str
    key_variables: tuple[str, ...]
    lacks: frozenset[Lack] = frozenset(["output"])
    _: KW_ONLY
    address_variable: str = ""
    address_end: str = ""
    id_length: int | None = None
    is_openai: bool = False
    has_cache_key: bool = False

    def find_address(self, environ: Mapping[str, str] | None = None) -> str:
        """
        Return the address of the service: that of the environment, if there is one, and otherwise the usual one.

        Raises:
            ValueError: Neither exists.
        """
        address = (os.environ if environ is None else environ).get(self.address_variable, "").rstrip("/")
        if address:
            return address if address.endswith(self.address_end) else address + self.address_end
        if not self.address:
            raise ValueError(f"{self.title} has another address for each user: set {self.address_variable}")
        return self.address


_NOT_STRICT: frozenset[Lack] = frozenset(["output", "strict"])
_NOT_WITH_TOOLS: frozenset[Lack] = frozenset(["output_with_tools"])
_NOT_STRICT_OR_WITH_TOOLS = _NOT_WITH_TOOLS | _NOT_STRICT - {"output"}

_ROWS = [
    Service(
        "alibaba",
        "Alibaba Cloud",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        ("DASHSCOPE_API_KEY", "ALIBABA_API_KEY"),
    ),
    Service("baseten", "Baseten", "https://inference.baseten.co/v1", ("BASETEN_API_KEY",)),
    Service("cerebras", "Cerebras", "https://api.cerebras.ai/v1", ("CEREBRAS_API_KEY",), _NOT_WITH_TOOLS),
    Service("deepinfra", "DeepInfra", "https://api.deepinfra.com/v1/openai", ("DEEPINFRA_API_KEY",)),
    Service("deepseek", "DeepSeek", "https://api.deepseek.com", ("DEEPSEEK_API_KEY",), _NOT_STRICT),
    Service(
        "featherless", "Featherless", "https://api.featherless.ai/v1", ("FEATHERLESS_API_KEY", "FEATHERLESS_AI_API_KEY")
    ),
    Service(
        "fireworks",
        "Fireworks",
        "https://api.fireworks.ai/inference/v1",
        ("FIREWORKS_API_KEY",),
        _NOT_STRICT_OR_WITH_TOOLS,
        has_cache_key=True,
    ),
    Service("friendli", "Friendli", "https://api.friendli.ai/serverless/v1", ("FRIENDLI_TOKEN",)),
    Service("groq", "Groq", "https://api.groq.com/openai/v1", ("GROQ_API_KEY",)),
    Service("huggingface", "Hugging Face", "https://router.huggingface.co/v1", ("HF_TOKEN",)),
    Service("hyperbolic", "Hyperbolic", "https://api.hyperbolic.xyz/v1", ("HYPERBOLIC_API_KEY",)),
    Service("minimax", "MiniMax", "https://api.minimax.io/v1", ("MINIMAX_API_KEY",)),
    Service(
        "moonshot", "Moonshot", "https://api.moonshot.ai/v1", ("MOONSHOT_API_KEY", "MOONSHOTAI_API_KEY"), _NOT_STRICT
    ),
    Service("nebius", "Nebius", "https://api.studio.nebius.com/v1", ("NEBIUS_API_KEY",)),
    Service("novita", "Novita", "https://api.novita.ai/v3/openai", ("NOVITA_API_KEY",)),
    Service("nscale", "Nscale", "https://inference.api.nscale.com/v1", ("NSCALE_API_KEY",)),
    Service("openrouter", "OpenRouter", "https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
    Service("ovhcloud", "OVHcloud", "https://oai.endpoints.kepler.ai.cloud.ovh.net/v1", ("OVHCLOUD_API_KEY",)),
    Service("sambanova", "SambaNova", "https://api.sambanova.ai/v1", ("SAMBANOVA_API_KEY",)),
    Service("scaleway", "Scaleway", "https://api.scaleway.ai/v1", ("SCW_SECRET_KEY",)),
    Service("together", "Together", "https://api.together.xyz/v1", ("TOGETHER_API_KEY",)),
    Service("vercel", "Vercel", "https://ai-gateway.vercel.sh/v1", ("VERCEL_AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN")),
    Service("wandb", "Weights & Biases", "https://api.inference.wandb.ai/v1", ("WANDB_API_KEY",)),
    Service("xai", "xAI", "https://api.x.ai/v1", ("XAI_API_KEY",), _NOT_STRICT_OR_WITH_TOOLS),
    Service("zai", "Z.ai", "https://api.z.ai/api/paas/v4", ("ZAI_API_KEY",)),
    # The API "v1" of Azure takes OpenAI's requests without a version, and the key as OpenAI does.
    Service(
        "azure",
        "Azure OpenAI",
        "",
        ("AZURE_OPENAI_API_KEY",),
        frozenset(),
        address_variable="AZURE_OPENAI_ENDPOINT",
        address_end="/openai/v1",
        is_openai=True,
    ),
    Service(
        "heroku",
        "Heroku",
        "https://us.inference.heroku.com/v1",
        ("HEROKU_INFERENCE_KEY",),
        address_variable="HEROKU_INFERENCE_URL",
        address_end="/v1",
    ),
    Service("litellm", "LiteLLM", "", ("LITELLM_PROXY_API_KEY",), address_variable="LITELLM_PROXY_API_BASE"),
    # Mistral refuses `stream_options`, and sends the usage without being asked. It refuses ids of another length, too.
    Service(
        "mistral",
        "Mistral",
        "https://api.mistral.ai/v1",
        ("MISTRAL_API_KEY",),
        _NOT_WITH_TOOLS | {"stream_usage", "user_after_tool"},
        id_length=9,
        has_cache_key=True,
    ),
    # A stream with `stream_options` never begins there.
    Service(
        "nvidia",
        "NVIDIA",
        "https://integrate.api.nvidia.com/v1",
        ("NVIDIA_API_KEY", "NVIDIA_NIM_API_KEY"),
        frozenset(["output", "stream_usage"]),
    ),
    Service(
        "perplexity",
        "Perplexity",
        "https://api.perplexity.ai",
        ("PERPLEXITY_API_KEY", "PERPLEXITYAI_API_KEY"),
        frozenset(["tools"]),
    ),
    # Servers that people run themselves need no key. They hold the whole answer to a schema, so that the model could
    # not call a tool beside it.
    Service("llamacpp", "llama.cpp", "http://localhost:8080/v1", (), _NOT_STRICT_OR_WITH_TOOLS),
    Service(
        "lmstudio",
        "LM Studio",
        "http://localhost:1234/v1",
        (),
        _NOT_STRICT_OR_WITH_TOOLS,
        address_variable="LM_STUDIO_API_BASE",
    ),
    Service(
        "ollama",
        "Ollama",
        "http://localhost:11434/v1",
        (),
        _NOT_STRICT_OR_WITH_TOOLS,
        address_variable="OLLAMA_BASE_URL",
        address_end="/v1",
    ),
    Service(
        "vllm",
        "vLLM",
        "http://localhost:8000/v1",
        (),
        _NOT_STRICT_OR_WITH_TOOLS,
        address_variable="HOSTED_VLLM_API_BASE",
    ),
]

SERVICES = {service.name: service for service in sorted(_ROWS, key=lambda service: service.name)}
"""The services by their names, in the order of the alphabet."""
