"""The manager, the scheduler of a crawl: what is known of sites and nodes goes in, tasks and rates
come out.

`forecast` predicts what a site will take, `site_estimate` what is left of it; `manager`
decides, and `control_loop` is the one small loop that performs its decisions. `timeline` keeps the
timeline of the report.
"""
