"""URLs: resolves references to one normal form.

Parsing is WHATWG's, by ada, so a reference leads where a browser would go. On top of it stands one
normal form for http and https; docs/urls.md tells it in full. What WHATWG's own serialisation
already does: scheme and host in lower case, IDNA, default port dropped, dot segments resolved, an
empty path made ``/``. What is added: the fragment dropped, user and password dropped, and percent
escapes written one way (upper-case digits, unreserved characters bare). Nothing is guessed: the
order of the query, a trailing slash, ``index.html`` and ``www.`` all stay.

User and password go because no request sends them, while manners and caches go by the host: with
a user of its own for each link, a page could have one host asked as if it were hundreds.

Invariants: ``normalise(normalise(u)) == normalise(u)``; no function here raises, whatever the text.

Of ada's two bindings ada-url is used: it passes all 891 cases of WHATWG's test data. can_ada wraps
an older ada that fails 15 of them. ada-url is the slower one (2.6 µs a join against 0.7), but nine
references in ten have a plain shape that needs no parser at all (0.4 µs); a property test holds
that shortcut against ada. And most references of a page are on other pages of its site, too: they
are cached (0.1 µs).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import ada_url

__all__ = [
    "MAX_LENGTH",
    "UrlJoiner",
    "host",
    "in_header",
    "join",
    "normalise",
    "origin",
    "query_in",
    "resolve",
    "without_fragment",
]

MAX_LENGTH = 8_192
"""References and URLs longer than this have no normal form: hardly any server accepts them, each
may be stored and looked up many times, and inline ``data:`` of megabytes should not be parsed only
to be dropped."""

_WEB = ("http://", "https://")
_SURROGATE = re.compile("[\ud800-\udfff]")

_PLAIN_ESCAPE = r"%(?:[0189A-F][0-9A-F]|2[0-9A-CF]|3[A-F]|40|5[B-E]|60|7[B-DF])"
_PLAIN_HOST = r"(?>(?:[a-z0-9]++[.-])*)[a-z][a-z0-9]*+"
_PLAIN_LEAD = (
    rf"https?://{_PLAIN_HOST}(?=/)|/(?![/\\])|(?>(?:\.\./)+)|\./"
    r"|(?=[\w~!$&'()*+,;=@.%-]++(?:[/?]|\Z))"
)
_PLAIN_PATH = (
    r"[\w~!$&'()*+,;=:@/-]*+"
    rf"(?>(?:(?:\.[\w~!$&'()*+,;=:@-]|{_PLAIN_ESCAPE})[\w~!$&'()*+,;=:@/-]*+)*)"
)
_PLAIN_QUERY = rf"(?:\?(?>(?:[\w~!$&()*+,;=:@/?.-]++|{_PLAIN_ESCAPE})*))?"
_PLAIN_TAIL = re.compile(f"{_PLAIN_PATH}{_PLAIN_QUERY}", re.ASCII).fullmatch
_PLAIN = re.compile(f"({_PLAIN_LEAD}){_PLAIN_PATH}{_PLAIN_QUERY}", re.ASCII).fullmatch
"""A reference that WHATWG joins by mere concatenation, whose lead says behind what: no host that
could be a number or punycode, no port, no dot segment but in front, nothing that a first colon
could make a scheme, nothing to escape, to unescape or to write in other digits. Atomic groups, not
possessive ones: those go wrong in Python 3.11.0 to 3.11.4."""
_MAX_PARENTS = 8
_ANYWHERE = ("/", "http://", "https://")
"""Beginnings of references that mean the same on all pages of an origin."""
_MOST_KNOWN = 32_768
_LONGEST_KNOWN = 200
_OF_ITS_FOLDER = re.compile(r"[!-~](?<![?#])[^:]*+", re.ASCII).fullmatch
"""A relative reference that means the same on all pages of a folder: behind a scheme, or where its
path is empty, it may mean the page itself."""

_ESCAPE = re.compile("%[0-9A-Fa-f]{2}")
_STRAY_PERCENT = re.compile("%(?![0-9A-Fa-f]{2})")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_NORMAL_ESCAPES = {
    f"%{octet:02X}": chr(octet) if octet in _UNRESERVED else f"%{octet:02X}" for octet in range(256)
}


_Targets = dict[str, str]
"""Resolved references, by their text."""


class _Known:
    """Cache of resolved references, by what they are relative to: an origin, or a folder. Pages of
    a site have most of them in common. When full it is cleared: it holds some 8 MB then, and 26
    where references are as long as they may be. A folder's key ends with a slash and an origin's
    does not: an origin is never taken for its root folder."""

    __slots__ = ("_count", "_places")

    def __init__(self) -> None:
        self._places: dict[str, _Targets] = {}
        self._count = 0
        """Of places and references."""

    def at(self, place: str) -> _Targets:
        """Of an origin or a folder; to be filled by `keep` alone."""
        known = self._places.get(place)
        if known is None:
            self._make_room()
            known = self._places[place] = {}
        return known

    def keep(self, place: _Targets, ref: str, url: str) -> None:
        self._make_room()
        place[ref] = url

    def clear(self) -> None:
        self._count = 0
        self._places.clear()

    def _make_room(self) -> None:
        if self._count >= _MOST_KNOWN:
            self.clear()
        self._count += 1


_known = _Known()


class UrlJoiner:
    """Joins the references of one page. ``base`` is the page's URL or its ``<base href>``.

    ``codec`` is the page's encoding where it is not UTF-8: browsers write the non-ASCII letters
    of a reference's query in it.
    """

    __slots__ = ("_anywhere", "_base", "_codec", "_here", "_page", "_prefixes")

    def __init__(self, base: str, codec: str = "utf-8") -> None:
        self._codec = None if codec.startswith("utf") else codec
        self._base: str | None
        self._page: str | None
        if _surely_normal(base):
            self._base = self._page = base
        else:
            self._base = resolve(base)
            self._page = _normal(self._base)
        folder = _folder(self._page or "")
        self._prefixes = (_known_prefixes if len(folder) < _LONGEST_KNOWN else _prefixes)(folder)
        remembers = self._prefixes and self._base == self._page and len(folder) < _LONGEST_KNOWN
        self._here = _known.at(folder) if remembers else None
        """Cache for references that mean the same on all pages of this folder; None: unknown."""
        self._anywhere = _known.at(self._prefixes["/"][:-1]) if remembers else None
        """And those that mean the same on all of this origin."""

    def join(self, ref: str) -> str | None:
        """The normal form of ``ref``, resolved; None: it is no http or https URL."""
        if "#" in ref:
            ref = without_fragment(ref)
        if not ref:
            return self._page
        if len(ref) > MAX_LENGTH:
            return None
        plain = _PLAIN(ref)
        if plain is None:
            return self._parsed(ref)
        lead = plain[1]
        prefix = self._prefixes.get(lead)
        if prefix is not None:
            url = prefix + ref[len(lead) :]
        elif lead[:1] == "h":
            url = ref
        else:
            return self._parsed(ref)
        return url if len(url) <= MAX_LENGTH else None

    def join_each(self, refs: Sequence[str]) -> list[str | None]:
        """`join` of each, in their order."""
        here, anywhere = self._here, self._anywhere
        if here is None or anywhere is None:
            return [self.join(ref) for ref in refs]
        urls: list[str | None] = list(map(here.get, refs))
        for place in [place for place, url in enumerate(urls) if url is None]:
            ref = refs[place]
            urls[place] = anywhere.get(ref) or self._join_new(ref, here, anywhere)
        return urls

    def join_all(self, refs: Iterable[str]) -> list[str]:
        """The distinct normal forms in order of appearance, without those that are no URLs."""
        bare = (without_fragment(ref) if "#" in ref else ref for ref in refs)
        joined = dict.fromkeys(self.join_each(list(dict.fromkeys(bare))))
        return [url for url in joined if url is not None]

    def _join_new(self, ref: str, here: _Targets, anywhere: _Targets) -> str | None:
        """Resolve what is not cached. What depends on page or charset never is."""
        url = self.join(ref)
        if url and len(ref) < _LONGEST_KNOWN and len(url) < 2 * _LONGEST_KNOWN and ref.isascii():
            if ref.startswith(_ANYWHERE):
                _known.keep(anywhere, ref, url)
            elif _OF_ITS_FOLDER(ref):
                _known.keep(here, ref, url)
        return url

    def _parsed(self, ref: str) -> str | None:
        if self._codec is not None and not ref.isascii():
            ref = query_in(self._codec, ref)
        return _normal(resolve(ref) if self._base is None else _joined(self._base, ref))


def join(base: str, ref: str) -> str | None:
    """The normal form of ``ref`` as found in a page at ``base``; None: no http or https URL.

    >>> join("http://example.org/a/b", "../c?d#e"), join("http://example.org/", "mailto:x@y")
    ('http://example.org/c?d', None)
    """
    return UrlJoiner(base).join(ref)


def normalise(url: str) -> str | None:
    """The normal form of an absolute URL; None when it is not one of http or https.

    >>> normalise("HTTP://Example.ORG:80/%7euser/./%2f?b&a#top")
    'http://example.org/~user/%2F?b&a'
    """
    return _ROOTLESS.join(url)


def resolve(ref: str, base: str | None = None) -> str | None:
    """Resolved as WHATWG says, of any scheme and with the fragment; None: failure."""
    if base is not None:
        return _joined(base, ref)
    try:
        return ada_url.normalize_url(_scalar(ref))
    except ValueError:
        return None


def origin(url: str) -> str:
    """Scheme, host and port of a URL in normal form: what shares robots.txt and connections.

    >>> origin("https://example.org:8443/a")
    'https://example.org:8443'
    """
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0].rpartition('@')[2]}"


def host(url: str) -> str:
    """The host of a URL in normal form, without port; an IPv6 address keeps its brackets.

    >>> host("https://example.org:8443/a"), host("http://[::1]/")
    ('example.org', '[::1]')
    """
    authority = url.partition("://")[2].partition("/")[0].rpartition("@")[2]
    name, colon, port = authority.rpartition(":")
    return name if colon and not port.endswith("]") else authority


def in_header(value: str | None) -> str:
    """A reference in a header, whose octets were decoded as Latin-1; empty for None.

    Servers write raw UTF-8 there. Invalid octets are escaped one by one, as curl does.

    >>> in_header("/caf\\xc3\\xa9"), in_header("/caf\\xe9")
    ('/café', '/caf%E9')
    """
    if value is None or value.isascii():
        return value or ""
    octets = value.encode("latin-1", "replace")
    try:
        return octets.decode()
    except UnicodeDecodeError:
        return "".join(char if char.isascii() else f"%{ord(char):02X}" for char in value)


def without_fragment(ref: str) -> str:
    """Cut at the first ``#``, unless blanks come before it: at the end, they would be trimmed."""
    bare = ref[: ref.index("#")]
    return ref if bare and bare[-1] <= " " else bare


