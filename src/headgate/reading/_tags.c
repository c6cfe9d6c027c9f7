/* The compiled pass over tags: the same as plain_tags.py, some thirty times as fast.

   A page is text; the pass looks at each character a fixed number of times, keeps nothing but
   places in the page, and makes Python objects only of what was asked for. One call goes over about
   a million characters and a thousand tags, so that other threads have their turn in between; what
   no tag interrupts (a comment, a script, one tag's attributes) is passed over in one go, at some
   hundred megabytes per second at the least. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

#define LONGEST_WORD 15
#define MOST_KEYS 8
#define MOST_NAMES 32
#define MOST_ATTRIBUTES 1000
#define MOST_TAGS 1000
#define STRIDE 1000000
#define LONGEST_TEXT 2000
#define PAGE_ENDED (-1)

typedef struct {
    char text[LONGEST_WORD + 1]; /* in lower case */
    Py_ssize_t length;
} Word;

typedef struct {
    Word word;
    PyObject *name;
    Word keys[MOST_KEYS];
    PyObject *key_names[MOST_KEYS];
    int key_count;
    int next; /* of those with the same initial, or -1 */
} Name;

typedef struct {
    PyObject_HEAD
    PyObject *unescaped;
    PyObject *tidy;
    Name names[MOST_NAMES];
    int name_count;
    int first[26]; /* by initial, or -1 */
} Pass;

typedef struct {
    Py_ssize_t start, end; /* start < 0: none */
} Span;

typedef struct {
    const Name *name;
    Span values[MOST_KEYS];
    Span text;
    Py_ssize_t end;
} Tag;

enum { BLANK = 1, SLASH = 2, CLOSE = 4, LETTER = 8 };

static const unsigned char CLASS[128] = {
    ['\t'] = BLANK, ['\n'] = BLANK, ['\f'] = BLANK, ['\r'] = BLANK, [' '] = BLANK,
    ['/'] = SLASH,  ['>'] = CLOSE,
    ['A'] = LETTER, ['B'] = LETTER, ['C'] = LETTER, ['D'] = LETTER, ['E'] = LETTER,
    ['F'] = LETTER, ['G'] = LETTER, ['H'] = LETTER, ['I'] = LETTER, ['J'] = LETTER,
    ['K'] = LETTER, ['L'] = LETTER, ['M'] = LETTER, ['N'] = LETTER, ['O'] = LETTER,
    ['P'] = LETTER, ['Q'] = LETTER, ['R'] = LETTER, ['S'] = LETTER, ['T'] = LETTER,
    ['U'] = LETTER, ['V'] = LETTER, ['W'] = LETTER, ['X'] = LETTER, ['Y'] = LETTER,
    ['Z'] = LETTER,
    ['a'] = LETTER, ['b'] = LETTER, ['c'] = LETTER, ['d'] = LETTER, ['e'] = LETTER,
    ['f'] = LETTER, ['g'] = LETTER, ['h'] = LETTER, ['i'] = LETTER, ['j'] = LETTER,
    ['k'] = LETTER, ['l'] = LETTER, ['m'] = LETTER, ['n'] = LETTER, ['o'] = LETTER,
    ['p'] = LETTER, ['q'] = LETTER, ['r'] = LETTER, ['s'] = LETTER, ['t'] = LETTER,
    ['u'] = LETTER, ['v'] = LETTER, ['w'] = LETTER, ['x'] = LETTER, ['y'] = LETTER,
    ['z'] = LETTER,
};

#define PLAINTEXT 0
static const Word RAW_TEXT[] = {
    {"plaintext", 9}, {"iframe", 6}, {"noembed", 7}, {"noframes", 8}, {"script", 6},
    {"style", 5},     {"textarea", 8}, {"title", 5},  {"xmp", 3},
};
#define RAW_TEXTS ((int)(sizeof RAW_TEXT / sizeof RAW_TEXT[0]))
#define BIT(c) (1u << ((c) - 'a'))
#define RAW_INITIALS (BIT('p') | BIT('i') | BIT('n') | BIT('s') | BIT('t') | BIT('x'))

#define CHAR Py_UCS1
#define NAMED(name) name##_1
#include "_tags.h"
#undef CHAR
#undef NAMED
#define CHAR Py_UCS2
#define NAMED(name) name##_2
#include "_tags.h"
#undef CHAR
#undef NAMED
#define CHAR Py_UCS4
#define NAMED(name) name##_4
#include "_tags.h"
#undef CHAR
#undef NAMED

static Py_ssize_t next_tag(const Pass *pass, PyObject *page, Py_ssize_t p, Py_ssize_t stop,
                           Tag *tag)
{
    Py_ssize_t n = PyUnicode_GET_LENGTH(page);
    switch (PyUnicode_KIND(page)) {
    case PyUnicode_1BYTE_KIND:
        return next_tag_1(pass, PyUnicode_1BYTE_DATA(page), p, n, stop, tag);
    case PyUnicode_2BYTE_KIND:
        return next_tag_2(pass, PyUnicode_2BYTE_DATA(page), p, n, stop, tag);
    default:
        return next_tag_4(pass, PyUnicode_4BYTE_DATA(page), p, n, stop, tag);
    }
}

