"""Values to text: the reports."""
