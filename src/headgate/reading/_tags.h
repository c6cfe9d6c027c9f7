/* The pass over a page of one character width. Included by _tags.c once for each of the widths that
   Python keeps text in, with CHAR and NAMED(name) defined. */

/* The first `wanted` from p on, or n. */
static Py_ssize_t NAMED(find)(const CHAR *s, Py_ssize_t p, Py_ssize_t n, CHAR wanted)
{
    /* A few by hand: hostile pages, and much of honest ones, have it near. */
    Py_ssize_t near = n - p > 16 ? p + 16 : n;
    for (; p < near; p++)
        if (s[p] == wanted) return p;
    if (sizeof(CHAR) == 1) {
        const void *found = p < n ? memchr(s + p, wanted, (size_t)(n - p)) : NULL;
        return found ? (const CHAR *)found - s : n;
    }
    while (p < n && s[p] != wanted) p++;
    return p;
}

static int NAMED(blank)(CHAR c) { return c < 128 && (CLASS[c] & BLANK); }
static int NAMED(letter)(CHAR c) { return c < 128 && (CLASS[c] & LETTER); }
static int NAMED(ends_name)(CHAR c) { return c < 128 && (CLASS[c] & (BLANK | SLASH | CLOSE)); }

/* Whether s[start:end] is `text`, which is in lower case, whatever its own case. */
static int NAMED(spells)(const CHAR *s, Py_ssize_t start, const char *text, Py_ssize_t length)
{
    for (Py_ssize_t k = 0; k < length; k++) {
        CHAR c = s[start + k];
        if (c >= 'A' && c <= 'Z') c |= 0x20;
        if (c != (CHAR)(unsigned char)text[k]) return 0;
    }
    return 1;
}

static int NAMED(word_among)(const Word *words, int count, const CHAR *s, Py_ssize_t start,
                             Py_ssize_t end)
{
    for (int k = 0; k < count; k++)
        if (words[k].length == end - start
            && NAMED(spells)(s, start, words[k].text, words[k].length))
            return k;
    return -1;
}

/* Behind the `>` that ends a tag, or PAGE_ENDED; p is behind the tag's name. What `tag` wants of
   its attributes is noted; `tag` may be NULL. */
static Py_ssize_t NAMED(attributes)(const CHAR *s, Py_ssize_t p, Py_ssize_t n, Tag *tag)
{
    int seen = 0;
    if (tag == NULL) {
        /* Without an equals sign there is no value, so the first `>` ends it. */
        Py_ssize_t q = p;
        while (q < n && s[q] != '>' && s[q] != '=') q++;
        if (q >= n) return PAGE_ENDED;
        if (s[q] == '>') return q + 1;
    }
    for (;;) {
        while (p < n && (s[p] == '/' || NAMED(blank)(s[p]))) p++;
        if (p >= n) return PAGE_ENDED;
        if (s[p] == '>') return p + 1;
        Py_ssize_t key = p++, key_end;
        while (p < n && s[p] != '=' && !NAMED(ends_name)(s[p])) p++;
        key_end = p;
        Py_ssize_t value = p, value_end = p;
        Py_ssize_t q = p;
        while (q < n && NAMED(blank)(s[q])) q++;
        if (q < n && s[q] == '=') {
            q++;
            while (q < n && NAMED(blank)(s[q])) q++;
            if (q >= n) return PAGE_ENDED;
            if (s[q] == '"' || s[q] == '\'') {
                value = q + 1;
                value_end = NAMED(find)(s, value, n, s[q]);
                if (value_end >= n) return PAGE_ENDED;
                p = value_end + 1;
            } else {
                value = q;
                while (q < n && s[q] != '>' && !NAMED(blank)(s[q])) q++;
                value_end = p = q;
            }
        }
        if (tag == NULL || ++seen > MOST_ATTRIBUTES) continue;
        int k = NAMED(word_among)(tag->name->keys, tag->name->key_count, s, key, key_end);
        if (k >= 0 && tag->values[k].start < 0) {
            tag->values[k].start = value;
            tag->values[k].end = value_end;
        }
    }
}

