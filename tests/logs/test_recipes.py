"""Whatever is recorded in whatever order, each body comes out of its recipe as it was; and what recipes save."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitrate.logs import recipe_maker
from hitrate.logs.bodies import BLOCK_BYTES
from hitrate.logs.database import Database
from hitrate.logs.parts import PartReader
from hitrate.logs.recipe_maker import Recipes
from hitrate.logs.recipes import decode_recipe, ids_in, made_of


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    opened = Database.open(tmp_path_factory.mktemp("store") / "runs.sqlite3")
    yield opened
    opened.close()


def recipe_of(database, maker: Recipes, body: bytes) -> str:
    with database.transaction() as connection:
        maker.begin(connection)
        return maker.recipe_of(connection, body)


def body(messages, **members) -> bytes:
    return json.dumps({"model": "m", "messages": messages, "stream": True, **members}).encode()


def message(text: str, role: str = "user") -> dict[str, str]:
    return {"role": role, "content": text}


LONG = [message(f"{number}: " + "word " * 60) for number in range(12)]


_NEW = b'{"role": "user", "content": "spaced"}'
SPACED = body([*LONG, message("spaced")]).replace(b", " + _NEW, b" ," + _NEW)


def parts(database) -> int:
    return database.read("SELECT count(*) FROM parts")[0][0]


@pytest.mark.parametrize(
    ("following", "new_parts"),
    [
        pytest.param(body([*LONG, message("one more")]), 1, id="goes on"),
        pytest.param(body(LONG), 0, id="the same again"),
        pytest.param(body([*LONG[:-1], message("another end")]), 1, id="its last message changes"),
        pytest.param(body([*LONG[:5], message("another way")]), 1, id="breaks in the middle"),
        pytest.param(body(LONG[:7]), 0, id="goes back"),
        pytest.param(body([*LONG, message("x")], tools=[{"name": "f"}]), 2, id="another end behind the messages"),
        pytest.param(body([message("fresh")]), 1, id="another conversation"),
        pytest.param(SPACED, 1, id="another separator"),
        pytest.param(body([*LONG, 7, "text", None]), 3, id="odd elements"),
        pytest.param(body(LONG)[:-30], 1, id="cut off"),
    ],
)
def test_a_following_body(tmp_path, following, new_parts):
    database = Database.open(tmp_path / "runs.sqlite3")
    maker = Recipes()
    recipe_of(database, maker, body(LONG))
    before = parts(database)
    recipe = recipe_of(database, maker, following)
    assert PartReader(database).body_of(recipe) == following
    assert parts(database) - before == new_parts
    assert recipe == recipe_of(database, Recipes(), following)  # as without anything kept in mind
    database.close()


texts = st.sampled_from(["a", "b" * 40, "c" * 400, 'q"\\', "ü日本", "\ud83d", "d" * 20_000])
messages = st.lists(st.builds(message, texts, st.sampled_from(["user", "assistant"])), max_size=6)
layouts = st.sampled_from([(",", ":"), (", ", ": "), (" ,", " :")])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(messages, layouts, st.booleans(), st.booleans()), min_size=1, max_size=5))
def test_bodies_come_back_to_the_byte(database, sent):
    maker = Recipes()
    reader = PartReader(database)
    grown: list[dict[str, str]] = list(LONG[:3])
    for new, separators, ascii_only, starts_anew in sent:
        grown = new if starts_anew else grown + new
        text = json.dumps({"messages": grown, "n": len(grown)}, separators=separators, ensure_ascii=ascii_only)
        data = text.encode("utf-8", "surrogatepass")
        assert reader.body_of(recipe_of(database, maker, data)) == data


@settings(max_examples=60, deadline=None)
@given(st.lists(st.builds(bytes.__mul__, st.binary(max_size=60), st.sampled_from([1, 700])), max_size=4))
def test_any_bytes_come_back(database, bodies):
    maker = Recipes()
    for data in bodies:
        assert PartReader(database).body_of(recipe_of(database, maker, data)) == data


def test_a_growing_text_shares_what_it_had(database):
    maker = Recipes()
    text = "".join(random.Random(1).choices("abcdef ", k=60_000))
    recipe_of(database, maker, json.dumps({"prompt": text}).encode())
    before = parts(database)
    data = json.dumps({"prompt": text + " and more"}).encode()
    assert PartReader(database).body_of(recipe_of(database, maker, data)) == data
    assert parts(database) - before == 1


def test_token_ids_are_not_kept_one_by_one(database):
    before = parts(database)
    data = json.dumps({"prompt": list(range(20_000))}).encode()
    assert PartReader(database).body_of(recipe_of(database, Recipes(), data)) == data
    assert parts(database) - before == len(data) // BLOCK_BYTES + 1


def test_what_is_kept_in_mind_is_bounded(database, monkeypatch):
    monkeypatch.setattr(recipe_maker, "MOST_IDS", 50)
    monkeypatch.setattr(recipe_maker, "MOST_BODIES", 5)
    monkeypatch.setattr(recipe_maker, "MOST_BYTES", 30_000)
    maker = Recipes()
    for number in range(300):
        recipe_of(database, maker, body([message(f"{number} " + "w" * (number % 17) * 100), *LONG]))
        ids, bodies, held = maker.sizes()
        assert ids <= 200 and bodies <= 5 and held <= 30_000


def test_another_process_removing_parts_is_noticed(database):
    maker = Recipes()
    recipe_of(database, maker, body(LONG))
    with database.transaction() as connection:
        connection.execute("DELETE FROM parts")
        connection.execute("UPDATE sweeps SET count = count + 1")
    recipe = recipe_of(database, maker, body(LONG))
    assert PartReader(database).body_of(recipe) == body(LONG)


def test_recipes_as_they_were_before():
    """As schema 2 wrote them: ids and what stands between."""
    recipe = decode_recipe('["{\\"messages\\": [",1,", ",2,"]}"]')
    assert made_of(recipe, {1: b'"a"', 2: b'"b"'}) == b'{"messages": ["a", "b"]}'
    assert list(ids_in(recipe)) == [1, 2]


def test_blocks_and_separators():
    recipe = decode_recipe('["[",[", ",1,[2,3]],"]",["",4,5]]')
    assert made_of(recipe, {1: b"a", 2: b"b", 3: b"c", 4: b"d", 5: b"e"}) == b"[a, bc]de"
    assert list(ids_in(recipe)) == [1, 2, 3, 4, 5]
