"""What happened to tasks, from the files alone."""
