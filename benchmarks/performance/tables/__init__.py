"""What making tables costs; in no wheel."""
