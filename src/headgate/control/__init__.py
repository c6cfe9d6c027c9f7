"""The manager: what is known of sites and nodes goes in, tasks and rates come out.

`forecast` says what a site will take, `speed_watch` what its server gives, `manager` decides, and
`conducting` is the one small loop that performs the decisions. `samples` keeps what the report
shows.
"""
