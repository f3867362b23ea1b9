"""The verdict on optimizers across tasks: the committed runs, tests over task groups, and when models help."""
