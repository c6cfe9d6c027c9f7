"""The grammar of the site file: text in, sites and a budget out, or what is wrong where."""
