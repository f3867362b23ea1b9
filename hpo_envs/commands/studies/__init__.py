"""Commands that plan, run and report comparisons, reproductions and tuning."""