/* Behind the end of a comment; p is behind its `<!--`. */
static Py_ssize_t NAMED(comment)(const CHAR *s, Py_ssize_t p, Py_ssize_t n)
{
    if (p < n && s[p] == '>') return p + 1;
    if (p + 1 < n && s[p] == '-' && s[p + 1] == '>') return p + 2;
    for (;;) {
        p = NAMED(find)(s, p, n, '-');
        Py_ssize_t dashes = p;
        while (p < n && s[p] == '-') p++;
        if (p >= n) return n;
        if (p - dashes < 2) continue;
        if (s[p] == '>') return p + 1;
        if (s[p] == '!' && p + 1 < n && s[p + 1] == '>') return p + 2;
    }
}

/* Where the end tag of raw text begins, or the page ends. */
static Py_ssize_t NAMED(raw_text_end)(const CHAR *s, Py_ssize_t p, Py_ssize_t n, const char *name,
                                      Py_ssize_t length)
{
    for (;; p++) {
        p = NAMED(find)(s, p, n, '<');
        if (n - p < length + 3) return n;
        if (s[p + 1] == '/' && NAMED(spells)(s, p + 2, name, length)
            && NAMED(ends_name)(s[p + 2 + length]))
            return p;
    }
}

/* `<title />`: closed by a slash that belongs to no value. p is behind the `>`. */
static int NAMED(closed_itself)(const CHAR *s, Py_ssize_t name_end, Py_ssize_t p)
{
    if (s[p - 2] != '/') return 0;
    if (p - 2 == name_end) return 1;
    CHAR before = s[p - 3];
    return before == '"' || before == '\'' || NAMED(blank)(before);
}

/* A start tag; p is its first letter. Where to go on, or PAGE_ENDED. */
static Py_ssize_t NAMED(start_tag)(const Pass *pass, const CHAR *s, Py_ssize_t p, Py_ssize_t n,
                                   Tag *tag)
{
    Py_ssize_t name = p;
    while (p < n && !NAMED(ends_name)(s[p])) p++;
    if (p >= n) return PAGE_ENDED;
    Py_ssize_t name_end = p;
    int initial = (s[name] | 0x20) - 'a';
    const Name *wanted = NULL;
    const char *raw = NULL;
    if (name_end - name <= LONGEST_WORD) {
        for (int k = pass->first[initial]; k >= 0; k = pass->names[k].next)
            if (pass->names[k].word.length == name_end - name
                && NAMED(spells)(s, name, pass->names[k].word.text, name_end - name)) {
                wanted = &pass->names[k];
                break;
            }
        if (RAW_INITIALS & (1u << initial)) {
            int k = NAMED(word_among)(RAW_TEXT, RAW_TEXTS, s, name, name_end);
            if (k == PLAINTEXT) return PAGE_ENDED;
            if (k >= 0) raw = RAW_TEXT[k].text;
        }
    }
    if (wanted != NULL) {
        tag->name = wanted;
        for (int k = 0; k < wanted->key_count; k++) tag->values[k].start = -1;
    }
    p = NAMED(attributes)(s, p, n, wanted ? tag : NULL);
    if (p == PAGE_ENDED) {
        tag->name = NULL;
        return PAGE_ENDED;
    }
    tag->text.start = -1;
    if (raw != NULL && !NAMED(closed_itself)(s, name_end, p)) {
        tag->text.start = p;
        tag->text.end = p = NAMED(raw_text_end)(s, p, n, raw, name_end - name);
    }
    tag->end = p;
    return p;
}

/* The next wanted tag from p on, or the first place at or behind `stop` where none is open:
   where to go on. tag->name is NULL where none was found. */
static Py_ssize_t NAMED(next_tag)(const Pass *pass, const CHAR *s, Py_ssize_t p, Py_ssize_t n,
                                  Py_ssize_t stop, Tag *tag)
{
    tag->name = NULL;
    while (p < stop) {
        p = NAMED(find)(s, p, n, '<') + 1;
        if (p >= n) return n;
        if (NAMED(letter)(s[p]))
            p = NAMED(start_tag)(pass, s, p, n, tag);
        else if (s[p] == '/' && p + 1 < n && NAMED(letter)(s[p + 1])) {
            for (p++; p < n && !NAMED(ends_name)(s[p]);) p++;
            p = NAMED(attributes)(s, p, n, NULL);
        } else if (n - p > 2 && s[p] == '!' && s[p + 1] == '-' && s[p + 2] == '-')
            p = NAMED(comment)(s, p + 3, n);
        else if (s[p] == '!' || s[p] == '?' || s[p] == '/') {
            p = NAMED(find)(s, p, n, '>');
            if (p < n) p++;
        }
        if (p == PAGE_ENDED) return n;
        if (tag->name != NULL) return p;
    }
    return p;
}
