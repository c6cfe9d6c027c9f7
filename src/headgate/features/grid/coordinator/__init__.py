"""The coordinator: answers nodes' requests, makes their results one collection."""
