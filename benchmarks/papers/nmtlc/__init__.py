"""Zhang and Duh 2024: successive halving on neural machine translation and large language models."""
