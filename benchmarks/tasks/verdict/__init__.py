"""Which optimizer is better across tasks: the committed runs, tests over task groups, and when a model pays."""
