"""Where evaluations of a search are carried out: workers, programs, processes that share it."""
