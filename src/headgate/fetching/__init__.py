"""HTTP over real sockets, every byte metered: the adapter behind the crawl's fetcher port.

`http` answers a request; `pool` keeps connections, `connection` runs one of them, `reply` reads
what came, `metering` waits for the governor's credit; `dns`, `addresses`, `tls` and `cookies` do
what they are named after. Redirects and content codings are left to those who know the site.
"""
