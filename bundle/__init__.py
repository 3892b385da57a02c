"""Makes the archive from which logaudit is installed on machines without a network."""