def _joined(base: str, ref: str) -> str | None:
    try:
        return ada_url.join_url(_scalar(base), _scalar(ref))
    except ValueError:
        return None


def _scalar(text: str) -> str:
    """WHATWG reads a lone surrogate as U+FFFD."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _normal(href: str | None) -> str | None:
    if href is None or not href.startswith(_WEB):
        return None
    if "#" in href:
        href = href.partition("#")[0]
    if "@" in href:
        href = _without_user(href)
    if "%" in href:
        href = _with_normal_escapes(href)
    return href if len(href) <= MAX_LENGTH else None


def _without_user(href: str) -> str:
    """``href`` as ada writes it, with a path; an ``@`` within a user's name is escaped there."""
    scheme, _, rest = href.partition("://")
    authority, slash, path = rest.partition("/")
    return f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"


def _with_normal_escapes(href: str) -> str:
    """A percent sign that begins no escape keeps all escapes as they are, but for case.

    Unescaping beside it could complete it: ``%%34%31`` would become ``%41``, and then ``A``.
    """
    if _STRAY_PERCENT.search(href):
        return _ESCAPE.sub(lambda escape: escape[0].upper(), href)
    return _ESCAPE.sub(lambda escape: _NORMAL_ESCAPES[escape[0].upper()], href)


