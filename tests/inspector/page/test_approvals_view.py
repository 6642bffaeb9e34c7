"""Requests in the browser: shown with their diff, approved, changed, denied, and answered once."""

from __future__ import annotations

import pytest

from tests.inspector.page.shop import Shop


@pytest.fixture
def shop(tmp_path):
    return Shop(tmp_path)


def ask(inspected, tool="write", arguments=None):
    """Call *tool*, which asks."""
    arguments = {"path": "menu.txt", "text": "tea\ncocoa\n"} if arguments is None else arguments
    assert inspected.call(tool, arguments).kind == "waiting"


def test_request_is_approved_with_its_diff(inspect, shop):
    inspected = inspect(shop.dispatcher)
    ask(inspected)
    page = inspected.open("/approvals")
    assert page.locator(".diff .gone", has_text="-coffee").count() == 1
    assert page.locator(".diff .added", has_text="+cocoa").count() == 1
    page.get_by_label("Your name").fill("ada")
    page.get_by_role("button", name="Approve").click()
    page.get_by_text("Your answer was taken.").wait_for()
    assert (shop.folder / "menu.txt").read_text() == "tea\ncocoa\n"
    page.get_by_text("1 decided").click()
    assert page.get_by_role("cell", name="ada").count() == 1


def test_changed_arguments_run(inspect, shop):
    inspected = inspect(shop.dispatcher)
    ask(inspected)
    page = inspected.open("/approvals")
    page.get_by_text("Change the arguments").click()
    page.get_by_label("text", exact=True).fill("tea\nlemonade\n")
    page.get_by_role("button", name="Approve").click()
    page.get_by_text("Your answer was taken.").wait_for()
    assert (shop.folder / "menu.txt").read_text() == "tea\nlemonade\n"


def test_grant_answers_the_next_call(inspect, shop):
    """A grant holds in the conversation of the page, in which both calls are made."""
    inspected = inspect(shop.dispatcher)
    page = inspected.open("/catalog/write")
    panel = page.get_by_role("form", name="Call write")
    panel.get_by_label("path", exact=True).fill("menu.txt")
    panel.get_by_label("text", exact=True).fill("tea\n")
    panel.get_by_role("button", name="Call", exact=True).click()
    panel.get_by_role("link", name="Answer the request").click()
    page.get_by_role("group", name="Approve").get_by_role("radio").nth(1).check()
    page.get_by_role("button", name="Approve").click()
    page.get_by_text("Your answer was taken.").wait_for()
    page.goto(f"{inspected.url}/#/catalog/write")
    panel.get_by_label("path", exact=True).fill("menu.txt")
    panel.get_by_label("text", exact=True).fill("cocoa\n")
    panel.get_by_text("would run").wait_for()


def test_the_model_reads_the_reason_of_a_denial(inspect, shop):
    inspected = inspect(shop.dispatcher)
    ask(inspected)
    page = inspected.open("/approvals")
    page.get_by_label("Reason, if you deny").fill("not on a Friday")
    page.get_by_role("button", name="Deny").click()
    page.get_by_text("Denied.").wait_for()
    assert "not on a Friday" in page.locator(".call pre").first.inner_text()
    assert (shop.folder / "menu.txt").read_text() == "tea\ncoffee\n"


def test_question_is_a_form(inspect, shop):
    inspected = inspect(shop.dispatcher)
    ask(inspected, "order_pizza", {})
    page = inspected.open("/approvals")
    page.get_by_role("group", name="Which size?").get_by_role("combobox").select_option('"large"')
    page.get_by_role("button", name="Answer", exact=True).click()
    assert page.locator(".call pre").first.inner_text() == "a large pizza"


def test_credentials_are_a_link(inspect, shop):
    inspected = inspect(shop.dispatcher)
    ask(inspected, "issues", {"project": "tea"})
    link = inspected.open("/approvals").get_by_role("link", name="Log in")
    assert link.get_attribute("href") == "https://tracker.example/login"
    assert link.get_attribute("rel") == "noopener noreferrer"


