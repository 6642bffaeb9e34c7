"""`toolkit eval`: measure whether a model chooses the right tool with the right arguments."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from ..._plumbing.wording import format_count
from ...builders import build_provider
from ...catalogs.views import CatalogView
from ...errors import ProviderError
from ...providers.base import Provider
from ...settings import MergedSettings
from ...storage.shared_files import write_atomically
from ...testing.evaluation import Case, Evaluation, EvaluationChange, Score, compare_evaluations, evaluate, read_cases
from ...testing.recorded_provider import RecordedProvider
from ..command import FILE, subcommand, target_argument
from ..exit_codes import FOUND, RUN_EXITS
from ..failures import Failure
from ..output import Output
from ..settings_options import note_settings, settings_options
from ..targets import open_target

__all__ = ["command"]


@subcommand("eval")
@target_argument
@click.argument("cases", type=click.Path(exists=True, dir_okay=False))
@settings_options(for_model=True, for_calls=False)
@click.option(
    "--recording",
    type=FILE,
    help="Play the replies of the model from this file. If there is none, ask the model, and write it.",
)
@click.option(
    "--results",
    type=FILE,
    help="Compare with the results of the last run in this file, and write the new ones to it.",
)
@click.option("--min-score", type=click.FloatRange(0, 1), help="Exit with 1 if a smaller part of the cases is right.")
def command(
    output: Output,
    target: str,
    cases: str,
    settings: MergedSettings,
    recording: str | None,
    results: str | None,
    min_score: float | None,
) -> int:
    """Measure whether a model chooses the right tools of TARGET.

    CASES is a file with one JSON object a line, in the form of the Berkeley Function Calling Leaderboard: a question,
    and the calls that are right, with all values that are right for each argument. The model is asked each question
    once, with all tools. No tool is run. The result is the part of the cases that is right, with its 95 % confidence
    interval, the tools that were confused, and the tokens. The money is counted by the prices of your settings.

    With --recording the model is asked once, and later runs need no network and no key. Loading TARGET runs its code.

    \b
    {"id": "late", "question": "Where is order 7?",
     "ground_truth": [{"look_up": {"order": [7], "detail": ["full", ""]}}]}

    \b
    Examples:
      toolkit eval shop.tools cases.jsonl --provider anthropic --model ... --results last.json
      toolkit eval shop.tools cases.jsonl --recording replies.json --min-score 0.9
    """
    note_settings(settings, output)
    last = _read_results(results)
    provider: Any = _open_provider(settings, recording)
    with open_target(target, settings=settings) as loaded_target:
        catalog = loaded_target.catalog
        try:
            evaluation = asyncio.run(_evaluate(catalog, read_cases(cases, catalog), provider, settings["system"] or ""))
        except ProviderError as error:
            raise Failure(str(error), RUN_EXITS["failed"]) from error
    change = None if last is None else compare_evaluations(last, evaluation)
    cost = _find_cost(evaluation, settings)
    if results is not None:
        write_atomically(results, json.dumps(evaluation.to_json(), indent=1) + "\n")
    if output.is_json:
        output.json(_to_json(evaluation, change, cost))
    else:
        _show(evaluation, last, change, cost, output)
    return FOUND if min_score is not None and evaluation.score.rate < min_score else 0


def _open_provider(settings: MergedSettings, recording: str | None) -> Provider:
    if recording is None:
        return build_provider(settings)
    return RecordedProvider(recording, None if Path(recording).exists() else build_provider(settings))


async def _evaluate(catalog: CatalogView, cases: Sequence[Case], provider: Any, system: str) -> Evaluation:
    async with contextlib.aclosing(provider):
        return await evaluate(catalog, cases, provider, system=system)


def _read_results(path: str | None) -> Evaluation | None:
    if path is None or not Path(path).exists():
        return None
    try:
        return Evaluation.from_json(json.loads(Path(path).read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise Failure(f"cannot read the results in {path}: {error}; delete the file, or name another") from error


def _find_cost(evaluation: Evaluation, settings: MergedSettings) -> str | None:
    try:
        return str(evaluation.usage.cost(settings["prices"], evaluation.model))
    except ProviderError:  # there is no price for this model
        return None


def _to_json(evaluation: Evaluation, change: EvaluationChange | None, cost: str | None) -> dict[str, Any]:
    confusions = [
        {"expected": expected, "called": called, "times": times}
        for (expected, called), times in evaluation.confusions().items()
    ]
    return {
        "model": evaluation.model,
        "score": _score_to_json(evaluation.score),
        "tool_choice": _score_to_json(evaluation.tool_choice),
        "tools": {name: _score_to_json(score) for name, score in evaluation.scores_by_tool().items()},
        "confusions": confusions,
        "wrong": [asdict(result) for result in evaluation.results if not result.is_right],
        "usage": evaluation.usage.to_json(),
        "cost": cost,
        "change": None if change is None else {**asdict(change), "chance": change.chance},
    }


def _score_to_json(score: Score) -> dict[str, Any]:
    return {**asdict(score), "rate": score.rate, "interval": score.interval}


def _show(
    evaluation: Evaluation, last: Evaluation | None, change: EvaluationChange | None, cost: str | None, output: Output
) -> None:
    for result in evaluation.results:
        if not result.is_right:
            output.text(f"wrong: {result.id}: {result.reason}")
    output.table(("tool", "cases"), [(name, str(score)) for name, score in evaluation.scores_by_tool().items()])
    if confusions := evaluation.confusions():
        rows = [(expected, called, str(times)) for (expected, called), times in confusions.items()]
        output.table(("expected", "called", "times"), rows)
    output.text(f"{evaluation.model}: {evaluation.score}; the tools alone: {evaluation.tool_choice}")
    usage = evaluation.usage
    money = "" if cost is None else f", cost {cost}"
    output.text(f"{format_count(usage.input_tokens, 'token')} read and {usage.output_tokens:,} written{money}")
    if last is not None and change is not None:
        ids = [*(f"+ {name}" for name in change.newly_right), *(f"- {name}" for name in change.newly_wrong)]
        output.text(
            f"the last run, {last.model}: {last.score}; {format_count(len(ids), 'case')} changed"
            + (f" (by chance in {change.chance:.0%} of such runs): {', '.join(ids)}" if ids else "")
        )
