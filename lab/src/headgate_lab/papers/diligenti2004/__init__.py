"""Diligenti et al. 2004, on a dynamic bandwidth control policy of a focused crawler.

world         servers of unequal speed and the predefined queue
forms         the ways of control that are compared: the paper's, its rival, the repaired one
steering      one form at work: which downloads to start, and what is learnt from each
simulation    a form in virtual time
client        a form in real time: downloads by Headgate's fetcher, on the bed
on_the_bed    the same from outside: namespaces, servers, the meter at the interface
trace         what a run did, and its figures
claims        what the paper and its re-examination say, beside what is found here
figures       Fig. 1 to 3 and the repaired form, as numbers; plots, as SVG
reproduction  all of it in one run; report, as one HTML page
"""
