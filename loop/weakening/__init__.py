"""What a file of tests holds, read from its text: one module a convention."""
