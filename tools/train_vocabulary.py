"""Train the tiny model's byte-level BPE vocabulary and write it as package data.

    python tools/train_vocabulary.py [--check]

Merges never cross a pre-token (a word with the blank before it, a run of marks, one digit), so all that training can
learn from a text is how often each pre-token occurs. This script therefore trains on counts, made from the word list
beside it and the marks below: the same result on every machine. `--check` writes nothing and fails if the committed
file differs.
"""

from __future__ import annotations

import heapq
import itertools
import json
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from hitrate.engines.vocabulary import BYTE_CHARACTERS, SPECIAL_TOKENS, VOCABULARY_SIZE

HERE = Path(__file__).parent
WORDS = HERE / "vocabulary_words.txt"
TARGET = HERE.parent / "src" / "hitrate" / "engines" / "data" / "vocabulary.json"

VOWELS = frozenset("aeiou")

# How often a word stands after a blank, at the start of a line or string, and each of these with a capital.
PLACES = ((" {}", False, 80), ("{}", False, 6), (" {}", True, 8), ("{}", True, 6))

# Marks as JSON, code, Markdown and prose set them, most frequent first.
MARKS = r"""
, . - ' : " ( ) / _ ; ? ! = + * # < > [ ] { } | & % $ @ ` ~ \ ^
": "," ", {" "} "}} "}, "}}, }} }, }}, {" ({ }) ): () ()) (" ") "). "]) ], ]} [" [{ }] "] ["] -- --- ... ?" ." ," !"
>\ < /> </ > <| |> == != <= >= -> => += -= ** // :// /* */ ## ### #### ``` `` `. `, (` `) "" '' :" ': ', 's
"""
MARKS_AFTER_BLANK = r"""
" { } }, ], ] [ ( - = == != + * / < > <= >= -> => & | # ## {" [" [{ ({ (" ' ` "" {} [] () : :: += % $ // ``` -- ... \ <|
"""
# A line break takes the blanks after it but one, which goes with the next mark: odd numbers are the common ones.
INDENTS = ("\n", "\n\n", "\n   ", "\n       ", "\n     ", "\n ", "\n         ", "\n           ", "   ", "       ", "  ")


def verb_forms(verb: str, *, regular_past: bool) -> Iterator[str]:
    yield verb
    stem, last = verb[:-1], verb[-1]
    after_consonant = len(verb) > 1 and verb[-2] not in VOWELS
    doubled = len(verb) <= 4 and last not in "aeiouwxy" and verb[-2] in VOWELS and verb[-3:-2] not in ("", *VOWELS)
    if last == "y" and after_consonant:
        yield stem + "ies"
        yield verb + "ing"
        if regular_past:
            yield stem + "ied"
        return
    yield verb + ("es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")
    silent_e = last == "e" and not verb.endswith(("ee", "ye", "oe"))
    bare = stem if silent_e else verb + last if doubled else verb
    yield ("ly" if verb in ("lie", "die", "tie") else bare.removesuffix("i") if verb.endswith("ie") else bare) + "ing"
    if regular_past:
        yield verb + "d" if last == "e" else bare + "ed"


def plural(noun: str) -> str:
    if noun[-1] == "y" and noun[-2] not in VOWELS:
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "z", "ch", "sh")) else "s")


def forms(kind: str, word: str) -> Iterator[str]:
    if kind == "verb":
        yield from verb_forms(word.removesuffix("*"), regular_past=not word.endswith("*"))
    elif kind == "noun":
        yield from (word, plural(word))
    else:
        yield word


def pretoken_counts(word_list: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    kind, weight, rank = "plain", 0, 0
    for line in word_list.splitlines():
        if line.startswith("["):
            kind, weight_text = line.strip("[]").split()
            weight, rank = int(weight_text), 0
            continue
        for word in () if line.startswith("#") else line.split():
            rank += 1
            count = max(1, math.isqrt(weight * weight * 10_000 // rank) // 100)
            for form in forms(kind, word):
                for place, capital, share in PLACES if kind != "json" else (("{}", False, 100),):
                    counts[place.format(form.capitalize() if capital else form)] += max(1, count * share // 100)
    for marks, blank, weight in (
        (MARKS.split(), "", 4000),
        (MARKS_AFTER_BLANK.split(), " ", 2000),
        (INDENTS, "", 2000),
    ):
        for rank, mark in enumerate(marks, start=1):
            counts[blank + mark] += weight // rank + 40
    return counts


def train(counts: Counter[str], merged_tokens: int) -> list[tuple[str, str]]:
    """The merges, in order, that give `merged_tokens` different tokens; equal counts are decided by the text."""
    words = [[BYTE_CHARACTERS[byte] for byte in pretoken.encode()] for pretoken in counts]
    weights = list(counts.values())
    pair_counts: Counter[tuple[str, str]] = Counter()
    where: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    for number, word in enumerate(words):
        for pair in itertools.pairwise(word):
            pair_counts[pair] += weights[number]
            where[pair].add(number)
    # A heap of (count, pair) in which an entry counts only while it is still true.
    queue = [(-count, pair) for pair, count in pair_counts.items()]
    heapq.heapify(queue)
    merges: list[tuple[str, str]] = []
    tokens: set[str] = set()
    while len(tokens) < merged_tokens:
        negative_count, pair = heapq.heappop(queue)
        if pair_counts[pair] != -negative_count:
            continue
        merges.append(pair)
        tokens.add("".join(pair))
        changed: set[tuple[str, str]] = set()
        for number in where.pop(pair):
            word = words[number]
            for old in itertools.pairwise(word):
                pair_counts[old] -= weights[number]
                where[old].discard(number)
            changed.update(itertools.pairwise(word))
            merge_in_place(word, pair)
            for new in itertools.pairwise(word):
                pair_counts[new] += weights[number]
                where[new].add(number)
            changed.update(itertools.pairwise(word))
        for touched in changed:
            heapq.heappush(queue, (-pair_counts[touched], touched))
    return merges


def merge_in_place(word: list[str], pair: tuple[str, str]) -> None:
    position = 0
    while position < len(word) - 1:
        if (word[position], word[position + 1]) == pair:
            word[position : position + 2] = ["".join(pair)]
        position += 1


def main() -> int:
    counts = pretoken_counts(WORDS.read_text(encoding="utf-8"))
    merges = train(counts, VOCABULARY_SIZE - len(BYTE_CHARACTERS) - len(SPECIAL_TOKENS))
    lines = ",\n".join(json.dumps(" ".join(merge), ensure_ascii=True) for merge in merges)
    document = f'{{"merges": [\n{lines}\n]}}\n'
    if "--check" in sys.argv[1:]:
        if TARGET.read_text(encoding="utf-8") != document:
            print(f"{TARGET} differs from what training gives", file=sys.stderr)
            return 1
        return 0
    TARGET.write_text(document, encoding="utf-8")
    print(f"{TARGET}: {len(merges)} merges from {len(counts)} pre-tokens")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