def _surely_normal(url: str) -> bool:
    """Whether this is a normal form, without using ada; False may be wrong."""
    folder = _folder(url)
    is_normal = _is_known_normal if len(folder) < _LONGEST_KNOWN else _is_normal_folder
    return (
        _PLAIN_TAIL(url, len(folder)) is not None and len(url) <= MAX_LENGTH and is_normal(folder)
    )


def _is_normal_folder(folder: str) -> bool:
    return bool(folder) and normalise(folder) == folder


_is_known_normal = lru_cache(1024)(_is_normal_folder)


def _folder(url: str) -> str:
    """Up to the last slash of the path; empty where there is none."""
    return url[: url.rfind("/", 0, url.find("?") if "?" in url else None) + 1]


def _prefixes(directory: str) -> dict[str, str]:
    """Prefixes for plain references, by how they begin; empty if ada is needed."""
    if not directory or "%" in directory:
        return {}
    root = directory.index("/", len("https://")) + 1
    prefixes = {"/": directory[:root], "./": directory, "": directory}
    for ups in range(1, _MAX_PARENTS):
        if len(directory) > root:
            directory = directory[: directory.rindex("/", 0, -1) + 1]
        prefixes["../" * ups] = directory
    return prefixes


_known_prefixes = lru_cache(1024)(_prefixes)


