"""
Skills as a catalog: it follows its files, tells of mistakes, and is a view like any other.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.clocks import Clock
from tests.skills.kit import Desk, write_skill
from toolkit.catalog import Catalog
from toolkit.errors import DefinitionError
from toolkit.session import Session
from toolkit.skills import Skills, skill_of

ROOT = Path(__file__).parents[2]


def test_a_skill_is_a_tool_among_others(desk):
    """Deferred, unless its file says otherwise, and found by its words."""
    desk.write("tidy.md", "search_hint: clean up housekeeping", description="Put things in order.")
    desk.write("now.md", "defer: false\ngroup: always")
    assert "tidy" in desk.skills
    assert [tool.name for tool in desk.skills.offered()] == ["look", "cut", "burn", "fetch", "now"]
    assert [hit.tool.name for hit in desk.skills.search("housekeeping")] == ["tidy"]
    assert (desk.skills["tidy"].facts.group, desk.skills["now"].facts.group) == ("skills", "always")
    session = Session()
    session.load("tidy")
    assert desk.skills.definitions(session=session)[-1]["description"] == "Put things in order."


def test_the_tool_of_a_skill_has_the_skill(desk):
    path = desk.write("tidy.md", text="Tidy {input}.")
    skill = skill_of(desk.skills["tidy"])
    assert (skill.path, skill.text) == (path, "Tidy {input}.")
    assert skill_of(desk.skills["look"]) is None


def test_a_good_file_beside_a_bad_one_counts(desk):
    """The bad one is told of."""
    desk.write("bad.md", "colour: red")
    desk.write("good.md")
    assert desk.names == ["good"]
    assert [problem.split(":")[0] for problem in desk.problems] == ["bad.md"]


def test_a_problem_is_safe_to_print(tmp_path):
    """Names and values are foreign text."""
    desk = Desk(tmp_path / "skills")
    desk.write("a\x1b[2J.md", '"\\e[31m": 1')
    text = "".join(map(str, desk.skills.problems))
    assert text.isprintable()
    assert "\\x1b[2J" in text
    assert "\\x1b[31m" in text


@pytest.mark.parametrize(
    "look", [lambda skills: skills.table, lambda skills: skills.refresh()], ids=["look", "refresh"]
)
def test_a_file_that_changes_is_read_again(tmp_path, look):
    """Each reader of the catalog sees the change. Two quick edits of the same length count as two."""
    desk = Desk(tmp_path / "skills", check_seconds=0)
    for text in ("one.", "two.", "six."):
        write_skill(desk.folder / "a.md", text=text)
        look(desk.skills)
        assert [skill.text for skill in desk.skills.skills] == [text]


def test_a_removed_file_removes_the_tool(desk):
    """Its name is free again."""
    desk.write("a.md", "aliases: [b]").unlink()
    desk.skills.refresh()
    assert ("a" in desk.skills, "b" in desk.skills, desk.problems) == (False, False, [])


def test_a_corrected_file_counts(desk):
    """It has no problems any more."""
    desk.write("a.md", "colour: red")
    desk.write("a.md", "")
    assert (desk.names, desk.problems) == (["a"], [])


def test_a_folder_may_be_created_later(tmp_path):
    """Until then it is a problem, because its name may be misspelt."""
    skills = Skills(Catalog(), tmp_path / "skils", check_seconds=0)
    assert str(skills.problems[0]) == f"{tmp_path}/skils: there is no such folder; make it, or correct the path"
    write_skill(tmp_path / "skils" / "a.md")
    assert (skills.names(), skills.problems) == (["a"], ())


def test_files_are_checked_no_more_often_than_the_option_says(tmp_path):
    """So reading a catalog is cheap."""
    clock = Clock()
    desk = Desk(tmp_path / "skills", clock=clock, check_seconds=5)
    write_skill(desk.folder / "a.md")
    clock.now += 4.9
    assert desk.names == []
    clock.now += 0.1
    assert desk.names == ["a"]


def test_a_dispatcher_follows_changes(tmp_path):
    """It forgets its cached plans, and a removed skill is not found."""
    desk = Desk(tmp_path / "skills", check_seconds=0)
    path = desk.write("a.md", text="One {input}.")
    dispatcher = desk.dispatcher()
    texts = [dispatcher.call_sync("a", {"input": "x"}).text]
    desk.write("a.md", text="Two {input}.")
    texts.append(dispatcher.call_sync("a", {"input": "x"}).text)
    path.unlink()
    desk.skills.refresh()
    assert texts == ["One x.", "Two x."]
    assert dispatcher.call_sync("a", {"input": "x"}).kind == "not_found"


@pytest.mark.parametrize(
    "change", [lambda path: path.write_text(path.read_text() + "!"), os.unlink], ids=["edit", "remove"]
)
def test_a_text_that_is_not_in_the_file_any_more_does_not_run(tmp_path, change):
    """This holds also if the dispatcher has not looked since; the model calls again."""
    desk = Desk(tmp_path / "skills", check_seconds=0)
    path = desk.write("a.md")
    dispatcher = desk.dispatcher()
    assert dispatcher.call_sync("a", {"input": ""}).kind == "ok"
    change(path)
    result = dispatcher.call_sync("a", {"input": ""})
    assert (result.kind, "changed or removed since it was looked up; call it again" in result.text) == ("failed", True)
    assert dispatcher.call_sync("a", {"input": ""}).kind == ("ok" if path.exists() else "not_found")


def test_a_view_of_skills_follows_the_files(tmp_path):
    desk = Desk(tmp_path / "skills", check_seconds=0)
    harmless = desk.skills.filtered(lambda tool: tool.facts.read_only)
    write_skill(desk.folder / "a.md", "tools: [look]")
    write_skill(desk.folder / "b.md", "tools: [cut]")
    assert harmless.names() == ["look", "fetch", "a"]


def test_a_listener_may_refresh_the_skills(tmp_path):
    """It is called during a look, and must not start another or wait for itself."""
    desk = Desk(tmp_path / "skills", check_seconds=0)
    names = []

    def listen(change):
        desk.skills.refresh()
        names.append(desk.skills.names()[4:])

    desk.skills.subscribe(listen)
    write_skill(desk.folder / "a.md")
    desk.skills.refresh()
    assert names == [["a"]]


def test_several_threads_may_look_at_once(tmp_path):
    """Each sees complete skills, old or new."""
    desk = Desk(tmp_path / "skills", check_seconds=0)
    texts = ["a" * 1000, "b" * 1000]
    desk.write("a.md", text=texts[0])
    texts_read = set()

    def look():
        for _ in range(100):
            texts_read.update(skill.text for skill in desk.skills.skills)

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for index in range(10):
        aside = write_skill(tmp_path / "aside.md", text=texts[index % 2])
        aside.replace(desk.folder / "a.md")
        desk.skills.refresh()
    for thread in threads:
        thread.join()
    assert texts_read <= set(texts)


def test_each_mistake_is_logged_once(tmp_path, caplog):
    """A skill that is not there should not be a riddle."""
    caplog.set_level(logging.WARNING, "toolkit")
    write_skill(tmp_path / "skills" / "a.md", "colour: red")
    desk = Desk(tmp_path / "skills")
    desk.skills.refresh()
    desk.write("b.md", "tools: [saw]")
    messages = [record.getMessage().replace(f"{desk.folder}/", "") for record in caplog.records]
    assert [text.split("; ")[0] for text in messages] == [
        "a skill is left out: a.md:3: `colour` is not known",
        "a skill is left out: b.md:3: there is no tool `saw`",
    ]


def test_finishing_raises_the_problems(desk):
    """A program calls it at the end of a start-up that must have no problems."""
    desk.write("a.md")
    desk.skills.finish()
    desk.write("b.md", "colour: red")
    desk.write("c.md", "tools: [saw]")
    with pytest.raises(DefinitionError) as caught:
        desk.skills.finish()
    assert ["b.md:3" in line or "c.md:3" in line for line in str(caught.value).splitlines()] == [True, True]


def test_a_folder_given_twice_is_one(tmp_path):
    """This holds for every way to name it."""
    write_skill(tmp_path / "a.md")
    skills = Skills(Catalog(), tmp_path, f"{tmp_path}/../{tmp_path.name}")
    assert (skills.names(), skills.problems) == (["a"], ())


def test_the_first_of_several_folders_has_the_name(tmp_path):
    write_skill(tmp_path / "b" / "x.md", text="First.")
    write_skill(tmp_path / "a" / "x.md", text="Second.")
    skills = Skills(Catalog(), tmp_path / "b", tmp_path / "a")
    assert [skill.text for skill in skills.skills] == ["First."]
    assert len(skills.problems) == 1


def test_the_home_folder_can_be_written_as_a_tilde(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write_skill(tmp_path / "skills" / "a.md")
    assert Skills(Catalog(), "~/skills").names() == ["a"]


def test_a_value_that_is_not_a_catalog_is_refused():
    """Most likely the folder stands in its place."""
    with pytest.raises(TypeError, match="beside the tools of a catalog, got str"):
        Skills("skills")


@pytest.mark.parametrize("seconds", [-1, float("nan")])
def test_an_invalid_check_time_is_refused(seconds):
    with pytest.raises(ValueError, match="check_seconds has to be 0 or more"):
        Skills(Catalog(), check_seconds=seconds)


def test_skills_can_be_put_on_skills(desk, tmp_path):
    """A skill of the outer ones may use an inner one, if it lists its tools."""
    desk.write("inner.md", "tools: [cut]")
    write_skill(tmp_path / "more" / "outer.md", "tools: [inner]")
    more = Skills(desk.skills, tmp_path / "more", check_seconds=0)
    assert "the skill `inner` uses `cut`; list that here too" in str(more.problems[0])
    write_skill(tmp_path / "more" / "outer.md", "tools: [inner, cut]")
    assert [skill.name for skill in more.skills] == ["inner", "outer"]
    assert not more["outer"].facts.read_only


def test_the_error_for_a_missing_extra_has_the_command_to_install_it(tmp_path):
    """The program has no PyYAML."""
    code = """
import sys
sys.modules["yaml"] = None
from toolkit import Catalog
from toolkit.skills import Skills
try:
    Skills(Catalog())
except Exception as error:
    print(type(error).__name__, error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    hint = "run pip install '.[skills]' in a checkout of toolkit"
    assert run.stdout == f"ToolkitError skills cannot be read without the extra; {hint}\n"


def test_importing_skills_loads_no_yaml():
    """PyYAML is loaded for the first folder."""
    code = "import sys, toolkit.skills; sys.exit('yaml' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=ROOT).returncode == 0
