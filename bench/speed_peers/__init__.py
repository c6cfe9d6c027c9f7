"""What `bench/speed.py` measures with: a web, crawlers to compare, and their cost."""
