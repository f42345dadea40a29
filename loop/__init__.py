"""What happens next to a task: a pure machine in an imperative shell."""
