"""Any number of logs as one table: read on a cluster, kept as Parquet, reported on."""