/* Where `wanted` stands first in a span, or -1. */
static Py_ssize_t found_in(PyObject *page, Span span, Py_UCS4 wanted)
{
    Py_ssize_t n = span.end, p;
    switch (PyUnicode_KIND(page)) {
    case PyUnicode_1BYTE_KIND:
        p = find_1(PyUnicode_1BYTE_DATA(page), span.start, n, (Py_UCS1)wanted);
        break;
    case PyUnicode_2BYTE_KIND:
        p = find_2(PyUnicode_2BYTE_DATA(page), span.start, n, (Py_UCS2)wanted);
        break;
    default:
        p = find_4(PyUnicode_4BYTE_DATA(page), span.start, n, wanted);
    }
    return p < n ? p : -1;
}

static PyObject *called_on_span(PyObject *function, PyObject *page, Span span)
{
    PyObject *text = PyUnicode_Substring(page, span.start, span.end);
    if (text == NULL) return NULL;
    PyObject *made = PyObject_CallOneArg(function, text);
    Py_DECREF(text);
    return made;
}

/* A value with its character references read. */
static PyObject *value_of(const Pass *pass, PyObject *page, Span span)
{
    if (found_in(page, span, '&') >= 0) return called_on_span(pass->unescaped, page, span);
    return PyUnicode_Substring(page, span.start, span.end);
}

/* A reference, moreover without its fragment where that can be cut. */
static PyObject *reference_of(const Pass *pass, PyObject *page, Span span)
{
    if (found_in(page, span, '&') >= 0) return called_on_span(pass->tidy, page, span);
    Py_ssize_t mark = found_in(page, span, '#');
    if (mark == span.start || (mark > 0 && PyUnicode_READ_CHAR(page, mark - 1) > ' '))
        span.end = mark;
    return PyUnicode_Substring(page, span.start, span.end);
}

static PyObject *attributes_of(const Pass *pass, PyObject *page, const Tag *tag)
{
    PyObject *found = PyDict_New();
    for (int k = 0; found != NULL && k < tag->name->key_count; k++) {
        if (tag->values[k].start < 0) continue;
        PyObject *value = value_of(pass, page, tag->values[k]);
        if (value == NULL || PyDict_SetItem(found, tag->name->key_names[k], value) < 0)
            Py_CLEAR(found);
        Py_XDECREF(value);
    }
    return found;
}

static PyObject *text_of(PyObject *page, Span span)
{
    if (span.start < 0) Py_RETURN_NONE;
    if (span.end - span.start > LONGEST_TEXT) span.end = span.start + LONGEST_TEXT;
    return PyUnicode_Substring(page, span.start, span.end);
}

static PyObject *whole_tag(const Pass *pass, PyObject *page, const Tag *tag)
{
    PyObject *found = attributes_of(pass, page, tag);
    PyObject *text = found == NULL ? NULL : text_of(page, tag->text);
    PyObject *end = text == NULL ? NULL : PyLong_FromSsize_t(tag->end);
    PyObject *made = end == NULL ? NULL : PyTuple_Pack(4, tag->name->name, found, text, end);
    Py_XDECREF(found);
    Py_XDECREF(text);
    Py_XDECREF(end);
    return made;
}

/* How many of the keys that were asked for the tag has. */
static int keys_of(const Tag *tag)
{
    int count = 0;
    for (int k = 0; k < tag->name->key_count; k++) count += tag->values[k].start >= 0;
    return count;
}

/* Whether it is a tag of the first name with nothing but its first key. */
static int is_plain_link(const Pass *pass, const Tag *tag)
{
    return tag->name == &pass->names[0] && tag->values[0].start >= 0 && keys_of(tag) == 1;
}

static PyObject *pass_batch(Pass *pass, PyObject *args)
{
    PyObject *page;
    Py_ssize_t p;
    int brief;
    if (!PyArg_ParseTuple(args, "Unp", &page, &p, &brief)) return NULL;
#if PY_VERSION_HEX < 0x030C0000
    if (PyUnicode_READY(page) < 0) return NULL;
#endif
    Py_ssize_t n = PyUnicode_GET_LENGTH(page);
    if (p < 0 || p > n) {
        PyErr_SetString(PyExc_ValueError, "no place in the page");
        return NULL;
    }
    Py_ssize_t stop = n - p > STRIDE ? p + STRIDE : n;
    PyObject *items = PyList_New(0);
    if (items == NULL) return NULL;
    while (p < stop && PyList_GET_SIZE(items) < MOST_TAGS) {
        Tag tag;
        p = next_tag(pass, page, p, stop, &tag);
        if (tag.name == NULL) break;
        if (tag.name->key_count) tag.text.start = -1;
        if (!keys_of(&tag) && tag.text.start < 0) continue;
        PyObject *item = brief && is_plain_link(pass, &tag)
                             ? reference_of(pass, page, tag.values[0])
                             : whole_tag(pass, page, &tag);
        if (item == NULL || PyList_Append(items, item) < 0) {
            Py_XDECREF(item);
            Py_DECREF(items);
            return NULL;
        }
        Py_DECREF(item);
    }
    return Py_BuildValue("Nn", items, p);
}

