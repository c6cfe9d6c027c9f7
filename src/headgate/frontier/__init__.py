"""The URL frontier of one site run: the states of a URL, from its discovery to its end.

    found ──► refused                          by scope or traps; checked once, then seen
      │
      ▼
    to do ──► in flight ──► done               page, duplicate or redirect
      ▲           │
      └── retry ◄─┴──► failed                  tries used up, or its host given up

Pure: no I/O, no clock, no randomness. Events go in, commands come out, time is an argument, and
what must survive a crash is emitted as journal entries. One frontier serves one site run and is not
thread-safe.

============  ==================================================  ==================================
structure     filled by                                           emptied by
============  ==================================================  ==================================
URLseen       URL filter, with every URL it checks                never
URLtodo       URL filter, with every URL it accepts               the bench, when it has room
bench         URLtodo, by depth; retries; redirect targets        dispatch, when a host is ready
in flight     dispatch, with every Fetch command                  the event that ends the fetch
Pageseen      the event of a fetched page                         never
============  ==================================================  ==================================
"""
