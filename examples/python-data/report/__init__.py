"""Sales, cleaned and summarized: two steps of a pipeline over CSV files."""