static int take_word(PyObject *text, Word *word)
{
    Py_ssize_t length;
    const char *utf8 = PyUnicode_AsUTF8AndSize(text, &length);
    if (utf8 == NULL) return -1;
    if (length < 1 || length > LONGEST_WORD) {
        PyErr_Format(PyExc_ValueError, "%R is not a word of 1 to 15 letters", text);
        return -1;
    }
    memcpy(word->text, utf8, (size_t)length + 1);
    word->length = length;
    return 0;
}

static int take_name(Pass *pass, PyObject *text, PyObject *keys)
{
    if (pass->name_count >= MOST_NAMES || PyTuple_GET_SIZE(keys) > MOST_KEYS) {
        PyErr_SetString(PyExc_ValueError, "too many names or keys");
        return -1;
    }
    Name *name = &pass->names[pass->name_count];
    if (take_word(text, &name->word) < 0) return -1;
    if (name->word.text[0] < 'a' || name->word.text[0] > 'z') {
        PyErr_Format(PyExc_ValueError, "%R is no name of a tag in lower case", text);
        return -1;
    }
    name->name = Py_NewRef(text);
    int *first = &pass->first[name->word.text[0] - 'a'];
    name->next = *first;
    *first = pass->name_count++;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(keys); k++) {
        PyObject *key = PyTuple_GET_ITEM(keys, k);
        if (take_word(key, &name->keys[k]) < 0) return -1;
        name->key_names[name->key_count++] = Py_NewRef(key);
    }
    return 0;
}

static PyObject *pass_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(kwargs))
{
    PyObject *wanted, *unescaped, *tidy, *text, *keys;
    if (!PyArg_ParseTuple(args, "O!OO", &PyDict_Type, &wanted, &unescaped, &tidy)) return NULL;
    Pass *pass = (Pass *)type->tp_alloc(type, 0);
    if (pass == NULL) return NULL;
    pass->unescaped = Py_NewRef(unescaped);
    pass->tidy = Py_NewRef(tidy);
    for (int k = 0; k < 26; k++) pass->first[k] = -1;
    Py_ssize_t place = 0;
    while (PyDict_Next(wanted, &place, &text, &keys)) {
        if (!PyTuple_Check(keys)) {
            PyErr_SetString(PyExc_TypeError, "keys are a tuple");
            Py_DECREF(pass);
            return NULL;
        }
        if (take_name(pass, text, keys) < 0) {
            Py_DECREF(pass);
            return NULL;
        }
    }
    return (PyObject *)pass;
}

static void pass_dealloc(Pass *pass)
{
    PyTypeObject *type = Py_TYPE(pass);
    for (int k = 0; k < pass->name_count; k++) {
        Py_DECREF(pass->names[k].name);
        for (int j = 0; j < pass->names[k].key_count; j++) Py_DECREF(pass->names[k].key_names[j]);
    }
    Py_XDECREF(pass->unescaped);
    Py_XDECREF(pass->tidy);
    type->tp_free(pass);
    Py_DECREF(type);
}

static PyMethodDef PASS_METHODS[] = {
    {"batch", (PyCFunction)pass_batch, METH_VARARGS,
     "batch(page, start, brief): some tags from there on, and where to go on."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot PASS_SLOTS[] = {
    {Py_tp_doc, "CompiledPass(wanted, unescaped, tidy): finds tags by names and keys."},
    {Py_tp_new, pass_new},
    {Py_tp_dealloc, pass_dealloc},
    {Py_tp_methods, PASS_METHODS},
    {0, NULL},
};

static PyType_Spec PASS_SPEC = {
    "headgate.reading._tags.CompiledPass", sizeof(Pass), 0, Py_TPFLAGS_DEFAULT, PASS_SLOTS,
};

static int module_exec(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&PASS_SPEC);
    if (type == NULL) return -1;
    int result = PyModule_AddObjectRef(module, "CompiledPass", type);
    Py_DECREF(type);
    return result;
}

static PyModuleDef_Slot MODULE_SLOTS[] = {{Py_mod_exec, module_exec}, {0, NULL}};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, "_tags", "The compiled pass over tags.", 0, NULL, MODULE_SLOTS,
    NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__tags(void) { return PyModuleDef_Init(&MODULE); }
