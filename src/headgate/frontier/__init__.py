"""The life of a URL within one site run: from its first sight to its end.

    found ──► refused                          scope, traps: judged once, remembered as seen
      │
      ▼
    to do ──► in flight ──► done               a page, a duplicate, a redirect
      ▲           │
      └── retry ◄─┴──► failed                  tries used up, or its host given up

Pure: no input or output, no clock, no chance. Events go in, commands come out, time is an
argument, and what must survive a crash leaves as journal entries. One frontier serves one site
run and is used by one thread.

============  ==================================================  ==================================
structure     who fills it                                        who empties it
============  ==================================================  ==================================
URLseen       URL filter, with every URL it judges                nobody
URLtodo       URL filter, with every URL it accepts               the bench, when it has room
bench         URLtodo, by depth; retries; redirect targets        dispatch, when a host is ready
in flight     dispatch, with every Fetch command                  the event that ends the fetch
Pageseen      the event of a fetched page                         nobody
============  ==================================================  ==================================
"""
