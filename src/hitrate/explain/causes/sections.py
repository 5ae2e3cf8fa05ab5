"""Which section of a prompt a change stands in: its heading, the tag around it or the label in front, and what kind of
section that is, by words of some fifteen languages."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.explain.causes.spot import Spot
from hitrate.explain.evidence import Divergence

SectionKind = Literal["state", "retrieved"]

_STATE = lazy_pattern(
    r"to-?dos?\b|task|check-?list|\bplan\b|progress|memor|remember|\bnotes?\b|scratch|git\b|branch|commit|\bHEAD\b|working.tree|\bfiles?\b|open.tabs"
    r"|director|project.tree|folder|diff\b|diagnostic|\blints?\b|\bstate\b|status|inventory|\bcart\b|environment|cursor|clipboard"
    r"|selection|balance|wallet|credits?\b|portfolio"
    r"|preferences|facts|summary|so far|recent|history|device|sensor|health|queue|calendar|inbox|skills"
    r"|aufgabe|merkliste|gedächtnis|erinnerung|notiz|zustand|fortschritt|dateien|verzeichnis|umgebung|warenkorb|zusammenfassung|kontostand|guthaben|saldo|solde\b|bakiye"
    r"|tâches|mémoire|état\b|fichiers|avancement|dossier|environnement|résumé|tareas|memoria|estado|archivos|progreso|entorno|resumen"
    r"|tarefas|memória|arquivos|progresso|attività|stato\b|progressi|taken\b|geheugen|toestand|bestanden|zadania|pamięć|stan\b|plik"
    r"|задач|баланс|остат|памят|состояни|файл|заметк|статус|görev|bellek|durum|dosya|uppgifter|minne|tillstånd|opgaver"
    r"|任务|任務|余额|餘額|残高|잔액|رصيد|待办|待辦|记忆|記憶|状态|狀態|文件|进度|進度|笔记|环境|摘要|タスク|やること|メモ|状態|ファイル|進捗|作業|環境"
    r"|작업|할 일|메모리|기억|상태|파일|진행|환경|مهام|ذاكرة|حالة|ملفات|कार्य|स्मृति|स्थिति",
    re.IGNORECASE,
)

_RETRIEVED = lazy_pattern(
    r"context(?!.(?:window|left|used|usage|length|remain|budget|size))|\bdoc(?:ument)?s?\b|doc_|passage|chunk|\bsources?\b|snippet|retriev|search.results?|knowledge|reference"
    r"|excerpt|articles?\b|citation|evidence|\brag\b|\bfaqs?\b|web.results?|grounding|examples?\b"
    r"|kontext|dokument|fundstelle|quelle|auszüge|suchergebnis|wissen|textstelle|contexte|extraits|passages|connaissances|sources"
    r"|résultats|contexto|documentos?|fragmento|fuentes|conocimiento|resultados|trechos|fontes|contesto|documenti|estratti|fonti"
    r"|fragmenty|źródła|wiedzy|контекст|документ|фрагмент|источник|знани|bağlam|belge|kaynak"
    r"|上下文|检索|檢索|参考|參考|资料|資料|知识|知識|片段|文档|文檔|来源|文脈|コンテキスト|検索|出典|参照|ナレッジ|문맥|문서|검색|참고|출처|자료"
    r"|سياق|مستند|مصادر|مراجع|संदर्भ|दस्तावेज़",
    re.IGNORECASE,
)

_BOX_BEFORE = lazy_pattern(r"(?:^|\n)\s*(?:[-*+]\s|\d+[.)]\s)?\[\Z")
_BOX = lazy_pattern(r"[ xX~/>-]\]|✓\]|✔\]")
_TICKS = "☐☑☒✅⬜✔✓❌🔲🔳⏳🔄"
_GIT = lazy_pattern(
    r"^(?:[ MADRCU?!]{2} \S|(?:On branch|HEAD detached|Your branch|Changes |Untracked|nothing to commit)"
    r"|\s*(?:modified|new file|deleted|renamed):|[0-9a-f]{7,40} \S.*)"
)
_TREE = lazy_pattern(r"^\s*[│├└─|`]+[─-]+\s?\S")
_PASSAGE = lazy_pattern(
    r"^\s*(?:\[?(?:doc(?:ument)?|source|chunk|passage|quelle|dokument|source|fuente|文档|資料|出典|문서)\W{0,2}\d+|\[\d+\]|<(?:doc|source|chunk|passage|result)"
    r"|\(?score\W|title:|source:|url:)",
    re.IGNORECASE,
)
_OPEN_TAG = lazy_pattern(r"<(/?)([A-Za-z_][\w:-]*)(?:\s[^<>]*)?(/?)>")
_HEADING = lazy_pattern(r"^(#{1,6})\s+(.+?)\s*#*$")
_LABEL = lazy_pattern(
    r"^\s*(?:\*\*|__|【|\[|=+\s|-{2,}\s)?([^\n]{2,80}?)(?:\*\*|__)?\s*(?:[:：](?:\*\*|__)?|】|\]|\s=+|\s-{2,})\s*$"
)
_ITEM = lazy_pattern(r"\s*(?:[-*+•·]|\d+[.)]|\[)\s?\S")
_FIELD = lazy_pattern(r"^\W*([^\n:：=]{2,50}?)\s*[:：=]")


_ROLE = lazy_pattern(
    r"(?:<\|im_start\|>|<\|start_header_id\|>|<\|header_start\|>|<\|start\|>|<start_of_turn>|<\|turn>|<\|)"
    r"(system|developer|user|assistant|model|tool|ipython|observation)\b|\[(SYSTEM)_PROMPT\]|<<(SYS)>>|\[(INST)\]|<｜(User|Assistant)｜>"
)
_SYSTEM_ROLES = ("system", "developer", "sys")


class Section(NamedTuple):
    kind: SectionKind
    label: str
    """The heading, tag or words that say so."""
    shown_by_content: bool
    """Check boxes, git or tree lines, numbered passages: the changed text itself is of that kind."""


def section_of(spot: Spot) -> Section | None:
    """The kind of section that a change stands in, None where neither the text there nor a heading tells."""
    for line in spot.lines:
        if (_BOX_BEFORE.search("\n" + spot.lead) and _BOX.match(line[len(spot.lead) :])) or any(
            character in _TICKS for character in line[max(0, len(spot.lead) - 4) : len(spot.lead) + 2]
        ):
            return Section("state", _nearest(spot) or "check boxes", True)
        if _GIT.match(line) or _TREE.match(line):
            return Section("state", _nearest(spot) or "working tree", True)
    labels = [*_of_inserted_block(spot), *labels_of(spot.front, spot.lines[0])]
    if any(_PASSAGE.match(line) for line in spot.lines) and not any(_STATE.search(label) for label in labels[:1]):
        return Section("retrieved", labels[0] if labels else "numbered passages", True)
    for label in labels:
        retrieved, state = _RETRIEVED.search(label), _STATE.search(label)
        if retrieved or state:
            return Section("retrieved" if retrieved and not state else "state", label, False)
    return None


def stands_in_system(divergence: Divergence, spot: Spot | None) -> bool | None:
    """Whether a change lies in the system prompt, of a rendered prompt by the last role marker in front of it; None
    where that marker is too far in front to be seen."""
    if divergence.kind == "system" or spot is None or not divergence.pointer.startswith("/prompt"):
        return divergence.kind == "system"
    roles = ["".join(groups).lower() for groups in _ROLE.findall(spot.front)]
    return roles[-1] in _SYSTEM_ROLES if roles else None


def _of_inserted_block(spot: Spot) -> list[str]:
    """Heading or label of a whole block that only one side has."""
    sides = (side for side in (spot.now, spot.was) if side.startswith("\n") or not spot.lead.strip())
    first_lines = (side.strip().partition("\n")[0] for side in sides)
    matches = (_HEADING.match(line) or _LABEL.match(line) or _OPEN_TAG.match(line) for line in first_lines)
    return [match[match.lastindex or 0] if match.re is not _OPEN_TAG else match[2] for match in matches if match]


def labels_of(front: str, line: str) -> list[str]:
    """What names the text behind `front`, the nearest first: its field on the line, label lines, headings, open tags.

    `line` is the whole line that `front` ends in.
    """
    head, _, lead = front.rpartition("\n")
    found = [match[1].strip()] if (match := _FIELD.match(lead)) else []
    deepest = 7
    label_seen = False
    lines = head.split("\n")[-120:]
    for number, above in enumerate(reversed(lines)):
        heading, label = _HEADING.match(above), _LABEL.match(above)
        if heading and len(heading[1]) < deepest:
            found.append(heading[2])
            deepest, label_seen = len(heading[1]), True
        elif label and not label_seen and not _left([*lines[len(lines) - number :], line]):
            found.append(label[1].strip())
            label_seen = True
    return found + open_tags(front)


def _left(behind: list[str]) -> bool:
    """Whether, in the lines behind a label, a list has ended and prose has begun: the label no longer covers that."""
    listed = blank = False
    for line in behind:
        if not line.strip():
            blank = listed
        elif blank and re.match(r"[^\W\d_]", line):
            return True
        else:
            listed = listed or bool(_ITEM.match(line))
    return False


def open_tags(front: str) -> list[str]:
    """Names of the tags that are open at the end of `front`, the innermost first."""
    opened: list[str] = []
    for closing, name, empty in _OPEN_TAG.findall(front):
        if closing and name in opened:
            del opened[len(opened) - 1 - opened[::-1].index(name) :]
        elif not closing and not empty:
            opened.append(name)
    return [name.replace("_", " ").replace("-", " ") for name in reversed(opened)]


def _nearest(spot: Spot) -> str | None:
    return next(iter(labels_of(spot.front, spot.lines[0])), None)
