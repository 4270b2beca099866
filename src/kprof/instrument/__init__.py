"""C text in, C text with triggers out."""
