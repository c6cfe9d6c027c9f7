"""Zhu et al. 2020, on bandwidth allocation for a web crawler system with time constraints.

doi:10.1007/s12652-020-02377-1

families     the instances: six sites, and fifty sites of three families with and without caps
instant      one policy on the six sites: Fig. 2 to 7
comparison   all policies on the fifty sites: Fig. 8 to 10
figures      the figures as numbers
claims       what the paper's text says, and whether it holds here
reference    results obtained independently of this project, beside ours
reproduction all of it in one run; report, as one HTML page

The paper's plots have lost their values and it prints no deadlines, so what is reproduced are the
orderings and trends of its text. Inside, work is bytes and rates are bytes per second; kbit and
kbit/s, the paper's units, are for printing.
"""
