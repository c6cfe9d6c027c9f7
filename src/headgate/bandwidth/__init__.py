"""The arithmetic of rate limiting: how many bytes may arrive, for which site, and when.

Pure: time is an argument, and results are times or amounts; `fetching.meter` does the waiting.
Amounts are bytes on the wire, frame headers included, and rates bytes of that kind per second.

`rate_limiter`: the tree total > site, of token buckets that may go into debt, with turns by
`rate_limiter`; `credit`: the account of one response; `receive_window`: receive windows, and how
many connections a site needs; `make_way`: the total rate while others use the line.
`admission_control`: how many downloads, best first, fill a limit, beside the method it is compared
with.
"""
