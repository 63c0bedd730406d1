"""Turns the data of users into `Views`: checked, named, aligned and scaled."""
