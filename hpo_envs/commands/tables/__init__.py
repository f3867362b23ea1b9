"""Commands about the tables behind environments: installed ones, your own, and their graphs."""
