"""What users have, as checked, named, aligned and scaled `Views`."""
