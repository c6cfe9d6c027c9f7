"""Words as a topic sees them: in lower case, by their stems.

Stemming is Snowball's (PyStemmer, C: 2 µs a word, the same algorithms in Python 50). The page's own
language chooses the algorithm, English where it names none that is known. A word is a run of
letters and digits, so that languages written without blanks have none to speak of.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from headgate.model.extras import extra

if TYPE_CHECKING:
    import Stemmer

__all__ = ["known_language", "stem", "url_text", "words"]

_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_ESCAPED = re.compile(r"%[0-9A-Fa-f]{2}")
_LONGEST_WORD = 40
_STOP_WORDS = frozenset(
    _WORD.findall(
        "a about an and are as at be been but by can do for from had has have he her his how i if"
        " in into is it its may more no not of on one or our she so than that the their them then"
        " there these they this to was we were what when where which who will with would you your"
    )
)


def words(text: str) -> list[str]:
    """
    >>> words("The safety_of FOOD, 2nd edition")
    ['safety', 'food', '2nd', 'edition']
    """
    return [word for word in _WORD.findall(text.lower()) if word not in _STOP_WORDS]


def url_text(url: str) -> str:
    """What a URL says behind its host, as text.

    >>> url_text("https://a.org/docs/foodSafety.html?id=7%20a")
    'docs/food Safety.html?id=7 a'
    """
    path = url.partition("://")[2].partition("/")[2]
    return _CAMEL.sub(" ", _ESCAPED.sub(" ", path))


@lru_cache(64)
def known_language(language: str) -> str:
    """What to stem a page by that says it is in this language.

    >>> known_language("de-AT"), known_language("tlh"), known_language("")
    ('de', 'en', 'en')
    """
    code = language.strip().lower()[:2]
    try:
        _stemmer(code)
    except (KeyError, UnicodeEncodeError):
        return "en"
    return code


def stem(word: str, language: str) -> str:
    """
    >>> stem("regulations", "en"), stem("regulated", "en")
    ('regul', 'regul')
    """
    try:
        return str(_stemmer(language).stemWord(word[:_LONGEST_WORD]))
    except UnicodeEncodeError:  # half a surrogate pair, as a hostile page may hold
        return word


@lru_cache(64)
def _stemmer(language: str) -> Stemmer.Stemmer:
    return extra("Stemmer", "keywords and example pages", "focus").Stemmer(language, 0)
