"""HTTP over sockets, with every byte metered: the adapter of the crawl's fetcher port.

`client` performs a request; `pool` keeps connections, `connection` runs one of them, `exchange`
parses the response, `meter` waits for the rate limiter's credit. Redirects and content codings are
left to the caller, who knows the site's rules.
"""
