"""The manager: what is known of sites and nodes goes in, tasks and rates come out.

`forecast` predicts what a site will take, `speed_watch` how fast its server is; `manager` decides,
and `conducting` is the one small loop that performs its decisions. `samples` keeps the timeline of
the report.
"""