def test_new_request_appears_in_every_page(inspect, shop):
    inspected = inspect(shop.dispatcher)
    first, second = inspected.open("/approvals"), inspected.open("/catalog")
    first.get_by_text("Nothing waits for an answer.").wait_for()
    ask(inspected)
    first.get_by_role("option", name="write").wait_for()
    second.get_by_role("link", name="Approvals 1").wait_for()
    assert first.get_by_role("link", name="Approvals 1").count() == 1
    assert first.get_by_text("Nothing waits for an answer.").count() == 0


def test_answer_of_another_page_closes_the_request(inspect, shop):
    """A page that shows an answered request closes it, and says who answered."""
    inspected = inspect(shop.dispatcher)
    ask(inspected)
    first, second = inspected.open("/approvals"), inspected.open("/approvals")
    second.get_by_role("button", name="Approve").wait_for()
    first.get_by_label("Your name").fill("ada")
    first.get_by_role("button", name="Approve").click()
    second.get_by_text("Approved by ada").wait_for()
    assert second.get_by_role("button", name="Approve").is_disabled()


def test_page_that_reads_before_an_answer_is_noted_says_later_who_answered(inspect, shop):
    """The request is no longer open then, and not among the decisions yet."""
    inspected = inspect(shop.dispatcher)
    ask(inspected)
    first, second = inspected.open("/approvals"), inspected.open("/approvals")
    second.get_by_role("button", name="Approve").wait_for()

    def leave_decisions_out(route):
        response = route.fetch()
        route.fulfill(response=response, json={**response.json(), "decided": []})

    second.route("**/api/approvals", leave_decisions_out, times=1)
    first.get_by_label("Your name").fill("ada")
    first.get_by_role("button", name="Approve").click()
    second.get_by_text("it was answered elsewhere, or it is over.").wait_for()
    ask(inspected)  # at this news the page reads the list once more
    second.get_by_text("Approved by ada").wait_for()


def test_two_answers_at_once_count_once(inspect, shop):
    """Neither page knows of the other answer. One is taken, and the other page says so."""
    inspected = inspect(shop.dispatcher)
    inspected.allowed.append("409")
    ask(inspected)
    pages = [inspected.open("/approvals") for _ in range(2)]
    for page, name in zip(pages, ("ada", "bob"), strict=True):
        page.get_by_label("Your name").fill(name)
        # The click waits until both are set, as both run on a timer of their own page.
        page.evaluate(
            "at => setTimeout(() => document.querySelector('button.main').click(), at - Date.now())",
            pages[0].evaluate("Date.now()") + 1500,
        )
    for page in pages:
        page.locator(".request .notice").first.wait_for()
    notices = sorted(page.locator(".request .notice").first.inner_text() for page in pages)
    assert notices[1] == "Your answer was taken."
    assert notices[0].startswith(("Not taken:", "Approved by"))


def test_request_is_opened_while_others_are_asked(inspect, shop):
    """The page hears of another request before it has its first list, which has to be read again."""
    inspected = inspect(shop.dispatcher)
    ask(inspected)
    [request] = shop.dispatcher.approvals.store.pending()
    page = inspected.open("/catalog")
    held = []
    page.route("**/api/approvals", lambda route: held.append((route, route.fetch())))
    page.goto(f"{inspected.url}/#/approvals/{request.id}")
    while len(held) < 1:
        page.wait_for_timeout(10)
    ask(inspected, "order_pizza", {})
    while len(held) < 2:
        page.wait_for_timeout(10)
    held[0][0].fulfill(response=held[0][1])
    page.locator(".detail form, .detail .notice").first.wait_for()
    assert page.get_by_role("button", name="Approve").count() == 1
    page.unroute_all(behavior="ignoreErrors")
