"""Files on disk: downloads, checksums, packs, locks, atomic writing."""
