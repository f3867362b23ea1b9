"""Training of TextMini's models, one module per kind of model."""
