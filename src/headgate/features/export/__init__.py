"""What a collection gives out: tables, texts, archives, pages for programs, what changed."""
