"""The arithmetic of rate limiting: how many bytes may arrive, for which site, and when.

Pure: time is an argument, and results are times or amounts; `fetching.metering` does the waiting.
Amounts are bytes on the wire, frame headers included, and rates bytes of that kind per second.

`bucket`: one rate, with debts; `governor`: the tree total > site, with turns; `credit`: the account
of one response; `window`: receive windows, and how many connections a site needs. `admission`: how
many downloads, best first, fill a limit; `on_off`: the method it is compared with.
"""
