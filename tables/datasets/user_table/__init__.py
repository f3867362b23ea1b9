"""Users' tables, and the synthetic example, as a data set."""
