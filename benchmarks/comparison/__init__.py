"""What runs score: regret, targets and fronts, what random search would score, and the tables behind them."""
