"""The arithmetic of bandwidth: who may let how many bytes arrive, and when.

Pure: the time is an argument and every answer is a moment or an amount; `fetching.metering` waits.
Amounts are bytes on the wire, frame headers included, and rates bytes of that kind per second.

`bucket` one rate with its debts; `governor` the tree total > site with its turns; `credit` one
response's account, the connection's level of the tree; `window` how wide a connection is opened
and how many of them a site needs. `admission` how many downloads, best first, fill a limit, with
`on_off` as its rival.
"""
