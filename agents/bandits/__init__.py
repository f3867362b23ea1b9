"""Best-arm identification: rules that sample noisy arms, and when to stop."""
