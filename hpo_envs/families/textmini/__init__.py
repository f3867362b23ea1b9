"""TextMini: small models of text on different tasks that this project trained, as tables."""
