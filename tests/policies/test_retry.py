"""Only what passes by itself is tried again, not too often, and not too soon."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clocks import Clock
from toolkit import BadArgs, ToolError, Transient
from toolkit.policies.retry import RetryPolicy, retrying

pytestmark = pytest.mark.anyio


class Failing:
    """Raises what it was given, one a call, then answers."""

    def __init__(self, *errors):
        self.errors = list(errors)
        self.calls = 0

    async def __call__(self):
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "answer"


USUAL = RetryPolicy()


async def run_retrying(call, policy=USUAL, **options):
    """Return the answer or the error, what was waited for, and what was said."""
    clock, notes = Clock(), []
    options = {"clock": clock, "sleep": clock.sleep, "chance": lambda: 1.0, "noted": notes.append, **options}
    try:
        outcome = await retrying(call, policy, **options)
    except ToolError as error:
        outcome = error
    return outcome, clock.slept, notes


async def test_a_call_that_succeeds_is_not_repeated_and_has_no_notes():
    assert await run_retrying(Failing()) == ("answer", [], [])


async def test_a_transient_failure_is_tried_again():
    """The wait doubles each time, and each failed attempt has a note."""
    call = Failing(Transient("one"), Transient("two"))
    assert await run_retrying(call) == (
        "answer",
        [0.2, 0.4],
        ["attempt 1 failed (one); tried again after 0.20 s", "attempt 2 failed (two); tried again after 0.40 s"],
    )
    assert call.calls == 3


async def test_patience_ends():
    """The last error is raised itself, and why there was no further try is said."""
    errors = [Transient(str(number)) for number in range(5)]
    call = Failing(*errors)
    outcome, slept, notes = await run_retrying(call)
    assert outcome is errors[2]
    assert len(slept) == 2
    assert notes[-1] == "not tried again: 3 attempts were made"
    assert call.calls == 3


async def test_a_call_with_one_attempt_has_a_note_that_no_more_are_allowed():
    outcome, slept, notes = await run_retrying(Failing(Transient("x")), RetryPolicy(attempts=1))
    assert isinstance(outcome, Transient)
    assert (slept, notes) == ([], ["not tried again: only one attempt is allowed"])


@pytest.mark.parametrize("error", [ToolError("x"), BadArgs("x")])
async def test_an_error_that_is_not_transient_is_raised_at_once(error):
    call = Failing(error)
    assert await run_retrying(call) == (error, [], [])
    assert call.calls == 1


async def test_an_error_that_is_not_ours_goes_straight_back():
    """The caller decides what the error means."""
    with pytest.raises(ZeroDivisionError):
        await run_retrying(Failing(ZeroDivisionError()))


async def test_retry_after_is_honoured():
    """Never sooner than the other side asked, also where our own wait is shorter."""
    call = Failing(Transient("x", retry_after_seconds=7), Transient("x", retry_after_seconds=0.01))
    _, slept, _ = await run_retrying(call)
    assert slept == [7, 0.4]


async def test_too_long_a_retry_after_is_a_no():
    """A call does not wait for an hour."""
    outcome, slept, notes = await run_retrying(Failing(Transient("x", retry_after_seconds=3600)))
    assert isinstance(outcome, Transient)
    assert slept == []
    assert notes == ["not tried again: it asked to wait 3,600 s, and 60 s is the most"]


@pytest.mark.parametrize("seconds", [float("inf"), float("nan"), -5.0])
async def test_an_odd_retry_after_has_a_bounded_wait(seconds):
    """The call may also give up at once."""
    _, slept, _ = await run_retrying(Failing(Transient("x", retry_after_seconds=seconds)))
    assert slept in ([], [0.2])


async def test_no_wait_starts_that_would_reach_the_deadline():
    call = Failing(*[Transient("x") for _ in range(5)])
    _, slept, notes = await run_retrying(call, RetryPolicy(attempts=9), deadline=1000.7)
    assert slept == [0.2, 0.4]
    assert notes[-1] == "not tried again: there was no time left"


async def test_a_reason_against_a_retry_prevents_it():
    """The caller knows which calls may be repeated, and its reason comes first."""
    outcome, slept, notes = await run_retrying(
        Failing(Transient("x", happened="maybe")),
        RetryPolicy(attempts=1),
        may_repeat=lambda error: "it may have happened" if error.happened == "maybe" else None,
    )
    assert isinstance(outcome, Transient)
    assert (slept, notes) == ([], ["not tried again: it may have happened"])


async def test_a_first_attempt_that_was_made_before_counts():
    call = Failing(Transient("two"), Transient("three"))
    outcome, _, notes = await run_retrying(call, failed=Transient("one"))
    assert str(outcome) == "three"
    assert [note.partition(" failed")[0] for note in notes[:2]] == ["attempt 1", "attempt 2"]
    assert call.calls == 2


async def test_long_messages_are_cut_in_notes():
    """An error without one is called by its name."""
    _, _, notes = await run_retrying(Failing(Transient("x" * 10_000), Transient()))
    assert len(notes[0]) < 300
    assert "(Transient)" in notes[1]


async def test_retrying_works_with_the_real_clock():
    """The clock, the sleep and the random source are the defaults."""
    assert await retrying(Failing(Transient("x")), RetryPolicy(wait_initial=0)) == "answer"


@pytest.mark.parametrize(
    "options",
    [
        {"attempts": 0},
        {"attempts": 1.5},
        {"attempts": True},
        {"wait_initial": -1},
        {"wait_initial": float("nan")},
        {"wait_max": -1},
        {"wait_max": float("inf")},
        {"wait_jitter": 1.1},
        {"wait_jitter": -0.1},
        {"wait_jitter": float("nan")},
        {"retry_after_max": -1},
        {"retry_after_max": float("nan")},
    ],
    ids=str,
)
def test_an_invalid_policy_is_refused(options):
    """The error has the name of the option."""
    with pytest.raises(ValueError, match=next(iter(options))):
        RetryPolicy(**options)


policies = st.builds(
    RetryPolicy,
    attempts=st.integers(1, 10_000),
    wait_initial=st.floats(0, 1e300),
    wait_max=st.floats(0, 1e300),
    wait_jitter=st.floats(0, 1),
)


@given(policies, st.integers(2, 10_000), st.floats(0, 1))
def test_waits_stay_within_their_bounds(policy, attempt, chance):
    """Chance only shortens, by no more than its share; late attempts do not overflow."""
    wait = policy.wait_before(attempt, chance=chance)
    longest = policy.wait_before(attempt)
    assert 0 <= wait <= longest <= policy.wait_max
    assert wait >= longest * (1 - policy.wait_jitter) * (1 - 1e-9)


@given(policies, st.integers(2, 100))
def test_waits_never_become_shorter(policy, attempt):
    assert policy.wait_before(attempt) <= policy.wait_before(attempt + 1)


async def test_the_factor_says_how_fast_waits_grow():
    """`RetryPolicy(factor=...)`: each wait is so many times as long as the one before; with 1 all are the same."""
    errors = [Transient(str(number)) for number in range(4)]
    policy = RetryPolicy(attempts=5, wait_initial=0.1, factor=3, wait_max=2)
    _, slept, _ = await run_retrying(Failing(*errors), policy)
    assert slept == pytest.approx([0.1, 0.3, 0.9, 2])
    _, slept, _ = await run_retrying(Failing(*errors), RetryPolicy(attempts=5, wait_initial=0.1, factor=1))
    assert slept == [0.1] * 4


@pytest.mark.parametrize("factor", [0.5, 0, -2, float("nan"), float("inf"), "2", True, None])
def test_a_factor_that_would_shorten_waits_is_refused(factor):
    """`RetryPolicy(factor=...)` is a number of at least 1, and the message says what 1 means."""
    with pytest.raises(ValueError, match="factor has to be a number of at least 1.*all waits are the same"):
        RetryPolicy(factor=factor)


@given(
    st.floats(0, 1e308),
    st.floats(1, 1e308) | st.integers(1, 10**400),
    st.floats(0, 1e308),
    st.integers(2, 10**6),
)
def test_no_factor_overflows_a_wait(initial, factor, longest, attempt):
    """`RetryPolicy(factor=...)`: waits never shrink, and never exceed the longest one."""
    try:
        policy = RetryPolicy(wait_initial=initial, factor=factor, wait_max=longest, wait_jitter=0)
    except ValueError:
        assert factor > 1e308  # noqa: PT017 -- a whole number that no float can hold
        return
    assert 0 <= policy.wait_before(attempt) <= policy.wait_before(attempt + 1) <= longest
