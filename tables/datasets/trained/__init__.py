"""Common parts of tables that this project trains: records, packs, checks, a process."""
