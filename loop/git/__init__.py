"""Git on the host: the only place where a git process is started or GitPython is imported.

Paths of a tree are `str`, decoded as UTF-8 with surrogateescape (`loop.git.paths`), so that every
byte a tree can hold goes there and back; show them with `show_path`, never raw.
"""
