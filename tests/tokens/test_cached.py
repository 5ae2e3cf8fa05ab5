from hitrate.tokens.cached import CachedTokenizer


class Counting:
    """One token a character; remembers what it was asked to encode."""

    name = "letters"
    exact = False

    def __init__(self):
        self.asked = []

    def encode(self, text):
        self.asked.append(text)
        return [ord(character) for character in text]


def test_a_text_is_encoded_once():
    counting = Counting()
    cached = CachedTokenizer(counting)
    assert [list(cached.encode(text)) for text in ("ab", "", "ab", "")] == [[97, 98], [], [97, 98], []]
    assert counting.asked == ["ab", ""]
    assert (cached.name, cached.exact) == ("letters", False)


def test_the_least_recently_used_text_goes_first():
    counting = Counting()
    cached = CachedTokenizer(counting, max_characters=6)
    for text in ("aaa", "bbb", "aaa", "ccc", "aaa", "bbb"):
        cached.encode(text)
    assert counting.asked == ["aaa", "bbb", "ccc", "bbb"]


def test_a_text_above_the_bound_is_never_kept():
    counting = Counting()
    cached = CachedTokenizer(counting, max_characters=3)
    for text in ("aaa", "four", "four", "aaa"):
        cached.encode(text)
    assert counting.asked == ["aaa", "four", "four"]
