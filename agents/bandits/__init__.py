"""Best-arm identification: sampling rules for noisy arms, and stopping rules."""
