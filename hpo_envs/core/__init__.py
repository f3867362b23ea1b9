"""What every environment is made of: the two shells, their info, their record and their pictures."""
