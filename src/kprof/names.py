"""Names of functions and triggers, and their tags: the name file."""
