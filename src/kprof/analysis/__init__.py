"""From events to calls, summaries and answers."""
