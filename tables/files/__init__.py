"""Files on disk: data folder, downloads, checksums, packs, archives, locks, atomic writing."""