_ROOTLESS = UrlJoiner("about:blank")
"""Joins absolute URLs only."""


# Writes the non-ASCII letters of a reference's query in the encoding of its page, as browsers do.
#
# WHATWG's URL standard, "percent-encode after encoding": octets that may stand in a query stay,
# even those of a letter (``表`` is ``%95\`` in Shift_JIS), and a letter that the encoding lacks
# becomes a numeric reference of HTML, escaped. The encoders are those of the Encoding Standard,
# from which Python's codecs differ: Big5 reads more than it writes, EUC-JP writes no JIS X 0212,
# Shift_JIS prefers IBM's rows to NEC's copies of them, GBK is GB 18030 up to two octets, and none
# writes a letter as another one that looks alike. Held against a browser, some rare signs aside.


_ESCAPED = frozenset(b"\"#<>'")
"""Of the printable octets."""
_FIRST_OF_BIG5 = 0xA1
"""Below are Hong Kong's additions, which are read and never written."""
_MOST_OF_GBK = 2
_JIS_X_0212 = 0x8F
_IBM_ROWS = range(0xFA, 0xFD)
_NEC_COPIES = (0xED, 0xEE)
_ELSEWHERE = {("gbk", "€"): b"\x80", ("big5hkscs", "€"): b"\xa3\xe1"} | {
    (codec, char): octets
    for codec, minus in (("cp932", b"\x81\x7c"), ("euc_jp", b"\xa1\xdd"))
    for char, octets in (("¥", b"\\"), ("‾", b"~"), ("−", minus))
}


def query_in(codec: str, ref: str) -> str:
    """``ref`` with the non-ASCII letters of its query written in ``codec``, as it is in a URL.

    >>> query_in("cp1252", "/ü?q=ü&r=日#ü"), query_in("cp932", "?表")
    ('/ü?q=%FC&r=%26%2326085%3B#ü', '?%95\\\\')
    """
    before, hash_sign, fragment = ref.partition("#")
    path, mark, query = before.partition("?")
    written = "".join(char if char.isascii() else _escaped(char, codec) for char in query)
    return path + mark + written + hash_sign + fragment


@lru_cache(4096)
def _escaped(char: str, codec: str) -> str:
    octets = _octets(char, codec)
    if octets is None:
        return f"%26%23{ord(char)}%3B"
    return "".join(
        chr(octet) if 0x21 <= octet <= 0x7E and octet not in _ESCAPED else f"%{octet:02X}"
        for octet in octets
    )


def _octets(char: str, codec: str) -> bytes | None:
    """None: the encoding lacks this letter."""
    other = _ELSEWHERE.get((codec, char))
    if other is not None:
        return other
    octets = _encoded(char, "gb18030" if codec == "gbk" else codec)
    if octets is None or _is_never_written(codec, octets):
        return None
    if codec == "cp932" and octets[0] in _NEC_COPIES:
        return _ibm_rows().get(char, octets)
    return octets


def _is_never_written(codec: str, octets: bytes) -> bool:
    """Whether the encoding only reads it."""
    match codec:
        case "gbk":
            return len(octets) > _MOST_OF_GBK
        case "big5hkscs":
            return octets[0] < _FIRST_OF_BIG5
        case "euc_jp":
            return octets[0] == _JIS_X_0212
        case _:
            return False


def _encoded(char: str, codec: str) -> bytes | None:
    try:
        octets = char.encode(codec)
        return octets if octets.decode(codec) == char else None
    except (UnicodeError, LookupError):
        return None


@lru_cache(1)
def _ibm_rows() -> Mapping[str, bytes]:
    rows: dict[str, bytes] = {}
    for octets in (bytes((row, cell)) for row in _IBM_ROWS for cell in range(0x40, 0xFD)):
        try:
            rows.setdefault(octets.decode("cp932"), octets)
        except UnicodeError:
            continue
    return rows
