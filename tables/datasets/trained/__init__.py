"""What tables that this project trains itself have in common: records, what is packed of them, checks, a process."""
