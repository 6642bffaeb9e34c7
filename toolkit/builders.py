"""
Apply settings: make a dispatcher, a provider and an agent that follow them.

    settings = load_settings(".")
    dispatcher = build_dispatcher(settings, catalog)
    agent = build_agent(settings, dispatcher)

An option that the program gives counts before the settings.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from typing_extensions import Unpack

from . import providers
from .agent import Agent, Budget
from .calls.settings import DispatcherOptions
from .catalog import Catalog
from .catalogs.views import CatalogView
from .dispatcher import Dispatcher
from .errors import ProviderError
from .hooks.shell.shell_hooks import ShellHooks
from .permissions import Permissions
from .providers.base import Provider
from .providers.http.api_keys import ApiKey
from .providers.prices import Prices, price_of
from .safety import SafetyChecks
from .settings.instruction_files import Instructions, read_instructions
from .settings.keys import KEYS
from .settings.project_files import SETTINGS_FILE
from .settings.records import MergedSettings, SettingsError
from .settings.trust import configuration_folder

if TYPE_CHECKING:
    from .providers import ScriptedProvider
    from .providers.remote import RemoteProvider

__all__ = [
    "add_skills",
    "build_agent",
    "build_budget",
    "build_dispatcher",
    "build_permissions",
    "build_provider",
    "build_safety",
    "dispatcher_options",
    "find_instructions",
]


def build_dispatcher(
    settings: MergedSettings, tools: CatalogView | Iterable[Any], **options: Unpack[DispatcherOptions]
) -> Dispatcher:
    """
    Return a dispatcher for *tools* and the skills of the settings, with their rules, hooks, limits and safety checks.

    *options* are those of `Dispatcher`. Each of them replaces what the settings say; hooks are added to theirs.
    """
    catalog = tools if isinstance(tools, CatalogView) else Catalog(*tools)
    merged: DispatcherOptions = {**dispatcher_options(settings), **options}
    merged["hooks"] = [*dispatcher_options(settings)["hooks"], *options.get("hooks", ())]
    return Dispatcher(add_skills(settings, catalog), **merged)


def build_agent(
    settings: MergedSettings,
    tools: Dispatcher | CatalogView | Iterable[Any],
    *,
    provider: Provider | None = None,
    system: str | None = None,
    instructions: Instructions | None = None,
    **options: Any,
) -> Agent:
    """
    Return an agent that follows the settings.

    Args:
        settings: The settings.
        tools: A dispatcher, which is used as it is, or the tools for one that follows the settings.
        provider: The provider, if it is not the one of the settings.
        system: The system prompt, if it is not the one of the settings.
        instructions: The instruction files, if they are not those that the settings name.
        options: Further options of `Agent`, which count before the settings.
    """
    known_instructions = find_instructions(settings) if instructions is None else instructions
    known_provider = build_provider(settings) if provider is None else provider
    model = getattr(known_provider, "model", None)  # `Agent` refuses what is no provider
    budget = build_budget(settings, model=model if isinstance(model, str) else None)
    return Agent(
        known_provider,
        tools if isinstance(tools, Dispatcher) else build_dispatcher(settings, tools),
        system=known_instructions.system_prompt(settings["system"] if system is None else system),
        **{"max_turns": settings["limits.max_turns"], "budget": budget, **options},
    )


def build_provider(settings: MergedSettings) -> RemoteProvider | ScriptedProvider:
    """
    Return the provider of the settings. Its key comes from `key_from`, or from the provider's usual variable.

    Raises:
        SettingsError: The provider or the model is missing, or there is no key.
    """
    missing = [name for name in ("provider", "model") if settings[name] is None]
    if missing:
        raise SettingsError(_explain_missing_choice(name) for name in missing)
    options: dict[str, Any] = {} if settings["base_url"] is None else {"base_url": settings["base_url"]}
    variable = settings["key_from"]
    if variable is not None:
        if not os.environ.get(variable):
            place = settings.parts_of("key_from")[0].place or "key_from"
            raise SettingsError([f"{place} {variable}: there is no such environment variable, or it is empty"])
        options["api_key"] = ApiKey(os.environ[variable], source=variable)
    try:
        return providers.create_provider(f"{settings['provider']}:{settings['model']}", **options)
    except ValueError as error:
        raise SettingsError([str(error)]) from None


def _explain_missing_choice(name: str) -> str:
    choices = " (such as anthropic:claude-sonnet-4-5, or scripted:FILE for a script)" if name == "provider" else ""
    file = configuration_folder() / SETTINGS_FILE
    return f"no {name} is chosen; give --{name}{choices}, or set `{name}` in {file}, or {KEYS[name].variable}"


def build_budget(settings: MergedSettings, *, model: str | None = None) -> Budget:
    """
    Return the budget of one prompt.

    Without a limit in money, prices that do not have *model* are left out: the cost is then not counted. With a limit,
    an agent with such a model is refused.

    Raises:
        SettingsError: There is a limit in money, and no prices to count it by.
    """
    limits = {name: settings[f"budget.{name}"] for name in ("tokens", "calls", "retries", "seconds", "cost", "depth")}
    if limits["cost"] is not None and not settings["prices"]:
        origin = settings.parts_of("budget.cost")[0].origin
        remedy = 'give them: [prices."MODEL"] with input = 3 and output = 15'
        raise SettingsError([f"budget.cost ({origin}): needs prices of tokens to count by; {remedy}"])
    prices = settings["prices"] or None
    if prices is not None and limits["cost"] is None and model is not None and not _has_price(model, prices):
        prices = None
    return Budget(**limits, prices=prices)


def _has_price(model: str, prices: Prices) -> bool:
    try:
        price_of(model, prices)
    except ProviderError:
        return False
    return True


def build_permissions(settings: MergedSettings) -> Permissions:
    """Return the mode and the rules of the settings."""
    return Permissions(settings["mode"], settings.rules)


def build_safety(settings: MergedSettings) -> SafetyChecks:
    """Return the safety checks in the folder of the project, with the protected files of the settings."""
    return SafetyChecks(
        [settings.folder], protected=settings["files.protected"], unprotected=settings["files.unprotected"]
    )


def dispatcher_options(settings: MergedSettings) -> DispatcherOptions:
    """Return what the settings say about calls, as options of a `Dispatcher`."""
    max_chars = settings["limits.max_chars"]
    return {
        "permissions": build_permissions(settings),
        "safety": build_safety(settings),
        # The hooks are given one by one, so that one of them can change a call and another ask about it.
        "hooks": [*ShellHooks(settings["hooks"])],
        "timeout_seconds": settings["limits.timeout_seconds"],
        # A dispatcher without the option has the same limit in tokens, which is also right for other scripts.
        "max_chars": None if max_chars == KEYS["limits.max_chars"].default else max_chars,
        "max_concurrency": settings["limits.max_concurrency"],
    }


def add_skills(settings: MergedSettings, catalog: CatalogView) -> CatalogView:
    """Return *catalog* with the skills of the settings; the same catalog if there are none, or if it has its own."""
    from .skills import Skills  # imported late: it needs a package that only skills need

    parts = [part for part in settings.parts if part.key == "skills.folders"]
    if not parts or isinstance(catalog, Skills):
        return catalog
    own = [part.value for part in parts if part.layer != "project"]
    return Skills(catalog, *own, project=settings.folder, trust=settings.trust)


def find_instructions(settings: MergedSettings) -> Instructions:
    """Return the instruction files for work in the folder of the project, as the settings name them."""
    return read_instructions(
        settings.folder,
        names=settings["instructions.names"],
        max_chars=settings["instructions.max_chars"],
        trust=settings.trust,
        user=settings.user_folder,
    )
