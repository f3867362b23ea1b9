"""What the design of comparisons rests on: how often verdicts are right, at which budgets, on how many seeds."""
