"""Turn user data into `Views`: checked, named, aligned and scaled."""
