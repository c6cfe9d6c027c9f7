"""When to fetch a page again: estimators of change rates, and recrawl policies.

A *look* is one fetch of a known page, whatever the answer. Published algorithms have their formula
and reference. Pure: observations and times go in, rates, intervals and values come
out. Times are in days, rates per day, unless a name says otherwise; every formula holds in any
other unit as well.

`rates` estimates a page's change rate, `page_estimates` what a look at it is worth, and
`visit_choice` chooses the pages of a visit. The others are published alternatives, selectable by
name.
"""
