from __future__ import annotations

import pytest
from breaks import BODY, divergence, evidence, named, recognised

STATE = "state-in-system"


@pytest.mark.parametrize(
    ("head", "was", "now"),
    [
        ("Current task list:\n", "[ ] find the helper\n[ ] fix it", "[x] find the helper\n[ ] fix it"),
        ("## To-do\n- ", "[ ] find the helper", "[~] find the helper"),
        ("", "☐ find the helper", "☑ find the helper"),
        ("# Git\nHEAD: ", "7f3a9c1e22 fix tide", "0b44d2aa90 add ebb"),
        ("Git status:\n", "On branch main\nnothing to commit", "On branch main\n M src/tide.py"),
        ("<git_status>\n", " M src/tide.py", " M src/ebb.py"),
        ("# Memory\n\n- ", "likes short answers", "lives in Gent"),
        ("<memory>\n", "The user likes tea.", "The user likes coffee."),
        ("### Open files\n", "tests/test_tide.py", "src/tide.py"),
        ("Projektstruktur\n", "├── alt.py", "├── neu.py"),
        ("Aufgabenliste:\n- ", "Hilfsfunktion suchen", "Rundung beheben"),
        ("## Mémoire\n", "Aime le thé.", "Aime le café."),
        ("Tareas pendientes:\n", "buscar la función", "corregir el redondeo"),
        ("# 待办事项\n", "查找函数", "修复舍入"),
        ("【タスク一覧】\n", "関数を探す", "丸めを直す"),
        ("할 일 목록:\n", "함수 찾기", "반올림 수정"),
        ("## Память\n", "Любит чай.", "Любит кофе."),
        ("## What I remember\n- Anna likes tea\n", "", "- Anna has a dog"),
        ("", "\n\n# Todos\n1. find it", ""),
        ("Device states:\n", "lamp: on", "lamp: off"),
        ("Account balance: ", "$1200.50", "$1163.50"),
        ("Kontostand: ", "1.200,50 €", "1.163,50 €"),
        ("账户余额：", "1200元", "1163元"),
    ],
)
def test_a_section_of_state_was_rendered_anew(head, was, now):
    front = "Be brief and kind.\n\n"
    assert named(f"{front}{head}{was}\n{BODY}", f"{front}{head}{now}\n{BODY}") == STATE


@pytest.mark.parametrize(
    ("head", "was", "now", "name"),
    [
        ("# Rules\n", "Never apologise.", "Never guess.", "system-text-changed"),
        ("# Memory\n- likes tea\n\n# Rules\n", "Never apologise.", "Never guess.", "system-text-changed"),
        ("<memory>likes tea</memory>\n", "Never apologise.", "Never guess.", "system-text-changed"),
        ("Tasks:\n- a\n- b\n\n", "Answer in prose, always.", "Give lists, always.", "system-text-changed"),
        ("# Memory\n", "Last seen: 2026-03-11 09:13:53", "Last seen: 2026-03-11 09:14:07", "clock-in-prefix"),
        ("# Memory\nid: ", "7f3a9c1e22", "0b44d2aa90", "nonce-in-prefix"),
        ("<documents>\n", "Pond liners last long.", "Batteries fail.", "retrieved-text-in-system"),
        ("# Memory\n", "likes  tea", "likes tea", "text-form-changed"),
    ],
)
def test_other_sections_are_no_state(head, was, now, name):
    assert named(f"Be brief.\n\n{head}{was}\n{BODY}", f"Be brief.\n\n{head}{now}\n{BODY}") == name


def test_the_history_is_no_system_prompt():
    assert named("[ ] a", "[x] a", kind="user", pointer="/messages/3/content") == "history-edited"


def test_what_it_says():
    was, now = (f"Be kind.\n\nCurrent task list:\n[{box}] find it\n" for box in " x")
    _, said = recognised(evidence(divergence(was, now)))
    assert said.confidence == "certain"
    assert said.summary == (
        'State under "Current task list" in the system prompt (/messages/0/content, character 30) changed: '
        '"[ ] find it" became "[x] find it".'
    )


def test_a_heading_far_in_front_is_found():
    front = "# Memory\n" + "- a note of some length\n" * 60
    assert named("Be kind.\n" * 800 + front + "- tea", "Be kind.\n" * 800 + front + "- milk") == STATE


RENDERED = "<|im_start|>%s\nBe kind.\n\nTasks:\n[%s] find it<|im_end|>\n<|im_start|>assistant\n"


@pytest.mark.parametrize(("role", "name"), [("system", STATE), ("user", "prompt-changed")])
def test_a_rendered_prompt_by_its_role_markers(role, name):
    assert named(RENDERED % (role, " "), RENDERED % (role, "x"), kind="user", pointer="/prompt") == name
