"""Agents that learn from source tasks: other tables, or weights trained on them."""
