"""logaudit: read SGLang's startup log and explain where the GPU memory went."""

__version__ = "0.1.0"
