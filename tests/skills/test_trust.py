"""
A project's skills: counted only while the user trusts the project as it is.
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from tests.agent.kit import Shed
from tests.skills.kit import write_skill
from toolkit.catalog import Catalog
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Permissions, Rule
from toolkit.settings.trust import Trust
from toolkit.skills import Skills, user_skills


@pytest.fixture
def project(tmp_path):
    """A project with one skill."""
    folder = tmp_path / "project"
    write_skill(folder / ".toolkit" / "skills" / "deploy.md", "tools: [look]\nsearch_hint: ship", "Deploy {input}.")
    return folder


@pytest.fixture
def trust(tmp_path):
    """What the user trusts: nothing yet."""
    return Trust(tmp_path / "home" / "trust.json")


def names(skills: Skills) -> list[str]:
    """Read the skills anew, and return the names of those that count."""
    skills.refresh()
    return [skill.name for skill in skills.skills]


def test_a_project_that_is_not_trusted_adds_no_skills(project, trust):
    """Its files are not read, and the reason is reported."""
    write_skill(project / ".toolkit" / "skills" / "bad.md", "nonsense: 1")
    skills = Skills(Shed().catalog, project=project, trust=trust)
    assert (names(skills), skills.problems, skills.expanded("/deploy x")) == ([], (), "/deploy x")
    assert [Path(problem.what).name for problem in skills.ignored] == ["bad.md", "deploy.md"]
    why = f"you have not trusted {project}; look at its .toolkit folder, then trust it: `toolkit trust {project}`"
    assert skills.ignored[0].why == why


def test_skills_of_a_project_are_left_out_by_default(project):
    skills = Skills(Shed().catalog, project=project)
    assert (names(skills), len(skills.ignored)) == ([], 1)


def test_a_trusted_project_adds_its_skills(project, trust):
    """They count from the moment of the trust, without a restart."""
    skills = Skills(Shed().catalog, project=project, trust=trust, check_seconds=0)
    assert skills.names()[-1] == "fetch"
    trust.trust(project)
    assert skills.names()[-1] == "deploy"
    assert skills.ignored == ()
    trust.revoke(project)
    assert skills.names()[-1] == "fetch"


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: write_skill(folder / "skills" / "deploy.md", "tools: [burn]", "Burn {input}."),
        lambda folder: write_skill(folder / "skills" / "more.md"),
        lambda folder: (folder / "skills" / "notes.txt").write_text("x"),
        lambda folder: (folder / "toolkit.toml").write_text(""),
        lambda folder: (folder / "skills" / "deploy.md").chmod(0o755),
    ],
    ids=["edited", "added", "beside", "elsewhere", "executable"],
)
def test_a_change_needs_trust_again(project, trust, change):
    """This holds for every file that the user has looked at."""
    trust.trust(project)
    skills = Skills(Shed().catalog, project=project, trust=trust, check_seconds=0)
    assert "deploy" in skills.names()
    change(project / ".toolkit")
    assert "deploy" not in skills.names()
    assert skills.ignored[0].why.startswith(f"{project} has changed since you trusted it")
    trust.trust(project)
    assert "deploy" in skills.names()


CHANGES = {
    "edited": lambda project, trust: write_skill(project / ".toolkit/skills/deploy.md", "", "Something else."),
    "added": lambda project, trust: write_skill(project / ".toolkit/skills/more.md"),
    "removed": lambda project, trust: (project / ".toolkit/skills/deploy.md").unlink(),
    "elsewhere": lambda project, trust: (project / ".toolkit/toolkit.toml").write_text(""),
    "revoked": lambda project, trust: trust.revoke(project),
    "own": lambda project, trust: write_skill(project.parent / "mine" / "tidy.md", "", "Something else."),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_unchanged_files_are_not_read_again(project, tmp_path, change):
    """Their stamps show a change. Without one, the trust is not checked again."""

    class Counting(Trust):
        checks = 0

        def state(self, folder):
            self.checks += 1
            return super().state(folder)

    trust = Counting(tmp_path / "home" / "trust.json")
    trust.trust(project)
    write_skill(tmp_path / "mine" / "tidy.md")
    long_after = 2**62
    skills = Skills(
        Shed().catalog, tmp_path / "mine", project=project, trust=trust, check_seconds=0, time_ns=lambda: long_after
    )
    before = [skill.text for skill in skills.skills]
    assert (before, trust.checks) == (["Do it.", "Deploy {input}."], 1)
    change(project, trust)
    assert [skill.text for skill in skills.skills] != before or skills.ignored
    assert trust.checks == 2


def test_a_change_is_seen_even_if_the_times_are_set_back(project, trust):
    """A tool can set a file's time, but not when that was set."""
    trust.trust(project)
    path = project / ".toolkit" / "skills" / "deploy.md"
    skills = Skills(Shed().catalog, project=project, trust=trust, check_seconds=0)
    times = os.stat(path)
    path.write_text(path.read_text().replace("Deploy", "Delete"))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert "deploy" not in skills.names()


def test_an_unreadable_trust_file_trusts_no_project(project, trust):
    """Its problem is the reason."""
    trust.trust(project)
    trust.path.write_text("{")
    skills = Skills(Shed().catalog, project=project, trust=trust)
    assert names(skills) == []
    assert "trusts nothing" in skills.ignored[0].why


def test_a_link_that_leads_out_of_the_project_is_never_trusted(project, trust, tmp_path):
    """Its content does not belong to the project."""
    outside = write_skill(tmp_path / "outside.md")
    (project / ".toolkit" / "skills" / "out.md").symlink_to(outside)
    trust.path.parent.mkdir()
    trust.path.write_text(json.dumps({"version": 1, "folders": {str(project): {"sha256": "0" * 64}}}))
    assert names(Skills(Shed().catalog, project=project, trust=trust)) == []


