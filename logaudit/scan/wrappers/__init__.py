"""The wrappers that a log may come in: one recogniser a module, found by being in this folder."""
