"""Nobody 2026: accuracies of twelve taggers."""
