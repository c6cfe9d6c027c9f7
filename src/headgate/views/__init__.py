"""What people see: words, terminal views, pages and charts. Values in, text out."""