def test_a_skill_that_changes_during_a_read_is_left_out(project, trust):
    """The digest is about the bytes that were read, also if the file changes before the check of the trust."""
    path = project / ".toolkit" / "skills" / "deploy.md"
    trust.trust(project)
    trusted = path.read_bytes()

    class Swapping(Trust):
        def state(self, project):
            list(project.entries)  # everything is read
            path.write_bytes(trusted)
            return super().state(project)

    write_skill(path, "tools: [burn]")
    skills = Skills(Shed().catalog, project=project, trust=Swapping(trust.path))
    assert skills.skills == ()
    assert "has changed since you trusted it" in skills.ignored[0].why


def test_a_reader_does_not_wait_for_the_look_of_another_thread(project, tmp_path):
    """The reader sees the earlier skills."""
    looking, go_on = threading.Event(), threading.Event()

    class Slow(Trust):
        def state(self, folder):
            looking.set()
            assert go_on.wait(60)
            return "trusted"

    go_on.set()
    skills = Skills(Shed().catalog, project=project, trust=Slow(tmp_path / "trust.json"), check_seconds=0)
    go_on.clear()
    looking.clear()
    (project / ".toolkit" / "skills" / "deploy.md").unlink()
    thread = threading.Thread(target=lambda: skills.table)
    thread.start()
    assert looking.wait(60)
    assert "deploy" in skills.names()
    go_on.set()
    thread.join()
    assert "deploy" not in skills.names()


def test_mistakes_of_a_trusted_project_are_reported(project, trust):
    write_skill(project / ".toolkit" / "skills" / "bad.md", "nonsense: 1")
    (project / ".toolkit" / "skills" / "large.md").write_bytes(b"x" * 70_000)
    trust.trust(project)
    skills = Skills(Shed().catalog, project=project, trust=trust)
    assert names(skills) == ["deploy"]
    assert [problem.path.name for problem in skills.problems] == ["large.md", "bad.md"]


def test_a_project_without_skills_causes_no_problem(tmp_path, trust):
    skills = Skills(Shed().catalog, project=tmp_path, trust=trust)
    assert (names(skills), skills.problems, skills.ignored) == ([], (), ())


def test_the_users_skills_come_first(project, trust, tmp_path):
    """A project cannot take their names, or their place."""
    mine = write_skill(tmp_path / "mine" / "deploy.md", "", "Mine.")
    write_skill(project / ".toolkit" / "skills" / "a.md")
    trust.trust(project)
    skills = Skills(Shed().catalog, tmp_path / "mine", project=project, trust=trust)
    assert [(skill.name, skill.project) for skill in skills.skills] == [("deploy", False), ("a", True)]
    assert f"`deploy` is taken by the skill in {mine}" in str(skills.problems[0])


def test_an_allow_rule_for_a_tool_does_not_cover_a_skill_of_a_project(project, trust, tmp_path):
    """It has to name the origin. A deny rule covers both."""
    write_skill(tmp_path / "mine" / "tidy.md")
    trust.trust(project)
    skills = Skills(Shed().catalog, tmp_path / "mine", project=project, trust=trust)

    def is_meant(word: str, pattern: str, name: str) -> bool:
        return Rule(word, pattern).concerns(skills[name], frozenset({name}))

    assert (skills["tidy"].origin, skills["deploy"].origin) == ("python", "skill:project")
    assert [is_meant("allow", "*", "tidy"), is_meant("allow", "*", "deploy")] == [True, False]
    assert is_meant("allow", "skill:project/deploy", "deploy")
    assert is_meant("deny", "deploy", "deploy")


def test_the_skill_folder_of_the_user_is_in_their_configuration(tmp_path, monkeypatch):
    """XDG names the place. A missing folder is not a problem."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert user_skills() == tmp_path / "toolkit" / "skills"
    assert Skills(Catalog(), user_skills()).problems == ()


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("Look", "`Look` differs from `look` only in case or separators; choose another name"),
        ("web-search", "`web-search` is reserved: providers and agents have a tool of their own that is called so"),
        ("functions.a", "`functions.a` is reserved: `functions.*` is a namespace of the providers' own"),
    ],
)
def test_a_skill_of_a_project_cannot_imitate_a_tool(project, trust, name, problem):
    """Names like those of tools and providers are refused. Skills of the user may have them."""
    path = write_skill(project / ".toolkit" / "skills" / "it.md", f"name: {name}")
    trust.trust(project)
    skills = Skills(Shed().catalog, project=project, trust=trust)
    assert name not in skills
    assert problem in str(skills.problems[0])
    assert name in Skills(Shed().catalog, path.parent)


@pytest.mark.anyio
async def test_a_changed_file_beside_a_skill_ends_the_skill_at_its_next_call(project, trust):
    """The catalog looks at most once a second, and a call of a skill with files looks at once."""
    write_skill(project / ".toolkit/skills/deep/SKILL.md", "name: deep", "Run check.py.")
    script = project / ".toolkit/skills/deep/check.py"
    script.write_text("print('trusted')")
    trust.trust(project)
    skills = Skills(Shed().catalog, project=project, trust=trust, check_seconds=3600)
    dispatcher = Dispatcher(skills, permissions=Permissions("bypass"))
    assert (await dispatcher.call("deep", {"input": "x"})).kind == "ok"
    script.write_text("print('swapped')")
    result = await dispatcher.call("deep", {"input": "x"})
    assert "was changed or removed" in result.text or result.kind == "unknown_tool"
