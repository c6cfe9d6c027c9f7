"""A web made by a seed: sites whose pages have the same names in many folders, linked in every way
that there is."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from urllib.parse import quote

from bench.spellings import Dice, Place, reference
from bench.whole_closure import Reply, Wanted, normal

__all__ = ["LARGE_BYTES", "MadeWeb", "address"]

LARGE_BYTES = 140_000
"""Of a page that is read in the child process."""

_FOLDERS = (
    (), ("sub",), ("sub", "deep"), ("other",), ("docs",), ("docs", "sub"), ("Über uns",),
    ("private",),
)  # fmt: skip
_NAMES = (
    "", "index.html", "part1.html", "part2.html", "x", "X", "a b.html", "~me", "été.html",
    "日本.html", "100%.html", "a'b(c).html", "x;v=1", "list.php", "a+b&c=d", "^caret|bar", "a:b",
)  # fmt: skip
_QUERIES = (
    "p=1",
    "p=2&q=1",
    "",
    "q=ü",
    "q=表示&x=ソ",
    "q=功中許",
    "q=丂中€",
    "q=😀é",
    "a/b?c",
    "q='x' y",
)
_CHARSETS = (
    "utf-8", "utf-8", "utf-8", "windows-1252", "shift_jis", "gbk", "big5", "euc-kr", "windows-1251",
    "euc-jp", "koi8-r", "iso-8859-2",
)  # fmt: skip
_PYTHON = {
    "shift_jis": "cp932",
    "windows-1252": "cp1252",
    "windows-1251": "cp1251",
    "euc-kr": "cp949",
}
_NOWHERE = (
    "mailto:me@h0.example", "javascript:void(0)", "data:text/html,x", "tel:1", "http://", "//",
    "http://a b/", "https:///", "ftp://h0.example/x", "http://[::1", "http://h0.example:x/",
    "about:blank",
)  # fmt: skip
_RELATIONS = ("next", "prev", "Contents", "canonical", "up", "index")
_OTHER_RELATIONS = ("edit", "search", "prefetch", "author")
_KINDS = ("html",) * 12 + ("feed", "atom", "pdf", "script", "missing", "moved", "moved")
_ASSETS = ("logo.png", "style.css", "code.js", "theme.css", "font.woff", "frame.svg", "moved.png")


def address(place: Place) -> str:
    """The name of a place whose query, if any, is in ASCII or UTF-8."""
    path = "/".join(quote(segment, safe="~!$&'()*+,;=:@|") for segment in place.path)
    query = "" if place.query is None else "?" + quote(place.query, safe="!$&()*+,;=:@/?|")
    name = normal(None, f"{place.scheme}://{place.host}/{path}{query}")
    assert name is not None, place
    return name


@dataclass(slots=True)
class _Thing:
    """A page, or what a page shows."""

    place: Place
    kind: str
    leads: list[Place]
    shows: list[Place]
    menu: list[str] = field(default_factory=list)
    """References as they stand on many pages of a site, wherever those are."""


class MadeWeb:
    """One seed."""

    def __init__(self, seed: int) -> None:
        self._dice = dice = Dice(seed, 0)
        self.replies: dict[str, Reply] = {}
        self._scripts: dict[str, Reply] = {}
        """By URL without query: whatever is asked of them, they answer."""
        self._serial = 0
        self.sites: list[Wanted] = []
        self._pages: list[_Thing] = []
        drafts = [self._draft(number) for number in range(dice.one_of((1, 1, 2, 3)))]
        strangers = [
            _Thing(Place("http", "stranger.example", (name,)), "html", [], [])
            for name in ("index.html", "x", "part1.html")
        ]
        every = [thing for things, _ in drafts for thing in things]
        for number, (things, assets) in enumerate(drafts):
            self._link(things, assets, every, strangers)
            self._publish_files(things)
            self.sites.append(self._site(number, things))
        for stranger in strangers:  # what nobody asked for, and leads further
            stranger.leads = [dice.one_of(every).place, dice.one_of(strangers).place]
        for thing in every + strangers + [asset for _, assets in drafts for asset in assets]:
            self._publish(thing)
        self._pages = [thing for thing in every if thing.kind in ("html", "feed", "atom")]

    def change(self) -> None:
        """Some time later: pages link to others, and no longer to some."""
        for thing in self._pages:
            if self._dice.chance(0.4):
                if len(thing.leads) > 1:
                    thing.leads.pop(self._dice.below(len(thing.leads)))
                thing.leads.append(self._target(self._pages))
                self._publish(thing)

    def get(self, url: str) -> Reply:
        reply = self.replies.get(url)
        if reply is None and "?" in url:
            reply = self._scripts.get(url.partition("?")[0])
            if reply is not None:  # no two queries have one answer
                return Reply(reply.status, reply.headers, reply.body + f"<!--{url}-->".encode())
        return reply or Reply(404, (("content-type", "text/html"),), b"<a href=/lost>no</a>")

    # What there is, and what leads where.

    def _draft(self, number: int) -> tuple[list[_Thing], list[_Thing]]:
        """The pages of a site, seed first, and what they show."""
        dice, host = self._dice, f"h{number}.example"
        main = f"www.{host}" if dice.chance(0.2) else host
        main += ":8080" if dice.chance(0.15) else ""
        scheme = "https" if dice.chance(0.3) else "http"
        hosts = [main] * 6 + [f"files.{host}", f"{host}:81"]
        if dice.chance(0.3):
            hosts += [f"www.{main}"] if not main.startswith("www.") else [main[4:]]
        folders = [()] + [dice.one_of(_FOLDERS) for _ in range(dice.between(2, 4))]
        names = [dice.one_of(_NAMES) for _ in range(dice.between(3, 6))]
        things = [
            _Thing(Place(scheme, main, (dice.one_of(("", "index.html", "x")),)), "html", [], [])
        ]
        known = {address(things[0].place)}
        for _ in range(dice.between(6, 22)):
            place = Place(scheme, dice.one_of(hosts), (*dice.one_of(folders), dice.one_of(names)))
            kind = dice.one_of(_KINDS)
            if dice.chance(0.05):
                place = place._replace(scheme="https" if scheme == "http" else "http")
            if kind not in ("script", "missing") and dice.chance(0.15):
                place = place._replace(query=dice.one_of(_QUERIES[:3]))
            if address(place) not in known:
                known.add(address(place))
                things.append(_Thing(place, kind, [], []))
        owners = [main, main, "cdn.example", f"files.{host}"]
        assets = [
            _Thing(Place(scheme, dice.one_of(owners), ("static", name)), "asset", [], [])
            for name in _ASSETS
            if dice.chance(0.6)
        ]
        return things, assets

    def _link(
        self,
        things: list[_Thing],
        assets: list[_Thing],
        every: list[_Thing],
        strangers: list[_Thing],
    ) -> None:
        dice = self._dice
        menu = self._menu(things)
        for number, thing in enumerate(things[1:], 1):
            if dice.chance(0.9):  # others are in a sitemap, or nowhere
                things[dice.below(number)].leads.append(thing.place)
        for thing in things:
            thing.menu = menu if dice.chance(0.5) else []
            thing.leads += [self._target(things) for _ in range(dice.between(1, 5))]
            if dice.chance(0.3):
                thing.leads.append(dice.one_of(every).place)
            if dice.chance(0.2):
                thing.leads.append(dice.one_of(strangers).place)
            if assets and dice.chance(0.4):
                thing.shows += [dice.one_of(assets).place for _ in range(dice.between(1, 3))]
            if assets and dice.chance(0.08):  # linked, too
                thing.leads.append(dice.one_of(assets).place)
            if dice.chance(0.03):
                thing.shows.append(dice.one_of(things).place)
        for asset in assets:
            asset.shows = [dice.one_of(assets).place for _ in range(2)]
            asset.leads = [dice.one_of(assets + strangers).place]

    def _menu(self, things: list[_Thing]) -> list[str]:
        dice, names = self._dice, [quote(thing.place.path[-1]) for thing in things[:3]]
        menu = [dice.one_of(("{}", "{}", "./{}", "../{}")).format(name) for name in names]
        return [*menu, dice.one_of(("?p=1", "?p=2&q=1", "#top", "sub/", "index.html", "//x"))]

    def _target(self, things: list[_Thing]) -> Place:
        thing = self._dice.one_of(things)
        if thing.kind == "script":
            return thing.place._replace(query=self._dice.one_of(_QUERIES))
        return thing.place

    def _site(self, number: int, things: list[_Thing]) -> Wanted:
        dice = self._dice
        seeds = [address(things[0].place)]
        second = dice.one_of(things)
        if dice.chance(0.2) and second.kind == "html":
            seeds.append(address(second.place))
        elif dice.chance(0.15):  # the user has an old address
            seeds = [f"http://old{number}.example/"]
            self.replies[seeds[0]] = Reply(301, (("location", address(things[0].place)),))
        include: tuple[str, ...] = ()
        if dice.chance(0.2):
            include = dice.one_of(
                (
                    ("/sub/", "/docs/"),
                    (r"part\d", "index", "x$"),
                    ("example", rf"://files\.h{number}"),
                )
            )
        return Wanted(
            f"h{number}.example",
            tuple(seeds),
            include,
            dice.one_of((("/other/",), (r"\?p=1",), ("part2", "logo"))) if dice.chance(0.2) else (),
            depth=dice.between(0, 4) if dice.chance(0.25) else None,
            requisites=dice.one_of(("none", "none", "same-site", "page", "page")),
            focus="page text" if dice.chance(0.08) else "",
        )

    # What stands in it.

    def _publish_files(self, things: list[_Thing]) -> None:
        """robots.txt and sitemaps."""
        dice, place = self._dice, things[0].place
        origin = f"{place.scheme}://{place.host}"
        listed = [address(self._dice.one_of(things).place) for _ in range(4)]
        robots = ["User-agent: *"]
        if dice.chance(0.4):
            robots.append("Disallow: " + dice.one_of(("/private/", "/other/x", "/docs/sub/")))
        kind = dice.below(6)
        if kind == 1:
            robots += ["", "Sitemap: /lists/all.xml", f"Sitemap: {origin}/lists/more.txt"]
            self.replies[f"{origin}/lists/more.txt"] = Reply(body="\n".join(listed[:2]).encode())
            self.replies[f"{origin}/lists/all.xml"] = _sitemap("url", listed[2:])
        elif kind == 2:
            self.replies[f"{origin}/sitemap.xml"] = _sitemap(
                "sitemap", [f"{origin}/s1.xml", "/s2.xml", "http://stranger.example/sitemap.xml"]
            )
            self.replies[f"{origin}/s1.xml"] = _sitemap("url", listed[:2])
            self.replies[f"{origin}/s2.xml"] = Reply(302, (("location", "lists/s3.xml"),))
            self.replies[f"{origin}/lists/s3.xml"] = _sitemap("url", listed[2:])
        elif kind == 3:
            self.replies[f"{origin}/sitemap.xml"] = _sitemap("url", listed)
        if kind < 5:
            self.replies[f"{origin}/robots.txt"] = Reply(body="\n".join(robots).encode())

    def _publish(self, thing: _Thing) -> None:
        makers: dict[str, Callable[[_Thing], Reply]] = {
            "html": self._html, "script": self._html, "feed": self._feed, "atom": self._feed,
            "pdf": self._pdf, "moved": self._moved, "asset": self._asset,
        }  # fmt: skip
        url = address(thing.place)
        if thing.kind == "missing":
            self.replies[url] = Reply(self._dice.one_of((404, 410, 403)))
            return
        self._serial += 1
        reply = makers[thing.kind](thing)
        if reply.body and thing.kind != "script" and self._dice.chance(0.08):
            headers = (*reply.headers, ("content-encoding", "gzip"))
            reply = Reply(reply.status, headers, gzip.compress(reply.body, 1, mtime=0))
        self.replies[url] = reply
        if thing.kind == "script":
            self._scripts[url] = reply

    def _moved(self, thing: _Thing) -> Reply:
        target = reference(self._dice, thing.place, self._dice.one_of(thing.leads)).strip()
        for blank in "\t\r\n\x0c":
            target = target.replace(blank, "")
        status = self._dice.one_of((301, 302, 303, 307, 308))
        return Reply(status, (("location", target.encode().decode("latin-1")),))

    def _asset(self, thing: _Thing) -> Reply:
        name, dice = thing.place.path[-1], self._dice
        if name == "moved.png":
            return Reply(302, (("location", address(dice.one_of(thing.leads))),))
        if name.endswith(".css"):
            refs = [
                reference(dice, thing.place, place).split("#")[0].strip() for place in thing.shows
            ]
            refs = [ref for ref in refs if not set(ref) & set("\t\r\n\x0c '\"()")]
            rules = [f"a{{background: url({ref})}}" for ref in refs if ref]
            text = "\n".join(["/* url(no.png) */", f"@import '{refs[0]}';" if refs else "", *rules])
            return Reply(200, (("content-type", "text/css"),), text.encode())
        kind = {"png": "image/png", "js": "text/javascript"}.get(name[-3:].strip("."), "font/woff")
        return Reply(200, (("content-type", kind),), f"{self._serial} binary".encode())

    def _feed(self, thing: _Thing) -> Reply:
        refs = [escape(address(place)) for place in thing.leads]
        refs += [escape(ref.strip()) for ref in (
            reference(self._dice, thing.place, place) for place in thing.leads[:2]
        ) if not set(ref) & set("\x0c\r\n\t")]  # fmt: skip
        if thing.kind == "feed":
            items = "".join(f"<item><title>t</title><link>{ref}</link></item>" for ref in refs)
            text = f"<rss><channel><title>{self._serial}</title>{items}</channel></rss>"
        else:
            items = "".join(f'<entry><link href="{ref}"/></entry>' for ref in refs if ref)
            items += '<entry><link rel="edit" href="/edit"/></entry>'
            text = (
                f'<feed xmlns="http://www.w3.org/2005/Atom"><id>{self._serial}</id>{items}</feed>'
            )
        kind = "application/rss+xml" if thing.kind == "feed" else "application/atom+xml"
        return Reply(200, (("content-type", kind),), text.encode())

    def _pdf(self, thing: _Thing) -> Reply:
        links = [f"<< /S /URI /URI ({address(place)}) >>" for place in thing.leads]
        usable = [link for link in links if link.count("(") == 1]
        text = f"%PDF-1.4\n% {self._serial}\n" + "\n".join(usable)
        return Reply(200, (("content-type", "application/pdf"),), text.encode())

    def _html(self, thing: _Thing) -> Reply:
        dice = self._dice
        base, base_tag = self._base(thing)
        parts = [self._anchor(dice, reference(dice, base, place)) for place in thing.leads]
        parts += [f"<a href={_quoted(ref)}>x</a>" for ref in thing.menu]
        parts += [self._shown(dice, reference(dice, base, place)) for place in thing.shows]
        parts += [self._trick(dice) for _ in range(dice.below(4))]
        if dice.chance(0.04):
            parts.append(f"<!-- {'padding ' * (LARGE_BYTES // 8)} -->")
        parts.append(base_tag)
        order = [parts.pop(dice.below(len(parts))) for _ in range(len(parts))]
        return self._encoded(thing, order)

    def _base(self, thing: _Thing) -> tuple[Place, str]:
        """What references are relative to, and the tag that says so."""
        dice, place = self._dice, thing.place
        if not dice.chance(0.15):
            return place, dice.one_of(("", "", "<base>", '<base target="_top">'))
        target = place._replace(
            path=(*dice.one_of(_FOLDERS), dice.one_of(("", "base.html"))), query=None
        )
        if dice.chance(0.1):
            target = target._replace(host="stranger.example")
        written = _quoted(reference(dice, place, target))
        tag = f"<base href={written}>"
        return target, dice.one_of((tag, f"<base>{tag}", f'{tag}<base href="/no/">'))

    def _anchor(self, dice: Dice, ref: str) -> str:
        quoted, tag = self._attribute(dice, ref), dice.one_of(("a", "a", "a", "A", "area"))
        match dice.below(14):
            case 0:
                return f"<iframe src={quoted}></iframe>" if ref.strip(" \t\r\n\x0c") else ""
            case 1:
                rel = dice.one_of(_RELATIONS)
                return f"<link rel={rel} href={quoted}>" if ref.strip(" \t\r\n\x0c") else ""
            case 2:
                return f'<link rel="alternate" hreflang="de" href={quoted}>' if ref else ""
            case 3:
                return f"<svg><a xlink:href={quoted}>x</a></svg>"
            case 4:
                return f"<frameset><frame src={quoted}></frameset>" if ref.strip() else ""
            case 5 if '"' not in ref and "'" not in ref and ref.strip():
                return f'<meta http-equiv="Refresh" content="5; url={escape(ref)}">'
            case 6 if dice.chance(0.3):
                return f'<a rel="{dice.one_of(("nofollow", "noopener UGC"))}" href={quoted}>x</a>'
            case _:
                return f"<{tag} class=c HREF = {quoted} id=i>text</{tag}>\n"

    def _shown(self, dice: Dice, ref: str) -> str:
        quoted = self._attribute(dice, ref)
        bare = ref.strip(" \t\r\n\x0c")
        if not bare:
            return ""
        match dice.below(8):
            case 0 if not set(bare) & set(" \t\r\n\x0c,"):
                return f'<img srcset="{escape(bare)} 1x, {escape(bare)}#x 2x">'
            case 1:
                return f"<link rel=stylesheet href={quoted}>"
            case 2:
                return f"<video poster={quoted}></video>"
            case 3:
                return f"<object data={quoted}></object>"
            case 4 if bare.isascii() and not set(bare) & set(" \t\r\n\x0c'\"()&\\#"):
                return f"<style>p {{ background: url({bare}) }}</style>"
            case 5:
                return f"<script src={quoted}></script>"
            case _:
                return f"<img src={quoted}>"

    def _trick(self, dice: Dice) -> str:
        """What leads nowhere, or must not be taken for a link."""
        match dice.below(6):
            case 0:
                return '<!-- <a href="/commented">x</a> -->'
            case 1:
                return "<script>var a = '<a href=\"/scripted\">'</script>"
            case 2:
                return f'<link rel={dice.one_of(_OTHER_RELATIONS)} href="/related">'
            case 3:
                return '<form action="/form"><a name="here">x</a></form>'
            case _:
                return f"<a href={_quoted(dice.one_of(_NOWHERE))}>x</a>"

    def _attribute(self, dice: Dice, ref: str) -> str:
        plain = ref and not set(ref) & set(" \t\r\n\x0c'\"<>=`&") and ref[-1] != "/"
        if plain and dice.chance(0.2):
            return ref
        if dice.chance(0.1):
            return '"' + "".join(f"&#x{ord(letter):x};" for letter in ref) + '"'
        return _quoted(ref, dice.one_of("\"'"))

    def _encoded(self, thing: _Thing, parts: list[str]) -> Reply:
        dice = self._dice
        charset = dice.one_of(_CHARSETS)
        kind, meta = "text/html", ""
        how = dice.below(3) if charset not in ("utf-8", "windows-1252") else dice.below(4)
        if how in (0, 2):
            kind += dice.one_of((f"; charset={charset}", f';charset="{charset.upper()}"'))
        if how in (1, 2):
            meta = dice.one_of((
                f"<meta charset={charset}>",
                f'<meta http-equiv="content-type" content="text/html; charset={charset}">',
            ))  # fmt: skip
        head = f"<!doctype html><html><head>{meta}<title>{self._serial}</title>"
        if dice.chance(0.03):
            head += dice.one_of((
                '<meta name="robots" content="noindex">', '<meta name="robots" content="nofollow">'
            ))  # fmt: skip
        text = head + "\n".join(parts) + f"<p>page {self._serial}</p></html>"
        codec = _PYTHON.get(charset, charset)
        headers: tuple[tuple[str, str], ...] = (("content-type", kind),)
        if dice.chance(0.02):
            headers += (("x-robots-tag", "nofollow"),)
        if thing.leads and dice.chance(0.04):
            headers += (("refresh", f"3; url={address(dice.one_of(thing.leads))}"),)
        return Reply(200, headers, text.encode(codec, "xmlcharrefreplace"))


def _quoted(ref: str, quote_sign: str = '"') -> str:
    text = ref.replace("&", "&amp;").replace(quote_sign, f"&#{ord(quote_sign)};")
    return f"{quote_sign}{text}{quote_sign}"


def _sitemap(entry: str, urls: list[str]) -> Reply:
    root = "urlset" if entry == "url" else "sitemapindex"
    entries = "".join(f"<{entry}><loc> {escape(url)}\n</loc></{entry}>" for url in urls)
    text = f'<?xml version="1.0"?><{root} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</{root}>'
    return Reply(200, (("content-type", "application/xml"),), text.encode())
