"""When to look at a page again: estimates of how often pages change, and policies that follow.

One published algorithm per file, each with its formula and where it comes from. Pure: what was seen
and the time go in, rates, intervals and values come out. Times are in days, rates per day, unless
a name says otherwise; every formula holds in any other unit as well.

`rate_posterior` is what Headgate knows of a page's change rate; `look_value` what a look at it is
worth; `visit_choice` which pages of a site one visit asks for. The others are published rivals,
selectable by name.
"""
