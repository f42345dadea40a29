"""The imperative shell: does what the machine asks for, and reports facts."""
