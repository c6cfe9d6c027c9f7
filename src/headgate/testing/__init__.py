"""For tests of crawls: virtual time, a web in memory, stores in memory. Shipped with Headgate."""
