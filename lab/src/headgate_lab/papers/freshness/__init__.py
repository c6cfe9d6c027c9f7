"""How fresh a collection stays: policies on changes of real pages.

Not a paper's own experiment, but the question behind SARSS and the freshness theory, put to 835
pages that were watched for four years (Open Terms Archive). `changes` reads them, `replay` plays a
policy against them at a byte budget, `rivals` are the published policies, `reproduction` the table.
"""
