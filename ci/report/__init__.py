"""What people read: the summary in plain words, the report page and its plot."""
